"""What a surface does to a particle that met it: projection, restitution, Coulomb friction."""

import warp as wp

# Slip [m/s] up to which a surface holds with its static friction. A soft body begins to slip where it is loaded most:
# if friction fell there at once, its neighbours would have to carry more and slip in turn, and the whole body would
# begin to slide long before its load is that of the static coefficient.
SLOW = wp.constant(0.05)
# A particle counts as having been at a surface for the whole of a step if it was for more than this share of it, so
# that what rests there does not creep for its roundings.
ARRIVED = wp.constant(0.75)


@wp.struct
class PlaneData:
    """A half-space that particles stay out of: dot(normal, x) >= offset.

    friction is the coefficient of what slides; static_friction that up to which it holds, which is never less.
    """

    normal: wp.vec3
    offset: float
    velocity: wp.vec3
    friction: float
    static_friction: float
    restitution: float


@wp.struct
class Met:
    """A particle after it met a surface."""

    x: wp.vec3
    v: wp.vec3
    touched: int


@wp.func
def bounce_speed(approach: float, restitution: float, rest_speed: float) -> float:
    """Speed [m/s] at which a particle leaves that came with the (negative) speed `approach`.

    An approach slower than `rest_speed` is just stopped, so that resting bodies do not tremble.
    """
    if -approach > rest_speed:
        return -restitution * approach
    return 0.0


@wp.func
def shared_friction(friction: wp.vec2, plane: PlaneData) -> wp.vec2:
    """Coefficients between a body and a surface: of what slides, and up to which it holds; by geometric mean."""
    kinetic = wp.sqrt(friction[0] * plane.friction)
    return wp.vec2(kinetic, wp.max(kinetic, wp.sqrt(friction[1] * plane.static_friction)))


@wp.func
def friction_leaves(push: float, slip: float, friction: wp.vec2) -> float:
    """Share of the tangential speed `slip` [m/s] that Coulomb friction leaves where a surface changes the normal speed
    by `push` [m/s]: it takes the static coefficient times the push of what is stopped or made slow by that, else the
    kinetic one times the push."""
    held = friction[1] * push
    if slip <= held:
        return 0.0
    if slip <= held + SLOW:
        return 1.0 - held / slip
    return 1.0 - friction[0] * push / slip


@wp.func
def contact_velocity(
    v: wp.vec3,
    surface_v: wp.vec3,
    normal: wp.vec3,
    came: float,
    friction: wp.vec2,
    restitution: float,
    rest_speed: float,
) -> wp.vec3:
    """Velocity after contact [m/s]: restitution along the normal, of the (negative) speed `came` at which the particle
    came, friction across. A particle that leaves is left alone."""
    relative = v - surface_v
    approach = wp.dot(relative, normal)
    if approach >= 0.0:
        return v
    bounce = bounce_speed(came, restitution, rest_speed)
    tangential = relative - approach * normal
    kept = friction_leaves(bounce - approach, wp.length(tangential), friction)
    return surface_v + kept * tangential + bounce * normal


@wp.func
def meet_plane(
    x: wp.vec3,
    v: wp.vec3,
    before: wp.vec3,
    plane: PlaneData,
    friction: wp.vec2,
    restitution: float,
    rest_speed: float,
    dt: float,
) -> Met:
    """Put a particle back on a plane it went through on its way from `before` [m] in the time dt [s].

    Friction (kinetic and static coefficient) combines by geometric mean, restitution by maximum. Friction shortens the
    way along the plane as it does the speed: what sticks stays where it was, and a body on a slope does not creep. A
    bounce gives back the speed that the particle came with, not what forces have added to it inside the plane: from its
    way and its velocity now, that of the start of the step is 2 way / dt - v for a step of second order, and never
    faster than now.
    """
    met = Met()
    met.x = x
    met.v = v
    met.touched = 0
    depth = plane.offset - wp.dot(plane.normal, x)
    if depth > 0.0:
        mu = shared_friction(friction, plane)
        e = wp.max(restitution, plane.restitution)
        relative = v - plane.velocity
        approach = wp.dot(relative, plane.normal)
        met.x = x + depth * plane.normal
        met.touched = 1
        if approach < 0.0:
            way = x - before - dt * plane.velocity
            through = wp.dot(way, plane.normal)
            came = wp.clamp(2.0 * through / dt - approach, approach, 0.0)
            # friction begins where it came in: of the way before that nothing is taken, unless it was there already
            inside = wp.clamp(-depth / wp.min(through, -1.0e-20), 0.0, 1.0)
            if inside > ARRIVED:
                inside = 1.0
            speed = wp.length(relative - approach * plane.normal)
            kept = friction_leaves(bounce_speed(came, e, rest_speed) - approach, speed, mu)
            met.x = met.x - ((1.0 - kept) * inside) * (way - through * plane.normal)
            met.v = contact_velocity(v, plane.velocity, plane.normal, came, mu, e, rest_speed)
    return met


@wp.func
def penalty_velocity(
    v: wp.vec3, plane: PlaneData, depth: float, friction: wp.vec2, stiffness: float, damping: float, dt: float
) -> wp.vec3:
    """Velocity [m/s] after a surface pushed for dt [s] against a particle that is `depth` [m] inside.

    The push per mass is stiffness [1/s^2] times depth along the normal, less damping [1/s] times the speed of leaving,
    and never pulls. Friction (kinetic and static coefficient) combines by geometric mean.
    """
    relative = v - plane.velocity
    leaving = wp.dot(relative, plane.normal)
    push = wp.max(0.0, dt * stiffness * depth - wp.min(dt * damping, 1.0) * leaving)
    tangential = relative - leaving * plane.normal
    kept = friction_leaves(push, wp.length(tangential), shared_friction(friction, plane))
    return plane.velocity + kept * tangential + (leaving + push) * plane.normal


@wp.func
def ball_meets_planes(
    x: wp.vec3,
    v: wp.vec3,
    before: wp.vec3,
    radius: float,
    planes: wp.array(dtype=PlaneData),
    plane_count: int,
    friction: wp.vec2,
    restitution: float,
    rest_speed: float,
    dt: float,
) -> Met:
    """Put a particle that is a ball of a radius [m] back on every plane it went through, one after the other."""
    met = Met()
    met.x = x
    met.v = v
    met.touched = 0
    for i in range(plane_count):
        plane = planes[i]
        plane.offset = plane.offset + radius
        next = meet_plane(met.x, met.v, before, plane, friction, restitution, rest_speed, dt)
        met.x = next.x
        met.v = next.v
        met.touched = wp.max(met.touched, next.touched)
    return met


@wp.func
def meet_planes(
    x: wp.vec3,
    v: wp.vec3,
    before: wp.vec3,
    planes: wp.array(dtype=PlaneData),
    plane_count: int,
    friction: wp.vec2,
    restitution: float,
    rest_speed: float,
    dt: float,
) -> Met:
    """The same for a particle that is a point (see `meet_plane`)."""
    return ball_meets_planes(x, v, before, 0.0, planes, plane_count, friction, restitution, rest_speed, dt)
