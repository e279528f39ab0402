"""`pliant bench springs`: the speed of one mass-spring step, beside NumPy, naive atomics and the memory floor."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pliant.bench.naive import NaiveStep
from pliant.bench.numpy_step import NumpyStep
from pliant.bench.report import Report
from pliant.bench.timing import copy_bandwidth, seconds_per_call
from pliant.materials import RawConstants
from pliant.mesh import shapes
from pliant.scene import Scene
from pliant.simulation import Simulation

STIFFNESS = 1e5
ROUNDS = 9


def block(vertices: int, device: str, volume_damping: bool) -> Simulation:
    """A cube of soft rubber-like stuff, `vertices` to an edge, that falls onto the floor."""
    cells = vertices - 1
    scene = Scene(substeps=100)
    # raw constants, so that springs can be damped and volumes not; the energy per tet is that of 1e5 Pa
    tet_volume = 1.0 / (6.0 * cells**3)
    raw = RawConstants(
        spring=STIFFNESS / cells,
        spring_damping=1e-4 * STIFFNESS / cells,
        volume=STIFFNESS * tet_volume,
        volume_damping=1e-4 * STIFFNESS * tet_volume if volume_damping else 0.0,
        volume_form="relative",
    )
    scene.add_body(shapes.box((1.0, 1.0, 1.0), cells), raw=raw, position=(0.0, 0.51, 0.0))
    scene.add_plane()
    sim = scene.build(device, estimate_step=False)
    sim.frame_dt = 100 * 0.1 / (cells * np.sqrt(STIFFNESS / 1000.0) * 2.0)
    return sim


def floor_bytes(sim: Simulation) -> int:
    """The fewest bytes a step must move: every element's constants read, every particle's state read and written."""
    model = sim.model
    return 20 * model.tets.count + 16 * model.springs.count + (4 + 2 * 36) * model.particles.count


def run(report: Report, device: str, quick: bool = False) -> None:
    cases: list[tuple[str, int, bool]] = [("block of 32^3 vertices", 32, False), ("the same, volume damped", 32, True)]
    if device != "cpu" and not quick:
        cases.append(("block of 121^3 vertices", 121, False))
    bandwidth = copy_bandwidth(device, 64 if device == "cpu" else 1024)
    report.add("memory copy", device, "gigabytes_per_s", bandwidth * 1e-9)
    for name, vertices, damped in cases:
        measure(report, name, vertices, damped, device, bandwidth)


def measure(report: Report, name: str, vertices: int, damped: bool, device: str, bandwidth: float) -> None:
    begin = time.perf_counter()
    sim = block(vertices, device, damped)
    sim.frame(2)
    size: dict[str, Any] = {"tets": sim.model.tets.count, "springs": sim.model.springs.count}
    report.add(name, device, "s_to_build_and_two_frames", time.perf_counter() - begin, **size)
    solver = sim.solvers[0]
    steps = 20 if device == "cpu" or vertices > 64 else 200
    seconds = seconds_per_call(lambda: solver.fused(sim.state, sim.dt, steps), device) / steps
    report.add(name, device, "us_per_step", seconds * 1e6, **size)
    report.add(
        name, device, "ratio_to_floor", seconds / (floor_bytes(sim) / bandwidth), floor_mb=floor_bytes(sim) * 1e-6
    )
    if not damped and device != "cpu":
        naive = NaiveStep(sim, STIFFNESS, 1e-4)
        slow = seconds_per_call(naive.step, device)
        report.add(name, device, "us_per_step_naive_atomics", slow * 1e6)
        report.add(name, device, "ratio_to_naive", slow / seconds)
    if device == "cpu":
        report.add(name, device, "ratio_to_numpy", ratio_to_numpy(sim, damped), rounds=ROUNDS)
    report.add(
        name,
        device,
        "identical_bits_twice",
        repeats_bit_for_bit(vertices, device, damped) if vertices <= 64 else "not tried",
    )
    begin = time.perf_counter()
    sim.frame(3)
    report.add(name, device, "ms_per_frame", (time.perf_counter() - begin) / 3 * 1e3, substeps=sim.substeps)
    report.add(name, device, "mean_stretch", sim.diagnostics().mean_stretch)
    report.add(name, device, "finite", bool(np.isfinite(sim.state.x.numpy()).all()))


def ratio_to_numpy(sim: Simulation, damped: bool) -> float:
    """How many times as fast as the same step in NumPy: the median of rounds in which both are timed in turn."""
    model = sim.model
    step = NumpyStep(
        model.springs.pairs,
        model.springs.rest_length,
        model.springs.stiffness,
        1e-4,
        model.tets.corners,
        model.tets.rest_volume,
        STIFFNESS,
        model.particles.mass,
        1e-4 if damped else 0.0,
    )
    x, v = sim.state.x.numpy().copy(), sim.state.v.numpy().copy()
    solver = sim.solvers[0]
    ratios = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        x, v = step.step(x, v, sim.dt, np.array([0.0, -9.81, 0.0]), 0.0)
        theirs = time.perf_counter() - begin
        ours = seconds_per_call(lambda: solver.fused(sim.state, sim.dt, 4), sim.device, 5) / 4
        ratios.append(theirs / ours)
    return float(np.median(ratios))


def repeats_bit_for_bit(vertices: int, device: str, damped: bool) -> bool:
    """Whether two runs of the same scene end in the same bits."""
    ends = []
    for _ in range(2):
        sim = block(vertices, device, damped)
        sim.frame(5)
        ends.append((sim.state.x.numpy(), sim.state.v.numpy()))
    return all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))
