"""`pliant bench cloth`: cloth that falls over a sphere, the small-steps sheet, and the time against the size."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np

from pliant.bench.plot import plot_steps
from pliant.bench.report import Report
from pliant.bench.timing import seconds_per_call
from pliant.materials import Material
from pliant.mesh import shapes
from pliant.mesh.repair.intersect import self_intersections
from pliant.mesh.surface import SurfaceMesh
from pliant.scene import Scene
from pliant.simulation import Simulation
from pliant.solvers.xpbd.solver import Xpbd

# A cotton-like cloth: 0.2 kg/m^2, half a millimetre thick, with the bending of a fabric rather than of a plate.
COTTON = Material(density=400.0, young=1e6, poisson=0.3, damping=1e-3, thickness=5e-4, bending=5e-6, friction=0.4)
SIDE = 2.0
FALL_FRAMES = 120
SUBSTEPS = {64: 10, 128: 16, 256: 20}
# Published for 150k particles with 896k springs in 30 substeps (Macklin et al. 2019, table 2), ms a frame.
SMALL_STEPS_MS = 13.5


def over_sphere(
    cells: int, device: str, substeps: int, method: str = "xpbd", contact: str | dict[str, Any] = "none"
) -> Simulation:
    """A square of 2 m with so many cells along each side, a hand's breadth above a ball of half a metre."""
    scene = Scene(substeps=substeps, name=f"cloth {cells}x{cells}", contact=contact)
    scene.add_body(shapes.sheet(SIDE, cells), COTTON, method=method, name="cloth", position=(0.0, 1.1, 0.0))
    scene.add_sphere(0.5, (0.0, 0.5, 0.0), friction=0.4)
    scene.add_plane()
    return scene.build(device, estimate_step=False)


def edge_strain(sim: Simulation) -> np.ndarray:
    """Strain of every edge of the cloth's triangles (e,): stretched above zero."""
    x = sim.state.x.numpy().astype(np.float64)
    pairs, rest = sim.model.springs.pairs, sim.model.springs.rest_length
    return np.linalg.norm(x[pairs[:, 1]] - x[pairs[:, 0]], axis=1) / rest - 1.0


def run(report: Report, device: str, quick: bool = False, meets_itself: bool = False) -> None:
    if meets_itself:
        for cells in [16] if quick else [64] if device == "cpu" else [64, 128]:
            _fold(report, device, cells, SUBSTEPS.get(cells, 8), 20 if quick else FALL_FRAMES)
        return
    sizes = [16] if quick else [64, 128] if device == "cpu" else [64, 128, 256]
    for cells in sizes:
        _fall(report, device, cells, SUBSTEPS.get(cells, 8), 20 if quick else FALL_FRAMES)
    _small_steps(report, device, quick)
    counts = [1_000, 4_000] if quick else [1_000, 10_000, 100_000, 1_000_000]
    if device != "cpu" and not quick:
        counts.append(4_000_000)
    for count in counts:
        _scale(report, device, count)


def _fall(report: Report, device: str, cells: int, substeps: int, frames: int) -> None:
    """Time of every frame of the fall, and the stretch at its end and at its worst."""
    sim = over_sphere(cells, device, substeps)
    times, means, worst = [], [], []
    for _ in range(frames):
        begin = time.perf_counter()
        sim.frame()
        times.append(time.perf_counter() - begin)
        strain = np.maximum(edge_strain(sim), 0.0)
        means.append(float(strain.mean()))
        worst.append(float(strain.max()))
    case, sizes = f"cloth {cells}x{cells} over a sphere", {"particles": sim.state.count, "substeps": substeps}
    report.add(case, device, "ms_per_frame", 1e3 * float(np.median(times[3:])), **sizes)
    report.add(case, device, "worst_ms_of_a_frame", 1e3 * float(max(times[3:])), **sizes)
    report.add(case, device, "mean_stretch_percent", 100.0 * means[-1], most_in_the_fall=round(100.0 * max(means), 2))
    report.add(case, device, "worst_stretch_percent", 100.0 * worst[-1], most_in_the_fall=round(100.0 * max(worst), 1))


def _fold(report: Report, device: str, cells: int, substeps: int, frames: int) -> None:
    """The same fall of a cloth that meets itself, and how many of its triangles cross others at the end."""
    sim = over_sphere(cells, device, substeps, contact="all")
    sim.frame()
    times = []
    for _ in range(frames):
        begin = time.perf_counter()
        sim.frame()
        times.append(time.perf_counter() - begin)
    body = sim.model.bodies[0]
    surface = SurfaceMesh(sim.state.x.numpy().astype(np.float64), body.surface)
    case, sizes = f"cloth {cells}x{cells} that meets itself", {"particles": sim.state.count, "substeps": substeps}
    report.add(case, device, "ms_per_frame", 1e3 * float(np.median(times)), **sizes)
    report.add(case, device, "worst_ms_of_a_frame", 1e3 * float(max(times)), **sizes)
    report.add(case, device, "triangles_that_cross", self_intersections(surface).triangles)
    strain = np.maximum(edge_strain(sim), 0.0)
    report.add(case, device, "mean_stretch_percent", 100.0 * float(strain.mean()))


def _small_steps(report: Report, device: str, quick: bool) -> None:
    """The sheet of the small-steps paper: springs only, 30 substeps a frame."""
    side = 24 if quick else 387
    scene = Scene(substeps=30, name="small steps")
    mesh = shapes.sheet(4.0, side, "same")
    undamped = dataclasses.replace(COTTON, damping=0.0)
    name = scene.add_body(mesh, undamped, method="xpbd", position=(0.0, 1.5, 0.0))
    scene.configure("xpbd", stretch="edges", bending="distance")
    scene.pin(name, lambda x: (np.abs(x[:, 0]) > 1.999) & (np.abs(x[:, 2]) > 1.999))
    sim = scene.build(device, estimate_step=False)
    sim.frame(2)
    seconds = _frame_seconds(sim, 5 if device == "cpu" else 30)
    solver = sim.solvers[0]
    assert isinstance(solver, Xpbd) and solver.meshes is not None
    springs = len(solver.meshes.constraints.distance.corners)
    sizes = {"particles": sim.state.count, "springs": springs, "substeps": 30}
    report.add("small steps", device, "ms_per_frame", 1e3 * seconds, **sizes)
    if not quick:
        report.add("small steps", device, "published_over_ours", SMALL_STEPS_MS / (1e3 * seconds))


def _scale(report: Report, device: str, count: int) -> None:
    """Time of a substep of a sheet of about so many particles that falls on a floor."""
    cells = round(count**0.5) - 1
    scene = Scene(substeps=10)
    scene.add_body(shapes.sheet(SIDE, cells), COTTON, method="xpbd", position=(0.0, 0.5, 0.0))
    scene.add_plane()
    sim = scene.build(device, estimate_step=False)
    sim.frame(2)
    steps = 2 if sim.state.count > 200_000 else 10
    seconds = seconds_per_call(lambda: _issue(sim, steps), device, 10) / steps
    number = sim.state.count
    report.add("xpbd cloth", device, "us_per_step", 1e6 * seconds, particles=number)
    report.add("xpbd cloth", device, "ns_per_particle", 1e9 * seconds / number, particles=number)


def _issue(sim: Simulation, steps: int) -> None:
    for _ in range(steps):
        sim.issue_substep()


def _frame_seconds(sim: Simulation, frames: int) -> float:
    """Median time of a frame with everything in it, checks too [s]."""
    times = []
    for _ in range(frames):
        begin = time.perf_counter()
        sim.frame()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def plot(rows: list[dict[str, Any]], path: str | Path) -> None:
    """Draw the time of a step against the number of particles."""
    plot_steps(rows, path)
