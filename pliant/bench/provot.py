"""`pliant bench provot`: the cloth of Provot (1995) hung by two corners, without and with his limit on stretch."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from pliant.bench.report import Report
from pliant.errors import InputError
from pliant.files import replace_file
from pliant.materials import Material
from pliant.mesh import shapes
from pliant.model.springs import KINDS
from pliant.report.histograms import matplotlib_module
from pliant.scene import Scene
from pliant.simulation import Simulation

# 17 x 17 particles, springs weak enough that those at the corners stretch far ("super-elastic").
CELLS, SIDE = 16, 1.0
CLOTH = Material(density=300.0, young=2e4, shear=4e3, bending=1e-6, thickness=1e-3, poisson=0.2, damping=5e-4, drag=0.3)
STIFF = dataclasses.replace(CLOTH, young=1e6, shear=2e5)
SUBSTEPS = 10
PASSES = 120


@dataclasses.dataclass(frozen=True)
class Case:
    """One cloth: its name, its limit (1 + tau_c, 0 for none), the springs that are limited, and its material."""

    name: str
    limit: float
    on: str
    material: Material = CLOTH


CASES = (
    Case("no limit", 0.0, "all"),
    Case("tau_c 0.1 on structural", 1.1, "structural"),
    Case("tau_c 0.1 on structural + shear", 1.1, "structural_shear"),
    Case("tau_c 0.05 on structural + shear", 1.05, "structural_shear"),
    Case("no limit, 50 times as stiff", 0.0, "all", STIFF),
)
DRAWN = CASES[:3]


def hung(case: Case, device: str, cells: int = CELLS) -> Simulation:
    """A square cloth that lies flat, hung by two corners of one side."""
    scene = Scene(substeps=SUBSTEPS if case.material is CLOTH else None, name=case.name)
    scene.add_body(shapes.sheet(SIDE, cells), case.material, springs="grid", name="cloth")
    scene.configure("mass_spring", strain_limit=case.limit, strain_limit_on=case.on, strain_passes=PASSES)
    scene.pin("cloth", lambda x: (np.abs(x[:, 0]) > 0.499 * SIDE) & (x[:, 2] > 0.499 * SIDE))
    return scene.build(device, estimate_step=case.material is not CLOTH)


def stretches(sim: Simulation) -> np.ndarray:
    """Strain of each spring, from its length in the rest shape (e,)."""
    pairs, rest = sim.model.springs.pairs, sim.model.particles.rest
    length = lambda x: np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1)
    return length(sim.state.x.numpy().astype(np.float64)) / length(rest) - 1.0


def note(report: Report, case: Case, device: str, sim: Simulation, when: str) -> None:
    """Share of springs over 10 %, and the five longest with their kinds and how far they begin from a pinned corner."""
    strain = stretches(sim)
    springs, rest = sim.model.springs, sim.model.particles.rest
    name = f"{case.name}, {when}"
    report.add(name, device, "percent_over_a_tenth", float(100.0 * (strain > 0.1 + 1e-3).mean()), springs=len(strain))
    report.add(name, device, "mean_strain_percent", float(100.0 * np.abs(strain).mean()))
    longest = np.argsort(-strain, kind="stable")[:5]
    pinned = np.flatnonzero(sim.state.inv_mass.numpy() == 0)
    ends = rest[springs.pairs[longest]][:, :, None]
    away = np.linalg.norm(ends - rest[pinned][None, None], axis=3).min(axis=(1, 2)) / (SIDE / CELLS)
    words = {number: word for word, number in KINDS.items()}
    where = "; ".join(
        f"{100 * strain[s]:.0f} % {words[int(springs.kind[s])]}, {d:.1f} cells from a corner"
        for s, d in zip(longest, away, strict=True)
    )
    report.add(name, device, "largest_strain_percent", float(100.0 * strain[longest[0]]), longest=where)


def run(report: Report, device: str, quick: bool = False) -> None:
    frames = 20 if quick else 200
    for case in CASES[:3] if quick else CASES:
        sim = hung(case, device, 8 if quick else CELLS)
        # 200 steps are 20 frames of ten
        early = max(1, round(200 / sim.substeps))
        sim.frame(early)
        note(report, case, device, sim, f"{early * sim.substeps} steps")
        sim.frame(max(frames - early, 1))
        note(report, case, device, sim, f"{max(frames, early + 1)} frames")


def plot(rows: list[dict[str, Any]], path: str | Path) -> None:
    """Draw the three cloths after 200 frames as a PNG, their threads in the colours of their strain."""
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise InputError("the picture is a PNG file", str(path), "Give a name that ends with .png")
    matplotlib_module()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), dpi=110, layout="constrained")
    panels = figure.subplots(1, len(DRAWN), sharex=True, sharey=True)
    lines: Any = None
    for case, axes in zip(DRAWN, panels, strict=True):
        sim = hung(case, "cpu")
        sim.frame(200)
        shown = sim.model.springs.kind <= 1
        x = sim.state.x.numpy()[sim.model.springs.pairs[shown]][:, :, :2]
        lines = LineCollection(list(x), cmap="turbo", linewidths=0.9)
        lines.set_array(100.0 * stretches(sim)[shown])
        lines.set_clim(0.0, 30.0)
        axes.add_collection(lines)
        axes.set_title(case.name, fontsize=9)
        axes.set_aspect("equal")
        axes.autoscale()
    figure.colorbar(lines, ax=panels, label="strain [%]", shrink=0.8)
    with replace_file(path) as file:
        FigureCanvasAgg(figure).print_png(file)
