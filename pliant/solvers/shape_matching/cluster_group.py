"""The bodies whose clusters stand in tables, with goals of one order: their device arrays and the launches of a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Body, RestShape
from pliant.model.state import State
from pliant.solvers.shape_matching.constants import BodyMatch
from pliant.solvers.shape_matching.kernels import MatchKernels, MidStep, match_kernels, sum_rows
from pliant.solvers.shape_matching.rest import RestClusters, rest_clusters

CPU_CHUNK = 256
"""Members that one CPU thread sums in a row."""
FAN_IN = 64
"""Partial sums that are added up at once."""


class ClusterGroup:
    """Bodies with clusters of one order.

    Args:
        bodies: a run of bodies of the model, one after the other.
        numbers: their numbers among the solver's bodies.
        order: 3 or 9.
        rest: rest positions of all particles in the world [m] (n, 3).
        device: where they live.

    Attributes:
        rests: the rest clusters of each body; bodies of one rest shape have the same.
        first, count: the run of particles.
        cluster_starts: first cluster of each body, and the end (b + 1,).
        anchor, rotation, plastic: what is remembered of each cluster: its last centre [m], its last rotation, and the
            map from the rest shape to the one it has taken on (c, 3 order).
        maps: what the last fit left for the members, see `MatchKernels`.
    """

    def __init__(self, bodies: list[Body], numbers: list[int], order: int, rest: np.ndarray, device: str):
        self.bodies = bodies
        self.numbers = numbers
        self.order = order
        self.device = device
        self.code: MatchKernels = match_kernels(order)
        self.first = bodies[0].particles[0]
        self.count = bodies[-1].particles[1] - self.first
        self.rests: list[RestClusters] = []
        made: dict[int, RestClusters] = {}
        for body in bodies:
            shape = shape_of(body)
            assert shape.clusters is not None
            if id(shape) not in made:
                made[id(shape)] = rest_clusters(shape.mesh.vertices, shape.mass, shape.clusters, order)
            self.rests.append(made[id(shape)])
        self.homes = [
            rest[body.particles[0]] + (r.centre - shape_of(body).mesh.vertices[0]) @ body.turn.T
            for body, r in zip(bodies, self.rests, strict=True)
        ]
        self._upload(list({id(r): r for r in self.rests}.values()))

    def _upload(self, unique: list[RestClusters]) -> None:
        """Put the tables of each rest shape on the device once, and what each body has of its own."""
        floats = lambda values, dtype: wp.array(
            np.ascontiguousarray(values, np.float32), dtype=dtype, device=self.device
        )
        ints = lambda values, dtype=int: wp.array(
            np.ascontiguousarray(values, np.int32), dtype=dtype, device=self.device
        )
        joined = lambda key: np.concatenate([getattr(r, key) for r in unique])
        place = {id(r): k for k, r in enumerate(unique)}
        before = lambda counts: np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        member_start = before([len(r.member) for r in unique])
        cluster_start = before([r.count for r in unique])
        of_start = before([len(r.of_starts) for r in unique])

        self.member = ints(joined("member"))
        self.member_rest = floats(np.concatenate([joined("rest"), joined("weight")[:, None]], axis=1), wp.vec4)
        self.radius = floats(joined("radius"), float)
        self.means = floats(joined("means"), float)
        self.inverse = floats(joined("inverse").reshape(-1, self.order**2), float)
        self.missing = floats(joined("missing"), wp.mat33)
        self.of_starts = ints(np.concatenate([r.of_starts + member_start[k] for k, r in enumerate(unique)]))
        self.of_cluster = ints(joined("of_cluster"))
        self.of_rest = floats(np.concatenate([r.rest[r.of_member] for r in unique]), wp.vec3)

        which = [place[id(r)] for r in self.rests]
        self.cluster_starts = before([r.count for r in self.rests])
        self.first_start = [int(of_start[k]) for k in which]
        self.cluster_rest = ints(np.concatenate([np.arange(cluster_start[k], cluster_start[k + 1]) for k in which]))
        self.cluster_body = ints(np.repeat(self.numbers, [r.count for r in self.rests]))
        self._cut_chunks(which, member_start)

        clusters = int(self.cluster_starts[-1])
        self.anchor = wp.zeros(clusters, dtype=wp.vec3, device=self.device)
        self.rotation = wp.zeros(clusters, dtype=wp.quat, device=self.device)
        self.plastic = wp.zeros((clusters, 3 * self.order), dtype=float, device=self.device)
        self.maps = wp.zeros((clusters, self.code.maps), dtype=float, device=self.device)
        self._reset_rows(np.ones(clusters, bool))

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
        ints = lambda values, dtype=int: wp.array(
            np.ascontiguousarray(values, np.int32), dtype=dtype, device=self.device
        )
        self.chunks = ints(rows, wp.vec4i)
        numbers = lambda count: wp.zeros((count, self.code.sums), dtype=float, device=self.device)
        self.sums = [numbers(len(rows))]
        self.row_starts = []
        counts = np.concatenate(chunk_of)
        while counts.max() > 1:
            pieces = -(-counts // FAN_IN)
            owner = np.repeat(np.arange(len(counts)), pieces)
            place = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
            begin = (np.cumsum(counts) - counts)[owner] + place * FAN_IN
            self.row_starts.append(ints(np.append(begin, counts.sum())))
            self.sums.append(numbers(len(begin)))
            counts = pieces

    def _chunk_length(self, size: np.ndarray) -> np.ndarray:
        """Members of a chunk for clusters of each size."""
        if self.device == "cpu":
            return np.full(len(size), CPU_CHUNK)
        return np.where(size > 1 << 15, 512, 64)

    # ---- the step -----------------------------------------------------------------------------------------------

    def fit(self, state: State, bodies: wp.array, step: MidStep) -> None:
        """Fit every cluster to its members at the middle of the step."""
        inputs = [
            self.chunks, self.member, self.member_rest, self.anchor, state.inv_mass, state.f_ext, state.x, state.v, step,
        ]  # fmt: skip
        self._sum_members(inputs, self.sums[0])
        for starts, rows, sums in zip(self.row_starts, self.sums[:-1], self.sums[1:], strict=True):
            width = self.code.sums
            launch(sum_rows, len(sums) * width, [starts, rows, width], [sums], device=self.device)
        launch(
            self.code.fit,
            len(self.anchor),
            [
                self.cluster_rest, self.cluster_body, self.radius, self.means, self.inverse, self.missing, bodies,
                self.sums[-1],
            ],
            [self.anchor, self.rotation, self.plastic, self.maps],
            device=self.device,
            grain=64,
            block_dim=64,
        )  # fmt: skip

    def _sum_members(self, inputs: list[Any], sums: wp.array) -> None:
        if self.device == "cpu":
            launch(self.code.sum_members, len(self.chunks), inputs, [sums], device=self.device, grain=8)
        else:
            from pliant.solvers.shape_matching.cuda_kernels import LANES, sum_members_kernel

            kernel = sum_members_kernel(self.order)
            launch(kernel, len(self.chunks) * LANES, inputs, [sums], device=self.device, block_dim=128)

    def move(
        self,
        state: State,
        particle_body: wp.array,
        bodies: wp.array,
        planes: wp.array,
        step: MidStep,
        target: tuple[wp.array, wp.array],
    ) -> None:
        """Move the particles by one step, from the state to the target."""
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
        )  # fmt: skip

    def place(self, k: int, constants: BodyMatch) -> None:
        """Tell a body's constants where its particles, clusters and tables begin."""
        constants.first_particle = self.bodies[k].particles[0]
        constants.first_cluster = int(self.cluster_starts[k])
        constants.first_start = self.first_start[k]

    # ---- around the step ----------------------------------------------------------------------------------------

    def scratch(self) -> dict[str, wp.array]:
        return {"anchor": self.anchor, "rotation": self.rotation, "plastic": self.plastic}

    def _reset_rows(self, rows: np.ndarray) -> None:
        """Centres and rotations of clusters as at build, and no permanent change of shape."""
        anchor, rotation, plastic = (a.numpy().copy() for a in (self.anchor, self.rotation, self.plastic))
        home = np.concatenate([self.homes[k] for k in range(len(self.bodies))])
        turns = np.concatenate(
            [np.tile(_quaternion(b.turn), (r.count, 1)) for b, r in zip(self.bodies, self.rests, strict=True)]
        )
        anchor[rows], rotation[rows] = home[rows], turns[rows]
        plastic[rows] = np.concatenate([np.eye(3), np.zeros((3, self.order - 3))], axis=1).reshape(-1)
        for array, values in ((self.anchor, anchor), (self.rotation, rotation), (self.plastic, plastic)):
            array.assign(values)

    def clusters_of(self, k: int) -> slice:
        """The clusters of a body."""
        return slice(int(self.cluster_starts[k]), int(self.cluster_starts[k + 1]))

    def reset_shape(self, k: int) -> None:
        """Give a body its original rest shape back."""
        values = self.plastic.numpy().copy()
        values[self.clusters_of(k)] = np.concatenate([np.eye(3), np.zeros((3, self.order - 3))], axis=1).reshape(-1)
        self.plastic.assign(values)


def shape_of(body: Body) -> RestShape:
    """The rest shape that a body shares with others made of the same mesh."""
    assert body.rest_shape is not None
    return body.rest_shape


def _quaternion(turn: np.ndarray) -> np.ndarray:
    """The quaternion x, y, z, w of a rotation (3, 3)."""
    m = np.asarray(turn, float)
    # the largest of four forms, so that nothing small is divided by
    pick = np.array([m[0, 0], m[1, 1], m[2, 2], np.trace(m)])
    k = int(np.argmax(pick))
    if k == 3:
        q = np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1.0 + pick[3]])
    else:
        i, j = (k + 1) % 3, (k + 2) % 3
        q = np.zeros(4)
        q[k] = 1.0 + m[k, k] - m[i, i] - m[j, j]
        q[i], q[j], q[3] = m[i, k] + m[k, i], m[j, k] + m[k, j], m[j, i] - m[i, j]
    return q / np.linalg.norm(q)
