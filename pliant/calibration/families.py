"""What can be fitted of each method: its stiffness at rest in terms of a few numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from pliant.calibration.block_matrix import BlockMatrix
from pliant.calibration.cluster_stiffness import ClusterStiffness
from pliant.calibration.element_stiffness import spring_stiffness, volume_stiffness
from pliant.calibration.loads import Trial
from pliant.calibration.slabs import Slabs, thinnest_levels
from pliant.materials import Material, spring_constants
from pliant.model.model import Elements
from pliant.solvers.protocol import Calibration
from pliant.solvers.shape_matching.constants import plain_goals
from pliant.solvers.shape_matching.rest import rest_clusters
from pliant.solvers.shape_matching.settings import Matching

FREE_MASS = 1e-6
"""Stiffness over mass that is added to a free body, so that it stays where it is; its own is of the order of one."""
HELD = 1e4
"""Stiffness of what holds a particle, over that of the particle."""
STUCK = 1e3
"""How much a change counts of a number that is not to change."""
STRONG = 1.0
"""Logarithm of the pull over that of the formulas beyond which it costs."""
DEAR = 0.2
"""What it costs then, as the miss of a test that is as large as the logarithm."""
WEAK = -0.7
"""Logarithm of a cluster's pull over that of the material below which it costs, and how much: what presses on a few
particles is held by the pull alone, and no test shows that. Bars of weak clusters are cut through by a ridge."""
FIRM = 10.0
FAITH_IN_VOLUME = 3.0
FAITH = 0.02
FAITH_IN_CLUSTERS = 0.05
"""How much a change counts of a number of a whole body, and of a cluster, as the miss of a test that is as large."""


def solved(slabs: Slabs, stiffest: float, mass: np.ndarray, trial: Trial) -> np.ndarray:
    """Displacements (t, n, 3) of a matrix in slabs under the loads of a trial."""
    added = FREE_MASS * mass if trial.free else np.where(trial.loose > 0.0, 0.0, HELD * stiffest)
    return slabs.factor(added).solve(trial.loads) * trial.loose[:, None]


@dataclasses.dataclass(eq=False)
class SpringFamily:
    """Mass-spring bodies: a factor of all spring constants, and the bulk modulus of volumes over Young's modulus."""

    springs: BlockMatrix
    volumes: BlockMatrix
    level: np.ndarray
    mass: np.ndarray
    start: np.ndarray
    faith: np.ndarray
    steps: int = 2
    """What gives in is one over the factor, and nearly so over both numbers: the second step is small."""

    @staticmethod
    def of(x: np.ndarray, elements: Elements, material: Material) -> SpringFamily:
        constants, _ = spring_constants(material)
        springs = spring_stiffness(x, elements.springs)
        volumes = volume_stiffness(x, elements.tets, material.young)
        bulk = constants.volume_modulus / material.young
        # volumes should be kept about as well as the material says: firmer ones blow up where a body is squeezed flat
        faith = np.array([FAITH, FAITH_IN_VOLUME if bulk > 0.0 else STUCK])
        level, _ = thinnest_levels(springs.plus(volumes, 1.0, 1.0), x)
        return SpringFamily(springs, volumes, level, elements.mass, np.log([1.0, max(bulk, 1e-9)]), faith)

    def answers(self, logs: np.ndarray, trial: Trial) -> np.ndarray:
        whole = self.springs.plus(self.volumes, *np.exp(logs))
        stiffest = float(np.trace(whole.diagonal(), axis1=1, axis2=2).max())
        return solved(Slabs.of(whole, self.level), stiffest, self.mass, trial)

    def energies(self, logs: np.ndarray, fields: np.ndarray, others: np.ndarray) -> np.ndarray:
        u, v = (np.ascontiguousarray(part.transpose(1, 2, 0)) for part in (fields, others))
        parts = [(v * (matrix @ u)).sum(axis=(0, 1)) for matrix in (self.springs, self.volumes)]
        return np.stack(parts, axis=1) * np.exp(logs)

    @property
    def work(self) -> float:
        """About how many operations the answers to a trial take."""
        return Slabs.work(self.level)

    def costs(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nothing: substeps change with the root of the factor, which is near to one."""
        return np.zeros(0), np.zeros((0, len(logs)))

    def calibration(self, logs: np.ndarray, trials: Sequence[Trial]) -> Calibration:
        factor, bulk = np.exp(logs)
        return Calibration((rounded(factor), rounded(bulk) if bulk > 1e-8 else 0.0))


@dataclasses.dataclass(eq=False)
class MatchedFamily:
    """Shape-matched bodies: what goals pull by of what a fit leaves, of stretch and shear, of volume, of bend and
    twist, and by how much each cluster pulls.

    Attributes:
        stiffness: its parts. squared: the square of the frequency that the material gives [1/s^2].
        tie: the number that each of the parts has; -1 for a part that is nothing.
    """

    stiffness: ClusterStiffness
    squared: float
    tie: np.ndarray
    start: np.ndarray
    faith: np.ndarray
    steps: int = 12

    @staticmethod
    def of(
        x: np.ndarray, elements: Elements, material: Material, matching: Matching, volume: float, yields: bool
    ) -> MatchedFamily:
        assert elements.clusters is not None
        rest = rest_clusters(x, elements.mass, elements.clusters, matching.order)
        squared = 2.0 * material.shear_modulus * volume / max(rest.moment, 1e-30)
        goals = plain_goals(matching)
        pull = squared / (1.0 - goals.beta)
        rigid = matching.mode == "rigid"
        # rotations of bodies that yield are found with what is bent: it must be followed as the rest is
        bends = matching.order > 3 and not yields
        tie = np.array([0, 0 if rigid else 1, 2 if goals.volume > 0.0 else -1, 3 if bends else 0 if rigid else 1])
        numbers = np.array([pull, squared, pull * goals.volume, squared])
        used, place = np.unique(tie[tie >= 0], return_inverse=True)
        tie[tie >= 0] = place
        clusters = rest.count
        return MatchedFamily(
            ClusterStiffness.of(rest, len(x)),
            squared,
            tie,
            np.concatenate([np.log(numbers[used]), np.zeros(len(used) * clusters)]),
            np.repeat([FAITH, FAITH_IN_CLUSTERS if clusters > 1 else STUCK], [len(used), len(used) * clusters]),
        )

    def weights(self, logs: np.ndarray) -> np.ndarray:
        """Of each part of each cluster (4, c)."""
        clusters = self.stiffness.rest.count
        used = len(logs) // (1 + clusters)
        each = np.exp(logs[:used, None] + logs[used:].reshape(used, clusters))
        return np.where(self.tie[:, None] >= 0, each[self.tie], 0.0)

    def answers(self, logs: np.ndarray, trial: Trial) -> np.ndarray:
        return self.stiffness.solve(self.weights(logs), trial.loads, trial.loose)

    def energies(self, logs: np.ndarray, fields: np.ndarray, others: np.ndarray) -> np.ndarray:
        each = self.stiffness.energies(fields, others) * self.weights(logs)[:, :, None]
        tied = np.stack([each[self.tie == number].sum(axis=0) for number in range(self.tie.max() + 1)])
        return np.concatenate([tied.sum(axis=1), tied.reshape(-1, tied.shape[2])]).T

    def costs(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pulls that are so strong that they take shorter steps, those of each cluster for each part; and those of
        whole clusters that are so weak that bodies are dented."""
        clusters, number = self.stiffness.rest.count, len(logs)
        used = number // (1 + clusters)
        over = np.repeat(logs[:used], clusters) + logs[used:] - (self.start[0] + STRONG)
        slopes = np.zeros((len(over), number))
        slopes[np.arange(len(over)), np.arange(len(over)) // clusters] = DEAR
        slopes[np.arange(len(over)), used + np.arange(len(over))] = DEAR
        under = over[:clusters] + self.start[0] + STRONG - (np.log(self.squared) + WEAK)
        is_weak = under < 0.0
        firm = slopes[:clusters][is_weak] * (FIRM / DEAR)
        costs = np.concatenate([DEAR * over[over > 0.0], FIRM * under[is_weak]])
        return costs, np.concatenate([slopes[over > 0.0], firm])

    @property
    def work(self) -> float:
        """About how many operations the answers to a trial take."""
        particles, rows = self.stiffness.gather.shape
        return 2.0 * (3.0 * rows) ** 3 + 2.0 * particles * rows**2

    def damping_rate(self, logs: np.ndarray, trials: Sequence[Trial]) -> float:
        """Rate [1/s] per second of damping with which a held body that leans dies down as it should.

        A mode of frequency w should die at the rate damping * w^2. What is damped is the motion besides the clusters'
        own rigid ones, which is but a part of it: u D u of u M u, so the rate is damping * (u K u) / (u D u).
        """
        logarithms = []
        for trial in trials:
            if not trial.free:
                fields = self.answers(logs, trial)
                fields = fields[:3]
                work = (trial.loads[:3] * fields).sum(axis=(1, 2))
                damped = self.stiffness.energies(fields, fields)[[0, 1, 3]].sum(axis=(0, 1))
                logarithms.append(np.log(work / np.maximum(damped, 1e-9 * damped.max())))
        return float(np.exp(np.mean(np.concatenate(logarithms))))

    def calibration(self, logs: np.ndarray, trials: Sequence[Trial]) -> Calibration:
        """What the solver takes: the pull is that of the stiffest particle, so that it knows which step is stable."""
        weights = self.weights(logs)
        share = self.stiffness.share
        most = float(((self.stiffness.reach(weights) @ share) / share.sum(axis=0)).max())
        rate = self.damping_rate(logs, trials) / self.squared
        follows = 1.0 - weights[[1, 3]] / weights[0]
        clusters = np.stack([weights[0] / most, *follows, weights[2] / weights[0]], axis=1)
        rows = tuple(tuple(map(rounded, row)) for row in clusters)
        return Calibration((rounded(most / self.squared),), rounded(rate), rows)


def rounded(value: float) -> float:
    """To six digits: other machines and numbers of threads sum in other orders."""
    return float(f"{value:.6g}")
