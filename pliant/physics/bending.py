"""The angle between two triangles with a common edge, a hinge.

A hinge is its edge's ends 0 and 1 and the far corners 2 and 3; the first triangle is (0, 1, 2), the second (1, 0, 3).
"""

import warp as wp


@wp.struct
class Fold:
    """The angle [rad] between the normals of a hinge's triangles, and its gradients at the four corners [1/m]."""

    angle: float
    g0: wp.vec3
    g1: wp.vec3
    g2: wp.vec3
    g3: wp.vec3


@wp.func
def fold_of(e: wp.vec3, a: wp.vec3, b: wp.vec3) -> Fold:
    """Angle and gradients of a hinge; e, a, b lead from corner 0 to the corners 1, 2, 3 [m].

    The angle is positive where the triangles fold towards their normals, zero where they are flat. A hinge with a
    triangle without an area has none.
    """
    fold = Fold()
    n = wp.cross(e, a)
    m = wp.cross(b, e)
    nn = wp.dot(n, n)
    mm = wp.dot(m, m)
    ee = wp.dot(e, e)
    least = 1.0e-12 * ee * ee
    if nn > least and mm > least:
        length = wp.sqrt(ee)
        fold.angle = wp.atan2(wp.dot(wp.cross(n, m), e) / length, wp.dot(n, m))
        fold.g2 = (-length / nn) * n
        fold.g3 = (-length / mm) * m
        at_a = wp.dot(a, e) / ee
        at_b = wp.dot(b, e) / ee
        fold.g1 = -at_a * fold.g2 - at_b * fold.g3
        fold.g0 = -(fold.g1 + fold.g2 + fold.g3)
    return fold


@wp.func
def turned_from(angle: float, rest: float) -> float:
    """angle - rest by the shorter way round [rad]."""
    d = angle - rest
    if d > wp.PI:
        d -= 2.0 * wp.PI
    if d < -wp.PI:
        d += 2.0 * wp.PI
    return d
