"""Where the nodes of a texture go: creases first, then texel centres that are not too near to what is there."""

from __future__ import annotations

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.atlas_charts import shared_edges
from pliant.mesh.near import near_pairs
from pliant.mesh.texel_refine import Fine

CREASE = 40.0
"""Angle between neighbouring triangles from which their edge is kept [degrees]."""
BEND = 35.0
"""Angle of a crease from which its vertex is a corner [degrees]."""
APART = 0.62
"""Least distance between two nodes, in texels."""
OPPOSITE = -0.3
"""Cosine between normals below which two points lie on different sides of something thin, and are never too near."""
INSIDE = -1e-9


def crossed_texels(fine: Fine, texture: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Texels whose centre a fine triangle holds.

    Returns:
        texel: row * texture + column, each once, sorted (t,).
        row: the triangle that holds its centre, the lowest of several (t,). weights: of its corners (t, 3).
        doubles: how many centres lie in triangles that do not touch.
    """
    uv = fine.uv
    low = np.floor(uv.min(axis=1) - 0.5).astype(np.int64)
    span = np.floor(uv.max(axis=1) - 0.5).astype(np.int64) - low
    a, b, c = (uv[:, i] for i in range(3))
    area = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    usable = np.where(area == 0.0, 1.0, area)
    found = []
    for across in range(int(span[:, 0].max()) + 1):
        for down in range(int(span[:, 1].max()) + 1):
            rows = np.flatnonzero((span[:, 0] >= across) & (span[:, 1] >= down) & (area != 0.0))
            place = low[rows] + (across, down)
            p = place + 0.5
            second = ((c - a)[rows, 1] * (p - a[rows])[:, 0] - (c - a)[rows, 0] * (p - a[rows])[:, 1]) / usable[rows]
            third = ((b - a)[rows, 0] * (p - a[rows])[:, 1] - (b - a)[rows, 1] * (p - a[rows])[:, 0]) / usable[rows]
            weights = np.stack([1.0 - second - third, second, third], axis=1)
            held = (weights >= INSIDE).all(axis=1) & (place >= 0).all(axis=1) & (place < texture).all(axis=1)
            found.append((place[held, 1] * texture + place[held, 0], rows[held], weights[held]))
    texel, row, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((row, texel))
    texel, row, weights = texel[order], row[order], weights[order]
    first = np.append(True, texel[1:] != texel[:-1]) if len(texel) else np.zeros(0, bool)
    centre = np.einsum("nk,nkd->nd", weights, fine.vertices[fine.triangles[row]])
    leader = np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))
    far = np.linalg.norm(centre - centre[leader], axis=1) > 1e-6 * float(np.ptp(fine.vertices, axis=0).max())
    return texel[first], row[first], weights[first], int(far.sum())


def creases(fine: Fine, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices of sharp edges (v,), and which of them are corners (v,) bool.

    Args:
        fine: the surface. normals: of its triangles (k, 3).
    """
    row, side, other, _ = shared_edges(fine.triangles)
    sharp = (normals[row] * normals[other]).sum(axis=1) < np.cos(np.radians(CREASE))
    ends = np.stack([fine.triangles[row, side], fine.triangles[row, (side + 1) % 3]], axis=1)[sharp]
    if not len(ends):
        return np.zeros(0, np.int64), np.zeros(0, bool)
    count = len(fine.vertices)
    degree = np.bincount(ends.ravel(), minlength=count)
    away = fine.vertices[ends[:, 1]] - fine.vertices[ends[:, 0]]
    away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-300)
    total = np.zeros((count, 3))
    np.add.at(total, ends[:, 0], away)
    np.add.at(total, ends[:, 1], -away)
    vertices = np.flatnonzero(degree)
    # two edges that go on straight add up to nothing; at a bend by an angle their sum is twice the sine of its half
    bent = np.linalg.norm(total[vertices], axis=1) > 2.0 * np.sin(np.radians(BEND / 2.0))
    return vertices, (degree[vertices] != 2) | bent


def vertex_normals(fine: Fine) -> np.ndarray:
    """Unit normals at the vertices (n, 3), by area; zero where they cancel."""
    corners = fine.vertices[fine.triangles]
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.stack(
        [np.bincount(fine.triangles.ravel(), np.repeat(doubled[:, k], 3), len(fine.vertices)) for k in range(3)], axis=1
    )
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)


def thinned(points: np.ndarray, normals: np.ndarray, texel: np.ndarray, apart: float = APART) -> np.ndarray:
    """Which points stay when none may be too near to an earlier one that stays (n,) bool.

    Args:
        points: the most wanted first (n, 3) [m]. normals: at them (n, 3). texel: its size at them (n,) [m].
        apart: least distance [texels].
    """
    if not len(points):
        return np.zeros(0, bool)
    pairs = near_pairs(points, apart * float(texel.max())).astype(np.int64)
    one, two = pairs.T
    gap = np.linalg.norm(points[one] - points[two], axis=1)
    close = gap < apart * np.minimum(texel[one], texel[two])
    same = (normals[one] * normals[two]).sum(axis=1) > OPPOSITE
    one, two = one[close & same], two[close & same]
    # 0 undecided, 1 stays, -1 goes: a point stays once all earlier ones near it have gone
    state = np.zeros(len(points), np.int8)
    while (state == 0).any():
        waits = np.zeros(len(points), bool)
        waits[two[state[one] == 0]] = True
        state[(state == 0) & ~waits] = 1
        state[two[(state[one] == 1) & (state[two] == 0)]] = -1
        open_ = state[two] == 0
        one, two = one[open_], two[open_]
    return state == 1


def closed_parts(triangles: np.ndarray, count: int) -> int:
    """How many connected parts triangles over ``count`` used vertices have."""
    return arrays.connected_parts(arrays.unique_edges(triangles, ((0, 1), (1, 2), (2, 0))), count)[0]
