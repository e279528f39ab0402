"""Whether candidates are still good: they are while nothing strays from the way it was expected to take."""

import warp as wp

wp.set_module_options({"enable_backward": False})

REACHES = wp.constant(4.0)
"""How far the fastest vertex goes while candidates serve, over the reach."""


@wp.kernel
def expect(
    start: int,
    lanes: int,
    vertex: wp.array(dtype=int),
    group_starts: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    astray_out: wp.array(dtype=wp.vec3),
):
    """Where each vertex is, how fast it is expected to go on, and by how much the step goes astray of that.

    It is expected to go as fast as its neighbours do in the mean: single vertices tremble where they are pressed
    against something. So many threads share a group.
    """
    g = (start + wp.tid()) // lanes
    first = group_starts[g]
    end = group_starts[g + 1]
    total = wp.vec3(0.0, 0.0, 0.0)
    for k in range(first, end):
        total += v[vertex[k]]
    mean = total / float(wp.max(end - first, 1))
    for k in range(first + (start + wp.tid()) % lanes, end, lanes):
        i = vertex[k]
        x_out[k] = x[i]
        v_out[i] = mean
        astray_out[i] = x_next[i] - x[i] - dt * mean


@wp.kernel
def find_fastest(
    stride: int, vertex: wp.array(dtype=int), v: wp.array(dtype=wp.vec3), fastest_inout: wp.array(dtype=float)
):
    """The largest speed [m/s]. On the CPU by one thread."""
    most = float(0.0)
    for k in range(wp.tid(), vertex.shape[0], stride):
        most = wp.max(most, wp.length(v[vertex[k]]))
    wp.atomic_max(fastest_inout, 0, most)


@wp.kernel
def look_ahead(
    reach: float,
    dt: float,
    frame: float,
    fastest_inout: wp.array(dtype=float),
    ahead: wp.array(dtype=float),
    pairs_out: wp.array(dtype=int),
):
    """For how long candidates are looked for at once [s]: the fastest goes some times as far as is watched around it.
    Over longer times the ways of fast bodies cross too many others. None are listed yet."""
    pairs_out[0] = 0
    ahead[0] = wp.clamp(REACHES * reach / wp.max(fastest_inout[0], 1.0e-12), dt, wp.max(frame, dt))
    fastest_inout[0] = 0.0


@wp.kernel
def close_search(
    dt: float, age_out: wp.array(dtype=float), stale_out: wp.array(dtype=int), turn_inout: wp.array(dtype=int)
):
    """Candidates are fresh; at the end of the step they are as old as it is long [s]. Another search has been."""
    age_out[0] = dt
    stale_out[0] = 0
    turn_inout[0] = turn_inout[0] + 1


@wp.kernel
def grow_older(
    dt: float, ahead: wp.array(dtype=float), age_inout: wp.array(dtype=float), stale_out: wp.array(dtype=int)
):
    """Another step: candidates serve for a time ahead of when they were found [s]."""
    age = age_inout[0] + dt
    age_inout[0] = age
    if age > 1.0001 * ahead[0]:
        stale_out[0] = 1


@wp.kernel
def look_for_strays(
    start: int,
    vertex: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    x_found: wp.array(dtype=wp.vec3),
    v_found: wp.array(dtype=wp.vec3),
    astray: wp.array(dtype=wp.vec3),
    age: wp.array(dtype=float),
    farthest: float,
    stale_out: wp.array(dtype=int),
):
    """Candidates are stale where a vertex is further than so much [m] from where it was expected to be by now, astray
    as it was then or less."""
    k = start + wp.tid()
    i = vertex[k]
    off = x[i] - x_found[k] - age[0] * v_found[i]
    way = astray[i]
    part = wp.clamp(wp.dot(off, way) / wp.max(wp.dot(way, way), 1.0e-30), 0.0, 1.0)
    if wp.length(off - part * way) > farthest:
        stale_out[0] = 1
