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
def spring_hessian_product(d: wp.vec3, u: wp.vec3, rest_length: float, stiffness: float, along_extra: float) -> wp.vec3:
    """The spring's positive semi-definite stiffness block applied to u = u_i - u_j.

    k [n n^T + max(0, 1 - L/|d|) (1 - n n^T)]: a compressed spring's negative transverse part is dropped, which is
    its projection onto the positive semi-definite matrices. `along_extra` [N/m] is added along n (damping).
    """
    squared = wp.dot(d, d)
    if squared <= 0.0:
        return (stiffness + along_extra) * u
    inverse = 1.0 / wp.sqrt(squared)
    across = stiffness * wp.max(0.0, 1.0 - rest_length * inverse)
    along = (stiffness + along_extra - across) * inverse * inverse * wp.dot(d, u)
    return across * u + along * d
