"""A mesh becomes springs, triangles, tets and masses."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.errors import InputError
from pliant.materials import RawConstants, spring_constants
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.points import PointCloud
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Elements
from pliant.model.particles import average_volume_mass, lumped_mass, raise_light_masses, truncate_inverse_mass
from pliant.model.springs import Springs, edge_volumes
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles
from pliant.solvers.common.edge_springs import one_ring_springs
from pliant.solvers.mass_spring.cloth_moduli import edge_moduli, is_woven
from pliant.solvers.mass_spring.grid_springs import grid_springs
from pliant.solvers.mass_spring.lattice_springs import lattice_kinds, lattice_stiffness
from pliant.solvers.mass_spring.line_springs import BendGroups
from pliant.solvers.mass_spring.rod_springs import rod_springs
from pliant.solvers.mass_spring.sheet_springs import two_ring_springs
from pliant.solvers.protocol import BodySpec

NO_TRIANGLES, NO_TETS = np.zeros((0, 3), np.int32), np.zeros((0, 4), np.int32)


@dataclasses.dataclass
class SpringBody:
    """What the method knows of a body besides its springs: how they were chosen, and which hold each other."""

    springs: str
    groups: BendGroups | None


@dataclasses.dataclass
class _Parts:
    """Springs and elements of a body, and what carries its mass: corners (m, k) and mass (m,) [kg] of each element."""

    springs: Springs
    triangles: Triangles
    tets: Tets
    corners: np.ndarray
    mass: np.ndarray
    notes: list[str]
    groups: BendGroups | None = None


def mass_spring_elements(spec: BodySpec) -> Elements:
    """Springs, and volumes of tets or areas of triangles.

    Stiffness from the material: an edge of a tet mesh gets k = E' (volume around it) / L^2 (Van Gelder 1998), an edge
    of a sheet the same with area times thickness, a spring of a lattice its share of the cubes around it; so the body
    does not change with the mesh.
    """
    mesh = spec.mesh
    if isinstance(mesh, PointCloud):
        raise InputError(
            f"a mass-spring body needs edges, and these are {len(mesh.vertices)} loose points",
            mesh.name or "point cloud",
            "Use method='shape_matching', or give a mesh",
        )
    assert not isinstance(mesh, LayeredMesh)  # a scene refuses it, see `takes`
    sheet = isinstance(mesh, SurfaceMesh)
    constants, note = spring_constants(spec.material, sheet=sheet)
    if spec.calibration is not None:
        factor = spec.calibration.numbers[0]
        constants = dataclasses.replace(constants, spring_modulus=factor * constants.spring_modulus)
        note = ""
    rod = isinstance(mesh, RodMesh)
    woven = sheet and (spec.springs == "grid" or is_woven(spec.material))
    notes = [note] if note and spec.raw is None and not rod and not woven else []
    if isinstance(mesh, TetMesh):
        parts = _solid(mesh, spec, constants.spring_modulus)
    elif isinstance(mesh, VoxelLattice):
        parts = _lattice(mesh, spec, constants.spring_modulus)
    elif isinstance(mesh, RodMesh):
        parts = _rod(mesh, spec)
    else:
        parts = _sheet(mesh, spec, constants.spring_modulus)
    springs, element_mass = parts.springs, parts.mass
    if spec.raw is not None:
        springs = Springs.build(mesh.vertices, springs.pairs, spec.raw.spring, springs.kind)
        if parts.groups is not None:
            # constants given directly know no stress at rest
            parts.groups.tension = np.zeros_like(parts.groups.tension)
        notes += _unused_constants(spec.raw, sheet or rod)
    else:
        notes += parts.notes
    total = float(element_mass.sum())
    if spec.raw is not None and spec.raw.mass is not None:
        element_mass, total = element_mass * (spec.raw.mass / total), spec.raw.mass
    count = len(mesh.vertices)
    if spec.mass_distribution == "average_volume" and isinstance(mesh, TetMesh):
        mass = average_volume_mass(mesh.tets, parts.tets.rest_volume, total, count)
    else:
        mass = lumped_mass(parts.corners, element_mass, count)
        if spec.mass_distribution == "average_volume":
            notes.append(
                f"A {'sheet' if sheet else 'rod' if rod else 'lattice'} has no tets to average: its mass is lumped."
            )
    if spec.largest_inverse_mass is not None:
        largest = 1.0 / mass.min()
        mass, over = truncate_inverse_mass(mass, spec.largest_inverse_mass)
        if over:
            notes.append(
                f"{over} of {count} inverse masses ({100.0 * over / count:.1f} %) were cut to "
                f"{spec.largest_inverse_mass:g} 1/kg; the largest was {largest:.4g} 1/kg."
            )
    mass, raised = raise_light_masses(mass, spec.mass_shift)
    if raised:
        notes.append(
            f"{100.0 * spec.mass_shift:g} % of the mass was moved to the {raised} lightest of {count} vertices, which "
            "allows longer steps; the total is the same."
        )
    return Elements(springs, parts.triangles, parts.tets, mass, notes, own=SpringBody(spec.springs, parts.groups))


def _solid(mesh: TetMesh, spec: BodySpec, modulus: float) -> _Parts:
    """Springs on the edges of the tets, which keep their volumes."""
    tets = Tets.build(mesh.vertices, mesh.tets)
    edges = mesh.edges()
    springs = Springs.build(mesh.vertices, edges, 0.0)
    springs.stiffness = (
        modulus * edge_volumes(mesh.tets, tets.rest_volume, edges, len(mesh.vertices)) / springs.rest_length**2
    )
    triangles = Triangles.build(mesh.vertices, NO_TRIANGLES)
    return _Parts(springs, triangles, tets, mesh.tets, spec.material.density * tets.rest_volume, [])


def _lattice(mesh: VoxelLattice, spec: BodySpec, modulus: float) -> _Parts:
    """Springs of all four kinds, and the cubes' volumes as those of five tets each: the fewest that tile a cube."""
    tets = Tets.build(mesh.vertices, mesh.tets("five").tets)
    network = mesh.springs()
    stiffness = lattice_stiffness(mesh, network, modulus)
    springs = Springs.build(mesh.vertices, network.pairs, stiffness, lattice_kinds(network))
    triangles = Triangles.build(mesh.vertices, NO_TRIANGLES)
    return _Parts(springs, triangles, tets, mesh.cubes, spec.material.density * mesh.cube_volumes(), [])


def _rod(mesh: RodMesh, spec: BodySpec) -> _Parts:
    """Springs over one, two and three segments."""
    springs, groups, notes = rod_springs(mesh, spec.material)
    triangles, tets = Triangles.build(mesh.vertices, NO_TRIANGLES), Tets.build(mesh.vertices, NO_TETS)
    return _Parts(springs, triangles, tets, mesh.segments, spec.material.density * mesh.volumes(), notes, groups)


def _sheet(mesh: SurfaceMesh, spec: BodySpec, modulus: float) -> _Parts:
    """Springs along the edges and, if asked for, across them; the triangles keep their areas."""
    thickness = spec.material.thickness
    notes: list[str] = []
    groups = None
    by_edge: float | np.ndarray = modulus
    if is_woven(spec.material):
        by_edge, raised = edge_moduli(mesh, mesh.edges(), spec.material, spec.warp)
        if raised and spec.springs != "grid":
            notes.append(
                f"springs of {raised} edges would be below zero: a cloth that shears so easily needs springs='grid'."
            )
    if spec.springs == "grid":
        springs, groups, notes = grid_springs(mesh, spec.material, spec.warp)
    elif spec.springs == "two_ring":
        springs, groups, more = two_ring_springs(mesh, spec.material, by_edge)
        notes += more
    else:
        springs = one_ring_springs(mesh, thickness, by_edge)
    triangles = Triangles.build(mesh.vertices, mesh.triangles)
    mass = spec.material.density * thickness * triangles.rest_area
    return _Parts(springs, triangles, Tets.build(mesh.vertices, NO_TETS), mesh.triangles, mass, notes, groups)


def _unused_constants(raw: RawConstants, sheet: bool) -> list[str]:
    """What is said of raw constants that have no effect."""
    notes = []
    if raw.spring == 0 and raw.spring_damping > 0:
        notes.append("springs of constant 0 are not damped: spring_damping has no effect.")
    if sheet and (raw.volume > 0 or raw.volume_damping > 0):
        notes.append("a sheet or rod with raw constants is springs only: volume and volume_damping have no effect.")
    elif raw.volume == 0 and raw.volume_damping > 0:
        notes.append("volumes of constant 0 are damped in the form 'corner' only.")
    return notes
