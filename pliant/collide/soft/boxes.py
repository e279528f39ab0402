"""Particles of one body against the boxes around others (Sharma 2013, section 4.2), for comparison.

Every particle is a small sphere, and meets the axis-aligned box around every other body: sphere against box after
Ericson (2005). An octree tells which bodies are near each other. It asks for no triangles.

Where the source slips, and what was made of it:

- A body fills its box only if it is one. Bodies are held apart where they do not touch yet, at corners of boxes that do
  not turn with them: along a diagonal a ball meets the box of another up to 37 % too far away. This is the method, and
  was kept.
- The response is not given ("when applied with correct parameters it does work quite well"). The nearest point of the
  box has no direction for a particle inside it, so each pair of bodies has one: the axis along which their boxes were
  furthest apart before the step, or leave each other by the shortest way. In the middle between the two boxes is a
  plane, and each body's particles are put back to their own side of it.
- The source moves particles and does not say what the other body gets. Here it gets the opposite push, all of it alike,
  so momentum is kept. Angular momentum is not: the box does not turn, and to push the body where its box was touched
  made stacks of three topple, since the body need not be there. A body that is pinned somewhere does not move as a
  whole.
- A body does not meet itself: its particles are all inside its own box. The source tried boxes of clusters and gave up.
- Nothing is looked for between the places before and after a step. A body that moves further than the other is thick
  passes through.
- The octree gained nothing where all bodies start at one place; see `octree`.
"""

from __future__ import annotations

import itertools

import numpy as np
import warp as wp

from pliant.collide.soft import box_kernels as kernels
from pliant.collide.soft.body_contacts import REST_SPEED, WHOLE, BodyContactList
from pliant.collide.soft.candidates import Table
from pliant.collide.soft.features import Features
from pliant.collide.soft.octree import Octree
from pliant.collide.soft.settings import ContactSettings
from pliant.errors import InputError
from pliant.launch import launch
from pliant.model.model import Model
from pliant.model.state import State

RUN = 128
"""Particles of a body that one thread adds up."""
STRIDE = 1 << 16
"""The most CUDA threads that walk through all contacts."""


class BoxSearch:
    """Which particles touch the boxes of which other bodies.

    Args:
        particle: the particles that take part (n,), sorted by their body. body: their bodies (n,).
        bodies: number of bodies.
        radius: of all particles [m], on the device. mass: of all particles [kg].
        device: where they are.

    Attributes:
        octree: the boxes, in `octree.data.low` and `.high`.
        near: bodies whose boxes each particle touches, particles in the order given.
    """

    def __init__(
        self, particle: np.ndarray, body: np.ndarray, bodies: int, radius: wp.array, mass: np.ndarray, device: str
    ):
        self.device, self.bodies, self.count = device, bodies, len(particle)
        starts = np.searchsorted(body, np.arange(bodies + 1))
        runs = [np.arange(a, b, RUN) for a, b in itertools.pairwise(starts.tolist())]
        ints = lambda values: wp.array(np.ascontiguousarray(values, np.int32), dtype=int, device=device)
        crowd = kernels.Crowd()
        crowd.particle, crowd.body, crowd.radius = ints(particle), ints(body), radius
        crowd.mass = wp.array(mass.astype(np.float32), dtype=float, device=device)
        crowd.run_first = ints(np.append(np.concatenate(runs), self.count))
        crowd.body_run = ints(np.cumsum([0, *map(len, runs)]))
        self.crowd = crowd
        self.runs = len(crowd.run_first) - 1
        self._run_boxes = [wp.zeros(max(self.runs, 1), dtype=wp.vec3, device=device) for _ in range(2)]
        self.octree = Octree(bodies, device)
        self.near = Table(self.count, 2, device)
        self.full = wp.zeros(1, dtype=int, device=device)

    def box(self, x: wp.array, low: wp.array, high: wp.array) -> None:
        """Write the box around each body at positions x."""
        there = [self.crowd, x]
        launch(kernels.box_runs, self.runs, there, self._run_boxes, device=self.device, grain=64)
        inputs = [self.crowd, *self._run_boxes]
        launch(kernels.box_bodies, self.bodies, inputs, [low, high], device=self.device, grain=1024)

    def search(self, x: wp.array) -> None:
        """Find what touches at positions x."""
        self.box(x, self.octree.data.low, self.octree.data.high)
        self.octree.search()
        self.touch(x)

    def touch(self, x: wp.array) -> None:
        """Compare each particle with the boxes that touch that of its body."""
        data, partners = self.octree.data, self.octree.near
        launch(
            kernels.find_touched,
            self.count,
            [self.crowd, x, data.low, data.high, partners.found, partners.count, partners.room, self.near.room],
            [self.near.found, self.near.count, self.full],
            device=self.device,
            grain=2048,
        )

    def grow(self) -> bool:
        """Make room where there was too little; whether there was."""
        grown = self.octree.grow()
        if self.full.numpy()[0]:
            self.full.zero_()
            grown = self.near.grow() or grown
        return grown

    def pairs(self) -> np.ndarray:
        """Numbers of particle and touched body (k, 2), sorted."""
        pairs = self.near.pairs()
        pairs[:, 0] = self.crowd.particle.numpy()[pairs[:, 0]]
        return np.unique(pairs, axis=0)


class BoxContacts:
    """Keeps bodies out of each other's boxes; used as `BodyContacts` is.

    Args:
        model: all bodies.
        settings: which of them meet, and how; `edges`, `reach` and `careful` have no meaning here.
        device: where they are.
    """

    def __init__(self, model: Model, settings: ContactSettings, device: str):
        if settings.between == "all":
            raise InputError(
                "bodies do not meet themselves by their boxes",
                "contact.between",
                "Use between = 'bodies', or method = 'features'",
            )
        self.settings, self.device, self.model = settings, device, model
        self.active = settings.between == "bodies" and len(model.bodies) > 1
        if not self.active:
            return
        self.features = features = Features.build(model, settings)
        mass = model.particles.mass
        taking_part = np.flatnonzero(mass > 0.0)
        order = taking_part[np.argsort(model.particles.body[taking_part], kind="stable")]
        floats = lambda values: wp.array(np.asarray(values, np.float32), dtype=float, device=device)
        count, self.particle = len(model.bodies), order
        body = model.particles.body[order]
        self.search = BoxSearch(order, body, count, floats(features.radius), mass, device)
        self.friction = floats([body.material.friction for body in model.bodies])
        self.restitution = floats([body.material.restitution for body in model.bodies])
        vectors = lambda size: wp.zeros(size, dtype=wp.vec3, device=device)
        self._before = [vectors(count), vectors(count)]
        runs = self.search.runs
        self._weights = [wp.zeros(runs, dtype=kind, device=device) for kind in (wp.float64, wp.vec3d, wp.int32)]
        bodies = kernels.Whole()
        bodies.lightness = wp.zeros(count, dtype=float, device=device)
        for name in ("v", "shift", "d_shift", "d_v"):
            setattr(bodies, name, vectors(count))
        bodies.contacts = wp.zeros(count, dtype=int, device=device)
        bodies.sums = wp.zeros((count, 6), dtype=wp.int64, device=device)
        bodies.scale = WHOLE / float(mass[taking_part].min())
        self.whole = bodies
        self._make_rows()

    def _make_rows(self) -> None:
        things, room, device = self.search.count, self.search.near.room, self.device
        rows = kernels.BoxRows()
        rows.things, rows.room = things, room
        rows.count = wp.zeros(things, dtype=int, device=device)
        rows.other = wp.zeros(things * room, dtype=int, device=device)
        for name in ("normal", "carried", "grip", "rub"):
            setattr(rows, name, wp.zeros(things * room, dtype=wp.vec3, device=device))
        for name in ("target", "depth", "friction", "bounce", "push", "impulse"):
            setattr(rows, name, wp.zeros(things * room, dtype=float, device=device))
        rows.own_push, rows.own_kick = (wp.zeros(things, dtype=wp.vec3, device=device) for _ in range(2))
        self.rows = rows

    # ---- the step -----------------------------------------------------------------------------------------------

    def begin_frame(self, ahead: float) -> None:
        """Nothing is kept from step to step."""

    def resolve(self, state: State, dt: float) -> None:
        """Find the contacts after the step, and change x_next and v_next so that bodies stay apart."""
        self.search.box(state.x, *self._before)
        for _ in range(self.settings.rounds or 1):
            self.search.search(state.x_next)
            self._weigh(state)
            self._touch(state, dt)
            self._push_apart(state)

    def _weigh(self, state: State) -> None:
        """The bodies as wholes."""
        crowd, device = self.search.crowd, self.device
        inputs = [crowd, state.inv_mass, state.v_next]
        launch(kernels.weigh_runs, self.search.runs, inputs, self._weights, device=device, grain=64)
        inputs = [crowd, *self._weights]
        launch(kernels.weigh_bodies, self.search.bodies, inputs, [self.whole], device=device, grain=1024)

    def _touch(self, state: State, dt: float) -> None:
        """The contacts of all particles."""
        data, near = self.search.octree.data, self.search.near
        launch(
            kernels.write_rows,
            self.search.count,
            [self.search.crowd, near.found, self.friction, self.restitution, *self._before, data.low, data.high]
            + [state.x, state.x_next, state.v_next, self.whole, self.features.push_speed * dt, REST_SPEED, dt]
            + [near.count],
            [self.rows],
            device=self.device,
            grain=2048,
        )

    def _push_apart(self, state: State) -> None:
        """Change x_next and v_next by what the contacts do."""
        count, crowd, rows = self.search.count, self.search.crowd, self.rows
        threads = 1 if self.device == "cpu" else min(count, STRIDE)
        launch(kernels.count_rows, threads, [threads, rows], [self.whole], device=self.device)
        here = [state.x, state.x_next, state.v_next]
        for _ in range(self.settings.iterations):
            inputs = [threads, crowd, state.inv_mass, *here]
            launch(kernels.push_rows, threads, inputs, [rows, self.whole], device=self.device)
            launch(kernels.settle_bodies, self.search.bodies, [], [self.whole], device=self.device)
            inputs = [crowd, state.inv_mass, rows, self.whole]
            launch(kernels.move_particles, count, inputs, [state.x_next, state.v_next], device=self.device)

    def finish(self, state: State, dt: float) -> None:
        """Nothing is left to do."""

    # ---- between frames -----------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, wp.array]:
        """Nothing that a checkpoint must hold."""
        return {}

    def grow(self) -> bool:
        """Make room where tables were too small in the last frame; whether some were, and the frame is to be redone."""
        if not self.active or not self.search.grow():
            return False
        self._make_rows()
        return True

    def read(self, state: State, dt: float) -> BodyContactList:
        """The contacts of the last step, of the kind 'box'.

        The first particle is the one that met the box. The other body is pushed as a whole; its particle that is
        nearest stands for it.
        """
        x = state.x.numpy().astype(np.float64)
        count = self.rows.count.numpy() if self.active else np.zeros(0, np.int32)
        room = self.rows.room if self.active else 1
        used = np.arange(room) < count[:, None]
        first = self.particle[np.nonzero(used)[0]] if self.active else np.zeros(0, np.int64)
        taken = lambda name, shape: (
            getattr(self.rows, name).numpy()[used.reshape(-1)].astype(np.float64) if self.active else np.zeros(shape)
        )
        other, normal = taken("other", 0).astype(np.int64), taken("normal", (0, 3))
        second = np.zeros(len(first), np.int64)
        for b in np.unique(other):
            rows, own = np.flatnonzero(other == b), np.arange(*self.model.bodies[b].own_particles)
            for row in rows:
                second[row] = own[np.argmin(((x[own] - x[first[row]]) ** 2).sum(axis=1))]
        bodies = np.stack([self.model.particles.body[first], other], axis=1).astype(np.int32)
        ids = np.stack([first, second, second, second], axis=1).astype(np.int32)
        weights = np.tile([1.0, 0.0, 0.0, -1.0], (len(first), 1))
        radius = self.features.radius[first] if self.active else np.zeros(0)
        force = (taken("impulse", 0)[:, None] * normal + taken("rub", (0, 3))) / dt
        point = x[first] - radius[:, None] * normal
        return BodyContactList(
            bodies, ids, weights, np.full(len(first), "box"), point, normal, taken("depth", 0), force
        )
