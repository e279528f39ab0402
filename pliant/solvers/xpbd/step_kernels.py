"""The step besides its constraints: where particles would go freely, and where they are put in the end."""

import warp as wp

from pliant.physics.contact import Met, PlaneData, meet_planes
from pliant.physics.integrate import add_carried
from pliant.solvers.common.contact_response import put_back

wp.set_module_options({"enable_backward": False})


@wp.struct
class Free:
    """What moves particles besides constraints: the step [s], gravity [m/s^2], and whether there are other forces."""

    dt: float
    gravity: wp.vec3
    has_f_ext: int
    plane_count: int
    rest_speed: float


@wp.func
def free_velocity(v: wp.vec3, i: int, w: float, drag: float, f_ext: wp.array(dtype=wp.vec3), step: Free) -> wp.vec3:
    """Velocity at the end of the step without constraints [m/s]; a pinned particle keeps its own.

    Drag is implicit: it slows, and never turns round.
    """
    if w == 0.0:
        return v
    a = step.gravity
    if step.has_f_ext != 0:
        a += w * f_ext[i]
    return (v + step.dt * a) / (1.0 + drag * step.dt)


@wp.kernel
def move_freely(
    start: int,
    body: wp.array(dtype=int),
    drag: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    f_ext: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    step: Free,
    base_out: wp.array(dtype=wp.vec4d),
    pace_out: wp.array(dtype=wp.vec4),
    move_out: wp.array(dtype=wp.vec4),
):
    """Where each particle begins, with all its digits; what it moves by as fast as it is, and without constraints."""
    i = start + wp.tid()
    w = inv_mass[i]
    at = x[i]
    rest = carry[i]
    base_out[i] = wp.vec4d(
        wp.float64(at[0]) + wp.float64(rest[0]),
        wp.float64(at[1]) + wp.float64(rest[1]),
        wp.float64(at[2]) + wp.float64(rest[2]),
        wp.float64(w),
    )
    p = step.dt * v[i]
    pace_out[i] = wp.vec4(p[0], p[1], p[2], 0.0)
    u = step.dt * free_velocity(v[i], i, w, drag[body[i]], f_ext, step)
    move_out[i] = wp.vec4(u[0], u[1], u[2], 0.0)


@wp.func
def new_velocity(
    move: wp.vec3, v: wp.vec3, i: int, w: float, drag: float, f_ext: wp.array(dtype=wp.vec3), step: Free
) -> wp.vec3:
    """The free velocity, and what constraints have added to it: a free flight gathers no rounding of move / dt."""
    if w == 0.0:
        return v
    free = free_velocity(v, i, w, drag, f_ext, step)
    return free + (move - step.dt * free) / step.dt


@wp.kernel
def predict_moves(
    start: int,
    body: wp.array(dtype=int),
    drag: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    f_ext: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    move: wp.array(dtype=wp.vec4),
    step: Free,
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Positions and velocities after the constraints."""
    i = start + wp.tid()
    m = move[i]
    u = wp.vec3(m[0], m[1], m[2])
    at = add_carried(x[i], carry[i], u)
    x_out[i] = at.high
    carry_out[i] = at.carry
    v_out[i] = new_velocity(u, v[i], i, inv_mass[i], drag[body[i]], f_ext, step)


@wp.kernel
def commit_moves(
    start: int,
    body: wp.array(dtype=int),
    drag: wp.array(dtype=float),
    friction: wp.array(dtype=float),
    restitution: wp.array(dtype=float),
    planes: wp.array(dtype=PlaneData),
    inv_mass: wp.array(dtype=float),
    f_ext: wp.array(dtype=wp.vec3),
    move: wp.array(dtype=wp.vec4),
    step: Free,
    x_inout: wp.array(dtype=wp.vec3),
    carry_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """The same, put back on planes, in place."""
    i = start + wp.tid()
    m = move[i]
    u = wp.vec3(m[0], m[1], m[2])
    before = x_inout[i]
    w = inv_mass[i]
    b = body[i]
    at = add_carried(before, carry_inout[i], u)
    met = Met()
    met.x = at.high
    met.v = new_velocity(u, v_inout[i], i, w, drag[b], f_ext, step)
    rest = at.carry
    if w > 0.0 and step.plane_count > 0:
        met = meet_planes(
            met.x,
            met.v,
            before,
            planes,
            step.plane_count,
            friction[b],
            restitution[b],
            step.rest_speed,
            step.dt,
        )
        if met.touched != 0:
            rest = wp.vec3(0.0, 0.0, 0.0)
    x_inout[i] = met.x
    carry_inout[i] = rest
    v_inout[i] = met.v


@wp.kernel
def resolve_moves(
    start: int,
    surface: wp.array(dtype=PlaneData),
    depth: wp.array(dtype=float),
    slots: int,
    body: wp.array(dtype=int),
    friction: wp.array(dtype=float),
    restitution: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    x_next: wp.array(dtype=wp.vec3),
    carry_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    rest_speed: float,
    dt: float,
    x_inout: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Commit the prediction, put back on the surfaces what went through them."""
    i = start + wp.tid()
    x = x_next[i]
    v = v_next[i]
    carry = carry_next[i]
    if inv_mass[i] > 0.0:
        b = body[i]
        met = put_back(i, surface, depth, slots, friction[b], restitution[b], x, v, x_inout[i], rest_speed, dt)
        x = met.x
        v = met.v
        if met.touched != 0:
            carry = wp.vec3(0.0, 0.0, 0.0)
    x_inout[i] = x
    carry_out[i] = carry
    v_out[i] = v
