"""Small tests of a body: stretch, bend, shear, twist and squeeze of a free one, and of one that is held somewhere the
pull of its own weight along three axes."""

from __future__ import annotations

import dataclasses

import numpy as np

FREE = ("stretch", "bend", "shear", "twist", "squeeze")
DEEP, THIN = 0.12, 0.03
"""Parts of a body's extent that are held."""
SHALLOW = 0.4
"""Extent, over the longest, along which a body is not held at its ends: it would hardly give in."""
SPREAD = 0.2
"""Extent of what is held across its longest axis, over that of the body, below which a body would turn about it."""
AXES = "xyz"


@dataclasses.dataclass(eq=False)
class Trial:
    """Loads on a body that is free, or held somewhere.

    A test is a pair of loads: by how far the first lets the points of the second give in. With a load itself that is
    how far the body gives in as a whole; with a load on its far end, how far that end does.

    Attributes:
        names: of the tests. pairs: their loads (k, 2). loads: (t, n, 3) [N].
        mass: of the particles (n,) [kg].
        swings: loads whose answers are looked at as swings, too: the last tests (s,).
        loose: which particles may move (n,), 1 or 0.
        free: whether all of them may.
    """

    names: tuple[str, ...]
    pairs: np.ndarray
    loads: np.ndarray
    mass: np.ndarray
    swings: np.ndarray
    loose: np.ndarray
    free: bool

    def values(self, fields: np.ndarray) -> np.ndarray:
        """The work of each test [J], then of each swing the square of its duration [s^2], from displacements (t, n, 3).

        A body that swings as it gives in has the squared frequency (work of the load) / sum m u^2 (Rayleigh).
        """
        work = (self.loads[self.pairs[:, 1]] * fields[self.pairs[:, 0]]).sum(axis=(1, 2))
        u = fields[self.swings]
        moved = (self.mass[:, None] * u**2).sum(axis=(1, 2))
        return np.concatenate([work, moved / np.maximum((self.loads[self.swings] * u).sum(axis=(1, 2)), 1e-300)])


def rigid_modes(x: np.ndarray) -> np.ndarray:
    """Three shifts and three small turns of points (n, 3): (6, n, 3)."""
    shifts = np.broadcast_to(np.eye(3)[:, None, :], (3, len(x), 3))
    turns = np.cross(np.eye(3)[:, None, :], (x - x.mean(axis=0))[None])
    return np.concatenate([shifts, turns])


def principal_axes(x: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Unit vectors (3, 3) along which a body reaches far, less far, and least."""
    arm = x - np.average(x, axis=0, weights=mass)
    _, axes = np.linalg.eigh(np.einsum("n,ni,nj->ij", mass, arm, arm))
    return np.ascontiguousarray(axes[:, ::-1].T)


def trials(x: np.ndarray, mass: np.ndarray, sides: str = "all", *, swings: bool = True) -> list[Trial]:
    """The tests of a body at x (n, 3) [m] of masses (n,) [kg].

    It is held at both ends of its longest side by a deep part ('ends'), by a thin part too ('thin'), and by deep parts
    of its other sides ('all'). Where swings are looked at, it is free besides.

    Sides and loads are along the axes of the mesh, as bodies stand on their foot and hang from their top.

    Each load is of one newton per kilogram and metre at most, and in proportion to mass, as those of weight and inertia
    are: what they bend is what a body bends like that moves, or hangs.
    """
    found: list[Trial] = []
    if swings:
        loads = free_loads(x, mass, principal_axes(x, mass))
        alone = np.stack([np.arange(len(FREE))] * 2, axis=1)
        found.append(Trial(FREE, alone, loads, mass, np.arange(0), np.ones(len(x)), True))
    extent = np.ptp(x, axis=0)
    size = float(extent.max())
    longest, *others = np.argsort(-extent, kind="stable")
    places = [(longest, DEEP)]
    if sides != "ends":
        places.append((longest, THIN))
    if sides == "all":
        places += [(side, DEEP) for side in others if extent[side] > SHALLOW * size]
    masks: list[np.ndarray] = []
    kinds = ("", " end", " swing") if swings else ("", " end")
    for axis, depth in places:
        for sign in (1.0, -1.0):
            loose = loose_part(sign * x[:, axis], depth)
            held = x[loose == 0.0]
            if len(held) < 3 or loose.mean() < 0.3 or any(np.array_equal(loose, mask) for mask in masks):
                continue
            if spread(held) < SPREAD * spread(x):
                continue
            masks.append(loose)
            far = 1.0 - loose_part(-sign * x[:, axis], DEEP)
            each = np.stack([mass * loose, mass * far * loose.mean() / far.mean()])
            loads = 0.5 * size * each[:, None, :, None] * np.eye(3)[None, :, None, :]
            side = f"{'thin ' if depth == THIN else ''}{AXES[axis]}{'-' if sign > 0.0 else '+'}"
            names = (f"{side} {AXES[k]}{what}" for what in kinds for k in range(3))
            pairs = np.array([(k, k + rest) for rest in (0, 3) for k in range(3)])
            looked = np.arange(3 if swings else 0)
            found.append(Trial(tuple(names), pairs, loads.reshape(6, len(x), 3), mass, looked, loose, False))
    return found


def spread(x: np.ndarray) -> float:
    """Root mean square extent of points (n, 3) along the second of their principal axes [m]."""
    return float(np.linalg.svd(x - x.mean(axis=0), compute_uv=False)[1]) / np.sqrt(len(x))


def loose_part(s: np.ndarray, depth: float) -> np.ndarray:
    """1 for what lies further along s (n,) than a part of its extent, 0 for what is held."""
    return np.where(s > s.min() + depth * np.ptp(s), 1.0, 0.0)


def free_loads(x: np.ndarray, mass: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Loads (5, n, 3) in the order of `FREE`, which neither push nor turn the body as a whole.

    Along the longest principal axis a, with b across: s a for stretch, s^2 b for bend, s b + t a for shear, s a x r for
    twist, and towards the middle for squeeze; less the part that would accelerate the body as a whole.
    """
    arm = x - np.average(x, axis=0, weights=mass)
    a, b = axes[:2]
    s, t = (arm @ a)[:, None], (arm @ b)[:, None]
    size = float(np.abs(s).max())
    fields = np.stack([s * a, s**2 / size * b, 0.5 * (s * b + t * a), s / size * np.cross(a, arm), -arm])
    return balanced(fields * mass[None, :, None], x, mass)


def balanced(loads: np.ndarray, x: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Loads (k, n, 3) less the forces of inertia that they would cause: no sum, no torque."""
    modes = rigid_modes(x)
    heavy = modes * mass[None, :, None]
    metric = np.einsum("ani,bni->ab", modes, heavy)
    shares = np.linalg.solve(metric, np.einsum("ani,kni->ak", modes, loads))
    return loads - np.einsum("ak,ani->kni", shares, heavy)
