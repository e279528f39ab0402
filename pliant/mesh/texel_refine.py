"""A surface cut finer than the texels of its atlas, so that cells of texels can be grown along it."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.atlas import Atlas
from pliant.mesh.surface import EDGE_CORNERS, SurfaceMesh

LONGEST = 0.7
"""Longest edge of a piece, in texels."""
MOST_TRIANGLES = 60_000_000
MOST_UNEVEN = 4.0
"""Largest ratio of a chart's texel size to the mean."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fine:
    """A refined surface; every piece lies in the plane of the triangle it was cut from.

    Attributes:
        vertices: (n, 3) [m]. triangles: (k, 3) int64.
        uv: of each corner (k, 3, 2) [texels]. row: triangle that each was cut from (k,).
        texel: size of a texel at each vertex (n,) [m].
    """

    vertices: np.ndarray
    triangles: np.ndarray
    uv: np.ndarray
    row: np.ndarray
    texel: np.ndarray

    def edges(self) -> np.ndarray:
        """Every edge once (e, 2) int32."""
        return arrays.unique_edges(self.triangles, EDGE_CORNERS)


def texel_sizes(surface: SurfaceMesh, atlas: Atlas) -> np.ndarray:
    """Size of a texel on each triangle's chart (k,) [m]: the same for a whole chart."""
    areas, flat = surface.areas(), np.abs(atlas.areas())
    mean = float(np.sqrt(areas.sum() / max(flat.sum(), 1e-300)))
    per_chart = np.bincount(atlas.chart_of, areas) / np.maximum(np.bincount(atlas.chart_of, flat), 1e-300)
    sizes = np.clip(np.sqrt(per_chart), mean / MOST_UNEVEN, mean * MOST_UNEVEN)
    # steep charts are not coarser, only pressed together in the texture
    return np.minimum(sizes, MOST_UNEVEN * mean)[atlas.chart_of]


def refined(surface: SurfaceMesh, atlas: Atlas) -> Fine:
    """Cut all edges too long for the texels in the middle, until there is none."""
    size = texel_sizes(surface, atlas)
    x, triangles = surface.vertices, surface.triangles.astype(np.int64)
    uv, row = atlas.uv, np.arange(len(triangles))
    texel = np.full(len(x), np.inf)
    np.minimum.at(texel, triangles.ravel(), np.repeat(size, 3))
    while True:
        starts, ends = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
        keys = np.minimum(starts, ends) << 32 | np.maximum(starts, ends)
        unique, number = np.unique(keys, return_inverse=True)
        ends = np.stack([unique >> 32, unique & 0xFFFFFFFF], axis=1)
        long = np.linalg.norm(x[ends[:, 1]] - x[ends[:, 0]], axis=1) > LONGEST * texel[ends].min(axis=1)
        if not long.any():
            return Fine(x, triangles, uv, row, texel)
        middle = np.where(long, len(x) + np.cumsum(long) - 1, -1)
        cut = ends[long]
        x = np.concatenate([x, 0.5 * (x[cut[:, 0]] + x[cut[:, 1]])])
        texel = np.concatenate([texel, texel[cut].min(axis=1)])
        triangles, uv, parent = _split(triangles, uv, middle[number].reshape(-1, 3))
        row = row[parent]
        if len(triangles) > MOST_TRIANGLES:
            raise InputError(
                f"more than {MOST_TRIANGLES:,} pieces are needed", surface.name or "surface", "Give a smaller texture"
            )


def _split(triangles: np.ndarray, uv: np.ndarray, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triangles with the middles of their cut sides (k, 3), -1 for none, taken apart; uv too, and their parents."""
    corners = np.concatenate([triangles, middle], axis=1)
    places = np.concatenate([uv, 0.5 * (uv + np.roll(uv, -1, axis=1))], axis=1)
    marks = (middle >= 0) @ np.array([1, 2, 4])
    found, parents = [], []
    for case in range(8):
        rows = np.flatnonzero(marks == case)
        for pattern in _PATTERNS[case]:
            found.append((corners[rows][:, pattern], places[rows][:, pattern]))
            parents.append(rows)
    return np.concatenate([c for c, _ in found]), np.concatenate([p for _, p in found]), np.concatenate(parents)


def _patterns() -> list[list[list[int]]]:
    """How a triangle is cut: corners 0 to 2, middles 3 to 5 of the sides that start at them; by marked sides."""
    patterns: list[list[list[int]]] = [[[0, 1, 2]]] + [[] for _ in range(7)]
    for turn in range(3):
        a, b, c = turn, (turn + 1) % 3, (turn + 2) % 3
        ab, bc = 3 + a, 3 + b
        patterns[1 << a] = [[a, ab, c], [ab, b, c]]
        patterns[1 << a | 1 << b] = [[ab, b, bc], [a, ab, bc], [a, bc, c]]
    patterns[7] = [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]
    return patterns


_PATTERNS = _patterns()
