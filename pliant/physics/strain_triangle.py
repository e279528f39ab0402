"""The strain of a triangle in its own plane, along the warp, along the weft, and in shear, as one block of XPBD."""

import warp as wp


@wp.struct
class Stretched:
    """A triangle's stretch.

    The deformation gradient of the plane F = (f1, f2), a 3x2 matrix, is R S: r1 and r2 are the columns of R, and s11,
    s22 and s12 those of the symmetric S, which is the unit matrix at rest.
    """

    r1: wp.vec3
    r2: wp.vec3
    s11: float
    s22: float
    s12: float


@wp.func
def stretched(f1: wp.vec3, f2: wp.vec3) -> Stretched:
    """The polar decomposition of a 3x2 matrix in closed form: t R = F + cof F, t S = F^T F + sqrt(det F^T F)."""
    out = Stretched()
    normal = wp.cross(f1, f2)
    area = wp.length(normal)
    c11 = wp.dot(f1, f1)
    c22 = wp.dot(f2, f2)
    inverse = 1.0 / wp.sqrt(wp.max(c11 + c22 + 2.0 * area, 1.0e-12))
    n = wp.vec3(0.0, 0.0, 0.0)
    if area > 1.0e-9 * (c11 + c22):
        n = normal / area
    out.r1 = inverse * (f1 + wp.cross(f2, n))
    out.r2 = inverse * (f2 + wp.cross(n, f1))
    out.s11 = inverse * (c11 + area)
    out.s22 = inverse * (c22 + area)
    out.s12 = inverse * wp.dot(f1, f2)
    return out


@wp.func
def strain_of(t: Stretched) -> wp.vec3:
    """Strains along the warp and the weft, and the angle they are sheared by: those of Biot, S - 1."""
    return wp.vec3(t.s11 - 1.0, t.s22 - 1.0, 2.0 * t.s12)


@wp.func
def strain_change(t: Stretched, d1: wp.vec3, d2: wp.vec3) -> wp.vec3:
    """What a change (d1, d2) of the deformation gradient changes the strains by, to first order in them."""
    return wp.vec3(wp.dot(t.r1, d1), wp.dot(t.r2, d2), wp.dot(t.r1, d2) + wp.dot(t.r2, d1))


@wp.func
def strain_multiplier(needed: wp.vec3, weight: wp.vec3, compliance: wp.vec4, scale: float) -> wp.vec3:
    """The change of the multipliers (3,) [kg m^2] that takes away the strains still `needed`.

    The block to invert is W' + scale Q. W' follows from W = sum w_a b_a b_a^T, of which `weight` holds 11, 22 and 12,
    since R is orthonormal; Q is the orthotropic compliance: 11, 22, 12 and the shear's.
    """
    a11 = weight[0] + scale * compliance[0]
    a22 = weight[1] + scale * compliance[1]
    a12 = scale * compliance[2]
    a13 = weight[2]
    a33 = weight[0] + weight[1] + scale * compliance[3]
    # by elimination; the block is symmetric, and its entries 13 and 23 are the same
    l2 = a12 / a11
    l3 = a13 / a11
    d2 = a22 - l2 * a12
    h = a13 - l3 * a12
    d3 = a33 - l3 * a13 - h * h / d2
    y2 = -needed[1] + l2 * needed[0]
    y3 = -needed[2] + l3 * needed[0] - h / d2 * y2
    z = y3 / d3
    y = (y2 - h * z) / d2
    return wp.vec3((-needed[0] - a12 * y - a13 * z) / a11, y, z)


@wp.func
def strain_response(multiplier: wp.vec3, weight: wp.vec3) -> wp.vec3:
    """W' times the multipliers: what they change the strains by."""
    return wp.vec3(
        weight[0] * multiplier[0] + weight[2] * multiplier[2],
        weight[1] * multiplier[1] + weight[2] * multiplier[2],
        weight[2] * (multiplier[0] + multiplier[1]) + (weight[0] + weight[1]) * multiplier[2],
    )


@wp.func
def triangle_push(t: Stretched, multiplier: wp.vec3, bx: float, by: float) -> wp.vec3:
    """R N b: what the multipliers move a corner by per inverse mass; b is its row of the inverse rest shape [1/m].

    N is the stress with the turn that makes it the gradient of S in F, so that no torque is left.
    """
    turn = ((t.s11 - t.s22) * multiplier[2] - t.s12 * (multiplier[0] - multiplier[1])) / wp.max(t.s11 + t.s22, 1.0e-6)
    along = multiplier[0] * bx + (multiplier[2] + turn) * by
    across = (multiplier[2] - turn) * bx + multiplier[1] * by
    return along * t.r1 + across * t.r2
