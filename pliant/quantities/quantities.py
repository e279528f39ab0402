"""The quantities by name, and what measures them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch
from pliant.model.model import Model
from pliant.model.state import State
from pliant.quantities.fan_strain import FanStrain
from pliant.quantities.strain import Strain
from pliant.quantities.strain_kernels import find_speed


@dataclasses.dataclass(frozen=True)
class Quantity:
    """One number per particle.

    Attributes:
        name: how it is asked for.
        unit: SI; empty for a bare number.
        meaning: in words.
    """

    name: str
    unit: str
    meaning: str


QUANTITIES: dict[str, Quantity] = {
    q.name: q
    for q in (
        Quantity("strain", "", "largest change of length in any direction, over the length at rest"),
        Quantity("stress", "Pa", "von Mises stress of the material's linear elasticity, turned with the body"),
        Quantity("speed", "m/s", "speed of the particle"),
        Quantity("contact", "N", "how hard other bodies and colliders press on it"),
    )
}
"""What can be measured of every body, by name."""


class Quantities:
    """Measures quantities of all particles; tables are made when first needed, and kept.

    Args:
        model: what is simulated.
        device: where it lives.

    Attributes:
        contact: gives how hard contacts press on each particle [N] (n,); nothing touches while it is None.
    """

    def __init__(self, model: Model, device: str):
        self._model = model
        self.device = device
        self.contact: Callable[[], np.ndarray] | None = None
        self._out = wp.zeros(model.particles.count, dtype=float, device=device)
        self._strain: Strain | None = None
        self._torn: FanStrain | None = None
        self._broken = np.zeros((0, 2), np.int64)

    def measure(self, name: str, state: State) -> wp.array:
        """A quantity of all particles (n,) float in the model's order, on the device; the next call overwrites it.

        Args:
            name: one of `QUANTITIES`.
            state: positions and velocities.
        """
        if name not in QUANTITIES:
            raise InputError(f"no quantity {name!r}", "quantity", f"Use one of: {', '.join(QUANTITIES)}")
        if name == "speed":
            launch(find_speed, state.count, [state.v], [self._out], device=self.device)
            return self._out
        if name == "contact":
            pressed = np.zeros(state.count) if self.contact is None else self.contact()
            self._out.assign(pressed.astype(np.float32))
            return self._out
        if self._strain is None:
            self._strain = Strain(self._model, self.device)
            if len(self._broken):
                self._strain.forget(self._broken)
        if name == "strain":
            self._strain.strain(state.x, self._out)
        else:
            self._strain.stress(state.x, self._out)
        if self._torn is not None:
            self._torn.measure(name, state.x, self._out)
        return self._out

    def forget(self, broken: np.ndarray) -> None:
        """Count no segments of rods between these pairs of particles (k, 2), which are broken, but all others."""
        self._broken = broken
        if self._strain is not None:
            self._strain.forget(broken)

    def follow(self, fans: list[wp.array], rest_inv: wp.array) -> None:
        """Measure sheets whose vertices split by the triangles that are around each particle; see `Tearing`."""
        self._torn = FanStrain(self._model, fans, rest_inv, self.device)
