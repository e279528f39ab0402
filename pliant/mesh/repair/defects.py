"""Vertices and triangles that are wrong by themselves: bad numbers, no area, there twice."""

from __future__ import annotations

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.repair import topology, weld
from pliant.mesh.surface import EDGE_CORNERS, FLAT_TRIANGLE, SurfaceMesh

ROUNDING = 4.0
"""A triangle lower than this many units in the last place of its coordinates has no area that could be trusted."""


def bad_vertices(vertices: np.ndarray) -> np.ndarray:
    """Vertices that are NaN, infinite or beyond `arrays.FARTHEST` (n,) bool."""
    return ~(np.abs(vertices) <= arrays.FARTHEST).all(axis=1)


def out_of_range(mesh: SurfaceMesh) -> np.ndarray:
    """Triangles that name a vertex that is not there (k,) bool."""
    outside = (mesh.triangles < 0) | (mesh.triangles >= len(mesh.vertices))
    return np.asarray(outside.any(axis=1))


def broken_triangles(mesh: SurfaceMesh) -> tuple[np.ndarray, np.ndarray]:
    """Triangles with a vertex number out of range (k,) bool, and others with a bad vertex (k,) bool."""
    outside = out_of_range(mesh)
    touched = np.zeros(len(mesh.triangles), bool)
    inside = np.flatnonzero(~outside)
    touched[inside] = bad_vertices(mesh.vertices)[mesh.triangles[inside]].any(axis=1)
    return outside, touched


def repeated_corner(triangles: np.ndarray) -> np.ndarray:
    """Triangles that name a vertex twice (k,) bool."""
    a, b, c = triangles.T
    return (a == b) | (b == c) | (c == a)


def flat(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Triangles without area (k,) bool: a corner named twice, or all in a line, as far as the coordinates can tell."""
    corners = vertices[triangles]
    squares = [((corners[:, i] - corners[:, j]) ** 2).sum(axis=1) for i, j in EDGE_CORNERS]
    longest = np.max(squares, axis=0)
    doubled = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    height = ROUNDING * np.finfo(np.float64).eps * np.abs(corners).max(axis=(1, 2)) if len(triangles) else 0.0
    return (doubled <= np.maximum(FLAT_TRIANGLE * longest, height * np.sqrt(longest))) | repeated_corner(triangles)


def repeats(triangles: np.ndarray) -> np.ndarray:
    """Triangles with the corners of an earlier one, whichever way they wind (k,) bool."""
    corners = np.sort(triangles, axis=1)
    order = np.lexsort(corners.T[::-1])
    again = np.zeros(len(triangles), bool)
    again[order[1:]] = (corners[order[1:]] == corners[order[:-1]]).all(axis=1)
    return again


def repeats_to_drop(triangles: np.ndarray) -> np.ndarray:
    """Of triangles with the same corners, those to drop (k,) bool: all but the first, and both sides of a flap.

    A flap is a group of triangles there in both windings that hangs on a surface which does without it: at each of
    its edges none or at least two other triangles meet, and at one of them at least two. The wall between two bodies
    that were joined face to face is one; a sheet with a front and a back is none, and keeps its front.
    """
    again = repeats(triangles)
    if not again.any():
        return again
    corners = np.sort(triangles, axis=1)
    _, group, count = np.unique(corners, axis=0, return_inverse=True, return_counts=True)
    group = group.ravel()
    # Odd if two corners must change places to sort them: the winding.
    odd = _odd(triangles)
    forward = np.bincount(group, weights=~odd, minlength=len(count))
    paired = (2 * forward == count)[group]
    table = topology.edge_table(triangles)
    others = np.bincount(table.edge_of, weights=np.repeat(~paired & ~again, 3), minlength=len(table.ends))
    sides = table.linked_pairs()
    sides = sides[paired[sides // 3].all(axis=1)]
    _, flap = arrays.connected_parts(sides // 3, len(triangles))
    flap_of_side = np.repeat(flap, 3)
    met = others[table.edge_of]
    needed = np.bincount(flap_of_side, weights=met == 1) > 0
    hangs = np.bincount(flap_of_side, weights=met >= 2) > 0
    return again | (paired & hangs[flap] & ~needed[flap])


def _odd(triangles: np.ndarray) -> np.ndarray:
    a, b, c = triangles.T
    return ((a > b).astype(np.int8) + (b > c) + (a > c)) % 2 == 1


def same_place(vertices: np.ndarray, chosen: np.ndarray, tolerance: float = weld.TOLERANCE) -> np.ndarray:
    """The first chosen vertex at the place of each (n,) int64; those not chosen (n,) bool stand alone.

    See `weld.same_place`; the tolerance is a part of the diagonal of the chosen ones, which must be finite.
    """
    place = np.arange(len(vertices))
    rows = np.flatnonzero(chosen)
    place[rows] = rows[weld.same_place(vertices[rows], tolerance)]
    return place
