"""A mesh becomes springs, triangles, tets and masses."""

from __future__ import annotations

import numpy as np

from pliant.materials import RawConstants, spring_constants
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Elements
from pliant.model.particles import average_volume_mass, lumped_mass, truncate_inverse_mass
from pliant.model.springs import Springs, edge_volumes
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles
from pliant.solvers.protocol import BodySpec


def mass_spring_elements(spec: BodySpec) -> Elements:
    """Springs on the edges, and volumes of tets or areas of triangles.

    Stiffness from the material: an edge of a tet mesh gets k = E' (volume around it) / L^2 (Van Gelder 1998), an edge
    of a sheet the same with area times thickness; so the body does not change with the mesh.
    """
    constants, note = spring_constants(spec.material, sheet=isinstance(spec.mesh, SurfaceMesh))
    notes = [note] if note and spec.raw is None else []
    mesh = spec.mesh
    count = len(mesh.vertices)
    edges = mesh.edges()
    length = np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1)
    none = np.zeros((0, 3), np.int32)
    if isinstance(mesh, TetMesh):
        tets = Tets.build(mesh.vertices, mesh.tets)
        triangles = Triangles.build(mesh.vertices, none)
        if spec.raw is None:
            around = edge_volumes(mesh.tets, tets.rest_volume, edges, count)
            stiffness = constants.spring_modulus * around / length**2
        element_mass, corners = spec.material.density * tets.rest_volume, mesh.tets
    else:
        assert isinstance(mesh, SurfaceMesh)
        tets = Tets.build(mesh.vertices, np.zeros((0, 4), np.int32))
        triangles = Triangles.build(mesh.vertices, mesh.triangles)
        around = spec.material.thickness * _edge_areas(mesh, triangles, edges)
        stiffness = constants.spring_modulus * around / length**2
        element_mass = spec.material.density * spec.material.thickness * triangles.rest_area
        corners = mesh.triangles
    if spec.raw is not None:
        stiffness = np.full(len(edges), spec.raw.spring)
        notes += _unused_constants(spec.raw, isinstance(mesh, SurfaceMesh))
    total = float(element_mass.sum())
    if spec.raw is not None and spec.raw.mass is not None:
        element_mass, total = element_mass * (spec.raw.mass / total), spec.raw.mass
    if spec.mass_distribution == "average_volume" and isinstance(mesh, TetMesh):
        mass = average_volume_mass(mesh.tets, tets.rest_volume, total, count)
    else:
        mass = lumped_mass(corners, element_mass, count)
        if spec.mass_distribution == "average_volume":
            notes.append("A sheet has no volumes to average: its mass is lumped.")
    if spec.largest_inverse_mass is not None:
        largest = 1.0 / mass.min()
        mass, over = truncate_inverse_mass(mass, spec.largest_inverse_mass)
        if over:
            notes.append(
                f"{over} of {count} inverse masses ({100.0 * over / count:.1f} %) were cut to "
                f"{spec.largest_inverse_mass:g} 1/kg; the largest was {largest:.4g} 1/kg."
            )
    return Elements(Springs.build(mesh.vertices, edges, stiffness), triangles, tets, mass, notes)


def _unused_constants(raw: RawConstants, sheet: bool) -> list[str]:
    """What is said of raw constants that have no effect."""
    notes = []
    if raw.spring == 0 and raw.spring_damping > 0:
        notes.append("springs of constant 0 are not damped: spring_damping has no effect.")
    if sheet and (raw.volume > 0 or raw.volume_damping > 0):
        notes.append("a sheet with raw constants is springs only: volume and volume_damping have no effect.")
    elif raw.volume == 0 and raw.volume_damping > 0:
        notes.append("volumes of constant 0 are damped in the form 'corner' only.")
    return notes


def _edge_areas(mesh: SurfaceMesh, triangles: Triangles, edges: np.ndarray) -> np.ndarray:
    """Sum of the areas of the triangles around each edge [m^2] (e,)."""
    count = len(mesh.vertices)
    keys = edges[:, 0].astype(np.int64) * count + edges[:, 1]
    total = np.zeros(len(edges))
    for i, j in ((0, 1), (1, 2), (2, 0)):
        a, b = mesh.triangles[:, i].astype(np.int64), mesh.triangles[:, j].astype(np.int64)
        found = np.searchsorted(keys, np.minimum(a, b) * count + np.maximum(a, b))
        total += np.bincount(found, triangles.rest_area, len(edges))
    return total
