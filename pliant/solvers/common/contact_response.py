"""Projection, restitution and friction of particles at the contacts the pipeline found."""

import warp as wp

from pliant.physics.contact import Met, PlaneData, meet_plane, penalty_velocity

wp.set_module_options({"enable_backward": False})


@wp.func
def put_back(
    i: int,
    surface: wp.array(dtype=PlaneData),
    depth: wp.array(dtype=float),
    slots: int,
    friction: wp.vec2,
    restitution: float,
    x: wp.vec3,
    v: wp.vec3,
    before: wp.vec3,
    rest_speed: float,
    dt: float,
) -> Met:
    """Particle i after the surfaces it went through on its way from `before`, one after the other."""
    met = Met()
    met.x = x
    met.v = v
    met.touched = 0
    for k in range(slots):
        if depth[i * slots + k] >= 0.0:
            next = meet_plane(met.x, met.v, before, surface[i * slots + k], friction, restitution, rest_speed, dt)
            met.x = next.x
            met.v = next.v
            met.touched = wp.max(met.touched, next.touched)
    return met


@wp.func
def keep_remainder(i: int, touched: int, carry_next: wp.array(dtype=wp.vec3), carry_out: wp.array(dtype=wp.vec3)):
    """Commit what float32 has cut off; nothing of it where a surface has put the particle. Both may be empty."""
    if carry_out.shape[0] > 0:
        carry = carry_next[i]
        if touched != 0:
            carry = wp.vec3(0.0, 0.0, 0.0)
        carry_out[i] = carry


@wp.kernel
def resolve_contacts(
    start: int,
    surface: wp.array(dtype=PlaneData),
    depth: wp.array(dtype=float),
    slots: int,
    body: wp.array(dtype=int),
    friction: wp.array(dtype=wp.vec2),
    restitution: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    x_next: wp.array(dtype=wp.vec3),
    carry_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    v_carry_next: wp.array(dtype=wp.vec3),
    rest_speed: float,
    dt: float,
    x_inout: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    v_carry_out: wp.array(dtype=wp.vec3),
):
    """Commit the prediction, put back on the surfaces what went through them.

    A method that carries no remainders of positions or of velocities gives None for them.
    """
    i = start + wp.tid()
    x = x_next[i]
    v = v_next[i]
    touched = int(0)
    if inv_mass[i] > 0.0:
        b = body[i]
        met = put_back(i, surface, depth, slots, friction[b], restitution[b], x, v, x_inout[i], rest_speed, dt)
        x = met.x
        v = met.v
        touched = met.touched
    x_inout[i] = x
    v_out[i] = v
    keep_remainder(i, touched, carry_next, carry_out)
    keep_remainder(i, touched, v_carry_next, v_carry_out)


@wp.kernel
def resolve_penalty(
    start: int,
    surface: wp.array(dtype=PlaneData),
    depth: wp.array(dtype=float),
    slots: int,
    body: wp.array(dtype=int),
    friction: wp.array(dtype=wp.vec2),
    inv_mass: wp.array(dtype=float),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    stiffness: float,
    damping: float,
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Commit the prediction; what is inside a surface is left there and pushed out, the harder the deeper it is.

    The push per mass and depth is `stiffness` [1/s^2], that per mass and speed of approach `damping` [1/s]. It is
    explicit: stiffness dt^2 well below one keeps it stable. What friction takes of the velocity it takes of the second
    half of the step's way too, or what sticks would creep.
    """
    i = start + wp.tid()
    x = x_next[i]
    v = v_next[i]
    if inv_mass[i] > 0.0:
        b = body[i]
        for k in range(slots):
            deep = depth[i * slots + k]
            if deep > 0.0:
                plane = surface[i * slots + k]
                after = penalty_velocity(v, plane, deep, friction[b], stiffness, damping, dt)
                change = after - v
                x += (0.5 * dt) * (change - wp.dot(change, plane.normal) * plane.normal)
                v = after
    x_out[i] = x
    v_out[i] = v
