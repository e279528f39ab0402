"""Triangles cut into smaller ones, whose vertices are shared across edges."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh.embed import Embedding
from pliant.mesh.look import Look
from pliant.mesh.loop_weights import Stencils, first_level
from pliant.mesh.surface import SurfaceMesh


@dataclasses.dataclass(frozen=True, eq=False)
class Subdivision:
    """Every triangle cut into 4^levels alike ones.

    The coarse vertices come first, in their order, then those of each level.

    Attributes:
        triangles: (k 4^levels, 3) int32, those of a coarse triangle in a row.
        host: coarse triangle of each vertex (n,) int64, the first of several.
        weights: of the three corners of that triangle (n, 3) float64.
        corner_weights: those of the corners of the small triangles in each coarse one (4^levels, 3, 3).
        limit: of the coarse vertices, for a smooth surface. stencils: each level's vertices from those before.
    """

    triangles: np.ndarray
    host: np.ndarray
    weights: np.ndarray
    corner_weights: np.ndarray
    limit: Stencils
    stencils: tuple[Stencils, ...]

    @property
    def parts(self) -> int:
        """Small triangles in each coarse one."""
        return len(self.corner_weights)

    @staticmethod
    def of(mesh: SurfaceMesh, levels: int) -> Subdivision:
        """Cut the triangles of a mesh; each level halves the edges."""
        level = first_level(mesh.vertices, mesh.triangles)
        limit, stencils = level.limit(), []
        pattern = np.eye(3)[None]
        for _ in range(levels):
            stencils.append(level.subdivided())
            a, b, c = pattern[:, 0], pattern[:, 1], pattern[:, 2]
            ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
            rows = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
            pattern = np.stack([np.stack(row, axis=1) for row in rows], axis=1).reshape(-1, 3, 3)
            level = level.next_level()
        _, found = np.unique(level.triangles, return_index=True)
        weights = pattern.reshape(-1, 3)
        return Subdivision(
            level.triangles.astype(np.int32),
            found // len(weights),
            weights[found % len(weights)],
            pattern,
            limit,
            tuple(stencils),
        )

    def embedding(self, mesh: SurfaceMesh) -> Embedding:
        """The vertices in terms of the corners of their coarse triangles."""
        return Embedding(mesh.triangles[self.host].astype(np.int32), self.weights, np.zeros(len(self.host)))

    def surface(self, mesh: SurfaceMesh) -> SurfaceMesh:
        """The mesh, cut; it has the same shape and look."""
        points = np.einsum("nk,nkd->nd", self.weights, mesh.vertices[mesh.triangles[self.host]])
        look = None if mesh.look is None else self._look(mesh, mesh.look)
        return SurfaceMesh(points, self.triangles, mesh.name, mesh.notes, look)

    def _look(self, mesh: SurfaceMesh, look: Look) -> Look:
        repeated = lambda array: None if array is None else np.repeat(array, self.parts, axis=0)
        uv, colors = None, None
        if look.uv is not None:
            uv = np.einsum("fck,tkd->tfcd", self.corner_weights, look.uv).reshape(-1, 3, 2).astype(np.float32)
        if look.vertex_colors is not None:
            corners = look.vertex_colors[mesh.triangles[self.host]]
            colors = np.einsum("nk,nkd->nd", self.weights, corners).astype(np.float32)
        return dataclasses.replace(
            look, uv=uv, vertex_colors=colors, paint_of=repeated(look.paint_of), part_of=repeated(look.part_of)
        )
