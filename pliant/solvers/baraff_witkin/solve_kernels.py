"""Modified conjugate gradients (Baraff and Witkin 1998, section 5.3): particles move only where nothing holds them.

What any conjugate gradients need is in `common/cg_kernels.py`.
"""

import warp as wp

from pliant.solvers.common.cg_kernels import total_of

wp.set_module_options({"enable_backward": False})

FREE = wp.constant(0)
SLIDES = wp.constant(1)
STICKS = wp.constant(2)


@wp.func
def filtered(value: wp.vec3, inv_mass: float, hold: int, normal: wp.vec3) -> wp.vec3:
    """The part of a vector that is free (the paper's S): nothing of a pinned or sticking particle, the tangent plane
    of a sliding one."""
    if inv_mass == 0.0 or hold == STICKS:
        return wp.vec3(0.0, 0.0, 0.0)
    if hold == SLIDES:
        return value - wp.dot(value, normal) * normal
    return value


@wp.kernel
def begin_solve(
    b_parts: wp.array(dtype=wp.float64),
    r_parts: wp.array(dtype=wp.float64),
    noise_parts: wp.array(dtype=wp.float64),
    tolerance: float,
    floor: float,
    scalars_out: wp.array(dtype=wp.float64),
    going_out: wp.array(dtype=int),
):
    """The end is a share of what is left without a guess, or what positions are rounded to, or `floor` [kg m^2/s^2]."""
    whole = total_of(b_parts)
    left = total_of(r_parts)
    target = wp.max(whole * wp.float64(tolerance) * wp.float64(tolerance), wp.float64(floor) + total_of(noise_parts))
    scalars_out[0] = left
    scalars_out[3] = target
    scalars_out[4] = wp.float64(0.0)
    going_out[0] = 0
    if left > target:
        going_out[0] = 1


@wp.kernel
def descend(
    start: int,
    inv_mass: wp.array(dtype=float),
    hold: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
    inverse: wp.array(dtype=wp.mat33),
    d: wp.array(dtype=wp.vec3),
    q: wp.array(dtype=wp.vec3),
    scalars: wp.array(dtype=wp.float64),
    dv_inout: wp.array(dtype=wp.vec3),
    r_inout: wp.array(dtype=wp.vec3),
    z_out: wp.array(dtype=wp.vec3),
):
    """Move along d, update the residual, and precondition what is free of it."""
    i = start + wp.tid()
    alpha = float(scalars[1])
    dv_inout[i] = dv_inout[i] + alpha * d[i]
    r = r_inout[i] - alpha * q[i]
    r_inout[i] = r
    free = filtered(r, inv_mass[i], hold[i], normal[i])
    z_out[i] = filtered(inverse[i] * free, inv_mass[i], hold[i], normal[i])
