"""What a linear solve has left of the momentum of bodies that nothing holds is given to all of their particles."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Model
from pliant.solvers.fem.data import Mesh
from pliant.solvers.fem.hold_kernels import Holds, is_held

wp.set_module_options({"enable_backward": False})

# Parts that the sums of a body are added up from, and parts of those.
PARTS, GROUPS = wp.constant(256), wp.constant(16)


@wp.kernel
def _sum_parts(
    start: int,
    spans: wp.array(dtype=wp.vec2i),
    inv_mass: wp.array(dtype=float),
    holds: Holds,
    r: wp.array(dtype=wp.vec3),
    left_out: wp.array(dtype=wp.vec4d),
):
    """What is left in every so-many-th particle of a body, and last, how many of them are held."""
    c = start + wp.tid()
    span = spans[c // PARTS]
    total = wp.vec4d()
    for i in range(span[0] + c % PARTS, span[1], PARTS):
        held = wp.float64(0.0)
        if inv_mass[i] == 0.0 or is_held(holds.how[i]):
            held = wp.float64(1.0)
        value = r[i]
        total += wp.vec4d(wp.float64(value[0]), wp.float64(value[1]), wp.float64(value[2]), held)
    left_out[c] = total


@wp.kernel
def _sum_groups(start: int, left: wp.array(dtype=wp.vec4d), group_out: wp.array(dtype=wp.vec4d)):
    """Sums of neighbouring parts."""
    g = start + wp.tid()
    total = wp.vec4d()
    for c in range(g * (PARTS // GROUPS), (g + 1) * (PARTS // GROUPS)):
        total += left[c]
    group_out[g] = total


@wp.kernel
def _find_shifts(
    start: int,
    mesh: Mesh,
    mass: wp.array(dtype=float),
    group: wp.array(dtype=wp.vec4d),
    dt: float,
    shift_out: wp.array(dtype=wp.vec3),
):
    """The velocity that all particles of a body lack; none where something holds it."""
    b = start + wp.tid()
    total = wp.vec4d()
    for g in range(b * GROUPS, (b + 1) * GROUPS):
        total += group[g]
    shift = wp.vec3(0.0, 0.0, 0.0)
    if total[3] == wp.float64(0.0):
        scale = 1.0 / (mass[b] * (1.0 + dt * mesh.bodies[b].drag))
        shift = scale * wp.vec3(float(total[0]), float(total[1]), float(total[2]))
    shift_out[b] = shift


class Momentum:
    """The rows and columns of a stiffness add up to zero, so what is left of the residual of a whole body is a change
    of its momentum that the solve has not made yet: `shift` [m/s] of each body makes it."""

    def __init__(self, model: Model, mesh: Mesh, device: str) -> None:
        self.mesh, self.device = mesh, device
        spans = [body.particles for body in model.bodies]
        mass = [model.particles.mass[slice(*body.particles)].sum() for body in model.bodies]
        self.bodies = len(spans)
        self.spans = wp.array(np.array(spans, np.int32), dtype=wp.vec2i, device=device)
        self.mass = wp.array(np.array(mass, np.float32), dtype=float, device=device)
        self.left = wp.zeros(self.bodies * int(PARTS), dtype=wp.vec4d, device=device)
        self.group = wp.zeros(self.bodies * int(GROUPS), dtype=wp.vec4d, device=device)
        self.shift = wp.zeros(self.bodies, dtype=wp.vec3, device=device)

    def find(self, inv_mass: wp.array, holds: Holds, r: wp.array, dt: float) -> None:
        """Write `shift` from the residual."""
        inputs = [self.spans, inv_mass, holds, r]
        launch(_sum_parts, len(self.left), inputs, [self.left], device=self.device, grain=128)
        launch(_sum_groups, len(self.group), [self.left], [self.group], device=self.device)
        inputs = [self.mesh, self.mass, self.group, dt]
        launch(_find_shifts, self.bodies, inputs, [self.shift], device=self.device)
