"""Which triangles of one surface cut through each other: kernels, in float64 over coordinates in the unit box."""

import warp as wp

# Loops stay loops: unrolled, these functions took the compiler three seconds.
wp.set_module_options({"enable_backward": False, "max_unroll": 1})

SNAP = wp.constant(wp.float64(1e-7))
"""Nearer to a plane than this, a corner lies in it: what float32 files round is not a crossing."""
SHORTEST = wp.constant(wp.float64(1e-6))
"""Overlaps no longer than this only touch."""
FLAT = wp.constant(wp.float64(1e-10))
"""Twice the area over the square of the longest edge, below which a triangle is skipped."""
MOST_PARTNERS = wp.constant(64)
"""Partners counted for one triangle; more would only cost time."""


@wp.func
def _snapped(d: wp.float64) -> wp.float64:
    if wp.abs(d) <= SNAP:
        return wp.float64(0.0)
    return d


@wp.func
def _distances(a: wp.vec3d, n: wp.vec3d, b0: wp.vec3d, b1: wp.vec3d, b2: wp.vec3d) -> wp.vec3d:
    """Signed distances of three points from the plane through a with unit normal n, small ones made zero."""
    return wp.vec3d(_snapped(wp.dot(n, b0 - a)), _snapped(wp.dot(n, b1 - a)), _snapped(wp.dot(n, b2 - a)))


@wp.func
def _one_side(d: wp.vec3d) -> bool:
    zero = wp.float64(0.0)
    return (d[0] > zero and d[1] > zero and d[2] > zero) or (d[0] < zero and d[1] < zero and d[2] < zero)


@wp.func
def _zeros(d: wp.vec3d) -> int:
    count = int(0)
    for i in range(3):
        if d[i] == wp.float64(0.0):
            count += 1
    return count


@wp.func
def _interval(d: wp.vec3d, p: wp.vec3d) -> wp.vec2d:
    """Where a triangle cuts a plane, along the cut: d are distances from the plane, p places along the cut."""
    low = wp.float64(1e30)
    high = wp.float64(-1e30)
    for i in range(3):
        j = (i + 1) % 3
        if d[i] == wp.float64(0.0):
            low = wp.min(low, p[i])
            high = wp.max(high, p[i])
        if d[i] * d[j] < wp.float64(0.0):
            at = p[i] + (p[j] - p[i]) * (d[i] / (d[i] - d[j]))
            low = wp.min(low, at)
            high = wp.max(high, at)
    return wp.vec2d(low, high)


@wp.func
def _apart_along(
    axis: wp.vec3d, a0: wp.vec3d, a1: wp.vec3d, a2: wp.vec3d, b0: wp.vec3d, b1: wp.vec3d, b2: wp.vec3d
) -> bool:
    """Whether an axis parts two triangles, or leaves them touching; an axis without length parts nothing."""
    length = wp.length(axis)
    if length <= wp.float64(1e-30):
        return False
    pa = wp.vec3d(wp.dot(axis, a0), wp.dot(axis, a1), wp.dot(axis, a2)) / length
    pb = wp.vec3d(wp.dot(axis, b0), wp.dot(axis, b1), wp.dot(axis, b2)) / length
    return wp.min(wp.max(pa), wp.max(pb)) - wp.max(wp.min(pa), wp.min(pb)) <= SHORTEST


@wp.func
def _overlap_in_plane(
    n: wp.vec3d, a0: wp.vec3d, a1: wp.vec3d, a2: wp.vec3d, b0: wp.vec3d, b1: wp.vec3d, b2: wp.vec3d
) -> bool:
    """Whether two triangles of one plane cover common ground: no edge's normal in the plane parts them."""
    edges_a = wp.matrix_from_rows(a1 - a0, a2 - a1, a0 - a2)
    edges_b = wp.matrix_from_rows(b1 - b0, b2 - b1, b0 - b2)
    for k in range(6):
        edge = edges_b[k % 3]
        if k < 3:
            edge = edges_a[k]
        if _apart_along(wp.cross(n, edge), a0, a1, a2, b0, b1, b2):
            return False
    return True


@wp.func
def _unit_normal(a0: wp.vec3d, a1: wp.vec3d, a2: wp.vec3d) -> wp.vec3d:
    """Unit normal; zero for a flat triangle."""
    n = wp.cross(a1 - a0, a2 - a0)
    length = wp.length(n)
    longest = wp.max(wp.length_sq(a1 - a0), wp.max(wp.length_sq(a2 - a1), wp.length_sq(a0 - a2)))
    if length <= FLAT * longest:
        return wp.vec3d(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0))
    return n / length


@wp.func
def triangles_cross(
    a0: wp.vec3d, a1: wp.vec3d, a2: wp.vec3d, b0: wp.vec3d, b1: wp.vec3d, b2: wp.vec3d, shared: int
) -> bool:
    """Whether two triangles that share this many vertices overlap beyond what they share.

    Moeller 1997, "A Fast Triangle-Triangle Intersection Test": both cut the line common to their planes in an
    interval; they meet where the intervals overlap. Edges that lie on each other only touch. Triangles of one plane
    are parted by the normal of an edge, or overlap. Two that share an edge overlap only if folded flat.
    """
    if shared >= 3:
        return False
    na = _unit_normal(a0, a1, a2)
    nb = _unit_normal(b0, b1, b2)
    if wp.length_sq(na) == wp.float64(0.0) or wp.length_sq(nb) == wp.float64(0.0):
        return False
    da = _distances(b0, nb, a0, a1, a2)
    if _one_side(da):
        return False
    db = _distances(a0, na, b0, b1, b2)
    if _one_side(db):
        return False
    zeros_a = _zeros(da)
    zeros_b = _zeros(db)
    if zeros_a == 3 or zeros_b == 3:
        normal = na
        if zeros_a == 3:
            normal = nb
        return _overlap_in_plane(normal, a0, a1, a2, b0, b1, b2)
    if shared == 2 or (zeros_a == 2 and zeros_b == 2):
        return False
    line = wp.normalize(wp.cross(na, nb))
    ia = _interval(da, wp.vec3d(wp.dot(line, a0 - a0), wp.dot(line, a1 - a0), wp.dot(line, a2 - a0)))
    ib = _interval(db, wp.vec3d(wp.dot(line, b0 - a0), wp.dot(line, b1 - a0), wp.dot(line, b2 - a0)))
    return wp.min(ia[1], ib[1]) - wp.max(ia[0], ib[0]) > SHORTEST


@wp.kernel
def count_partners(
    start: int,
    bvh: wp.uint64,
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    corners: wp.array(dtype=wp.vec3d),
    names: wp.array(dtype=wp.int32),
    count_out: wp.array(dtype=wp.int32),
    partner_out: wp.array(dtype=wp.int32),
):
    """How many others each triangle crosses, at most MOST_PARTNERS, and the first of those found; -1 for none.

    Whether i crosses j is asked twice, by both, so that no thread writes what another owns; both times in the same
    order, so that both get the same answer.
    """
    i = start + wp.tid()
    count = int(0)
    partner = int(-1)
    query = wp.bvh_query_aabb(bvh, lowers[i], uppers[i])
    j = int(0)
    while wp.bvh_query_next(query, j):
        if count >= MOST_PARTNERS:
            break
        if j == i:
            continue
        low = wp.min(i, j)
        high = wp.max(i, j)
        shared = int(0)
        for c in range(3):
            for d in range(3):
                if names[3 * low + c] == names[3 * high + d]:
                    shared += 1
        if triangles_cross(
            corners[3 * low], corners[3 * low + 1], corners[3 * low + 2],
            corners[3 * high], corners[3 * high + 1], corners[3 * high + 2],
            shared,
        ):  # fmt: skip
            count += 1
            if partner < 0 or j < partner:
                partner = j
    count_out[i] = count
    partner_out[i] = partner
