"""Area preservation of a triangle: energy and force."""

import warp as wp


@wp.func
def area_force(
    e1: wp.vec3, e2: wp.vec3, de1: wp.vec3, de2: wp.vec3, inv_double_area: float, stiffness: float, damping_time: float
) -> wp.vec3:
    """Force on corner i [N]: minus the gradient of K A0/2 (A/A0 - 1)^2, and its damping.

    e1 = x_j - x_i, e2 = x_k - x_i [m]; K [N/m] is a modulus times a thickness. A collapsed triangle has no
    normal and feels nothing.
    """
    normal = wp.cross(e1, e2)
    double_area = wp.length(normal)
    if double_area <= 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    unit = normal / double_area
    rate = wp.dot(unit, wp.cross(de1, e2) + wp.cross(e1, de2))
    tension = stiffness * (double_area * inv_double_area - 1.0 + damping_time * rate * inv_double_area)
    # grad_i of 2A is unit x (e2 - e1); a positive tension pulls i towards the opposite edge
    return (0.5 * tension) * wp.cross(unit, e1 - e2)
