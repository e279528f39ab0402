"""Layered bodies in contacts between bodies: pushes on their nodes are carried on to their cores."""

from __future__ import annotations

import warp as wp

from pliant.launch import launch
from pliant.model.state import State
from pliant.physics.rigid import mat66d, vec6d
from pliant.solvers.layered import follow_kernels as kernels
from pliant.solvers.layered.data import Constants, Layer, Moment
from pliant.solvers.layered.sums import Sums

GRAIN = 2048
"""Nodes worth a CPU thread."""


class Following:
    """Follows what contacts between bodies do to nodes, pass by pass."""

    def __init__(self, layer: Layer, sums: Sums, device: str) -> None:
        self.layer, self.adder, self.device = layer, sums, device
        self.count, self.bodies = len(layer.mass), sums.bodies
        self.touched = wp.zeros((self.bodies, 1), dtype=wp.float64, device=device)
        self.sums = wp.zeros((self.bodies, kernels.FOLLOW_COLUMNS), dtype=wp.float64, device=device)
        self.ease = wp.zeros(self.bodies, dtype=mat66d, device=device)
        self.change, self.shift = (wp.zeros(self.bodies, dtype=vec6d, device=device) for _ in range(2))

    def begin(
        self, state: State, contacts: wp.array, constants: Constants, moment: Moment, weight: wp.array, light: wp.array
    ) -> None:
        """Write how light the nodes are to contacts, of which each particle has so many."""
        self.adder.add_up(kernels.count_touched, [self.layer, contacts], [], self.touched)
        launch(kernels.invert_weights, self.bodies, [weight, self.touched], [self.ease], device=self.device)
        inputs = [self.layer, constants, moment, state.inv_mass, self.ease]
        launch(kernels.lighten, self.count, inputs, [light], device=self.device, grain=GRAIN)

    def follow(
        self,
        state: State,
        constants: Constants,
        moment: Moment,
        weight: wp.array,
        light: wp.array,
        known: tuple[wp.array, wp.array],
    ) -> None:
        """Let cores and layers follow what was done to x_next and v_next since they were `known`."""
        inputs = [self.layer, constants, moment, light, state.x_next, state.v_next, *known]
        self.adder.add_up(kernels.sum_pushes, inputs, [], self.sums)
        outputs = [self.change, self.shift, moment]
        launch(kernels.follow_pushes, self.bodies, [weight, self.sums], outputs, device=self.device)
        inputs = [self.layer, constants, light, self.change, self.shift]
        outputs = [moment, state.x_next, state.v_next, *known]
        launch(kernels.follow_nodes, self.count, inputs, outputs, device=self.device, grain=GRAIN)
        launch(kernels.follow_places, self.bodies, [self.shift], [moment], device=self.device)
