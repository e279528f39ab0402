"""Measures of a solid's elements: angles, volumes, masses, and the neighbours of a cube."""

from __future__ import annotations

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import CHUNK, EDGE_CORNERS, FACE_CORNERS, TetMesh

CUBE_EDGES = tuple((c, c | bit) for c in range(8) for bit in (1, 2, 4) if not c & bit)
CUBE_FACES = ((0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6))
"""Corners of each face of a cube, counter-clockwise from outside, the lowest corner first and the highest third."""


def dihedral_angles(mesh: TetMesh) -> np.ndarray:
    """Angles between the faces of each tet (m, 6) [degrees], in the order of `EDGE_CORNERS` of the faces."""
    angles = np.empty((len(mesh.tets), 6))
    for begin in range(0, len(mesh.tets), CHUNK):
        part = slice(begin, begin + CHUNK)
        corners = [mesh.vertices[mesh.tets[part, k]] for k in range(4)]
        normals = [np.cross(corners[j] - corners[i], corners[k] - corners[i]) for i, j, k in FACE_CORNERS]
        six_volumes = np.abs(np.einsum("ij,ij->i", normals[3], corners[3] - corners[0]))
        for column, (i, j) in enumerate(EDGE_CORNERS):
            # Faces i and j meet in the edge of the other two corners; |Ni x Nj| = 6 V times its length.
            start, end = (corners[k] for k in range(4) if k not in (i, j))
            sine = six_volumes * np.linalg.norm(end - start, axis=1)
            cosine = -np.einsum("ij,ij->i", normals[i], normals[j])
            angles[part, column] = np.degrees(np.arctan2(sine, cosine))
    return angles


def triangle_angles(mesh: SurfaceMesh) -> np.ndarray:
    """Angles of each triangle (k, 3) [degrees], at its corners."""
    corners = mesh.vertices[mesh.triangles]
    angles = np.empty((len(corners), 3))
    for k in range(3):
        a, b = corners[:, k - 2] - corners[:, k], corners[:, k - 1] - corners[:, k]
        sine = np.linalg.norm(np.cross(a, b), axis=1)
        angles[:, k] = np.degrees(np.arctan2(sine, np.einsum("ij,ij->i", a, b)))
    return angles


def element_sizes(solid: TetMesh | VoxelLattice | SurfaceMesh) -> np.ndarray:
    """Volume of each tet or cube [m^3], area of each triangle of a sheet [m^2] (m,)."""
    if isinstance(solid, TetMesh):
        return solid.volumes()
    if isinstance(solid, SurfaceMesh):
        return solid.areas()
    # A lattice stays a grid of equal parallel cells however it is moved, turned or scaled.
    sides = [solid.vertices[solid.cubes[:, bit]] - solid.vertices[solid.cubes[:, 0]] for bit in (1, 2, 4)]
    return np.abs(np.einsum("ij,ij->i", sides[0], np.cross(sides[1], sides[2])))


def vertex_masses(solid: TetMesh | VoxelLattice | SurfaceMesh, density: float) -> np.ndarray:
    """Mass of each vertex that belongs to an element [kg]: every corner takes an equal share of its element."""
    if isinstance(solid, TetMesh):
        shares = solid.vertex_volumes()
    else:
        elements = solid.cubes if isinstance(solid, VoxelLattice) else solid.triangles
        corners = elements.shape[1]
        sizes = np.repeat(element_sizes(solid) / corners, corners)
        shares = np.bincount(elements.ravel(), weights=sizes, minlength=len(solid.vertices))
    return density * shares[shares > 0.0]


def edge_lengths(solid: TetMesh | VoxelLattice | SurfaceMesh) -> np.ndarray:
    """Length of every edge (e,) [m]; of a cube, its twelve sides."""
    edges = arrays.unique_edges(solid.cubes, CUBE_EDGES) if isinstance(solid, VoxelLattice) else solid.edges()
    return arrays.edge_lengths(solid.vertices, edges)


def cube_faces(cubes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices of every face of every cube (6 m, 4), and whether another cube has it too (6 m,)."""
    faces = cubes[:, CUBE_FACES].reshape(-1, 4)
    # In a grid the diagonal from the lowest to the highest corner tells the face.
    return faces, ~_alone((faces[:, 0].astype(np.int64) << 32) | faces[:, 2])


def cube_neighbours(lattice: VoxelLattice) -> np.ndarray:
    """How many cubes share a face with each cube (m,), 0 to 6."""
    return cube_faces(lattice.cubes)[1].reshape(-1, 6).sum(axis=1)


def tet_faces(tets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices of every face of every tet (4 m, 3), and whether another tet has it too (4 m,)."""
    faces = tets[:, FACE_CORNERS].reshape(-1, 3)
    low, middle, high = np.sort(faces, axis=1).astype(np.int64).T
    return faces, ~_alone((low << 32) | middle, high)


def _alone(first: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """Which keys, of one or two numbers, occur only once (n,) bool."""
    order = np.argsort(first, kind="stable") if second is None else np.lexsort((second, first))
    same = first[order[1:]] == first[order[:-1]]
    if second is not None:
        same &= second[order[1:]] == second[order[:-1]]
    again = np.zeros(len(first), bool)
    again[order[1:]] |= same
    again[order[:-1]] |= same
    return ~again
