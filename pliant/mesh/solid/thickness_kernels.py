"""Kernels that measure how thick a closed surface is below points of it, and spread an offset over it."""

import warp as wp

# Loops stay loops: with seven copies of the ray the compiler took three times as long.
wp.set_module_options({"enable_backward": False, "max_unroll": 1})

RAYS = wp.constant(7)
CONE_COS = wp.constant(0.8660254)
CONE_SIN = wp.constant(0.5)
"""One ray straight inward and six around it at 30 degrees."""
OPPOSITE = wp.constant(-0.3)
"""Cosine between the normals of two sides of a thin part; at a box's edge it is 0, at a right cone's tip too."""
FLAT = wp.constant(0.25)
"""Part of its radius within which an offset does not fall, so that it does not sag between its points."""


@wp.kernel
def thicknesses(
    start: int,
    mesh: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    normals: wp.array(dtype=wp.vec3),
    reach: float,
    gap: float,
    thickness_out: wp.array(dtype=float),
):
    """Least depth at which a ray from a point of the surface leaves through a side that faces the other way.

    Infinite where none does within ``reach``. Rays start ``gap`` below the surface.
    """
    i = start + wp.tid()
    n = normals[i]
    side = wp.vec3(1.0, 0.0, 0.0)
    if wp.abs(n[0]) > 0.6:
        side = wp.vec3(0.0, 1.0, 0.0)
    u = wp.normalize(wp.cross(n, side))
    v = wp.cross(n, u)
    origin = points[i] - gap * n
    least = float(wp.inf)
    for k in range(RAYS):
        direction = -n
        if k > 0:
            angle = float(k) * (wp.tau / float(RAYS - 1))
            direction = CONE_SIN * (wp.cos(angle) * u + wp.sin(angle) * v) - CONE_COS * n
        query = wp.mesh_query_ray(mesh, origin, direction, reach)
        if query.result:
            other = wp.mesh_eval_face_normal(mesh, query.face)
            if wp.dot(other, n) < OPPOSITE and wp.dot(other, direction) > 0.0:
                least = wp.min(least, gap - query.t * wp.dot(direction, n))
    thickness_out[i] = least


@wp.kernel
def spread(
    start: int,
    mesh: wp.uint64,
    grid: wp.uint64,
    centers: wp.array(dtype=wp.vec3),
    amounts: wp.array(dtype=float),
    points: wp.array(dtype=wp.vec3),
    reach: float,
    radius: float,
    amount_out: wp.array(dtype=float),
):
    """The largest of all amounts at the nearest point of the surface, each falling to zero at ``radius``."""
    i = start + wp.tid()
    query = wp.mesh_query_point_no_sign(mesh, points[i], reach)
    largest = float(0.0)
    if query.result:
        foot = wp.mesh_eval_position(mesh, query.face, query.u, query.v)
        around = wp.hash_grid_query(grid, foot, radius)
        k = int(0)
        while wp.hash_grid_query_next(around, k):
            fall = (1.0 - wp.length(centers[k] - foot) / radius) / (1.0 - FLAT)
            largest = wp.max(largest, amounts[k] * wp.min(fall, 1.0))
    amount_out[i] = largest
