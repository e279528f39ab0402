"""Settings of the Baraff-Witkin method."""

from __future__ import annotations

import dataclasses

from pliant.settings import Described, setting


@dataclasses.dataclass(frozen=True)
class BaraffWitkinSettings(Described):
    """Settings of the Baraff-Witkin method."""

    stretch_change: float = setting(
        0.1, "largest change of a triangle's stretch in a step; a step that does more is halved", above=0.0, high=100.0
    )
    halvings: int = setting(6, "how often a step may be halved; 0 keeps it", low=0, high=16)
    good_steps: int = setting(4, "steps in a row that must go well before the step is doubled again", low=1, high=1000)
    cg_iterations: int = setting(1000, "most iterations of each linear solve", low=1, high=10000)
    cg_tolerance: float = setting(1e-3, "relative residual at which a linear solve stops", above=0.0, high=0.5)
    poisson: bool = setting(True, "pulled cloth narrows by Poisson's ratio; false is the paper's, which has none")
    rest_speed: float = setting(0.02, "approach slower than this does not bounce", unit="m/s", low=0.0, high=100.0)
