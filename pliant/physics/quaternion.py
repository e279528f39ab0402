"""Small rotations as unit quaternions (x, y, z, w), without trigonometry."""

import warp as wp


@wp.func
def turn_of(turn: wp.vec3) -> wp.quat:
    """The rotation about a vector [rad]: by 4 atan(|turn| / 4), which is |turn| but for |turn|^3 / 48.

    A quarter of the vector is the modified Rodrigues vector of the rotation; `vector_of` is the exact inverse.
    """
    s = 0.25 * turn
    squared = wp.dot(s, s)
    return wp.quat(2.0 * s[0], 2.0 * s[1], 2.0 * s[2], 1.0 - squared) / (1.0 + squared)


@wp.func
def vector_of(q: wp.quat) -> wp.vec3:
    """The vector [rad] of which `turn_of` makes this rotation; the shorter way round."""
    v = wp.vec3(q[0], q[1], q[2])
    w = q[3]
    if w < 0.0:
        v = -v
        w = -w
    return (4.0 / (1.0 + w)) * v


@wp.func
def third_axis(q: wp.quat) -> wp.vec3:
    """What a rotation makes of (0, 0, 1)."""
    return wp.vec3(
        2.0 * (q[0] * q[2] + q[3] * q[1]),
        2.0 * (q[1] * q[2] - q[3] * q[0]),
        1.0 - 2.0 * (q[0] * q[0] + q[1] * q[1]),
    )


@wp.func
def shortest_turn(a: wp.vec3, b: wp.vec3) -> wp.quat:
    """The rotation that takes the unit vector a to the unit vector b by the smallest angle."""
    w = 1.0 + wp.dot(a, b)
    axis = wp.cross(a, b)
    if w < 1.0e-6:
        # half a turn: any axis across a will do
        axis = wp.cross(a, wp.vec3(1.0, 0.0, 0.0))
        if wp.dot(axis, axis) < 0.1:
            axis = wp.cross(a, wp.vec3(0.0, 1.0, 0.0))
        w = 0.0
    return wp.normalize(wp.quat(axis[0], axis[1], axis[2], w))
