"""Pairs of points that are near each other."""

from __future__ import annotations

import numpy as np

from pliant.mesh import arrays

HALF_AROUND = np.array([(0, 0, 0), *((i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)
                                     if (i, j, k) > (0, 0, 0))])  # fmt: skip
"""A cell and one of each two cells that face each other across it."""


def near_pairs(points: np.ndarray, radius: float) -> np.ndarray:
    """All pairs of points nearer than `radius` [m]: (e, 2) int32, smaller number first, sorted.

    Points are sorted into cells as wide as the radius, and only those of neighbouring cells are compared.
    """
    points = arrays.as_points(points, "near_pairs(points)")
    if len(points) < 2:
        return np.zeros((0, 2), np.int32)
    cell = np.floor((points - points.min(axis=0)) / radius).astype(np.int64) + 1
    shape = cell.max(axis=0) + 2
    flat = lambda c: (c[..., 0] * shape[1] + c[..., 1]) * shape[2] + c[..., 2]
    order = np.argsort(flat(cell), kind="stable")
    keys = flat(cell)[order]
    found = []
    for step in HALF_AROUND:
        wanted = flat(cell + step)
        first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        counts = last - first
        a = np.repeat(np.arange(len(points)), counts)
        b = order[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)]
        if not step.any():
            a, b = a[a < b], b[a < b]
        close = ((points[a] - points[b]) ** 2).sum(axis=1) < radius**2
        found.append(np.stack([a[close], b[close]], axis=1))
    pairs = np.sort(np.concatenate(found), axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].astype(np.int32)
