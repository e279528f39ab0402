"""Stops sheets short of passing through something at the end of a step."""

from __future__ import annotations

import warp as wp

from pliant.collide.soft import careful_kernels as kernels
from pliant.collide.soft.candidates import Candidates, launch_chunks
from pliant.collide.soft.contact_rows import Sums
from pliant.collide.soft.narrow_kernels import Surfaces
from pliant.launch import copy, launch, repeat_while
from pliant.model.state import State

ROUNDS = 24
"""Times that the ways are cut and looked at again."""
STRIDE = 1 << 16
"""The most CUDA threads that walk through all of them."""
ROOM = 4
"""Meetings of a vertex or edge that are looked at in one round."""


class Careful:
    """The last check of a step.

    Attributes:
        left: set where something passed through something although all rounds were done.
    """

    def __init__(self, candidates: Candidates, surfaces: Surfaces, sums: Sums, particles: int, device: str):
        self.device = device
        self.candidates, self.surfaces, self.sums = candidates, surfaces, sums
        self.before, self.x_end = (wp.zeros(particles, dtype=wp.vec3, device=device) for _ in range(2))
        self.share, self.more = (wp.zeros(particles, dtype=int, device=device) for _ in range(2))
        self.vertices = _stops(candidates.near_triangles.things, device)
        self.edges = _stops(candidates.near_edges.things, device)
        self.met, self.round, self.going, self.left = (wp.zeros(1, dtype=int, device=device) for _ in range(4))

    def begin(self, state: State) -> None:
        """Remember where the step begins."""
        copy(self.before, state.x)

    def end(self, state: State) -> None:
        """Cut the ways of what would pass through something."""
        of = kernels.Ways()
        of.x, of.x_after, of.v, of.share, of.inv_mass = self.before, state.x, state.v, self.share, state.inv_mass
        found = self.candidates
        vertex, ways = [found.vertex], [self.before, self.x_end]
        self._each(kernels.begin_ways, [*vertex, state.x], [self.share, self.more, self.x_end])
        launch(kernels.begin_rounds, 1, [], [self.round, self.going], device=self.device)

        def look() -> None:
            table = found.near_triangles
            inputs = [found.vertex, found.triangles.data, table.found, table.count, table.room, self.surfaces, *ways]
            launch_chunks(kernels.meet_vertices, table.things, inputs, [self.vertices], self.device)
            table = found.near_edges
            inputs = [found.edges.data, table.found, table.count, table.room, self.surfaces, *ways]
            launch_chunks(kernels.meet_edges, table.things, inputs, [self.edges], self.device)
            cut = [self.sums, self.more, self.met]
            self._strided(kernels.stop_vertices, self.vertices, [found.vertex, found.triangles.data], of, cut)
            self._strided(kernels.stop_edges, self.edges, [found.edges.data], of, cut)
            self._each(kernels.take_shares, [*vertex, self.more, of], [self.sums, self.share, self.x_end, state.v])
            launch(kernels.end_round, 1, [ROUNDS], [self.met, self.round, self.going, self.left], device=self.device)

        repeat_while(self.going, look, device=self.device)
        self._each(kernels.cut_ways, [*vertex, self.share, self.x_end], [state.x, state.v])

    def _strided(self, kernel: object, stops: kernels.Stops, inputs: list, of: kernels.Ways, outputs: list) -> None:
        """Launch a kernel that cuts ways: one thread on the CPU, many on CUDA."""
        threads = 1 if self.device == "cpu" else min(stops.things, STRIDE)
        launch(kernel, threads, [threads, *inputs, stops, of, self.round], outputs, device=self.device)

    def _each(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, len(self.candidates.vertex), inputs, outputs, device=self.device)


def _stops(things: int, device: str) -> kernels.Stops:
    stops = kernels.Stops()
    stops.room, stops.things = ROOM, things
    stops.count = wp.zeros(max(things, 1), dtype=int, device=device)
    stops.other = wp.zeros(max(things * ROOM, 1), dtype=int, device=device)
    stops.share = wp.zeros(max(things * ROOM, 1), dtype=float, device=device)
    return stops
