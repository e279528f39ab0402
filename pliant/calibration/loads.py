"""Four small tests of a free body: stretch, bend, shear and twist, as loads that neither push nor turn it."""

from __future__ import annotations

import numpy as np

TESTS = ("stretch", "bend", "shear", "twist")


def rigid_modes(x: np.ndarray) -> np.ndarray:
    """Three shifts and three small turns of points (n, 3): (6, n, 3)."""
    shifts = np.broadcast_to(np.eye(3)[:, None, :], (3, len(x), 3))
    turns = np.cross(np.eye(3)[:, None, :], (x - x.mean(axis=0))[None])
    return np.concatenate([shifts, turns])


def test_loads(x: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Loads (4, n, 3) in the order of `TESTS`, each of one newton per kilogram and metre at most.

    Forces are in proportion to mass, as those of inertia are: so what they bend is what a moving body bends like. Along
    the longest principal axis a, with b across: s a for stretch, s^2 b for bend, s b + t a for shear, s a x r for
    twist; less the part that would accelerate the body as a whole.
    """
    centre = np.average(x, axis=0, weights=mass)
    arm = x - centre
    _, axes = np.linalg.eigh(np.einsum("n,ni,nj->ij", mass, arm, arm))
    a, b = axes[:, 2], axes[:, 1]
    s, t = (arm @ a)[:, None], (arm @ b)[:, None]
    size = float(np.abs(s).max())
    fields = np.stack([s * a, s**2 / size * b, 0.5 * (s * b + t * a), s / size * np.cross(a, arm)])
    return balanced(fields * mass[None, :, None], x, mass)


def balanced(loads: np.ndarray, x: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Loads (k, n, 3) less the forces of inertia that they would cause: no sum, no torque."""
    modes = rigid_modes(x)
    heavy = modes * mass[None, :, None]
    metric = np.einsum("ani,bni->ab", modes, heavy)
    shares = np.linalg.solve(metric, np.einsum("ani,kni->ak", modes, loads))
    return loads - np.einsum("ak,ani->kni", shares, heavy)


test_loads.__test__ = False  # type: ignore[attr-defined]
