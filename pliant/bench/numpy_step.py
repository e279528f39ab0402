"""The same step in plain NumPy: the yardstick that a reader can judge without a compiler."""

from __future__ import annotations

import numpy as np


class NumpyStep:
    """Springs, volumes, symplectic Euler and a floor, vectorised over elements, float32.

    Forces are added up with ``np.bincount``, the fastest of the ways NumPy offers (``np.add.at`` and
    ``np.add.reduceat`` over sorted corners were slower).
    """

    def __init__(
        self,
        pairs: np.ndarray,
        rest_length: np.ndarray,
        stiffness: np.ndarray,
        damping_time: float,
        tets: np.ndarray,
        rest_volume: np.ndarray,
        volume_modulus: float,
        mass: np.ndarray,
        volume_damping_time: float = 0.0,
    ):
        self.i, self.j = pairs[:, 0].copy(), pairs[:, 1].copy()
        self.rest_length = rest_length.astype(np.float32)
        self.k = stiffness.astype(np.float32)
        self.kd = (damping_time * stiffness).astype(np.float32)
        self.corners = [tets[:, c].copy() for c in range(4)]
        self.inv_six_volume = (1.0 / (6.0 * rest_volume)).astype(np.float32)
        self.volume_modulus = np.float32(volume_modulus)
        self.volume_damping_time = np.float32(volume_damping_time)
        self.inv_mass = (1.0 / mass).astype(np.float32)[:, None]
        self.count = len(mass)
        self.ends = np.concatenate([self.i, self.j])
        self.all_corners = np.concatenate(self.corners)

    def forces(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Internal forces [N] (n, 3)."""
        d = x[self.j] - x[self.i]
        length = np.sqrt(np.einsum("ij,ij->i", d, d))
        n = d / length[:, None]
        rate = np.einsum("ij,ij->i", v[self.j] - v[self.i], n)
        f = n * (self.k * (length - self.rest_length) + self.kd * rate)[:, None]
        total = self._gather(self.ends, np.concatenate([f, -f]))
        a, b, c, e = self.corners
        e1, e2, e3 = x[b] - x[a], x[c] - x[a], x[e] - x[a]
        g1, g2, g3 = np.cross(e2, e3), np.cross(e3, e1), np.cross(e1, e2)
        strain = np.einsum("ij,ij->i", e1, g1) * self.inv_six_volume - 1.0
        if self.volume_damping_time > 0:
            va = v[a]
            rate = np.einsum("ij,ij->i", v[b] - va, g1)
            rate += np.einsum("ij,ij->i", v[c] - va, g2)
            rate += np.einsum("ij,ij->i", v[e] - va, g3)
            strain += self.volume_damping_time * rate * self.inv_six_volume
        p = (-self.volume_modulus / 6.0 * strain)[:, None]
        f1, f2, f3 = p * g1, p * g2, p * g3
        return total + self._gather(self.all_corners, np.concatenate([-(f1 + f2 + f3), f1, f2, f3]))

    def _gather(self, index: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.stack([np.bincount(index, f[:, axis], self.count) for axis in range(3)], axis=1).astype(np.float32)

    def step(
        self, x: np.ndarray, v: np.ndarray, dt: float, gravity: np.ndarray, floor: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The next positions [m] and velocities [m/s]."""
        v = v + np.float32(dt) * (self.inv_mass * self.forces(x, v) + gravity.astype(np.float32))
        x = x + np.float32(dt) * v
        below = x[:, 1] < floor
        x[below, 1] = floor
        v[below, 1] = np.maximum(v[below, 1], 0.0)
        return x, v
