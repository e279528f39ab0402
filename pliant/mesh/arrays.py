"""What tet and surface meshes share: array checks with good messages, edge tables, small transforms."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.errors import InputError

INT32_MAX = 2**31 - 1
FARTHEST = 1e9
"""Largest coordinate that makes sense [m]: the cube of a larger one leaves the range of float32."""


def whole(value: Any, where: str, low: int = 1) -> int:
    """``value`` as a Python int of at least ``low``, or an `InputError`."""
    remedy = f"Give a whole number of at least {low}"
    if isinstance(value, (bool, np.bool_)):
        raise InputError(f"{value!r} is not a whole number", where, remedy)
    try:
        number = operator.index(value)
    except TypeError:
        if not (isinstance(value, (float, np.floating)) and math.isfinite(value) and value == int(value)):
            raise InputError(f"{value!r} is not a whole number", where, remedy) from None
        number = int(value)
    if number < low:
        raise InputError(f"{number} is below {low}", where, remedy)
    return number


def as_points(values: Any, where: str) -> np.ndarray:
    """Positions as a contiguous (n, 3) float64 array [m]; finiteness is left to `check_finite`."""
    try:
        points = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"is not an array ({error})", where, "Give n rows of x, y, z") from None
    if points.dtype.kind not in "fiu":
        raise InputError(f"has dtype {points.dtype}", where, "Give real numbers, n rows of x, y, z")
    if points.ndim != 2 or points.shape[1] != 3:
        raise InputError(f"has shape {points.shape}, expected (n, 3)", where, "Give one row of x, y, z per vertex")
    return np.ascontiguousarray(points, dtype=np.float64)


def as_indices(values: Any, corners: int, where: str) -> np.ndarray:
    """Vertex numbers as a contiguous (m, corners) int32 array; the range is left to `check_indices`."""
    try:
        indices = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"is not an array ({error})", where, f"Give m rows of {corners} vertex numbers") from None
    if indices.dtype.kind not in "iu":
        raise InputError(f"has dtype {indices.dtype}", where, "Give whole vertex numbers, for example dtype int32")
    if indices.ndim != 2 or indices.shape[1] != corners:
        raise InputError(
            f"has shape {indices.shape}, expected (m, {corners})", where, f"Give {corners} vertex numbers per row"
        )
    if indices.dtype.itemsize >= 4 and indices.size and (indices.max() > INT32_MAX or indices.min() < -INT32_MAX):
        row, column = np.argwhere((indices > INT32_MAX) | (indices < -INT32_MAX))[0]
        raise InputError(
            f"row {row} holds {indices[row, column]}, which no int32 can hold",
            where,
            "Vertex numbers run from 0 to the number of vertices less one",
        )
    return np.ascontiguousarray(indices, dtype=np.int32)


def check_finite(points: np.ndarray, where: str) -> None:
    """Raise for the first position that is NaN, infinite or beyond `FARTHEST`."""
    if points.size and not np.abs(points).max() <= FARTHEST:
        row = int(np.argmax(~(np.abs(points) <= FARTHEST).all(axis=1)))
        raise InputError(
            f"vertex {row} is {points[row].tolist()}",
            where,
            f"Give finite coordinates in metres, none beyond {FARTHEST:g}",
        )


def check_indices(elements: np.ndarray, count: int, kind: str, where: str) -> None:
    """Raise for the first row with a vertex number outside 0..count-1 or a corner named twice."""
    if elements.size and (elements.min() < 0 or elements.max() >= count):
        row, column = np.argwhere((elements < 0) | (elements >= count))[0]
        raise InputError(
            f"{kind} {row} is {elements[row].tolist()}: vertex number {elements[row, column]} is out of range",
            where,
            f"There are {count} vertices, numbered 0 to {count - 1}; subtract 1 if the numbers start at 1",
        )
    corners = elements.shape[1]
    repeated = np.zeros(len(elements), dtype=bool)
    for i in range(corners):
        for j in range(i + 1, corners):
            repeated |= elements[:, i] == elements[:, j]
    if repeated.any():
        row = int(np.argmax(repeated))
        raise InputError(
            f"{kind} {row} is {elements[row].tolist()}: it names a vertex twice ({repeated.sum()} such in all)",
            where,
            f"Remove the collapsed {kind}, or give it {corners} different vertices",
        )


def used_vertices(elements: np.ndarray, count: int) -> np.ndarray:
    """Which vertices belong to an element: (count,) bool."""
    used = np.zeros(count, dtype=bool)
    used[elements.ravel()] = True
    return used


def check_used(elements: np.ndarray, count: int, kind: str, where: str, remedy: str = "") -> None:
    """Raise when a vertex belongs to no element."""
    unused = ~used_vertices(elements, count)
    if unused.any():
        raise InputError(
            f"{unused.sum()} of {count} vertices belong to no {kind}, the first is vertex {int(np.argmax(unused))}",
            where,
            remedy or "Call drop_unused() on the mesh to leave them out (this renumbers the others)",
        )


def without_unused(points: np.ndarray, elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points (k, 3) that an element uses, in their old order, and the elements renumbered to them."""
    used = used_vertices(elements, len(points))
    renumber = np.cumsum(used, dtype=np.int64) - 1
    return points[used], renumber[elements].astype(np.int32)


def coincident_pairs(points: np.ndarray, tolerance: float = 1e-9) -> np.ndarray:
    """Pairs of vertices at the same place: (k, 2) int32, first number the smaller, sorted.

    Args:
        points: (n, 3) [m].
        tolerance: size of the grid the points are rounded to, as a part of the longest side of their box.
    """
    if len(points) < 2:
        return np.zeros((0, 2), dtype=np.int32)
    low = points.min(axis=0)
    grain = max(float((points.max(axis=0) - low).max()) * tolerance, np.finfo(np.float64).tiny)
    cells = np.rint((points - low) / grain).astype(np.uint64)
    # One number per grid cell; equal numbers are compared in full below, so a clash costs nothing but time.
    mixed = cells @ np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
    order = np.argsort(mixed, kind="stable")
    first, second = order[:-1], order[1:]
    near = np.flatnonzero(mixed[first] == mixed[second])
    near = near[(cells[first[near]] == cells[second[near]]).all(axis=1)]
    pairs = np.stack([first[near], second[near]], axis=1).astype(np.int32)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def unique_edges(elements: np.ndarray, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """Every edge once: (e, 2) int32, smaller number first, sorted.

    Args:
        elements: (m, corners) vertex numbers.
        pairs: which two corners make an edge.
    """
    count = len(elements)
    keys = np.empty(count * len(pairs), dtype=np.int64)
    for k, (i, j) in enumerate(pairs):
        a, b = elements[:, i], elements[:, j]
        part = keys[k * count : (k + 1) * count]
        part[:] = np.minimum(a, b)
        part <<= 32
        part |= np.maximum(a, b)
    # Mesh numbering leaves long sorted runs, which the stable sort merges several times faster.
    keys.sort(kind="stable")
    if count:
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    edges = np.empty((len(keys), 2), dtype=np.int32)
    edges[:, 0] = keys >> 32
    edges[:, 1] = keys & 0xFFFFFFFF
    return edges


def edge_lengths(points: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Length of each edge: (e,) [m]."""
    return np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1)


def connected_parts(edges: np.ndarray, count: int) -> tuple[int, np.ndarray]:
    """Number of connected parts and the part of each vertex (count,) int32, numbered by first vertex."""
    root = np.arange(count, dtype=np.int64)
    left = edges.astype(np.int64)
    while len(left):
        # Hook the larger root of each edge to the smaller, then let every vertex point at its root again.
        ends = np.sort(root[left], axis=1)
        open_ = ends[:, 0] != ends[:, 1]
        left, ends = left[open_], ends[open_]
        np.minimum.at(root, ends[:, 1], ends[:, 0])
        while not np.array_equal(root, further := root[root]):
            root = further
    roots, labels = np.unique(root, return_inverse=True)
    return len(roots), labels.astype(np.int32)


def offset(values: Any, where: str) -> np.ndarray:
    """Three finite numbers as a (3,) float64 array."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{values!r} is not three numbers", where, "Give x, y, z") from None
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InputError(f"{values!r} is not three finite numbers", where, "Give x, y, z")
    return vector


def scale_factors(values: Any, where: str) -> np.ndarray:
    """One positive factor, or three, as a (3,) float64 array."""
    try:
        factors = np.broadcast_to(np.asarray(values, dtype=np.float64), (3,))
    except (TypeError, ValueError):
        raise InputError(f"{values!r} is neither one number nor three", where, "Give a factor or x, y, z") from None
    if not (np.isfinite(factors).all() and (factors > 0.0).all()):
        raise InputError(f"{values!r} is not positive and finite", where, "Give factors greater than zero")
    return factors


def rotation(axis: Any, angle: float, where: str) -> np.ndarray:
    """Matrix (3, 3) that turns by ``angle`` [rad] about ``axis`` (any length), right-handed; Rodrigues."""
    vector = offset(axis, where)
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise InputError("the axis has no length", where, "Give a direction, for example (0, 1, 0)")
    if not isinstance(angle, (int, float, np.number)) or not math.isfinite(angle):
        raise InputError(f"the angle {angle!r} is not a finite number", where, "Give radians")
    x, y, z = vector / length
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross
