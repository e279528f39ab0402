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
LARGEST_SWELLING = wp.constant(2.0)


@wp.func
def products(q: wp.vec3) -> vec6:
    """xx, yy, zz, xy, yz, zx."""
    return vec6(q[0] * q[0], q[1] * q[1], q[2] * q[2], q[0] * q[1], q[1] * q[2], q[2] * q[0])


@wp.func
def volume_scale(volume: float, keep_volume: int) -> float:
    """The factor that gives a linear map of the given determinant the volume at rest, within limits."""
    if keep_volume == 0:
        return 1.0
    return wp.min(LARGEST_SWELLING, wp.pow(wp.max(volume, 1.0e-6), -1.0 / 3.0))


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
    "volume_scale",
]
