"""Kernels that ask a triangle mesh how far points are from it, and which side they are on."""

import warp as wp

wp.set_module_options({"enable_backward": False})

NOT_FOUND = wp.constant(-1)


@wp.kernel
def signed_distances(
    start: int,
    mesh: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    reach: float,
    accuracy: float,
    threshold: float,
    distance_out: wp.array(dtype=float),
):
    """Distance to the surface, negative where the winding number exceeds the threshold; infinite if none is found."""
    i = start + wp.tid()
    point = points[i]
    query = wp.mesh_query_point_sign_winding_number(mesh, point, reach, accuracy, threshold)
    distance = float(wp.inf)
    if query.result:
        nearest = wp.mesh_eval_position(mesh, query.face, query.u, query.v)
        distance = query.sign * wp.length(nearest - point)
    distance_out[i] = distance


@wp.kernel
def nearest_points(
    start: int,
    mesh: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    reach: float,
    distance_out: wp.array(dtype=float),
    triangle_out: wp.array(dtype=int),
    weights_out: wp.array(dtype=wp.vec3),
):
    """Unsigned distance, the nearest triangle and the barycentric weights of its nearest point."""
    i = start + wp.tid()
    point = points[i]
    query = wp.mesh_query_point_no_sign(mesh, point, reach)
    distance = float(wp.inf)
    triangle = int(NOT_FOUND)
    weights = wp.vec3(0.0, 0.0, 0.0)
    if query.result:
        nearest = wp.mesh_eval_position(mesh, query.face, query.u, query.v)
        distance = wp.length(nearest - point)
        triangle = query.face
        weights = wp.vec3(query.u, query.v, 1.0 - query.u - query.v)
    distance_out[i] = distance
    triangle_out[i] = triangle
    weights_out[i] = weights


@wp.func
def apart_along(axis: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3, half: float) -> bool:
    """Whether a triangle and the cube [-half, half]^3 are separated along an axis of any length."""
    radius = half * (wp.abs(axis[0]) + wp.abs(axis[1]) + wp.abs(axis[2]))
    p = wp.dot(axis, a)
    q = wp.dot(axis, b)
    r = wp.dot(axis, c)
    return wp.min(wp.min(p, q), r) > radius or wp.max(wp.max(p, q), r) < -radius


@wp.func
def touches_cube(a: wp.vec3, b: wp.vec3, c: wp.vec3, half: float) -> bool:
    """Whether a triangle meets the cube [-half, half]^3: thirteen separating axes (Akenine-Moeller 2001)."""
    e0 = b - a
    e1 = c - b
    e2 = a - c
    apart = apart_along(wp.cross(e0, e1), a, b, c, half)
    for k in range(3):
        axis = wp.vec3(0.0, 0.0, 0.0)
        axis[k] = 1.0
        apart = apart or apart_along(axis, a, b, c, half)
        apart = apart or apart_along(wp.cross(axis, e0), a, b, c, half)
        apart = apart or apart_along(wp.cross(axis, e1), a, b, c, half)
        apart = apart or apart_along(wp.cross(axis, e2), a, b, c, half)
    return not apart


@wp.kernel
def touched_cubes(
    start: int,
    mesh: wp.uint64,
    centers: wp.array(dtype=wp.vec3),
    half: float,
    touched_out: wp.array(dtype=wp.uint8),
):
    """Whether any triangle meets the cube of half edge ``half`` about each centre."""
    i = start + wp.tid()
    center = centers[i]
    reach = wp.vec3(half, half, half)
    query = wp.mesh_query_aabb(mesh, center - reach, center + reach)
    face = int(0)
    found = wp.uint8(0)
    while found == wp.uint8(0) and wp.mesh_query_aabb_next(query, face):
        a = wp.mesh_eval_position(mesh, face, 1.0, 0.0) - center
        b = wp.mesh_eval_position(mesh, face, 0.0, 1.0) - center
        c = wp.mesh_eval_position(mesh, face, 0.0, 0.0) - center
        if touches_cube(a, b, c, half):
            found = wp.uint8(1)
    touched_out[i] = found
