"""`pliant bench flag`: a million steps of a flag in gusts."""

from __future__ import annotations

import numpy as np

from pliant.bench.cloth import edge_strain
from pliant.bench.report import Report
from pliant.forces.wind_settings import Gusts, Wind
from pliant.materials import Material
from pliant.mesh import shapes
from pliant.scene import Scene
from pliant.simulation import Simulation

# Silk-like: 0.08 kg/m^2.
SILK = Material(density=400.0, young=1e7, poisson=0.3, damping=1e-3, thickness=2e-4, bending=1e-6)
AIR = Wind(velocity=(6.0, 0.0, 1.0), gusts=Gusts(strength=0.2, size=1.0, seed=1))
CELLS = (24, 16)
SUBSTEPS = 20
STEPS = 1_000_000
PARTS = 10


def flag(device: str, method: str = "xpbd") -> Simulation:
    """A flag of 1.2 m by 0.8 m, held along its hoist, in gusts of 6 m/s."""
    scene = Scene(wind=AIR, substeps=SUBSTEPS, name="flag")
    mesh = shapes.sheet((1.2, 0.8), CELLS)
    scene.add_body(mesh, SILK, method=method, name="flag", rotation=(90.0, 0.0, 0.0), position=(0.6, 2.0, 0.0))
    scene.pin("flag", lambda x: x[:, 0] < 1e-6)
    return scene.build(device, estimate_step=False)


def run(report: Report, device: str, quick: bool = False) -> None:
    sim = flag(device)
    frames = (2_000 if quick else STEPS) // SUBSTEPS // PARTS
    pinned = sim.positions("flag")[np.abs(sim.positions("flag")[:, 0]) < 1e-6]
    for part in range(PARTS):
        worst, speeds = 0.0, []
        for _ in range(frames):
            sim.frame()
            worst = max(worst, float(edge_strain(sim).max()))
            speeds.append(float(np.sqrt((sim.velocities("flag") ** 2).sum(axis=1).mean())))
        steps = {"steps": (part + 1) * frames * SUBSTEPS}
        report.add("flag", device, "longest_edge_percent", 100.0 * worst, **steps)
        report.add("flag", device, "mean_speed_m_per_s", float(np.mean(speeds)), **steps)
    now = sim.positions("flag")[np.abs(sim.positions("flag")[:, 0]) < 1e-6]
    moved = float(np.abs(now - pinned).max()) if len(now) == len(pinned) else float("nan")
    report.add("flag", device, "pins_moved_m", moved)
