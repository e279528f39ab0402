"""Lattice bodies whose regions are summed axis by axis: the width of a region costs nothing (Rivers and James 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Body
from pliant.model.state import State
from pliant.solvers.shape_matching.constants import Goals
from pliant.solvers.shape_matching.group import MatchGroup, shape_of, starts
from pliant.solvers.shape_matching.lattice_kernels import (
    GIVEN,
    SUMS,
    centre_regions,
    move_particles,
    row_type,
    run_kernels,
    share_maps,
    weigh_particles,
)
from pliant.solvers.shape_matching.lattice_rest import RestLattice, rest_lattice
from pliant.solvers.shape_matching.step_kernels import MidStep

LARGEST_WHOLE = 2048
"""Particles of a body that a CPU thread sums on its own: its rows stay in the cache of a core."""
EVEN_SHARES = 16
"""Such bodies that must be there at least, so that threads get about the same."""


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
        self._set_runs(unique)
        sizes = np.diff(self.cluster_starts)
        self.by_body = device == "cpu" and sizes.max() <= min(LARGEST_WHOLE, self.count // EVEN_SHARES)
        self.sums = wp.zeros((self.count, SUMS), dtype=float, device=device)
        # rows of numbers go from sum to sum, back and forth between two arrays, from the first to the second at last
        self.buffers = [wp.zeros((self.count, SUMS), dtype=wp.float64, device=device) for _ in range(2)]
        self.rows = [
            wp.array(ptr=a.ptr, shape=self.count, dtype=row_type, device=device, capacity=a.capacity)
            for a in self.buffers
        ]
        self.piece = SUMS if device == "cpu" else 1

    def _set_runs(self, unique: list[RestLattice]) -> None:
        """The runs of all bodies, axis by axis: first item, length, first row of the body, steps (r, 4)."""
        items = [r.runs[axis].items for axis in range(3) for r in unique]
        first = starts([len(i) for i in items])
        runs, counts = [], []
        for axis in range(3):
            for body, rest, k in zip(self.bodies, self.rests, self.which, strict=True):
                found = rest.runs[axis]
                row, steps = body.particles[0] - self.first, rest.width
                columns = [found.starts[:-1] + first[axis * len(unique) + k], np.diff(found.starts)]
                runs.append(np.stack([*columns, *(np.full(found.count, n) for n in (row, steps))], axis=1))
                counts.append(found.count)
        self.items = self.ints(np.concatenate(items))
        self.runs = self.ints(np.concatenate(runs), wp.vec4i)
        begins = starts(counts)
        bodies = len(self.bodies)
        # of each axis (rows), where the runs of each body begin, and the end
        self.run_starts = np.stack([begins[axis * bodies : (axis + 1) * bodies + 1] for axis in range(3)])
        self.body_runs = self.ints(self.run_starts)

    # ---- the step -----------------------------------------------------------------------------------------------

    def _sum(self, numbers: int, axes: tuple[int, int, int], awake: wp.array) -> None:
        """Running sums of the first `numbers` of each row along one axis after the other."""
        sum_runs, sum_bodies = run_kernels(self.piece)
        here, there = self.buffers
        if self.by_body:
            inputs = [self.body_runs, self.runs, self.items, self.cluster_body, axes[0], awake]
            grain = -(-1024 * len(self.bodies) // self.count)
            launch(sum_bodies, len(self.bodies), inputs, [here, there], device=self.device, grain=grain)
            return
        pieces = -(-numbers // self.piece)
        for axis in axes:
            first, end = (int(self.run_starts[axis, k]) for k in (0, -1))
            launch(
                sum_runs,
                (end - first) * pieces,
                [self.runs, self.items, self.cluster_body, here, pieces, awake],
                [there],
                device=self.device,
                first=first * pieces,
                grain=128,
                block_dim=64,
            )
            here, there = there, here

    def fit(self, state: State, bodies: wp.array, step: MidStep) -> None:
        which: list[Any] = [self.cluster_rest, self.cluster_body]
        moving = [state.inv_mass, state.f_ext, state.x, state.v, self.first, step]
        inputs = [*which, self.rest, bodies, self.anchor, *moving]
        launch(weigh_particles, self.count, inputs, [self.rows[0]], device=self.device, grain=2048)
        self._sum(SUMS, (2, 1, 0), step.awake)
        inputs = [*which, self.region, self.radius, bodies, self.anchor, self.rows[1], step.awake]
        launch(centre_regions, self.count, inputs, [self.sums], device=self.device, grain=2048)
        self._fit_clusters(bodies, self.sums, step)
        inputs = [*which, self.region, self.radius, bodies, self.anchor, self.maps, step.awake]
        launch(share_maps, self.count, inputs, [self.rows[0]], device=self.device, grain=2048)
        self._sum(GIVEN, (0, 1, 2), step.awake)

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

    def energy(self, k: int, x: np.ndarray, goals: Sequence[Goals]) -> float:
        return self.rests[k].energy(x, self.plastic_of(k), goals[0].beta, goals[0].volume > 0.0)
