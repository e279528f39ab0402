"""Lattice bodies whose regions are summed axis by axis: the width of a region costs nothing (Rivers and James 2007)."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Body
from pliant.model.state import State
from pliant.solvers.shape_matching.group import MatchGroup, shape_of, starts
from pliant.solvers.shape_matching.kernels import MidStep
from pliant.solvers.shape_matching.lattice_kernels import (
    GIVEN,
    SUMS,
    centre_regions,
    move_particles,
    row_type,
    share_maps,
    sum_runs_kernel,
    weigh_particles,
)
from pliant.solvers.shape_matching.lattice_rest import RestLattice, rest_lattice

CUDA_PIECE = 2
"""Numbers that one CUDA thread sums along a run: 16 bytes at a time."""


class LatticeGroup(MatchGroup):
    """Bodies with a region around every lattice vertex; region c is the one around particle first + c.

    With S_a the sum over what is within some steps along the runs of axis a, sums over regions are S_x S_y S_z, and
    sums over the regions that hold a particle S_z S_y S_x: three running sums each. See `MatchGroup` for the arguments.
    """

    rests: list[RestLattice]

    def __init__(self, bodies: list[Body], numbers: list[int], rest: np.ndarray, device: str) -> None:
        rests: list[RestLattice] = []
        made: dict[int, RestLattice] = {}
        for body in bodies:
            shape = shape_of(body)
            if id(shape) not in made:
                made[id(shape)] = rest_lattice(shape.mesh, shape.mass, body.options["matching"].region_width)
            rests.append(made[id(shape)])
        super().__init__(bodies, numbers, 3, rests, rest, device)
        unique = list(made.values())
        doubles = lambda values, dtype: wp.array(np.ascontiguousarray(values, np.float64), dtype=dtype, device=device)
        table = lambda left, right: np.concatenate(
            [np.concatenate([left(r), right(r)[:, None]], axis=1) for r in unique]
        )
        self.rest = doubles(table(lambda r: r.q, lambda r: r.weight), wp.vec4d)
        self.region = doubles(table(lambda r: r.middle, lambda r: 1.0 / r.mass), wp.vec4d)
        self.share = doubles(np.concatenate([1.0 / r.held for r in unique]), wp.float64)
        self.items = [self.ints(np.concatenate([r.runs[axis].items for r in unique])) for axis in range(3)]
        self.runs = [self.ints(self._runs(axis, unique), wp.vec4i) for axis in range(3)]
        self.sums = wp.zeros((self.count, SUMS), dtype=float, device=device)
        # rows of numbers go from sum to sum, back and forth between two arrays, from the first to the second at last
        self.rows = [wp.zeros(self.count, dtype=row_type, device=device) for _ in range(2)]
        self.piece = SUMS if device == "cpu" else CUDA_PIECE
        self.pieces = [self._cut(row) for row in self.rows]

    def _runs(self, axis: int, unique: list[RestLattice]) -> np.ndarray:
        """The runs of all bodies along an axis: first item, length, first row of the body, steps (r, 4)."""
        first = starts([r.count for r in unique])
        rows = []
        for body, rest, k in zip(self.bodies, self.rests, self.which, strict=True):
            runs = rest.runs[axis]
            row = np.full(runs.count, body.particles[0] - self.first)
            steps = np.full(runs.count, rest.width)
            rows.append(np.stack([runs.starts[:-1] + first[k], np.diff(runs.starts), row, steps], axis=1))
        return np.concatenate(rows)

    def _cut(self, rows: wp.array) -> wp.array:
        """The same memory cut into the pieces that a thread sums (n, 24 / piece)."""
        part = wp.types.vector(length=self.piece, dtype=wp.float64)
        shape = (self.count, SUMS // self.piece)
        return wp.array(ptr=rows.ptr, shape=shape, dtype=part, device=self.device, capacity=rows.capacity)

    # ---- the step -----------------------------------------------------------------------------------------------

    def _sum(self, numbers: int, axes: tuple[int, int, int]) -> None:
        """Running sums of the first `numbers` of each row along one axis after the other."""
        kernel, pieces = sum_runs_kernel(self.piece), -(-numbers // self.piece)
        here, there = self.pieces
        for axis in axes:
            inputs = [self.runs[axis], self.items[axis], here, pieces]
            launch(kernel, len(self.runs[axis]) * pieces, inputs, [there], device=self.device, grain=128, block_dim=64)
            here, there = there, here

    def fit(self, state: State, bodies: wp.array, step: MidStep) -> None:
        which: list[Any] = [self.cluster_rest, self.cluster_body]
        moving = [state.inv_mass, state.f_ext, state.x, state.v, self.first, step]
        inputs = [*which, self.rest, bodies, self.anchor, *moving]
        launch(weigh_particles, self.count, inputs, [self.rows[0]], device=self.device, grain=2048)
        self._sum(SUMS, (2, 1, 0))
        inputs = [*which, self.region, self.radius, bodies, self.anchor, self.rows[1]]
        launch(centre_regions, self.count, inputs, [self.sums], device=self.device, grain=2048)
        self._fit_clusters(bodies, self.sums)
        inputs = [*which, self.region, self.radius, bodies, self.anchor, self.maps]
        launch(share_maps, self.count, inputs, [self.rows[0]], device=self.device, grain=2048)
        self._sum(GIVEN, (0, 1, 2))

    def move(
        self,
        state: State,
        particle_body: wp.array,
        bodies: wp.array,
        planes: wp.array,
        step: MidStep,
        target: tuple[wp.array, wp.array],
    ) -> None:
        inputs = [
            self.cluster_rest, self.cluster_body, self.rest, self.share, bodies, planes, self.anchor,
            self.rows[1], state.inv_mass, state.f_ext, state.x, state.v, self.first, step,
        ]  # fmt: skip
        launch(move_particles, self.count, inputs, list(target), device=self.device, grain=2048)

    def energy(self, k: int, x: np.ndarray, beta: float) -> float:
        return self.rests[k].energy(x, self.plastic_of(k), beta)
