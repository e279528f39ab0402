"""Nearest points of points, segments and triangles, as weights of their corners."""

import warp as wp

TINY = wp.constant(1.0e-20)
"""Squared lengths below this are none."""


@wp.func
def segment_weight(p: wp.vec3, a: wp.vec3, b: wp.vec3) -> float:
    """Weight of b in the point of the segment from a to b that is nearest to p; 0 where a and b are one place."""
    along = b - a
    length = wp.dot(along, along)
    if length < TINY:
        return 0.0
    return wp.clamp(wp.dot(p - a, along) / length, 0.0, 1.0)


@wp.func
def nearest_on_rim(p: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3) -> wp.vec3:
    """Weights of the nearest point of a triangle's three sides."""
    t = segment_weight(p, a, b)
    best = wp.vec3(1.0 - t, t, 0.0)
    nearest = wp.length_sq(p - a - t * (b - a))
    t = segment_weight(p, b, c)
    distance = wp.length_sq(p - b - t * (c - b))
    if distance < nearest:
        nearest = distance
        best = wp.vec3(0.0, 1.0 - t, t)
    t = segment_weight(p, c, a)
    distance = wp.length_sq(p - c - t * (a - c))
    if distance < nearest:
        best = wp.vec3(t, 0.0, 1.0 - t)
    return best


@wp.func
def triangle_weights(p: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3) -> wp.vec3:
    """Weights of a, b and c in the point of the triangle that is nearest to p.

    A triangle whose corners are on a line or in one place is that line or that place. (Ericson 2005, Real-Time
    Collision Detection, 5.1.5.)
    """
    u = b - a
    v = c - a
    n = wp.cross(u, v)
    area = wp.dot(n, n)
    if area <= 1.0e-12 * wp.dot(u, u) * wp.dot(v, v) or area < TINY * TINY:
        return nearest_on_rim(p, a, b, c)
    r = p - a
    beta = wp.dot(wp.cross(r, v), n) / area
    gamma = wp.dot(wp.cross(u, r), n) / area
    alpha = 1.0 - beta - gamma
    if alpha >= 0.0 and beta >= 0.0 and gamma >= 0.0:
        return wp.vec3(alpha, beta, gamma)
    return nearest_on_rim(p, a, b, c)


@wp.func
def segments_weights(a: wp.vec3, b: wp.vec3, c: wp.vec3, d: wp.vec3) -> wp.vec2:
    """Weights of b and d in the points of two segments, a to b and c to d, that are nearest to each other.

    Of parallel segments one such pair. (Ericson 2005, Real-Time Collision Detection, 5.1.9.)
    """
    u = b - a
    v = d - c
    r = a - c
    uu = wp.dot(u, u)
    vv = wp.dot(v, v)
    if uu < TINY:
        return wp.vec2(0.0, segment_weight(a, c, d))
    if vv < TINY:
        return wp.vec2(segment_weight(c, a, b), 0.0)
    ur = wp.dot(u, r)
    vr = wp.dot(v, r)
    uv = wp.dot(u, v)
    across = uu * vv - uv * uv
    s = float(0.5)
    if across > 1.0e-6 * uu * vv:
        s = wp.clamp((uv * vr - ur * vv) / across, 0.0, 1.0)
    t = (uv * s + vr) / vv
    if t < 0.0:
        t = 0.0
        s = wp.clamp(-ur / uu, 0.0, 1.0)
    elif t > 1.0:
        t = 1.0
        s = wp.clamp((uv - ur) / uu, 0.0, 1.0)
    return wp.vec2(s, t)
