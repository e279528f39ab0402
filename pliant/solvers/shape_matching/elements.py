"""A mesh becomes particles with masses, in clusters."""

from __future__ import annotations

import numpy as np

from pliant.errors import InputError
from pliant.mesh.cluster import Clusters, box_clusters, from_pairs, grid_clusters, kmeans_clusters
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.lattice_runs import axis_regions
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.near import near_pairs
from pliant.mesh.points import PointCloud
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Elements
from pliant.model.particles import lumped_mass
from pliant.model.springs import Springs
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles, areas
from pliant.solvers.protocol import BodySpec
from pliant.solvers.shape_matching.settings import Matching

NO_PAIRS, NO_TRIANGLES, NO_TETS = np.zeros((0, 2), np.int32), np.zeros((0, 3), np.int32), np.zeros((0, 4), np.int32)
AXES = {"longest": None, "x": 0, "y": 1, "z": 2}
NEAR = 1.8
"""Distance of loose points that count as neighbours, over their spacing."""


def shape_matching_elements(spec: BodySpec) -> Elements:
    """Particles on the vertices, with the mass of what is around them, in clusters.

    A closed surface weighs what it encloses, spread over its area; an open one its area times its thickness. Loose
    points share the volume they are said to fill, or what their spacing suggests.
    """
    mesh, material = spec.mesh, spec.material
    matching: Matching = spec.matching
    x, count = mesh.vertices, len(mesh.vertices)
    notes: list[str] = []
    tets = Tets.build(x, NO_TETS)
    assert not isinstance(mesh, (RodMesh, LayeredMesh))  # a scene refuses them, see `takes`
    if isinstance(mesh, TetMesh):
        tets = Tets.build(x, mesh.tets)
        mass = lumped_mass(mesh.tets, material.density * tets.rest_volume, count)
    elif isinstance(mesh, VoxelLattice):
        tets = Tets.build(x, mesh.tets("five").tets)
        mass = lumped_mass(mesh.cubes, material.density * mesh.cube_volumes(), count)
    elif isinstance(mesh, PointCloud):
        mass = np.full(count, material.density * mesh.volume_estimate() / count)
    else:
        area = areas(x, mesh.triangles)
        mass = lumped_mass(mesh.triangles, area, count)
        enclosed = mesh.volume() if mesh.is_closed() else 0.0
        if enclosed > 0.0:
            mass *= material.density * enclosed / area.sum()
        else:
            mass *= material.density * material.thickness
            notes.append(f"the surface is open, so the body is a sheet of {material.thickness:g} m")
    if spec.raw is not None:
        notes.append("raw spring constants mean nothing to shape matching; give alpha or frequency in 'matching'")
        if spec.raw.mass is not None:
            mass = mass * (spec.raw.mass / mass.sum())
    clusters = make_clusters(mesh, matching)
    if clusters is not None:
        notes += [*clusters.notes, *clusters.check(count)]
    elif isinstance(mesh, VoxelLattice) and (parts := mesh.components()[0]) > 1:
        notes.append(f"the lattice falls into {parts} parts that will move apart")
    springs = Springs.build(x, NO_PAIRS, 0.0)
    return Elements(springs, Triangles.build(x, NO_TRIANGLES), tets, mass, notes, clusters)


def make_clusters(mesh: TetMesh | SurfaceMesh | VoxelLattice | PointCloud, matching: Matching) -> Clusters | None:
    """The clusters that a body's settings ask for; None for lattice regions of which no table is made."""
    x = mesh.vertices
    if matching.clusters_by == "lattice":
        if not isinstance(mesh, VoxelLattice):
            raise InputError(
                f"a {type(mesh).__name__} has no lattice regions",
                "matching.clusters_by",
                "Give a VoxelLattice (solid = \"lattice\"), or 'kmeans', 'boxes' or 'grids'",
            )
        return None if matching.sums_along_axes else axis_regions(mesh, matching.region_width)
    if matching.clusters == 1:
        return from_pairs(np.zeros(len(x), np.int64), np.arange(len(x)))
    if matching.clusters_by == "boxes":
        return box_clusters(x, matching.clusters, axis=AXES[matching.axis], overlap=matching.overlap, min_size=4)
    if matching.clusters_by == "grids":
        return grid_clusters(x, matching.clusters, grids=matching.grids)
    edges = near_pairs(x, NEAR * mesh.spacing()) if isinstance(mesh, PointCloud) else mesh.edges()
    return kmeans_clusters(x, edges, matching.clusters, min_size=4, rings=matching.rings)
