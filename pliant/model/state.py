"""What changes while a simulation runs."""

from __future__ import annotations

import numpy as np
import warp as wp


class State:
    """Particle-sized device arrays, updated in place.

    Attributes:
        x, v: positions [m] and velocities [m/s] at the start of the substep.
        x_next, v_next: where the solvers' predictions go.
        f_ext: external force [N] of the forces that act on single particles (a pull, wind).
        inv_mass: inverse masses [1/kg]; zero where a particle is pinned, set aside, or of a body that sleeps.
        awake: 1 for each body (b,) that moves, 0 for one that sleeps: what has not moved need not be computed.
    """

    def __init__(self, x: np.ndarray, v: np.ndarray, mass: np.ndarray, device: str, bodies: int = 1):
        self.count = len(mass)
        self.x = wp.array(x.astype(np.float32), dtype=wp.vec3, device=device)
        self.v = wp.array(v.astype(np.float32), dtype=wp.vec3, device=device)
        self.x_next = wp.clone(self.x)
        self.v_next = wp.clone(self.v)
        self.f_ext = wp.zeros(self.count, dtype=wp.vec3, device=device)
        # particles that are set aside have no mass and do not move
        inverse = np.divide(1.0, mass, out=np.zeros(self.count), where=mass > 0.0)
        self.inv_mass = wp.array(inverse.astype(np.float32), dtype=float, device=device)
        self.awake = wp.ones(bodies, dtype=int, device=device)

    def awake_of(self, bodies: tuple[int, int]) -> wp.array:
        """The part of `awake` that is about a run of bodies: the same memory."""
        return self.awake[bodies[0] : bodies[1]]

    def checkpointed(self) -> dict[str, wp.array]:
        """The arrays that a checkpoint must hold; the others are written before they are read."""
        return {"x": self.x, "v": self.v, "inv_mass": self.inv_mass}
