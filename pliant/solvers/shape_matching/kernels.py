"""Device code of shape matching: sums over clusters, the fit of each cluster, and the step of each particle.

A step is one of Verlet's in its position form: half a step of drift, the kick, half a step of drift. At the middle of
the step, x' = x + dt/2 (v + dt/2 a), each cluster is fitted to its members; the pull towards the mean of their goals
and the drag on what is not rigid motion change the velocity by J, and the position moves by dt (v + dt/2 a + J/2). The
pull and the drag of a cluster have no force and no torque about x': so linear and angular momentum are kept to
rounding, whatever the step.
"""

import dataclasses
import functools
from typing import Any

import warp as wp

from pliant.physics.contact import PlaneData
from pliant.solvers.shape_matching.constants import BodyMatch
from pliant.solvers.shape_matching.fit_kernels import fit_kernel, map_fours
from pliant.solvers.shape_matching.member_kernels import member_code, sum_members_kernel
from pliant.solvers.shape_matching.step_kernels import MidStep, external, load_four, middle_velocity, moved

wp.set_module_options({"enable_backward": False})


@dataclasses.dataclass(frozen=True)
class MatchKernels:
    """The kernels for goals of `order` functions.

    Attributes:
        sums: length of a row of sums over a cluster, a multiple of four: mean of x' about the anchor (3), its products
            with the functions (3 order), means of v (3), of x' x v (3), and of the products of x' with itself (6).
        maps: numbers that a fit leaves for the members: map (3 order), offset from the anchor (3), anchor (3), velocity
            at the anchor (3), spin (3), strength (1), and what fills the row up to a multiple of four.
    """

    order: int
    sums: int
    maps: int
    sum_members: Any
    fit: Any
    move: Any


@functools.cache
def match_kernels(order: int) -> MatchKernels:
    """The kernels for goals of 3 or 9 functions."""
    code = member_code(order)
    functions = code.functions
    fours = map_fours(order)
    row_type = wp.types.vector(length=4 * fours, dtype=float)

    @wp.kernel(module="unique", enable_backward=False)
    def move(
        start: int,
        particle_body: wp.array(dtype=int),
        of_starts: wp.array(dtype=int),
        of_cluster: wp.array(dtype=int),
        of_rest: wp.array(dtype=wp.vec3),
        bodies: wp.array(dtype=BodyMatch),
        planes: wp.array(dtype=PlaneData),
        maps: wp.array2d(dtype=float),
        inv_mass: wp.array(dtype=float),
        f_ext: wp.array(dtype=wp.vec3),
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        step: MidStep,
        x_out: wp.array(dtype=wp.vec3),
        v_out: wp.array(dtype=wp.vec3),
    ):
        """Pull each particle to the mean of its clusters' goals, damp it towards their mean motion, and move it."""
        i = start + wp.tid()
        before = x[i]
        old = v[i]
        if step.awake[particle_body[i]] == 0:
            x_out[i] = before
            v_out[i] = old
            return
        body = bodies[particle_body[i]]
        w = inv_mass[i]
        force = external(f_ext, i, step)
        speed = middle_velocity(old, force, w, step)
        if w == 0.0:
            x_out[i] = before + step.dt * old
            v_out[i] = old
        else:
            away = wp.vec3(0.0, 0.0, 0.0)
            slip = wp.vec3(0.0, 0.0, 0.0)
            at = body.first_start + (i - body.first_particle)
            first = of_starts[at]
            last = of_starts[at + 1]
            for k in range(first, last):
                c = body.first_cluster + of_cluster[k]
                row = row_type()
                for n in range(fours):
                    part = load_four(maps, fours * c + n)
                    for j in range(4):
                        row[4 * n + j] = part[j]
                f = functions(of_rest[k])
                anchor = wp.vec3(row[3 * order + 3], row[3 * order + 4], row[3 * order + 5])
                y = (before - anchor) + (0.5 * step.dt) * speed
                goal = wp.vec3(row[3 * order], row[3 * order + 1], row[3 * order + 2]) - y
                for j in range(3):
                    for n in range(order):
                        goal[j] += row[order * j + n] * f[n]
                away += row[3 * order + 12] * goal
                omega = wp.vec3(row[3 * order + 9], row[3 * order + 10], row[3 * order + 11])
                velocity = wp.vec3(row[3 * order + 6], row[3 * order + 7], row[3 * order + 8])
                slip += old - velocity - wp.cross(omega, y)
            share = 1.0 / float(wp.max(last - first, 1))
            met = moved(before, old, force, w, share * away, share * slip, body, planes, step)
            x_out[i] = met.x
            v_out[i] = met.v

    return MatchKernels(order, -(-code.sums // 4) * 4, 4 * fours, sum_members_kernel(order), fit_kernel(order), move)
