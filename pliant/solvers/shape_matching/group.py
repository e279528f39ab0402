"""Bodies that are fitted by one kernel: what each of their clusters remembers, and the fit itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Body, RestShape
from pliant.model.state import State
from pliant.solvers.shape_matching.constants import BodyMatch, Goals
from pliant.solvers.shape_matching.kernels import MatchKernels, match_kernels
from pliant.solvers.shape_matching.lattice_rest import RestLattice
from pliant.solvers.shape_matching.rest import RestClusters, in_fours, inverse_rows
from pliant.solvers.shape_matching.step_kernels import MidStep


class MatchGroup:
    """Bodies with clusters of one order.

    Args:
        bodies: a run of bodies of the model, one after the other.
        numbers: their numbers among the solver's bodies.
        order: 3 or 9.
        rests: the rest clusters of each body; bodies of one rest shape have the same.
        rest: rest positions of all particles in the world [m] (n, 3).
        device: where they live.

    Attributes:
        first, count: the run of particles.
        cluster_starts: first cluster of each body, and the end (b + 1,).
        table_starts: first row of each body in the tables of rest shapes (b,).
        anchor, rotation, plastic: what is remembered of each cluster: its last centre [m], its last rotation, and the
            map from the rest shape to the one it has taken on (c, 3 order).
        maps: what the last fit left for the members, see `MatchKernels`.
    """

    def __init__(
        self,
        bodies: list[Body],
        numbers: list[int],
        order: int,
        rests: Sequence[RestClusters | RestLattice],
        rest: np.ndarray,
        device: str,
    ) -> None:
        self.bodies = bodies
        self.numbers = numbers
        self.order = order
        self.device = device
        self.code: MatchKernels = match_kernels(order)
        self.first = bodies[0].particles[0]
        self.count = bodies[-1].particles[1] - self.first
        self.rests = rests
        self.homes = [
            rest[body.particles[0]] + (r.centre - shape_of(body).mesh.vertices[0]) @ body.turn.T
            for body, r in zip(bodies, rests, strict=True)
        ]
        # the tables of each rest shape stand on the device once
        unique = list({id(r): r for r in rests}.values())
        place = {id(r): k for k, r in enumerate(unique)}
        self.which = [place[id(r)] for r in rests]
        joined = lambda key: np.concatenate([getattr(r, key) for r in unique])
        self.radius = self.floats(joined("radius"), float)
        self.means = self.floats(in_fours(joined("means")), float)
        self.inverse = self.floats(inverse_rows(joined("inverse")), float)
        self.missing = self.floats(inverse_rows(joined("missing")), float)
        self.slope = self.floats(inverse_rows(joined("slope")), float)
        self.lacks = self.ints(joined("lacks"))
        first = starts([r.count for r in unique])
        self.table_starts = [int(first[k]) for k in self.which]
        self.cluster_starts = starts([r.count for r in rests])
        self.cluster_rest = self.ints(np.concatenate([np.arange(first[k], first[k + 1]) for k in self.which]))
        self.cluster_body = self.ints(np.repeat(numbers, [r.count for r in rests]))
        clusters = int(self.cluster_starts[-1])
        self.goals = wp.zeros(clusters, dtype=wp.vec4, device=device)
        self.anchor = wp.zeros(clusters, dtype=wp.vec3, device=device)
        self.rotation = wp.zeros(clusters, dtype=wp.quat, device=device)
        self.plastic = wp.zeros((clusters, 3 * order), dtype=float, device=device)
        self.maps = wp.zeros((clusters, self.code.maps), dtype=float, device=device)
        self._reset_rows(np.ones(clusters, bool))

    def floats(self, values: np.ndarray, dtype: Any) -> wp.array:
        """Numbers as float32 on the device."""
        return wp.array(np.ascontiguousarray(values, np.float32), dtype=dtype, device=self.device)

    def ints(self, values: np.ndarray, dtype: Any = int) -> wp.array:
        """Whole numbers as int32 on the device."""
        return wp.array(np.ascontiguousarray(values, np.int32), dtype=dtype, device=self.device)

    # ---- the step -----------------------------------------------------------------------------------------------

    def fit(self, state: State, bodies: wp.array, step: MidStep) -> None:
        """Fit every cluster to its members at the middle of the step."""
        raise NotImplementedError

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
        raise NotImplementedError

    def energy(self, k: int, x: np.ndarray, goals: Sequence[Goals]) -> float:
        """Elastic energy of a body over the square of its frequency [kg m^2], its particles at x [m] (n, 3)."""
        raise NotImplementedError

    def set_goals(self, k: int, goals: Sequence[Goals]) -> None:
        """What the clusters of a body are pulled to, each or all alike."""
        rows = np.array([dataclasses.astuple(one) for one in goals], np.float32)
        place = self.clusters_of(k)
        self.goals[place].assign(np.broadcast_to(rows, (place.stop - place.start, 4)))

    def place(self, k: int, constants: BodyMatch) -> None:
        """Tell a body's constants where its particles and clusters begin."""
        constants.first_particle = self.bodies[k].particles[0]
        constants.first_cluster = int(self.cluster_starts[k])

    def _fit_clusters(self, bodies: wp.array, sums: wp.array, step: MidStep) -> None:
        """Fit the clusters whose members' sums are given."""
        launch(
            self.code.fit,
            len(self.anchor),
            [*self._tables(), bodies, sums, step.awake],
            [*self._remembered(), self.maps],
            device=self.device,
            grain=64,
            block_dim=32,
        )

    def _tables(self) -> list[wp.array]:
        """What the clusters are at rest, as the kernels take it."""
        shapes = [self.radius, self.means, self.inverse, self.missing, self.slope, self.lacks]
        return [self.cluster_rest, self.cluster_body, *shapes, self.goals]

    def _remembered(self) -> list[wp.array]:
        """What is remembered of the clusters, as the kernels take it."""
        return [self.anchor, self.rotation, self.plastic]

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

    @property
    def clusters(self) -> int:
        """Number of clusters of all bodies."""
        return len(self.anchor)

    def clusters_of(self, k: int) -> slice:
        """The clusters of a body."""
        return slice(int(self.cluster_starts[k]), int(self.cluster_starts[k + 1]))

    def plastic_of(self, k: int) -> np.ndarray:
        """The maps from a body's rest shape to the one it has taken on (c, 3, order)."""
        return self.plastic.numpy()[self.clusters_of(k)].reshape(-1, 3, self.order).astype(np.float64)

    def reset_shape(self, k: int) -> None:
        """Give a body its original rest shape back."""
        values = self.plastic.numpy().copy()
        values[self.clusters_of(k)] = np.concatenate([np.eye(3), np.zeros((3, self.order - 3))], axis=1).reshape(-1)
        self.plastic.assign(values)


def shape_of(body: Body) -> RestShape:
    """The rest shape that a body shares with others made of the same mesh."""
    assert body.rest_shape is not None
    return body.rest_shape


def starts(counts: Sequence[int]) -> np.ndarray:
    """Where each of several pieces begins when they stand one after the other, and the end (n + 1,) int64."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


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
