"""What of the bodies can touch: vertices, edges and triangles of their outsides, in the model's numbers."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.collide.soft.outsides import SolidFaces, comes_apart, sides_of
from pliant.collide.soft.settings import ContactSettings
from pliant.model.model import Body, Model

SOLID = 0
"""A body with an inside, whose triangles face outwards."""
THIN = 1
"""A sheet, a rod or loose points: met from every side."""
SHARP = np.cos(np.radians(25.0))
"""Cosine of the angle between triangles of a solid beyond which the edge between them may meet others."""
GAP_OF_SIZE = 0.004
"""Distance between surfaces of solids over the diagonal of their box, where none is given."""
GAP_OF_EDGE = 0.2
"""The most that it may be over the median edge of their surface."""
GAP_OF_CLOTH = 0.1
"""The least distance between layers of cloth over its median edge, where none is given: thinner layers would pass
through each other by the error of one step."""
REACH_OF_EDGE = 0.35
REACH_OF_THIN = 0.45
"""How far parts are watched over the median edge of all surfaces, where it is not given; further where all is thin."""
PUSH_OF_SIZE = 1.0
"""Speed of pushing apart over the median size of the bodies [1/s], where none is given."""


@dataclasses.dataclass
class Features:
    """Vertices, edges and triangles that can touch.

    Attributes:
        vertices: particles (n,) int32, sorted. triangles: (t, 3) int32; a segment of a rod repeats its second corner, a
            loose point is all three. edges: (e, 2) int32.
        vertex_body, triangle_body, edge_body: body numbers.
        out: the two corners opposite each edge (e, 2) int32; -1 where an edge has fewer triangles.
        kind: SOLID or THIN of each body (b,).
        radius: half of what is kept free between surfaces, of each particle of the model [m].
        reach, push_speed: see `ContactSettings`.
        solids: faces of solids that may break, by body: its triangles are those that may ever be outside, its edges
            all of theirs. sides: those of sheets and rods that may come apart, by body, with triangles numbered within
            it: its edges are one for each.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    edges: np.ndarray
    vertex_body: np.ndarray
    triangle_body: np.ndarray
    edge_body: np.ndarray
    out: np.ndarray
    kind: np.ndarray
    radius: np.ndarray
    reach: float
    push_speed: float
    solids: dict[int, SolidFaces] = dataclasses.field(default_factory=dict)
    sides: dict[int, np.ndarray] = dataclasses.field(default_factory=dict)

    @staticmethod
    def build(model: Model, settings: ContactSettings, *, parting: bool = False) -> Features:
        """The features of all bodies of a model; with `parting` also those that may be outside when bodies come
        apart."""
        bodies = model.bodies
        radius = model.particles.radius.astype(np.float64).copy()
        rest = model.particles.rest
        kind = np.array([SOLID if _is_solid(body) else THIN for body in bodies], np.int32)
        triangles, edges, out, lengths, sizes = [], [], [], [], []
        solids: dict[int, SolidFaces] = {}
        sides: dict[int, np.ndarray] = {}
        for b, body in enumerate(bodies):
            own_triangles = _triangles(body)
            own_edges, opposite, sharp = edges_of(own_triangles, rest)
            length = np.linalg.norm(rest[own_edges[:, 0]] - rest[own_edges[:, 1]], axis=1)
            places = rest[slice(*body.own_particles)]
            size = float(np.linalg.norm(np.ptp(places, axis=0)))
            typical = float(np.median(length)) if len(length) else 0.1 * size
            if _is_solid(body):
                gap = settings.thickness or min(GAP_OF_SIZE * size, GAP_OF_EDGE * typical)
                radius[slice(*body.particles)] = 0.5 * gap
                own_edges, opposite = own_edges[sharp], opposite[sharp]
            elif body.segments is None and len(body.surface):
                gap = settings.thickness or max(2.0 * float(radius[body.particles[0]]), GAP_OF_CLOTH * typical)
                radius[slice(*body.particles)] = 0.5 * gap
            elif body.ball_radius is not None:
                radius[slice(*body.particles)] = body.ball_radius
            faces = SolidFaces.of(body) if parting else None
            if faces is not None:
                solids[b] = faces
                own_triangles = faces.triangles
                own_edges, opposite, _ = edges_of(own_triangles, rest)
            elif parting and comes_apart(body):
                sides[b] = found = sides_of(own_triangles)
                ends = [own_triangles[found[:, 0], (found[:, 1] + k) % 3] for k in range(2)]
                own_edges = np.sort(np.stack(ends, axis=1), axis=1)
                opposite = np.full_like(own_edges, -1)
            triangles.append(own_triangles)
            edges.append(own_edges)
            out.append(opposite)
            lengths.append(typical)
            sizes.append(size)
        number = lambda parts: np.repeat(np.arange(len(parts)), [len(part) for part in parts]).astype(np.int32)
        joined = np.concatenate(triangles).astype(np.int32)
        spares = [np.arange(body.own_particles[1], body.particles[1]) for body in bodies if parting]
        vertices = np.unique(np.concatenate([joined.reshape(-1), *spares])).astype(np.int32)
        thickest = float(radius[vertices].max(initial=0.0))
        watched = REACH_OF_THIN if (kind == THIN).all() else REACH_OF_EDGE
        reach = settings.reach or max(watched * float(np.median(lengths)), 0.5 * thickest)
        push = PUSH_OF_SIZE * float(np.median(sizes)) if settings.push_speed is None else settings.push_speed
        return Features(
            vertices,
            joined,
            np.concatenate(edges).astype(np.int32),
            model.particles.body[vertices],
            number(triangles),
            number(edges),
            np.concatenate(out).astype(np.int32),
            kind,
            radius,
            reach,
            push,
            solids,
            sides,
        )


def _is_solid(body: Body) -> bool:
    """Whether its outside has an inside."""
    return bool(body.options.get("is_solid"))


def _triangles(body: Body) -> np.ndarray:
    """Triangles of its outside (t, 3), of rods and loose points with repeated corners."""
    first = body.particles[0]
    if body.segments is not None:
        ends = body.segments.astype(np.int64) + first
        return ends[:, [0, 1, 1]]
    if not len(body.surface):
        return np.repeat(np.arange(*body.own_particles)[:, None], 3, axis=1)
    return body.surface.astype(np.int64)


def edges_of(triangles: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges (e, 2), the corners opposite them (e, 2), and which of them are sharp or at a rim (e,)."""
    none = np.zeros((0, 2), np.int64)
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    across = np.concatenate([triangles[:, 2], triangles[:, 0], triangles[:, 1]])
    face = np.tile(np.arange(len(triangles)), 3)
    real = sides[:, 0] != sides[:, 1]
    sides, across, face = np.sort(sides[real], axis=1), across[real], face[real]
    if not len(sides):
        return none, none, np.zeros(0, bool)
    edges, row = np.unique(sides, axis=0, return_inverse=True)
    row = row.reshape(-1)
    order = np.argsort(row, kind="stable")
    first = np.searchsorted(row[order], np.arange(len(edges)))
    count = np.bincount(row, minlength=len(edges))
    second = np.minimum(first + 1, len(order) - 1)
    opposite = np.stack([across[order[first]], np.where(count > 1, across[order[second]], -1)], axis=1)
    corner = rest[triangles]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    bend = (normal[face[order[first]]] * normal[face[order[second]]]).sum(axis=1)
    sharp = (count != 2) | (bend < SHARP)
    # segments of rods and degenerate triangles have each side twice, of one face
    opposite[np.isin(opposite, edges[:, 0]) & (opposite == edges[:, :1])] = -1
    opposite[(opposite == edges[:, 1:])] = -1
    return edges, opposite, sharp
