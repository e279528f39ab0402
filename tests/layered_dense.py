"""The layered step again, dense and in float64: an independent implementation with whole matrices."""

import numpy as np


def cross(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def exp(w):
    angle = np.linalg.norm(w)
    k = cross(w / angle) if angle > 0 else np.zeros((3, 3))
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


class DenseBody:
    """A body with its matrices, from its `LayerRest`; velocities are (V, W, w) in one vector, in the core's frame."""

    def __init__(self, rest, damping=0.0):
        n = len(rest.mass)
        self.n, self.mass, self.rest = n, rest.mass, rest.rest
        self.core_mass, self.core_inertia = rest.core_mass, rest.core_inertia
        self.stiffness = np.zeros((3 * n, 3 * n))
        for tet in range(len(rest.tets)):
            self._add(rest, tet)
        self.damping = damping * self.stiffness
        self.c, self.turn = rest.center.copy(), np.eye(3)
        self.u, self.v = np.zeros((n, 3)), np.zeros(6 + 3 * n)

    def _add(self, rest, tet):
        """Volume times B^T C B of a tet, by Voigt's notation."""
        b = np.zeros((6, 12))
        for a in range(4):
            x, y, z = rest.gradients[tet, a]
            b[:, 3 * a : 3 * a + 3] = [[x, 0, 0], [0, y, 0], [0, 0, z], [y, x, 0], [0, z, y], [z, 0, x]]
        lame, shear = rest.lame[tet]
        c = np.diag([2 * shear] * 3 + [shear] * 3)
        c[:3, :3] += lame
        k = rest.volume[tet] * b.T @ c @ b
        rows = np.concatenate([3 * node + np.arange(3) if node >= 0 else [-1] * 3 for node in rest.tets[tet]])
        own = rows >= 0
        self.stiffness[np.ix_(rows[own], rows[own])] += k[np.ix_(own, own)]

    def mass_matrix(self):
        n = self.n
        whole = np.zeros((6 + 3 * n, 6 + 3 * n))
        whole[:3, :3] = self.core_mass * np.eye(3)
        whole[3:6, 3:6] = self.core_inertia
        for i, r in enumerate(self.rest + self.u):
            b = np.zeros((3, 6 + 3 * n))
            b[:, :3], b[:, 3:6], b[:, 6 + 3 * i : 9 + 3 * i] = np.eye(3), -cross(r), np.eye(3)
            whole += self.mass[i] * b.T @ b
        return whole

    def forces(self, gravity, f_ext):
        """Generalised forces: gravity and f_ext (n, 3) of the world, elastic ones, and those of the turning frame."""
        spin, w = self.v[3:6], self.v[6:].reshape(-1, 3)
        q = np.zeros(6 + 3 * self.n)
        q[:3] = self.core_mass * self.turn.T @ gravity
        q[3:6] = -np.cross(spin, self.core_inertia @ spin)
        for i, r in enumerate(self.rest + self.u):
            s = 2 * np.cross(spin, w[i]) + np.cross(spin, np.cross(spin, r))
            f = self.turn.T @ (self.mass[i] * gravity + f_ext[i]) - self.mass[i] * s
            q[:3] += f
            q[3:6] += np.cross(r, f)
            q[6 + 3 * i : 9 + 3 * i] += f
        q[6:] -= self.stiffness @ self.u.ravel()
        return q

    def matrix(self, dt):
        a = self.mass_matrix()
        a[6:, 6:] += dt * self.damping + dt * dt * self.stiffness
        return a

    def step(self, dt, gravity, f_ext=None, held=None):
        """One implicit step; `held` maps nodes to their world velocities."""
        f_ext = np.zeros((self.n, 3)) if f_ext is None else f_ext
        m, a = self.mass_matrix(), self.matrix(dt)
        b = m @ self.v + dt * self.forces(gravity, f_ext)
        size = len(b)
        if held:
            rows, wanted = [], []
            for i, speed in held.items():
                row = np.zeros((3, size))
                r = self.rest[i] + self.u[i]
                row[:, :3], row[:, 3:6], row[:, 6 + 3 * i : 9 + 3 * i] = np.eye(3), -cross(r), np.eye(3)
                rows.append(row)
                wanted.append(self.turn.T @ speed)
            j = np.concatenate(rows)
            system = np.block([[a, j.T], [j, np.zeros((len(j), len(j)))]])
            self.v = np.linalg.solve(system, np.concatenate([b, *wanted]))[:size]
        else:
            self.v = np.linalg.solve(a, b)
        self.u = self.u + dt * self.v[6:].reshape(-1, 3)
        self.c = self.c + dt * self.turn @ self.v[:3]
        before = self.turn
        self.turn = self.turn @ exp(dt * self.v[3:6])
        self.v[:3] = self.turn.T @ before @ self.v[:3]
        if held:
            # where they are held, whatever the frame's finite turn makes of their rates
            for i, speed in held.items():
                own = self.turn.T @ (self.places[i] + dt * speed - self.c)
                self.places[i] = self.places[i] + dt * speed
                self.u[i] = own - self.rest[i]
                self.v[6 + 3 * i : 9 + 3 * i] = self.turn.T @ speed - self.v[:3] - np.cross(self.v[3:6], own)

    def hold(self, nodes):
        """Remember where nodes are held."""
        self.places = {i: self.positions()[i] for i in nodes}

    def positions(self):
        return self.c + (self.rest + self.u) @ self.turn.T

    def velocities(self):
        r = self.rest + self.u
        return (self.v[:3] + np.cross(self.v[3:6], r) + self.v[6:].reshape(-1, 3)) @ self.turn.T
