"""Constraints of sheets that tear follow the corners of their triangles."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def retie_triangles(
    start: int,
    rows: wp.array(dtype=int),
    slots: wp.array(dtype=wp.vec3i),
    corners: wp.array(dtype=int),
    triangle_out: wp.array(dtype=wp.vec3i),
):
    """The particles that a triangle's corners are now."""
    k = start + wp.tid()
    s = slots[k]
    triangle_out[rows[k]] = wp.vec3i(corners[s[0]], corners[s[1]], corners[s[2]])


@wp.kernel
def retie_hinges(
    start: int,
    rows: wp.array(dtype=int),
    first: wp.array(dtype=wp.vec3i),
    second: wp.array(dtype=wp.vec3i),
    corners: wp.array(dtype=int),
    hinge_out: wp.array(dtype=wp.vec4i),
):
    """The particles of a hinge, by slots of both ends and the far corner of either triangle.

    One whose triangles no longer share both ends holds nothing any more: its first particle is -1.
    """
    k = start + wp.tid()
    a = first[k]
    b = second[k]
    i = corners[a[0]]
    j = corners[a[1]]
    hinge = wp.vec4i(-1, -1, -1, -1)
    if corners[b[0]] == i and corners[b[1]] == j:
        hinge = wp.vec4i(i, j, corners[a[2]], corners[b[2]])
    hinge_out[rows[k]] = hinge
