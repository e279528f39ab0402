"""Device code of pieces: the closest points of a surface."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def find_closest(
    start: int,
    mesh: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    closest_out: wp.array(dtype=wp.vec3),
):
    """The point of a mesh that is closest to each point; lengths are of order one."""
    i = start + wp.tid()
    query = wp.mesh_query_point_no_sign(mesh, points[i], 1.0e6)
    if query.result:
        closest_out[i] = wp.mesh_eval_position(mesh, query.face, query.u, query.v)
    else:
        closest_out[i] = points[i]
