"""The tables of a step: tets, the edges between their corners, and rows of the matrix, for sums in a fixed order."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import warp as wp

from pliant.materials import Material
from pliant.model.model import Model
from pliant.model.patches import incidence
from pliant.solvers.fem.data import FemBody, Mesh

# The six edges of a tet, by its corners.
EDGES = np.array(list(itertools.combinations(range(4), 2)))


@dataclasses.dataclass
class Tables:
    """A model's tets, edges and rows.

    Attributes:
        order: the model's tet of each of our own, which stand in the order of their particles (m,) int64.
        corners: (m, 4) int32; volume: [m^3] (m,); rest_inv: inverse edges at rest [1/m] (m, 3, 3).
        tet_body: body of each tet, from 0 (m,).
        row_starts: first slot of each particle's row (n + 1,); row_other: the particle of each slot.
        edges: pairs i < j (e, 2); edge_slots: the slots of (i, j) and of (j, i) (e, 2).
        edge_starts, edge_tets: tets around each edge as 16 tet + 4 (corner of i) + (corner of j).
        corner_starts, corner_tets: tets around each particle as 4 tet + corner.
    """

    order: np.ndarray
    corners: np.ndarray
    volume: np.ndarray
    rest_inv: np.ndarray
    tet_body: np.ndarray
    row_starts: np.ndarray
    row_other: np.ndarray
    edges: np.ndarray
    edge_slots: np.ndarray
    edge_starts: np.ndarray
    edge_tets: np.ndarray
    corner_starts: np.ndarray
    corner_tets: np.ndarray


def make_tables(model: Model) -> Tables:
    """The tables of the bodies of one method."""
    n = model.particles.count
    corners = model.tets.corners.astype(np.int64)
    order = np.argsort(corners.min(axis=1), kind="stable")
    corners = corners[order]
    ends = corners[:, EDGES].reshape(-1, 2)
    upper = ends[:, 0] < ends[:, 1]
    low, high = np.where(upper, ends[:, 0], ends[:, 1]), np.where(upper, ends[:, 1], ends[:, 0])
    codes = np.where(
        upper,
        np.tile(4 * EDGES[:, 0] + EDGES[:, 1], len(corners)),
        np.tile(4 * EDGES[:, 1] + EDGES[:, 0], len(corners)),
    ) + 16 * np.repeat(np.arange(len(corners)), 6)
    keys = low * n + high
    sorting = np.argsort(keys, kind="stable")
    unique, first = np.unique(keys[sorting], return_index=True)
    edges = np.stack(np.divmod(unique, n), axis=1)
    count = len(edges)
    # rows: both directions of every edge, by row and then by column
    both = np.concatenate([edges, edges[:, ::-1]])
    by_row = np.argsort(both[:, 0] * n + both[:, 1], kind="stable")
    slot = np.empty(2 * count, np.int64)
    slot[by_row] = np.arange(2 * count)
    row_starts = np.searchsorted(both[by_row, 0], np.arange(n + 1))
    rest = model.particles.rest
    shape = np.swapaxes(rest[corners[:, 1:]] - rest[corners[:, :1]], 1, 2)
    corner_starts, element, corner = incidence(corners.astype(np.int32), n)
    first_body = int(model.particles.body[model.bodies[0].particles[0]])
    return Tables(
        order,
        corners.astype(np.int32),
        model.tets.rest_volume[order],
        np.linalg.inv(shape),
        model.particles.body[corners[:, 0]] - first_body,
        row_starts,
        both[by_row, 1],
        edges,
        np.stack([slot[:count], slot[count:]], axis=1),
        np.append(first, len(keys)),
        codes[sorting],
        corner_starts,
        4 * element + corner,
    )


def lame(material: Material) -> tuple[float, float]:
    """Lame's moduli lambda and mu of a material [Pa]."""
    nu = material.poisson
    return material.young * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), material.shear_modulus


def body_constants(material: Material) -> FemBody:
    """A material as the kernels see it."""
    body = FemBody()
    body.lame, body.shear = lame(material)
    body.damping = material.damping
    body.drag = material.drag
    body.friction = wp.vec2(material.friction, material.holding)
    body.restitution = material.restitution
    body.yield_strain = -1.0 if material.yields_at is None else material.yields_at
    body.creep = material.creep
    body.plastic_limit = material.plastic_limit
    return body


def device_mesh(model: Model, tables: Tables, awake: wp.array, device: str) -> Mesh:
    """The tables on the device."""
    mesh = Mesh()
    first_body = int(model.particles.body[model.bodies[0].particles[0]])
    put = lambda array, dtype: wp.array(np.ascontiguousarray(array), dtype=dtype, device=device)
    mesh.corners = put(tables.corners, wp.vec4i)
    mesh.volume = put(tables.volume.astype(np.float32), float)
    mesh.tet_body = put(tables.tet_body.astype(np.int32), int)
    mesh.row_starts = put(tables.row_starts.astype(np.int32), int)
    mesh.row_other = put(tables.row_other.astype(np.int32), int)
    mesh.edge_slots = put(tables.edge_slots.astype(np.int32), wp.vec2i)
    mesh.edge_rows = put(tables.edges[:, 0].astype(np.int32), int)
    mesh.edge_starts = put(tables.edge_starts.astype(np.int32), int)
    mesh.edge_tets = put(tables.edge_tets.astype(np.int32), int)
    mesh.corner_starts = put(tables.corner_starts.astype(np.int32), int)
    mesh.corner_tets = put(tables.corner_tets.astype(np.int32), int)
    mesh.mass = put(model.particles.mass.astype(np.float32), float)
    mesh.body = put((model.particles.body - first_body).astype(np.int32), int)
    mesh.bodies = wp.array([body_constants(body.material) for body in model.bodies], dtype=FemBody, device=device)
    moduli = [(*lame(body.material), body.material.damping, body.material.drag) for body in model.bodies]
    mesh.moduli = put(np.array(moduli, np.float32), wp.vec4)
    mesh.awake = awake
    return mesh
