"""VoxelLattice: a solid made of equal cubes, with its vertices, springs and tets."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.shapes import FIVE_EVEN
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

CUBE_CORNERS = np.array([(i, j, k) for k in (0, 1) for j in (0, 1) for i in (0, 1)], np.int32)
"""Corner c of a cube stands at (c & 1, c >> 1 & 1, c >> 2) of its cell: x fastest."""

STRUCTURAL, FACE_DIAGONAL, SPACE_DIAGONAL, FLEXION = range(4)
"""Kinds of springs: along an edge of a cube, across a face, through the middle, along two edges in a line."""
CORNER_PAIRS = {
    kind: tuple(pair for pair in itertools.combinations(range(8), 2) if (pair[0] ^ pair[1]).bit_count() == kind + 1)
    for kind in (STRUCTURAL, FACE_DIAGONAL, SPACE_DIAGONAL)
}
"""The 12 edges, 12 face diagonals and 4 space diagonals of a cube, as pairs of its corners."""
FACE_QUADS = ((0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6))
"""Faces towards -x, +x, -y, +y, -z, +z: counter-clockwise from outside, from the lowest corner to the highest."""
SIX_TETS = ((0, 1, 3, 7), (0, 2, 7, 3), (0, 1, 7, 5), (0, 2, 6, 7), (0, 4, 5, 7), (0, 4, 7, 6))
"""The six tets of a cube (Kuhn): walks along its edges from corner 0 to corner 7, turned to have a positive volume."""
FLAT_CUBE = 1e-9
"""Volume over the cube of the longest edge, below which a cube counts as flat."""


@dataclasses.dataclass(frozen=True, eq=False)
class LatticeSprings:
    """Pairs of lattice vertices that a spring joins.

    Attributes:
        pairs: (e, 2) int32, smaller number first, sorted.
        kind: (e,) int8: `STRUCTURAL`, `FACE_DIAGONAL`, `SPACE_DIAGONAL` or `FLEXION`.
        middle: (e,) int32, the vertex in the middle of a flexion spring; -1 for the other kinds.
    """

    pairs: np.ndarray
    kind: np.ndarray
    middle: np.ndarray

    def of_kind(self, kind: int) -> np.ndarray:
        """The pairs of one kind (k, 2) int32."""
        return self.pairs[self.kind == kind]


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
        object.__setattr__(self, "cells", arrays.as_indices(self.cells, 3, "VoxelLattice.cells"))
        if len(self.cells) != len(self.cubes):
            raise InputError(
                f"{len(self.cells)} cells for {len(self.cubes)} cubes", "VoxelLattice.cells", "Give one to each cube"
            )

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
        if not np.size(cells):
            raise InputError("no cell is filled", name or "voxel lattice", "Use smaller cells")
        number = isinstance(size, (int, float, np.integer, np.floating)) and not isinstance(size, bool)
        if not number or not 0.0 < size <= arrays.FARTHEST:
            raise InputError(f"{size!r} is no length", "VoxelLattice.from_cells(size)", "Give metres, above 0")
        places = arrays.as_indices(cells, 3, "VoxelLattice.from_cells(cells)")
        cells = np.unique(places.astype(np.int64), axis=0)
        low = cells.min(axis=0)
        shape = cells.max(axis=0) - low + 2
        corners = (cells - low)[:, None, :] + CUBE_CORNERS[None]
        keys = (corners[..., 2] * shape[1] + corners[..., 1]) * shape[0] + corners[..., 0]
        used, cubes = np.unique(keys, return_inverse=True)
        grid = np.stack([used % shape[0], used // shape[0] % shape[1], used // (shape[0] * shape[1])], axis=1) + low
        vertices = arrays.offset(origin, "VoxelLattice.from_cells(origin)") + size * grid
        return VoxelLattice(vertices, cubes.reshape(-1, 8).astype(np.int32), cells, name, notes)

    # Validity

    def check(self, where: str = "") -> list[str]:
        """Raise `InputError` for what cannot be simulated; return notes on what is only suspicious.

        Args:
            where: file or scene key to name in messages; the lattice's own name when empty.
        """
        where = where or self.name or "voxel lattice"
        if not len(self.cubes):
            raise InputError("has no cubes", where, "Give at least one cube")
        arrays.check_finite(self.vertices, where)
        arrays.check_indices(self.cubes, len(self.vertices), "cube", where)
        self._check_volumes(where)
        arrays.check_used(self.cubes, len(self.vertices), "cube", where)
        self._check_grid(where)
        notes = []
        pairs = arrays.coincident_pairs(self.vertices)
        if len(pairs):
            notes.append(
                f"{len(pairs)} pairs of vertices lie at the same place, the first {pairs[0].tolist()}: "
                "the lattice is cut there; merge them if it should hold together"
            )
        joined, fused = self.components()[0], self._parts_by_face()
        if fused > joined:
            notes.append(
                f"the lattice has {fused} parts that hang together by edges or corners only, and swing there freely"
            )
        return notes

    def _check_volumes(self, where: str) -> None:
        volumes = self.cube_volumes()
        longest = np.max(
            [np.linalg.norm(self.vertices[self.cubes[:, i]] - self.vertices[self.cubes[:, j]], axis=1)
             for i, j in CORNER_PAIRS[STRUCTURAL]], axis=0,
        )  # fmt: skip
        flat = volumes <= FLAT_CUBE * longest**3
        if flat.any():
            row = int(np.argmax(flat))
            raise InputError(
                f"cube {row} {self.cubes[row].tolist()} has volume {volumes[row]:.3g} m^3 ({flat.sum()} such in all)",
                where,
                "Order its corners x fastest, then y, then z, and give it a volume",
            )

    def _check_grid(self, where: str) -> None:
        """Raise when a cell is filled twice, or a vertex stands at two places of the grid."""
        order = np.lexsort(self.cells.T)
        again = (self.cells[order[1:]] == self.cells[order[:-1]]).all(axis=1)
        if again.any():
            k = int(np.argmax(again))
            raise InputError(
                f"cubes {sorted(order[k : k + 2].tolist())} fill the same cell {self.cells[order[k]].tolist()}",
                where,
                "Remove one of them",
            )
        wrong = (self.grid()[self.cubes] != self.cells[:, None] + CUBE_CORNERS).any(axis=(1, 2))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"cube {row} {self.cubes[row].tolist()} in cell {self.cells[row].tolist()} shares a vertex with a cube "
                "whose cell says that it stands elsewhere",
                where,
                "Give cells that fit the cubes, or make the lattice with VoxelLattice.from_cells",
            )

    def _parts_by_face(self) -> int:
        """Number of parts when only a common face joins two cubes."""
        keys, cube = self._faces()[:2]
        order = np.argsort(keys, kind="stable")
        same = keys[order[1:]] == keys[order[:-1]]
        pairs = np.stack([cube[order[:-1]][same], cube[order[1:]][same]], axis=1)
        return arrays.connected_parts(pairs, len(self.cubes))[0]

    def drop_unused(self) -> VoxelLattice:
        """A copy without the vertices that belong to no cube; the others keep their order."""
        arrays.check_indices(self.cubes, len(self.vertices), "cube", self.name or "voxel lattice")
        vertices, cubes = arrays.without_unused(self.vertices, self.cubes)
        dropped = len(self.vertices) - len(vertices)
        notes = (*self.notes, f"{dropped} vertices that belong to no cube were left out") if dropped else self.notes
        return dataclasses.replace(self, vertices=vertices, cubes=cubes, notes=notes)

    # Measures

    def grid(self) -> np.ndarray:
        """Place of each vertex in the grid: (n, 3) int32; cell (i, j, k) has its lowest corner at (i, j, k)."""
        places = np.zeros((len(self.vertices), 3), np.int32)
        places[self.cubes] = self.cells[:, None] + CUBE_CORNERS
        return places

    def cube_volumes(self) -> np.ndarray:
        """Volume of each cube: (m,) [m^3]."""
        return self.tets().volumes().reshape(-1, 6).sum(axis=1)

    def volume(self) -> float:
        """Volume of all cubes [m^3]."""
        return float(self.cube_volumes().sum())

    def edges(self) -> np.ndarray:
        """Every edge of a cube once: (e, 2) int32, smaller number first, sorted."""
        return arrays.unique_edges(self.cubes, CORNER_PAIRS[STRUCTURAL])

    def components(self) -> tuple[int, np.ndarray]:
        """Number of connected parts and the part of each vertex (n,) int32."""
        return arrays.connected_parts(self.edges(), len(self.vertices))

    # What it becomes

    def springs(self) -> LatticeSprings:
        """Springs along the edges, across the faces and through the cubes, and flexion springs over two edges in line.

        Lecture (voxel solids): face diagonals resist shear, space diagonals the loss of volume. A flexion spring joins
        the ends of two edges that meet in a line.
        """
        pairs = [arrays.unique_edges(self.cubes, CORNER_PAIRS[kind]) for kind in CORNER_PAIRS]
        middles = [np.full(len(p), -1, np.int32) for p in pairs]
        kinds = [np.full(len(p), kind, np.int8) for kind, p in zip(CORNER_PAIRS, pairs, strict=True)]
        for axis in range(3):
            after = np.full(len(self.vertices), -1, np.int32)
            for low in range(8):
                if not low >> axis & 1:
                    after[self.cubes[:, low]] = self.cubes[:, low | 1 << axis]
            first = np.flatnonzero(after >= 0)
            first = first[after[after[first]] >= 0]
            middle = after[first]
            pairs.append(np.sort(np.stack([first, after[middle]], axis=1), axis=1).astype(np.int32))
            middles.append(middle)
            kinds.append(np.full(len(first), FLEXION, np.int8))
        every = np.concatenate(pairs)
        order = np.lexsort((every[:, 1], every[:, 0]))
        return LatticeSprings(every[order], np.concatenate(kinds)[order], np.concatenate(middles)[order])

    def tets(self, split: str = "six") -> TetMesh:
        """The cubes cut into tets over the same vertices, those of a cube one after the other.

        Args:
            split: "six" cuts each cube into six equal tets around one diagonal (Kuhn), all cubes alike; "five" into a
                regular tet and four corners, mirrored from cell to cell. Neighbours agree on their common face.
        """
        if split not in ("six", "five"):
            raise InputError(f"{split!r} is not a way to cut a cube", "tets(split)", "Give 'six' or 'five'")
        if split == "six":
            tets = self.cubes[:, SIX_TETS]
        else:
            even = np.array(FIVE_EVEN)
            # Mirrored in x, which turns the tets inside out: swap two corners.
            odd = np.concatenate([1 - even[..., :1], even[..., 1:]], axis=-1)[:, [0, 1, 3, 2]]
            number = np.array([1, 2, 4])
            pattern = np.stack([even @ number, odd @ number])[self.cells.sum(axis=1) % 2]
            tets = np.take_along_axis(self.cubes[:, None, :], pattern, axis=2)
        return TetMesh(self.vertices, tets.reshape(-1, 4), self.name, self.notes)

    def surface(self) -> np.ndarray:
        """Boundary faces, each as two triangles: (k, 3) int32 into ``vertices``, counter-clockwise from outside.

        Each face is cut from its lowest corner to its highest, as `tets` ("six") cuts it.
        """
        keys, _, quads = self._faces()
        _, first, count = np.unique(keys, return_index=True, return_counts=True)
        outer = quads[np.sort(first[count == 1])]
        return np.ascontiguousarray(outer[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3))

    def surface_mesh(self) -> SurfaceMesh:
        """The boundary as a mesh of its own, vertices inside left out."""
        vertices, triangles = arrays.without_unused(self.vertices, self.surface())
        return SurfaceMesh(vertices, triangles, self.name)

    def _faces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All 6m faces: a key (6m,) that both sides have in common, the cube (6m,) and the corners (6m, 4)."""
        quads = self.cubes[:, FACE_QUADS].reshape(-1, 4)
        keys = quads[:, 0].astype(np.int64) << 32 | quads[:, 2]
        return keys, np.repeat(np.arange(len(self.cubes)), 6), quads

    # Placement

    def translated(self, by: Any) -> VoxelLattice:
        """A copy moved by (x, y, z) [m]."""
        return dataclasses.replace(self, vertices=self.vertices + arrays.offset(by, "translated(by)"))

    def rotated(self, axis: Any, angle: float) -> VoxelLattice:
        """A copy turned about an axis through the origin by ``angle`` [rad], right-handed."""
        return dataclasses.replace(self, vertices=self.vertices @ arrays.rotation(axis, angle, "rotated(axis)").T)

    def scaled(self, factor: Any) -> VoxelLattice:
        """A copy scaled about the origin by one positive factor, or by three (x, y, z)."""
        return dataclasses.replace(self, vertices=self.vertices * arrays.scale_factors(factor, "scaled(factor)"))
