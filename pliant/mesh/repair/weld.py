"""Vertices at the same place, found and made one."""

from __future__ import annotations

import itertools

import numpy as np

from pliant.mesh import arrays

TOLERANCE = 1e-6
"""Distance, as a part of the box's diagonal, up to which vertices count as one."""
CELL = 16.0
"""Size of the search grid's cells, in tolerances: few vertices fall into more than one cell."""
FIRST_LOOK = 32
"""Neighbours in the sorted order that are compared before what was found is merged."""


def diagonal(points: np.ndarray) -> float:
    """Diagonal of the box around points (n, 3) [m]; 0 for none."""
    return float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0


def same_place(points: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """The first vertex at the place of each: (n,) int64. Two that differ in it are farther apart than the tolerance.

    Args:
        points: finite (n, 3) [m].
        tolerance: as a part of the box's diagonal. Chains of close vertices become one.
    """
    one_of = _equal(points)
    reach = tolerance * diagonal(points)
    while reach > 0.0:
        kept = np.flatnonzero(one_of == np.arange(len(one_of)))
        pairs = _near_pairs(points[kept], reach)
        if not len(pairs):
            break
        _, label = arrays.connected_parts(pairs, len(kept))
        _, leaders = np.unique(label, return_index=True)
        joined = np.arange(len(one_of))
        joined[kept] = kept[leaders[label]]
        one_of = joined[one_of]
    return one_of


def _mix(cells: np.ndarray) -> np.ndarray:
    """One number (n,) uint64 for three (n, 3) uint64; two rows may share it."""
    return cells @ np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


def _equal(points: np.ndarray) -> np.ndarray:
    """The first vertex with exactly the coordinates of each (n,) int64."""
    points = points + 0.0  # turns -0 into 0
    mixed = _mix(points.view(np.uint64).reshape(-1, 3))
    # By the mixed number first; rows that share it by chance are told apart by the coordinates.
    order = np.lexsort((points[:, 2], points[:, 1], points[:, 0], mixed))
    new = np.ones(len(order), bool)
    new[1:] = (points[order[1:]] != points[order[:-1]]).any(axis=1)
    leaders = np.minimum.reduceat(order, np.flatnonzero(new)) if len(order) else order
    one_of = np.empty(len(order), np.int64)
    one_of[order] = leaders[np.cumsum(new) - 1]
    return one_of


def _near_pairs(points: np.ndarray, reach: float) -> np.ndarray:
    """Pairs (m, 2) of points no farther apart than ``reach`` [m]: all, or in crowds some; none only if there are none.

    Every point is entered into its cell of a grid, and into the cells next to it that it could reach.
    """
    scaled = (points - points.min(axis=0)) / (CELL * reach) + 1.0
    low = np.floor(scaled - 1.01 / CELL).astype(np.int64)
    high = np.floor(scaled + 1.01 / CELL).astype(np.int64)
    numbers, cells = [np.arange(len(points))], [low]
    spread = low != high
    for choice in itertools.product((0, 1), repeat=3):
        if any(choice):
            rows = np.flatnonzero(spread[:, [axis for axis in range(3) if choice[axis]]].all(axis=1))
            numbers.append(rows)
            cells.append(low[rows] + np.array(choice))
    number, cell = np.concatenate(numbers), _mix(np.concatenate(cells).astype(np.uint64))
    order = np.argsort(cell, kind="stable")
    number, cell = number[order], cell[order]
    pairs: list[np.ndarray] = []
    at = np.arange(len(cell))
    for step in itertools.count(1):
        at = at[: np.searchsorted(at, len(cell) - step)]
        at = at[cell[at] == cell[at + step]]
        if not len(at) or (step > FIRST_LOOK and any(map(len, pairs))):
            break
        a, b = number[at], number[at + step]
        near = (a != b) & (((points[a] - points[b]) ** 2).sum(axis=1) <= reach * reach)
        pairs.append(np.stack([a[near], b[near]], axis=1))
    return np.concatenate(pairs) if pairs else np.zeros((0, 2), np.int64)
