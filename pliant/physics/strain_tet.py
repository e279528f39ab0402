"""The strain of a tet, which linear elasticity turns along with it, as one block of six constraints of XPBD."""

import warp as wp


@wp.struct
class Stress:
    """A symmetric matrix by its diagonal, and its entries 23, 13 and 12."""

    diagonal: wp.vec3
    off: wp.vec3


@wp.func
def block_multiplier(needed: Stress, weight: wp.vec3, shear: float, across: float) -> Stress:
    """The stress, as multipliers [kg m^2], that takes away the strains still `needed`.

    The block maps a stress s to (s W + W s) / 2 + shear s - across tr(s) with W = sum w_a b_a b_a^T. In the axes of W,
    whose eigenvalues are `weight`, it is diagonal but for the trace, which is a number.

    Args:
        shear, across: (1 + nu) / (E V dt^2) and nu / (E V dt^2) of an isotropic solid.
    """
    out = Stress()
    p = weight + wp.vec3(shear, shear, shear)
    inverse = wp.vec3(1.0 / p[0], 1.0 / p[1], 1.0 / p[2])
    sum = inverse[0] + inverse[1] + inverse[2]
    trace = across * (-wp.dot(needed.diagonal, inverse) / (1.0 - across * sum))
    out.diagonal = wp.cw_mul(wp.vec3(trace, trace, trace) - needed.diagonal, inverse)
    pairs = pair_weight(weight)
    out.off = wp.vec3(
        -needed.off[0] / (pairs[0] + shear), -needed.off[1] / (pairs[1] + shear), -needed.off[2] / (pairs[2] + shear)
    )
    return out


@wp.func
def pair_weight(weight: wp.vec3) -> wp.vec3:
    """What (s W + W s) / 2 multiplies the entries 23, 13 and 12 of s by, in the axes of W."""
    return 0.5 * wp.vec3(weight[1] + weight[2], weight[0] + weight[2], weight[0] + weight[1])


@wp.func
def stress_matrix(s: Stress) -> wp.mat33:
    """The whole matrix."""
    return wp.mat33(
        s.diagonal[0], s.off[2], s.off[1],
        s.off[2], s.diagonal[1], s.off[0],
        s.off[1], s.off[0], s.diagonal[2],
    )  # fmt: skip


@wp.func
def without_torque(stretch: wp.mat33, stress: wp.mat33) -> wp.mat33:
    """The stress N with stretch N^T symmetric: the gradient in F of a function of S, where F = R S; no torque is left.

    N is the stress and a skew matrix of axis k, for which (tr S - S) k is the axis of S stress - stress S.
    """
    c = stretch * stress - stress * stretch
    axis = wp.vec3(c[2, 1], c[0, 2], c[1, 0])
    h = wp.trace(stretch) * wp.identity(n=3, dtype=float) - stretch
    det = wp.determinant(h)
    k = wp.vec3(0.0, 0.0, 0.0)
    if wp.abs(det) > 1.0e-3:
        k = wp.inverse(h) * axis
    return stress + wp.skew(k)
