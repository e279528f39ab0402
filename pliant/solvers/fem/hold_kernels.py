"""What holds particles: surfaces that they rest, stick or slide on, as constraints of the solve, and its end."""

import warp as wp

from pliant.physics.contact import PlaneData, friction_leaves, meet_plane, shared_friction
from pliant.physics.integrate import add_carried
from pliant.solvers.fem.data import Mesh

wp.set_module_options({"enable_backward": False})

FREE = wp.constant(0)
SLIDES = wp.constant(1)
STICKS = wp.constant(2)
LANDS = wp.constant(3)
"""Slides, and has come to the surface in this step."""
LEFT = wp.constant(4)
"""Free, since the surface would have had to pull in the last step."""

# Friction that holds a sticking particle, over that on a sliding one, at least: without it they would take turns.
STATIC = wp.constant(1.2)


@wp.struct
class Holds:
    """What holds each particle: how, the surface's normal and velocity [m/s], the kinetic and static coefficient of
    friction, and the force of friction on what slides [N]."""

    how: wp.array(dtype=int)
    normal: wp.array(dtype=wp.vec3)
    grip: wp.array(dtype=wp.vec3)
    mu: wp.array(dtype=wp.vec2)
    rub: wp.array(dtype=wp.vec3)


@wp.func
def slides(how: int) -> bool:
    """Whether a surface holds a particle along its normal only."""
    landed = how == LANDS
    return landed or how == SLIDES


@wp.func
def is_held(how: int) -> bool:
    """Whether a surface holds a particle."""
    left = how == LEFT
    return not (left or how == FREE)


@wp.func
def filtered(value: wp.vec3, inv_mass: float, how: int, normal: wp.vec3) -> wp.vec3:
    """The part of a vector that is free: nothing of a pinned or sticking particle, the tangent plane of a sliding one
    (Baraff and Witkin 1998, section 5.3)."""
    if inv_mass == 0.0 or how == STICKS:
        return wp.vec3(0.0, 0.0, 0.0)
    if slides(how):
        return value - wp.dot(value, normal) * normal
    return value


@wp.kernel
def begin_step(
    start: int,
    mesh: Mesh,
    planes: wp.array(dtype=PlaneData),
    plane_count: int,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    a: wp.array(dtype=wp.vec3),
    before: Holds,
    gravity: wp.vec3,
    dt: float,
    rest_speed: float,
    now: Holds,
    gain_out: wp.array(dtype=wp.vec3),
):
    """What holds particles in this step, and a guess of the velocities it adds that obeys it.

    A particle about to pass a plane may move along its normal only so far that it lands there: the solve then carries
    the impact through the whole body at once, where putting particles back afterwards would squash the tets there.
    """
    i = start + wp.tid()
    b = mesh.body[i]
    how = before.how[i]
    n = before.normal[i]
    grip = before.grip[i]
    mu = before.mu[i]
    rub = before.rub[i]
    wanted = wp.dot(grip, n)
    if inv_mass[i] == 0.0 or mesh.awake[b] == 0:
        now.how[i] = FREE
        gain_out[i] = wp.vec3(0.0, 0.0, 0.0)
        return
    if how == LEFT:
        how = FREE
    elif how == FREE:
        body = mesh.bodies[b]
        deepest = float(0.0)
        for k in range(plane_count):
            plane = planes[k]
            height = wp.dot(plane.normal, x[i]) - plane.offset
            ahead = height + dt * wp.dot(v[i] - plane.velocity + dt * gravity, plane.normal)
            if ahead < deepest:
                deepest = ahead
                how = LANDS
                n = plane.normal
                grip = plane.velocity
                approach = wp.dot(v[i] - grip, n)
                leave = -height / dt
                if -approach > rest_speed:
                    leave = wp.max(leave, -wp.max(body.restitution, plane.restitution) * approach)
                wanted = leave + wp.dot(grip, n)
                mu = shared_friction(body.friction, plane)
                rub = wp.vec3(0.0, 0.0, 0.0)
    gain = dt * a[i]
    if how == STICKS:
        gain = grip - v[i]
    elif slides(how):
        gain = gain + (wanted - wp.dot(v[i] + gain, n)) * n
    now.how[i] = how
    now.normal[i] = n
    now.grip[i] = grip
    now.mu[i] = mu
    now.rub[i] = rub
    gain_out[i] = gain


@wp.kernel
def end_step(
    start: int,
    mesh: Mesh,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    v_carry: wp.array(dtype=wp.vec3),
    gains: wp.array(dtype=wp.vec3),
    r: wp.array(dtype=wp.vec3),
    shift: wp.array(dtype=wp.vec3),
    dt: float,
    lean: float,
    now: Holds,
    a_out: wp.array(dtype=wp.vec3),
    impulse_out: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    v_carry_out: wp.array(dtype=wp.vec3),
):
    """Positions and velocities at the end of the step, and what holds a particle from now on.

    What holds it gave the impulse -r. A surface that would have to pull lets go. A sticking particle that would need
    more than static friction begins to slide, against a friction that the next solve takes into account; a sliding one
    that friction would push back sticks. What has just landed feels friction at once. Held particles end a little
    inside their surface, `lean` [m], so that the pipeline finds them there. `shift` is what the solve has left of the
    velocity of a whole body.
    """
    i = start + wp.tid()
    how = now.how[i]
    n = now.normal[i]
    w = inv_mass[i]
    if mesh.awake[mesh.body[i]] == 0 or w == 0.0:
        to = add_carried(x[i], carry[i], dt * v[i])
        x_out[i] = to.high
        carry_out[i] = to.carry
        v_out[i] = v[i]
        v_carry_out[i] = v_carry[i]
        a_out[i] = wp.vec3(0.0, 0.0, 0.0)
        impulse_out[i] = wp.vec3(0.0, 0.0, 0.0)
        return
    gain = gains[i] + shift[mesh.body[i]]
    a_out[i] = gain / dt
    push = wp.vec3(0.0, 0.0, 0.0)
    if is_held(how):
        grip = now.grip[i]
        mu = now.mu[i]
        drag = wp.vec3(0.0, 0.0, 0.0)
        reaction = -r[i]
        along = wp.dot(reaction, n)
        most = mu[0] * along
        slip = v[i] + gain - grip
        slip = slip - wp.dot(slip, n) * n
        speed = wp.length(slip)
        if along <= 0.0:
            how = LEFT
            push = along * n
        elif how == STICKS:
            push = reaction
            needed = reaction - along * n
            size = wp.length(needed)
            if size > wp.max(mu[1] * along, STATIC * most):
                how = SLIDES
                drag = (most / (size * dt)) * needed
        elif how == LANDS:
            kept = friction_leaves(along * w, speed, mu)
            taken = (1.0 - kept) * slip
            gain = gain - taken
            push = along * n - taken / w
            how = SLIDES
            if kept == 0.0:
                how = STICKS
            elif speed > 0.0:
                drag = (-most / (speed * dt)) * slip
        else:
            push = along * n + dt * now.rub[i]
            if wp.dot(slip, now.rub[i]) > 0.0 or speed == 0.0:
                how = STICKS
                gain = gain - slip
                push = push - slip / w
            else:
                drag = (-most / (speed * dt)) * slip
        now.rub[i] = drag
    now.how[i] = how
    impulse_out[i] = push
    speed_up = add_carried(v[i], v_carry[i], gain)
    to = add_carried(x[i], carry[i] + dt * speed_up.carry, dt * speed_up.high)
    x_new = to.high
    if is_held(how):
        x_new = x_new - lean * n
    x_out[i] = x_new
    carry_out[i] = to.carry
    v_out[i] = speed_up.high
    v_carry_out[i] = speed_up.carry


@wp.kernel
def resolve_holds(
    start: int,
    mesh: Mesh,
    surface: wp.array(dtype=PlaneData),
    depth: wp.array(dtype=float),
    slots: int,
    inv_mass: wp.array(dtype=float),
    x_next: wp.array(dtype=wp.vec3),
    carry_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    v_carry_next: wp.array(dtype=wp.vec3),
    now: Holds,
    rest_speed: float,
    dt: float,
    x_inout: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    v_carry_out: wp.array(dtype=wp.vec3),
    after: Holds,
):
    """Commit the prediction, put particles back on surfaces, and remember which surface holds each from now on.

    A particle that was held has had its friction in the solve, and is only put back. One that has just arrived is held
    unless it bounces. A body that sleeps keeps what holds it.
    """
    i = start + wp.tid()
    b = mesh.body[i]
    if mesh.awake[b] == 0:
        return
    x = x_next[i]
    v = v_next[i]
    carry = carry_next[i]
    v_carry = v_carry_next[i]
    before = x_inout[i]
    was = now.how[i]
    held = int(FREE)
    if was == LEFT:
        held = LEFT
    n = wp.vec3(0.0, 0.0, 0.0)
    grip = wp.vec3(0.0, 0.0, 0.0)
    mu = wp.vec2(0.0, 0.0)
    drag = wp.vec3(0.0, 0.0, 0.0)
    if inv_mass[i] > 0.0:
        body = mesh.bodies[b]
        old = now.normal[i]
        for k in range(slots):
            plane = surface[i * slots + k]
            inside = plane.offset - wp.dot(plane.normal, x)
            if depth[i * slots + k] >= 0.0 and inside >= 0.0:
                how = int(FREE)
                if is_held(was) and wp.dot(old, plane.normal) > 0.5:
                    x = x + inside * plane.normal
                    v = v + wp.max(0.0, wp.dot(plane.velocity - v, plane.normal)) * plane.normal
                    how = was
                else:
                    met = meet_plane(x, v, before, plane, body.friction, body.restitution, rest_speed, dt)
                    x = met.x
                    v = met.v
                    v_carry = wp.vec3(0.0, 0.0, 0.0)
                    relative = v - plane.velocity
                    away = wp.dot(relative, plane.normal)
                    if away <= 1.0e-6 and was != LEFT:
                        how = SLIDES
                        if wp.length(relative - away * plane.normal) <= 1.0e-6:
                            how = STICKS
                carry = wp.vec3(0.0, 0.0, 0.0)
                if how != FREE and (held == FREE or how == was):
                    held = how
                    n = plane.normal
                    drag = now.rub[i]
                    grip = plane.velocity
                    mu = shared_friction(body.friction, plane)
    x_inout[i] = x
    v_out[i] = v
    carry_out[i] = carry
    v_carry_out[i] = v_carry
    after.how[i] = held
    after.normal[i] = n
    after.grip[i] = grip
    after.mu[i] = mu
    after.rub[i] = drag
