"""A mesh becomes tets with masses, and edges by which its stretch is measured."""

from __future__ import annotations

import numpy as np

from pliant.errors import InputError
from pliant.materials import spring_constants
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.tets import TetMesh
from pliant.model.model import Elements
from pliant.model.particles import average_volume_mass, lumped_mass, raise_light_masses, truncate_inverse_mass
from pliant.model.springs import Springs, edge_volumes
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles
from pliant.solvers.protocol import BodySpec

NO_TRIANGLES = np.zeros((0, 3), np.int32)


def fem_elements(spec: BodySpec) -> Elements:
    """Tets and masses of a body; the cubes of a lattice are cut into five tets each."""
    mesh, material = spec.mesh, spec.material
    assert isinstance(mesh, TetMesh | VoxelLattice)  # a scene refuses other kinds, see `takes`
    if spec.raw is not None:
        raise InputError(
            "raw constants are those of springs, and finite elements have none",
            mesh.name or "mesh",
            "Give a Material, or use method='mass_spring'",
        )
    notes: list[str] = []
    count = len(mesh.vertices)
    shape = mesh if isinstance(mesh, TetMesh) else mesh.tets("five")
    tets = Tets.build(mesh.vertices, shape.tets)
    edges = shape.edges()
    springs = Springs.build(mesh.vertices, edges, 0.0)
    around = edge_volumes(shape.tets, tets.rest_volume, edges, count)
    springs.stiffness = spring_constants(material)[0].spring_modulus * around / springs.rest_length**2
    corners, weight = shape.tets, material.density * tets.rest_volume
    if isinstance(mesh, VoxelLattice):
        corners, weight = mesh.cubes, material.density * mesh.cube_volumes()
    mass = lumped_mass(corners, weight, count)
    if spec.mass_distribution == "average_volume":
        if isinstance(mesh, TetMesh):
            mass = average_volume_mass(mesh.tets, tets.rest_volume, float(weight.sum()), count)
        else:
            notes.append("only a tet mesh has tets to average: its mass is lumped.")
    if spec.largest_inverse_mass is not None:
        mass, over = truncate_inverse_mass(mass, spec.largest_inverse_mass)
        if over:
            notes.append(f"{over} of {count} inverse masses were cut to {spec.largest_inverse_mass:g} 1/kg.")
    mass, _ = raise_light_masses(mass, spec.mass_shift)
    return Elements(springs, Triangles.build(mesh.vertices, NO_TRIANGLES), tets, mass, notes)
