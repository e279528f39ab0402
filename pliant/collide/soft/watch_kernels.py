"""Whether candidates are still good: they are while nothing strays from the way it was expected to take."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def remember(
    start: int,
    vertex: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Where each vertex was when candidates were looked for, and how fast."""
    k = start + wp.tid()
    x_out[k] = x[vertex[k]]
    v_out[k] = v[vertex[k]]


@wp.kernel
def close_search(dt: float, age_out: wp.array(dtype=float), stale_out: wp.array(dtype=int)):
    """Candidates are fresh; at the end of the step they are as old as it is long [s]."""
    age_out[0] = dt
    stale_out[0] = 0


@wp.kernel
def grow_older(dt: float, ahead: float, age_inout: wp.array(dtype=float), stale_out: wp.array(dtype=int)):
    """Another step: candidates serve for a time ahead of when they were found [s]."""
    age = age_inout[0] + dt
    age_inout[0] = age
    if age > 1.0001 * ahead:
        stale_out[0] = 1


@wp.kernel
def look_for_strays(
    start: int,
    vertex: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    x_found: wp.array(dtype=wp.vec3),
    v_found: wp.array(dtype=wp.vec3),
    age: wp.array(dtype=float),
    farthest: float,
    stale_out: wp.array(dtype=int),
):
    """Candidates are stale where a vertex is further than so much [m] from where it was expected to be by now."""
    k = start + wp.tid()
    if wp.length(x[vertex[k]] - x_found[k] - age[0] * v_found[k]) > farthest:
        stale_out[0] = 1
