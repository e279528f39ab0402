"""What a report is made from."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

Solid = TetMesh | VoxelLattice | SurfaceMesh


@dataclasses.dataclass
class ReportInput:
    """A prepared body and what is known about its making.

    Attributes:
        title: heading of the report.
        surface: the skin; None shows the outside of the solid instead.
        solid: what is simulated; a `SurfaceMesh` is a sheet without an inside.
        facts: sections of a table: heading, then rows of name and value.
        notes: sentences on what was done, and warnings.
        density: [kg/m^3], for a sheet [kg/m^2].
        truncate: largest inverse mass that is allowed [1/kg]; None for no bound.
        bad_triangles: triangles of the skin to point out, as numbers or as a mask (k,).
        layered: the layered body whose tets the solid is; its atlas and core are drawn.
    """

    title: str
    surface: SurfaceMesh | None
    solid: Solid
    facts: list[tuple[str, list[tuple[str, str]]]] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    density: float = 1000.0
    truncate: float | None = None
    bad_triangles: np.ndarray | None = None
    layered: LayeredMesh | None = None

    def check(self) -> None:
        """Raise `InputError` for what no report can be made of."""
        elements, kind = elements_of(self.solid)
        where = self.solid.name or "ReportInput.solid"
        if not len(elements):
            raise InputError(f"has no {kind}s", where, f"Give at least one {kind}")
        arrays.check_finite(self.solid.vertices, where)
        arrays.check_indices(elements, len(self.solid.vertices), kind, where)
        for name in ("density", "truncate"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0.0):
                raise InputError(f"{value!r} is not positive and finite", f"ReportInput.{name}", "Give more than 0")
        if self.surface is None:
            return
        where = self.surface.name or "ReportInput.surface"
        if not len(self.surface.triangles):
            raise InputError("has no triangles", where, "Give at least one, or None for no skin")
        arrays.check_finite(self.surface.vertices, where)
        least, most = int(self.surface.triangles.min()), int(self.surface.triangles.max())
        if least < 0 or most >= len(self.surface.vertices):
            raise InputError(
                f"its triangles name vertices {least} to {most} of {len(self.surface.vertices)}",
                where,
                "Give vertex numbers from 0",
            )

    def bad_rows(self) -> np.ndarray:
        """Numbers of the triangles to point out (b,) int64, sorted, each once."""
        if self.bad_triangles is None or self.surface is None:
            return np.zeros(0, np.int64)
        rows, count = np.asarray(self.bad_triangles), len(self.surface.triangles)
        if rows.dtype == bool and rows.shape == (count,):
            return np.flatnonzero(rows)
        if rows.size == 0:
            return np.zeros(0, np.int64)
        if rows.dtype.kind not in "iu" or rows.ndim != 1 or rows.min() < 0 or rows.max() >= count:
            raise InputError(
                f"an array of shape {rows.shape} and type {rows.dtype} does not number triangles of the surface",
                "ReportInput.bad_triangles",
                f"Give numbers from 0 to {count - 1}, or a mask of {count} truth values",
            )
        return np.unique(rows).astype(np.int64)


def elements_of(solid: Solid) -> tuple[np.ndarray, str]:
    """The elements of a solid (m, corners) and what one of them is called."""
    if isinstance(solid, TetMesh):
        return solid.tets, "tet"
    if isinstance(solid, VoxelLattice):
        return solid.cubes, "cube"
    if isinstance(solid, SurfaceMesh):
        return solid.triangles, "triangle"
    raise InputError(
        f"a {type(solid).__name__} is no solid", "ReportInput.solid", "Give a TetMesh, VoxelLattice or SurfaceMesh"
    )
