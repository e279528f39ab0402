"""Sums over the nodes of each body, in a fixed order."""

from __future__ import annotations

import warp as wp

from pliant.launch import launch
from pliant.solvers.layered.sum_kernels import sum_bodies, sum_groups
from pliant.solvers.layered.tables import chunk_tables


class Sums:
    """Adds up numbers over the nodes of bodies with so many nodes.

    Args:
        counts: nodes of each body. columns: most numbers that are added up at once.
    """

    def __init__(self, counts: list[int], columns: int, device: str) -> None:
        self.device = device
        self.bodies = len(counts)
        self.chunks, self.chunk_count, self.group_count = chunk_tables(counts, device)
        self.parts = wp.zeros((self.chunk_count, columns), dtype=wp.float64, device=device)
        self.everything = wp.zeros(0, dtype=int, device=device)
        self.groups = wp.zeros((self.group_count, columns), dtype=wp.float64, device=device)

    def add_up(self, kernel: object, inputs: list, outputs: list, sums_out: wp.array) -> None:
        """Launch a kernel that writes the numbers of each chunk, and add them up for each body."""
        columns = sums_out.shape[1]
        self.add_groups(kernel, inputs, outputs, columns)
        self.add_bodies(sums_out)

    def add_groups(
        self, kernel: object, inputs: list, outputs: list, columns: int, kinds: int = 1, active: wp.array | None = None
    ) -> None:
        """Launch a kernel that writes the numbers of each chunk, of so many kinds, and add them up for each group;
        only chunks that are `active` have some."""
        launch(
            kernel, kinds * self.chunk_count, [self.chunks, *inputs], [*outputs, self.parts], device=self.device,
            grain=16, block_dim=64,
        )  # fmt: skip
        active = self.everything if active is None else active
        launch(
            sum_groups, self.group_count * columns, [self.chunks, self.parts, columns, active], [self.groups],
            device=self.device, block_dim=64,
        )  # fmt: skip

    def add_bodies(self, sums_out: wp.array) -> None:
        """Add up the groups of each body."""
        columns = sums_out.shape[1]
        launch(
            sum_bodies, self.bodies * columns, [self.chunks, self.groups, columns], [sums_out], device=self.device,
            block_dim=64,
        )  # fmt: skip
