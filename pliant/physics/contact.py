"""What a surface does to a particle that met it: projection, restitution, Coulomb friction."""

import warp as wp


@wp.struct
class PlaneData:
    """A half-space that particles stay out of: dot(normal, x) >= offset."""

    normal: wp.vec3
    offset: float
    velocity: wp.vec3
    friction: float
    restitution: float


@wp.struct
class Met:
    """A particle after it met a surface."""

    x: wp.vec3
    v: wp.vec3
    touched: int


@wp.func
def contact_velocity(
    v: wp.vec3, surface_v: wp.vec3, normal: wp.vec3, friction: float, restitution: float, rest_speed: float
) -> wp.vec3:
    """Velocity after contact [m/s].

    The approach speed is reversed and scaled by the restitution (an approach slower than `rest_speed` is just
    stopped, so that resting bodies do not tremble); the tangential speed loses up to friction times the change of
    normal speed (Coulomb). A particle that leaves is left alone.
    """
    relative = v - surface_v
    approach = wp.dot(relative, normal)
    if approach >= 0.0:
        return v
    bounce = 0.0
    if -approach > rest_speed:
        bounce = -restitution * approach
    tangential = relative - approach * normal
    speed = wp.length(tangential)
    kept = 0.0
    if speed > 0.0:
        kept = wp.max(0.0, 1.0 - friction * (bounce - approach) / speed)
    return surface_v + kept * tangential + bounce * normal


@wp.func
def meet_planes(
    x: wp.vec3,
    v: wp.vec3,
    planes: wp.array(dtype=PlaneData),
    plane_count: int,
    friction: float,
    restitution: float,
    rest_speed: float,
) -> Met:
    """Put a particle back on every plane it went through; friction combines by geometric mean, restitution by maximum."""
    met = Met()
    met.touched = 0
    for i in range(plane_count):
        plane = planes[i]
        depth = plane.offset - wp.dot(plane.normal, x)
        if depth > 0.0:
            x = x + depth * plane.normal
            v = contact_velocity(
                v,
                plane.velocity,
                plane.normal,
                wp.sqrt(friction * plane.friction),
                wp.max(restitution, plane.restitution),
                rest_speed,
            )
            met.touched = 1
    met.x = x
    met.v = v
    return met
