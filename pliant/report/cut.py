"""A solid cut open by a plane: the elements behind it, and the triangles that show them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.tets import TetMesh
from pliant.report import measures

BOX_EDGES = ((0, 1), (1, 2), (2, 3), (3, 0))


@dataclasses.dataclass(frozen=True, eq=False)
class Shell:
    """The outside of a set of elements, as triangles that share no vertices and as edges that do.

    Attributes:
        triangles: corners of each triangle (t, 3, 3) [m].
        owners: the element each triangle belongs to (t,).
        ends: ends of every edge (e, 2, 3) [m]; a cube's faces have no diagonals.
    """

    triangles: np.ndarray
    owners: np.ndarray
    ends: np.ndarray


def behind(solid: TetMesh | VoxelLattice, normal: Any, point: Any = None) -> np.ndarray:
    """Which elements have their middle behind a plane, on the side its normal points away from (m,) bool.

    Args:
        solid: at least one element.
        normal: of the plane, towards the side that is taken away.
        point: on the plane [m]; the solid's centre of mass by default, which leaves at least one element.
    """
    elements = solid.tets if isinstance(solid, TetMesh) else solid.cubes
    towards = arrays.offset(normal, "behind(normal)")
    heights = (solid.vertices @ towards)[elements].mean(axis=1)
    if point is not None:
        return heights <= float(arrays.offset(point, "behind(point)") @ towards)
    weights = np.abs(measures.element_sizes(solid))
    weights = weights if weights.any() else np.ones(len(weights))
    middle = float(np.average(heights, weights=weights))
    # Rounding must not put the only element in front of the plane through itself.
    return heights <= middle + 1e-12 * float(np.abs(heights).max())


def shell(solid: TetMesh | VoxelLattice, keep: np.ndarray | None = None) -> Shell:
    """The outside of the chosen elements, a mask (m,); of all by default."""
    elements = solid.tets if isinstance(solid, TetMesh) else solid.cubes
    rows = np.arange(len(elements)) if keep is None else np.flatnonzero(keep)
    if isinstance(solid, TetMesh):
        faces, shared = measures.tet_faces(elements[rows])
        faces, owners = faces[~shared], np.repeat(rows, 4)[~shared]
        triangles = faces
        edges = arrays.unique_edges(faces, ((0, 1), (1, 2), (2, 0)))
    else:
        faces, shared = measures.cube_faces(elements[rows])
        faces, owners = faces[~shared], np.repeat(np.repeat(rows, 6)[~shared], 2)
        triangles = faces[:, ((0, 1, 2), (0, 2, 3))].reshape(-1, 3)
        edges = arrays.unique_edges(faces, BOX_EDGES)
    return Shell(solid.vertices[triangles], owners, solid.vertices[edges])


def tubes(ends: np.ndarray, radius: float) -> np.ndarray:
    """Thin three-sided tubes (6 e, 3, 3) [m] along line segments (e, 2, 3) [m]."""
    along = ends[:, 1] - ends[:, 0]
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along), axis=1)])
    length = np.linalg.norm(across, axis=1, keepdims=True)
    across = np.divide(across, length, out=np.zeros_like(across), where=length > 0.0)
    other = np.cross(along, across)
    length = np.linalg.norm(other, axis=1, keepdims=True)
    other = np.divide(other, length, out=np.zeros_like(other), where=length > 0.0)
    turns = 2.0 * np.pi * np.arange(3) / 3.0
    rim = radius * (np.cos(turns)[:, None, None] * across + np.sin(turns)[:, None, None] * other)
    start, end = ends[:, 0] + rim, ends[:, 1] + rim
    sides = []
    for k in range(3):
        n = (k + 1) % 3
        sides += [np.stack([start[k], start[n], end[n]], axis=1), np.stack([start[k], end[n], end[k]], axis=1)]
    return np.stack(sides, axis=1).reshape(-1, 3, 3)


def beads(points: np.ndarray, radius: float) -> np.ndarray:
    """Little octahedra (8 p, 3, 3) [m] around points (p, 3) [m]."""
    signs = [(x, y, z) for x in (1, -1) for y in (1, -1) for z in (1, -1)]
    corners = np.array([np.diag(s) if np.prod(s) > 0 else np.diag(s)[[0, 2, 1]] for s in signs], float)
    return (points[:, None, None] + radius * corners).reshape(-1, 3, 3)
