"""The volume of a closed surface as a whole is kept, after Hong et al."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from pliant.physics.pressure import BULK
from pliant.settings import Described, setting


@dataclasses.dataclass(frozen=True)
class GlobalVolume(Described):
    """A closed surface that resists a change of the volume it encloses.

    Hong, Jung, Choi and Welch (2006, "Fast volume preservation for a mass-spring system") measure the volume of a
    mass-spring surface by the divergence theorem and correct it as a whole by moving the vertices along their
    area-weighted normals, which are the gradient dV/dx_i. Their correction is a constraint; here it is the energy
    E = K V0/2 (V/V0 - 1)^2 with a bulk modulus K, which has the same direction, does not change with the mesh or the
    step, and keeps momentum: the force on vertex i is -K (V/V0 - 1 + damping V'/V0) dV/dx_i. A body spread so flat that
    its volume answers too fast for the step gets the part of this that the step stands.
    """

    kind: ClassVar[str] = "global_volume"
    law: ClassVar[int] = int(BULK)

    stiffness: float | None = setting(
        None,
        "pressure per relative change of volume; the material's bulk modulus if not given",
        unit="Pa",
        above=0.0,
        high=1e13,
    )
    damping: float | None = setting(
        None,
        "damping of the volume's change, over the stiffness; the material's or a quarter of the critical one "
        "if not given",
        unit="s",
        low=0.0,
        high=10.0,
    )

    def energy(self, share: float, rest_volume: float) -> float:
        """E of V = share * V0 [J]; the stiffness must be known."""
        assert self.stiffness is not None
        return 0.5 * self.stiffness * rest_volume * (share - 1.0) ** 2
