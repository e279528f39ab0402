"""Where a surface is too thin for elements of a size, and the outward offset that makes it thick enough there."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.mesh.solid import thickness_kernels
from pliant.mesh.solid.checks import Samples
from pliant.mesh.solid.distance import GRAIN, SignedDistance, check_time
from pliant.mesh.surface import SurfaceMesh

HALF_THICKNESS = 0.36
"""Half the thickness, in element sizes, that thin parts are given at first: most then carry tets almost everywhere."""
WATCHED = 0.55
"""Half the thickness, in element sizes, up to which a part may still break and is looked at."""
SPACING = 0.33
"""Distance between the points at which the thickness is measured, in element sizes."""
RADIUS = 1.0
"""Distance over which an offset falls to zero, in element sizes."""
INSET = 0.02
"""How far points on edges and corners are moved into their triangle, as a part of its size."""
MOST_POINTS = 300_000
GAP = 1e-6
GRID_CELLS = 64


class LocalOffset:
    """An outward offset that differs from place to place.

    Args:
        distance: to the surface.
        points: places on the surface (n, 3) [m].
        amounts: offset at each (n,) [m].
        radius: distance over which each falls to zero [m].
    """

    def __init__(self, distance: SignedDistance, points: np.ndarray, amounts: np.ndarray, radius: float):
        self.distance, self.points, self.amounts, self.radius = distance, points, amounts, radius
        self.most = float(amounts.max(initial=0.0))
        """The largest offset [m]."""
        self._grid: wp.HashGrid | None = None
        if not len(points):
            return
        device = distance.device
        self._centers = wp.array(distance.placed(points), dtype=wp.vec3, device=device)
        self._amounts = wp.array((amounts / distance.scale).astype(np.float32), dtype=float, device=device)
        self._grid = wp.HashGrid(GRID_CELLS, GRID_CELLS, GRID_CELLS, device)
        self._grid.build(self._centers, radius / distance.scale)

    def at(self, points: np.ndarray, deadline: float | None = None) -> np.ndarray:
        """Offset of the surface where it is nearest to each of the points (n, 3) [m]: (n,) [m]."""
        found = np.zeros(len(points))
        if self._grid is None:
            return found
        d = self.distance
        for part, placed, reach in d.chunks(points, None, deadline):
            out = wp.empty(len(placed), dtype=float, device=d.device)
            launch(
                thickness_kernels.spread,
                len(placed),
                [d.mesh_id, self._grid.id, self._centers, self._amounts, placed, reach, self.radius / d.scale],
                [out],
                device=d.device,
                grain=GRAIN,
            )
            found[part] = out.numpy()
        return found * d.scale

    def raised(self, points: np.ndarray, by: np.ndarray, most: float) -> LocalOffset:
        """A copy with an offset at some points of the surface (n, 3) [m] that is larger by (n,), up to a bound [m]."""
        kept = _one_per_cell(points, by, 0.75 * SPACING * self.radius)
        points = points[kept]
        amounts = np.minimum(self.at(points) + by[kept], most)
        return LocalOffset(
            self.distance, np.concatenate([self.points, points]), np.concatenate([self.amounts, amounts]), self.radius
        )


def offset_for(
    surface: SurfaceMesh, distance: SignedDistance, size: float, deadline: float | None = None
) -> tuple[LocalOffset, np.ndarray, np.ndarray]:
    """The offset that makes every part of a surface thick enough to be filled with elements of a size [m].

    The thickness is measured by rays cast inward from points all over the surface; what is missing to twice
    `HALF_THICKNESS` is added half on each side, and falls to zero over one element size.

    Returns:
        the offset, points all over the thin parts (n, 3) [m], and for each the place half way to the other side.
    """
    points, rows = _spread_points(surface, distance, SPACING * size)
    check_time(deadline)
    corners = surface.vertices[surface.triangles[rows]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    if distance.turned:
        normals = -normals
    half = thickness_at(distance, points, normals, 2.5 * WATCHED * size, deadline) / 2.0
    amounts = HALF_THICKNESS * size - half
    thin = np.flatnonzero(half < WATCHED * size)
    points, amounts = points[thin], amounts[thin]
    middles = points - half[thin, None] * normals[thin]
    kept = _one_per_cell(points, amounts, SPACING * size)
    kept = kept[amounts[kept] > 0.0]
    return LocalOffset(distance, points[kept], amounts[kept], RADIUS * size), points, middles


def thickness_at(
    distance: SignedDistance, points: np.ndarray, normals: np.ndarray, reach: float, deadline: float | None = None
) -> np.ndarray:
    """Thickness of a surface below points of it, infinite beyond a reach [m]: (n,) [m].

    Args:
        distance: to the surface.
        points: on it (n, 3) [m].
        normals: outward, of unit length (n, 3).
        reach: of the rays [m].
    """
    found = np.empty(len(points))
    for part, placed, _ in distance.chunks(points, None, deadline):
        out = wp.empty(len(placed), dtype=float, device=distance.device)
        launch(
            thickness_kernels.thicknesses,
            len(placed),
            [
                distance.mesh_id,
                placed,
                wp.array(normals[part].astype(np.float32), dtype=wp.vec3, device=distance.device),
                reach / distance.scale,
                GAP,
            ],
            [out],
            device=distance.device,
            grain=GRAIN,
        )
        found[part] = out.numpy()
    return found * distance.scale


def _spread_points(surface: SurfaceMesh, distance: SignedDistance, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Points on a surface (n, 3) [m] no further apart than about ``spacing`` [m], and the triangle of each (n,).

    Spread evenly by area; and along edges and in corners, since the tip of a spike has hardly any area.
    """
    whole = surface if len(distance.rows) == len(surface.triangles) else surface.of_triangles(distance.rows)
    count = int(min(np.ceil(whole.areas().sum() / spacing**2) + 1, MOST_POINTS))
    even, even_rows = Samples.places(whole, count)

    corners = whole.vertices[whole.triangles]
    lengths = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    # The start of each edge is a corner; long edges get points in between.
    steps = np.maximum(np.ceil(lengths / spacing), 1.0)
    steps = np.maximum(np.floor(steps * min(1.0, MOST_POINTS / max(steps.sum() - steps.size, 1.0))), 1.0)
    steps = steps.astype(np.int64).ravel()
    edge = np.repeat(np.arange(len(steps)), steps)
    along = (np.arange(len(edge)) - np.repeat(np.cumsum(steps) - steps, steps)) / steps[edge]
    rows, first = edge // 3, edge % 3
    start, end = corners[rows, first], corners[rows, (first + 1) % 3]
    points = start + along[:, None] * (end - start)
    points += INSET * (corners.mean(axis=1)[rows] - points)
    kept = _one_per_cell(points, None, spacing)
    points, rows = np.concatenate([even, points[kept]]), np.concatenate([even_rows, rows[kept]])
    return points, distance.rows[rows]


def _one_per_cell(points: np.ndarray, values: np.ndarray | None, spacing: float) -> np.ndarray:
    """Numbers of points of which no two lie in one cell of a grid; the one with the largest value, or the first."""
    if not len(points):
        return np.zeros(0, np.int64)
    low = points.min(axis=0)
    edge = max(spacing, float(np.ptp(points, axis=0).max()) / 1e6)
    cell = np.floor((points - low) / edge).astype(np.int64)
    key = (cell[:, 0] << 42) | (cell[:, 1] << 21) | cell[:, 2]
    order = np.lexsort((np.zeros(len(key)) if values is None else -values, key))
    first = np.ones(len(order), bool)
    first[1:] = key[order][1:] != key[order][:-1]
    return np.sort(order[first])
