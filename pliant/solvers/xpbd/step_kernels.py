"""The step besides its constraints: where particles would go freely, and where they are put in the end."""

import warp as wp

from pliant.physics.contact import PlaneData, ball_meets_planes
from pliant.physics.integrate import add_carried

wp.set_module_options({"enable_backward": False})


@wp.struct
class Free:
    """What moves particles besides constraints: the step [s], gravity [m/s^2], and whether there are other forces.

    `paces` says whether anything is damped.
    """

    dt: float
    gravity: wp.vec3
    has_f_ext: int
    plane_count: int
    rest_speed: float
    paces: int


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


@wp.func
def begin(
    i: int,
    w: float,
    drag: float,
    f_ext: wp.array(dtype=wp.vec3),
    x: wp.vec3,
    carry: wp.vec3,
    v: wp.vec3,
    step: Free,
    base: wp.array(dtype=wp.vec4d),
    pace: wp.array(dtype=wp.vec4),
    move: wp.array(dtype=wp.vec4),
):
    """Begin a step with particle i; `pace` may be empty where nothing is damped."""
    base[i] = wp.vec4d(
        wp.float64(x[0]) + wp.float64(carry[0]),
        wp.float64(x[1]) + wp.float64(carry[1]),
        wp.float64(x[2]) + wp.float64(carry[2]),
        wp.float64(w),
    )
    if step.paces != 0:
        p = step.dt * v
        pace[i] = wp.vec4(p[0], p[1], p[2], 0.0)
    u = step.dt * free_velocity(v, i, w, drag, f_ext, step)
    move[i] = wp.vec4(u[0], u[1], u[2], 0.0)


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
    begin(i, inv_mass[i], drag[body[i]], f_ext, x[i], carry[i], v[i], step, base_out, pace_out, move_out)


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


@wp.struct
class Placed:
    """Where a step has put a particle, with the remainder of float32, and how fast it is."""

    x: wp.vec3
    carry: wp.vec3
    v: wp.vec3


@wp.func
def placed(
    i: int,
    w: float,
    drag: float,
    friction: wp.vec2,
    restitution: float,
    planes: wp.array(dtype=PlaneData),
    radius: float,
    f_ext: wp.array(dtype=wp.vec3),
    move: wp.vec4,
    step: Free,
    x: wp.vec3,
    carry: wp.vec3,
    v: wp.vec3,
) -> Placed:
    """Particle i after its move, put back on planes."""
    u = wp.vec3(move[0], move[1], move[2])
    at = add_carried(x, carry, u)
    out = Placed()
    out.x = at.high
    out.carry = at.carry
    out.v = new_velocity(u, v, i, w, drag, f_ext, step)
    if w > 0.0 and step.plane_count > 0:
        met = ball_meets_planes(
            out.x, out.v, x, radius, planes, step.plane_count, friction, restitution, step.rest_speed, step.dt
        )
        out.x = met.x
        out.v = met.v
        if met.touched != 0:
            out.carry = wp.vec3(0.0, 0.0, 0.0)
    return out


@wp.kernel
def commit_moves(
    start: int,
    body: wp.array(dtype=int),
    drag: wp.array(dtype=float),
    friction: wp.array(dtype=wp.vec2),
    restitution: wp.array(dtype=float),
    planes: wp.array(dtype=PlaneData),
    radius: wp.array(dtype=float),
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
    b = body[i]
    out = placed(
        i, inv_mass[i], drag[b], friction[b], restitution[b], planes, radius[i], f_ext, move[i], step, x_inout[i],
        carry_inout[i], v_inout[i],
    )  # fmt: skip
    x_inout[i] = out.x
    carry_inout[i] = out.carry
    v_inout[i] = out.v


@wp.kernel
def commit_and_go_on(
    start: int,
    body: wp.array(dtype=int),
    drag: wp.array(dtype=float),
    friction: wp.array(dtype=wp.vec2),
    restitution: wp.array(dtype=float),
    planes: wp.array(dtype=PlaneData),
    radius: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    f_ext: wp.array(dtype=wp.vec3),
    step: Free,
    x_inout: wp.array(dtype=wp.vec3),
    carry_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
    base_out: wp.array(dtype=wp.vec4d),
    pace_out: wp.array(dtype=wp.vec4),
    move_inout: wp.array(dtype=wp.vec4),
):
    """`commit_moves` of a step and `move_freely` of the next, without a trip to memory between them."""
    i = start + wp.tid()
    b = body[i]
    w = inv_mass[i]
    out = placed(
        i, w, drag[b], friction[b], restitution[b], planes, radius[i], f_ext, move_inout[i], step, x_inout[i],
        carry_inout[i], v_inout[i],
    )  # fmt: skip
    x_inout[i] = out.x
    carry_inout[i] = out.carry
    v_inout[i] = out.v
    begin(i, w, drag[b], f_ext, out.x, out.carry, out.v, step, base_out, pace_out, move_inout)
