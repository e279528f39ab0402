"""The stiffness matrix of springs in float64, written independently of the package's kernels."""

import numpy as np


def stiffness_matrix(x, springs):
    """Second derivative of the springs' energy at positions x: (3 n, 3 n) [N/m]."""
    d = x[springs.pairs[:, 1]] - x[springs.pairs[:, 0]]
    length = np.linalg.norm(d, axis=1)
    n = d / length[:, None]
    stress = (springs.stiffness * (1 - springs.rest_length / length))[:, None, None]
    block = (springs.stiffness[:, None, None] - stress) * (n[:, :, None] * n[:, None, :]) + stress * np.eye(3)
    count = len(x)
    matrix = np.zeros((3 * count, 3 * count))
    for (i, j), b in zip(springs.pairs, block, strict=True):
        for p, q, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            matrix[3 * p : 3 * p + 3, 3 * q : 3 * q + 3] += sign * b
    return matrix


def moved(x, springs, free, load):
    """Small displacements (n, 3) [m] under forces (n, 3) [N]; raises where the springs would let the body buckle."""
    matrix = stiffness_matrix(x, springs)
    keep = np.repeat(free, 3)
    matrix = matrix[np.ix_(keep, keep)]
    np.linalg.cholesky(matrix + 1e-9 * np.abs(matrix).max() * np.eye(len(matrix)))
    u = np.zeros(3 * len(x))
    u[keep] = np.linalg.lstsq(matrix, load.ravel()[keep], rcond=1e-12)[0]
    return u.reshape(-1, 3)


def forces(x, springs):
    """Forces of the springs (n, 3) [N]."""
    d = x[springs.pairs[:, 1]] - x[springs.pairs[:, 0]]
    length = np.linalg.norm(d, axis=1)
    pull = (springs.stiffness * (length - springs.rest_length) / length)[:, None] * d
    force = np.zeros_like(x)
    np.add.at(force, springs.pairs[:, 0], pull)
    np.add.at(force, springs.pairs[:, 1], -pull)
    return force
