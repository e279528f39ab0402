"""What a user can set of the layered method."""

from __future__ import annotations

import dataclasses

from pliant.settings import Described, setting


@dataclasses.dataclass(frozen=True)
class LayeredSettings(Described):
    """Settings of the layered method."""

    tolerance: float = setting(
        1e-4, "error of the layer's implicit step over its size, which the number of iterations follows", above=0.0,
        high=0.1,
    )  # fmt: skip
    most_iterations: int = setting(200, "iterations of a solve at most", low=1, high=10_000)
    keep_momentum: bool = setting(True, "give back what of both momenta a step of finite length loses")
    contact_rounds: int = setting(8, "how often it is asked which contacts press", low=1, high=50)
    friction_rounds: int = setting(8, "how often it is asked which contacts stick", low=0, high=50)
    rest_speed: float = setting(0.05, "approach slower than this does not bounce", unit="m/s", low=0.0, high=100.0)
    planes: bool = setting(
        True, "layered bodies meet each other on contact planes; else by vertices and triangles, as those of others do"
    )
