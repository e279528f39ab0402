"""Sheets in the wind, for the tests of wind, gusts and wrinkles; needs NumPy and Pliant only."""

import numpy as np
from bodies import build

from pliant import Material, Scene, SurfaceMesh

LIGHT = Material(young=3e4, density=40.0, damping=0.002)


def sheet(cells=6, size=1.0):
    """A square in the plane z = 0."""
    side = np.linspace(-size / 2, size / 2, cells + 1)
    y, x = np.meshgrid(side, side, indexing="ij")
    k = np.arange(cells * (cells + 1)).reshape(cells, cells + 1)[:, :-1].reshape(-1)
    first = np.stack([k, k + 1, k + cells + 2], axis=1)
    second = np.stack([k, k + cells + 2, k + cells + 1], axis=1)
    vertices = np.stack([x.reshape(-1), y.reshape(-1), 0 * x.reshape(-1)], axis=1)
    return SurfaceMesh(vertices, np.concatenate([first, second]))


def flag(device="cpu", wind=(0.0, 0.0, 4.0), gravity=(0, 0, 0), substeps=None, method="mass_spring", turn=0.0, **more):
    scene = Scene(gravity=gravity, wind=wind, substeps=substeps, **more)
    scene.add_body(sheet(), LIGHT, name="sheet", method=method, rotation=(0, turn, 0))
    return build(scene, device)


def mean_velocity(sim):
    mass = sim.model.particles.mass
    return sim.diagnostics().momentum / mass.sum()
