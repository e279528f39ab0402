"""Device code that places a surface's vertices from their hosts, and its normals."""

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

TINY = wp.constant(1.0e-24)
GROWTH = wp.constant(1.0e18)


@functools.cache
def place_kernel(width: int) -> Any:
    """The kernel that places vertices with `width` hosts each, two or more.

    x = x_0 + sum over i > 0 of w_i (x_i - x_0): the hosts' differences alone are weighted, so that rounding is that
    of the element's size and not of its distance from the origin. The first weight is not needed.
    """
    host_type = wp.types.vector(length=width, dtype=int)
    weight_type = wp.types.vector(length=width - 1, dtype=float)

    @wp.kernel(module="unique", enable_backward=False)
    def place_vertices(
        start: int,
        hosts: wp.array(dtype=host_type),
        weights: wp.array(dtype=weight_type),
        x: wp.array(dtype=wp.vec3),
        first: int,
        x_out: wp.array(dtype=wp.vec3),
    ):
        i = start + wp.tid()
        host = hosts[i - first]
        weight = weights[i - first]
        base = x[host[0]]
        away = wp.vec3(0.0, 0.0, 0.0)
        for j in range(wp.static(width - 1)):
            away += weight[j] * (x[host[j + 1]] - base)
        x_out[i] = base + away

    return place_vertices


@wp.kernel
def copy_vertices(
    start: int,
    hosts: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    first: int,
    x_out: wp.array(dtype=wp.vec3),
):
    """Vertices that are particles themselves."""
    i = start + wp.tid()
    x_out[i] = x[hosts[i - first]]


@wp.kernel
def place_over_triangles(
    start: int,
    hosts: wp.array(dtype=wp.vec3i),
    weights: wp.array(dtype=wp.vec2),
    heights: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    first: int,
    x_out: wp.array(dtype=wp.vec3),
):
    """Vertices in the plane of a triangle, or at a height above it."""
    i = start + wp.tid()
    host = hosts[i - first]
    weight = weights[i - first]
    base = x[host[0]]
    to_1 = x[host[1]] - base
    to_2 = x[host[2]] - base
    x_out[i] = base + weight[0] * to_1 + weight[1] * to_2 + heights[i - first] * unit(wp.cross(to_1, to_2))


@wp.func
def unit_of_tiny(v: wp.vec3) -> wp.vec3:
    """`unit` where the square of the length leaves the range of float32."""
    large = v * GROWTH
    squared = wp.dot(large, large)
    if squared > 0.0:
        large = large * (1.0 / wp.sqrt(squared))
    return large


@wp.func
def unit(v: wp.vec3) -> wp.vec3:
    """A vector of length 1, or zero where v is zero; areas of micrometres do not underflow."""
    squared = wp.dot(v, v)
    if squared < TINY:
        return unit_of_tiny(v)
    return v * (1.0 / wp.sqrt(squared))


@wp.kernel
def find_face_normals(
    start: int,
    triangles: wp.array(dtype=wp.vec3i),
    x: wp.array(dtype=wp.vec3),
    face_normals_out: wp.array(dtype=wp.vec4),
):
    """Normals of the triangles, as long as twice their areas [m^2], and a zero."""
    i = start + wp.tid()
    t = triangles[i]
    a = x[t[0]]
    n = wp.cross(x[t[1]] - a, x[t[2]] - a)
    face_normals_out[i] = wp.vec4(n[0], n[1], n[2], 0.0)


@functools.cache
def normal_kernel(width: int) -> Any:
    """The kernel that adds up the normals of at most `width` triangles around each vertex, an even number.

    A row of fixed length has no loop to predict: half the time of a walk over a table of starts. Empty places name a
    row of zeros behind the last triangle.
    """
    row_type = wp.types.vector(length=width, dtype=int)

    @wp.kernel(module="unique", enable_backward=False)
    def find_vertex_normals(
        start: int,
        around: wp.array(dtype=row_type),
        face_normals: wp.array(dtype=wp.vec4),
        normals_out: wp.array(dtype=wp.vec3),
    ):
        i = start + wp.tid()
        row = around[i]
        even = face_normals[row[0]]
        odd = face_normals[row[1]]
        for j in range(2, wp.static(width), 2):
            even += face_normals[row[j]]
            odd += face_normals[row[j + 1]]
        total = even + odd
        normals_out[i] = unit(wp.vec3(total[0], total[1], total[2]))

    return find_vertex_normals


@wp.kernel
def find_crowded_normals(
    start: int,
    vertices: wp.array(dtype=int),
    starts: wp.array(dtype=int),
    around: wp.array(dtype=int),
    face_normals: wp.array(dtype=wp.vec4),
    normals_out: wp.array(dtype=wp.vec3),
):
    """Normals of the vertices with more triangles than a row holds."""
    i = start + wp.tid()
    total = wp.vec4(0.0, 0.0, 0.0, 0.0)
    for k in range(starts[i], starts[i + 1]):
        total += face_normals[around[k]]
    normals_out[vertices[i]] = unit(wp.vec3(total[0], total[1], total[2]))
