"""Searches for the element that holds a point: the one around it, the nearest one, a well-shaped one nearby.

Elements are told by a frame in float64: u = inverse (p - origin). In a tet u are the barycentric weights of corners
1 to 3; in a cube they run from 0 to 1 along its edges; on a triangle they are the weights of corners 1 and 2 and the
height above its plane. All lengths are in units of the host's box.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})

TET = wp.constant(0)
CUBE = wp.constant(1)
TRIANGLE = wp.constant(2)

SLACK = wp.constant(wp.float64(1.0e-10))
"""A weight this little below zero still counts as inside."""
NEAR = wp.constant(wp.float64(1.0e-12))
"""And so does a point this near to an element, where the element is so thin that weights mean little."""


@wp.func
def smallest_weight(u: wp.vec3d, kind: int) -> wp.float64:
    """Smallest weight of a point in a tet, or smallest distance from a side in a cube [edges]; negative outside."""
    one = wp.float64(1.0)
    low = wp.min(wp.min(u[0], u[1]), u[2])
    if kind == TET:
        return wp.min(low, one - u[0] - u[1] - u[2])
    return wp.min(low, one - wp.max(wp.max(u[0], u[1]), u[2]))


@wp.func
def depth(inverse: wp.mat33d, u: wp.vec3d, kind: int) -> wp.float64:
    """How deep a point lies behind the planes of an element's sides; negative outside."""
    one = wp.float64(1.0)
    a = wp.vec3d(inverse[0, 0], inverse[0, 1], inverse[0, 2])
    b = wp.vec3d(inverse[1, 0], inverse[1, 1], inverse[1, 2])
    c = wp.vec3d(inverse[2, 0], inverse[2, 1], inverse[2, 2])
    low = wp.min(wp.min(u[0] / wp.length(a), u[1] / wp.length(b)), u[2] / wp.length(c))
    if kind == TET:
        return wp.min(low, (one - u[0] - u[1] - u[2]) / wp.length(a + b + c))
    high = wp.min(wp.min((one - u[0]) / wp.length(a), (one - u[1]) / wp.length(b)), (one - u[2]) / wp.length(c))
    return wp.min(low, high)


@wp.func
def largest_weight(u: wp.vec3d, kind: int) -> wp.float64:
    """Largest weight of a point in a tet or on a triangle, by amount."""
    one = wp.float64(1.0)
    pair = wp.max(wp.abs(u[0]), wp.abs(u[1]))
    if kind == TET:
        return wp.max(wp.max(pair, wp.abs(u[2])), wp.abs(one - u[0] - u[1] - u[2]))
    return wp.max(pair, wp.abs(one - u[0] - u[1]))


@wp.kernel
def find_containing(
    start: int,
    bvh: wp.uint64,
    origins: wp.array(dtype=wp.vec3d),
    inverses: wp.array(dtype=wp.mat33d),
    points: wp.array(dtype=wp.vec3d),
    kind: int,
    element_out: wp.array(dtype=int),
):
    """Lowest element that contains each point, -1 where there is none."""
    i = start + wp.tid()
    p = points[i]
    corner = wp.vec3(float(p[0]), float(p[1]), float(p[2]))
    inside = int(-1)
    near = int(-1)
    query = wp.bvh_query_aabb(bvh, corner, corner)
    e = int(0)
    while wp.bvh_query_next(query, e):
        inverse = inverses[e]
        u = inverse * (p - origins[e])
        if smallest_weight(u, kind) >= -SLACK:
            if inside < 0 or e < inside:
                inside = e
        elif depth(inverse, u, kind) >= -NEAR:
            if near < 0 or e < near:
                near = e
    if inside < 0:
        inside = near
    element_out[i] = inside


@wp.func
def segment_distance(p: wp.vec3d, a: wp.vec3d, b: wp.vec3d) -> wp.float64:
    """Distance of a point from a segment."""
    d = b - a
    squared = wp.dot(d, d)
    t = wp.float64(0.0)
    if squared > wp.float64(0.0):
        t = wp.clamp(wp.dot(p - a, d) / squared, wp.float64(0.0), wp.float64(1.0))
    return wp.length(p - a - t * d)


@wp.func
def triangle_distance(p: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d) -> wp.float64:
    """Distance of a point from a triangle: from its plane where it stands over it, else from its sides."""
    zero = wp.float64(0.0)
    normal = wp.cross(b - a, c - a)
    length = wp.length(normal)
    if length > zero:
        over_ab = wp.dot(wp.cross(b - a, p - a), normal)
        over_bc = wp.dot(wp.cross(c - b, p - b), normal)
        over_ca = wp.dot(wp.cross(a - c, p - c), normal)
        if over_ab >= zero and over_bc >= zero and over_ca >= zero:
            return wp.abs(wp.dot(p - a, normal)) / length
    return wp.min(wp.min(segment_distance(p, a, b), segment_distance(p, b, c)), segment_distance(p, c, a))


@wp.kernel
def find_nearest(
    start: int,
    mesh: wp.uint64,
    corners: wp.array(dtype=wp.vec3d),
    triangles: wp.array(dtype=wp.vec3i),
    points: wp.array(dtype=wp.vec3d),
    farthest: wp.float64,
    face_out: wp.array(dtype=int),
    distance_out: wp.array(dtype=wp.float64),
):
    """Nearest triangle of each point and its distance.

    Points beyond `farthest` are drawn towards the origin for the search alone, so that single precision can still
    tell the triangles apart; from so far away the nearest triangle depends on the direction only.
    """
    i = start + wp.tid()
    p = points[i]
    away = wp.length(p)
    asked = p
    if away > farthest:
        asked = (farthest / away) * p
    near = wp.vec3(float(asked[0]), float(asked[1]), float(asked[2]))
    found = wp.mesh_query_point_no_sign(mesh, near, 1.0e6)
    t = triangles[found.face]
    face_out[i] = found.face
    distance_out[i] = triangle_distance(p, corners[t[0]], corners[t[1]], corners[t[2]])


@wp.kernel
def find_well_shaped(
    start: int,
    origins: wp.array(dtype=wp.vec3d),
    inverses: wp.array(dtype=wp.mat33d),
    around_starts: wp.array(dtype=int),
    around: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec3d),
    triangles: wp.array(dtype=wp.vec3i),
    kind: int,
    element_inout: wp.array(dtype=int),
):
    """Of the elements around the corners of the nearest triangle, the one with the smallest largest weight."""
    i = start + wp.tid()
    p = points[i]
    best = element_inout[i]
    least = largest_weight(inverses[best] * (p - origins[best]), kind)
    t = triangles[i]
    for corner in range(3):
        v = t[corner]
        for k in range(around_starts[v], around_starts[v + 1]):
            e = around[k]
            size = largest_weight(inverses[e] * (p - origins[e]), kind)
            if size < least or (size == least and e < best):
                least = size
                best = e
    element_inout[i] = best
