"""SurfaceMesh: triangles in space, counter-clockwise seen from outside, and its validity checks."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.look import Look

EDGE_CORNERS = ((0, 1), (1, 2), (2, 0))
FLAT_TRIANGLE = 1e-10
"""Twice the area over the square of the longest edge, below which a triangle counts as flat."""


@dataclasses.dataclass(frozen=True, eq=False)
class SurfaceMesh:
    """Triangles over shared vertices.

    Args:
        vertices: (n, 3) float64 [m].
        triangles: (k, 3) int32, counter-clockwise from outside.
        name: for messages and files.
        notes: what was done to the mesh on its way here, for the user.
        look: names of parts, paints and texture coordinates, where the file had them.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    name: str = ""
    notes: tuple[str, ...] = ()
    look: Look | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", arrays.as_points(self.vertices, "SurfaceMesh.vertices"))
        object.__setattr__(self, "triangles", arrays.as_indices(self.triangles, 3, "SurfaceMesh.triangles"))
        if self.look is not None:
            self.look.check(len(self.triangles), len(self.vertices), self.name or "SurfaceMesh")

    def check(self, where: str = "") -> list[str]:
        """Raise `InputError` for what cannot be simulated; return notes on what is only suspicious.

        Args:
            where: file or scene key to name in messages; the mesh's own name when empty.
        """
        where = where or self.name or "surface mesh"
        if not len(self.triangles):
            raise InputError("has no triangles", where, "Give at least one triangle")
        arrays.check_finite(self.vertices, where)
        arrays.check_indices(self.triangles, len(self.vertices), "triangle", where)
        self._check_flat(where)
        arrays.check_used(self.triangles, len(self.vertices), "triangle", where)
        notes = []
        pairs = arrays.coincident_pairs(self.vertices)
        if len(pairs):
            notes.append(
                f"{len(pairs)} pairs of vertices lie at the same place, the first {pairs[0].tolist()}: "
                "the surface is cut there; merge them if it should hold together"
            )
        keys = self._directed_edges()
        if (keys[1:] == keys[:-1]).any():
            notes.append("some neighbouring triangles wind in opposite directions, or more than two share an edge")
        return notes

    def _check_flat(self, where: str) -> None:
        corners = self.vertices[self.triangles]
        longest = np.max([((corners[:, i] - corners[:, j]) ** 2).sum(axis=1) for i, j in EDGE_CORNERS], axis=0)
        areas = self.areas()
        flat = 2.0 * areas <= FLAT_TRIANGLE * longest
        if flat.any():
            row = int(np.argmax(flat))
            raise InputError(
                f"triangle {row} {self.triangles[row].tolist()} has area {areas[row]:.3g} m^2 with a longest edge of "
                f"{longest[row] ** 0.5:.3g} m ({flat.sum()} such in all)",
                where,
                "Remove flat triangles or merge their corners before the mesh is used",
            )

    def _directed_edges(self) -> np.ndarray:
        """Sorted keys (3k,) int64 of the edges with their direction: from << 32 | to."""
        starts = self.triangles.astype(np.int64)
        return np.sort(((starts << 32) | np.roll(starts, -1, axis=1)).ravel())

    def areas(self) -> np.ndarray:
        """Area of each triangle: (k,) [m^2]."""
        return 0.5 * np.linalg.norm(self._doubled_normals(), axis=1)

    def normals(self) -> np.ndarray:
        """Unit normal of each triangle, outward: (k, 3); zero for a flat one."""
        doubled = self._doubled_normals()
        length = np.linalg.norm(doubled, axis=1, keepdims=True)
        return np.divide(doubled, length, out=np.zeros_like(doubled), where=length > 0.0)

    def _doubled_normals(self) -> np.ndarray:
        a, b, c = (self.vertices[self.triangles[:, i]] for i in range(3))
        return np.cross(b - a, c - a)

    def edges(self) -> np.ndarray:
        """Every edge once: (e, 2) int32, smaller number first, sorted."""
        return arrays.unique_edges(self.triangles, EDGE_CORNERS)

    def is_closed(self) -> bool:
        """Whether every edge is used exactly twice, once in each direction."""
        keys = self._directed_edges()
        if not len(keys) or (keys[1:] == keys[:-1]).any():
            return False
        return bool(np.array_equal(np.sort(((keys & 0xFFFFFFFF) << 32) | (keys >> 32)), keys))

    def volume(self) -> float:
        """Enclosed volume, positive when the triangles face outward [m^3]; the surface must be closed."""
        if not self.is_closed():
            raise InputError(
                "the surface is open or its triangles disagree on outside",
                self.name or "surface mesh",
                "Close its holes before asking for a volume",
            )
        # About a point nearby, so that little cancels when the mesh lies far from the origin.
        corners = (self.vertices - self.vertices.mean(axis=0))[self.triangles]
        return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)

    def components(self) -> tuple[int, np.ndarray]:
        """Number of connected parts and the part of each vertex (n,) int32."""
        return arrays.connected_parts(self.edges(), len(self.vertices))

    def drop_unused(self) -> SurfaceMesh:
        """A copy without the vertices that belong to no triangle; the others keep their order."""
        arrays.check_indices(self.triangles, len(self.vertices), "triangle", self.name or "surface mesh")
        used = arrays.used_vertices(self.triangles, len(self.vertices))
        vertices, triangles = arrays.without_unused(self.vertices, self.triangles)
        dropped = len(self.vertices) - len(vertices)
        notes = (*self.notes, f"{dropped} vertices that belong to no triangle were left out") if dropped else self.notes
        return SurfaceMesh(vertices, triangles, self.name, notes, self.look and self.look.of_vertices(used))

    def of_triangles(self, rows: np.ndarray) -> SurfaceMesh:
        """A copy with the chosen triangles (numbers or a mask), all vertices kept."""
        look = self.look and self.look.of_triangles(rows)
        return dataclasses.replace(self, triangles=self.triangles[rows], look=look)

    def turned(self, rows: np.ndarray) -> SurfaceMesh:
        """A copy in which the chosen triangles (numbers or a mask) wind the other way."""
        triangles = self.triangles.copy()
        triangles[rows, 1], triangles[rows, 2] = self.triangles[rows, 2], self.triangles[rows, 1]
        return dataclasses.replace(self, triangles=triangles, look=self.look and self.look.turned(rows))

    def merged(self, vertex_of: np.ndarray, vertices: np.ndarray) -> SurfaceMesh:
        """A copy over fewer vertices (p, 3) [m]: old vertex i becomes vertex_of[i] (n,)."""
        look = self.look
        if look is not None and look.vertex_colors is not None:
            first = np.full(len(vertices), -1, np.int64)
            first[vertex_of[::-1]] = np.arange(len(vertex_of))[::-1]
            look = look.of_vertices(first)
        triangles = np.asarray(vertex_of)[self.triangles].astype(np.int32)
        return dataclasses.replace(self, vertices=vertices, triangles=triangles, look=look)

    def translated(self, by: Any) -> SurfaceMesh:
        """A copy moved by (x, y, z) [m]."""
        return dataclasses.replace(self, vertices=self.vertices + arrays.offset(by, "translated(by)"))

    def rotated(self, axis: Any, angle: float) -> SurfaceMesh:
        """A copy turned about an axis through the origin by ``angle`` [rad], right-handed."""
        return dataclasses.replace(self, vertices=self.vertices @ arrays.rotation(axis, angle, "rotated(axis)").T)

    def scaled(self, factor: Any) -> SurfaceMesh:
        """A copy scaled about the origin by one positive factor, or by three (x, y, z)."""
        return dataclasses.replace(self, vertices=self.vertices * arrays.scale_factors(factor, "scaled(factor)"))
