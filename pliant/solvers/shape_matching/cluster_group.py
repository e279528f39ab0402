"""Bodies whose clusters stand in tables, with goals of one order: their device arrays and the launches of a step."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Body
from pliant.model.state import State
from pliant.solvers.shape_matching.constants import BodyMatch, Goals
from pliant.solvers.shape_matching.energy import goals_energy
from pliant.solvers.shape_matching.group import MatchGroup, shape_of, starts
from pliant.solvers.shape_matching.rest import RestClusters, rest_clusters
from pliant.solvers.shape_matching.step_kernels import MidStep, sum_rows

CPU_CHUNK = 256
"""Members that one CPU thread sums in a row."""
WARP_MEMBERS = 160
"""Members of a cluster up to which one warp takes it whole on CUDA."""
FAN_IN = 64
"""Partial sums that are added up at once."""


class ClusterGroup(MatchGroup):
    """Bodies whose clusters stand in tables; see `MatchGroup` for the arguments.

    Attributes:
        first_start, member_starts: where the rows of each body begin in `of_starts`, and in the tables of members.
    """

    rests: list[RestClusters]

    def __init__(self, bodies: list[Body], numbers: list[int], order: int, rest: np.ndarray, device: str) -> None:
        rests: list[RestClusters] = []
        made: dict[int, RestClusters] = {}
        for body in bodies:
            shape = shape_of(body)
            assert shape.clusters is not None
            if id(shape) not in made:
                made[id(shape)] = rest_clusters(shape.mesh.vertices, shape.mass, shape.clusters, order)
            # a body that can break changes its tables: it has its own
            own = body.material.breaks_at is not None
            rests.append(dataclasses.replace(made[id(shape)]) if own else made[id(shape)])
        super().__init__(bodies, numbers, order, rests, rest, device)
        self._upload(list({id(r): r for r in rests}.values()))

    def _upload(self, unique: list[RestClusters]) -> None:
        """Put the members of each rest shape's clusters on the device once, and the chunks of each body."""
        joined = lambda key: np.concatenate([getattr(r, key) for r in unique])
        member_start = starts([len(r.member) for r in unique])
        of_start = starts([len(r.of_starts) for r in unique])
        self.member = self.ints(joined("member"))
        self.member_rest = self.floats(np.concatenate([joined("rest"), joined("weight")[:, None]], axis=1), wp.vec4)
        self.of_starts = self.ints(np.concatenate([r.of_starts + member_start[k] for k, r in enumerate(unique)]))
        self.of_cluster = self.ints(joined("of_cluster"))
        self.of_rest = self.floats(np.concatenate([r.rest[r.of_member] for r in unique]), wp.vec3)
        self.first_start = [int(of_start[k]) for k in self.which]
        self.member_starts = [int(member_start[k]) for k in self.which]
        self._cut_chunks(self.which, member_start)

    def _cut_chunks(self, which: list[int], member_start: np.ndarray) -> None:
        """Cut the members of every cluster into chunks, and the sums over chunks again, until each cluster has one."""
        chunks, chunk_of, first_cluster = [], [], 0
        for body, rest, k in zip(self.bodies, self.rests, which, strict=True):
            size = np.diff(rest.starts)
            length = self._chunk_length(size)
            number = -(-size // length)
            cluster = np.repeat(np.arange(rest.count), number)
            place = np.arange(len(cluster)) - np.repeat(np.cumsum(number) - number, number)
            begin = rest.starts[cluster] + place * length[cluster]
            end = np.minimum(begin + length[cluster], rest.starts[cluster + 1])
            columns = [
                begin + member_start[k],
                end - begin,
                np.full(len(cluster), body.particles[0]),
                cluster + first_cluster,
            ]
            chunks.append(np.stack(columns, axis=1))
            chunk_of.append(number)
            first_cluster += rest.count
        rows = np.concatenate(chunks)
        self.chunks = self.ints(rows, wp.vec4i)
        numbers = lambda count: wp.zeros((count, self.code.sums), dtype=float, device=self.device)
        self.sums = [numbers(len(rows))]
        self.row_starts = []
        counts = np.concatenate(chunk_of)
        while counts.max() > 1:
            pieces = -(-counts // FAN_IN)
            owner = np.repeat(np.arange(len(counts)), pieces)
            place = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
            begin = (np.cumsum(counts) - counts)[owner] + place * FAN_IN
            self.row_starts.append(self.ints(np.append(begin, counts.sum())))
            self.sums.append(numbers(len(begin)))
            counts = pieces

    def _chunk_length(self, size: np.ndarray) -> np.ndarray:
        """Members of a chunk for clusters of each size."""
        if self.device == "cpu":
            return np.full(len(size), CPU_CHUNK)
        return np.where(size > 1 << 15, 512, np.where(size > WARP_MEMBERS, 64, WARP_MEMBERS))

    # ---- the step -----------------------------------------------------------------------------------------------

    def fit(self, state: State, bodies: wp.array, step: MidStep) -> None:
        inputs = [
            self.chunks, self.cluster_body, self.member, self.member_rest, self.anchor, state.inv_mass, state.f_ext,
            state.x, state.v, step,
        ]  # fmt: skip
        if self.device == "cpu":
            launch(self.code.sum_members, len(self.chunks), inputs, [self.sums[0]], device=self.device, grain=8)
        else:
            # imported where it is used: it cannot run on the CPU
            from pliant.solvers.shape_matching.cuda_kernels import LANES, warp_sums_kernel

            kernel = warp_sums_kernel(self.order)
            launch(kernel, LANES * len(self.chunks), inputs, [self.sums[0]], device=self.device, block_dim=128)
        for begins, rows, sums in zip(self.row_starts, self.sums[:-1], self.sums[1:], strict=True):
            width = self.code.sums
            launch(sum_rows, len(sums) * width, [begins, rows, width], [sums], device=self.device)
        self._fit_clusters(bodies, self.sums[-1], step)

    def move(
        self,
        state: State,
        particle_body: wp.array,
        bodies: wp.array,
        planes: wp.array,
        step: MidStep,
        target: tuple[wp.array, wp.array],
    ) -> None:
        launch(
            self.code.move,
            self.count,
            [
                particle_body, self.of_starts, self.of_cluster, self.of_rest, bodies, planes, self.maps, state.inv_mass,
                state.f_ext, state.x, state.v, step,
            ],
            list(target),
            device=self.device,
            first=self.first,
            grain=1024,
            block_dim=64,
        )  # fmt: skip

    def place(self, k: int, constants: BodyMatch) -> None:
        super().place(k, constants)
        constants.first_start = self.first_start[k]

    def energy(self, k: int, x: np.ndarray, goals: Sequence[Goals]) -> float:
        return goals_energy(x, self.rests[k], self.plastic_of(k), goals)
