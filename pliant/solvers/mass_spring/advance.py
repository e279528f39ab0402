"""From the force on a particle to its next position and velocity: the end of every step kernel."""

import warp as wp

from pliant.physics.contact import PlaneData, ball_meets_planes
from pliant.physics.integrate import add_carried
from pliant.solvers.mass_spring.constants import ACCELERATION, EULER, VERLET, BodyConstants, StepConstants


@wp.struct
class Motion:
    """A particle's position and velocity, each with the part that float32 cannot hold, and its acceleration."""

    x: wp.vec3
    carry: wp.vec3
    v: wp.vec3
    v_carry: wp.vec3
    a: wp.vec3


@wp.func
def acceleration(
    force: wp.vec3, f_ext: wp.vec3, v: wp.vec3, inv_mass: float, body: BodyConstants, step: StepConstants
) -> wp.vec3:
    """Acceleration of a particle [m/s^2]; zero where it is pinned. Gravity enters as an acceleration, not a force."""
    if inv_mass == 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    if step.has_f_ext != 0:
        force = force + f_ext
    return inv_mass * force + step.gravity - body.drag * v


@wp.func
def advance(
    x: wp.vec3,
    carry: wp.vec3,
    v: wp.vec3,
    v_carry: wp.vec3,
    a: wp.vec3,
    a_before: wp.vec3,
    body: BodyConstants,
    step: StepConstants,
    planes: wp.array(dtype=PlaneData),
    pinned: bool,
) -> Motion:
    """One step of a single-stage integrator, then the planes.

    Euler (Lesmes 3.15), symplectic or Euler-Cromer (3.18), and Verlet (3.17) in its velocity form: the velocity that
    was predicted with the last acceleration is first corrected with the new one, so that damping sees a velocity of
    second order.
    """
    next = Motion()
    dt = step.dt
    gain = dt * a
    # a particle that was held until now has no acceleration before
    if step.action == VERLET and wp.length_sq(a_before) > 0.0:
        gain = dt * a + (0.5 * dt) * (a - a_before)
    if pinned:
        gain = wp.vec3(0.0, 0.0, 0.0)
    speed = add_carried(v, v_carry, gain)
    # the velocity that moves the particle: the old one, the new one, or the mean of both
    mover = speed.high
    mover_carry = speed.carry
    if step.action == EULER:
        mover = v
        mover_carry = v_carry
    elif step.action == VERLET:
        mover_carry = speed.carry - (0.5 * dt) * a
    if pinned:
        mover_carry = wp.vec3(0.0, 0.0, 0.0)
    total = add_carried(x, carry + dt * mover_carry, dt * mover)
    next.x = total.high
    next.carry = total.carry
    next.v = speed.high
    next.v_carry = speed.carry
    next.a = a
    if step.plane_count > 0 and not pinned:
        met = ball_meets_planes(
            next.x,
            next.v,
            x,
            body.radius,
            planes,
            step.plane_count,
            body.friction,
            body.restitution,
            step.rest_speed,
            dt,
        )
        if met.touched != 0:
            next.x = met.x
            next.carry = wp.vec3(0.0, 0.0, 0.0)
            next.v = met.v
            next.v_carry = wp.vec3(0.0, 0.0, 0.0)
    return next


@wp.func
def stay(
    i: int,
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    v_carry: wp.array(dtype=wp.vec3),
    step: StepConstants,
    a_out: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    v_carry_out: wp.array(dtype=wp.vec3),
):
    """Particle i of a body that sleeps: it stays where it is."""
    if step.action == ACCELERATION:
        a_out[i] = wp.vec3(0.0, 0.0, 0.0)
    else:
        x_out[i] = x[i]
        carry_out[i] = carry[i]
        v_out[i] = v[i]
        v_carry_out[i] = v_carry[i]
