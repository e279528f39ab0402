"""When points that move evenly through a step come to lie in one plane: a vertex that meets a triangle, two edges."""

import warp as wp

from pliant.physics.closest import segments_weights, triangle_weights

NEVER = wp.constant(2.0)
"""A time after the step, for what does not happen in it."""
HALVINGS = wp.constant(18)
"""Halvings of an interval that holds a root."""
GRAIN = wp.constant(1.0e-5)
"""What a time found by so many halvings may be off."""


@wp.func
def spat(u: wp.vec3, v: wp.vec3, w: wp.vec3) -> float:
    """Volume that three vectors span, with its sign."""
    return wp.dot(u, wp.cross(v, w))


@wp.func
def flat_cubic(u: wp.vec3, v: wp.vec3, w: wp.vec3, du: wp.vec3, dv: wp.vec3, dw: wp.vec3) -> wp.vec4:
    """Coefficients, the constant first, of the volume that u + t du, v + t dv and w + t dw span."""
    return wp.vec4(
        spat(u, v, w),
        spat(du, v, w) + spat(u, dv, w) + spat(u, v, dw),
        spat(u, dv, dw) + spat(du, v, dw) + spat(du, dv, w),
        spat(du, dv, dw),
    )


@wp.func
def cubic(k: wp.vec4, t: float) -> float:
    """Value of a cubic."""
    return k[0] + t * (k[1] + t * (k[2] + t * k[3]))


@wp.func
def root_between(k: wp.vec4, low: float, high: float) -> float:
    """A root of a cubic that is monotonic between two times; NEVER where it has the same sign at both."""
    at_low = cubic(k, low)
    at_high = cubic(k, high)
    if at_low * at_high > 0.0 or (at_low == 0.0 and at_high == 0.0):
        return NEVER
    begin = low
    end = high
    for _ in range(HALVINGS):
        middle = 0.5 * (begin + end)
        if at_low * cubic(k, middle) > 0.0:
            begin = middle
        else:
            end = middle
    return begin


@wp.func
def turning_times(k: wp.vec4) -> wp.vec2:
    """The times within the step at which a cubic turns round, in order; 1 for those that there are not."""
    a = 3.0 * k[3]
    b = k[2]
    c = k[1]
    first = float(1.0)
    second = float(1.0)
    inside = b * b - a * c
    if inside > 0.0:
        # the form without cancellation
        q = -(b + wp.where(b < 0.0, -1.0, 1.0) * wp.sqrt(inside))
        one = float(NEVER)
        two = float(NEVER)
        if a != 0.0:
            one = q / a
        if q != 0.0:
            two = c / q
        if one > 0.0 and one < 1.0:
            first = one
        if two > 0.0 and two < 1.0:
            second = two
    return wp.vec2(wp.min(first, second), wp.max(first, second))


@wp.func
def flat_times(k: wp.vec4) -> wp.vec3:
    """The roots of a cubic within the step, 0 to 1, in order; NEVER for those that there are not."""
    turn = turning_times(k)
    return wp.vec3(root_between(k, 0.0, turn[0]), root_between(k, turn[0], turn[1]), root_between(k, turn[1], 1.0))


@wp.func
def time_of_meeting(
    p: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3, dp: wp.vec3, da: wp.vec3, db: wp.vec3, dc: wp.vec3, near: float
) -> float:
    """When a vertex p meets a triangle a, b, c, as a share of the step; NEVER if it does not.

    They move by dp, da, db, dc [m]; `near` [m] is how close counts as meeting at the time they are in one plane.
    """
    times = flat_times(flat_cubic(p - a, b - a, c - a, dp - da, db - da, dc - da))
    for k in range(3):
        t = times[k]
        if t <= 1.0:
            pt = p + t * dp
            at = a + t * da
            bt = b + t * db
            ct = c + t * dc
            w = triangle_weights(pt, at, bt, ct)
            if wp.length(pt - w[0] * at - w[1] * bt - w[2] * ct) <= near + GRAIN * wp.length(dp - da):
                return t
    return NEVER


@wp.func
def time_of_edges(
    a: wp.vec3, b: wp.vec3, c: wp.vec3, d: wp.vec3, da: wp.vec3, db: wp.vec3, dc: wp.vec3, dd: wp.vec3, near: float
) -> float:
    """When two edges, a to b and c to d, meet; the same as `time_of_meeting`."""
    times = flat_times(flat_cubic(b - a, d - c, c - a, db - da, dd - dc, dc - da))
    for k in range(3):
        t = times[k]
        if t <= 1.0:
            at = a + t * da
            bt = b + t * db
            ct = c + t * dc
            dt = d + t * dd
            s = segments_weights(at, bt, ct, dt)
            if wp.length(at + s[0] * (bt - at) - ct - s[1] * (dt - ct)) <= near + GRAIN * wp.length(da - dc):
                return t
    return NEVER
