"""Contacts between bodies in the equations of a step."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.collide.soft.body_contacts import BodyContactList, Found
from pliant.collide.soft.contact_rows import Rows
from pliant.launch import copy, launch
from pliant.model.state import State
from pliant.solvers.fem import pair_kernels as kernels
from pliant.solvers.fem.hold_kernels import Holds
from pliant.solvers.fem.solve import Solve

# Stiffness of a contact over that with which the blocks of its particles resist.
STIFFNESS = 10.0


class Pairs:
    """The contacts of a step: tables, and what they add to rows and products.

    Attributes:
        table: the tables, as kernels see them.
        inverse: inverses of the blocks of particles, with the contacts.
    """

    def __init__(self, particles: int, first: int, count: int, body: np.ndarray, device: str) -> None:
        self.particles, self.first, self.count, self.device = particles, first, count, device
        self.body = body
        self.others = count < particles
        self.x_free, self.v_free = (wp.zeros(particles, dtype=wp.vec3, device=device) for _ in range(2))
        self.inverse = wp.zeros(particles, dtype=wp.mat33, device=device)
        self.table = kernels.PairTable()
        self.table.first, self.table.count = first, count
        self.table.head = wp.zeros(particles, dtype=int, device=device)
        self.table.head.fill_(-1)
        self.table.ease = wp.ones(particles, dtype=float, device=device)
        self.rows: list[Rows] = []
        self.room = 0

    def make_room(self, rows: list[Rows]) -> None:
        """Make room for the contacts of such tables."""
        self.rows = rows
        self.room = sum(table.things * table.room for table in rows)
        self.table.pairs = wp.zeros(self.room, dtype=kernels.Pair, device=self.device)
        self.table.springs = wp.zeros(self.room, dtype=kernels.Spring, device=self.device)
        self.table.next = wp.zeros(4 * self.room, dtype=int, device=self.device)

    def _each(self, kernel: object, inputs: list, outputs: list, grain: int = 4096) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first, grain=grain)

    def begin(self, state: State) -> None:
        """Take note of where particles of other methods go without contacts."""
        if self.others:
            copy(self.x_free, state.x_next)
            copy(self.v_free, state.v_next)

    def take(self, state: State, found: Found, inverse: wp.array, dt: float, rest_speed: float) -> None:
        """Take over the contacts that were found; `inverse` are inverses of blocks without them."""
        launch(kernels.begin_lists, self.particles, [], [self.table.head], device=self.device)
        offset = 0
        for rows in self.rows:
            given = [offset, inverse, found.sums, state.inv_mass, found.light, found.surfaces]
            given += [state.x, state.v, self.v_free, dt, STIFFNESS, rest_speed]
            launch(kernels.take_contacts, rows.things, given, [rows, self.table], device=self.device, grain=1024)
            offset += rows.things * rows.room
        launch(kernels.sort_lists, self.particles, [], [self.table], device=self.device)

    def press(self, v: wp.array, gain: wp.array, *, is_new: bool, is_guess: bool, is_last: bool) -> None:
        """Which contacts press and grip, and with what, for the present gain of velocity."""
        launch(
            kernels.press,
            self.room,
            [v, gain, int(is_new), int(is_guess), int(is_last)],
            [self.table],
            device=self.device,
        )

    def load(self, inv_mass: wp.array, holds: Holds, diagonal: wp.array, inverse: wp.array, solve: Solve) -> None:
        """Add what contacts do to the rows of a solve that is about to begin."""
        inputs = [self.table, diagonal, inverse, inv_mass, holds]
        self._each(kernels.load_rows, inputs, [self.inverse, solve.r, solve.free, solve.z, solve.size], 1024)

    def add_measures(self, own: wp.array) -> None:
        """Add what contacts resist with to what the lattices gather."""
        self._each(kernels.add_measures, [self.table], [own])

    def add_products(self, z: wp.array, w: wp.array, parts: wp.array, runs: int) -> None:
        """Add what contacts do to w = A z; on the CPU run by run, with the parts of sums."""
        if runs:
            launch(kernels.add_product_runs, runs, [self.table, z], [w, parts], device=self.device, grain=8)
        else:
            self._each(kernels.add_products, [self.table, z], [w])

    def finish(self, v: wp.array, gain: wp.array) -> None:
        """The impulses at the end."""
        launch(kernels.finish_pairs, self.room, [v, gain], [self.table], device=self.device)
        launch(kernels.note_ease, self.particles, [], [self.table], device=self.device)

    def push_others(self, state: State, light: wp.array, dt: float) -> None:
        """Push particles of other methods."""
        inputs, outputs = [self.table, light, self.x_free, self.v_free, dt], [state.x_next, state.v_next]
        if self.others:
            launch(kernels.push_others, self.particles, inputs, outputs, device=self.device)

    def read(self, x: np.ndarray, dt: float) -> BodyContactList:
        """The contacts of the last step, with the impulses that they gave in its equations."""
        pairs, springs = self.table.pairs.numpy(), self.table.springs.numpy()
        edge = np.arange(len(pairs)) >= self.rows[0].things * self.rows[0].room
        used = np.flatnonzero(pairs["how"] != int(kernels.NONE))
        ids, weights = springs["ids"][used], springs["weights"][used].astype(np.float64)
        return BodyContactList(
            self.body[ids[:, [0, 3]]],
            ids,
            weights,
            np.where(edge[used], "edge", "vertex"),
            0.5 * np.einsum("ck,ckd->cd", np.abs(weights), x[ids]),
            springs["normal"][used].astype(np.float64),
            pairs["depth"][used],
            pairs["push"][used].astype(np.float64) / dt,
        )
