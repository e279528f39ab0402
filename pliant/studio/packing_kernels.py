"""Device code that packs what is seen of bodies: boxes around them, 16 bits per coordinate, 8 per normal."""

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

STEPS = wp.constant(65535.0)
FAR_SQUARED = wp.constant(1.0e30)
"""Farther from the origin than the root of this [m] counts as nowhere; so does what is not a number."""
EMPTY = wp.constant(1.0e30)
LEAST_SIZE = wp.constant(1.0e-9)


@wp.kernel
def bound_chunks(
    start: int,
    starts: wp.array(dtype=int),
    slots: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    low_out: wp.array(dtype=wp.vec3),
    high_out: wp.array(dtype=wp.vec3),
):
    """The corners of the box around each chunk of points; points that are nowhere are left out."""
    i = start + wp.tid()
    low = wp.vec3(EMPTY, EMPTY, EMPTY)
    high = wp.vec3(-EMPTY, -EMPTY, -EMPTY)
    for k in range(starts[i], starts[i + 1]):
        p = x[k]
        if wp.dot(p, p) < FAR_SQUARED:
            low = wp.min(low, p)
            high = wp.max(high, p)
    low_out[slots[i]] = low
    high_out[slots[i]] = high


@wp.kernel
def join_boxes(
    start: int,
    starts: wp.array(dtype=int),
    low: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
    low_out: wp.array(dtype=wp.vec3),
    high_out: wp.array(dtype=wp.vec3),
):
    """The box around the boxes of each run."""
    i = start + wp.tid()
    down = wp.vec3(EMPTY, EMPTY, EMPTY)
    up = wp.vec3(-EMPTY, -EMPTY, -EMPTY)
    for k in range(starts[i], starts[i + 1]):
        down = wp.min(down, low[k])
        up = wp.max(up, high[k])
    low_out[i] = down
    high_out[i] = up


@wp.kernel
def finish_boxes(
    start: int,
    low: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
    margins: wp.array(dtype=float),
    boxes_out: wp.array(dtype=wp.vec4),
):
    """Cubes from boxes: the lowest corner and the size of the longest side, a margin added on all sides [m]."""
    b = start + wp.tid()
    box = wp.vec4(0.0, 0.0, 0.0, 1.0)
    if low[b][0] <= high[b][0]:
        margin = margins[b]
        extent = high[b] - low[b]
        size = wp.max(wp.max(extent[0], wp.max(extent[1], extent[2])) + 2.0 * margin, LEAST_SIZE)
        # a little more, so that rounding leaves nothing outside
        box = wp.vec4(low[b][0] - margin, low[b][1] - margin, low[b][2] - margin, 1.000001 * size)
    boxes_out[b] = box


@wp.func
def quantized(value: float) -> wp.uint16:
    """The nearest whole number from 0 to 65535."""
    return wp.uint16(int(wp.clamp(value + 0.5, 0.0, STEPS)))


@wp.func
def packed_position(p: wp.vec3, box: wp.vec4, fourth: wp.uint16) -> wp.vec4us:
    q = wp.vec4us(wp.uint16(0), wp.uint16(0), wp.uint16(0), fourth)
    if wp.dot(p, p) < FAR_SQUARED:
        scale = STEPS / box[3]
        q = wp.vec4us(
            quantized((p[0] - box[0]) * scale),
            quantized((p[1] - box[1]) * scale),
            quantized((p[2] - box[2]) * scale),
            fourth,
        )
    return q


@wp.func
def packed_unit(value: float) -> wp.int8:
    return wp.int8(int(127.0 * value + 127.5) - 127)


@wp.kernel
def pack_vertices(
    start: int,
    bodies: wp.array(dtype=int),
    shifts: wp.array(dtype=int),
    boxes: wp.array(dtype=wp.vec4),
    x: wp.array(dtype=wp.vec3),
    normals: wp.array(dtype=wp.vec3),
    heat: wp.array(dtype=float),
    heat_low: float,
    heat_scale: float,
    x_out: wp.array(dtype=wp.vec4us),
    normals_out: wp.array(dtype=wp.vec4b),
):
    """Positions in their body's box with heat as the fourth number, and normals times 127.

    A surface's vertices go to where its body begins among all that are seen.
    """
    i = start + wp.tid()
    b = bodies[i]
    row = i + shifts[b]
    warmth = wp.uint16(0)
    if heat_scale > 0.0:
        h = (heat[row] - heat_low) * heat_scale
        if h > 0.0:
            warmth = quantized(h)
    x_out[row] = packed_position(x[i], boxes[b], warmth)
    n = normals[i]
    packed = wp.vec4b(wp.int8(0), wp.int8(0), wp.int8(0), wp.int8(0))
    if wp.dot(n, n) < 1.01:
        packed = wp.vec4b(packed_unit(n[0]), packed_unit(n[1]), packed_unit(n[2]), wp.int8(0))
    normals_out[row] = packed


@wp.kernel
def pack_particles(
    start: int,
    particles: wp.array(dtype=int),
    bodies: wp.array(dtype=int),
    boxes: wp.array(dtype=wp.vec4),
    x: wp.array(dtype=wp.vec3),
    inv_mass: wp.array(dtype=float),
    x_out: wp.array(dtype=wp.vec4us),
):
    """Particles in their body's box, the fourth number 65535 where one is pinned."""
    i = start + wp.tid()
    p = particles[i]
    held = wp.uint16(0)
    if inv_mass[p] == 0.0:
        held = wp.uint16(65535)
    x_out[i] = packed_position(x[p], boxes[bodies[p]], held)


@wp.kernel
def place_balls(
    start: int,
    hosts: wp.array(dtype=int),
    offsets: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
):
    """Corners of balls around particles."""
    i = start + wp.tid()
    x_out[i] = x[hosts[i]] + offsets[i]


@wp.kernel
def pick_values(
    start: int,
    hosts: wp.array(dtype=int),
    bodies: wp.array(dtype=int),
    shifts: wp.array(dtype=int),
    values: wp.array(dtype=float),
    out: wp.array(dtype=float),
):
    """A particle's value for each vertex."""
    i = start + wp.tid()
    out[i + shifts[bodies[i]]] = values[hosts[i]]


@functools.cache
def mix_kernel(width: int) -> Any:
    """The kernel that gives each vertex the weighted mean of the values of `width` particles."""
    host_type = wp.types.vector(length=width, dtype=int)
    weight_type = wp.types.vector(length=width, dtype=float)

    @wp.kernel(module="unique", enable_backward=False)
    def mix_values(
        start: int,
        hosts: wp.array(dtype=host_type),
        weights: wp.array(dtype=weight_type),
        bodies: wp.array(dtype=int),
        shifts: wp.array(dtype=int),
        values: wp.array(dtype=float),
        out: wp.array(dtype=float),
    ):
        i = start + wp.tid()
        host = hosts[i]
        weight = weights[i]
        total = float(0.0)
        for j in range(wp.static(width)):
            total += weight[j] * values[host[j]]
        out[i + shifts[bodies[i]]] = total

    return mix_values


@wp.kernel
def sample_values(start: int, rows: wp.array(dtype=int), values: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = start + wp.tid()
    out[i] = values[rows[i]]
