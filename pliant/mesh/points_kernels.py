"""Device code for loose points: the nearest neighbour of each."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def find_neighbours(
    start: int,
    bvh: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    reach: wp.array(dtype=float),
    nearest_out: wp.array(dtype=int),
):
    """The nearest other point of each, the lowest of several; at most `reach` away, -1 if there is none."""
    i = start + wp.tid()
    p = points[i]
    best = reach[i]
    found = int(-1)
    half = wp.vec3(best, best, best)
    query = wp.bvh_query_aabb(bvh, p - half, p + half)
    j = int(0)
    while wp.bvh_query_next(query, j):
        d = wp.length(points[j] - p)
        if j != i and (d < best or (d == best and (found < 0 or j < found))):
            best = d
            found = j
    nearest_out[i] = found
