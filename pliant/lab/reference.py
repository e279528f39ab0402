"""Answers of linear finite elements of a specimen's own mesh, in float64: the reference for small loads."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from pliant.calibration.conjugate import block_inverse, solve
from pliant.calibration.element_stiffness import tet_stiffness
from pliant.errors import InputError
from pliant.lab.specimen import Specimen
from pliant.materials import Material
from pliant.model.tets import signed_volumes


@dataclasses.dataclass(eq=False)
class Reference:
    """A specimen that is held at one end, as linear finite elements."""

    specimen: Specimen
    material: Material

    def __post_init__(self) -> None:
        x, tets = self.specimen.mesh.vertices, self.specimen.tets()
        self.x = x
        self.matrix = tet_stiffness(x, tets, self.material.young, self.material.poisson)
        volume = signed_volumes(x, tets)
        self.mass = np.bincount(tets.reshape(-1), np.repeat(0.25 * self.material.density * volume, 4), len(x))
        self.free = np.ones((len(x), 1))
        self.free[self.specimen.held] = 0.0
        self.inverse = block_inverse(self.matrix.diagonal())

    def under(self, load: np.ndarray) -> np.ndarray:
        """Displacements (n, 3) under forces (n, 3) [N]."""
        found = solve(self.matrix.__matmul__, self.free * load, self.inverse, free=self.free)
        if found is None:
            raise InputError("finite elements found no equilibrium", "reference", "Use a mesh with better tets")
        return found

    def field(self, acceleration: np.ndarray) -> np.ndarray:
        """Displacements (n, 3) under an acceleration (3,) or one of each vertex (n, 3) [m/s^2]."""
        return self.under(self.mass[:, None] * np.broadcast_to(acceleration, self.x.shape))

    def frequency(self, field: np.ndarray) -> float:
        """Frequency of the mode near to a field [Hz]: one inverse iteration, then Rayleigh's quotient."""
        better = self.under(self.mass[:, None] * field)
        stiff = float((better * (self.matrix @ better)).sum())
        return math.sqrt(stiff / float((self.mass[:, None] * better**2).sum())) / (2.0 * math.pi)
