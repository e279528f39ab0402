"""A mesh becomes particles with masses, and what the constraints are made of."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.materials import RawConstants, spring_constants
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Elements
from pliant.model.particles import average_volume_mass, lumped_mass, raise_light_masses, truncate_inverse_mass
from pliant.model.springs import Springs, edge_volumes
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles
from pliant.solvers.common.edge_springs import one_ring_springs
from pliant.solvers.protocol import BodySpec

NO_TRIANGLES, NO_TETS = np.zeros((0, 3), np.int32), np.zeros((0, 4), np.int32)


@dataclasses.dataclass(eq=False)
class Shape:
    """What XPBD knows of a sheet or a solid, in the body's own particle numbers.

    Attributes:
        mesh: its rest shape in the world; a lattice is cut into tets.
        warp: direction of a cloth's warp at rest; None where the user gave none.
    """

    mesh: SurfaceMesh | TetMesh
    warp: tuple[float, float, float] | None


def xpbd_elements(spec: BodySpec) -> Elements:
    """Masses of a body, and its edges as springs, by which its stretch is measured."""
    mesh, material = spec.mesh, spec.material
    if isinstance(mesh, RodMesh):
        from pliant.solvers.xpbd.rod_elements import rod_elements

        return rod_elements(spec)
    notes: list[str] = []
    count = len(mesh.vertices)
    if isinstance(mesh, SurfaceMesh):
        shape: Any = mesh
        springs = one_ring_springs(mesh, material.thickness, material.young)
        triangles, tets = Triangles.build(mesh.vertices, mesh.triangles), Tets.build(mesh.vertices, NO_TETS)
        corners, weight = mesh.triangles, material.density * material.thickness * triangles.rest_area
        if spec.springs == "two_ring":
            notes.append("springs='two_ring' means nothing to XPBD; its setting 'bending' says how a sheet bends")
    else:
        assert isinstance(mesh, TetMesh | VoxelLattice)  # a scene refuses other kinds, see `takes`
        shape = mesh if isinstance(mesh, TetMesh) else mesh.tets("five")
        tets, triangles = Tets.build(mesh.vertices, shape.tets), Triangles.build(mesh.vertices, NO_TRIANGLES)
        edges = shape.edges()
        springs = Springs.build(mesh.vertices, edges, 0.0)
        around = edge_volumes(shape.tets, tets.rest_volume, edges, count)
        springs.stiffness = spring_constants(material)[0].spring_modulus * around / springs.rest_length**2
        corners, weight = shape.tets, material.density * tets.rest_volume
        if isinstance(mesh, VoxelLattice):
            corners, weight = mesh.cubes, material.density * mesh.cube_volumes()
    if spec.raw is not None:
        springs.stiffness[:] = spec.raw.spring
        notes += _raw_notes(spec.raw)
        if spec.raw.mass is not None:
            weight = weight * (spec.raw.mass / weight.sum())
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
    bad = ~(springs.rest_length > 0.0)
    if bad.any():
        raise InputError(
            f"an edge between the vertices {springs.pairs[int(np.argmax(bad))].tolist()} has no length",
            mesh.name or "mesh",
            "Merge coincident vertices",
        )
    return Elements(springs, triangles, tets, mass, notes, own=Shape(shape, spec.warp), spare=_spares(spec))


def _spares(spec: BodySpec) -> int:
    """Particles to set aside: for a sheet that can tear a share of its vertices."""
    tears = isinstance(spec.mesh, SurfaceMesh) and spec.material.breaks_at is not None and spec.raw is None
    return math.ceil(spec.tear_capacity * len(spec.mesh.vertices)) if tears else 0


def _raw_notes(raw: RawConstants) -> list[str]:
    """What is said of raw constants, which are those of edges alone."""
    notes = []
    if raw.spring == 0.0:
        notes.append("springs of constant 0 hold nothing together.")
    if raw.volume > 0.0:
        notes.append("with raw constants XPBD has its edges alone: volume and volume_damping have no effect.")
    return notes
