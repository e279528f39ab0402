"""A triangle mesh on a device, with what the kernels need to find its contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pliant.collide.collider import Surface
from pliant.collide.mesh_kernels import (
    MeshData,
    count_glide,
    glide_vertices,
    write_distances,
    write_normals,
)
from pliant.launch import launch, run

SHELL, NORMALS, WINDING = 0, 1, 2
CELLS = 24
"""Cells along each side of the grid that tells which places are surely outside."""


def sign_way(triangles: np.ndarray) -> int:
    """How a surface tells its inside: none where it is open, else by normals, or by winding where edges branch."""
    directed = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
    count = int(triangles.max()) + 1
    there, back = directed @ [count, 1], directed @ [1, count]
    if not np.array_equal(np.sort(there), np.sort(back)):
        return SHELL
    return NORMALS if len(np.unique(there)) == len(there) else WINDING


class DeviceMesh:
    """A mesh in its own frame.

    Args:
        points: vertices in its own frame [m] (n, 3).
        triangles: (k, 3).
        sign: see `sign_way`.
        half: half the thickness of a shell [m].
        deforms: whether vertices will be set.
    """

    def __init__(
        self,
        points: np.ndarray,
        triangles: np.ndarray,
        sign: int,
        half: float,
        deforms: bool,
        surface: Surface,
        device: str,
    ):
        self.device = device
        self.deforms = deforms
        corners = wp.array(triangles.reshape(-1).astype(np.int32), dtype=int, device=device)
        self.points = wp.array(points.astype(np.float32), dtype=wp.vec3, device=device)
        self.mesh = wp.Mesh(self.points, corners, support_winding_number=sign == WINDING, bvh_leaf_size=2)
        self.faces = len(triangles)
        self._around = _around(triangles, len(points), device)
        self.normals = wp.zeros((self.faces, 7), dtype=wp.vec3, device=device)
        count = len(points) if deforms else 1
        self.target = wp.array(points[:count].astype(np.float32), dtype=wp.vec3, device=device)
        self.way = wp.zeros(count, dtype=wp.vec3, device=device)
        # steps left, longest way of a vertex in a step [m], steps in a second
        self.glide = wp.array([-1.0, 0.0, 0.0], dtype=float, device=device)
        self.bounds = wp.array([points.min(axis=0), points.max(axis=0)], dtype=wp.vec3, device=device)
        data = MeshData()
        data.id = self.mesh.id
        data.low, data.high = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        data.extent = float(np.linalg.norm(np.ptp(points, axis=0)))
        data.sign, data.half, data.deforms = sign, half, int(deforms)
        data.friction, data.static_friction = surface.friction, surface.holding
        data.restitution, data.margin = surface.restitution, surface.margin
        self.data: Any = data
        self._write_normals()
        self.cells = self._measured_cells(points)

    def _measured_cells(self, points: np.ndarray) -> wp.array:
        """Signed distances at the middles of coarse cells over the mesh [m] (m, m, m); one cell where none are used."""
        low, size = points.min(axis=0), np.ptp(points, axis=0)
        self.data.cell_half = 0.5 * float(np.linalg.norm(size)) / CELLS
        if self.data.sign == SHELL or self.deforms:
            return wp.zeros((1, 1, 1), dtype=float, device=self.device)
        middle = (np.stack(np.meshgrid(*[np.arange(CELLS)] * 3, indexing="ij"), axis=-1) + 0.5) / CELLS
        found = self.distances(low + size * middle.reshape(-1, 3))
        return wp.array(found.reshape(CELLS, CELLS, CELLS).astype(np.float32), dtype=float, device=self.device)

    def _write_normals(self) -> None:
        around = [self.points, self.mesh.indices, *self._around]
        launch(write_normals, self.faces, around, [self.normals], device=self.device)

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Signed distances of points in its own frame [m] (m,), to the middle of a shell."""
        p = wp.array(points.astype(np.float32), dtype=wp.vec3, device=self.device)
        found = wp.zeros(len(points), dtype=float, device=self.device)
        launch(write_distances, len(points), [self.data, self.normals, p], [found], device=self.device)
        return found.numpy().astype(np.float64)

    def arrays(self) -> dict[str, wp.array]:
        """What a checkpoint must hold; nothing where it does not deform."""
        if not self.deforms:
            return {}
        return {
            "target": self.target,
            "way": self.way,
            "glide": self.glide,
            "bounds": self.bounds,
            "points": self.points,
        }

    def set_points(self, points: np.ndarray, steps: int, duration: float) -> None:
        """Let the vertices glide to other places in its own frame [m] (n, 3)."""
        now = self.points.numpy().astype(np.float64)
        way = (points - now) / steps
        self.target.assign(points.astype(np.float32))
        self.way.assign(way.astype(np.float32))
        longest = float(np.linalg.norm(way, axis=1).max())
        self.glide.assign(np.array([steps, longest, steps / duration], np.float32))
        both = np.stack([np.minimum(now, points).min(axis=0), np.maximum(now, points).max(axis=0)])
        self.bounds.assign(both.astype(np.float32))

    def advance(self) -> None:
        """One step of the vertices; nothing where it does not deform."""
        if self.deforms:
            launch(count_glide, 1, [], [self.glide], device=self.device)
            inputs: list[Any] = [self.target, self.glide]
            launch(glide_vertices, len(self.points), inputs, [self.way, self.points], device=self.device)
            run(self.mesh.refit)
            self._write_normals()

    def restored(self) -> None:
        """Follow vertices that were set from outside."""
        if self.deforms:
            self.mesh.refit()
            self._write_normals()


def _around(triangles: np.ndarray, count: int, device: str) -> list[wp.array]:
    """The triangle across each edge (k, 3), -1 for none or several, and the corners around each vertex."""
    first, second = triangles.astype(np.int64).reshape(-1), triangles[:, [1, 2, 0]].astype(np.int64).reshape(-1)
    there, back = first * count + second, second * count + first
    order = np.argsort(there, kind="stable")
    place = np.clip(np.searchsorted(there[order], back), 0, len(there) - 1)
    found = there[order][place] == back
    across = np.where(found, order[place] // 3, -1).reshape(-1, 3)
    fan = np.argsort(first, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=count))])
    return [
        wp.array(across.astype(np.int32), dtype=int, ndim=2, device=device),
        wp.array(starts.astype(np.int32), dtype=int, device=device),
        wp.array(fan.astype(np.int32), dtype=int, device=device),
    ]
