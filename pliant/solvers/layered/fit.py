"""The core that fits nodes which were set from outside."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.solvers.layered.rest import LayerRest


@dataclasses.dataclass(frozen=True)
class FittedCore:
    """A core's centre [m], rotation, velocity [m/s] and angular velocity [rad/s] in its own frame; displacements [m]
    and rates [m/s] of its nodes."""

    c: np.ndarray
    turn: np.ndarray
    v: np.ndarray
    w: np.ndarray
    u: np.ndarray
    rate: np.ndarray


def fitted_core(rest: LayerRest, x: np.ndarray, v: np.ndarray) -> FittedCore:
    """The core whose rest shape and rigid motion are nearest to positions x [m] and velocities v [m/s] (n, 3), weighted
    by the nodes' masses."""
    mass = rest.mass / rest.mass.sum()
    here, there = mass @ rest.rest, mass @ x
    moment = (x - there).T @ (mass[:, None] * (rest.rest - here))
    left, _, right = np.linalg.svd(moment)
    left[:, 2] *= np.sign(np.linalg.det(left) * np.linalg.det(right))
    turn = left @ right
    if np.abs(turn - np.eye(3)).max() < 1e-6:
        turn = np.eye(3)
    c = there - turn @ here
    r = (x - c) @ turn
    own = v @ turn
    # least squares of V + W x r = v
    mean = mass @ r
    about = r - mean
    spin = np.einsum("n,ni->i", mass, np.cross(about, own))
    second = about.T @ (mass[:, None] * about)
    w = np.linalg.solve(np.trace(second) * np.eye(3) - second, spin)
    speed = mass @ own - np.cross(w, mean)
    u = r - rest.rest
    rate = own - speed - np.cross(w, r)
    # what is below the rounding of positions and velocities is none
    size = np.abs(x).max() + np.abs(rest.rest).max()
    u[np.abs(u).max(axis=1) < 2e-7 * size] = 0.0
    rate[np.abs(rate).max(axis=1) < 5e-7 * max(np.abs(v).max(), 1e-30)] = 0.0
    return FittedCore(c, turn, speed, w, u, rate)
