"""VoxelLattice: a solid made of equal cubes, with its vertices, springs and tets."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays

CUBE_CORNERS = np.array([(i, j, k) for k in (0, 1) for j in (0, 1) for i in (0, 1)], np.int32)
"""Corner c of a cube stands at (c & 1, c >> 1 & 1, c >> 2) of its cell: x fastest."""


@dataclasses.dataclass(frozen=True, eq=False)
class VoxelLattice:
    """Cubes of a regular grid over shared vertices.

    Args:
        vertices: (n, 3) float64 [m].
        cubes: vertex numbers of each cube (m, 8) int32, corners ordered as in `CUBE_CORNERS`.
        cells: place of each cube in the grid (m, 3) int32, before the lattice was moved, turned or scaled.
        name: for messages and files.
        notes: what was done to the lattice on its way here, for the user.
    """

    vertices: np.ndarray
    cubes: np.ndarray
    cells: np.ndarray
    name: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", arrays.as_points(self.vertices, "VoxelLattice.vertices"))
        object.__setattr__(self, "cubes", arrays.as_indices(self.cubes, 8, "VoxelLattice.cubes"))
        object.__setattr__(self, "cells", np.asarray(self.cells, np.int32).reshape(-1, 3))

    @staticmethod
    def from_cells(
        cells: np.ndarray, size: float, origin: Any = (0.0, 0.0, 0.0), name: str = "", notes: tuple[str, ...] = ()
    ) -> VoxelLattice:
        """A lattice from the filled cells of a grid.

        Args:
            cells: places of the filled cells (m, 3) whole numbers; they are sorted, and given twice count once.
            size: length of a cell's edge [m].
            origin: where the corner of cell (0, 0, 0) stands [m].
        """
        cells = np.unique(np.asarray(cells, np.int64).reshape(-1, 3), axis=0)
        if not len(cells):
            raise InputError("no cell is filled", name or "voxel lattice", "Use smaller cells")
        low = cells.min(axis=0)
        shape = cells.max(axis=0) - low + 2
        corners = (cells - low)[:, None, :] + CUBE_CORNERS[None]
        keys = (corners[..., 2] * shape[1] + corners[..., 1]) * shape[0] + corners[..., 0]
        used, cubes = np.unique(keys, return_inverse=True)
        grid = np.stack([used % shape[0], used // shape[0] % shape[1], used // (shape[0] * shape[1])], axis=1) + low
        vertices = arrays.offset(origin, "VoxelLattice.from_cells(origin)") + size * grid
        return VoxelLattice(vertices, cubes.reshape(-1, 8).astype(np.int32), cells, name, notes)
