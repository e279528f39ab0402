"""Rays through a surface: signed crossings, and which side of a triangle sees the outside. Float64, unit box."""

import warp as wp

wp.set_module_options({"enable_backward": False})

NEAREST = wp.constant(wp.float64(1e-9))
"""Hits nearer than this are those of the surface the ray starts on."""


@wp.func
def _crossing(o: wp.vec3d, d: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> int:
    """1 if the ray from o along d leaves through the triangle's front, -1 through its back, 0 if it misses.

    The signs of the three volumes that the ray spans with the edges tell on which side of each it passes.
    """
    zero = wp.float64(0.0)
    oa = a - o
    ob = b - o
    oc = c - o
    u = wp.dot(d, wp.cross(oa, ob))
    v = wp.dot(d, wp.cross(ob, oc))
    w = wp.dot(d, wp.cross(oc, oa))
    inside = (u >= zero and v >= zero and w >= zero) or (u < zero and v < zero and w < zero)
    if not inside:
        return 0
    n = wp.cross(b - a, c - a)
    along = wp.dot(n, d)
    if along == zero:
        return 0
    if wp.dot(n, oa) / along <= NEAREST:
        return 0
    if along > zero:
        return 1
    return -1


@wp.func
def _as_float(v: wp.vec3d) -> wp.vec3:
    return wp.vec3(wp.float32(v[0]), wp.float32(v[1]), wp.float32(v[2]))


@wp.kernel
def signed_crossings(
    start: int,
    bvh: wp.uint64,
    corners: wp.array(dtype=wp.vec3d),
    patch: wp.array(dtype=wp.int32),
    weight: wp.array(dtype=wp.int32),
    origin: wp.array(dtype=wp.vec3d),
    direction: wp.array(dtype=wp.vec3d),
    own: wp.array(dtype=wp.int32),
    sum_out: wp.array(dtype=wp.int32),
):
    """Sum over the triangles that a ray leaves or enters of their patch's weight; the ray's own patch is skipped.

    For closed patches weighted with the sign of their volume this is how many of them the origin lies in.
    """
    i = start + wp.tid()
    total = int(0)
    query = wp.bvh_query_ray(bvh, _as_float(origin[i]), _as_float(direction[i]))
    t = int(0)
    while wp.bvh_query_next(query, t):
        p = patch[t]
        if p != own[i] and weight[p] != 0:
            total += weight[p] * _crossing(
                origin[i], direction[i], corners[3 * t], corners[3 * t + 1], corners[3 * t + 2]
            )
    sum_out[i] = total


@wp.kernel
def count_escapes(
    start: int,
    bvh: wp.uint64,
    corners: wp.array(dtype=wp.vec3d),
    directions: wp.array(dtype=wp.vec3d),
    triangle: wp.array(dtype=wp.int32),
    origin: wp.array(dtype=wp.vec3d),
    normal: wp.array(dtype=wp.vec3d),
    front_out: wp.array(dtype=wp.float64),
    back_out: wp.array(dtype=wp.float64),
):
    """How much of each sample's front and back sees the outside, from 0 to 1; rays weighted with their cosine."""
    i = start + wp.tid()
    front = wp.float64(0.0)
    back = wp.float64(0.0)
    front_all = wp.float64(0.0)
    back_all = wp.float64(0.0)
    for r in range(directions.shape[0]):
        d = directions[r]
        cosine = wp.dot(d, normal[i])
        hit = int(0)
        query = wp.bvh_query_ray(bvh, _as_float(origin[i]), _as_float(d))
        t = int(0)
        while wp.bvh_query_next(query, t):
            if t != triangle[i]:
                hit = wp.abs(_crossing(origin[i], d, corners[3 * t], corners[3 * t + 1], corners[3 * t + 2]))
                if hit != 0:
                    break
        free = wp.float64(1 - hit)
        if cosine > wp.float64(0.0):
            front += free * cosine
            front_all += cosine
        else:
            back -= free * cosine
            back_all -= cosine
    front_out[i] = front / wp.max(front_all, wp.float64(1e-30))
    back_out[i] = back / wp.max(back_all, wp.float64(1e-30))
