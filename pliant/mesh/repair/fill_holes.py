"""Holes filled: triangles of least total area across each loop of free edges, no new vertices."""

from __future__ import annotations

import dataclasses

import numpy as np
import warp as wp

from pliant.launch import launch, pick_device
from pliant.mesh.repair.fill_kernels import fill_least_area

EXACT = 192
"""Edges up to which a loop is filled with the least area; larger loops are clipped down to this ear by ear."""
LEAST_COST = 1e6
"""Cost from which a fill holds a triangle that must not be; see fill_kernels.REFUSED."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fills:
    """New triangles (m, 3) int32, the loop each belongs to (m,), and the loops that could not be filled (h,) bool."""

    triangles: np.ndarray
    loop_of: np.ndarray
    failed: np.ndarray


def fill_loops(vertices: np.ndarray, loops: list[np.ndarray], edges: np.ndarray, triangles: np.ndarray) -> Fills:
    """Fill loops of vertices; a fill makes no edge and no triangle that is there already, nor a flat triangle.

    Args:
        vertices: (n, 3) [m].
        loops: vertices around each hole, in the direction in which the fill is to wind.
        edges: of the surface (e, 2), smaller vertex first. triangles: of the surface (k, 3).
    """
    ears: list[np.ndarray] = []
    ear_loop: list[np.ndarray] = []
    rest = []
    for number, loop in enumerate(loops):
        clipped, left = _clip_ears(vertices, loop)
        ears.append(clipped)
        ear_loop.append(np.full(len(clipped), number))
        rest.append(left)
    filled, fill_loop, failed = _least_area(vertices, rest, _keys(edges))
    new = np.concatenate([*ears, filled]).astype(np.int32)
    loop_of = np.concatenate([*ear_loop, fill_loop]).astype(np.int64)
    there = np.isin(_triangle_names(new), _triangle_names(triangles))
    failed[loop_of[there]] = True
    keep = ~failed[loop_of]
    return Fills(new[keep], loop_of[keep], failed)


def _keys(edges: np.ndarray) -> np.ndarray:
    edges = edges.astype(np.int64)
    return (edges[:, 0] << 32) | edges[:, 1]


def _triangle_names(triangles: np.ndarray) -> np.ndarray:
    """One value per set of corners (m,), the same for both windings."""
    corners = np.ascontiguousarray(np.sort(triangles.astype(np.int32), axis=1))
    return corners.view([("a", np.int32), ("b", np.int32), ("c", np.int32)]).ravel()


def _least_area(
    vertices: np.ndarray, loops: list[np.ndarray], edge_keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triangles (m, 3), the loop of each (m,), and the loops without a permitted fill (h,) bool."""
    size = np.array([len(loop) for loop in loops], np.int64)
    first = np.cumsum(size) - size
    squares = size**2
    table_first = np.cumsum(squares) - squares
    points = np.concatenate([vertices[loop] for loop in loops])
    low = np.minimum.reduceat(points, first)
    span = (np.maximum.reduceat(points, first) - low).max(axis=1)
    points = (points - np.repeat(low, size, axis=0)) / np.repeat(np.where(span > 0.0, span, 1.0), size)[:, None]
    taken = np.concatenate([_taken(loop, edge_keys) for loop in loops])

    device = pick_device("cpu")
    corner = wp.full(3 * int(size.sum()), -1, dtype=wp.int32, device=device)
    total = wp.zeros(len(loops), dtype=wp.float64, device=device)
    scratch = [
        wp.zeros(int(squares.sum()), dtype=wp.float64, device=device),
        wp.zeros(int(squares.sum()), dtype=wp.int32, device=device),
        wp.zeros(2 * int(size.sum()) + 4, dtype=wp.int32, device=device),
    ]
    inputs = [
        wp.array(first.astype(np.int32), dtype=wp.int32, device=device),
        wp.array(size.astype(np.int32), dtype=wp.int32, device=device),
        wp.array(table_first, dtype=wp.int64, device=device),
        wp.array(points, dtype=wp.vec3d, device=device),
        wp.array(taken, dtype=wp.uint8, device=device),
    ]
    launch(fill_least_area, len(loops), inputs, [*scratch, corner, total], device=device, grain=1)
    rows = corner.numpy().reshape(-1, 3)
    written = rows[:, 0] >= 0
    loop_of = np.repeat(np.arange(len(loops)), size)[written]
    names = np.concatenate(loops)
    return names[rows[written] + first[loop_of][:, None]], loop_of, total.numpy() >= LEAST_COST


def _taken(loop: np.ndarray, edge_keys: np.ndarray) -> np.ndarray:
    """Which chords of a loop are edges of the surface already: (m * m,) uint8."""
    loop = loop.astype(np.int64)
    low, high = np.minimum(loop[:, None], loop), np.maximum(loop[:, None], loop)
    keys = ((low << 32) | high).ravel()
    place = np.minimum(np.searchsorted(edge_keys, keys), len(edge_keys) - 1)
    # A vertex that the loop passes twice must not be joined to itself either.
    return ((edge_keys[place] == keys) | (low == high).ravel()).astype(np.uint8)


def _clip_ears(vertices: np.ndarray, loop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut ears off a large loop until `EXACT` vertices are left: triangles (m, 3) and the loop that is left.

    An ear is a corner that, seen along the loop's mean normal (Newell), is convex and holds no other vertex of the
    loop; the one with the shortest base goes first. If there is none, the shortest base goes all the same.
    """
    if len(loop) <= EXACT:
        return np.zeros((0, 3), np.int32), loop
    points = vertices[loop] - vertices[loop].mean(axis=0)
    normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
    axis = int(np.argmax(np.abs(normal)))
    u, v = (axis + 1) % 3, (axis + 2) % 3
    flat = points[:, [u, v]] if normal[axis] >= 0.0 else points[:, [v, u]]
    left = np.arange(len(loop))
    ears = np.empty((len(loop) - EXACT, 3), np.int32)
    for step in range(len(ears)):
        before, after = np.roll(left, 1), np.roll(left, -1)
        base = ((points[after] - points[before]) ** 2).sum(axis=1)
        convex = _cross2(flat[left] - flat[before], flat[after] - flat[left]) > 0.0
        order = np.argsort(np.where(convex, base, np.inf), kind="stable")[:16]
        at = next((i for i in order if convex[i] and _empty(flat, left, before[i], left[i], after[i])), order[0])
        ears[step] = loop[[before[at], left[at], after[at]]]
        left = np.delete(left, at)
    return ears, loop[left]


def _cross2(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _empty(flat: np.ndarray, left: np.ndarray, a: int, b: int, c: int) -> bool:
    """Whether no other point of the loop lies in the triangle of three of its points, in the plane."""
    x = flat[left]
    inside = np.ones(len(left), bool)
    for p, q in ((a, b), (b, c), (c, a)):
        inside &= _cross2(flat[q] - flat[p], x - flat[p]) >= 0.0
    return bool(inside.sum() <= 3)
