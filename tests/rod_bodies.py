"""Rods that several tests use."""

import numpy as np
from bodies import build, make_scene

from pliant import Material
from pliant.mesh.rods import RodMesh

NYLON = Material(density=1200.0, young=1e9, poisson=0.35, damping=0.0)


def rope(count, length=1.0, radius=0.005, direction=(1.0, 0.0, 0.0), start=0.0):
    """A straight rope of `count` segments from the origin, with `start` more in front of it [m]."""
    along = np.linspace(-start, length, count + 1)[:, None] * np.array(direction)
    return RodMesh(along, np.stack([np.arange(count), np.arange(1, count + 1)], axis=1), radius)


def clamped(count, length=1.0, radius=0.005, direction=(1.0, 0.0, 0.0)):
    """A straight rope of `count` segments from the origin, and one in front of it that is meant to be pinned."""
    return rope(count + 1, length, radius, direction, start=length / count)


def helix(turns=5, per_turn=24, radius=0.05, pitch=0.006, wire=0.002):
    """A coil about the y axis, downwards."""
    angle = np.arange(turns * per_turn + 1) * 2 * np.pi / per_turn
    x = np.stack([radius * np.cos(angle), -pitch * angle / (2 * np.pi), radius * np.sin(angle)], axis=1)
    return RodMesh(x, np.stack([np.arange(len(x) - 1), np.arange(1, len(x))], axis=1), wire)


def tree(seed=0, count=24, spread=0.2):
    """A random tree whose vertices are numbered at random."""
    rng = np.random.default_rng(seed)
    x = np.zeros((count, 3))
    parent = np.zeros(count, int)
    for k in range(1, count):
        parent[k] = rng.integers(max(0, k - 4), k)
        x[k] = x[parent[k]] + np.array([0.0, 0.1, 0.0]) + spread * rng.uniform(-0.5, 0.5, 3)
    order = rng.permutation(count)
    place = np.argsort(order)
    segments = np.stack([place[parent[1:]], place[1:]], axis=1)
    return RodMesh(x[order], segments, rng.uniform(0.003, 0.006, count - 1))


def rod_sim(mesh, material=NYLON, *, pins=(), bends=True, device="cpu", threads=None, **settings):
    """A simulation of rods by XPBD with some vertices pinned."""
    scene = make_scene(mesh, material, method="xpbd", body={"bends": bends}, **settings)
    if len(pins):
        scene.pin("body", pins)
    return build(scene, device)


def part_of(sim):
    """The rods of a simulation."""
    return sim.solvers[0].rods


def lengths(mesh, x):
    """Length of each segment [m] (m,)."""
    return np.linalg.norm(x[mesh.segments[:, 1]] - x[mesh.segments[:, 0]], axis=1)


def strain(mesh, sim):
    """Strain of each segment (m,)."""
    return lengths(mesh, sim.positions().astype(np.float64)) / mesh.lengths() - 1.0
