"""Stable neo-Hookean elasticity of a tet (Smith, de Goes and Kim 2018): energy, stress, and its stiffness without its
negative part.

The energy density is m/2 (I - 3) + k/2 (J - a)^2 - m/2 log(I + 1) with I = tr(F^T F), J = det F and a = 1 + 3/4 m / k;
m = 4/3 mu and k = lambda + 5/6 mu give it Lame's moduli lambda and mu at rest (section 3.4). It is smooth and finite
for every F, also where it is flat or inside out.
"""

import warp as wp


@wp.struct
class Curvature:
    """Second derivative of the energy in the principal axes of F = U diag(s) V^T, without its negative part [Pa].

    A change D of U^T F V gives the stress: (on D)_a = sum of stretch_ab D_bb on the diagonal, and beside it
    straight_c D_ab + crossed_c D_ba, where c is the third axis.
    """

    left: wp.mat33
    right: wp.mat33
    stretch: wp.mat33
    straight: wp.vec3
    crossed: wp.vec3


@wp.func
def cofactor(f: wp.mat33) -> wp.mat33:
    """Derivative of det F by F."""
    a = wp.vec3(f[0, 0], f[1, 0], f[2, 0])
    b = wp.vec3(f[0, 1], f[1, 1], f[2, 1])
    c = wp.vec3(f[0, 2], f[1, 2], f[2, 2])
    return wp.matrix_from_cols(wp.cross(b, c), wp.cross(c, a), wp.cross(a, b))


@wp.func
def neo_hookean_energy(f: wp.mat33d, lame: wp.float64, shear: wp.float64) -> wp.float64:
    """Energy per rest volume [J/m^3], zero at rest; Lame's moduli [Pa]. In float64, since energies are compared."""
    half = wp.float64(0.5)
    one = wp.float64(1.0)
    m = wp.float64(4.0) / wp.float64(3.0) * shear
    bulk = lame + wp.float64(5.0) / wp.float64(6.0) * shear
    rest = wp.float64(0.75) * m / bulk
    squares = wp.ddot(f, f)
    volume = wp.determinant(f) - one - rest
    shape = squares - wp.float64(3.0) - wp.log(wp.float64(0.25) * (squares + one))
    return half * m * shape + half * bulk * (volume * volume - rest * rest)


@wp.func
def neo_hookean_stress(f: wp.mat33, lame: float, shear: float) -> wp.mat33:
    """First Piola-Kirchhoff stress [Pa]: m (1 - 1 / (I + 1)) F + k (J - a) dJ/dF."""
    m = 4.0 / 3.0 * shear
    bulk = lame + 5.0 / 6.0 * shear
    squares = wp.ddot(f, f)
    return (m * squares / (squares + 1.0)) * f + (bulk * (wp.determinant(f) - 1.0) - 0.75 * m) * cofactor(f)


@wp.func
def positive_part(a: wp.mat33) -> wp.mat33:
    """A symmetric matrix without its negative eigenvalues."""
    q, d = wp.eig3(a)
    least = wp.min(d[0], wp.min(d[1], d[2]))
    if least >= 0.0:
        return a
    kept = wp.vec3(wp.max(d[0], 0.0), wp.max(d[1], 0.0), wp.max(d[2], 0.0))
    return q * wp.diag(kept) * wp.transpose(q)


@wp.func
def neo_hookean_curvature(f: wp.mat33, lame: float, shear: float) -> Curvature:
    """The second derivative by its eigenvalues (section 4), those below zero left out."""
    m = 4.0 / 3.0 * shear
    bulk = lame + 5.0 / 6.0 * shear
    found = Curvature()
    u, s, v = wp.svd3(f)
    found.left = u
    found.right = v
    squares = wp.dot(s, s)
    base = m * squares / (squares + 1.0)
    push = bulk * (s[0] * s[1] * s[2] - 1.0) - 0.75 * m
    round = 2.0 * m / ((squares + 1.0) * (squares + 1.0))
    g = wp.vec3(s[1] * s[2], s[0] * s[2], s[0] * s[1])
    crossed = wp.mat33(0.0, s[2], s[1], s[2], 0.0, s[0], s[1], s[0], 0.0)
    stretch = base * wp.identity(n=3, dtype=float) + round * wp.outer(s, s) + bulk * wp.outer(g, g) + push * crossed
    found.stretch = positive_part(stretch)
    for c in range(3):
        flip = wp.max(base - push * s[c], 0.0)
        twist = wp.max(base + push * s[c], 0.0)
        found.straight[c] = 0.5 * (flip + twist)
        found.crossed[c] = 0.5 * (flip - twist)
    return found


@wp.func
def curvature_block(found: Curvature, a: wp.vec3, b: wp.vec3) -> wp.mat33:
    """Derivative of the force at one corner by the position of another, per rest volume, with the sign of a stiffness.

    Args:
        a, b: the rest gradients of the two corners [1/m], in the right principal axes: V^T b.
    """
    k = wp.mat33()
    p = found.straight
    q = found.crossed
    h = found.stretch
    # c is the axis that the pair (a, b) leaves
    k[0, 0] = h[0, 0] * a[0] * b[0] + p[2] * a[1] * b[1] + p[1] * a[2] * b[2]
    k[1, 1] = h[1, 1] * a[1] * b[1] + p[2] * a[0] * b[0] + p[0] * a[2] * b[2]
    k[2, 2] = h[2, 2] * a[2] * b[2] + p[1] * a[0] * b[0] + p[0] * a[1] * b[1]
    k[0, 1] = h[0, 1] * a[0] * b[1] + q[2] * a[1] * b[0]
    k[1, 0] = h[1, 0] * a[1] * b[0] + q[2] * a[0] * b[1]
    k[0, 2] = h[0, 2] * a[0] * b[2] + q[1] * a[2] * b[0]
    k[2, 0] = h[2, 0] * a[2] * b[0] + q[1] * a[0] * b[2]
    k[1, 2] = h[1, 2] * a[1] * b[2] + q[0] * a[2] * b[1]
    k[2, 1] = h[2, 1] * a[2] * b[1] + q[0] * a[1] * b[2]
    return found.left * k * wp.transpose(found.left)
