"""The energy of shape matching, in float64 on the host."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from pliant.solvers.shape_matching.constants import Goals
from pliant.solvers.shape_matching.rest import RestClusters, functions


def best_rotations(moments: np.ndarray) -> np.ndarray:
    """The proper rotations with the largest tr(R^T A) of matrices (c, 3, 3)."""
    u, _, vt = np.linalg.svd(moments)
    flip = np.sign(np.linalg.det(u @ vt))
    u[:, :, 2] *= flip[:, None]
    return u @ vt


def goals_energy(x: np.ndarray, rest: RestClusters, plastic: np.ndarray, goals: Sequence[Goals]) -> float:
    """`body_energy` with goals of each cluster, or one of all.

    What is bent and twisted counts (1 - bend) instead of (1 - beta), without the shear that goes with it.
    """
    rows = np.array([dataclasses.astuple(one) for one in goals])
    return float(_energies(x, rest, plastic, np.broadcast_to(rows, (rest.count, 4))).sum())


def body_energy(
    x: np.ndarray, rest: RestClusters, plastic: np.ndarray, beta: float, keep_volume: bool = False
) -> float:
    """Elastic energy over the square of the frequency [kg m^2] of particles at x [m] (n, 3).

    Half of sum m (|p - A f|^2 + (1 - beta) |(A - R P) f|^2) over all clusters: what is left of the fit A, and by how
    much the fit differs from the turned rest shape R P; and `volume_energy` where goals keep their volume.
    """
    return goals_energy(x, rest, plastic, [Goals(1.0, beta, beta, beta if keep_volume else 0.0)])


def _energies(x: np.ndarray, rest: RestClusters, plastic: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """The energy of each cluster (c,), with goals as rows (c, 4)."""
    pull, beta, bend, volume = goals.T
    order = rest.means.shape[1]
    owner = np.repeat(np.arange(rest.count), np.diff(rest.starts))
    places = x[rest.member]
    centre = np.add.reduceat(rest.weight[:, None] * places, rest.starts[:-1])
    p = (places - centre[owner]) / rest.radius[owner, None]
    f = functions(rest.rest, order) - rest.means[owner]
    apq = np.add.reduceat((rest.weight[:, None, None] * p[:, :, None]) * f[:, None, :], rest.starts[:-1])
    turn = best_rotations(apq @ plastic.transpose(0, 2, 1))
    fit = apq @ rest.inverse
    fit += turn @ rest.missing
    off = fit - turn @ plastic
    left = p - np.einsum("kij,kj->ki", fit[owner], f)
    bent = np.zeros_like(off)
    bent[:, :, :3] = -off[:, :, 3:] @ rest.slope.transpose(0, 2, 1)
    bent[:, :, 3:] = off[:, :, 3:]
    squared = lambda maps: (np.einsum("kij,kj->ki", maps[owner], f) ** 2).sum(axis=1)
    each = (left**2).sum(axis=1) + (1.0 - beta)[owner] * squared(off - bent) + (1.0 - bend)[owner] * squared(bent)
    mass = rest.mass * rest.radius**2
    total = 0.5 * mass * np.add.reduceat(rest.weight * each, rest.starts[:-1])
    if volume.any():
        total += volume * mass * volume_energy(fit[:, :, :3], rest.inverse[:, :3, :3], rest.lacks)
    return pull * total


def volume_energy(linear: np.ndarray, inverse: np.ndarray, lacks: np.ndarray) -> np.ndarray:
    """Energy of the change of volume of each cluster (c,), per mass and squared radius.

    9/2 (J^(1/3) - 1)^2 / tr(inverse), as `volume_push` takes the gradient of; what lies in a plane has no volume.

    Args:
        linear: linear parts of the fits (c, 3, 3), with the determinants J.
        inverse: that of the moments of the linear functions (c, 3, 3).
        lacks: directions in which each cluster has no extent (c,).
    """
    side = np.cbrt(np.linalg.det(linear))
    trace = np.trace(inverse, axis1=1, axis2=2)
    return np.divide(4.5 * (side - 1.0) ** 2, trace, out=np.zeros_like(trace), where=lacks == 0)
