"""The order in which contacts of layered bodies are answered."""

from __future__ import annotations

import warp as wp

from pliant.collide.contacts import Contacts
from pliant.launch import launch
from pliant.model.state import State
from pliant.physics.rigid import vec6d
from pliant.solvers.layered import contact_kernels as kernels
from pliant.solvers.layered.data import Constants, Holds, Layer, Moment
from pliant.solvers.layered.settings import LayeredSettings
from pliant.solvers.layered.sums import Sums
from pliant.solvers.protocol import World

GRAIN = 2048
"""Nodes worth a CPU thread."""


class Response:
    """Presses and friction of all contacts, and where nodes end."""

    def __init__(self, layer: Layer, sums: Sums, world: World, settings: LayeredSettings, device: str) -> None:
        self.layer, self.adder, self.world, self.settings, self.device = layer, sums, world, settings, device
        self.count, self.bodies = len(layer.mass), sums.bodies
        press = kernels.Press()
        press.slot = wp.full(self.count, -1, dtype=int, device=device)
        for name in ("give", "kick", "depth", "push", "held"):
            setattr(press, name, wp.zeros(self.count, dtype=float, device=device))
        for name in ("normal", "surface", "rub"):
            setattr(press, name, wp.zeros(self.count, dtype=wp.vec3, device=device))
        press.grip = wp.zeros(self.count, dtype=wp.vec2, device=device)
        self.press = press
        self.z, self.z_deep, self.change, self.shift = (
            wp.zeros(self.bodies, dtype=vec6d, device=device) for _ in range(4)
        )
        sized = lambda columns: wp.zeros((self.bodies, columns), dtype=wp.float64, device=device)
        self.press_sums = sized(kernels.PRESS_COLUMNS)
        self.rub_sums = sized(kernels.RUB_COLUMNS)
        self.end_sums = sized(kernels.END_COLUMNS)

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
    ) -> None:
        """Write where the bodies are after the contacts to `moment`, what holds nodes to `holds`, and positions and
        velocities to the state.

        Args:
            predicted: where they are without contacts. weight: of cores to pushes on nodes (b,).
            known: positions and velocities as predicted, and room for those that are written.
            held: what holds nodes by the step's equations.
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
        if contacts.slots:
            self._press(state, constants, predicted, weight, moment)
            if self.settings.friction_rounds:
                self._rub(state, constants, predicted, weight, dt, moment)
            self._place(state, constants, predicted, weight, moment)
            self._each_body(kernels.put_cores, [self.shift], [moment])
        inputs = [layer, *found, *planes, state.inv_mass, state.x_next, state.v_next, self.press, held]
        self._each_node(kernels.put_nodes, inputs, [moment, state.x, state.v, known[2], known[3], holds])

    def _press(self, state: State, constants: Constants, predicted: Moment, weight: wp.array, moment: Moment) -> None:
        """Multipliers of all contacts, for velocities."""
        self._rounds(constants, predicted, weight)
        self._each_body(kernels.press_cores, [weight, self.end_sums, predicted], [self.change, self.shift, moment])
        inputs = [self.layer, constants, state.inv_mass, predicted, self.z, self.change]
        self._each_node(kernels.press_nodes, inputs, [self.press, moment])

    def _place(self, state: State, constants: Constants, predicted: Moment, weight: wp.array, moment: Moment) -> None:
        """Multipliers of all contacts, for positions, from what was found of them before friction."""
        self._rounds(constants, predicted, weight)
        self._each_body(kernels.place_cores, [weight, self.end_sums], [self.change, self.shift])
        inputs = [self.layer, constants, state.inv_mass, predicted, self.press, self.z_deep, self.change]
        self._each_node(kernels.place_nodes, inputs, [moment])

    def _rounds(self, constants: Constants, predicted: Moment, weight: wp.array) -> None:
        """Find which contacts press, and what they do to the cores."""
        here = [self.layer, constants, predicted, self.press, self.z, self.z_deep]
        for _ in range(self.settings.contact_rounds):
            self.adder.add_up(kernels.sum_presses, here, [], self.press_sums)
            self._each_body(kernels.solve_presses, [weight, self.press_sums], [self.z, self.z_deep])
        self.adder.add_up(kernels.sum_multipliers, here, [], self.end_sums)

    def _rub(
        self, state: State, constants: Constants, predicted: Moment, weight: wp.array, dt: float, moment: Moment
    ) -> None:
        """Friction of all contacts that press."""
        here = [self.layer, constants, predicted]
        self._each_body(kernels.begin_rubs, [], [self.z])
        for _ in range(self.settings.friction_rounds):
            self.adder.add_up(kernels.sum_rubs, [*here, self.press, moment, self.z], [], self.rub_sums)
            self._each_body(kernels.solve_rubs, [weight, self.rub_sums], [self.z])
        self.adder.add_up(kernels.find_rubs, [*here, moment, self.z], [self.press], self.end_sums)
        self._each_body(kernels.rub_cores, [weight, self.end_sums, dt], [self.change, self.shift, moment])
        inputs = [self.layer, constants, state.inv_mass, predicted, self.change, dt]
        self._each_node(kernels.rub_nodes, inputs, [self.press, moment])

    def _each_node(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, grain=GRAIN)

    def _each_body(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, self.bodies, inputs, outputs, device=self.device)
