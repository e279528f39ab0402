"""Conjugate gradients in float64 on the host, for matrices that leave rigid motion free."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Product = Callable[[np.ndarray], np.ndarray]
TOLERANCE = 1e-5
MOST = 6000


def solve(
    product: Product,
    loads: np.ndarray,
    inverse: np.ndarray,
    tolerance: float = TOLERANCE,
    start: np.ndarray | None = None,
    free: np.ndarray | None = None,
) -> np.ndarray | None:
    """Displacements (k, n, 3) under balanced loads (k, n, 3), or of one (n, 3); None if they are not found.

    Args:
        product: the matrix times displacements (n, 3, k), positive but for rigid motions.
        loads: [N], without sum and torque.
        inverse: those of the blocks on the diagonal (n, 3, 3), or numbers (n, 1) for a matrix near to theirs.
        tolerance: of the residual, over the load, in the norm of the inverse.
        start: displacements to begin with (k, n, 3).
        free: which particles may move under each load (k, n, 1), 1 or 0; all if not given.
    """
    if loads.ndim == 2:
        begin, loose = (None if part is None else part[None] for part in (start, free))
        one = solve(product, loads[None], inverse, tolerance, begin, loose)
        return None if one is None else one[0]
    mask = 1.0 if free is None else free.transpose(1, 2, 0)
    weigh = (
        (lambda r: mask * np.matmul(inverse, r)) if inverse.ndim == 3 else (lambda r: mask * inverse[:, :, None] * r)
    )
    dots = lambda a, b: np.einsum("nik,nik->k", a, b)
    right = np.ascontiguousarray(loads.transpose(1, 2, 0))
    goal = tolerance**2 * dots(right, weigh(right))
    u = np.zeros_like(right) if start is None else np.ascontiguousarray(start.transpose(1, 2, 0))
    r = right if start is None else right - product(u)
    z = weigh(r)
    p, rz = z, dots(r, z)
    for _ in range(MOST):
        if (rz <= goal).all():
            return u.transpose(2, 0, 1)
        kp = product(p)
        curve = dots(p, kp)
        active = rz > goal
        if not (curve > 0.0)[active].all():
            return None
        step = np.divide(rz, curve, out=np.zeros_like(rz), where=active)
        u, r = u + step * p, r - step * kp
        z = weigh(r)
        new = dots(r, z)
        if not np.isfinite(new).all():
            return None
        p, rz = z + np.divide(new, rz, out=np.zeros_like(rz), where=active) * p, new
    return None


def block_inverse(blocks: np.ndarray) -> np.ndarray:
    """Inverses of blocks on a diagonal (n, 3, 3), with a little added to what is nearly singular."""
    size = np.trace(blocks, axis1=1, axis2=2)
    floor = 1e-6 * np.maximum(size, 1e-30)
    return np.linalg.inv(blocks + floor[:, None, None] * np.eye(3))
