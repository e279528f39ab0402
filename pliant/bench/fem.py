"""`pliant bench fem`: a soft block of finite elements that falls on a floor: time of a frame with its error beside it,
a cantilever against beam theory, and iterations of the solve against the size of the mesh."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import warp as wp

from pliant.bench.report import Report
from pliant.materials import Material
from pliant.mesh import shapes
from pliant.scene import Scene
from pliant.settle import settle
from pliant.simulation import Simulation

SOFT = Material(young=2.5e5, poisson=0.4, density=1000.0)
FRAMES = 40
REFERENCE = {"cg_tolerance": 1e-6, "cg_iterations": 5000, "iterations": 3}
"""Settings of a step that is solved to rounding."""


def block(cells: int, device: str, **settings: Any) -> Simulation:
    """A cube of 1 m, five tets to a cell, 2 cm above the floor."""
    scene = Scene(frame_dt=1.0 / 60.0, name="block")
    scene.add_plane()
    scene.add_body(shapes.box(1.0, cells, split="five"), SOFT, method="fem", name="block", position=(0.0, 0.52, 0.0))
    scene.configure("fem", **settings)
    return scene.build(device)


def run(report: Report, device: str, quick: bool = False) -> None:
    cells = 8 if quick else 32
    _fall(report, device, cells, f"block of {cells}^3 cells, implicit", {}, quick)
    # sweeps are for GPUs: a small block will do elsewhere
    few = cells if device != "cpu" else min(cells, 12)
    _fall(report, device, few, f"block of {few}^3 cells, descent", {"integrator": "descent"}, quick)
    _cantilever(report, device, quick)
    _iterations(report, device, quick)


def _fall(report: Report, device: str, cells: int, case: str, settings: dict[str, Any], quick: bool) -> None:
    """Time of every frame of a fall, and how far particles are from where a step solved to rounding has them."""
    sim = block(cells, device, **settings)
    sizes = {"particles": sim.state.count, "tets": sim.model.tets.count, "substeps": sim.substeps}
    sim.frame()
    times, iterations = [], []
    frames = 6 if quick else FRAMES
    for _ in range(frames - 1):
        wp.synchronize_device(device)
        begin = time.perf_counter()
        sim.frame()
        wp.synchronize_device(device)
        times.append(time.perf_counter() - begin)
        iterations.append(sim.solvers[0].last_iterations())  # type: ignore[attr-defined]
    report.add(case, device, "ms_per_frame", 1e3 * float(np.median(times)), **sizes)
    report.add(case, device, "worst_ms_of_a_frame", 1e3 * float(max(times)))
    if "integrator" not in settings:
        report.add(case, device, "most_iterations", int(max(iterations)), median=int(np.median(iterations)))
    exact = block(cells, device, **REFERENCE)
    exact.frame(frames)
    wrong = np.abs(sim.positions() - exact.positions()).max()
    report.add(case, device, "error_mm", 1e3 * float(wrong), after_frames=frames)


def _cantilever(report: Report, device: str, quick: bool) -> None:
    """The end of a beam in equilibrium under its weight, over what beam theory says."""
    side, length = 0.1, 1.0
    material = Material(young=1e8, poisson=0.0)
    # small deflection: w L^4 / (8 E I), and the shear of Timoshenko's beam
    weight = material.density * 9.81 * side**2
    theory = weight * length**4 / (8 * material.young * side**4 / 12)
    theory += weight * length**2 / (2 * 5 / 6 * material.shear_modulus * side**2)
    for cells in (2,) if quick else (2, 4, 8):
        mesh = shapes.box((length, side, side), (10 * cells, cells, cells), split="five")
        scene = Scene(name="cantilever")
        scene.add_body(mesh, material, method="fem", name="beam")
        scene.configure("fem", cg_tolerance=1e-5, cg_iterations=5000)
        scene.pin("beam", lambda x: x[:, 0] < -0.4999 * length)
        sim = scene.build(device)
        begin = time.perf_counter()
        found = settle(sim)
        seconds = time.perf_counter() - begin
        tip = -(sim.positions() - mesh.vertices)[mesh.vertices[:, 0] > 0.4999 * length, 1].mean()
        case = f"cantilever, {cells} cells across"
        report.add(case, device, "tip_over_beam_theory", float(tip / theory), tets=sim.model.tets.count)
        report.add(case, device, "s_to_equilibrium", seconds, steps=found.steps)


def _iterations(report: Report, device: str, quick: bool) -> None:
    """Most iterations that a step of a fall takes, as the mesh is refined, with either preconditioner."""
    sizes = [6, 10] if quick else [6, 10, 16, 24, 32] if device == "cpu" else [6, 10, 16, 24, 32, 44, 58]
    for cells in sizes:
        for kind in ("lattices", "blocks"):
            sim = block(cells, device, preconditioner=kind, cg_iterations=5000)
            most = 0
            for _ in range(9):
                sim.frame()
                most = max(most, sim.solvers[0].last_iterations())  # type: ignore[attr-defined]
            report.add(f"{sim.model.tets.count:,} tets", device, f"most_iterations_{kind}", most)
