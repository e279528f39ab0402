"""What is tested: a bar, or any body, held at one end of its longest axis and watched at the other."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

SLENDER = 5.0
"""Length of the bar over its width."""
CELLS = (10, 2, 2)
END = 0.12
"""Part of a body's length that is held, and that is watched."""


@dataclasses.dataclass(eq=False)
class Specimen:
    """A body to be tested.

    Attributes:
        mesh: its middle at the origin, its longest axis along x.
        length, width: [m]; the width is that of a bar, and 0 of another body.
        held, tip: vertex numbers of its ends.
        warp: direction of the warp of a strip of cloth.
    """

    mesh: TetMesh | VoxelLattice | SurfaceMesh
    length: float
    width: float
    held: np.ndarray
    tip: np.ndarray
    warp: tuple[int, int, int] = (1, 0, 0)

    @property
    def is_bar(self) -> bool:
        return self.width > 0.0

    def tets(self) -> np.ndarray:
        """Its elements (m, 4), of a solid."""
        assert not isinstance(self.mesh, SurfaceMesh)
        return self.mesh.tets("five").tets if isinstance(self.mesh, VoxelLattice) else self.mesh.tets


def bar(length: float = 0.2, cells: tuple[int, int, int] = CELLS) -> Specimen:
    """A bar of square section along x [m]."""
    width = length / SLENDER
    mesh = shapes.box((length, width, width), cells, split="five")
    mesh = mesh.translated(tuple(-0.5 * (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))))
    x = mesh.vertices[:, 0]
    near = 1e-6 * length
    held, tip = np.flatnonzero(x < x.min() + near), np.flatnonzero(x > x.max() - near)
    return Specimen(mesh, length, width, held, tip)


def of_body(mesh: TetMesh | VoxelLattice) -> Specimen:
    """Any body of tets or voxels, turned so that its longest axis is x."""
    if not isinstance(mesh, (TetMesh, VoxelLattice)):
        raise InputError(
            f"a {type(mesh).__name__} has no tets",
            "test",
            "Give a body of tets or voxels, such as pliant.prepare makes",
        )
    extent = np.ptp(mesh.vertices, axis=0)
    turns = {0: None, 1: ((0.0, 0.0, 1.0), -0.5 * np.pi), 2: ((0.0, 1.0, 0.0), 0.5 * np.pi)}
    turn = turns[int(np.argmax(extent))]
    if turn is not None:
        mesh = mesh.rotated(*turn)
    mesh = mesh.translated(tuple(-0.5 * (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))))
    x = mesh.vertices[:, 0]
    length = float(np.ptp(x))
    held, tip = np.flatnonzero(x < x.min() + END * length), np.flatnonzero(x > x.max() - END * length)
    return Specimen(mesh, length, 0.0, held, tip)
