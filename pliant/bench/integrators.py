"""`pliant bench integrators`: energy over time and the largest stable step, of one spring and of one cloth."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np

from pliant.bench.report import Report
from pliant.errors import BlowUpError, InputError
from pliant.files import replace_file
from pliant.materials import Material
from pliant.mesh import shapes
from pliant.mesh.rods import RodMesh
from pliant.report.histograms import matplotlib_module
from pliant.scene import Scene
from pliant.simulation import Simulation

INTEGRATORS = ("euler", "midpoint", "rk4", "symplectic", "verlet", "implicit", "hybrid")
# One spring of 1 m, held at one end: E A / L = 100 N/m and 1 kg at the free end, so omega = 10 / s.
STRETCH, OMEGA = 0.1, 10.0
SPRING = Material(density=1.0, young=1.0, damping=0.0)
CLOTH = Material(density=300.0, young=5e4, thickness=1e-3, poisson=0.34, damping=2e-4)
CELLS = 8
# What counts as stable: over so many steps the energy stays below so much of what there was.
STEPS, MOST_ENERGY = 1000, 20.0
LONGEST = 1.0


def one_spring(integrator: str, dt: float, device: str) -> Simulation:
    """A mass on a spring that was stretched by `STRETCH` [m] and let go."""
    radius = 1.0 / math.sqrt(math.pi)
    area = math.pi * radius**2
    # half of the segment's mass is at the free end
    stuff = dataclasses.replace(SPRING, density=2.0 / area, young=100.0 / area)
    scene = Scene(gravity=(0.0, 0.0, 0.0), substeps=1, frame_dt=dt, stretch_limit=1e6, name=integrator)
    ends = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    scene.add_body(RodMesh(ends, np.array([[0, 1]]), radius), stuff, name="spring")
    scene.pin("spring", [0])
    scene.configure("mass_spring", integrator=integrator, cg_tolerance=1e-7)
    sim = scene.build(device, estimate_step=False)
    sim.set_state("spring", np.array([[0.0, 0.0, 0.0], [1.0 + STRETCH, 0.0, 0.0]]))
    return sim


def one_cloth(integrator: str, dt: float, device: str) -> Simulation:
    """A sheet that falls from two pinned corners."""
    scene = Scene(substeps=1, frame_dt=dt, stretch_limit=1e6, name=integrator)
    scene.add_body(shapes.sheet(0.5, CELLS), CLOTH, springs="grid", name="cloth")
    scene.pin("cloth", lambda x: (np.abs(x[:, 0]) > 0.249) & (x[:, 2] > 0.249))
    scene.configure("mass_spring", integrator=integrator)
    return scene.build(device, estimate_step=False)


def energies(sim: Simulation, steps: int, every: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and total energy [J]; ends early where the run blows up."""
    times, values = [0.0], [sim.diagnostics().energy]
    for k in range(1, steps + 1):
        try:
            sim.frame(check=k % 10 == 0)
        except BlowUpError:
            break
        if k % every == 0:
            times.append(k * sim.frame_dt)
            values.append(sim.diagnostics().energy)
    return np.array(times), np.array(values)


def is_stable(sim: Simulation, steps: int, allowed: float) -> bool:
    """Whether kinetic and elastic energy stay below what is allowed [J]."""
    try:
        for k in range(1, steps + 1):
            last = k % 20 == 0 or k == steps
            sim.frame(check=last)
            if last:
                now = sim.diagnostics()
                if not now.finite or now.kinetic + now.elastic > allowed:
                    return False
    except BlowUpError:
        return False
    return True


def largest_step(make: Any, integrator: str, device: str, steps: int, allowed: float, low: float) -> float:
    """Largest step that is stable [s], by bisection to 3 %; `LONGEST` is the longest that is tried."""
    if is_stable(make(integrator, LONGEST, device), steps, allowed):
        return LONGEST
    high = LONGEST
    while high / low > 1.03:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_stable(make(integrator, middle, device), steps, allowed) else (low, middle)
    return low


def spring_error(integrator: str, device: str, dt: float) -> float:
    """Largest distance from x = 1 + a cos(omega t) over ten periods, over a."""
    sim = one_spring(integrator, dt, device)
    steps = round(20.0 * math.pi / OMEGA / dt)
    worst = 0.0
    for k in range(1, steps + 1):
        sim.frame(check=False)
        if k % 4 == 0:
            exact = 1.0 + STRETCH * math.cos(OMEGA * k * dt)
            worst = max(worst, abs(float(sim.positions()[1, 0]) - exact) / STRETCH)
    return worst


def run(report: Report, device: str, quick: bool = False) -> None:
    steps = 200 if quick else STEPS
    first = 0.5 * 100.0 * STRETCH**2
    print(f"One spring, omega = {OMEGA:g} / s: energy within {MOST_ENERGY:g} times the first over {steps} steps")
    for integrator in INTEGRATORS:
        case = f"spring {integrator}"
        step = largest_step(one_spring, integrator, device, steps, MOST_ENERGY * first, 1e-4)
        report.add(case, device, "largest_stable_step_ms", 1e3 * step, step_times_omega=round(step * OMEGA, 3))
        dt = 0.02
        _, energy = energies(one_spring(integrator, dt, device), 100 if quick else 300, every=20)
        share = float(energy[-1] / energy[0])
        report.add(case, device, "energy_left", share, step_ms=1e3 * dt, seconds=2.0 if quick else 6.0)
        report.add(case, device, "largest_error", spring_error(integrator, device, 0.005), step_ms=5.0)
    cloth = one_cloth("symplectic", 1e-3, device)
    # what gravity can give: the cloth falls by its own height, and a little for the stretch
    allowed = MOST_ENERGY * cloth.model.particles.mass.sum() * 9.81 * 0.5
    print(f"One cloth of {CELLS} x {CELLS} cells hung by two corners: energy below {allowed:.3g} J over {steps} steps")
    for integrator in INTEGRATORS:
        step = largest_step(one_cloth, integrator, device, steps, allowed, 1e-5)
        report.add(f"cloth {integrator}", device, "largest_stable_step_ms", 1e3 * step)


def plot(rows: list[dict[str, Any]], path: str | Path) -> None:
    """Draw the energy of the spring and of the cloth against time, a line for each integrator, as a PNG."""
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise InputError("the picture is a PNG file", str(path), "Give a name that ends with .png")
    matplotlib_module()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), dpi=110, layout="constrained")
    spring, cloth = figure.subplots(1, 2)
    for number, integrator in enumerate(INTEGRATORS):
        style = {"color": f"C{number}", "label": integrator, "linewidth": 1.2}
        times, energy = energies(one_spring(integrator, 0.02, "cpu"), 200)
        spring.plot(times, energy / energy[0], **style)
        times, energy = energies(one_cloth(integrator, 1e-3, "cpu"), 2000, every=20)
        cloth.plot(times, 1e3 * (energy - energy[0]), **style)
    spring.set_ylim(0.0, 3.0)
    spring.set_title("one spring, steps of 20 ms (0.2 / omega)", fontsize=9)
    spring.set_ylabel("energy over that at the start")
    cloth.set_title("one cloth hung by two corners, steps of 1 ms", fontsize=9)
    cloth.set_ylabel("energy gained [mJ]")
    cloth.set_ylim(-220.0, 60.0)
    for axes in (spring, cloth):
        axes.set_xlabel("time [s]")
        axes.grid(True, alpha=0.3)
    cloth.legend(fontsize=8)
    with replace_file(path) as file:
        FigureCanvasAgg(figure).print_png(file)
