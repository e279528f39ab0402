"""The strain of a triangle along its warp, along its weft, and the shear between them, as one block of XPBD.

The gradients are exact at any strain, and so is the block of responses that is inverted: a cloth whose shear is
hundreds of times softer than its threads turns its weave far before the threads give way, and an approximation about
the rest shape overshoots there.
"""

import warp as wp

SHORTEST = wp.constant(0.05)
"""Stretch of a thread below which its direction is not trusted: shear pushes no harder there."""


@wp.struct
class Weave:
    """The two threads of a triangle, as its deformation gradient (f1, f2) has them.

    n1 and n2 are their directions, l1 and l2 their stretches, and c the cosine of the angle between them: the sine of
    the angle of shear. g1 and g2 are the gradients of c.
    """

    n1: wp.vec3
    n2: wp.vec3
    g1: wp.vec3
    g2: wp.vec3
    l1: float
    l2: float
    c: float


@wp.struct
class Block:
    """A symmetric matrix of 3 by 3."""

    a11: float
    a22: float
    a33: float
    a12: float
    a13: float
    a23: float


@wp.func
def woven(f1: wp.vec3, f2: wp.vec3) -> Weave:
    """The threads of a triangle with the deformation gradient (f1, f2), 3x2."""
    out = Weave()
    out.l1 = wp.length(f1)
    out.l2 = wp.length(f2)
    out.n1 = f1 / wp.max(out.l1, 1.0e-9)
    out.n2 = f2 / wp.max(out.l2, 1.0e-9)
    out.c = wp.dot(out.n1, out.n2)
    out.g1 = (out.n2 - out.c * out.n1) / wp.max(out.l1, SHORTEST)
    out.g2 = (out.n1 - out.c * out.n2) / wp.max(out.l2, SHORTEST)
    return out


@wp.func
def strain_of(t: Weave) -> wp.vec3:
    """Strains along the warp and the weft, and the sine of the angle that they are sheared by."""
    return wp.vec3(t.l1 - 1.0, t.l2 - 1.0, t.c)


@wp.func
def strain_change(t: Weave, d1: wp.vec3, d2: wp.vec3) -> wp.vec3:
    """What a change (d1, d2) of the deformation gradient changes the strains by, to first order."""
    return wp.vec3(wp.dot(t.n1, d1), wp.dot(t.n2, d2), wp.dot(t.g1, d1) + wp.dot(t.g2, d2))


@wp.func
def response(t: Weave, weight: wp.vec3) -> Block:
    """What multipliers change the strains by; `weight` holds 11, 22 and 12 of W = sum w_a b_a b_a^T."""
    out = Block()
    out.a11 = weight[0]
    out.a22 = weight[1]
    out.a12 = weight[2] * t.c
    out.a13 = weight[2] * wp.dot(t.n1, t.g2)
    out.a23 = weight[2] * wp.dot(t.n2, t.g1)
    out.a33 = weight[0] * wp.dot(t.g1, t.g1) + weight[1] * wp.dot(t.g2, t.g2) + 2.0 * weight[2] * wp.dot(t.g1, t.g2)
    return out


@wp.func
def strain_response(multiplier: wp.vec3, a: Block) -> wp.vec3:
    """The block times the multipliers."""
    return wp.vec3(
        a.a11 * multiplier[0] + a.a12 * multiplier[1] + a.a13 * multiplier[2],
        a.a12 * multiplier[0] + a.a22 * multiplier[1] + a.a23 * multiplier[2],
        a.a13 * multiplier[0] + a.a23 * multiplier[1] + a.a33 * multiplier[2],
    )


@wp.func
def strain_multiplier(needed: wp.vec3, a: Block, factor: float, compliance: wp.vec4, scale: float) -> wp.vec3:
    """The change of the multipliers (3,) [kg m^2] that takes away the strains still `needed`.

    The block to invert is factor A + scale Q; Q is the orthotropic compliance: 11, 22, 12 and the shear's.
    """
    a11 = factor * a.a11 + scale * compliance[0]
    a22 = factor * a.a22 + scale * compliance[1]
    a12 = factor * a.a12 + scale * compliance[2]
    a13 = factor * a.a13
    a23 = factor * a.a23
    a33 = factor * a.a33 + scale * compliance[3]
    # by elimination
    l2 = a12 / a11
    l3 = a13 / a11
    d2 = a22 - l2 * a12
    h = a23 - l3 * a12
    d3 = a33 - l3 * a13 - h * h / d2
    y2 = -needed[1] + l2 * needed[0]
    y3 = -needed[2] + l3 * needed[0] - h / d2 * y2
    z = y3 / d3
    y = (y2 - h * z) / d2
    return wp.vec3((-needed[0] - a12 * y - a13 * z) / a11, y, z)


@wp.func
def triangle_push(t: Weave, multiplier: wp.vec3, bx: float, by: float) -> wp.vec3:
    """What the multipliers move a corner by per inverse mass; b is its row of the inverse rest shape [1/m].

    It is the gradient of what does not change when the triangle is turned, so that no torque is left.
    """
    along = multiplier[0] * t.n1 + multiplier[2] * t.g1
    across = multiplier[1] * t.n2 + multiplier[2] * t.g2
    return bx * along + by * across
