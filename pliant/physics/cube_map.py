"""Cube maps of distances: directions on the six faces of a cube, and where rays from its middle cross triangles.

Each face has SIDE x SIDE nodes, those of its rim included, so that a direction always lies between four nodes of one
face and what is interpolated goes on across the rims. Faces are numbered 2 axis, plus one for the negative side. On a
face a direction has the coordinates s and t along the two axes that follow, from -1 to 1, and a point has the height z
along the face's own axis: the point is z times (1, s, t).
"""

import warp as wp

SIDE = wp.constant(16)
"""Nodes along a side of a face."""
FACE = wp.constant(256)
"""Nodes of a face."""
NODES = wp.constant(1536)
"""Nodes of a map."""
TOUCH = wp.constant(1.0e-5)
"""Weights of a triangle's corners may be so much below zero: rays along an edge must not slip between two triangles."""


@wp.func
def face_of(d: wp.vec3) -> int:
    """The face that a direction of any length points to."""
    axis = int(0)
    if wp.abs(d[1]) > wp.abs(d[axis]):
        axis = 1
    if wp.abs(d[2]) > wp.abs(d[axis]):
        axis = 2
    return 2 * axis + wp.where(d[axis] < 0.0, 1, 0)


@wp.func
def on_face(d: wp.vec3, face: int) -> wp.vec3:
    """Components of a point along s, t and the face's own axis [m]; z is negative behind the face."""
    axis = face // 2
    sign = 1.0 - 2.0 * float(face - 2 * axis)
    return wp.vec3(d[(axis + 1) % 3], d[(axis + 2) % 3], sign * d[axis])


@wp.func
def node_direction(face: int, i: int, j: int) -> wp.vec3:
    """Direction of a node, with the length 1 along the face's axis."""
    axis = face // 2
    d = wp.vec3(0.0, 0.0, 0.0)
    d[axis] = 1.0 - 2.0 * float(face - 2 * axis)
    d[(axis + 1) % 3] = -1.0 + 2.0 * float(i) / float(SIDE - 1)
    d[(axis + 2) % 3] = -1.0 + 2.0 * float(j) / float(SIDE - 1)
    return d


@wp.struct
class Crossing:
    """Where a ray crosses a triangle: at `height` times its direction; `weights` of the corners; `facing` is 1 where
    the triangle faces away from the ray's start, -1 where it faces it, 0 where it is not crossed."""

    facing: int
    height: float
    weights: wp.vec3


@wp.func
def cross_triangle(d: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3) -> Crossing:
    """The crossing of the ray along d from the origin with a triangle (Moller and Trumbore 1997, as volumes)."""
    out = Crossing()
    out.facing = 0
    bc = wp.cross(b, c)
    u = wp.dot(d, bc)
    v = wp.dot(d, wp.cross(c, a))
    w = wp.dot(d, wp.cross(a, b))
    total = u + v + w
    if total == 0.0:
        return out
    u = u / total
    v = v / total
    w = w / total
    height = wp.dot(a, bc) / total
    if u < -TOUCH or v < -TOUCH or w < -TOUCH or height <= 0.0:
        return out
    out.facing = wp.where(total > 0.0, 1, -1)
    out.height = height
    out.weights = wp.vec3(u, v, w)
    return out


@wp.func
def node_range(low: float, high: float) -> wp.vec2i:
    """First and last node whose coordinate is within low and high, give or take rounding."""
    half = 0.5 * float(SIDE - 1)
    first = int(wp.ceil(wp.max((low + 1.0) * half - 1.0e-3, 0.0)))
    last = int(wp.floor(wp.min((high + 1.0) * half + 1.0e-3, float(SIDE - 1))))
    return wp.vec2i(first, last)
