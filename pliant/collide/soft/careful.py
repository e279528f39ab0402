"""Stops sheets short of passing through something at the end of a step."""

from __future__ import annotations

import warp as wp

from pliant.collide.soft import careful_kernels as kernels
from pliant.collide.soft.candidates import Candidates
from pliant.collide.soft.narrow_kernels import Surfaces
from pliant.launch import copy, launch, repeat_while
from pliant.model.state import State

ROUNDS = 8
"""Times that the ways are cut and looked at again."""
ALONE = 1 << 30


class Careful:
    """The last check of a step.

    Attributes:
        left: set where something passed through something although all rounds were done.
    """

    def __init__(self, candidates: Candidates, surfaces: Surfaces, particles: int, device: str):
        self.device = device
        self.candidates, self.surfaces = candidates, surfaces
        self.before = wp.zeros(particles, dtype=wp.vec3, device=device)
        self.share, self.more = (wp.zeros(particles, dtype=int, device=device) for _ in range(2))
        self.met, self.round, self.going, self.left = (wp.zeros(1, dtype=int, device=device) for _ in range(4))

    def begin(self, state: State) -> None:
        """Remember where the step begins."""
        copy(self.before, state.x)

    def end(self, state: State, dt: float) -> None:
        """Cut the ways of what would pass through something."""
        of = kernels.Ways()
        of.x, of.x_after, of.share, of.inv_mass = self.before, state.x, self.share, state.inv_mass
        found = self.candidates
        vertex = [found.vertex]
        self._each(kernels.begin_ways, vertex, [self.share, self.more])
        launch(kernels.begin_rounds, 1, [], [self.round, self.going], device=self.device)

        def look() -> None:
            table = found.near_triangles
            inputs = [found.vertex, found.triangles.data, table.found, table.count, table.room, self.surfaces, of]
            outputs = [self.more, self.met]
            launch(kernels.stop_vertices, table.things, inputs, outputs, device=self.device, grain=ALONE)
            table = found.near_edges
            inputs = [found.edges.data, table.found, table.count, table.room, self.surfaces, of]
            launch(kernels.stop_edges, table.things, inputs, outputs, device=self.device, grain=ALONE)
            self._each(kernels.take_shares, [*vertex, self.more], [self.share])
            launch(kernels.end_round, 1, [ROUNDS], [self.met, self.round, self.going, self.left], device=self.device)

        repeat_while(self.going, look, device=self.device)
        self._each(kernels.cut_ways, [*vertex, of, dt], [state.x, state.v])

    def _each(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, len(self.candidates.vertex), inputs, outputs, device=self.device)
