"""Corotated linear elasticity of a tet: energy, stress, and a stiffness that is never negative.

With F = R S, R the nearest rotation, the energy density is mu |S - I|^2 + lambda/2 tr(S - I)^2: linear elasticity in
axes that turn with the tet. A tet that is inside out has the rotation of largest tr(R^T F) too, so it is pushed back
through its flat state.
"""

import warp as wp


@wp.func
def corotated_energy(f: wp.mat33d, r: wp.mat33d, lame: wp.float64, shear: wp.float64) -> wp.float64:
    """Energy per rest volume [J/m^3] of a deformation gradient f with the rotation r; Lame's moduli [Pa].

    In float64, since energies are compared that hardly differ. An error of r counts by its square only.
    """
    d = f - r
    trace = wp.ddot(r, f) - wp.float64(3.0)
    return shear * wp.ddot(d, d) + wp.float64(0.5) * lame * trace * trace


@wp.func
def corotated_stress(f: wp.mat33, r: wp.mat33, lame: float, shear: float) -> wp.mat33:
    """First Piola-Kirchhoff stress [Pa], the derivative of the energy: 2 mu (F - R) + lambda tr(S - I) R."""
    return 2.0 * shear * (f - r) + (lame * (wp.ddot(r, f) - 3.0)) * r


@wp.func
def corotated_twist(f: wp.mat33, r: wp.mat33, lame: float, shear: float) -> float:
    """Stiffness [Pa] against a change of F that is a turn about the rotation, by its least value, and never negative.

    About the axis between two principal stretches a and b it is 2 mu + 2 (lambda tr(S - I) - 2 mu) / (a + b), which
    is zero at rest, and what makes a tight string taut. The sums a + b lie between two thirds of the trace and twice
    what S differs from its mean by.
    """
    s = wp.transpose(r) * f
    trace = wp.trace(s)
    mean = trace / 3.0
    squares = wp.max(wp.ddot(s, s) - trace * mean, 0.0)
    spread = wp.sqrt(squares / 6.0)
    k = lame * (trace - 3.0) - 2.0 * shear
    sum = 2.0 * (mean + wp.sign(k) * spread)
    twist = float(0.0)
    if sum > 0.1:
        twist = wp.max(2.0 * shear + 2.0 * k / sum, 0.0)
    return twist


@wp.func
def corotated_block(a: wp.vec3, b: wp.vec3, lame: float, straight: float, crossed: float) -> wp.mat33:
    """Derivative of the force at one corner by the position of another, per rest volume, with the sign of a stiffness.

    Args:
        a, b: the rest gradients of the two corners [1/m], turned along: R b.
        lame, straight, crossed: lambda, mu + t/2 and mu - t/2 with the stiffness t of `corotated_twist` [Pa].
    """
    return lame * wp.outer(a, b) + crossed * wp.outer(b, a) + (straight * wp.dot(a, b)) * wp.identity(n=3, dtype=float)
