"""A sheet at rest: the weave of its triangles, its hinges, and its elastic energy in float64."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.errors import InputError
from pliant.materials import Material
from pliant.mesh.rings import hinges
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.weave import warp_directions
from pliant.model.model import Elements
from pliant.model.particles import lumped_mass, raise_light_masses, truncate_inverse_mass
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles
from pliant.solvers.common.edge_springs import one_ring_springs
from pliant.solvers.protocol import BodySpec


@dataclasses.dataclass
class SheetRest:
    """A sheet at rest, in the body's own particle numbers.

    Attributes:
        corners: of the triangles (t, 3) int32.
        along, across: weights of the corners in w_u and w_v [1/m] (t, 3).
        area: [m^2] (t,).
        hinges: ends of the edge and far corners (h, 4) int32.
        angle: of the hinges at rest [rad] (h,).
        bending: moment per angle, over the bending rigidity (h,).
        least: smallest square of twice an area that a hinge's gradients use [m^4] (h,).
    """

    corners: np.ndarray
    along: np.ndarray
    across: np.ndarray
    area: np.ndarray
    hinges: np.ndarray
    angle: np.ndarray
    bending: np.ndarray
    least: np.ndarray


def baraff_witkin_elements(spec: BodySpec) -> Elements:
    """Triangles and hinges of a sheet; springs on its edges, which only tell how far they are stretched."""
    mesh, material = spec.mesh, spec.material
    if not isinstance(mesh, SurfaceMesh):
        raise InputError(
            f"this method is for cloth, and a {type(mesh).__name__} is none",
            mesh.name or "mesh",
            "Give a SurfaceMesh, or use another method",
        )
    x, count = mesh.vertices, len(mesh.vertices)
    notes: list[str] = []
    directions, unsure = warp_directions(mesh, spec.warp)
    if unsure and (material.young_weft is not None or material.shear is not None):
        notes.append(
            f"the warp is across {unsure} of {len(mesh.triangles)} triangles, where another direction was taken: "
            "give the body's 'warp', or texture coordinates"
        )
    rest = sheet_rest(mesh, directions)
    mass = lumped_mass(mesh.triangles, material.density * material.thickness * rest.area, count)
    if spec.raw is not None:
        notes.append("raw spring constants mean nothing to this method, which takes the material's moduli")
        if spec.raw.mass is not None:
            mass = mass * (spec.raw.mass / mass.sum())
    if spec.largest_inverse_mass is not None:
        mass, over = truncate_inverse_mass(mass, spec.largest_inverse_mass)
        if over:
            notes.append(f"{over} of {count} inverse masses were cut to {spec.largest_inverse_mass:g} 1/kg.")
    mass, raised = raise_light_masses(mass, spec.mass_shift)
    if raised:
        notes.append(f"{100.0 * spec.mass_shift:g} % of the mass was moved to the {raised} lightest vertices.")
    triangles = Triangles.build(x, mesh.triangles)
    springs = one_ring_springs(mesh, material.thickness, material.young)
    return Elements(springs, triangles, Tets.build(x, np.zeros((0, 4), np.int32)), mass, notes, own=rest)


def sheet_rest(mesh: SurfaceMesh, warp: np.ndarray) -> SheetRest:
    """Weights of triangles and hinges; `warp` are unit vectors in the planes of the triangles (t, 3).

    A hinge's moment per angle is D l^2 / (A0 + A1): bent to a cylinder, a sheet costs D/2 curvature^2 per area.
    """
    x = mesh.vertices[mesh.triangles]
    weft = np.cross(mesh.normals(), warp)
    edges = np.stack([x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]], axis=2)
    flat = np.stack([np.einsum("ti,tik->tk", warp, edges), np.einsum("ti,tik->tk", weft, edges)], axis=1)
    inverse = np.linalg.inv(flat)
    weights = np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)
    pairs = hinges(mesh)
    start, end, first, second = (mesh.vertices[pairs[:, k]] for k in range(4))
    edge = end - start
    doubled = np.stack(
        [np.linalg.norm(np.cross(edge, first - start), axis=1), np.linalg.norm(np.cross(second - start, edge), axis=1)]
    )
    return SheetRest(
        mesh.triangles,
        weights[:, :, 0],
        weights[:, :, 1],
        mesh.areas(),
        pairs,
        fold_angles(mesh.vertices, pairs),
        (edge**2).sum(axis=1) / (0.5 * doubled.sum(axis=0)),
        0.01 * doubled.min(axis=0) ** 2,
    )


def fold_angles(x: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Angles of hinges (h,) [rad], zero when flat, as `pliant.physics.cloth_conditions.folded`."""
    start, end, first, second = (x[pairs[:, k]] for k in range(4))
    edge = end - start
    a, b = np.cross(edge, first - start), np.cross(second - start, edge)
    sine = (np.cross(a, b) * edge).sum(axis=1) / np.maximum(np.linalg.norm(edge, axis=1), 1e-300)
    return np.arctan2(sine, (a * b).sum(axis=1))


def weave_moduli(material: Material, *, poisson: bool) -> np.ndarray:
    """Warp, weft, their coupling and shear, times the thickness [N/m] (4,).

    Those of an orthotropic sheet in plane stress with Young's moduli E_u and E_v and sqrt(nu_uv nu_vu) = nu: a pull
    along warp or weft has the Young's modulus of that direction. Without Poisson's ratio the paper's: E_u, E_v, 0.
    """
    warp = material.young
    weft = warp if material.young_weft is None else material.young_weft
    mean = np.sqrt(warp * weft)
    shear = mean / (2.0 * (1.0 + material.poisson)) if material.shear is None else material.shear
    nu = material.poisson if poisson else 0.0
    return material.thickness * np.array([*(np.array([warp, weft, nu * mean]) / (1.0 - nu * nu)), shear])


def sheet_energy(rest: SheetRest, material: Material, x: np.ndarray, *, poisson: bool) -> float:
    """Elastic energy [J] of positions x [m] (n, 3) float64, in the body's own particle numbers."""
    warp, weft, both, shear = weave_moduli(material, poisson=poisson)
    wu = np.einsum("ta,tai->ti", rest.along, x[rest.corners])
    wv = np.einsum("ta,tai->ti", rest.across, x[rest.corners])
    u, v = np.linalg.norm(wu, axis=1) - 1.0, np.linalg.norm(wv, axis=1) - 1.0
    plane = 0.5 * warp * u * u + 0.5 * weft * v * v + both * u * v + 0.5 * shear * (wu * wv).sum(axis=1) ** 2
    turn = fold_angles(x, rest.hinges) - rest.angle
    turn -= 2.0 * np.pi * np.round(turn / (2.0 * np.pi))
    return float((rest.area * plane).sum() + 0.5 * material.plate_rigidity * (rest.bending * turn * turn).sum())
