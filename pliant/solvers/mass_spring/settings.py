"""Settings of the mass-spring method."""

from __future__ import annotations

import dataclasses

from pliant.errors import InputError
from pliant.settings import Described, setting
from pliant.solvers.mass_spring import constants

INTEGRATORS = ("symplectic", "verlet", "euler", "midpoint", "rk4", "implicit", "hybrid")
DAMPING_FORMS = {"rate": constants.RATE, "corner": constants.CORNER}


@dataclasses.dataclass(frozen=True)
class MassSpringSettings(Described):
    """Settings of the mass-spring method."""

    integrator: str = setting("symplectic", "how positions and velocities are advanced", choices=INTEGRATORS)
    strain_limit: float = setting(
        0.0, "longest a spring may become, over its rest length; 0 switches the limit off", low=0.0, high=100.0
    )
    compression_limit: float = setting(
        0.0, "shortest a spring may become, over its rest length; 0 switches the limit off", low=0.0, high=1.0
    )
    strain_limit_on: str = setting(
        "all",
        "which springs the limits hold: along the edges of the mesh, the diagonals of its quads too, or all of them",
        choices=("structural", "structural_shear", "all"),
    )
    strain_passes: int = setting(8, "passes of the strain limit per substep", low=1, high=1000)
    volume_damping_form: str = setting(
        "rate",
        "'rate' damps the change of volume; 'corner' each corner of a tet against the others",
        choices=("rate", "corner"),
    )
    newton_steps: int = setting(2, "linear solves per substep of the implicit integrator", low=1, high=100)
    cg_iterations: int = setting(300, "most iterations of each linear solve, implicit or hybrid", low=1, high=10000)
    cg_tolerance: float = setting(1e-5, "relative residual at which a linear solve stops", above=0.0, high=0.5)
    rest_speed: float = setting(0.02, "approach slower than this does not bounce", unit="m/s", low=0.0, high=100.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0.0 < self.strain_limit < 1.0:
            raise InputError(
                f"{self.strain_limit:g} would shrink the body below its rest shape",
                "Settings.strain_limit",
                "Give 0 to switch the limit off, or at least 1: a tenth of strain is 1.1",
            )
