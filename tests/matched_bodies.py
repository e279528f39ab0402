"""Shape-matched bodies that several tests use."""

import numpy as np
from bodies import make_sim

from pliant import Material, PointCloud, shapes

MODES = ["rigid", "linear", "quadratic"]
ORDER = {"rigid": 3, "linear": 3, "quadratic": 9}
BOX = shapes.box((0.8, 0.5, 0.4), (5, 3, 3))
BAR = shapes.box((1.0, 0.3, 0.3), (6, 2, 2))
CLUSTERS = {
    "one": {},
    "boxes": {"clusters": 3, "clusters_by": "boxes"},
    "grids": {"clusters": 8, "clusters_by": "grids"},
    "kmeans": {"clusters": 5, "clusters_by": "kmeans"},
}
CUBE = np.array([[i, j, k] for i in range(4) for j in range(4) for k in range(4)]) / 3 - 0.5


def one_body(mesh, matching, device, material=None, **keywords):
    """A body in empty space; a frame is a step."""
    keywords = {"frame_dt": 1 / 60, "substeps": 1, **keywords}
    material = Material(damping=0.0) if material is None else material
    body = {"matching": matching, **keywords.pop("body", {})}
    return make_sim(mesh, material, method="shape_matching", device=device, body=body, **keywords)


def cloud(points, volume=1.0):
    return PointCloud(points, volume=volume)


def best_turn(rest, x):
    """The rotation that fits points of equal mass best, and the largest distance that is left [m]."""
    p, q = x - x.mean(axis=0), rest - rest.mean(axis=0)
    u, _, vt = np.linalg.svd(p.T @ q)
    turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    return turn, float(np.linalg.norm(p - q @ turn.T, axis=1).max())


def each_body(sim, array):
    """Values of a device array, body by body, in the order of the meshes."""
    values = array.numpy().astype(np.float64)
    return [values[body.particle_of] for body in sim.model.bodies]


# ---- momentum ---------------------------------------------------------------------------------------------------


def momenta(sim):
    """Linear momentum, and angular momentum about the centre of mass, of every body (b, 6), over sqrt(2 m E)."""
    rows = []
    for body, x, v in zip(sim.model.bodies, each_body(sim, sim.state.x), each_body(sim, sim.state.v), strict=True):
        mass = sim.model.particles.mass[body.particle_of][:, None]
        arm = x - (mass * x).sum(axis=0) / mass.sum()
        rows.append(np.concatenate([(mass * v).sum(axis=0), (mass * np.cross(arm, v)).sum(axis=0)]) / mass.sum())
    return np.array(rows)


def bent(rest, amount=0.3):
    x = rest.copy()
    x[:, 1] += amount * rest[:, 0] ** 2
    return x


def twisted(rest, amount=0.5):
    x = rest.copy()
    x[:, 1] -= amount * rest[:, 0] * rest[:, 2]
    x[:, 2] += amount * rest[:, 0] * rest[:, 1]
    return x
