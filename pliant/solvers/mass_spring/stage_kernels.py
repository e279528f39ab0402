"""Stages of the integrators that evaluate the forces more than once."""

import warp as wp

from pliant.physics.integrate import add_carried

wp.set_module_options({"enable_backward": False})


@wp.kernel
def look_ahead(
    start: int,
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    rate_x: wp.array(dtype=wp.vec3),
    rate_v: wp.array(dtype=wp.vec3),
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """x + dt rate_x and v + dt rate_v: the point at which the next stage looks."""
    i = start + wp.tid()
    total = add_carried(x[i], carry[i], dt * rate_x[i])
    x_out[i] = total.high
    carry_out[i] = total.carry
    v_out[i] = v[i] + dt * rate_v[i]


@wp.kernel
def commit(
    start: int,
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    v_carry: wp.array(dtype=wp.vec3),
    rate_x: wp.array(dtype=wp.vec3),
    rate_v: wp.array(dtype=wp.vec3),
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    v_carry_out: wp.array(dtype=wp.vec3),
):
    """The end of a step that moves at rate_x and accelerates at rate_v."""
    i = start + wp.tid()
    total = add_carried(x[i], carry[i], dt * rate_x[i])
    x_out[i] = total.high
    carry_out[i] = total.carry
    speed = add_carried(v[i], v_carry[i], dt * rate_v[i])
    v_out[i] = speed.high
    v_carry_out[i] = speed.carry


@wp.kernel
def mean_rk4(
    start: int,
    r1: wp.array(dtype=wp.vec3),
    r2: wp.array(dtype=wp.vec3),
    r3: wp.array(dtype=wp.vec3),
    r4: wp.array(dtype=wp.vec3),
    mean_out: wp.array(dtype=wp.vec3),
):
    """The weighted mean of the four stages' rates; may overwrite one of them."""
    i = start + wp.tid()
    mean_out[i] = (1.0 / 6.0) * (r1[i] + 2.0 * r2[i] + 2.0 * r3[i] + r4[i])
