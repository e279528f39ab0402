"""The layered method: a rigid core under a soft layer, after dynamic deformation textures."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.collide.soft.body_contacts import BodyContactList
from pliant.launch import copy, launch
from pliant.mesh.layered import LayeredMesh
from pliant.model.model import Body, Elements, Model
from pliant.model.state import State
from pliant.physics.rigid import mat66d, vec6d
from pliant.solvers.layered import core_kernels, hold_kernels, load_kernels, plastic_kernels
from pliant.solvers.layered.constants import StepConstants
from pliant.solvers.layered.fit import fitted_core
from pliant.solvers.layered.following import Following
from pliant.solvers.layered.hierarchy import Pattern
from pliant.solvers.layered.levels import Columns, hierarchy
from pliant.solvers.layered.pairs import MOST_BODIES, Pairs
from pliant.solvers.layered.plastic_kernels import Yielding
from pliant.solvers.layered.response import Response, read_pairs
from pliant.solvers.layered.rest import LayerRest, layered_elements
from pliant.solvers.layered.settings import LayeredSettings
from pliant.solvers.layered.sums import Sums
from pliant.solvers.layered.tables import CARRIED, layer_tables, new_carry, new_holds, new_moment, yielding_tables
from pliant.solvers.protocol import BodySpec, World

GRAIN = 2048
"""Nodes worth a CPU thread."""
SUM_COLUMNS = 90
"""The most numbers that are added up over the nodes at once."""


@dataclasses.dataclass(frozen=True)
class Cores:
    """Where the cores are, read back from the device.

    Attributes:
        position: of their centres of mass [m] (b, 3). rotation: since they were built (b, 3, 3).
        velocity: [m/s], angular_velocity: [rad/s] (b, 3), both in the world.
    """

    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray


class Layered:
    """Moves the nodes and the cores of the layered bodies of a model."""

    name: ClassVar[str] = "layered"
    # its nodes do not carry all of its mass
    takes_from_colliders: ClassVar[int] = 0
    Settings: ClassVar[type] = LayeredSettings
    shares_rest: ClassVar[bool] = False
    takes: ClassVar[tuple[type, ...]] = (LayeredMesh,)
    fewest_substeps: ClassVar[int] = 1
    fewest_substeps_touching: ClassVar[int] = 4

    def __init__(self, model: Model, state: State, world: World, settings: LayeredSettings, device: str) -> None:
        self.settings = settings
        self.device = device
        self.world = world
        self.every: list[Body] = model.bodies
        self.bodies: list[Body] = model.part(self.name).bodies
        self.rests: list[LayerRest] = [body.own for body in self.bodies]
        self.first = self.bodies[0].particles[0]
        counts = [len(rest.mass) for rest in self.rests]
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.count = int(self.starts[-1])
        self.particles = state.count
        n, b = self.count, len(self.bodies)
        numbers = [self.every.index(body) for body in self.bodies]
        self.layer = layer_tables(self.bodies, numbers, self.first, device)
        self.sums = Sums(counts, SUM_COLUMNS, device)
        self.moment, self.begin, self.next = (new_moment(b, n, device) for _ in range(3))
        self.known_x, self.known_v, self.next_x, self.next_v, self.y, self.load = (
            wp.zeros(n, dtype=wp.vec3, device=device) for _ in range(6)
        )
        self.drift, self.swing = (wp.zeros(n, dtype=wp.mat33, device=device) for _ in range(2))
        rows = np.repeat(np.arange(n), np.diff(self.layer.row_starts.numpy()))
        strength = (self.layer.block.numpy().astype(np.float64) ** 2).sum(axis=(1, 2))
        self.levels = hierarchy(Pattern(n, rows, self.layer.row_other.numpy().astype(np.int64), strength), device)
        self._columns: dict[bool, Columns] = {}
        self.change = wp.zeros(b, dtype=vec6d, device=device)
        self.weight = wp.zeros(b, dtype=mat66d, device=device)
        self.before = wp.zeros((b, core_kernels.STEP_COLUMNS), dtype=wp.float64, device=device)
        self.after = wp.zeros((b, core_kernels.AFTER_COLUMNS), dtype=wp.float64, device=device)
        self.keeps_apart = settings.planes and world.bodies_meet and not world.bodies_sleep and 1 < b <= MOST_BODIES
        pairs = Pairs(self.layer, self.sums, self.bodies, self.first, device) if self.keeps_apart else None
        self.carry, self.next_carry = (new_carry(n if self.keeps_apart else 0, device) for _ in range(2))
        self.response = Response(self.layer, self.sums, world, settings, pairs, device)
        self.following = Following(self.layer, self.sums, device)
        self.step = 0.0
        found = yielding_tables(self.bodies, device)
        self.yielding: Yielding | None = None if found is None else found[0]
        self.tet_runs = [(0, 0)] * b if found is None else found[1]
        self.permanent = wp.zeros(self.tet_runs[-1][1], dtype=wp.mat33, device=device)
        self.plastic = wp.zeros(n if found else 0, dtype=wp.vec3, device=device)
        self.holds, self.next_holds = (new_holds(n, device) for _ in range(2))
        self.inverse, self.free = (wp.zeros(n, dtype=wp.mat33, device=device) for _ in range(2))
        self.held = wp.zeros(n, dtype=int, device=device)
        self.has_pins = False
        self.meets = world.plane_count > 0 or not world.only_planes
        self._constants: dict[float, StepConstants] = {}
        self.reset(state, (self.first, self.first + n))

    @staticmethod
    def elements(spec: BodySpec) -> Elements:
        return layered_elements(spec)

    @staticmethod
    def rank(spec: BodySpec) -> int:
        return 0

    def constants(self, dt: float) -> StepConstants:
        """What holds for a length of the step; found once."""
        if dt not in self._constants:
            while len(self._constants) >= 4:
                self._constants.pop(next(iter(self._constants)))
            self._constants[dt] = StepConstants(self.layer, self.starts, self.levels, dt, self.settings, self.device)
        return self._constants[dt]

    # ---- the step -----------------------------------------------------------------------------------------------

    def predict(self, state: State, dt: float) -> None:
        constants = self.constants(dt)
        self.step = dt
        if self.keeps_apart:
            for name in CARRIED:
                copy(getattr(self.carry, name), getattr(self.next_carry, name))
        self._begin(state, dt)
        self._solve(state, constants, dt)
        self._move(state, constants, dt)

    def _begin(self, state: State, dt: float) -> None:
        """Gravity, what others did, and the forces of permanent strains."""
        gravity = wp.vec3d(*self.world.gravity)
        self._each_body(load_kernels.begin_cores, [self.layer, self.moment, state.awake, gravity, dt], [self.begin])
        known = [state.inv_mass, state.x, state.v, self.known_x, self.known_v]
        self._each_node(load_kernels.adopt, [self.layer, self.moment, *known, dt], [self.begin])
        if self.yielding is not None:
            self._each_node(plastic_kernels.plastic_forces, [self.yielding, self.permanent], [self.plastic])

    def _solve(self, state: State, constants: StepConstants, dt: float) -> None:
        """The layer's linear systems: y of the load, drift and swing of the core's motion."""
        room, held = self._room(), self.is_held_anywhere
        kind = load_kernels.mat38 if held else load_kernels.mat34
        b, x = room.matrices(room.b[0], kind), room.matrices(room.x, kind)
        load = [state.f_ext, self.plastic, self.carry.load, int(self.world.has_f_ext), dt]
        parts = [self.y, self.drift, self.swing]
        if held:
            inputs = [self.layer, constants.data, self.begin, self.holds, state.inv_mass, state.v, *load]
            outputs = [self.load, b, x, self.inverse, self.free, self.held]
            self._each_node(load_kernels.load_held, inputs, outputs)
            constants.matrices.hold(self.held, self.free)
            constants.solver.solve(room, self.inverse, self.free)
            self._each_node(load_kernels.part_held, [x], parts)
        else:
            self._each_node(load_kernels.load_free, [self.layer, self.begin, *load], [b, x])
            constants.solver.solve(room)
            self._each_node(load_kernels.part_free, [constants.data, x], parts)

    @property
    def is_held_anywhere(self) -> bool:
        """Whether nodes can be held: pinned, asleep, or by colliders."""
        return self.has_pins or self.meets or self.world.bodies_sleep

    def _room(self) -> Columns:
        """Vectors of a solve: four columns where nothing is held, else seven."""
        held = self.is_held_anywhere
        if held not in self._columns:
            counts = [pattern.count for pattern in self.levels[0]]
            self._columns[held] = Columns(counts, 8 if held else 4, self.device)
        return self._columns[held]

    def _move(self, state: State, constants: StepConstants, dt: float) -> None:
        """The cores, the nodes after them, and both momenta."""
        forced = int(self.world.has_f_ext)
        found = [self.y, self.drift, self.swing]
        given = [self.load, self.holds, state.inv_mass, state.f_ext, self.carry.load, dt, forced]
        given.append(int(self.is_held_anywhere))
        inputs = [self.layer, constants.data, self.begin, *found, *given]
        self.sums.add_up(core_kernels.sum_step, inputs, [], self.before)
        moved = [self.layer, self.begin, state.awake, self.before, dt]
        self._each_body(core_kernels.move_cores, moved, [self.change, self.next])
        self._each_node(core_kernels.move_nodes, [self.layer, self.begin, *found, self.change, dt], [self.next])
        self.sums.add_up(
            core_kernels.sum_after, [self.layer, constants.data, state.inv_mass, self.next], [], self.after
        )
        if self.meets:
            inputs = [self.layer, constants.data, self.begin, self.next, self.load, self.change, state.inv_mass]
            self._each_node(hold_kernels.read_holds, [*inputs, self.holds, dt], [self.next_holds])
        kept = [self.layer, self.begin, self.before, self.after, int(self.settings.keep_momentum), dt]
        self._each_body(core_kernels.keep_momenta, kept, [self.next, self.weight])
        shown = [self.layer, self.next_holds, state.inv_mass, state.x, state.v, dt]
        places = [state.x_next, state.v_next, self.next_x, self.next_v]
        self._each_node(core_kernels.show_nodes, shown, [self.next, *places])

    def resolve(self, state: State, contacts: Contacts, dt: float) -> None:
        data = self.constants(dt).data
        known = (self.next_x, self.next_v, self.known_x, self.known_v)
        held = self.next_holds
        self.response.answer(
            state, contacts, data, self.next, self.weight, known, held, dt, self.moment, self.holds,
            self.carry, self.next_carry,
        )  # fmt: skip
        if self.yielding is not None:
            launch(
                plastic_kernels.yield_tets,
                len(self.permanent),
                [self.yielding, self.moment, dt],
                [self.permanent],
                device=self.device,
                grain=GRAIN,
            )

    def begin_contacts(self, state: State, contacts: wp.array, light: wp.array) -> None:
        """Write how light the nodes are to contacts between bodies [1/kg], of which each particle has so many."""
        data = self.constants(self.step).data
        self.following.begin(state, contacts, data, self.next, self.weight, light)

    def follow_contacts(self, state: State, light: wp.array) -> None:
        """Let cores and layers follow what contacts between bodies did to the nodes in a pass."""
        data = self.constants(self.step).data
        self.following.follow(state, data, self.next, self.weight, light, (self.next_x, self.next_v))

    def _each_node(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, grain=GRAIN)

    def _each_body(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, len(self.bodies), inputs, outputs, device=self.device)

    def fused(self, state: State, dt: float, substeps: int) -> bool:
        return False

    def can_fuse(self) -> bool:
        return False

    # ---- from outside -------------------------------------------------------------------------------------------

    def reset(self, state: State, particles: tuple[int, int]) -> None:
        """Fit the cores of bodies whose nodes were set from outside to them."""
        x, v = (array.numpy().astype(np.float64) for array in (state.x, state.v))
        values = {name: array.numpy() for name, array in self._own().items()}
        for b, (body, rest) in enumerate(zip(self.bodies, self.rests, strict=True)):
            low, high = body.particles
            if high <= particles[0] or low >= particles[1]:
                continue
            core = fitted_core(rest, x[low:high], v[low:high])
            nodes = slice(low - self.first, high - self.first)
            values["c"][b], values["turn"][b], values["v"][b], values["w"][b] = core.c, core.turn, core.v, core.w
            values["u"][nodes], values["rate"][nodes] = core.u, core.rate
            values["mode"][nodes] = 0
            if self.keeps_apart:
                # what touches the body pushes anew too
                values["carry_partner"][:] = -1
                for name in ("force", "load", "last"):
                    values[f"carry_{name}"][:] = 0.0
            values["known_x"][nodes], values["known_v"][nodes] = x[low:high], v[low:high]
        for name, array in self._own().items():
            array.assign(values[name])

    def _own(self) -> dict[str, wp.array]:
        moment = {name: getattr(self.moment, name) for name in ("c", "turn", "v", "w", "u", "rate")}
        holds = {name: getattr(self.holds, name) for name in ("mode", "normal", "speed", "rub", "grip")}
        carry = {f"carry_{name}": getattr(self.next_carry, name) for name in CARRIED} if self.keeps_apart else {}
        return moment | holds | carry | {"known_x": self.known_x, "known_v": self.known_v}

    def scratch(self) -> dict[str, wp.array]:
        return self._own() | {"permanent": self.permanent}

    def cores(self) -> Cores:
        """Where the cores are now, in the order of the layered bodies; reads back from the device."""
        c, turn, v, w = (getattr(self.moment, name).numpy().copy() for name in ("c", "turn", "v", "w"))
        world = lambda vectors: np.einsum("bij,bj->bi", turn, vectors)
        return Cores(c, turn, world(v), world(w))

    def rigid_parts(self) -> list[tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Mass [kg], centre [m], velocity [m/s], inertia [kg m^2] and angular velocity [rad/s] of each core, in the
        world: what moves besides particles."""
        now = self.cores()
        return [
            (rest.core_mass, now.position[b], now.velocity[b], turn @ rest.core_inertia @ turn.T, spin)
            for b, (rest, turn, spin) in enumerate(zip(self.rests, now.rotation, now.angular_velocity, strict=True))
        ]

    def pins_changed(self, state: State, pinned: np.ndarray) -> None:
        self.has_pins = bool(((pinned >= self.first) & (pinned < self.first + self.count)).any())
        self._room()

    def reset_shape(self, body: str) -> bool:
        names = [one.name for one in self.bodies]
        if self.yielding is None or body not in names:
            return False
        low, high = self.tet_runs[names.index(body)]
        values = self.permanent.numpy()
        values[low:high] = 0.0
        self.permanent.assign(values)
        return high > low

    def between_frames(self, frame_dt: float) -> bool:
        return False

    def restored(self) -> bool:
        return False

    def links(self, body: str) -> None:
        return None

    def break_links(self, body: str, links: np.ndarray) -> int:
        return 0

    def held_impulses(self) -> tuple[np.ndarray, np.ndarray] | None:
        normal, impulse = (np.zeros((self.particles, 3)) for _ in range(2))
        own = slice(self.first, self.first + self.count)
        held = self.next_holds.mode.numpy() != 0
        normal[own] = np.where(held[:, None], self.next_holds.normal.numpy(), 0.0)
        impulse[own] = np.where(held[:, None], self.next_holds.impulse.numpy(), 0.0)
        return normal, impulse

    def met(self, state: State, dt: float) -> BodyContactList:
        """Contacts between layered bodies in the last step, read back from the device."""
        numbers = {body.name: k for k, body in enumerate(self.every)}
        return read_pairs(self.response, self.bodies, numbers, self.first, self.next, state, dt)

    def stable_step(self, state: State) -> float:
        return math.inf

    def wanted_step(self) -> float:
        return math.inf

    def is_held(self, dt: float) -> bool:
        return False

    def energy(self, x: np.ndarray) -> float:
        """Elastic energy of the layers with their cores where they are now [J]."""
        now = self.cores()
        permanent = self.permanent.numpy().astype(np.float64)
        total = 0.0
        for b, (body, rest) in enumerate(zip(self.bodies, self.rests, strict=True)):
            u = (x[slice(*body.particles)] - now.position[b]) @ now.rotation[b] - rest.rest
            low, high = self.tet_runs[b]
            total += rest.energy(u, permanent[low:high] if high > low else None)
        return total
