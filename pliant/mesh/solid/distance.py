"""Signed distance to any triangle surface: closed or open, overlapping or not; and the nearest point on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import warp as wp

from pliant.errors import InputError, PliantError
from pliant.launch import launch, pick_device
from pliant.mesh import arrays
from pliant.mesh.solid import distance_kernels
from pliant.mesh.surface import SurfaceMesh

Progress = Callable[[str, float], Any]
"""Called with the name of a stage and how much of it is done, 0 to 1."""

ACCURACY = 2.0
"""Triangles further away than this times their cluster's radius are summed as one dipole (Barill et al. 2018)."""
THRESHOLD = 0.5
"""Winding number above which a point is inside: half way between outside (0) and inside (1)."""
CHUNK = 1 << 16
"""Points asked for at once; time and progress are looked at in between."""
GRAIN = 512


class OutOfTimeError(PliantError):
    """A deadline passed; callers that set one catch this and do something coarser."""


def check_time(deadline: float | None) -> None:
    """Raise `OutOfTimeError` once ``time.monotonic()`` has passed the deadline [s]."""
    if deadline is not None and time.monotonic() > deadline:
        raise OutOfTimeError("the time limit was reached")


class SignedDistance:
    """Distance to a surface, negative inside.

    Inside is where the generalised winding number (Jacobson et al. 2013) exceeds one half. Overlapping parts give two
    or more and are inside, a cavity gives zero and is outside, a hole is closed by a smooth cap. If the surface as a
    whole is inside out (its signed volume is negative) all triangles are turned first; single parts are not turned,
    that is repair's work. Coordinates are brought to a unit box in float64 before they become float32, so the error
    is about 1e-7 of the surface's size whatever its size and place.

    Args:
        mesh: the surface; triangles without area are left out.
        device: where the queries run.
    """

    def __init__(self, mesh: SurfaceMesh, device: str = "cpu"):
        where = mesh.name or "surface mesh"
        arrays.check_finite(mesh.vertices, where)
        arrays.check_indices(mesh.triangles, len(mesh.vertices), "triangle", where)
        self.device = pick_device(device)
        self.where = where
        used = mesh.vertices[mesh.triangles.ravel()] if len(mesh.triangles) else np.zeros((0, 3))
        if not len(used):
            raise InputError("has no triangles", where, "Give at least one triangle")
        self.low, self.high = used.min(axis=0), used.max(axis=0)
        self.center = 0.5 * (self.low + self.high)
        self.scale = float((self.high - self.low).max())
        if self.scale <= 0.0:
            raise InputError("all its vertices lie at one place", where, "Give triangles with an area")

        corners = ((used - self.center) / self.scale).reshape(-1, 3, 3)
        near = corners.astype(np.float32).astype(np.float64)
        doubled = np.cross(near[:, 1] - near[:, 0], near[:, 2] - near[:, 0])
        self.rows = np.flatnonzero((doubled != 0.0).any(axis=1)).astype(np.int32)
        if not len(self.rows):
            raise InputError("none of its triangles has an area", where, "Give triangles with an area")
        self.signed_volume = float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)
        """Of the surface in units of ``scale``^3; only a closed surface encloses just this."""
        self.turned = self.signed_volume < 0.0
        triangles = mesh.triangles[self.rows]
        points = ((mesh.vertices - self.center) / self.scale).astype(np.float32)
        self._mesh = wp.Mesh(
            points=wp.array(points, dtype=wp.vec3, device=self.device),
            indices=wp.array(np.ascontiguousarray(triangles[:, ::-1] if self.turned else triangles).ravel(),
                             dtype=wp.int32, device=self.device),
            support_winding_number=True,
        )  # fmt: skip

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the surface on its way in."""
        return ("the surface was inside out: its triangles were turned",) if self.turned else ()

    def at(
        self,
        points: np.ndarray,
        progress: Progress | None = None,
        deadline: float | None = None,
        accuracy: float = ACCURACY,
    ) -> np.ndarray:
        """Signed distance of each point, negative inside: (n,) float64 [m].

        Args:
            points: (n, 3) [m].
            progress: called after every chunk with "measuring distances" and the part done.
            deadline: value of ``time.monotonic()`` after which `OutOfTimeError` is raised [s].
            accuracy: of the winding number, see `ACCURACY`; larger is slower and more exact.
        """
        distance = np.empty(len(points))
        for part, placed, reach in self.chunks(points, progress, deadline):
            out = wp.empty(len(placed), dtype=float, device=self.device)
            launch(
                distance_kernels.signed_distances,
                len(placed),
                [self._mesh.id, placed, reach, accuracy, THRESHOLD],
                [out],
                device=self.device,
                grain=GRAIN,
            )
            distance[part] = out.numpy()
        self._check_found(distance)
        return distance * self.scale

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Whether each point is inside: (n,) bool."""
        return self.at(points) < 0.0

    def nearest(
        self, points: np.ndarray, progress: Progress | None = None, deadline: float | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Unsigned distance (n,) [m], triangle (n,) int32 and barycentric weights (n, 3) of the nearest points."""
        distance, triangle, weights = np.empty(len(points)), np.empty(len(points), np.int32), np.empty((len(points), 3))
        for part, placed, reach in self.chunks(points, progress, deadline):
            outs = [wp.empty(len(placed), dtype=kind, device=self.device) for kind in (float, int, wp.vec3)]
            launch(
                distance_kernels.nearest_points,
                len(placed),
                [self._mesh.id, placed, reach],
                outs,
                device=self.device,
                grain=GRAIN,
            )
            distance[part], triangle[part], weights[part] = (out.numpy() for out in outs)
        self._check_found(distance)
        if self.turned:
            weights = weights[:, ::-1].copy()
        return distance * self.scale, self.rows[triangle], weights

    def touched(self, centers: np.ndarray, edge: float, deadline: float | None = None) -> np.ndarray:
        """Whether any triangle meets the cube of edge ``edge`` [m] about each of the centres (n, 3) [m]: (n,) bool.

        The cubes are grown by a millionth of the surface's size, so that rounding never misses a triangle.
        """
        touched = np.empty(len(centers), bool)
        half = 0.5 * edge / self.scale * (1.0 + 1e-6) + 1e-6
        for part, placed, _ in self.chunks(centers, None, deadline):
            out = wp.empty(len(placed), dtype=wp.uint8, device=self.device)
            launch(
                distance_kernels.touched_cubes,
                len(placed),
                [self._mesh.id, placed, half],
                [out],
                device=self.device,
                grain=GRAIN,
            )
            touched[part] = out.numpy() != 0
        return touched

    def placed(self, points: np.ndarray) -> np.ndarray:
        """Points (n, 3) [m] in the unit box of the queries: (n, 3) float32."""
        return ((np.asarray(points, np.float64) - self.center) / self.scale).astype(np.float32)

    @property
    def mesh_id(self) -> wp.uint64:
        """Of the triangles in the unit box, turned outward, for kernels; their rows are ``rows``."""
        return self._mesh.id

    def chunks(
        self, points: np.ndarray, progress: Progress | None, deadline: float | None
    ) -> Iterator[tuple[slice, wp.array, float]]:
        """Ranges of the points with their places in the unit box, and how far the surface may be from them."""
        for start in range(0, len(points), CHUNK):
            check_time(deadline)
            part = slice(start, min(start + CHUNK, len(points)))
            placed = self.placed(points[part])
            reach = 2.0 * float(np.abs(placed).max()) + 2.0
            yield part, wp.array(placed, dtype=wp.vec3, device=self.device), reach
            if progress is not None:
                progress("measuring distances", part.stop / len(points))

    def _check_found(self, distance: np.ndarray) -> None:
        if not np.isfinite(distance).all():
            raise InputError(
                "all its triangles are too thin to measure a distance to", self.where, "Remove its flat triangles"
            )
