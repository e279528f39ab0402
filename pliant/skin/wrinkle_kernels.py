"""Kernels of wrinkles: how a coarse sheet is compressed, and waves on a smooth fine surface over it."""

import warp as wp

from pliant.mesh.wrinkles import DIRECTIONS

wp.set_module_options({"enable_backward": False})

WAYS = wp.constant(DIRECTIONS)


@wp.kernel
def find_faces(
    start: int,
    corners: wp.array(dtype=wp.vec3i),
    inverse: wp.array(dtype=wp.vec4),
    x: wp.array(dtype=wp.vec3),
    metric_out: wp.array(dtype=wp.vec3),
):
    """The metric F^T F of each coarse triangle as (11, 12, 22) in its rest frame."""
    t = start + wp.tid()
    c = corners[t]
    m = inverse[t]
    first = x[c[1]] - x[c[0]]
    second = x[c[2]] - x[c[0]]
    f1 = m[0] * first + m[2] * second
    f2 = m[1] * first + m[3] * second
    metric_out[t] = wp.vec3(wp.dot(f1, f1), wp.dot(f1, f2), wp.dot(f2, f2))


@wp.kernel
def gather_faces(
    start: int,
    particle: wp.array(dtype=int),
    fan_starts: wp.array(dtype=int),
    fan: wp.array(dtype=int),
    area: wp.array(dtype=float),
    face_metric: wp.array(dtype=wp.vec3),
    metric_out: wp.array(dtype=wp.vec3),
):
    """The mean metric of the triangles around each coarse vertex, by their rest area."""
    k = start + wp.tid()
    metric = wp.vec3(0.0, 0.0, 0.0)
    total = float(0.0)
    for r in range(fan_starts[k], fan_starts[k + 1]):
        t = fan[r]
        metric += area[t] * face_metric[t]
        total += area[t]
    metric_out[particle[k]] = metric / total


@wp.kernel
def smooth_metric(
    start: int,
    particle: wp.array(dtype=int),
    fan_starts: wp.array(dtype=int),
    fan: wp.array(dtype=int),
    area: wp.array(dtype=float),
    corners: wp.array(dtype=wp.vec3i),
    metric: wp.array(dtype=wp.vec3),
    metric_out: wp.array(dtype=wp.vec3),
):
    """Each coarse vertex's metric as the mean of the triangles around it: single edges that tremble fold nothing."""
    k = start + wp.tid()
    total = float(0.0)
    mean = wp.vec3(0.0, 0.0, 0.0)
    for r in range(fan_starts[k], fan_starts[k + 1]):
        t = fan[r]
        c = corners[t]
        mean += area[t] * (metric[c[0]] + metric[c[1]] + metric[c[2]])
        total += 3.0 * area[t]
    metric_out[particle[k]] = mean / total


@wp.func
def slope_square(length: float) -> float:
    """(a k)^2 of a wave a cos(k s) over cloth of relative length `length` below 1, which has the arc length 1.

    A fit to the mean of sqrt(length^2 + (a k sin)^2) = 1, which is off by 0.003 at most; (2 sqrt(1 - length))^2 for
    small compressions.
    """
    s = wp.clamp(length, 0.0, 1.0)
    return (1.0 - s) * (2.4749 + s * (2.2176 + s * (-0.9158 + s * 0.2269)))


@wp.func
def part_along(angle: float, way: int) -> float:
    """The part of a wave along an angle [half turns] that the direction `way` takes: of the two beside it only."""
    off = angle * float(WAYS) - float(way)
    off = off - float(WAYS) * wp.round(off / float(WAYS))
    c = wp.cos(0.5 * wp.pi * wp.min(wp.abs(off), 1.0))
    return c * c


@wp.kernel
def pull_out(
    start: int,
    particle: wp.array(dtype=int),
    starts: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    weights: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
):
    """Move each coarse vertex away from where it would end, by as much: a smooth surface then passes near it."""
    i = start + wp.tid()
    here = x[particle[i]]
    away = wp.vec3(0.0, 0.0, 0.0)
    for k in range(starts[i], starts[i + 1]):
        away += weights[k] * (x[particle[columns[k]]] - here)
    x_out[i] = here - away


@wp.kernel
def copy_vertices(start: int, particle: wp.array(dtype=int), x: wp.array(dtype=wp.vec3), first: int,
                  x_out: wp.array(dtype=wp.vec3)):  # fmt: skip
    """The coarse vertices themselves."""
    i = start + wp.tid()
    x_out[first + i] = x[particle[i]]


@wp.kernel
def subdivide(
    start: int,
    starts: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    weights: wp.array(dtype=float),
    first: int,
    x: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
):
    """The vertices of the next level, about one of the last, so that a sheet far from the origin loses nothing."""
    i = start + wp.tid()
    about = x[columns[starts[i]]]
    total = wp.vec3(0.0, 0.0, 0.0)
    for k in range(starts[i], starts[i + 1]):
        total += weights[k] * (x[columns[k]] - about)
    x_out[first + i] = about + total


@wp.kernel
def lift_up(
    start: int,
    hosts: wp.array(dtype=wp.vec3i),
    data: wp.array(dtype=wp.vec4),
    phase: wp.array(dtype=float),
    metric: wp.array(dtype=wp.vec3),
    normals: wp.array(dtype=wp.vec3),
    x_inout: wp.array(dtype=wp.vec3),
):
    """Lift the vertices of the smooth fine surface along its normals by the waves.

    `data` holds two weights, the height of a wave of slope 1 [m], and the threshold of compression.
    """
    k = start + wp.tid()
    h = hosts[k]
    d = data[k]
    v = d[0]
    w = d[1]
    u = 1.0 - v - w
    m = u * metric[h[0]] + v * metric[h[1]] + w * metric[h[2]]
    half = 0.5 * (m[0] + m[2])
    tilt = 0.5 * (m[0] - m[2])
    spread = wp.sqrt(tilt * tilt + m[1] * m[1])
    shorter = wp.sqrt(wp.max(half - spread, 0.0))
    lift = float(0.0)
    if 1.0 - shorter > d[3]:
        longer = wp.sqrt(half + spread)
        span = wp.max(2.0 * d[3], 1.0e-6)
        # smooth from nothing at the threshold to all at three times it
        t = wp.clamp((1.0 - shorter - d[3]) / span, 0.0, 1.0)
        most = slope_square(shorter) * t * t * (3.0 - 2.0 * t)
        t = wp.clamp((1.0 - longer - d[3]) / span, 0.0, 1.0)
        least = slope_square(longer) * t * t * (3.0 - 2.0 * t)
        # along the direction of the smaller stretch, in half turns; where all are alike there is none
        angle = 0.5 * wp.atan2(m[1], tilt) / wp.pi + 0.5
        clear = wp.min(1.0, 4.0 * (longer - shorter) / wp.max(1.0 - shorter, 1.0e-6))
        clear = clear * clear * (3.0 - 2.0 * clear)
        for way in range(WAYS):
            share = most * part_along(angle, way) + least * part_along(angle + 0.5, way)
            share = clear * share + (1.0 - clear) * (most + least) / float(WAYS)
            if share > 0.0:
                lift += wp.sqrt(share) * wp.cos(2.0 * wp.pi * phase[k * WAYS + way])
    x_inout[k] = x_inout[k] + (d[2] * lift) * normals[k]
