"""What the regions of a lattice are at rest, found by running sums: no table of their members is ever made."""

from __future__ import annotations

import dataclasses

import numpy as np
import warp as wp

from pliant.launch import launch, pick_device
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.lattice_runs import LatticeRuns, as_region_width, lattice_runs
from pliant.solvers.shape_matching.energy import best_rotations, volume_energy
from pliant.solvers.shape_matching.lattice_kernels import SUMS, run_kernels
from pliant.solvers.shape_matching.rest import inverse_moments

SQUARES = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
"""The products of a vector with itself that are summed."""


@dataclasses.dataclass(eq=False)
class RestLattice:
    """The regions of one rest shape, one for each particle, in float64.

    A particle's weight is its mass over the number of regions that hold it, as in `RestClusters`.

    Attributes:
        runs: of the lattice, along x, y and z. width: steps from the middle of a region to its end.
        origin: where rest positions are measured from [m] (3,).
        q: rest position of each particle about the origin [m] (n, 3).
        weight: [kg] (n,).
        held: number of regions that hold each particle (n,).
        mass, centre, radius: of each region [kg] (n,), [m] (n, 3), [m] (n,).
        moments: second moments of places about the centre, over the radius (n, 3, 3).
        inverse, missing, lacks: see `RestClusters`.
    """

    runs: tuple[LatticeRuns, LatticeRuns, LatticeRuns]
    width: int
    origin: np.ndarray
    q: np.ndarray
    weight: np.ndarray
    held: np.ndarray
    mass: np.ndarray
    centre: np.ndarray
    radius: np.ndarray
    moments: np.ndarray
    inverse: np.ndarray
    missing: np.ndarray
    lacks: np.ndarray

    @property
    def count(self) -> int:
        return len(self.radius)

    @property
    def middle(self) -> np.ndarray:
        """Centre of each region about the origin [m] (n, 3)."""
        return self.centre - self.origin

    @property
    def means(self) -> np.ndarray:
        """Mean of each function over a region (n, 3)."""
        return np.zeros((self.count, 3))

    @property
    def slope(self) -> np.ndarray:
        """That of the quadratic functions, of which there are none (n, 3, 0)."""
        return np.zeros((self.count, 3, 0))

    @property
    def moment(self) -> float:
        """A third of the sum of m |q|^2 over all regions [kg m^2]."""
        return float((self.mass * self.radius**2).sum()) / 3.0

    def energy(self, x: np.ndarray, plastic: np.ndarray, beta: float, keep_volume: bool = False) -> float:
        """Elastic energy over the square of the frequency [kg m^2] of particles at x [m] (n, 3), as `body_energy`."""
        y = x - x.mean(axis=0)
        columns = [self.weight[:, None] * y]
        columns += [(self.weight * y[:, i])[:, None] * self.q for i in range(3)]
        columns += [(self.weight * y[:, i] * y[:, j])[:, None] for i, j in SQUARES[:3]]
        sums = region_sums(self.runs, self.width, np.concatenate(columns, axis=1)) / self.mass[:, None]
        mean, size = sums[:, :3], self.radius[:, None, None]
        apq = (sums[:, 3:12].reshape(-1, 3, 3) - mean[:, :, None] * self.middle[:, None, :]) / size**2
        spread = (sums[:, 12:].sum(axis=1) - (mean**2).sum(axis=1)) / self.radius**2
        turn = best_rotations(apq @ plastic.transpose(0, 2, 1))
        fit = apq @ self.inverse + turn @ self.missing
        strain = fit - turn @ plastic
        within = lambda a, b: np.einsum("cij,cjk,cik->c", a, self.moments, b)
        left = spread - 2.0 * (fit * apq).sum(axis=(1, 2)) + within(fit, fit)
        each = np.maximum(left, 0.0) + (1.0 - beta) * within(strain, strain)
        if keep_volume:
            each += 2.0 * beta * volume_energy(fit, self.inverse, self.lacks)
        return 0.5 * float((self.mass * self.radius**2 * each).sum())


def region_sums(runs: tuple[LatticeRuns, ...], width: int, values: np.ndarray, back: bool = False) -> np.ndarray:
    """Sums of values (n, k) over each region, or with `back` over the regions that hold each particle; k <= 24."""
    count, columns = values.shape
    device = pick_device("cpu")
    rows = np.zeros((count, SUMS))
    rows[:, :columns] = values
    here = wp.array(rows, dtype=wp.float64, device=device)
    there = wp.zeros_like(here)
    for axis in runs if back else runs[::-1]:
        size = np.diff(axis.starts)
        lines = np.stack([axis.starts[:-1], size, np.zeros_like(size), np.full_like(size, width)], axis=1)
        inputs = [
            wp.array(lines.astype(np.int32), dtype=wp.vec4i, device=device),
            wp.array(axis.items, dtype=int, device=device),
            wp.zeros(1, dtype=int, device=device),
            here,
            1,
            wp.ones(1, dtype=int, device=device),
        ]
        launch(run_kernels(SUMS)[0], axis.count, inputs, [there], device=device, grain=256)
        here, there = there, here
    return here.numpy()[:, :columns]


def rest_lattice(lattice: VoxelLattice, mass: np.ndarray, width: int) -> RestLattice:
    """Fit-ready regions of a lattice whose vertices weigh `mass` [kg] (n,)."""
    width = as_region_width(width, "matching.region_width")
    runs = lattice_runs(lattice)
    origin = np.average(lattice.vertices, axis=0, weights=mass)
    q = lattice.vertices - origin
    held = region_sums(runs, width, np.ones((len(q), 1)), back=True)[:, 0]
    weight = mass / held
    squares = np.stack([q[:, i] * q[:, j] for i, j in SQUARES], axis=1)
    sums = region_sums(runs, width, weight[:, None] * np.concatenate([np.ones((len(q), 1)), q, squares], axis=1))
    total = sums[:, 0]
    centre = sums[:, 1:4] / total[:, None]
    moments = np.empty((len(q), 3, 3))
    for k, (i, j) in enumerate(SQUARES):
        moments[:, i, j] = moments[:, j, i] = sums[:, 4 + k] / total - centre[:, i] * centre[:, j]
    squared = np.trace(moments, axis1=1, axis2=2)
    moments /= squared[:, None, None]
    inverse, missing, lacks = inverse_moments(moments)
    return RestLattice(
        runs, width, origin, q, weight, held, total, origin + centre, np.sqrt(squared), moments, inverse, missing, lacks
    )
