"""What can be fitted of each method: its stiffness at rest in terms of two numbers."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.calibration.cluster_stiffness import ClusterStiffness
from pliant.calibration.conjugate import Product, block_inverse
from pliant.calibration.element_stiffness import spring_stiffness, volume_stiffness
from pliant.calibration.fit import Family
from pliant.materials import Material, spring_constants
from pliant.model.model import Elements
from pliant.solvers.shape_matching.rest import rest_clusters
from pliant.solvers.shape_matching.settings import Matching

LEAST_FREE = 0.1
"""1 - beta is at least this: goals that follow all of a deformation need a frequency that no step resolves."""


def spring_family(x: np.ndarray, elements: Elements, material: Material) -> Family:
    """Mass-spring bodies: factors of all spring constants, and the bulk modulus of volumes over Young's modulus."""
    constants, _ = spring_constants(material)
    springs = spring_stiffness(x, elements.springs)
    volumes = volume_stiffness(x, elements.tets, material.young)
    diagonals = springs.diagonal(), volumes.diagonal()

    def whole(numbers: np.ndarray) -> Product:
        both = springs.plus(volumes, numbers[0], numbers[1])
        if both is not None:
            return both.__matmul__
        return lambda u: numbers[0] * (springs @ u) + numbers[1] * (volumes @ u)

    bulk = constants.volume_modulus / material.young
    # volumes should be kept about as well as the material says, and not cost many more steps
    most = 1.25 * bulk if bulk > 0.0 else material.bulk_modulus / material.young
    return Family(
        parts=lambda u: np.stack([springs @ u, volumes @ u]),
        whole=whole,
        weights=lambda numbers: numbers,
        inverse=lambda numbers: block_inverse(numbers[0] * diagonals[0] + numbers[1] * diagonals[1]),
        start=(1.0, bulk),
        bounds=((0.05, 20.0), (0.5 * bulk, most)),
        log=(True, False),
    )


@dataclasses.dataclass(eq=False)
class MatchedBody:
    """A shape-matched body.

    Attributes:
        family: its stiffness. squared: the square of the frequency that the material gives [1/s^2].
        stiffness: the parts of it.
    """

    family: Family
    squared: float
    stiffness: ClusterStiffness

    def damping_rate(self, fields: np.ndarray, work: np.ndarray) -> float:
        """Rate [1/s] per second of damping with which fields (t, n, 3) that take work (t,) die as they should.

        A mode of frequency w should die at the rate damping * w^2. What is damped is the motion besides the clusters'
        own rigid ones, which is but a part of it: u D u of u M u, so the rate is damping * (u K u) / (u D u).
        """
        parts = np.stack([self.stiffness.products(field)[:2].sum(axis=0) for field in fields])
        damped = (fields * parts).sum(axis=(1, 2))
        good = damped > 1e-9 * damped.max()
        return float(np.exp(np.mean(np.log(work[good] / damped[good]))))


def matched_family(
    x: np.ndarray, elements: Elements, material: Material, matching: Matching, volume: float
) -> MatchedBody:
    """Shape-matched bodies: the squared frequency over 2 mu V / M, and beta."""
    assert elements.clusters is not None
    rest = rest_clusters(x, elements.mass, elements.clusters, matching.order)
    squared = 2.0 * material.shear_modulus * volume / max(rest.moment, 1e-30)
    stiffness = ClusterStiffness.of(rest, len(x), matching.keep_volume)
    rigid = matching.mode == "rigid"
    beta = 0.0 if rigid else min(matching.beta, 1.0 - LEAST_FREE)

    def weights(numbers: np.ndarray) -> np.ndarray:
        return squared * numbers[0] * np.array([1.0, 1.0 - numbers[1], numbers[1]])

    family = Family(
        parts=stiffness.products,
        whole=lambda numbers: lambda u: np.tensordot(weights(numbers), stiffness.products(u), axes=1),
        weights=weights,
        inverse=lambda numbers: 1.0 / (squared * numbers[0] * elements.mass[:, None]),
        start=(1.0 / (1.0 - beta), beta),
        bounds=((0.01, 1000.0), (0.0, 0.0 if rigid else 1.0 - LEAST_FREE)),
        log=(True, False),
    )
    return MatchedBody(family, squared, stiffness)
