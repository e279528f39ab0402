"""The conditions of a cloth (Baraff and Witkin 1998, section 4): stretch and shear of a triangle, the angle of a hinge.

A triangle maps its flat rest shape to space; w_u and w_v are the images of the unit vectors along warp and weft. Both
are sums over the corners, w_u = sum b_u[a] x_a, so all derivatives follow from those by w_u and w_v.
"""

import warp as wp


@wp.struct
class Weave:
    """Moduli of a triangle, each times its area and the cloth's thickness [J].

    Energy: warp/2 e_u^2 + weft/2 e_v^2 + both e_u e_v + shear/2 (w_u . w_v)^2, with the stretches e = |w| - 1.
    """

    warp: float
    weft: float
    both: float
    shear: float


@wp.struct
class Stretched:
    """A triangle's forces and stiffness by w_u and w_v.

    Attributes:
        force_u, force_v: derivatives of the energy by w_u and w_v [J]; the force on corner a is minus
            b_u[a] force_u + b_v[a] force_v.
        uu, vv, uv: blocks of the stiffness, uv the derivative of force_u by w_v.
    """

    force_u: wp.vec3
    force_v: wp.vec3
    uu: wp.mat33
    vv: wp.mat33
    uv: wp.mat33


@wp.func
def stretched(wu: wp.vec3, wv: wp.vec3, weave: Weave, first: float, second: float) -> Stretched:
    """Forces of a triangle, and its stiffness made positive semi-definite.

    `first` scales the part of the stiffness that is a product of gradients, which damping has in common with it;
    `second` scales that of the second derivatives of a stretch, tension / |w| (1 - n n^T), which is kept where it pulls
    only. That of shear, twist [[0, 1], [1, 0]], has the eigenvalues +-twist, and the upper one is kept.
    """
    found = Stretched()
    length_u = wp.max(wp.length(wu), 1.0e-6)
    length_v = wp.max(wp.length(wv), 1.0e-6)
    nu = wu / length_u
    nv = wv / length_v
    tension_u = weave.warp * (length_u - 1.0) + weave.both * (length_v - 1.0)
    tension_v = weave.weft * (length_v - 1.0) + weave.both * (length_u - 1.0)
    twist = weave.shear * wp.dot(wu, wv)
    found.force_u = tension_u * nu + twist * wv
    found.force_v = tension_v * nv + twist * wu
    one = wp.identity(n=3, dtype=float)
    across_u = second * wp.max(tension_u, 0.0) / length_u
    across_v = second * wp.max(tension_v, 0.0) / length_v
    bent = 0.5 * second * twist
    found.uu = (
        (first * weave.warp - across_u) * wp.outer(nu, nu)
        + (across_u + wp.abs(bent)) * one
        + (first * weave.shear) * wp.outer(wv, wv)
    )
    found.vv = (
        (first * weave.weft - across_v) * wp.outer(nv, nv)
        + (across_v + wp.abs(bent)) * one
        + (first * weave.shear) * wp.outer(wu, wu)
    )
    found.uv = (first * weave.both) * wp.outer(nu, nv) + (first * weave.shear) * wp.outer(wv, wu) + bent * one
    return found


@wp.struct
class Folded:
    """The angle of a hinge [rad], zero when flat, and its gradients at the four corners [1/m]."""

    angle: float
    at_start: wp.vec3
    at_end: wp.vec3
    at_first: wp.vec3
    at_second: wp.vec3


@wp.func
def folded(start: wp.vec3, end: wp.vec3, first: wp.vec3, second: wp.vec3, least: float) -> Folded:
    """The fold along the edge from `start` to `end` between the triangles with the far corners `first` and `second`.

    `least` [m^4] bounds the squares of twice the areas from below: a collapsed triangle has no gradient, and a nearly
    collapsed one must not have a huge one.
    """
    found = Folded()
    edge = end - start
    squared = wp.max(wp.dot(edge, edge), 1.0e-20)
    length = wp.sqrt(squared)
    a = wp.cross(edge, first - start)
    b = wp.cross(second - start, edge)
    found.angle = wp.atan2(wp.dot(wp.cross(a, b), edge) / length, wp.dot(a, b))
    found.at_first = (-length / wp.max(wp.dot(a, a), least)) * a
    found.at_second = (-length / wp.max(wp.dot(b, b), least)) * b
    foot_first = wp.dot(first - start, edge) / squared
    foot_second = wp.dot(second - start, edge) / squared
    found.at_end = -(foot_first * found.at_first + foot_second * found.at_second)
    found.at_start = -(found.at_first + found.at_second + found.at_end)
    return found


@wp.func
def turned_by(angle: float, rest: float) -> float:
    """The way from one angle to another, at most half a turn [rad]."""
    way = angle - rest
    if way > wp.pi:
        way -= 2.0 * wp.pi
    if way < -wp.pi:
        way += 2.0 * wp.pi
    return way
