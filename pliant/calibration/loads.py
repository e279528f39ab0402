"""Small tests of a body: stretch, bend, shear, twist and squeeze of a free one, pull and lean of one that is held.

Loads on the free body neither push nor turn it.
"""

from __future__ import annotations

import numpy as np

FREE = ("stretch", "bend", "shear", "twist", "squeeze")
HELD = ("pull", "lean")
TESTS = (*FREE, *HELD)
END = 0.08
"""Part of a body's length that is held."""


def rigid_modes(x: np.ndarray) -> np.ndarray:
    """Three shifts and three small turns of points (n, 3): (6, n, 3)."""
    shifts = np.broadcast_to(np.eye(3)[:, None, :], (3, len(x), 3))
    turns = np.cross(np.eye(3)[:, None, :], (x - x.mean(axis=0))[None])
    return np.concatenate([shifts, turns])


def test_loads(x: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loads (t, n, 3) in the order of `TESTS`, each of one newton per kilogram and metre at most, and which vertices
    are free in each (t, n, 1), 1 or 0.

    Forces are in proportion to mass, as those of inertia are: so what they bend is what a moving body bends like. Along
    the longest principal axis a, with b across: s a for stretch, s^2 b for bend, s b + t a for shear, s a x r for
    twist, and towards the middle for squeeze; less the part that would accelerate the body as a whole. A body that is
    held at one end of that axis is pulled along it, and made to lean across it, by its own weight.
    """
    centre = np.average(x, axis=0, weights=mass)
    arm = x - centre
    _, axes = np.linalg.eigh(np.einsum("n,ni,nj->ij", mass, arm, arm))
    a, b = axes[:, 2], axes[:, 1]
    s, t = (arm @ a)[:, None], (arm @ b)[:, None]
    size = float(np.abs(s).max())
    fields = np.stack([s * a, s**2 / size * b, 0.5 * (s * b + t * a), s / size * np.cross(a, arm), -arm])
    free = balanced(fields * mass[None, :, None], x, mass)
    loose = np.where(s > s.min() + END * np.ptp(s), 1.0, 0.0)
    held = size * mass[:, None] * loose * np.stack([np.broadcast_to(a, x.shape), np.broadcast_to(b, x.shape)])
    masks = np.concatenate([np.ones((len(FREE), len(x), 1)), np.broadcast_to(loose, (len(HELD), len(x), 1))])
    return np.concatenate([free, held]), masks


def balanced(loads: np.ndarray, x: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Loads (k, n, 3) less the forces of inertia that they would cause: no sum, no torque."""
    modes = rigid_modes(x)
    heavy = modes * mass[None, :, None]
    metric = np.einsum("ani,bni->ab", modes, heavy)
    shares = np.linalg.solve(metric, np.einsum("ani,kni->ak", modes, loads))
    return loads - np.einsum("ak,ani->kni", shares, heavy)


def without_rigid(fields: np.ndarray, x: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Fields (k, n, 3) less the rigid motion that is nearest to each, weighed by mass."""
    modes = rigid_modes(x)
    heavy = modes * mass[None, :, None]
    metric = np.einsum("ani,bni->ab", modes, heavy)
    shares = np.linalg.solve(metric, np.einsum("ani,kni->ak", heavy, fields))
    return fields - np.einsum("ak,ani->kni", shares, modes)


test_loads.__test__ = False  # type: ignore[attr-defined]
