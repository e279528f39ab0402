"""Settings of the finite-element method."""

from __future__ import annotations

import dataclasses

from pliant.settings import Described, setting

ENERGIES = ("corotated", "neo_hookean")
INTEGRATORS = ("implicit", "descent")


@dataclasses.dataclass(frozen=True)
class FemSettings(Described):
    """Settings of the finite-element method."""

    energy: str = setting(
        "corotated",
        "how stress follows from strain: linear in axes that turn along, or as in rubber that is stretched far",
        choices=ENERGIES,
    )
    integrator: str = setting(
        "implicit",
        "how a step is solved: by conjugate gradients, or by vertex block descent, one particle after the other",
        choices=INTEGRATORS,
    )
    iterations: int = setting(
        1, "linear solves per substep of 'implicit'; more than one is Newton's method", low=1, high=100
    )
    sweeps: int = setting(20, "passes over all particles per substep of 'descent'", low=1, high=10000)
    cg_iterations: int = setting(300, "most iterations of each linear solve", low=1, high=100000)
    preconditioner: str = setting(
        "lattices",
        "what quickens a linear solve: the block of each particle alone, or lattices around the body besides, with "
        "which its iterations hardly grow with the mesh",
        choices=("lattices", "blocks"),
    )
    cg_tolerance: float = setting(1e-3, "relative residual at which a linear solve stops", above=0.0, high=0.5)
    rest_speed: float = setting(0.02, "approach slower than this does not bounce", unit="m/s", low=0.0, high=100.0)
