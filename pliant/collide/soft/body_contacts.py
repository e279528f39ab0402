"""Contacts of bodies with each other and with themselves: found, resolved, and read."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.collide.soft import response_kernels
from pliant.collide.soft.backing import Backed, Colliders
from pliant.collide.soft.backing_kernels import Backing, back_contacts
from pliant.collide.soft.candidate_kernels import Near
from pliant.collide.soft.candidates import Candidates, launch_chunks
from pliant.collide.soft.careful import Careful
from pliant.collide.soft.contact_rows import Contact, Meeting, Rounds, Rows, Sums
from pliant.collide.soft.features import SOLID, THIN, Features
from pliant.collide.soft.look_kernels import look
from pliant.collide.soft.narrow_kernels import Moves, Surfaces
from pliant.collide.soft.outsides import breaks_in_pieces
from pliant.collide.soft.parting import Parting, owners_of_pieces
from pliant.collide.soft.rounds_kernels import BLOCK, BLOCKS, PARTS, finish_contacts, resolve_rounds
from pliant.collide.soft.settings import ContactSettings
from pliant.collide.soft.touch_kernels import touch, touch_marked
from pliant.launch import copy, launch, repeat_once_or_more, thread_count
from pliant.model.model import Model
from pliant.model.state import State

WHOLE = 2**30
"""Sums are taken in multiples of the lightest particle's mass over this [kg m, kg m/s]."""
STRIDE = 1 << 16
"""CUDA threads that walk through all contacts."""
SHARED = 1 << 13
"""The most vertices and edges of solids that are looked at closely by several threads each."""
PAIR_THREADS = 1 << 16
"""The fewest CUDA threads that look at candidates, each at every so many-th."""
GAPS_A_STEP = 4.0
"""How far the fastest may go in a step, over what is kept free around something thin."""
ROUNDS = 6
"""How often there are passes over all contacts at most."""
FAR = 0.25
"""Share of the reach by which a contact may miss what it wants before contacts are found anew."""
XPBD_STEP = 1.0 / 960.0
"""Longest step for solids of XPBD that meet others [s]: contacts act after its solve, and what they push away is back
in the next step. With steps twice as long piles wander apart."""
HEAVIER = 2.0
"""A body is light where another one weighs more than so many times as much."""
REST_SPEED = 0.05
"""Approach slower than this does not bounce [m/s]."""


@dataclasses.dataclass(frozen=True, repr=False)
class BodyContactList:
    """Contacts between bodies, read back to the host; row k describes one.

    Attributes:
        bodies: the two bodies (c, 2); the same twice where one touches itself.
        particles, weights: of the four particles that take part (c, 4); weights of the first body's particles add up
            to 1, those of the second's to -1.
        kind: 'vertex' where a vertex of the first body touches a triangle of the second, 'edge' (c,).
        point: where they touch, in the middle between both surfaces [m] (c, 3).
        normal: from the second body to the first (c, 3).
        depth: how much nearer than is kept free they were, before it was resolved [m] (c,).
        force: on the first body, the opposite of that on the second [N] (c, 3).
    """

    bodies: np.ndarray
    particles: np.ndarray
    weights: np.ndarray
    kind: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    depth: np.ndarray
    force: np.ndarray

    def __len__(self) -> int:
        return len(self.bodies)

    def __repr__(self) -> str:
        pairs = len(np.unique(np.sort(self.bodies, axis=1), axis=0))
        return f"<{type(self).__name__}: {len(self):,} contacts of {pairs:,} pairs of bodies>"


class Sleeper(Protocol):
    """What lets bodies sleep."""

    state: State

    def wake_touched(self) -> None:
        """Wake what is touched, as the rows of contacts tell, before they are resolved."""
        ...


class Follower(Protocol):
    """A method whose particles are not all there is of its bodies: it carries on what contacts do to them."""

    def begin_contacts(self, state: State, contacts: wp.array, light: wp.array) -> None:
        """Write the inverse masses of its particles to `light` [1/kg] (n,); each has so many contacts (n,)."""
        ...

    def follow_contacts(self, state: State, light: wp.array) -> None:
        """Take over what a pass did to x_next and v_next, and write what follows from it."""
        ...


@dataclasses.dataclass(frozen=True)
class Found:
    """What is known of contacts that were found: how many touch each particle, its inverse mass as they see it [1/kg]
    (n,), and the bodies."""

    sums: Sums
    light: wp.array
    surfaces: Surfaces


class Joiner(Protocol):
    """A method in whose equations contacts act: they are found where it begins to lead to, it goes on with them, and
    what is left to do is done in passes as for others."""

    def let_join(self, rows: list[Rows]) -> bool:
        """Whether they do; they will be found in such tables."""
        ...

    def joins(self) -> bool:
        """Whether they do so in the present step."""
        ...

    def begin_joining(self, state: State) -> int:
        """How often contacts are to be found for the equations of a step."""
        ...

    def join_contacts(self, state: State, found: Found, turn: int, dt: float) -> None:
        """Change x_next and v_next of its own particles and of what they touch, by what was found in a turn."""
        ...

    def joined_contacts(self, x: np.ndarray, dt: float) -> BodyContactList:
        """The contacts of the last step and the forces that they had in the equations, for positions x [m] (n, 3)."""
        ...

    def joined_arrays(self) -> list[wp.array]:
        """What a step that is only tried overwrites of that."""
        ...


class BodyContacts:
    """Keeps bodies out of each other.

    Args:
        model: all bodies.
        settings: which of them meet, and how.
        device: where they are.
        apart: methods that keep their bodies off each other themselves.
    """

    def __init__(
        self, model: Model, settings: ContactSettings, device: str, apart: frozenset[str] = frozenset()
    ) -> None:
        self.settings = settings
        self.device = device
        self.is_listed = int(device != "cpu")
        self.model = model
        self.is_thin = thin = any(not body.options.get("is_solid") for body in model.bodies)
        methods = {body.method for body in model.bodies}
        alone = len(model.bodies) == 1 or (len(methods) == 1 and methods <= apart)
        alone = alone and not any(breaks_in_pieces(body) for body in model.bodies)
        self.joiner: Joiner | None = None
        self.active = settings.between == "all" or (settings.between == "bodies" and not alone)
        if not self.active:
            return
        self.features = features = Features.build(model, settings, parting=True)
        if not settings.edges:
            features = dataclasses.replace(
                features, edges=features.edges[:0], edge_body=features.edge_body[:0], out=features.out[:0]
            )
        floats = lambda values: wp.array(np.asarray(values, np.float32), dtype=float, device=device)
        surfaces = Surfaces()
        surfaces.solids = int((features.kind == SOLID).any())
        # what may be a piece of a body is like it; see `Parting`
        owners = owners_of_pieces(model)
        bodies = np.arange(len(model.bodies))
        alike = np.concatenate([bodies, [0], owners]) if len(owners) else bodies
        surfaces.kind = wp.array(features.kind[alike], dtype=int, device=device)
        pairs = [(body.material.friction, body.material.holding) for body in (model.bodies[b] for b in alike)]
        surfaces.friction = wp.array(np.array(pairs, np.float32), dtype=wp.vec2, device=device)
        surfaces.restitution = floats([model.bodies[b].material.restitution for b in alike])
        surfaces.body = wp.array(model.particles.body, dtype=int, device=device)
        surfaces.radius = floats(features.radius)
        surfaces.rest = wp.array(model.particles.rest.astype(np.float32), dtype=wp.vec3, device=device)
        self.surfaces = surfaces
        selfs = np.full(len(model.bodies), settings.between == "all")
        clans = [sorted(apart).index(body.method) if body.method in apart else -1 for body in model.bodies]
        rest, more = model.particles.rest, owners if len(owners) else None
        self.candidates = Candidates(features, rest, selfs, surfaces.radius, device, more, np.array(clans))
        surfaces.entangled, surfaces.search = self.candidates.entangled, self.candidates.turn
        self.out = wp.array(features.out[self.candidates.edges.order], dtype=wp.vec2i, device=device)
        count = model.particles.count
        sums = Sums()
        sums.contacts = wp.zeros(count, dtype=int, device=device)
        sums.particles, sums.parts = count, thread_count() if device == "cpu" else 1
        parts = PARTS if self.is_listed else sums.parts
        sums.push, sums.kick = (wp.zeros((parts * count, 3), dtype=wp.int64, device=device) for _ in range(2))
        mass = model.particles.mass[model.particles.mass > 0.0]
        sums.scale = WHOLE / float(mass.min())
        listed = count if self.is_listed else 1
        sums.touched, sums.touches = (wp.zeros(size, dtype=int, device=device) for size in (listed, 1))
        self.sums = sums
        self.turns = Rounds()
        self.turns.most = settings.rounds or ROUNDS
        self.meeting = Meeting()
        self.meeting.arrived = wp.zeros(1, dtype=int, device=device)
        self.meeting.missed = wp.zeros(2 * self.turns.most, dtype=int, device=device)
        for name in ("deep", "round", "finds", "begins", "going"):
            setattr(self.turns, name, wp.zeros(1, dtype=int, device=device))
        self.turns.missed = wp.zeros(2, dtype=int, device=device)
        self._make_rows(4, 6)
        self.full = wp.zeros(1, dtype=int, device=device)
        self.careful = Careful(self.candidates, surfaces, sums, count, device) if settings.careful and thin else None
        self.ahead = 0.0
        self.sleeping: Sleeper | None = None
        self.followers: list[Follower] = []
        self.light: wp.array | None = None
        self.backed: Backed | None = None
        self.parting = Parting(model, self)

    def let_follow(self, followers: list[Follower]) -> None:
        """Tell methods what is done to their particles in each pass."""
        self.followers = followers
        self.light = wp.zeros(self.model.particles.count, dtype=float, device=self.device) if followers else None

    def let_join(self, joiner: Joiner | None) -> None:
        """Let contacts act in the equations of a method."""
        if joiner is not None and joiner.let_join([self.vertex_rows, self.edge_rows]):
            self.joiner = joiner

    def let_back(self, colliders: Colliders, contacts: Contacts, takes: np.ndarray) -> None:
        """Let colliders stand behind what is pressed against them, where something weighs much more; see `Backed`.

        Bodies of like weight come out as well without it, and it takes more rounds.
        """
        weight = np.bincount(self.model.particles.body, self.model.particles.mass, len(self.model.bodies))
        light = HEAVIER * weight < weight.max(initial=0.0)
        takes = np.where(light[self.model.particles.body], takes, 0)
        if contacts.slots and takes.any():
            margin = self.features.reach
            self.backed = Backed(colliders, contacts, takes, self.surfaces, margin, self.device)

    def _make_rows(self, vertex_room: int, edge_room: int) -> None:
        self.vertex_rows = _rows(self.candidates.near_triangles.things, vertex_room, self.device)
        self.edge_rows = _rows(self.candidates.near_edges.things, edge_room, self.device)
        for rows in (self.vertex_rows, self.edge_rows):
            rows.deep, rows.missed = self.turns.deep, self.turns.missed
        self.let_join(self.joiner)

    def follow_sleep(self, sleeping: Sleeper) -> None:
        """Let bodies sleep, and tell of what touches them."""
        self.sleeping = sleeping
        self.candidates.awake = sleeping.state.awake

    def wanted_step(self) -> float:
        """Longest step [s] in which what is fastest at the start goes a few times as far as is kept free around
        something thin: over longer ways single contacts tell too little; and in which solids of XPBD do not tremble
        where they touch. Infinity where there is neither."""
        if not self.active:
            return math.inf
        solids = [body for body in self.model.bodies if body.options.get("is_solid")]
        longest = XPBD_STEP if any(body.method == "xpbd" for body in solids) else math.inf
        if self.careful is None:
            return longest
        features = self.features
        thin = features.kind[features.vertex_body] == THIN
        gap = 2.0 * float(features.radius[features.vertices[thin]].min())
        fastest = float(np.linalg.norm(self.model.particles.velocity, axis=1).max())
        return min(longest, GAPS_A_STEP * gap / fastest if fastest > 0.0 else math.inf)

    # ---- the step -----------------------------------------------------------------------------------------------

    def begin_frame(self, ahead: float) -> None:
        """Look for candidates anew in a frame's first step; `ahead` is its length [s]."""
        self.ahead = ahead
        if self.active:
            self.parting.begin_frame()
            launch(_begin_frame, 1, [], [self.candidates.stale, self.turns.begins], device=self.device)

    def go_on(self) -> None:
        """Let the next step begin with what contacts did in the last one, though it is the first of a frame: forces
        that are read of it are those of any step, and not of the first one."""
        if self.active:
            self.turns.begins.zero_()

    def resolve(self, state: State, dt: float) -> None:
        """Find the contacts between x and x_next, and change x_next and v_next so that bodies stay apart."""
        if self.careful is not None:
            self.careful.begin(state)
        self.candidates.follow(state.x, state.x_next, state.v, dt, self.ahead)

        def find_and_push() -> None:
            self._find_and_push(state, dt)

        self._join(state, dt)
        if self.backed is not None:
            self.backed.begin(self.candidates.vertex, state, dt)
        launch(response_kernels.begin_rounds, 1, [], [self.turns], device=self.device)
        repeat_once_or_more(self.turns.going, find_and_push, device=self.device)
        if self.backed is not None:
            self.backed.end(self.candidates.vertex, state)

    def resolve_and_read(self, state: State, dt: float) -> list[BodyContactList]:
        """The same, from the host: the contacts, as they were each time that they were found."""
        self.candidates.follow(state.x, state.x_next, state.v, dt, self.ahead)
        self._join(state, dt)
        if self.backed is not None:
            self.backed.begin(self.candidates.vertex, state, dt)
        launch(response_kernels.begin_rounds, 1, [], [self.turns], device=self.device)
        parts = self._joined(state, dt)
        while self.turns.going.numpy()[0]:
            self._find_and_push(state, dt)
            if self.turns.finds.numpy()[0] or not self.turns.going.numpy()[0]:
                parts.append(self._listed(state, dt))
        if self.backed is not None:
            self.backed.end(self.candidates.vertex, state)
        return parts

    def _join(self, state: State, dt: float) -> None:
        """Let contacts act in the equations of a method that lets them, before anything else is done."""
        if self.joiner is None or not self.joiner.joins():
            return
        inputs, outputs = [self.candidates.vertex], [self.sums, self.vertex_rows, self.edge_rows]
        light = state.inv_mass
        for turn in range(self.joiner.begin_joining(state)):
            launch(response_kernels.begin_rounds, 1, [], [self.turns], device=self.device)
            moves = self._moves(state, dt)
            self._find(moves)
            if self.is_listed:
                self._finish_listed(moves, min(4 * self._things(), STRIDE))
            light = self._lighten(state)
            self.joiner.join_contacts(state, Found(self.sums, light, self.surfaces), turn, dt)
            launch(response_kernels.forget_contacts, len(self.candidates.vertex), inputs, outputs, device=self.device)
        for follower in self.followers:
            follower.follow_contacts(state, light)

    def _lighten(self, state: State) -> wp.array:
        """Inverse masses of particles as contacts see them [1/kg] (n,)."""
        if self.light is None:
            return state.inv_mass
        copy(self.light, state.inv_mass)
        for follower in self.followers:
            follower.begin_contacts(state, self.sums.contacts, self.light)
        return self.light

    def _find_and_push(self, state: State, dt: float) -> None:
        """A round: which candidates touch, and what that does to x_next and v_next. In one launch on CUDA, with all
        rounds that go on with these contacts, unless there is something else to do between passes."""
        moves = self._moves(state, dt)
        self._find(moves)
        if self.sleeping is not None:
            self.sleeping.wake_touched()
        if self.is_listed and not self.followers and self.backed is None:
            self._push_at_once(state, moves)
        else:
            self._push_apart(state, moves)

    def _find(self, moves: Moves) -> None:
        """Which candidates touch; on CUDA it is left to others to finish what was found."""
        if not self.is_listed:
            launch(response_kernels.begin_round, 1, [], [self.turns], device=self.device)
            inputs, outputs = [self.near(), self.surfaces, moves, self.turns], [self.vertex_rows, self.edge_rows]
            launch_chunks(touch, self._things(), inputs, [*outputs, self.sums, self.full], self.device)
        else:
            self._touch_marked(moves)

    def _finish_listed(self, moves: Moves, threads: int) -> None:
        """Finish contacts that were found on CUDA."""
        inputs = [threads, self.surfaces, moves, self.turns]
        outputs = [self.vertex_rows, self.edge_rows, self.sums, self._hots()]
        launch(finish_contacts, threads, inputs, outputs, device=self.device, block_dim=64)

    def _touch_marked(self, moves: Moves) -> None:
        """The contacts as they were found, on CUDA."""
        near, pairs, rows = self.near(), self.candidates.pairs, [self.vertex_rows, self.edge_rows]
        assert pairs is not None
        threads = max(self._things(), PAIR_THREADS)
        outputs = [*rows, self.turns, self.meeting, self.sums.touches]
        launch(look, threads, [threads, pairs.room, near, self.surfaces, moves], outputs, device=self.device)
        # what is thin has many candidates to look at, and waits for the slowest
        most = self._things() if self.is_thin else SHARED
        inputs = [STRIDE, most, near, self.surfaces, moves, self.turns]
        launch(touch_marked, STRIDE, inputs, [*rows, self.full], device=self.device, block_dim=64)

    def _push_at_once(self, state: State, moves: Moves) -> None:
        """Change x_next and v_next by what the contacts do, in one launch."""
        blocks = BLOCKS * wp.get_device(self.device).sm_count
        inputs = [blocks, self.settings.iterations, FAR * self.features.reach, state.inv_mass, self.surfaces, moves]
        outputs = [self.vertex_rows, self.edge_rows, self.turns, self.sums, self.meeting, self._hots()]
        outputs += [state.x_next, state.v_next]
        launch(resolve_rounds, blocks * BLOCK, inputs, outputs, device=self.device, block_dim=BLOCK)

    def _hots(self) -> wp.array:
        assert self.candidates.pairs is not None
        return self.candidates.pairs.marks.hots

    def _push_apart(self, state: State, moves: Moves) -> None:
        """The same, pass by pass."""
        rows = [self.vertex_rows, self.edge_rows]
        # on CUDA four for each contact
        threads = min(4 * self._things(), STRIDE) if self.is_listed else self.sums.parts
        if self.is_listed:
            self._finish_listed(moves, threads)
        passes = self.settings.iterations
        light = self._lighten(state)
        backing = Backing() if self.backed is None else self.backed.data
        if self.backed is not None:
            inputs = [threads, self.is_listed, state.inv_mass, state.x_next, backing, self.turns]
            launch(back_contacts, threads, inputs, [self.sums, *rows], device=self.device, block_dim=64, grain=1)
        here, there = [threads, self.is_listed], [light, state.x, state.x_next, state.v_next]
        vertex, far = self.candidates.vertex, FAR * self.features.reach
        for k in range(passes + 1):
            last = int(k == passes)
            if k > 0:
                inputs, outputs = [*here, last, far, *there], [*rows, self.sums]
                kernel = response_kernels.push_contacts
                launch(kernel, threads, inputs, outputs, device=self.device, block_dim=64, grain=1)
            # the first time by what contacts begin with
            inputs, outputs = [vertex, light, last], [self.sums, *rows, self.turns, backing, state.x_next, state.v_next]
            launch(response_kernels.move_particles, len(vertex), inputs, outputs, device=self.device)
            for follower in self.followers:
                follower.follow_contacts(state, light)

    def finish(self, state: State, dt: float) -> None:
        """Stop what would pass through something thin after all, when everything else is done."""
        if self.careful is not None:
            self.careful.end(state, self.near())

    def _moves(self, state: State, dt: float) -> Moves:
        """The step, as kernels see it."""
        moves = Moves()
        moves.x, moves.x_next, moves.v_next = state.x, state.x_next, state.v_next
        moves.gain = self.features.push_speed * dt
        moves.watched = self.features.reach
        moves.rest_speed = REST_SPEED
        moves.slides = int(self.joiner is not None)
        moves.goes_on = self.turns.finds
        return moves

    def near(self) -> Near:
        """The candidates, as kernels see them."""
        found = self.candidates
        near = Near()
        near.vertex, near.triangles, near.edges = found.vertex, found.triangles.data, found.edges.data
        near.deep, near.out = found.deep, self.out
        table = found.near_triangles
        near.triangle, near.triangle_count, near.triangle_room = table.found, table.count, table.room
        table = found.near_edges
        near.edge, near.edge_count, near.edge_room = table.found, table.count, table.room
        if found.pairs is not None:
            near.pair, near.pairs, near.marks = found.pairs.found, found.pairs.count, found.pairs.marks
        return near

    def _things(self) -> int:
        """How many vertices and edges may have contacts."""
        return self.vertex_rows.things + self.edge_rows.things

    # ---- between frames -----------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, wp.array]:
        """What a checkpoint must hold of them."""
        return self.candidates.arrays() if self.active else {}

    def grow(self) -> bool:
        """Make room where tables were too small in the last frame; whether some were, and the frame is to be redone."""
        if not self.active:
            return False
        grown = self.candidates.grow()
        if self.full.numpy()[0]:
            self.full.zero_()
            self._make_rows(2 * self.vertex_rows.room, 2 * self.edge_rows.room)
            grown = True
        return grown

    def read(self, state: State, dt: float) -> BodyContactList:
        """The contacts of the last step."""
        joined = self._joined(state, dt)
        return merged_lists([*joined, self._listed(state, dt)]) if joined else self._listed(state, dt)

    def _joined(self, state: State, dt: float) -> list[BodyContactList]:
        """The contacts of the last step that acted in equations, if some can."""
        return [] if self.joiner is None else [self.joiner.joined_contacts(state.x.numpy().astype(np.float64), dt)]

    def _listed(self, state: State, dt: float) -> BodyContactList:
        """The contacts as the passes over them left them."""
        parts = []
        x = state.x.numpy().astype(np.float64)
        for rows, kind in ((self.vertex_rows, "vertex"), (self.edge_rows, "edge")) if self.active else ():
            count = rows.count.numpy()
            used = np.flatnonzero((np.arange(rows.room) < count[:, None]).reshape(-1))
            found = rows.contact.numpy()[used]
            ids, weights = found["ids"], found["weights"].astype(np.float64)
            normal = found["normal"].astype(np.float64)
            force = (found["impulse"][:, None] * normal + found["rub"]) / dt
            point = 0.5 * np.einsum("ck,ckd->cd", np.abs(weights), x[ids])
            body = self.model.particles.body[ids[:, [0, 3]]]
            parts.append((body, ids, weights, np.full(len(ids), kind), point, normal, found["depth"], force))
        if not parts:
            none, four = np.zeros((0, 3)), np.zeros((0, 4))
            two, words = np.zeros((0, 2), np.int32), np.zeros(0, "<U6")
            return BodyContactList(two, four.astype(np.int32), four, words, none, none, none[:, 0], none)
        return BodyContactList(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def joined_lists(parts: Sequence[BodyContactList]) -> BodyContactList:
    """Several lists as one."""
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in dataclasses.fields(BodyContactList)]
    return BodyContactList(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def merged_lists(parts: Sequence[BodyContactList]) -> BodyContactList:
    """Several lists as one, in which contacts of the same particles are one with the sum of their forces."""
    every = joined_lists(parts)
    keys = np.column_stack([every.particles, every.kind == "edge"])
    _, first, row = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    force = np.zeros((len(first), 3))
    np.add.at(force, row.reshape(-1), every.force)
    names = [field.name for field in dataclasses.fields(BodyContactList)]
    return BodyContactList(**{name: getattr(every, name)[first] for name in names if name != "force"}, force=force)


@wp.kernel
def _begin_frame(stale_out: wp.array(dtype=int), begins_out: wp.array(dtype=int)):
    stale_out[0] = 1
    begins_out[0] = 1


def _rows(things: int, room: int, device: str) -> Rows:
    """Room for contacts of so many vertices or edges."""
    size = max(things * room, 1)
    rows = Rows()
    rows.room, rows.things = room, things
    rows.count = wp.zeros(max(things, 1), dtype=int, device=device)
    rows.before = rows.count if device == "cpu" else wp.zeros(max(things, 1), dtype=int, device=device)
    rows.active = wp.zeros(size if device != "cpu" else 1, dtype=int, device=device)
    rows.actives = wp.zeros(1, dtype=int, device=device)
    rows.contact = wp.zeros(size, dtype=Contact, device=device)
    return rows
