"""Contacts of bodies that come apart: they know the outside as it is now.

All that may ever be outside stands in the trees from the start, so that nothing has to be made or recorded anew when
something breaks; what is not there now has no corners, and an empty box.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from pliant.collide.soft import parting_kernels as kernels
from pliant.collide.soft.features import SOLID, THIN, edges_of
from pliant.collide.soft.outsides import breaks_in_pieces
from pliant.launch import launch
from pliant.model.model import Model

if TYPE_CHECKING:
    from pliant.collide.soft.body_contacts import BodyContacts

BETWEEN = 0.45
"""Share of the distance at rest between particles on both sides of a crack that is kept free around each."""


def owners_of_pieces(model: Model) -> np.ndarray:
    """The body of each number that is set aside for pieces of bodies which may break (p,): one less than they have
    clusters, since the first piece keeps the number of its body."""
    rooms = [int(body.options["breaks"][0].max()) if breaks_in_pieces(body) else 0 for body in model.bodies]
    return np.repeat(np.arange(len(rooms)), rooms)


@dataclasses.dataclass(frozen=True)
class SplitSheets:
    """What is known on the device of sheets whose vertices split: corners of their triangles, slot by slot (3 T,); the
    particle that each one was split from (n,); and the first slot of each sheet, by the number of its body."""

    corners: wp.array
    home: wp.array
    first: dict[int, int]


class Parting:
    """Lets contacts follow what comes apart.

    Bodies that break have particles of several pieces, which have numbers of their own, as if they were bodies: behind
    those of all bodies and the one after them. What is not there now belongs to that one.

    Args:
        model: all bodies.
        of: their contacts, with all that may ever be outside.
    """

    def __init__(self, model: Model, of: BodyContacts):
        self.model, self.of, self.device = model, of, of.device
        features = of.features
        self.owners = owners_of_pieces(model)
        self.solids, self.sides = features.solids, features.sides
        self.active = bool(self.solids or self.sides)
        if not self.active:
            return
        self.has_edges = of.settings.edges
        found, bodies = of.candidates, len(model.bodies)
        self._starts = [np.searchsorted(b, np.arange(bodies + 1)) for b in (features.triangle_body, features.edge_body)]
        self._broken = wp.zeros(1, dtype=int, device=self.device)
        self._kind = of.surfaces.kind.numpy().copy()
        self._gone: dict[int, np.ndarray] = {}
        self._split: SplitSheets | None = None
        self._make_sides()
        splits = np.zeros(model.particles.count, np.int32)
        for body in model.bodies:
            splits[slice(*body.particles)] = body.splits
        self._splits = wp.array(splits, dtype=int, device=self.device)
        if len(self.owners):
            found.sort = self._sort
        self.follow({}, {})

    def _make_sides(self) -> None:
        """The tables of sheets and rods that may come apart."""
        features, found = self.of.features, self.of.candidates
        put = lambda values, dtype: wp.array(np.ascontiguousarray(values, np.int32), dtype=dtype, device=self.device)
        inverse = [np.argsort(tree.order) for tree in (found.triangles, found.edges)]
        runs = {b: [np.arange(s[b], s[b + 1]) for s in self._starts] for b in self.sides}
        joined = lambda parts: np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
        triangles = joined([run[0] for run in runs.values()])
        firsts = np.cumsum([0, *(len(run[0]) for run in runs.values())])
        self._first_triangle = dict(zip(runs, firsts.tolist(), strict=False))
        rows = [np.zeros((0, 4), np.int64)]
        for b, table in self.sides.items():
            shift = self._first_triangle[b]
            rows.append(np.where(table >= 0, table + np.array([shift, 0, shift, 0]), -1))
        edges = joined([run[1] for run in runs.values()]) if self.has_edges else joined([])
        self._triangle_count, self._side_count = len(triangles), len(edges)
        data = kernels.Sides()
        data.corners = put(features.triangles[triangles], wp.vec3i)
        data.source, data.gone = (put(np.full(max(len(triangles), 1), v), int) for v in (-1, 0))
        data.triangle_place = put(inverse[0][triangles], int)
        data.now = wp.clone(data.corners)
        data.side = put(np.concatenate(rows), wp.vec4i)
        data.side_place = put(inverse[1][edges], int) if self.has_edges else put([], int)
        data.split = put([-1], int)
        self._sharp = {b: self._sharp_sides(b) for b in self.sides}
        data.meets = put(joined(list(self._sharp.values())), int)
        self.data = data

    def _sharp_sides(self, b: int) -> np.ndarray:
        """Which sides of a closed sheet are sharp (s,) bool; all of others."""
        sides = self.sides[b]
        if self._kind[b] != SOLID:
            return np.ones(len(sides), bool)
        triangles = self.of.features.triangles[slice(*self._starts[0][b : b + 2])].astype(np.int64)
        edges, _, sharp = edges_of(triangles, self.model.particles.rest)
        ends = [triangles[sides[:, 0], (sides[:, 1] + k) % 3] for k in range(2)]
        return np.isin(_keys(np.stack(ends, axis=1)), _keys(edges[sharp]))

    def follow_split(self, sheets: SplitSheets) -> None:
        """Let triangles follow sheets whose vertices split."""
        if not self.active:
            return
        self._split = sheets
        source = self.data.source.numpy().copy()
        for b, first in sheets.first.items():
            if b in self._first_triangle:
                count = self._starts[0][b + 1] - self._starts[0][b]
                here = self._first_triangle[b]
                source[here : here + count] = first + 3 * np.arange(count)
        self.data.source.assign(source)
        self.data.split = sheets.corners
        self.of.candidates.sort = self._sort

    # ---- within a frame -----------------------------------------------------------------------------------------

    def begin_frame(self) -> None:
        """Let what may touch be what there is now of sheets and rods."""
        if not self.active or not self._triangle_count:
            return
        found, of = self.of.candidates, self.of
        launch(
            kernels.place_triangles,
            self._triangle_count,
            [self.data],
            [found.triangles.data.corners],
            device=self.device,
        )
        outputs = [found.edges.data.corners, of.out]
        launch(kernels.place_sides, self._side_count, [self.data], outputs, device=self.device)
        if self._split is None:
            return
        for b in self._split.first:
            own, end = self.model.bodies[b].own_particles[1], self.model.bodies[b].particles[1]
            inputs = [own, self._split.home]
            launch(kernels.rest_of_split, end - own, inputs, [of.surfaces.rest], device=self.device)

    def _sort(self) -> None:
        found, of = self.of.candidates, self.of
        vertices, edges = found.near_triangles.things, found.near_edges.things
        if len(self.owners):
            inputs = [self._broken, int(of.settings.between == "all"), of.surfaces.body, vertices]
            launch(kernels.sort_by_piece, vertices + edges, inputs, [of.near()], device=self.device, grain=1024)
        if self._split is not None and of.settings.between == "all":
            inputs = [self._split.home, self._splits, vertices]
            launch(kernels.leave_neighbours, vertices + edges, inputs, [of.near()], device=self.device, grain=1024)

    # ---- between frames -----------------------------------------------------------------------------------------

    def follow(self, pieces: Mapping[int, np.ndarray], gone: Mapping[int, np.ndarray]) -> None:
        """Let contacts follow what has broken.

        Args:
            pieces: the piece of each particle of a body that may break, by the number of the body.
            gone: which triangles of a sheet, in the order of `Body.surface`, or which segments of rods are no more.
        """
        if not self.active:
            return
        of, found, bodies = self.of, self.of.candidates, self.model.bodies
        body = self.model.particles.body.astype(np.int32).copy()
        selfs = np.full(len(bodies), of.settings.between == "all")
        kind = self._kind.copy()
        meets = {b: sharp.copy() for b, sharp in self._sharp.items()}
        is_gone = {b: np.zeros(self._starts[0][b + 1] - self._starts[0][b], bool) for b in self.sides}
        for b, which in gone.items():
            if b in is_gone:
                is_gone[b] |= which
        is_broken = False
        for b, piece in pieces.items():
            labels, numbers = np.unique(piece, return_inverse=True)
            if len(labels) < 2:
                continue
            is_broken = True
            selfs[b] = True
            first = len(bodies) + int(np.searchsorted(self.owners, b))
            body[slice(*bodies[b].particles)] = np.where(numbers == 0, b, first + numbers)
            if b in self.sides:
                # what was closed is open now
                corners = of.features.triangles[slice(*self._starts[0][b : b + 2])]
                is_gone[b] |= (body[corners] != body[corners[:, :1]]).any(axis=1)
                kind[b] = THIN
                kind[first + 1 : first + len(labels)] = kind[b]
                meets[b][:] = True
        self._place_solids(body)
        of.surfaces.body.assign(body)
        of.surfaces.kind.assign(kind)
        found.kind.assign(kind[: len(bodies)])
        found.selfs.assign(selfs.astype(np.int32))
        self._broken.fill_(int(is_broken))
        flat = lambda parts: np.concatenate([np.zeros(0), *parts.values()]).astype(np.int32)
        if self._triangle_count:
            self.data.gone.assign(flat(is_gone))
            if self._side_count:
                self.data.meets.assign(flat(meets))
        self.begin_frame()
        found.forget()

    def _radius(self, piece: np.ndarray) -> np.ndarray:
        """What is kept free around each particle [m] (n,): at a crack half of what lay between the pieces."""
        features = self.of.features
        nearest = np.full(len(features.radius), np.inf)
        for faces in self.solids.values():
            torn = faces.tets[(piece[faces.tets] != piece[faces.tets[:, :1]]).any(axis=1)]
            ends = torn[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2)
            ends = ends[piece[ends[:, 0]] != piece[ends[:, 1]]]
            gap = np.linalg.norm(np.diff(self.model.particles.rest[ends], axis=1)[:, 0], axis=1)
            np.minimum.at(nearest, ends, gap[:, None])
        return np.where(np.isfinite(nearest), np.maximum(features.radius, BETWEEN * nearest), features.radius)

    def _place_solids(self, piece: np.ndarray) -> None:
        """Let what may touch be what is outside of solids that may break, for the pieces of all particles."""
        of, found, features = self.of, self.of.candidates, self.of.features
        triangles, edges = features.triangles.copy(), features.edges.copy()
        out, vertex_body = features.out.copy(), features.vertex_body.copy()
        for b, faces in self.solids.items():
            here, there = (slice(*starts[b : b + 2]) for starts in self._starts)
            bare, loose = faces.outside(piece)
            triangles[here][~bare] = -1
            vertices = features.vertices[features.vertex_body == b]
            seen = np.isin(vertices, np.concatenate([faces.triangles[bare].reshape(-1), loose]))
            vertex_body[features.vertex_body == b] = np.where(seen, b, len(self.model.bodies))
            now, opposite, sharp = edges_of(faces.triangles[bare], self.model.particles.rest)
            now, opposite = now[sharp], opposite[sharp]
            order = np.argsort(_keys(now))
            wanted, keys = _keys(edges[there].astype(np.int64)), _keys(now)[order]
            row = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
            is_edge = keys[row] == wanted if len(keys) else np.zeros(len(wanted), bool)
            out[there] = np.where(is_edge[:, None], opposite[order][row] if len(keys) else -1, -1)
            edges[there][~is_edge] = -1
        of.surfaces.radius.assign(self._radius(piece).astype(np.float32))
        found.triangles.data.corners.assign(triangles[found.triangles.order].astype(np.int32))
        found.vertex_body.assign(vertex_body.astype(np.int32))
        if self.has_edges:
            found.edges.data.corners.assign(edges[found.edges.order][:, [0, 1, 1]].astype(np.int32))
            of.out.assign(out[found.edges.order].astype(np.int32))


def _keys(edges: np.ndarray) -> np.ndarray:
    """A number for each edge (e, 2), whichever end stands first."""
    return edges.min(axis=1).astype(np.int64) * 2**32 + edges.max(axis=1)
