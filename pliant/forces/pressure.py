"""Gas inside a closed surface: the pressure model of Matyka and Ollila."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

from pliant.errors import InputError
from pliant.physics.pressure import GAS, LEAST_SHARE
from pliant.settings import Described, setting


@dataclasses.dataclass(frozen=True)
class Pressure(Described):
    """An ideal gas at constant temperature that fills a closed surface.

    Matyka and Ollila (2003, "Pressure model of soft body simulation") push every face of a closed mass-spring surface
    outwards with P = nRT/V times its area, and choose nRT by hand. Here nRT follows from two pressures in SI, so that
    it does not change with the mesh or its size: p(V) = (ambient + overpressure) V0/V - ambient. The force on vertex i
    is p dV/dx_i, a third of the area normals around it: the negative gradient of
    E(V) = ambient (V - V0) - (ambient + overpressure) V0 ln(V/V0). Below 2 % of the rest volume the pressure of 2 %
    is kept. An overpressure of zero is a sealed body, of which neither side pushes until it is squeezed. A body spread
    so flat that its volume answers too fast for the step gets the part of the change of pressure that the step stands.

    A balloon is filled over the time `rise`; `Simulation.set_pressure` lets gas in or out later. With a `gas_density`
    the pressures of gas and air grow downwards with their weights, so that the body is lifted by what the air in its
    place would weigh and pulled down by the weight of the gas; the gas has no inertia.
    """

    kind: ClassVar[str] = "pressure"
    law: ClassVar[int] = int(GAS)

    overpressure: float = setting(
        500.0, "pressure inside above that outside, at the rest volume", unit="Pa", low=0.0, high=1e12
    )
    ambient: float = setting(
        101325.0, "pressure outside; the larger, the stiffer the gas", unit="Pa", low=0.0, high=1e12
    )

    rise: float = setting(
        0.0, "time over which the overpressure grows evenly from nothing", unit="s", low=0.0, high=1e6
    )
    gas_density: float | None = setting(
        None,
        "density of the gas, which floats in the air of the scene: helium 0.17, hot air 0.95; no buoyancy if not given",
        unit="kg/m^3",
        low=0.0,
        high=1e5,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.overpressure + self.ambient <= 0.0:
            raise InputError(
                "both pressures are 0, so there is no gas",
                "Pressure.overpressure",
                "Give an overpressure or an ambient pressure above 0",
            )

    def energy(self, share: float, rest_volume: float) -> float:
        """E of V = share * V0 [J]."""
        least = float(LEAST_SHARE)
        inside = self.ambient + self.overpressure
        held = max(share, least)
        squeezed = inside * (min(share, least) - least) / least
        return rest_volume * (self.ambient * (share - 1.0) - inside * math.log(held) - squeezed)
