"""`pliant bench rope`: a rope of 1,000 links that swings from one end, and how well it keeps its length."""

from __future__ import annotations

import time

import numpy as np

from pliant.bench.report import Report
from pliant.materials import Material
from pliant.mesh import shapes
from pliant.scene import Scene
from pliant.simulation import Simulation

# Nylon-like, so that its own weight stretches it by 0.02 %.
NYLON = Material(density=1150.0, young=1e9, poisson=0.35, damping=1e-4, drag=0.0)
LENGTH = 20.0
RADIUS = 0.01
SECONDS = 10.0


def swinging(links: int, device: str, substeps: int, *, bends: bool) -> Simulation:
    """A rope that starts level and at rest, held at one end."""
    scene = Scene(substeps=substeps, name="rope")
    scene.add_body(shapes.rope(LENGTH, links, RADIUS), NYLON, method="xpbd", name="rope", bends=bends)
    scene.pin("rope", [0])
    return scene.build(device, estimate_step=False)


def total_length(sim: Simulation) -> float:
    """Length along the rope [m]."""
    x = sim.positions("rope").astype(np.float64)
    return float(np.linalg.norm(np.diff(x, axis=0), axis=1).sum())


def run(report: Report, device: str, quick: bool = False) -> None:
    links, seconds = (100, 0.5) if quick else (1000, SECONDS)
    for bends, counts in ((False, (4, 8, 16)), (True, (4, 8))):
        for substeps in counts[:1] if quick else counts:
            sim = swinging(links, device, substeps, bends=bends)
            times, errors, longest = [], [], 0.0
            for _ in range(round(seconds / sim.frame_dt)):
                begin = time.perf_counter()
                sim.frame()
                times.append(time.perf_counter() - begin)
                errors.append(abs(total_length(sim) / LENGTH - 1.0))
                longest = max(longest, sim.guard.read().stretch - 1.0)
            case = f"{'rope' if bends else 'chain'} of {links:,} links"
            report.add(case, device, "ms_per_frame", 1e3 * float(np.median(times[3:])), substeps=substeps)
            report.add(case, device, "worst_length_error_percent", 100.0 * max(errors), substeps=substeps)
            report.add(case, device, "worst_link_percent", 100.0 * longest, substeps=substeps)
