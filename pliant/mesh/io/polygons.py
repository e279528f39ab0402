"""Polygons of any number of corners cut into triangles."""

from __future__ import annotations

import numpy as np


def to_triangles(counts: np.ndarray, corners: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut polygons into triangles: a fan from the first corner, or from the second where that suits a quad better.

    Polygons with fewer than three corners give none. A quad is cut along its other diagonal where the first one
    would fold it over; polygons of more corners that are not convex are cut by clipping ears.

    Args:
        counts: corners of each polygon (p,).
        corners: vertex number of every corner, polygon after polygon (c,).
        points: (n, 3) [m].

    Returns:
        places: corner places of each triangle (k, 3) int64 into ``corners``, the polygons in order.
        polygon_of: which polygon each triangle came from (k,) int64.
    """
    counts = np.asarray(counts, dtype=np.int64)
    first = np.cumsum(counts) - counts
    pieces = np.maximum(counts - 2, 0)
    polygon_of = np.repeat(np.arange(len(counts)), pieces)
    step = np.arange(len(polygon_of)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start = first[polygon_of]
    places = np.stack([start, start + step + 1, start + step + 2], axis=1)
    if (counts > 3).any():
        _turn_diagonals(places, counts, first, pieces, corners, points)
        _clip_concave(places, counts, first, pieces, corners, points)
    return places, polygon_of


def _normals(places: np.ndarray, corners: np.ndarray, points: np.ndarray) -> np.ndarray:
    a, b, c = (points[corners[places[:, i]]] for i in range(3))
    return np.cross(b - a, c - a)


def _turn_diagonals(
    places: np.ndarray,
    counts: np.ndarray,
    first: np.ndarray,
    pieces: np.ndarray,
    corners: np.ndarray,
    points: np.ndarray,
) -> None:
    """Cut quads along the diagonal 1-3 where 0-2 would fold them and 1-3 does not; changes ``places``."""
    quads = np.flatnonzero(counts == 4)
    if not len(quads):
        return
    at = (np.cumsum(pieces) - pieces)[quads]
    start = first[quads]
    folds = np.einsum("ij,ij->i", _normals(places[at], corners, points), _normals(places[at + 1], corners, points))
    one = np.stack([start + 1, start + 2, start + 3], axis=1)
    two = np.stack([start + 1, start + 3, start], axis=1)
    other = np.einsum("ij,ij->i", _normals(one, corners, points), _normals(two, corners, points))
    turn = (folds < 0.0) & (other > folds)
    places[at[turn]] = one[turn]
    places[at[turn] + 1] = two[turn]


def _clip_concave(
    places: np.ndarray,
    counts: np.ndarray,
    first: np.ndarray,
    pieces: np.ndarray,
    corners: np.ndarray,
    points: np.ndarray,
) -> None:
    """Cut polygons of five corners and more by clipping ears where a fan would fold them; changes ``places``."""
    large = counts > 4
    if not large.any():
        return
    owner = np.repeat(np.arange(len(counts)), pieces)
    rows = large[owner]
    normals = np.zeros((len(places), 3))
    normals[rows] = _normals(places[rows], corners, points)
    total = np.zeros((len(counts), 3))
    for axis in range(3):
        total[:, axis] = np.bincount(owner[rows], weights=normals[rows, axis], minlength=len(counts))
    against = rows & (np.einsum("ij,ij->i", normals, total[owner]) < 0.0)
    begin = np.cumsum(pieces) - pieces
    # Few files hold such polygons, and those that do hold few: a plain loop over them.
    for polygon in np.unique(owner[against]):
        ring = np.arange(first[polygon], first[polygon] + counts[polygon])
        places[begin[polygon] : begin[polygon] + pieces[polygon]] = _ears(ring, points[corners[ring]], total[polygon])


def _ears(ring: np.ndarray, points: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Triangles (n - 2, 3) of one polygon by clipping ears, seen along its normal (Meisters 1975).

    Args:
        ring: names of the corners (n,).
        points: their positions (n, 3) [m].
        normal: of the polygon, any length (3,).
    """
    drop = int(np.argmax(np.abs(normal)))
    flat = np.delete(points, drop, axis=1)
    # Leaving y out mirrors the plane, and so does a normal that points backwards.
    sign = (-1.0 if drop == 1 else 1.0) * (1.0 if normal[drop] >= 0.0 else -1.0)
    left = list(range(len(ring)))
    triangles = []

    def cross(a: int, b: int, c: int | np.ndarray) -> np.ndarray:
        u, w = flat[b] - flat[a], flat[c] - flat[a]
        return sign * (u[..., 0] * w[..., 1] - u[..., 1] * w[..., 0])

    while len(left) > 3:
        ear = 0
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            if cross(a, b, c) <= 0.0:
                continue
            others = np.array([i for i in left if i not in (a, b, c)])
            inside = (cross(a, b, others) >= 0.0) & (cross(b, c, others) >= 0.0) & (cross(c, a, others) >= 0.0)
            if not inside.any():
                ear = k
                break
        triangles.append((left[ear - 1], left[ear], left[(ear + 1) % len(left)]))
        del left[ear]
    triangles.append((left[0], left[1], left[2]))
    return ring[np.array(triangles)]
