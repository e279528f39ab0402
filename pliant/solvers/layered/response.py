"""The order in which contacts of layered bodies are answered."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.collide.soft.body_contacts import BodyContactList
from pliant.launch import launch, repeat_while
from pliant.model.model import Body
from pliant.model.state import State
from pliant.physics.rigid import vec6d
from pliant.solvers.layered import contact_kernels as kernels
from pliant.solvers.layered import friction_kernels, put_kernels
from pliant.solvers.layered.data import Carry, Constants, Holds, Layer, Moment
from pliant.solvers.layered.pairs import Pairs
from pliant.solvers.layered.settings import LayeredSettings
from pliant.solvers.layered.sums import Sums
from pliant.solvers.protocol import World

GRAIN = 2048
"""Nodes worth a CPU thread."""
COLUMNS = {True: 90, False: 27}
"""Numbers of a round, where bodies touch each other and where they do not."""


class Response:
    """Presses and friction of all contacts, and where nodes end.

    Args:
        pairs: finds contacts between the bodies; None where they do not meet.
    """

    def __init__(
        self, layer: Layer, sums: Sums, world: World, settings: LayeredSettings, pairs: Pairs | None, device: str
    ) -> None:
        self.layer, self.adder, self.world, self.settings, self.device = layer, sums, world, settings, device
        self.pairs = pairs
        self.kinds = 1 if pairs is None else 3
        self.columns = COLUMNS[pairs is not None]
        self.count, self.bodies = len(layer.mass), sums.bodies
        self.press = new_press(self.count, device)
        self.active = wp.zeros(sums.chunk_count, dtype=int, device=device)
        self.z, self.z_deep, self.change, self.shift = (
            wp.zeros(self.bodies, dtype=vec6d, device=device) for _ in range(4)
        )
        self.moved = wp.zeros(self.bodies, dtype=int, device=device)
        self.round, self.going = (wp.zeros(1, dtype=int, device=device) for _ in range(2))
        self.round_sums = wp.zeros((self.bodies, 27), dtype=wp.float64, device=device)
        self.end_sums = wp.zeros((self.bodies, kernels.PUSH_COLUMNS), dtype=wp.float64, device=device)

    def answer(
        self,
        state: State,
        contacts: Contacts,
        constants: Constants,
        predicted: Moment,
        weight: wp.array,
        known: tuple[wp.array, wp.array, wp.array, wp.array],
        held: Holds,
        dt: float,
        moment: Moment,
        holds: Holds,
        carry: Carry,
        next_carry: Carry,
    ) -> None:
        """Write where the bodies are after the contacts to `moment`, what holds nodes to `holds`, and positions and
        velocities to the state.

        Args:
            predicted: where they are without contacts. weight: of cores to pushes on nodes (b,).
            known: positions and velocities as predicted, and room for those that are written.
            held: what holds nodes by the step's equations.
            carry: what contacts between bodies pushed with in them. next_carry: what they will in the next step.
        """
        layer, z = self.layer, [self.z, self.z_deep]
        self._each_body(kernels.begin_response, [predicted], [moment, *z])
        found = [contacts.surface, contacts.depth, contacts.slots]
        planes = [self.world.planes, self.world.plane_count]
        inputs = [layer, constants, *found, state.inv_mass, state.v, state.x_next, state.v_next, known[0], known[1]]
        self._each_node(
            kernels.meet_surfaces,
            [*inputs, predicted, held, *planes, self.settings.rest_speed, dt],
            [moment, self.press],
        )
        if self.pairs is not None:
            self.pairs.find(state, constants, predicted, held, carry, self.settings.rest_speed, dt, self.press)
        if contacts.slots or self.pairs is not None:
            self._each_node(kernels.finish_presses, [layer, constants, predicted], [self.press])
            chunks = [self.adder.chunks, self.press]
            launch(
                kernels.mark_chunks, self.adder.chunk_count, chunks, [self.active], device=self.device, grain=64,
                block_dim=64,
            )  # fmt: skip
            if self.pairs is not None:
                self.pairs.without_carried(self.press, weight, self.active)
            self._press(state, constants, predicted, weight, moment)
            if self.settings.friction_rounds:
                self._rub(state, constants, predicted, weight, dt, moment)
            self._place(state, constants, predicted, weight, moment)
            self._each_body(put_kernels.put_cores, [self.shift], [moment])
        inputs = [layer, *found, *planes, state.inv_mass, state.x_next, state.v_next, self.press, held]
        self._each_node(put_kernels.put_nodes, inputs, [moment, state.x, state.v, known[2], known[3], holds])
        if self.pairs is not None:
            self.pairs.keep_carry(self.press, predicted, state.v, carry, dt, next_carry)

    def _press(self, state: State, constants: Constants, predicted: Moment, weight: wp.array, moment: Moment) -> None:
        """Multipliers of all contacts, for velocities."""
        sums = self._rounds(self.press.kick, self.z, weight, predicted, places=False)
        self._each_body(kernels.press_cores, [weight, sums, predicted], [self.change, self.shift, moment])
        inputs = [self.layer, constants, state.inv_mass, predicted, self.change, self._unit]
        self._each_node(kernels.press_nodes, inputs, [self.press, moment])

    def _place(self, state: State, constants: Constants, predicted: Moment, weight: wp.array, moment: Moment) -> None:
        """Multipliers of all contacts, for positions."""
        sums = self._rounds(self.press.depth, self.z_deep, weight, predicted, places=True)
        self._each_body(kernels.place_cores, [weight, sums], [self.change, self.shift])
        inputs = [self.layer, constants, state.inv_mass, predicted, self.change, self._unit]
        self._each_node(kernels.place_nodes, inputs, [self.press, moment])

    def _rounds(self, wanted: wp.array, z: wp.array, weight: wp.array, predicted: Moment, places: bool) -> wp.array:
        """Find which contacts press, and what they do to nodes and cores."""
        inputs = [self.kinds, self.layer, self.press, wanted, z, self.active]
        self._repeat(kernels.sum_presses, inputs, weight, z, self.settings.contact_rounds)
        inputs = [self.layer, wanted, z, int(places), self.active]
        self.adder.add_groups(kernels.find_pushes, inputs, [self.press], kernels.PUSH_COLUMNS, active=self.active)
        return self._pushed(self.press.force, predicted)

    def _rub(
        self, state: State, constants: Constants, predicted: Moment, weight: wp.array, dt: float, moment: Moment
    ) -> None:
        """Friction of all contacts that press."""
        here = [self.layer, constants, predicted]
        self._each_body(friction_kernels.begin_rubs, [], [self.z])
        inputs = [self.kinds, *here, self.press, moment, self.z, self.active]
        self._repeat(friction_kernels.sum_rubs, inputs, weight, self.z, self.settings.friction_rounds)
        inputs = [*here, moment, self.z, self.active]
        self.adder.add_groups(
            friction_kernels.find_rubs, inputs, [self.press], kernels.PUSH_COLUMNS, active=self.active
        )
        sums = self._pushed(self.press.rub, predicted)
        self._each_body(friction_kernels.rub_cores, [weight, sums, dt], [self.change, self.shift, moment])
        inputs = [self.layer, constants, state.inv_mass, predicted, self.change, self._unit, dt]
        self._each_node(friction_kernels.rub_nodes, inputs, [self.press, moment])
        self._each_node(friction_kernels.deepen, [self.layer, predicted], [self.press])

    def _repeat(self, kernel: object, inputs: list, weight: wp.array, z: wp.array, most: int) -> None:
        """Newton's steps from the sums of a kernel, until nothing changes, or so many."""
        self._each(kernels.begin_rounds, 1, [], [self.round, self.going])

        def once() -> None:
            self.adder.add_groups(kernel, inputs, [], self.columns, self.kinds, self.active)
            if self.pairs is not None:
                self.pairs.solve(weight, z, self.moved)
            else:
                self.adder.add_bodies(self.round_sums)
                self._each_body(kernels.solve_presses, [weight, self.round_sums], [z, self.moved])
            self._each(kernels.end_round, 1, [self.moved, most], [self.round, self.going])

        repeat_while(self.going, once, device=self.device)

    def _pushed(self, force: wp.array, predicted: Moment) -> wp.array:
        """What all pushes do to each core (b, 6 or more), and to the nodes that are touched."""
        if self.pairs is None:
            self.adder.add_bodies(self.end_sums)
            return self.end_sums
        self.pairs.hand_on(self.press, force, predicted)
        return self.pairs.gather()

    @property
    def _unit(self) -> float:
        """Unit of what is handed on to nodes [N s]; 0 where nothing is."""
        return 0.0 if self.pairs is None else self.pairs.unit

    def _each_node(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, grain=GRAIN)

    def _each_body(self, kernel: object, inputs: list, outputs: list) -> None:
        self._each(kernel, self.bodies, inputs, outputs)

    def _each(self, kernel: object, count: int, inputs: list, outputs: list) -> None:
        launch(kernel, count, inputs, outputs, device=self.device)


def new_press(count: int, device: str) -> kernels.Press:
    """Room for the contact of each node; there are none."""
    press = kernels.Press()
    room = lambda dtype: wp.zeros(count, dtype=dtype, device=device)
    press.slot, press.partner = (wp.full(count, -1, dtype=int, device=device) for _ in range(2))
    for name in ("give", "kick", "depth", "push", "held", "carry_push"):
        setattr(press, name, room(float))
    for name in ("normal", "surface", "rub", "force", "shift", "share", "carry"):
        setattr(press, name, room(wp.vec3))
    press.grip, press.block, press.corner = room(wp.vec2), room(wp.mat33), room(wp.vec3i)
    press.g, press.g_other = room(vec6d), room(vec6d)
    press.received = wp.zeros((count, 3), dtype=wp.int64, device=device)
    return press


def read_pairs(
    response: Response, bodies: list[Body], numbers: dict[str, int], first: int, predicted: Moment, state: State,
    dt: float,
) -> BodyContactList:  # fmt: skip
    """The contacts between bodies that were answered last, with what they pushed with.

    Args:
        numbers: of all bodies of the model, by name. first: the method's first particle.
    """
    press = response.press
    at = np.flatnonzero((press.partner.numpy() >= 0) & (press.give.numpy() > 0.0))
    number = np.array([numbers[body.name] for body in bodies])
    own, other = response.layer.body.numpy()[at], press.partner.numpy()[at]
    turn = predicted.turn.numpy()[own]
    world = lambda values: np.einsum("cij,cj->ci", turn, values.numpy()[at].astype(np.float64))
    corner, share = press.corner.numpy()[at], press.share.numpy()[at].astype(np.float64)
    particles = np.column_stack([at, corner]).astype(np.int32) + first
    weights = np.column_stack([np.ones(len(at)), -share])
    normal = world(press.normal)
    along = world(press.rub) + world(press.carry) - press.carry_push.numpy()[at, None] * normal
    force = (press.push.numpy()[at, None] * normal + along) / dt
    x = state.x.numpy().astype(np.float64)
    point = 0.5 * np.einsum("ck,ckd->cd", np.abs(weights), x[particles])
    both = np.column_stack([number[own], number[other]])
    depth = press.depth.numpy()[at]
    return BodyContactList(both, particles, weights, np.full(len(at), "vertex"), point, normal, depth, force)
