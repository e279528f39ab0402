"""One cluster of shape matching: its goal, its rigid motion, its permanent change of shape. Pure functions.

The functions of rest position that a goal is made of are q (3), or q and its products (9):
x, y, z, xx, yy, zz, xy, yz, zx (Mueller et al. 2005, section 4.3), each less its mean over the cluster. Rest positions
are divided by the cluster's radius, so that all nine are of order one whatever the body's size.
"""

import functools
from typing import Any

import warp as wp

from pliant.physics.polar import nearest_rotation, solve_spd, spectral_norm

vec6 = wp.types.vector(length=6, dtype=float)

# Volume over that at rest, below which a fit fades out: a cluster pressed flat or turned inside out has a rigid goal.
LEAST_VOLUME = wp.constant(0.2)


@wp.func
def products(q: wp.vec3) -> vec6:
    """xx, yy, zz, xy, yz, zx."""
    return vec6(q[0] * q[0], q[1] * q[1], q[2] * q[2], q[0] * q[1], q[1] * q[2], q[2] * q[0])


@wp.func
def cofactors(m: wp.mat33) -> wp.mat33:
    """The derivative of the determinant by the entries."""
    a = wp.vec3(m[0, 0], m[1, 0], m[2, 0])
    b = wp.vec3(m[0, 1], m[1, 1], m[2, 1])
    c = wp.vec3(m[0, 2], m[1, 2], m[2, 2])
    return wp.matrix_from_cols(wp.cross(b, c), wp.cross(c, a), wp.cross(a, b))


@wp.func
def volume_push(m: wp.mat33, volume: float, inverse: wp.mat33) -> wp.mat33:
    """What brings a linear map m of the given determinant J back to the volume at rest, less the inverse moments.

    Minus the gradient of the energy 9/2 (J^(1/3) - 1)^2 / tr(inverse), per mass: so it makes no energy, and no torque
    since m cof(m)^T = J. Times the inverse moments it takes all of a swelling that is alike in all directions. A push
    that is larger than the cluster is cut.
    """
    total = wp.trace(inverse)
    push = wp.mat33(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if total > 0.0 and volume > 1.0e-3:
        side = wp.pow(volume, 1.0 / 3.0)
        push = (-3.0 * (side - 1.0) / (side * side * total)) * cofactors(m)
        step = push * inverse
        length = wp.sqrt(wp.ddot(step, step))
        if length > 1.0:
            push = push / length
    return push


@wp.func
def fit_weight(volume: float) -> float:
    """1 for a sound fit, 0 for one that is flat or inside out."""
    return wp.clamp(volume / LEAST_VOLUME, 0.0, 1.0)


@wp.func
def spin(moment: wp.vec3, spread: wp.mat33) -> wp.vec3:
    """Angular velocity [1/s] of points with the angular momentum `moment` and the second moment `spread`, per mass.

    Points on a line have none about it, points in one place none at all.
    """
    total = wp.trace(spread)
    if not (total > 1.0e-30):
        return wp.vec3(0.0, 0.0, 0.0)
    one = wp.identity(n=3, dtype=float)
    inertia = one - spread / total
    found = solve_spd(inertia, moment / total, 1.0e-5)
    if found[3] == 0.0:
        found = solve_spd(inertia + 1.0e-5 * one, moment / total, 0.0)
    return wp.vec3(found[0], found[1], found[2])


@functools.cache
def basis_types(order: int) -> tuple[Any, Any]:
    """Vectors and matrices over the `order` functions a goal is made of."""
    return wp.types.vector(length=order, dtype=float), wp.types.matrix(shape=(3, order), dtype=float)


@wp.func
def linear_strain(m: wp.mat33, p: wp.mat33) -> float:
    """Spectral norm of the strain that leads from the permanent map p to m: |m p^-1 - 1|."""
    return spectral_norm(m * wp.inverse(p) - wp.identity(n=3, dtype=float))


__all__ = [
    "basis_types",
    "fit_weight",
    "linear_strain",
    "nearest_rotation",
    "products",
    "solve_spd",
    "spectral_norm",
    "spin",
    "vec6",
    "volume_push",
]
