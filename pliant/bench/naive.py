"""The obvious CUDA step, one thread per element and atomic additions: what ours is compared with in the same run."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.physics.spring import spring_force
from pliant.physics.volume import tet_pressure
from pliant.simulation import Simulation

wp.set_module_options({"enable_backward": False})


@wp.kernel
def scatter_springs(
    pairs: wp.array(dtype=wp.vec2i),
    constants: wp.array(dtype=wp.vec2),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    damping_time: float,
    force: wp.array(dtype=wp.vec3),
):
    s = wp.tid()
    i = pairs[s][0]
    j = pairs[s][1]
    c = constants[s]
    f = spring_force(x[j] - x[i], v[j] - v[i], c[1], c[0], c[0] * damping_time)
    wp.atomic_add(force, i, f)
    wp.atomic_add(force, j, -f)


@wp.kernel
def scatter_tets(
    corners: wp.array(dtype=wp.vec4i),
    inv_six_volume: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    stiffness: float,
    force: wp.array(dtype=wp.vec3),
):
    t = wp.tid()
    c = corners[t]
    x0 = x[c[0]]
    e1 = x[c[1]] - x0
    e2 = x[c[2]] - x0
    e3 = x[c[3]] - x0
    g1 = wp.cross(e2, e3)
    g2 = wp.cross(e3, e1)
    g3 = wp.cross(e1, e2)
    p = -tet_pressure(wp.dot(e1, g1), 0.0, inv_six_volume[t], stiffness, 0, 0.0) / 6.0
    wp.atomic_add(force, c[0], -p * (g1 + g2 + g3))
    wp.atomic_add(force, c[1], p * g1)
    wp.atomic_add(force, c[2], p * g2)
    wp.atomic_add(force, c[3], p * g3)


@wp.kernel
def integrate(
    inv_mass: wp.array(dtype=float),
    dt: float,
    force: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    u = v[i] + dt * (inv_mass[i] * force[i] + wp.vec3(0.0, -9.81, 0.0))
    p = x[i] + dt * u
    if p[1] < 0.0:
        p = wp.vec3(p[0], 0.0, p[2])
        u = wp.vec3(u[0], wp.max(u[1], 0.0), u[2])
    x[i] = p
    v[i] = u
    force[i] = wp.vec3(0.0, 0.0, 0.0)


class NaiveStep:
    """The scatter step on copies of a simulation's arrays."""

    def __init__(self, sim: Simulation, stiffness: float, damping_time: float):
        model, self.device = sim.model, sim.device
        make = lambda a, t: wp.array(np.ascontiguousarray(a), dtype=t, device=self.device)
        self.pairs = make(model.springs.pairs, wp.vec2i)
        constants = np.stack([model.springs.stiffness, model.springs.rest_length], 1)
        self.constants = make(constants.astype(np.float32), wp.vec2)
        self.corners = make(model.tets.corners, wp.vec4i)
        self.inv = make((1.0 / (6.0 * model.tets.rest_volume)).astype(np.float32), float)
        self.inv_mass = wp.clone(sim.state.inv_mass)
        self.x, self.v = wp.clone(sim.state.x), wp.clone(sim.state.v)
        self.force = wp.zeros_like(self.x)
        self.stiffness, self.damping_time, self.dt = stiffness, damping_time, sim.dt

    def step(self) -> None:
        d = self.device
        launch(
            scatter_springs,
            len(self.pairs),
            [self.pairs, self.constants, self.x, self.v, self.damping_time],
            [self.force],
            device=d,
        )
        launch(
            scatter_tets, len(self.corners), [self.corners, self.inv, self.x, self.stiffness], [self.force], device=d
        )
        launch(integrate, len(self.x), [self.inv_mass, self.dt], [self.force, self.x, self.v], device=d)
