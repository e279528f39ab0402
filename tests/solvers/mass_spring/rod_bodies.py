"""Rods that several tests use."""

import numpy as np

from pliant.mesh.rods import RodMesh


def chain(count, length=1.0, radius=0.01, uneven=0.0):
    """A straight rod along x of `count` segments; inner vertices moved along it by up to `uneven` of a segment."""
    s = np.linspace(0.0, length, count + 1)
    s[1:-1] += uneven * length / count * np.random.default_rng(0).uniform(-1, 1, count - 1)
    x = np.zeros((count + 1, 3))
    x[:, 0] = s
    return RodMesh(x, np.stack([np.arange(count), np.arange(1, count + 1)], axis=1), radius, "chain")


def helix(turns=3, per_turn=20, radius=0.05, rise=0.0628, thickness=0.004):
    """A coil about y."""
    t = np.linspace(0.0, 2 * np.pi * turns, turns * per_turn + 1)
    x = np.stack([radius * np.cos(t), rise / (2 * np.pi) * t, radius * np.sin(t)], axis=1)
    n = len(t) - 1
    return RodMesh(x, np.stack([np.arange(n), np.arange(1, n + 1)], axis=1), thickness, "helix")


def fork():
    """A stem with two branches of three segments each."""
    x = [[0, 0, 0], [0, 0.1, 0], [0, 0.2, 0], [0.1, 0.25, 0], [0.2, 0.3, 0], [0.3, 0.35, 0], [-0.1, 0.25, 0.05],
         [-0.2, 0.3, 0.1], [-0.3, 0.35, 0.15]]  # fmt: skip
    return RodMesh(x, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [2, 6], [6, 7], [7, 8]], 0.01, "fork")
