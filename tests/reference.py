"""The mass-spring system once more, in plain NumPy and float64, written from the equations and not from the code.

Slow and simple: dictionaries of edges, loops over elements. The solvers are compared with it.
"""

import itertools

import numpy as np

from pliant import TetMesh


def edges_of(elements):
    """Every edge of the elements once: list of (i, j), i < j."""
    found = set()
    for element in elements.tolist():
        found |= {tuple(sorted(pair)) for pair in itertools.combinations(element, 2)}
    return sorted(found)


def six_volume(p):
    """Six times the signed volume of corners p (..., 4, 3)."""
    e = p[..., 1:, :] - p[..., :1, :]
    return np.linalg.det(e)


def volume_gradient(p):
    """Gradient of the signed volume of each tet (m, 4, 3)."""
    a, b, c, d = (p[:, i] for i in range(4))
    g = np.empty_like(p)
    g[:, 1] = np.cross(c - a, d - a) / 6
    g[:, 2] = np.cross(d - a, b - a) / 6
    g[:, 3] = np.cross(b - a, c - a) / 6
    g[:, 0] = -(g[:, 1] + g[:, 2] + g[:, 3])
    return g


def area_and_gradient(p):
    """Area (t,) of triangles p (t, 3, 3) and its gradient (t, 3, 3)."""
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    double = np.linalg.norm(normal, axis=1)
    unit = normal / double[:, None]
    g = np.empty_like(p)
    for i in range(3):
        g[:, i] = 0.5 * np.cross(unit, p[:, (i + 2) % 3] - p[:, (i + 1) % 3])
    return 0.5 * double, g


class Reference:
    """A body as the documentation describes it.

    Springs on the edges with k = E' (volume around the edge) / L^2 and a volume energy K V0/2 (V/V0 - 1)^2, where
    E' = mu / 0.4 and K is what the springs lack of the bulk modulus; a sheet has E' = mu / 0.375 and an area energy
    K A0/2 (A/A0 - 1)^2. Raw constants replace them. Damping acts on the rates of length, volume and area.
    """

    def __init__(self, mesh, material, raw=None):
        self.solid = isinstance(mesh, TetMesh)
        self.rest = mesh.vertices
        self.elements = mesh.tets if self.solid else mesh.triangles
        self.edges = np.array(edges_of(self.elements))
        self.length = np.linalg.norm(self.rest[self.edges[:, 1]] - self.rest[self.edges[:, 0]], axis=1)
        corners = self.rest[self.elements]
        self.size = six_volume(corners) / 6 if self.solid else area_and_gradient(corners)[0]
        thickness = 1.0 if self.solid else material.thickness
        around = dict.fromkeys(map(tuple, self.edges.tolist()), 0.0)
        for element, size in zip(self.elements.tolist(), self.size, strict=True):
            for pair in itertools.combinations(element, 2):
                around[tuple(sorted(pair))] += size * thickness
        young, nu = material.young, material.poisson
        mu = young / (2 * (1 + nu))
        least = 0.25 if self.solid else 1 / 3
        springs = mu / (0.4 if self.solid else 0.375) if nu >= least else young
        if self.solid:
            bulk = max(young / (3 * (1 - 2 * nu)) - springs * 2 / 3, 0.0) if nu >= least else 0.0
        else:
            bulk = max(young / (2 * (1 - nu)) - springs * 0.75, 0.0) if nu >= least else 0.0
        self.k = np.array([springs * around[tuple(e)] for e in self.edges.tolist()]) / self.length**2
        self.scale = bulk * thickness * self.size
        self.tau = self.tau_size = material.damping
        self.drag = material.drag
        total = material.density * thickness * self.size
        if raw is not None:
            self.k = np.full(len(self.edges), raw.spring)
            self.tau = raw.spring_damping / raw.spring if raw.spring else 0.0
            self.scale = raw.volume * (6 * self.size**2 if raw.volume_form == "absolute" else np.ones(len(self.size)))
            self.tau_size = raw.volume_damping / raw.volume if raw.volume else 0.0
            if not self.solid:
                self.scale = 0.0 * self.scale
            if raw.mass is not None:
                total = total * raw.mass / total.sum()
        self.mass = np.zeros(len(self.rest))
        for element, mass in zip(self.elements.tolist(), total, strict=True):
            self.mass[element] += mass / len(element)

    def energy(self, x):
        """Elastic energy [J]."""
        length = np.linalg.norm(x[self.edges[:, 1]] - x[self.edges[:, 0]], axis=1)
        p = x[self.elements]
        size = six_volume(p) / 6 if self.solid else area_and_gradient(p)[0]
        return 0.5 * np.sum(self.k * (length - self.length) ** 2) + 0.5 * np.sum(
            self.scale * (size / self.size - 1) ** 2
        )

    def force(self, x, v):
        """Internal force, damping included, without drag [N] (n, 3)."""
        f = np.zeros_like(x)
        i, j = self.edges.T
        d, dv = x[j] - x[i], v[j] - v[i]
        length = np.linalg.norm(d, axis=1)
        rate = np.einsum("ij,ij->i", d, dv) / length
        pull = (self.k * (length - self.length + self.tau * rate) / length)[:, None] * d
        np.add.at(f, i, pull)
        np.add.at(f, j, -pull)
        p, pv = x[self.elements], v[self.elements]
        if self.solid:
            size, gradient = six_volume(p) / 6, volume_gradient(p)
        else:
            size, gradient = area_and_gradient(p)
        rate = np.einsum("mij,mij->m", gradient, pv)
        slope = self.scale / self.size * (size / self.size - 1 + self.tau_size * rate / self.size)
        np.add.at(f, self.elements, -slope[:, None, None] * gradient)
        return f

    def acceleration(self, x, v, gravity=(0.0, 0.0, 0.0)):
        return self.force(x, v) / self.mass[:, None] + np.asarray(gravity) - self.drag * v

    def run(self, x, v, dt, steps, gravity=(0.0, 0.0, 0.0), free=None):
        """Symplectic Euler; `free` (n,) bool names the particles that move."""
        x, v = x.copy(), v.copy()
        move = np.ones((len(x), 1)) if free is None else free[:, None].astype(float)
        for _ in range(steps):
            v += dt * move * self.acceleration(x, v, gravity)
            x += dt * move * v
        return x, v
