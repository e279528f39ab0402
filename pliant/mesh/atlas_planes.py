"""Charts by the direction that triangles face, laid flat and packed on shelves: an atlas without any package."""

from __future__ import annotations

import math

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.atlas_charts import shared_edges
from pliant.mesh.surface import SurfaceMesh

DIRECTIONS = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float64)
ROUNDS = 60
STEEP = 0.35
"""Least cosine between a triangle and the direction of its chart: flatter ones are laid out nearer to their size."""
SMALL = 1 / 600
"""Part of the surface's area below which a chart is given to its neighbours where they can take it."""
SMOOTHING = 0.5
"""How much a triangle prefers the chart of its neighbours, against the cosine to the chart's direction."""


def plane_atlas(surface: SurfaceMesh, texture: int, gutter: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners in texels (k, 3, 2) and the chart of each triangle (k,) int32.

    Args:
        surface: any triangles.
        texture: side of the texture [texels].
        gutter: texels between charts.
    """
    pairs = _pairs(surface.triangles)
    normals, areas = surface.normals(), surface.areas()
    facing = _facing(normals, areas, pairs)
    chart = _parts(facing, pairs)
    facing, chart = _merged(facing, chart, normals, areas, pairs)
    uv = _flat(surface, facing)
    low, size, turned = _boxes(uv, chart)
    uv = uv - low[chart][:, None]
    # a quarter turn, not a mirror
    quarter = np.stack([uv[..., 1], size[chart, 1][:, None] - uv[..., 0]], axis=-1)
    uv = np.where(turned[chart][:, None, None], quarter, uv)
    places, scale = _packed(size, texture, gutter)
    return uv * scale + places[chart][:, None], chart.astype(np.int32)


def _pairs(triangles: np.ndarray) -> np.ndarray:
    """Neighbouring triangles (e, 2)."""
    row, _, other, _ = shared_edges(triangles)
    return np.stack([row, other], axis=1)


def _facing(normals: np.ndarray, areas: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Which of the directions each triangle belongs to (k,): that it faces most, swayed by its neighbours."""
    cosine = normals @ DIRECTIONS.T
    facing = cosine.argmax(axis=1)
    weight = np.sqrt(areas)
    for _ in range(ROUNDS):
        votes = np.zeros_like(cosine)
        for a, b in (pairs.T, pairs.T[::-1]):
            np.add.at(votes, (a, facing[b]), weight[b])
        votes /= np.maximum(votes.sum(axis=1, keepdims=True), 1e-300)
        score = np.where(cosine > STEEP, cosine + SMOOTHING * votes, cosine - 1.0)
        now = score.argmax(axis=1)
        if np.array_equal(now, facing):
            break
        facing = now
    return facing


def _parts(facing: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    same = facing[pairs[:, 0]] == facing[pairs[:, 1]]
    return arrays.connected_parts(pairs[same], len(facing))[1]


def _merged(
    facing: np.ndarray, chart: np.ndarray, normals: np.ndarray, areas: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Small charts given to the neighbour with the longest common border, where all their triangles face its way."""
    cosine = normals @ DIRECTIONS.T
    for _ in range(20):
        count = int(chart.max()) + 1
        area = np.bincount(chart, areas, count)
        # least cosine of each chart's triangles to each direction
        least = np.full((count, len(DIRECTIONS)), np.inf)
        np.minimum.at(least, chart, cosine)
        border = pairs[chart[pairs[:, 0]] != chart[pairs[:, 1]]]
        border = np.concatenate([border, border[:, ::-1]])
        giver, taker, way = chart[border[:, 0]], chart[border[:, 1]], facing[border[:, 1]]
        allowed = (area[giver] < SMALL * areas.sum()) & (area[giver] <= area[taker]) & (least[giver, way] > 0.1)
        # of two charts of one area only one gives itself
        allowed &= (area[giver] < area[taker]) | (giver > taker)
        if not allowed.any():
            break
        keys, lengths = np.unique(giver[allowed] * (count * 8) + way[allowed], return_counts=True)
        order = np.lexsort((keys, -lengths, keys // (count * 8)))
        givers, first = np.unique(keys[order] // (count * 8), return_index=True)
        target = np.full(count, -1)
        target[givers] = keys[order][first] % (count * 8)
        # neighbours that both give themselves away would only change places
        moving = target >= 0
        blocked = np.zeros(count, bool)
        both = moving[giver] & moving[taker]
        np.logical_or.at(blocked, np.maximum(giver, taker)[both], True)
        moving &= ~blocked
        if not moving.any():
            break
        facing = np.where(moving[chart], target[chart], facing)
        chart = _parts(facing, pairs)
    return facing, chart


def _flat(surface: SurfaceMesh, facing: np.ndarray) -> np.ndarray:
    """Corners laid flat along the direction of their chart, counter-clockwise as seen from outside (k, 3, 2) [m]."""
    uv = np.empty((len(facing), 3, 2))
    corners = surface.vertices[surface.triangles]
    for k, direction in enumerate(DIRECTIONS):
        rows = facing == k
        axis = int(np.abs(direction).argmax())
        one, two = (axis + 1) % 3, (axis + 2) % 3
        if direction[axis] < 0.0:
            one, two = two, one
        uv[rows] = corners[rows][..., [one, two]]
    return uv


def _boxes(uv: np.ndarray, chart: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lowest corner and size of each chart's box (c, 2) [m], turned to lie; and which were turned (c,)."""
    count = int(chart.max()) + 1
    low, high = np.full((count, 2), np.inf), np.full((count, 2), -np.inf)
    np.minimum.at(low, chart, uv.min(axis=1))
    np.maximum.at(high, chart, uv.max(axis=1))
    size = high - low
    turned = size[:, 1] > size[:, 0]
    size[turned] = size[turned][:, ::-1]
    return low, size, turned


def _packed(size: np.ndarray, texture: int, gutter: int) -> tuple[np.ndarray, float]:
    """Lowest corner of each box (c, 2) [texels], and the scale at which all fit [texels/m]."""
    low, high = 0.0, texture / max(math.sqrt(float(size.prod(axis=1).sum())), 1e-300)
    best = None
    for _ in range(24):
        scale = 0.5 * (low + high)
        places = _shelves(np.ceil(size * scale) + 1.0 + gutter, texture)
        if places is None:
            high = scale
        else:
            low, best = scale, (places, scale)
    if best is None:
        raise InputError(
            f"{len(size)} charts do not fit into {texture} x {texture} texels", "texture", "Give a larger texture"
        )
    return best[0] + 0.5, best[1]


def _shelves(boxes: np.ndarray, side: int) -> np.ndarray | None:
    """Lowest corners of boxes (c, 2) of whole texels set on shelves, the highest first; None if they do not fit."""
    places = np.empty_like(boxes)
    x = y = shelf = 0.0
    for k in np.lexsort((np.arange(len(boxes)), -boxes[:, 0], -boxes[:, 1])):
        width, height = boxes[k]
        if x + width > side:
            x, y, shelf = 0.0, y + shelf, 0.0
        if width > side or y + max(height, shelf) > side:
            return None
        places[k] = x, y
        x, shelf = x + width, max(shelf, height)
    return places
