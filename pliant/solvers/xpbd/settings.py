"""Settings of XPBD."""

from __future__ import annotations

import dataclasses

from pliant.settings import Described, setting

STRETCH = ("auto", "edges", "triangles")
BENDING = ("isometric", "dihedral", "distance", "none")


@dataclasses.dataclass(frozen=True)
class XpbdSettings(Described):
    """Settings of XPBD."""

    iterations: int = setting(
        1, "passes over all constraints per substep; more substeps do more than more passes", low=1, high=1000
    )
    stretch: str = setting(
        "auto",
        "how a sheet resists stretching: distances along its edges, or the strain of its triangles; 'auto' takes edges "
        "unless the material has a weft, a shear or a Poisson's ratio that edges cannot have, or can tear",
        choices=STRETCH,
    )
    bending: str = setting(
        "isometric",
        "how a sheet resists bending: quadratically, which keeps to its triangles' angles where it is curved at rest; "
        "by the angle between triangles; by distances across edges; or not at all",
        choices=BENDING,
    )
    long_range: bool = setting(
        False, "keep vertices of sheets from being further from the nearest pins than along the cloth"
    )
    long_range_slack: float = setting(
        0.01, "share by which the way along the cloth to a pin may be longer than at rest", low=0.0, high=10.0
    )
    rest_speed: float = setting(0.02, "approach slower than this does not bounce", unit="m/s", low=0.0, high=100.0)
