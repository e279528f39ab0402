"""Who is whose neighbour in a body at rest, whatever the method."""

from __future__ import annotations

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.lattice import CORNER_PAIRS, VoxelLattice
from pliant.mesh.points import PointCloud
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Body, Model
from pliant.quantities.nearest import nearest_points

NEAREST = 12
"""Neighbours of a particle that belongs to no element."""
TET_PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
TRIANGLE_PAIRS = ((0, 1), (1, 2), (2, 0))


def body_tets(model: Model, body: Body) -> np.ndarray:
    """Tets of a body (m, 4) int32, in the numbers of its run of particles; voxels are cut, others have none."""
    mesh = None if body.rest_shape is None else body.rest_shape.mesh
    if isinstance(mesh, TetMesh):
        return mesh.tets
    if isinstance(mesh, VoxelLattice):
        return mesh.tets("five").tets
    return model.tets.corners[slice(*body.tets)] - np.int32(body.particles[0])


def is_sheet(model: Model, body: Body) -> bool:
    """Whether a body is a surface without an inside."""
    if body.rest_shape is not None:
        return isinstance(body.rest_shape.mesh, SurfaceMesh)
    return body.tets[0] == body.tets[1] and body.triangles[0] < body.triangles[1]


def body_pairs(model: Model, body: Body) -> np.ndarray:
    """Pairs of neighbours (e, 2) in the numbers of the body's run of particles.

    Corners of one tet, voxel or triangle, ends of one segment; a particle without any has its nearest ones.
    """
    if body.segments is not None:
        return arrays.unique_edges(body.segments, ((0, 1),)).astype(np.int64)
    first, end = body.own_particles
    mesh = None if body.rest_shape is None else body.rest_shape.mesh
    if isinstance(mesh, VoxelLattice):
        found = [arrays.unique_edges(mesh.cubes, pairs) for pairs in CORNER_PAIRS.values()]
    elif isinstance(mesh, (TetMesh, SurfaceMesh)):
        found = [mesh.edges()]
    elif isinstance(mesh, PointCloud):
        found = []
    else:
        tets = arrays.unique_edges(body_tets(model, body), TET_PAIRS)
        triangles = model.triangles.corners[slice(*body.triangles)] - np.int32(first)
        found = [tets, arrays.unique_edges(triangles, TRIANGLE_PAIRS)]
        if not is_sheet(model, body):
            found.append(model.springs.pairs[slice(*body.springs)] - np.int32(first))
    pairs = np.concatenate([np.zeros((0, 2), np.int64), *found]).astype(np.int64)
    alone = np.flatnonzero(np.bincount(pairs.reshape(-1), minlength=end - first) == 0)
    if len(alone):
        near = nearest_points(model.particles.rest[first:end], None, NEAREST)[alone]
        more = np.stack([np.repeat(alone, near.shape[1]), near.reshape(-1)], axis=1)
        pairs = np.concatenate([pairs, more])
    return arrays.unique_edges(pairs, ((0, 1),)).astype(np.int64)
