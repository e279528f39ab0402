"""Packer: what is seen of a simulation as the few bytes of a frame, made on the device."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import warp as wp

from pliant.launch import Recording, launch, record
from pliant.mesh.embed import Embedding
from pliant.model.model import Body
from pliant.simulation import Simulation
from pliant.skin.skin import Skin
from pliant.skin.surface import SkinSurface
from pliant.studio import packing_kernels as kernels
from pliant.studio.heat import HeatCarrier, HeatSpan
from pliant.studio.packing_scene import scene_sections

__all__ = ["PackedFrame", "Packer", "scene_sections"]

CHUNK = 128
"""Points, or boxes, that one thread puts a box around."""


@dataclasses.dataclass(frozen=True, eq=False)
class PackedFrame:
    """What is seen of a simulation at one moment, body by body in the order of the model.

    Attributes:
        x: vertices (n, 4) uint16, numbered as `Simulation.surface` does: a coordinate is lo + size * value / 65535 in
            the box of the vertex's body; the fourth is the heat, from 0 (the span's low end) to 65535 (its high end).
        normal: unit normals times 127, and a zero (n, 4) int8; zero where there is no area.
        boxes: for each body the lowest corner and the size along x, y and z, which are equal and above 0 [m]; a body
            that is not finite has a box of 1 m at the origin, and its lost vertices lie in the box's first corner.
        heat: the low and the high end of the heat's span; None if none was asked for.
    """

    x: np.ndarray
    normal: np.ndarray
    boxes: list[list[float]]
    heat: tuple[float, float] | None

    def sections(self) -> dict[str, np.ndarray]:
        """The arrays as a message names them."""
        return {"x": self.x, "normal": self.normal}


@dataclasses.dataclass
class _Source:
    """A row of surfaces on the device.

    Attributes:
        bodies: body number of each vertex.
        shifts: what takes a vertex's number in this row to that among all that are seen, for each body.
    """

    x: wp.array
    normals: wp.array
    bodies: wp.array
    shifts: wp.array


class Packer:
    """Packs one simulation; its tables are made once, and a frame allocates nothing on the device.

    Args:
        sim: the simulation.
    """

    def __init__(self, sim: Simulation):
        self.sim = sim
        self.device = sim.device
        bodies = sim.model.bodies
        counts = [body.seen_vertices for body in bodies]
        self._first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.count = int(self._first[-1])
        self._own: Skin | None = None
        self._balls: tuple[wp.array, wp.array, wp.array] | None = None
        self._sources: list[_Source] = []
        self._heat = HeatCarrier(sim.model, self._first, self.device)
        self._build_sources(bodies)
        self._build_boxes(bodies)
        self._user_particles = self._ints(np.concatenate([body.particle_of for body in bodies]))
        self._body_of = self._ints(sim.model.particles.body)
        self._x = wp.zeros(self.count, dtype=wp.vec4us, device=self.device)
        self._normals = wp.zeros(self.count, dtype=wp.vec4b, device=self.device)
        self._particles = wp.zeros(len(self._user_particles), dtype=wp.vec4us, device=self.device)
        self._spans: dict[str, HeatSpan] = {}
        self._plain: Recording | None = None

    # ---- tables -------------------------------------------------------------------------------------------------

    def _ints(self, values: Any) -> wp.array:
        return wp.array(np.ascontiguousarray(values, np.int32), dtype=int, device=self.device)

    def _vectors(self, values: np.ndarray) -> wp.array:
        return wp.array(np.ascontiguousarray(values, np.float32), dtype=wp.vec3, device=self.device)

    def _build_sources(self, bodies: list[Body]) -> None:
        """Group the bodies by how they are seen: their own vertices, balls, and each row of skins."""
        own = [k for k, body in enumerate(bodies) if body.skin is None and body.ball_radius is None]
        if own:
            parts = [_identity(bodies[k]) for k in own]
            self._own = Skin(parts, [bodies[k].seen_triangles() for k in own], self.device)
            self._add_source(self._own.x, self._own.normals, bodies, own)
        balls = [k for k, body in enumerate(bodies) if body.skin is None and body.ball_radius is not None]
        if balls:
            corners = [bodies[k].ball() for k in balls]
            hosts = [np.repeat(bodies[k].particle_of, len(ball)) for k, ball in zip(balls, corners, strict=True)]
            offsets = np.concatenate(
                [np.tile(ball, (len(bodies[k].rank), 1)) for k, ball in zip(balls, corners, strict=True)]
            )
            radii = np.linalg.norm(offsets, axis=1, keepdims=True)
            x = wp.zeros(len(offsets), dtype=wp.vec3, device=self.device)
            self._balls = (self._ints(np.concatenate(hosts)), self._vectors(offsets), x)
            self._add_source(x, self._vectors(offsets / np.maximum(radii, 1e-30)), bodies, balls)
        tearing = self.sim.tearing
        for skin, worn in self._worn(bodies):
            torn = tearing is not None and skin is self.sim.skins.torn
            self._add_source(skin.x, skin.normals, bodies, worn, tearing.corners if torn and tearing else None)

    def _worn(self, bodies: list[Body]) -> list[tuple[SkinSurface, list[int]]]:
        """Each row of skins, and the numbers of the bodies that wear them."""
        number = {body.name: k for k, body in enumerate(bodies)}
        return [(skin, [number[name] for name in names]) for skin, names in self.sim.skins.rows]

    def _add_source(
        self, x: wp.array, normals: wp.array, bodies: list[Body], chosen: list[int], hosts: wp.array | None = None
    ) -> None:
        counts = [bodies[k].seen_vertices for k in chosen]
        shifts = np.zeros(len(bodies), np.int64)
        shifts[chosen] = self._first[chosen] - np.concatenate([[0], np.cumsum(counts)])[:-1]
        source = _Source(x, normals, self._ints(np.repeat(chosen, counts)), self._ints(shifts))
        self._sources.append(source)
        self._heat.add(chosen, source.bodies, source.shifts, hosts)

    def _build_boxes(self, bodies: list[Body]) -> None:
        """Cut the particles and the skins into chunks of one body each, and these again, until each body has one.

        A box holds the body's particles as well as what is seen of it; balls reach their radius beyond them.
        """
        runs: list[tuple[wp.array, list[tuple[int, int, int]]]] = []
        for k, body in enumerate(bodies):
            # chunks follow one another, so a row ends before particles that are set aside
            if not runs or bodies[k - 1].spares:
                runs.append((self.sim.state.x, []))
            runs[-1][1].append((k, *body.own_particles))
        for skin, worn in self._worn(bodies):
            ends = np.cumsum([bodies[k].seen_vertices for k in worn]).tolist()
            ranges = [(k, end - bodies[k].seen_vertices, end) for k, end in zip(worn, ends, strict=True)]
            runs.append((skin.x, ranges))
        cut = [[_cut(first, end) for _, first, end in ranges] for _, ranges in runs]
        owners = [
            np.repeat([k for k, *_ in ranges], [len(starts) for starts in parts])
            for (_, ranges), parts in zip(runs, cut, strict=True)
        ]
        everyone = np.concatenate(owners)
        slot = np.empty(len(everyone), np.int64)
        slot[np.argsort(everyone, kind="stable")] = np.arange(len(everyone))
        self._chunks: list[tuple[wp.array, wp.array, wp.array]] = []
        done = 0
        for (x, ranges), parts in zip(runs, cut, strict=True):
            starts = np.concatenate([*parts, [ranges[-1][2]]])
            count = len(starts) - 1
            self._chunks.append((self._ints(starts), self._ints(slot[done : done + count]), x))
            done += count
        bounds = np.searchsorted(np.sort(everyone), np.arange(len(bodies) + 1))
        pair = lambda count: [wp.zeros(count, dtype=wp.vec3, device=self.device) for _ in range(2)]
        self._corners = pair(len(everyone))
        self._levels: list[tuple[wp.array, list[wp.array]]] = []
        while True:
            parts = [_cut(int(first), int(end)) for first, end in itertools.pairwise(bounds)]
            starts = np.concatenate([*parts, [bounds[-1]]])
            self._levels.append((self._ints(starts), pair(len(starts) - 1)))
            bounds = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
            if len(starts) - 1 == len(bodies):
                break
        margins = [(body.ball_radius or 0.0) if body.skin is None else 0.0 for body in bodies]
        self._margins = wp.array(np.array(margins, np.float32), dtype=float, device=self.device)
        self._boxes = wp.zeros(len(bodies), dtype=wp.vec4, device=self.device)

    # ---- frames -------------------------------------------------------------------------------------------------

    def pack(self, heat: str | None = None, span: tuple[float, float] | None = None) -> PackedFrame:
        """What is seen now.

        Args:
            heat: the quantity to show as heat, a name in `pliant.quantities.QUANTITIES`.
            span: what counts as no heat and as the most; if not given, 0 and a round number that at most a twentieth
                of the seen vertices exceeds, which changes seldom.
        """
        values = self._measure(heat) if heat is not None else None
        if heat is not None and values is not None and span is None:
            span = (0.0, self._spans.setdefault(heat, HeatSpan()).follow(self._heat.level(values)))
        self.sim.update_skins()
        if values is not None and span is not None:
            self._find_boxes()
            self._heat.carry(values)
            self._pack(float(span[0]), 65535.0 / max(span[1] - span[0], 1e-30))
        elif self.device == "cpu":
            # without heat every frame is made by the same launches
            if self._plain is None:
                with record() as self._plain:
                    self._find_boxes()
                    self._pack(0.0, 0.0)
            self._plain.replay()
        else:
            self._find_boxes()
            self._pack(0.0, 0.0)
        x, normals = self._x.numpy(), self._normals.numpy()
        if self.device == "cpu":  # the memory of the next frame
            x, normals = x.copy(), normals.copy()
        return PackedFrame(x, normals, self._read_boxes(), span if heat is not None else None)

    def particles(self) -> np.ndarray:
        """The particles of all bodies (p, 4) uint16, in the boxes of the last `pack`; the fourth is 65535 where pinned.

        They are numbered as the user's vertices, body by body: row i of a body is vertex i of the mesh it was made of,
        as in `Simulation.positions`. The tets of `scene_sections` have the same numbers.
        """
        state = self.sim.state
        inputs = [self._user_particles, self._body_of, self._boxes, state.x, self.sim.sleeping.inv_masses()]
        launch(kernels.pack_particles, len(self._particles), inputs, [self._particles], device=self.device)
        found = self._particles.numpy()
        return found.copy() if self.device == "cpu" else found

    def heat_level(self, heat: str) -> float:
        """What the hottest twentieth of the seen vertices exceeds now; for a span that several simulations share."""
        return self._heat.level(self._measure(heat))

    def _measure(self, heat: str) -> wp.array:
        return self.sim.quantities.measure(heat, self.sim.state)

    def _pack(self, low: float, scale: float) -> None:
        """Write what is seen in its boxes, and the heat above its low end, scaled."""
        for source in self._sources:
            fixed = [source.bodies, source.shifts, self._boxes, source.x, source.normals, self._heat.values]
            outputs = [self._x, self._normals]
            launch(kernels.pack_vertices, len(source.x), [*fixed, low, scale], outputs, device=self.device)

    def _find_boxes(self) -> None:
        """Place what is not placed yet, and put a box around each body."""
        x = self.sim.state.x
        if self._own is not None:
            self._own.update(x)
        if self._balls is not None:
            hosts, offsets, corners = self._balls
            launch(kernels.place_balls, len(hosts), [hosts, offsets, x], [corners], device=self.device)
        for starts, slots, points in self._chunks:
            launch(
                kernels.bound_chunks, len(slots), [starts, slots, points], self._corners, device=self.device, grain=64
            )
        corners = self._corners
        for starts, joined in self._levels:
            launch(kernels.join_boxes, len(joined[0]), [starts, *corners], joined, device=self.device, grain=64)
            corners = joined
        launch(kernels.finish_boxes, len(self._boxes), [*corners, self._margins], [self._boxes], device=self.device)

    def _read_boxes(self) -> list[list[float]]:
        return [[*row[:3], row[3], row[3], row[3]] for row in self._boxes.numpy().astype(np.float64).tolist()]


def _identity(body: Body) -> Embedding:
    """The body's own vertices in the user's order."""
    hosts = body.particle_of.astype(np.int32)[:, None]
    return Embedding(hosts, np.ones(hosts.shape), np.zeros(len(hosts)))


def _cut(first: int, end: int) -> np.ndarray:
    """Where the chunks of a run of points, or of boxes, start; at least one."""
    return np.arange(first, max(end, first + 1), CHUNK)
