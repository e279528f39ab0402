"""A damped spring between two particles: energy, force, stiffness."""

import warp as wp


@wp.func
def spring_energy(d: wp.vec3, rest_length: float, stiffness: float) -> float:
    """Energy of a spring [J]: k/2 (|d| - L)^2, with d = x_j - x_i [m] and k [N/m]."""
    stretch = wp.length(d) - rest_length
    return 0.5 * stiffness * stretch * stretch


@wp.func
def spring_force(d: wp.vec3, dv: wp.vec3, rest_length: float, stiffness: float, damping: float) -> wp.vec3:
    """Force on particle i [N], with d = x_j - x_i [m] and dv = v_j - v_i [m/s]; the other end gets its negative.

    The negative gradient of `spring_energy` and a damper along the spring (Lesmes 3.10, after Teschner et al.
    2004). Coincident ends have no direction and feel nothing.
    """
    squared = wp.dot(d, d)
    if squared <= 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    inverse = 1.0 / wp.sqrt(squared)
    tension = stiffness * (squared * inverse - rest_length) + damping * inverse * wp.dot(d, dv)
    return (tension * inverse) * d


@wp.func
def spring_hessian(d: wp.vec3, rest_length: float, stiffness: float, along: float, least: float) -> wp.mat33:
    """The spring's 3 x 3 stiffness block, made positive semi-definite [N/m].

    k [n n^T + max(least, 1 - L/|d|) (1 - n n^T)]: the transverse part is never below what it is at rest, given as
    `least`. That is zero for a spring without stress, so a compressed one loses its negative part, which is what makes
    Newton's system solvable; of springs that hold each other under stress, as across the hinges of a sheet, the sum at
    rest is positive already. `along` is the stiffness along the spring, k plus what damping adds.
    """
    one = wp.identity(n=3, dtype=float)
    squared = wp.dot(d, d)
    if squared <= 0.0:
        return along * one
    across = stiffness * wp.max(least, 1.0 - rest_length / wp.sqrt(squared))
    return across * one + ((along - across) / squared) * wp.outer(d, d)
