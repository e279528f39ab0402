"""Conjugate gradients in float64 on the host, for matrices that leave rigid motion free."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Product = Callable[[np.ndarray], np.ndarray]
TOLERANCE = 1e-5
MOST = 6000


def solve(product: Product, load: np.ndarray, inverse: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray | None:
    """Displacements (n, 3) under a balanced load (n, 3), or None if they are not found.

    Args:
        product: the matrix, positive but for rigid motions.
        load: [N], without sum and torque.
        inverse: those of the blocks on the diagonal (n, 3, 3), or masses (n, 1) for a matrix near to theirs.
    """
    weigh = (lambda r: np.einsum("nij,nj->ni", inverse, r)) if inverse.ndim == 3 else (lambda r: inverse * r)
    u, r = np.zeros_like(load), load.copy()
    z = weigh(r)
    p, rz = z, float((r * z).sum())
    goal = tolerance**2 * rz
    for _ in range(MOST):
        kp = product(p)
        curve = float((p * kp).sum())
        if curve <= 0.0:
            return None
        step = rz / curve
        u, r = u + step * p, r - step * kp
        z = weigh(r)
        new = float((r * z).sum())
        if not np.isfinite(new):
            return None
        if new <= goal:
            return u
        p, rz = z + (new / rz) * p, new
    return None


def block_inverse(blocks: np.ndarray) -> np.ndarray:
    """Inverses of blocks on a diagonal (n, 3, 3), with a little added to what is nearly singular."""
    size = np.trace(blocks, axis1=1, axis2=2)
    floor = 1e-6 * np.maximum(size, 1e-30)
    return np.linalg.inv(blocks + floor[:, None, None] * np.eye(3))
