"""PointCloud: loose points without a mesh, and the small balls that stand for them in pictures and files."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.order import bisect_order

FINE_BALLS = 20_000
"""Most points that are drawn as icosahedra; more are drawn as octahedra, with a third of the triangles."""
BALL_SHARE = 0.45
"""Radius of a ball over the spacing of the points: neighbours do not quite touch."""
LEAF = 8
"""Points in a leaf of the order that bounds the distance of neighbours."""


@dataclasses.dataclass(frozen=True, eq=False)
class PointCloud:
    """Points in space that nothing connects.

    Args:
        vertices: (n, 3) float64 [m].
        name: for messages and files.
        notes: what was done to the points on their way here, for the user.
        volume: of the body they stand for [m^3]; estimated from their spacing if not given.
        radius: of the balls they are drawn as [m]; 0.45 of their spacing if not given.
    """

    vertices: np.ndarray
    name: str = ""
    notes: tuple[str, ...] = ()
    volume: float | None = None
    radius: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", arrays.as_points(self.vertices, "PointCloud.vertices"))
        for key, unit in (("volume", "cubic metres"), ("radius", "metres")):
            value = getattr(self, key)
            if value is not None:
                object.__setattr__(self, key, _positive(value, f"PointCloud.{key}", unit))

    @staticmethod
    def load(path: str | os.PathLike, volume: float | None = None, radius: float | None = None) -> PointCloud:
        """Read points from a file: ``.ply``, rows of text (``.xyz``, ``.txt``, ``.csv``), or a NumPy array (``.npy``).

        Of rows with more than three numbers the first three are taken, of a PLY file the vertices.

        Args:
            path: the file; all but ``.npy`` may be compressed (``.gz``).
            volume: as for `PointCloud`, in the units of the file.
            radius: likewise.
        """
        from pliant.mesh.io import point_files, source

        if not isinstance(path, (str, os.PathLike)):
            raise InputError(f"{path!r} is no path", "PointCloud.load(path)", "Give the name of a file of points")
        points, notes = point_files.read(Path(path))
        cloud = PointCloud(points, source.stem(Path(path)), notes, volume, radius)
        arrays.check_finite(cloud.vertices, str(path))
        return cloud

    # Validity

    def check(self, where: str = "") -> list[str]:
        """Raise `InputError` for what cannot be simulated; return notes on what is only suspicious.

        Args:
            where: file or scene key to name in messages; the cloud's own name when empty.
        """
        where = where or self.name or "point cloud"
        if not len(self.vertices):
            raise InputError("has no points", where, "Give at least one point")
        arrays.check_finite(self.vertices, where)
        pairs = arrays.coincident_pairs(self.vertices)
        if not len(pairs):
            return []
        return [f"{len(pairs)} pairs of points lie at the same place, the first {pairs[0].tolist()}"]

    # Measures

    def spacing(self) -> float:
        """Mean distance of a point to its nearest neighbour [m]; points at the same place count as one."""
        return self._spread("Give at least two points at different places")[1]

    def volume_estimate(self) -> float:
        """The given volume, or a cube of the spacing for each point [m^3]; points at the same place count as one."""
        if self.volume is not None:
            return self.volume
        count, spacing = self._spread("Give its volume [m^3]: PointCloud(points, volume=...)")
        return count * spacing**3

    def ball_radius(self) -> float:
        """Radius of the balls that the points are drawn as [m].

        The one given, or 0.45 of the spacing; for a single place that of a ball of the given volume.
        """
        if self.radius is not None:
            return self.radius
        if self.volume is not None and (self.vertices == self.vertices[:1]).all():
            return (0.75 * self.volume / math.pi) ** (1.0 / 3.0)
        return (
            BALL_SHARE * self._spread("Give its volume or the radius of its balls: PointCloud(points, radius=...)")[1]
        )

    def _spread(self, remedy: str) -> tuple[int, float]:
        """Number of different places, and the mean distance of one to the nearest other [m]."""
        where = self.name or "point cloud"
        arrays.check_finite(self.vertices, where)
        if self._measured[1] <= 0.0:
            raise InputError(f"all points ({len(self.vertices)}) lie at one place: there is no spacing", where, remedy)
        return self._measured

    @functools.cached_property
    def _measured(self) -> tuple[int, float]:
        places = np.unique(self.vertices, axis=0)
        return len(places), float(_neighbour_distances(places).mean()) if len(places) > 1 else 0.0

    def surface(self) -> np.ndarray:
        """Triangles of its outside: none, (0, 3) int32."""
        return np.zeros((0, 3), np.int32)

    # Placement

    def translated(self, by: Any) -> PointCloud:
        """A copy moved by (x, y, z) [m]."""
        return dataclasses.replace(self, vertices=self.vertices + arrays.offset(by, "translated(by)"))

    def rotated(self, axis: Any, angle: float) -> PointCloud:
        """A copy turned about an axis through the origin by ``angle`` [rad], right-handed."""
        return dataclasses.replace(self, vertices=self.vertices @ arrays.rotation(axis, angle, "rotated(axis)").T)

    def scaled(self, factor: Any) -> PointCloud:
        """A copy scaled about the origin by one positive factor, or by three (x, y, z); a given volume follows.

        A given radius is scaled by the cube root of the product of the three.
        """
        factors = arrays.scale_factors(factor, "scaled(factor)")
        growth = float(factors.prod())
        return dataclasses.replace(
            self,
            vertices=self.vertices * factors,
            volume=None if self.volume is None else self.volume * growth,
            radius=None if self.radius is None else self.radius * growth ** (1.0 / 3.0),
        )


@functools.cache
def ball_shape(fine: bool) -> tuple[np.ndarray, np.ndarray]:
    """Corners (k, 3) float32 of a ball of radius 1 and its triangles (m, 3) int32, counter-clockwise from outside.

    Args:
        fine: an icosahedron (12 corners, 20 triangles) instead of an octahedron (6, 8).
    """
    if fine:
        golden = 0.5 * (1.0 + math.sqrt(5.0))
        corners = np.array([np.roll([0.0, s, t * golden], k) for k in range(3) for s in (-1, 1) for t in (-1, 1)])
    else:
        corners = np.concatenate([np.eye(3), -np.eye(3)])
    apart = np.linalg.norm(corners[:, None] - corners, axis=2)
    joined = np.isclose(apart, apart[apart > 0.0].min())
    faces = [f for f in itertools.combinations(range(len(corners)), 3) if joined[np.ix_(f, f)].sum() == 6]
    outward = [f if np.linalg.det(corners[list(f)]) > 0.0 else f[::-1] for f in faces]
    return (corners / np.linalg.norm(corners[0])).astype(np.float32), np.array(outward, np.int32)


def ball_offsets(radius: float, count: int) -> np.ndarray:
    """Corners of a ball about its point [m] (k, 3) float32, where `count` points are drawn."""
    return np.float32(radius) * ball_shape(count <= FINE_BALLS)[0]


def ball_vertices(x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Corners of the balls around points (n, 3) [m]: those of each point in a row, (n k, 3) float32."""
    return (x.astype(np.float32, copy=False)[:, None] + offsets).reshape(-1, 3)


def ball_triangles(count: int) -> np.ndarray:
    """Triangles of the balls around `count` points (count m, 3) int32."""
    corners, triangles = ball_shape(count <= FINE_BALLS)
    first = len(corners) * np.arange(count, dtype=np.int32)
    return (first[:, None, None] + triangles).reshape(-1, 3)


def _positive(value: Any, where: str, unit: str) -> float:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not 0.0 < value < math.inf:
        raise InputError(f"{value!r} is not a positive number", where, f"Give {unit} above 0, or leave it out")
    return float(value)


def _neighbour_distances(places: np.ndarray) -> np.ndarray:
    """Distance of each of some different places (n, 3), at least two, to the nearest other one [m] (n,)."""
    import warp as wp

    from pliant.launch import launch, pick_device
    from pliant.mesh.points_kernels import find_neighbours

    # Who is next in memory is near: the nearest is no farther away, so that one search with this reach finds it.
    order = bisect_order(places, LEAF)[0]
    places = places[order]
    step = np.linalg.norm(np.diff(places, axis=0), axis=1)
    bound = np.minimum(np.append(step, np.inf), np.insert(step, 0, np.inf))
    low, high = places.min(axis=0), places.max(axis=0)
    size = float((high - low).max())
    device = pick_device("cpu")
    spots = wp.array(((places - 0.5 * (low + high)) / size).astype(np.float32), dtype=wp.vec3, device=device)
    reach = wp.array((bound / size * (1.0 + 1e-5) + 1e-6).astype(np.float32), dtype=float, device=device)
    nearest = wp.empty(len(places), dtype=int, device=device)
    bvh = wp.Bvh(spots, wp.clone(spots))
    launch(find_neighbours, len(places), [bvh.id, spots, reach], [nearest], device=device, grain=1024)
    distance = np.linalg.norm(places[nearest.numpy()] - places, axis=1)
    return np.minimum(distance, bound)
