"""Triangles across holes, and vertices on the edges of cracks: kernels."""

import warp as wp

wp.set_module_options({"enable_backward": False})

REFUSED = wp.constant(wp.float64(1e6))
"""Cost of a triangle that must not be; the holes are scaled to the unit box."""
FLAT_FILL = wp.constant(wp.float64(1e-7))
"""Twice the area over the square of the longest edge, below which a triangle must not fill a hole."""
SHAPE = wp.constant(wp.float64(1e-4))
"""Weight of the square of the longest edge beside the area: decides where a hole is flat and all areas are equal."""


@wp.func
def _cost(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.float64:
    longest = wp.max(wp.length_sq(b - a), wp.max(wp.length_sq(c - b), wp.length_sq(a - c)))
    double_area = wp.length(wp.cross(b - a, c - a))
    if double_area <= FLAT_FILL * longest:
        return REFUSED
    return wp.float64(0.5) * double_area + SHAPE * longest


@wp.kernel
def fill_least_area(
    start: int,
    first: wp.array(dtype=wp.int32),
    size: wp.array(dtype=wp.int32),
    table_first: wp.array(dtype=wp.int64),
    points: wp.array(dtype=wp.vec3d),
    taken: wp.array(dtype=wp.uint8),
    cost_inout: wp.array(dtype=wp.float64),
    split_inout: wp.array(dtype=wp.int32),
    stack_inout: wp.array(dtype=wp.int32),
    corner_out: wp.array(dtype=wp.int32),
    total_out: wp.array(dtype=wp.float64),
):
    """The triangles of least area across one loop, by dynamic programming (Barequet and Sharir 1995).

    cost[i, k] is the least for the part of the loop from i to k, cut at split[i, k]; taken marks chords that are edges
    of the surface already. Corners are written as numbers within the loop.
    """
    h = start + wp.tid()
    n = size[h]
    p = first[h]
    table = table_first[h]
    for i in range(n - 1):
        cost_inout[table + wp.int64(i * n + i + 1)] = wp.float64(0.0)
    for gap in range(2, n):
        for i in range(n - gap):
            k = i + gap
            best = wp.float64(1e30)
            where = int(i + 1)
            for j in range(i + 1, k):
                c = (
                    cost_inout[table + wp.int64(i * n + j)]
                    + cost_inout[table + wp.int64(j * n + k)]
                    + _cost(points[p + i], points[p + j], points[p + k])
                )
                if c < best:
                    best = c
                    where = j
            if gap < n - 1 and taken[table + wp.int64(i * n + k)] != wp.uint8(0):
                best += REFUSED
            cost_inout[table + wp.int64(i * n + k)] = best
            split_inout[table + wp.int64(i * n + k)] = where
    total_out[h] = cost_inout[table + wp.int64(n - 1)]
    written = int(0)
    top = int(1)
    stack_inout[2 * p] = 0
    stack_inout[2 * p + 1] = n - 1
    while top > 0:
        top -= 1
        i = stack_inout[2 * (p + top)]
        k = stack_inout[2 * (p + top) + 1]
        if k - i >= 2:
            j = split_inout[table + wp.int64(i * n + k)]
            corner_out[3 * (p + written)] = i
            corner_out[3 * (p + written) + 1] = j
            corner_out[3 * (p + written) + 2] = k
            written += 1
            stack_inout[2 * (p + top)] = i
            stack_inout[2 * (p + top) + 1] = j
            stack_inout[2 * (p + top) + 2] = j
            stack_inout[2 * (p + top) + 3] = k
            top += 2


@wp.kernel
def nearest_edge(
    start: int,
    bvh: wp.uint64,
    edge_start: wp.array(dtype=wp.vec3d),
    edge_end: wp.array(dtype=wp.vec3d),
    point: wp.array(dtype=wp.vec3d),
    reach: wp.float64,
    edge_out: wp.array(dtype=wp.int32),
    along_out: wp.array(dtype=wp.float64),
):
    """The edge whose inside each point lies on, within reach, the nearest one or the first of those; -1 for none."""
    i = start + wp.tid()
    x = point[i]
    low = wp.vec3(wp.float32(x[0]), wp.float32(x[1]), wp.float32(x[2]))
    best = reach
    found = int(-1)
    place = wp.float64(0.0)
    query = wp.bvh_query_aabb(bvh, low, low)
    e = int(0)
    while wp.bvh_query_next(query, e):
        a = edge_start[e]
        b = edge_end[e]
        length = wp.length(b - a)
        along = wp.dot(x - a, b - a) / (length * length)
        inside = along * length > reach and (wp.float64(1.0) - along) * length > reach
        away = wp.length(x - a - along * (b - a))
        if inside and (away < best or (away == best and (found < 0 or e < found))):
            best = away
            found = e
            place = along
    edge_out[i] = found
    along_out[i] = place
