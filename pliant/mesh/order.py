"""Order points so that neighbours in space are neighbours in memory."""

from __future__ import annotations

import numpy as np

from pliant.mesh import arrays


def bisect_order(points: np.ndarray, leaf_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Recursive coordinate bisection into leaves of ``leaf_size`` points, all full but the last.

    A box is cut across its longest side, so that the lower part holds ceil(half its leaves) * leaf_size points;
    equal coordinates are told apart by their index, so the result depends on nothing but the input. All boxes
    of a level are cut at once. Within a leaf the points are sorted by z, then y, then x, rounded to the mean spacing.

    Args:
        points: (n, 3) [m].
        leaf_size: points in a leaf.

    Returns:
        order: (n,) int64, place in the new order -> old index.
        leaf_starts: (leaves + 1,) int64, leaf i is ``order[leaf_starts[i]:leaf_starts[i + 1]]``.
    """
    points = arrays.as_points(points, "bisect_order(points)")
    arrays.check_finite(points, "bisect_order(points)")
    leaf_size = arrays.whole(leaf_size, "bisect_order(leaf_size)")
    count = len(points)
    if count == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)

    low = points.min(axis=0)
    sides = points.max(axis=0) - low
    near = ((points - low) / max(float(sides.max()), np.finfo(np.float64).tiny)).astype(np.float32)
    # Ranks along each axis are unique, so sorting (box, rank) pairs packed into one integer sorts the points.
    by_axis = np.stack([np.argsort(points[:, axis], kind="stable").astype(np.int32) for axis in range(3)])
    ranks = np.empty_like(by_axis)
    np.put_along_axis(ranks, by_axis, np.broadcast_to(np.arange(count, dtype=np.int32), by_axis.shape), axis=1)

    order = np.arange(count, dtype=np.int32)
    starts = np.array([0])
    leaves = np.array([-(-count // leaf_size)])
    while leaves.max() > 1:
        lengths = np.diff(starts, append=count)
        placed = near[order]
        widest = np.argmax(np.maximum.reduceat(placed, starts) - np.minimum.reduceat(placed, starts), axis=1)
        axis = np.repeat(widest.astype(np.int8), lengths)
        keys = np.repeat(np.arange(len(starts)) << 32, lengths)
        keys |= ranks[axis, order]
        keys.sort(kind="stable")
        order = by_axis[axis, keys & 0xFFFFFFFF]
        lower = (leaves + 1) // 2
        split = leaves > 1
        starts = np.sort(np.concatenate([starts, (starts + lower * leaf_size)[split]]))
        leaves = np.stack([np.where(split, lower, leaves), leaves - lower], axis=1).ravel()
        leaves = leaves[leaves > 0]
    return _sort_leaves(near, order, starts), np.append(starts, count)


def _sort_leaves(points: np.ndarray, order: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The order (n,) int64 with the points of each leaf sorted by z, y, x, rounded to the mean spacing of all."""
    count = len(order)
    lengths = np.diff(starts, append=count)
    sides = np.ptp(points, axis=0).astype(np.float64)
    wide = sides > 0.0
    spacing = float((sides[wide].prod() / count) ** (1.0 / wide.sum())) if wide.any() else 1.0
    # Leaf, z, y and x share 62 bits; what lies further from the leaf's corner than they count is clamped.
    bits = (62 - len(starts).bit_length()) // 3
    placed = points[order]
    placed -= np.repeat(np.minimum.reduceat(placed, starts), lengths, axis=0)
    cells = np.clip(np.rint(placed / max(spacing, 1e-12)), 0, (1 << bits) - 1).astype(np.int64)
    leaf = np.repeat(np.arange(len(starts)), lengths)
    keys = ((leaf << bits | cells[:, 2]) << bits | cells[:, 1]) << bits | cells[:, 0]
    # Equal cells are told apart by index, as everywhere here.
    return order[np.lexsort((order, keys))].astype(np.int64)
