"""Stops sheets short of passing through something at the end of a step."""

from __future__ import annotations

import warp as wp

from pliant.collide.soft import careful_kernels as kernels
from pliant.collide.soft.candidate_kernels import Near
from pliant.collide.soft.candidates import Candidates, launch_chunks
from pliant.collide.soft.contact_rows import Sums
from pliant.collide.soft.look_kernels import look_at_ways
from pliant.collide.soft.narrow_kernels import Surfaces
from pliant.launch import copy, launch, repeat_once_or_more
from pliant.model.state import State

PAIR_THREADS = 1 << 16
"""CUDA threads that look at candidates, each at every so many-th."""
STOPPED = 1 << 12
"""CUDA threads that look closely at what may pass through something."""
ROUNDS = 24
"""Times that the ways are cut and looked at again."""


class Careful:
    """The last check of a step.

    Attributes:
        left: set where something passed through something although all rounds were done.
    """

    def __init__(self, candidates: Candidates, surfaces: Surfaces, sums: Sums, particles: int, device: str):
        self.device = device
        self.candidates, self.surfaces = candidates, surfaces
        self.before, self.x_end = (wp.zeros(particles, dtype=wp.vec3, device=device) for _ in range(2))
        self.share = wp.zeros(particles, dtype=int, device=device)
        self.stopped = stopped = kernels.Stopped()
        stopped.share, stopped.sums = wp.zeros(particles, dtype=int, device=device), sums
        for name in ("met", "round", "going", "left", "hots"):
            setattr(stopped, name, wp.zeros(1, dtype=int, device=device))
        if candidates.pairs is not None:
            stopped.hots = candidates.pairs.marks.hots
        self.left = stopped.left

    def begin(self, state: State) -> None:
        """Remember where the step begins."""
        copy(self.before, state.x)

    def end(self, state: State, near: Near) -> None:
        """Cut the ways of what would pass through something."""
        of = kernels.Ways()
        of.x, of.x_after, of.v, of.share, of.inv_mass = self.before, state.x, state.v, self.share, state.inv_mass
        vertex, vertices = [self.candidates.vertex], self.candidates.near_triangles.things
        things = vertices + self.candidates.near_edges.things
        pairs = self.candidates.pairs
        self._each(kernels.begin_ways, [*vertex, state.x], [self.share, self.x_end, self.stopped])

        def look() -> None:
            inputs = [near, self.surfaces, of, self.x_end, vertices]
            if pairs is None:
                launch_chunks(kernels.stop_short, things, [*inputs, things], [self.stopped], self.device)
            else:
                threads = min(things, PAIR_THREADS)
                given = [threads, pairs.room, vertices, kernels.KEPT, near, self.surfaces, of.x, self.x_end]
                launch(look_at_ways, threads, given, device=self.device)
                launch(
                    kernels.stop_marked, STOPPED, [STOPPED, *inputs], [self.stopped], device=self.device, block_dim=64
                )
            cut = [self.stopped, self.share, self.x_end, state.v]
            self._each(kernels.take_shares, [*vertex, of, ROUNDS], cut)

        repeat_once_or_more(self.stopped.going, look, device=self.device)
        self._each(kernels.cut_ways, [*vertex, self.share, self.x_end], [state.x, state.v])

    def _each(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, len(self.candidates.vertex), inputs, outputs, device=self.device)
