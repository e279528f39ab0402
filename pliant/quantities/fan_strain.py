"""Strain and stress of sheets whose vertices split: the mean over the triangles that are around a particle now."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Model

wp.set_module_options({"enable_backward": False})

GRAIN = 1024


@wp.kernel
def measure_fans(
    start: int,
    member: wp.array(dtype=int),
    corners: wp.array(dtype=int),
    fan_start: wp.array(dtype=int),
    fan_count: wp.array(dtype=int),
    fan: wp.array(dtype=int),
    rest_inv: wp.array(dtype=wp.mat22),
    elastic: wp.array(dtype=wp.vec2),
    bodies: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    wants_stress: int,
    out: wp.array(dtype=float),
):
    """The mean over the triangles around a particle of the largest strain, or of the von Mises stress in their plane.

    With the principal strains a and b, the one across is c = -nu / (1 - nu) (a + b), and the stress is 2 mu times
    sqrt(3/2 (a^2 + b^2 + c^2) - 1/2 (a + b + c)^2).
    """
    i = member[start + wp.tid()]
    total = float(0.0)
    for k in range(fan_start[i], fan_start[i] + fan_count[i]):
        t = fan[k] // 3
        first = x[corners[3 * t]]
        p = x[corners[3 * t + 1]] - first
        q = x[corners[3 * t + 2]] - first
        r = rest_inv[t]
        u = p * r[0, 0] + q * r[1, 0]
        w = p * r[0, 1] + q * r[1, 1]
        mean = 0.5 * (wp.dot(u, u) + wp.dot(w, w))
        half = 0.5 * (wp.dot(u, u) - wp.dot(w, w))
        shear = wp.dot(u, w)
        spread = wp.sqrt(half * half + shear * shear)
        a = wp.sqrt(mean + spread) - 1.0
        b = wp.sqrt(wp.max(mean - spread, 0.0)) - 1.0
        if wants_stress != 0:
            constants = elastic[bodies[i]]
            c = -constants[1] / (1.0 - constants[1]) * (a + b)
            whole = a + b + c
            squares = a * a + b * b + c * c
            total += 2.0 * constants[0] * wp.sqrt(wp.max(1.5 * squares - 0.5 * whole * whole, 0.0))
        else:
            total += wp.max(wp.abs(a), wp.abs(b))
    out[i] = total / wp.max(float(fan_count[i]), 1.0)


class FanStrain:
    """Measures the particles of sheets whose vertices split.

    Args:
        model: what is simulated.
        fans: the triangles around particles, see `Tearing.fans`.
        rest_inv: inverse of the edges of each triangle at rest [1/m] (t, 2, 2).
        device: where it lives.
    """

    def __init__(self, model: Model, fans: list[wp.array], rest_inv: wp.array, device: str):
        self.device = device
        elastic = [(body.material.shear_modulus, body.material.poisson) for body in model.bodies]
        self._tables = [
            *fans,
            rest_inv,
            wp.array(np.array(elastic, np.float32), dtype=wp.vec2, device=device),
            wp.array(model.particles.body.astype(np.int32), dtype=int, device=device),
        ]

    def measure(self, name: str, x: wp.array, out: wp.array) -> None:
        """Write 'strain' or 'stress' [Pa] of these particles (n,) for positions (n,) vec3 [m]."""
        given = [*self._tables, x, int(name == "stress")]
        launch(measure_fans, len(self._tables[0]), given, [out], device=self.device, grain=GRAIN)
