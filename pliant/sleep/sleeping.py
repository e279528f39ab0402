"""Bodies that sleep: which ones, on the device, and the launches that let them fall asleep and wake."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.attachments import Attachments
from pliant.collide.contacts import Contacts
from pliant.collide.soft.body_contacts import BodyContacts
from pliant.collide.soft.methods import ContactMethod
from pliant.errors import InputError
from pliant.launch import launch, repeat_while
from pliant.model.model import Model
from pliant.model.state import State
from pliant.pins import Pins
from pliant.sleep import rest_kernels, wake_kernels
from pliant.sleep.settings import SleepSettings

CHUNK = 64
"""Particles of a part of a body, neighbours in space, that a thread looks at."""
BRIEF = 0.05
"""A body that was at rest for longer does not wake what it touches by being awake alone [s]."""
STRIDE = 1 << 14
"""The most CUDA threads that walk through all contacts."""


class Sleeping:
    """Which bodies of a simulation sleep.

    A sleeping body has `state.awake` of zero, and all of its particles are held (`state.inv_mass` of zero) and have no
    velocity: methods, contacts and attachments take it for something that does not move. At the end of each frame it is
    found which bodies have been at rest for the time, with all that they touch or are attached to; in each substep,
    what touches a sleeping body is looked at, and it wakes before it is pushed.

    Args:
        model, state: what may sleep.
        settings: when.
        contacts: with colliders. between: what keeps bodies apart. attachments: between bodies.
        device: where they are.

    Attributes:
        calm: how long each body has been at rest [s] (b,).
        any: 1 while a body is awake.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        settings: SleepSettings,
        contacts: Contacts,
        between: ContactMethod,
        attachments: Attachments,
        device: str,
    ):
        self.settings = settings
        self.active = settings.active
        self.device = device
        self.state = state
        self.bodies = len(model.bodies)
        self.any = wp.ones(1, dtype=int, device=device)
        if not self.active:
            return
        if between.active and not isinstance(between, BodyContacts):
            raise InputError(
                f"bodies that meet by the method '{between.settings.method}' cannot sleep",
                "scene.sleep",
                "Use the contact method 'features', or leave 'sleep' out",
            )
        self.time = float(settings.time or 0.0)
        self.most = settings.speed * self.time
        self.brief = min(BRIEF, 0.5 * self.time)
        self.contacts, self.attachments = contacts, attachments
        self.between: BodyContacts | None = between if between.active else None  # type: ignore[assignment]
        ints = lambda count: wp.zeros(max(count, 1), dtype=int, device=device)
        floats = lambda count: wp.zeros(max(count, 1), dtype=float, device=device)
        given = lambda values, dtype: wp.array(np.ascontiguousarray(values, np.int32), dtype=dtype, device=device)
        self._cut_into_chunks(model, given)
        self.body = given(model.particles.body, int)
        self.calm, self.half, self.island = (floats(self.bodies) for _ in range(3))
        self.touched, self.woken, self.fallen, self.anew = (ints(self.bodies) for _ in range(4))
        self.stirred, self.filling = (ints(self.bodies) for _ in range(2))
        self.moving, self.leans = ints(contacts.slots), ints(self.bodies * contacts.slots)
        self.stray = floats(self.chunks)
        self.anchor = wp.clone(state.x)
        self.kept, self._own = (wp.clone(state.inv_mass) for _ in range(2))
        self.changed, self.going, self._stale = (ints(1) for _ in range(3))
        self._rates: list[wp.array] = []
        self._gases: list[tuple[wp.array, wp.array]] = []
        self._told: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
        if self.between is not None:
            self.between.follow_sleep(self)
            self._stale = self.between.candidates.stale

    def _cut_into_chunks(self, model: Model, given: Any) -> None:
        """Runs of particles of one body each, which a thread looks at."""
        rows = [
            (b, first, min(first + CHUNK, body.particles[1]))
            for b, body in enumerate(model.bodies)
            for first in range(*body.particles, CHUNK)
        ]
        self.chunks = len(rows)
        self.chunk = given(rows, wp.vec3i)
        counts = [-(-(body.particles[1] - body.particles[0]) // CHUNK) for body in model.bodies]
        self.body_chunks = given([0, *itertools.accumulate(counts)], int)

    def follow(self, solvers: Sequence[Any], forces: Sequence[Any], model: Model) -> None:
        """Learn what methods remember of velocities, and which bodies are filled with a gas that may change."""
        if not self.active:
            return
        self._rates = [rate for solver in solvers for rate in getattr(solver, "rates", list)()]
        names = [body.name for body in model.bodies]
        for force in forces:
            if hasattr(force, "gas"):
                rows = np.array([names.index(name) for name in force.names], np.int32)
                self._gases.append((wp.array(rows, dtype=int, device=self.device), force.gas))

    # ---- within a frame -----------------------------------------------------------------------------------------

    def _each_body(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, self.bodies, inputs, outputs, device=self.device)

    def _each_chunk(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, self.chunks, [self.chunk, *inputs], outputs, device=self.device, grain=256)

    def _strided(self, kernel: object, things: int, inputs: list, outputs: list) -> None:
        """Launch a kernel that walks through many things: one thread on the CPU, many on CUDA."""
        threads = 1 if self.device == "cpu" else max(1, min(things, STRIDE))
        launch(kernel, threads, [threads, *inputs], outputs, device=self.device, block_dim=64)

    def _wake(self) -> None:
        """Wake what was marked."""
        state = self.state
        outputs = [self.touched, state.awake, self.calm, self.woken, self.any, self._stale]
        self._each_body(wake_kernels.wake_bodies, [], outputs)
        self._each_chunk(wake_kernels.wake_particles, [self.woken, self.kept, state.x], [state.inv_mass, self.anchor])

    def begin_frame(self) -> None:
        """Wake what something is done to in this frame, before its first substep."""
        if not self.active:
            return
        for bodies, gas in self._gases:
            launch(wake_kernels.mark_filled, len(bodies), [bodies, gas], [self.filling], device=self.device)
        around = [self.stirred, self.filling, self.moving, self.contacts.slots, self.leans]
        self._each_body(wake_kernels.mark_stirred, [*around, self.state.awake], [self.touched])
        self._wake()

    def stop_pins(self, pins: Pins) -> None:
        """Hold the pins of what sleeps."""
        if self.active and pins.count:
            inputs = [pins.particle, self.body, self.state.awake]
            launch(wake_kernels.stop_pins, pins.count, inputs, [self.state.v], device=self.device)

    def begin_step(self) -> None:
        """Wake what is attached to something that moves."""
        if self.active and self.attachments.count:
            ties = [*self.attachments.tables(), self.body, self.state.awake, self.calm, self.brief]
            launch(wake_kernels.mark_tied, self.attachments.count, ties, [self.touched], device=self.device)
            self._wake()

    def wake_touched(self) -> None:
        """Wake what an awake body touches, once contacts are found and before they are resolved."""
        between = self.between
        assert between is not None
        rows = [between.vertex_rows, between.edge_rows]
        bodies = [self.body, between.surfaces.radius, self.state.v, self.state.awake, self.calm]
        things = max(row.things for row in rows)
        inputs = [*rows, *bodies, self.brief]
        self._strided(wake_kernels.mark_touched, things, inputs, [self.touched])
        self._wake()

    def wake_hit(self) -> None:
        """Wake what a moving collider reaches, once that is detected."""
        if self.active:
            inputs = [self.moving, self.contacts.slots, self.contacts.depth, self.state.awake]
            self._each_chunk(wake_kernels.mark_hit, inputs, [self.touched])
            self._wake()

    def end_frame(self, duration: float) -> None:
        """Let fall asleep what has been at rest for the time, after a frame of so long [s]."""
        if not self.active:
            return
        state, slots = self.state, self.contacts.slots
        self._each_chunk(
            rest_kernels.measure,
            [slots, self.contacts.depth, state.awake, state.x, self.anchor],
            [self.leans, self.stray],
        )
        found = [self.body_chunks, slots, self.stirred, self.filling, state.awake, self.stray]
        self._each_body(
            rest_kernels.count_calm,
            [*found, self.most, self.time, duration],
            [self.calm, self.half, self.leans, self.anew, self.island],
        )
        self._each_chunk(rest_kernels.drop_anchors, [self.anew, state.x], [self.anchor])
        self._find_islands()
        # a time that is a whole number of frames is reached in spite of rounding
        enough = self.time - 0.01 * duration
        self._each_body(rest_kernels.fall_asleep, [self.island, enough], [state.awake, self.fallen])
        moving = [state.v, state.x_next, state.v_next, state.inv_mass, self.kept]
        self._each_chunk(rest_kernels.settle, [self.fallen, state.x], moving)
        for rate in self._rates:
            self._each_chunk(rest_kernels.forget_rate, [self.fallen], [rate])
        launch(rest_kernels.count_awake, 1, [self.bodies, state.awake], [self.any], device=self.device)

    def _find_islands(self) -> None:
        """Share the times of rest over all that touches or is attached, until nothing changes."""
        between, ties = self.between, self.attachments
        if between is None and not ties.count:
            return

        def share() -> None:
            outputs = [self.island, self.changed]
            if between is not None:
                rows = [between.vertex_rows, between.edge_rows]
                inputs = [*rows, self.body, self.state.awake]
                self._strided(rest_kernels.share_touching, max(row.things for row in rows), inputs, outputs)
            if ties.count:
                inputs = [ties.count, *ties.tables(), self.body, self.state.awake]
                self._strided(rest_kernels.share_tied, ties.count, inputs, outputs)
            launch(rest_kernels.end_round, 1, [], [self.changed, self.going], device=self.device)

        launch(rest_kernels.begin_islands, 1, [], [self.changed, self.going], device=self.device)
        repeat_while(self.going, share, device=self.device)

    # ---- between frames -----------------------------------------------------------------------------------------

    def tell(self, stirred: Collection[int], moving: Collection[int]) -> None:
        """Say which bodies something is done to in the next frame, and which colliders move in it, by number."""
        told = frozenset(stirred), frozenset(moving)
        if not self.active or told == self._told:
            return
        self._told = told
        for array, numbers in ((self.stirred, stirred), (self.moving, moving)):
            values = np.zeros(len(array), np.int32)
            values[list(numbers)] = 1
            array.assign(values)

    def wake(self, bodies: Collection[int] | None = None) -> None:
        """Wake bodies, or all, at once; they must come to rest anew."""
        if not self.active:
            return
        marks = np.zeros(self.bodies, np.int32)
        marks[slice(None) if bodies is None else list(bodies)] = 1
        self.touched.assign(marks)
        calm = self.calm.numpy()
        calm[marks != 0] = 0.0
        self.calm.assign(calm)
        self._wake()

    def rouse(self) -> None:
        """Wake all for a step that is undone: whoever undoes it puts `arrays` back."""
        if self.active:
            self.touched.fill_(1)
            self._wake()

    def asleep(self) -> np.ndarray:
        """Which bodies sleep (b,) bool; reads back from the device."""
        return self.state.awake.numpy() == 0 if self.active else np.zeros(self.bodies, bool)

    def inv_masses(self) -> wp.array:
        """Inverse masses as if nothing slept [1/kg]: zero where a particle is pinned or set aside."""
        if not self.active:
            return self.state.inv_mass
        inputs = [self.state.awake, self.state.inv_mass, self.kept]
        self._each_chunk(rest_kernels.own_masses, inputs, [self._own])
        return self._own

    def restored(self) -> None:
        """Follow `arrays`, which were set from outside."""
        if self.active:
            self.any.assign(np.array([int((self.state.awake.numpy() != 0).any())], np.int32))
            if self.between is not None:
                self._stale.fill_(1)

    def arrays(self) -> dict[str, wp.array]:
        """What a checkpoint must hold, by name."""
        if not self.active:
            return {}
        names = ("calm", "half", "anchor", "kept", "leans", "any")
        return {"awake": self.state.awake} | {name: getattr(self, name) for name in names}
