"""`pliant bench shapes`: time of a shape-matching step against the number of particles, in every mode."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from pliant.bench.plot import plot_steps
from pliant.bench.report import Report
from pliant.bench.timing import copy_bandwidth, seconds_per_call
from pliant.materials import Material
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.points import PointCloud
from pliant.scene import Scene
from pliant.simulation import Simulation
from pliant.solvers.shape_matching import ShapeMatching
from pliant.solvers.shape_matching.cluster_group import ClusterGroup
from pliant.solvers.shape_matching.settings import MODES

STUFF = Material(young=5e4, poisson=0.4, damping=0.002)
CLUSTER = 64
GRIDS = 2
SPACING = 0.02
FASTLSM_FPS = 25.0
"""150 bodies of 150 particles in Rivers and James 2007."""


def grid_points(shape: tuple[int, int, int]) -> PointCloud:
    """A block of loose points on a grid."""
    axes = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    points = SPACING * np.stack(axes, axis=-1).reshape(-1, 3).astype(np.float64)
    return PointCloud(points, "block", volume=len(points) * SPACING**3, radius=0.4 * SPACING)


def block(count: int, device: str, mode: str, *, clusters: int = 1, bodies: int = 1, substeps: int = 4) -> Simulation:
    """Blocks of about so many particles each, above a floor, with clusters of about 64 particles or one."""
    side = round(count ** (1 / 3))
    cloud = grid_points((side, side, max(1, round(count / side**2))))
    scene = Scene(substeps=substeps)
    scene.add_plane()
    width = 1.5 * SPACING * side
    for k in range(bodies):
        scene.add_body(
            cloud,
            STUFF,
            method="shape_matching",
            position=(k % 10 * width, 0.5 * width, k // 10 * width),
            rotation=(0.0, 7.0 * k, 5.0),
            matching={"mode": mode, "clusters": clusters, "clusters_by": "grids", "grids": GRIDS},
        )
    return scene.build(device, estimate_step=False)


def floor_bytes(sim: Simulation) -> int:
    """The fewest bytes a step must move.

    Positions and velocities read and written, every member's rest place, weight and particle read once, every
    cluster's inverse moments read, and what is remembered of it read and written.
    """
    total = 48 * sim.state.count
    for group in _groups(sim):
        members = sum(len(rest.member) for rest in group.rests)
        each = 4 * (group.order**2 + group.order + 10) + 56
        total += 20 * members + each * group.clusters
    return total


def _groups(sim: Simulation) -> list[ClusterGroup]:
    """The bodies that have their clusters in tables, by the order of their goals."""
    solver = sim.solvers[0]
    assert isinstance(solver, ShapeMatching)
    return [group for group in solver.groups if isinstance(group, ClusterGroup)]


def step_seconds(sim: Simulation) -> float:
    """Median time of one substep, in a graph or a recording of several [s]."""
    steps = 4 if sim.device == "cpu" or sim.state.count > 2_000_000 else 20
    solver = sim.solvers[0]
    return seconds_per_call(lambda: solver.fused(sim.state, sim.dt, steps), sim.device) / steps


def plot(rows: list[dict[str, Any]], path: str | Path) -> None:
    """Draw the time of a step against the number of particles."""
    plot_steps(rows, path, "clusters")


def run(report: Report, device: str, quick: bool = False) -> None:
    _headlines(report, device)
    sizes = [1_000, 10_000] if quick else [1_000, 10_000, 100_000, 1_000_000]
    if device != "cpu" and not quick:
        sizes.append(10_000_000)
    bandwidth = copy_bandwidth(device, 64 if device == "cpu" else 1024)
    report.add("memory copy", device, "gigabytes_per_s", bandwidth * 1e-9)
    for many in (False, True):
        for mode in MODES:
            for count in sizes:
                # ten million: one body in quadratic clusters, which takes long to build; else ten that share rest data
                bodies = 10 if count > 1_000_000 and not (many and mode == "quadratic") else 1
                clusters = round(GRIDS * count / bodies / CLUSTER) if many else 1
                case = f"{mode}, {f'clusters of {CLUSTER}' if many else 'one cluster'}"
                begin = time.perf_counter()
                sim = block(count // bodies, device, mode, clusters=clusters, bodies=bodies)
                sim.frame(2)
                built = time.perf_counter() - begin
                seconds = step_seconds(sim)
                number = sim.state.count
                size = {"particles": number, "bodies": bodies, "clusters": sum(g.clusters for g in _groups(sim))}
                report.add(case, device, "us_per_step", 1e6 * seconds, **size, s_to_build=round(built, 1))
                report.add(case, device, "ns_per_particle", 1e9 * seconds / number, particles=number)
                if device != "cpu":
                    floor = floor_bytes(sim)
                    report.add(case, device, "ratio_to_floor", seconds / (floor / bandwidth), floor_mb=floor * 1e-6)
                del sim


def _headlines(report: Report, device: str) -> None:
    """The sizes that others have published, in one frame each."""
    for mode in MODES:
        sim = block(36_000, device, mode)
        ms = 1e3 * _frame_seconds(sim)
        report.add(f"36k in one cluster, {mode}", device, "ms_per_frame", ms, particles=sim.state.count, substeps=4)
    for mode in MODES:
        sim = block(1_667, device, mode, bodies=12)
        fps = 1.0 / _frame_seconds(sim)
        report.add(f"12 bodies, {mode}", device, "frames_per_s", fps, particles=sim.state.count, substeps=4)
    sim = lattice_bodies(150, device)
    fps = 1.0 / _frame_seconds(sim)
    case = "150 lattice bodies (FastLSM)"
    report.add(case, device, "frames_per_s", fps, particles=sim.state.count, substeps=sim.substeps)
    report.add(case, device, "over_published_25", fps / FASTLSM_FPS)


def lattice_bodies(count: int, device: str, cells: tuple[int, int, int] = (4, 4, 5), width: int = 2) -> Simulation:
    """Bodies of 150 particles on a lattice with regions around every one of them, above a floor."""
    places = np.stack(np.meshgrid(*(np.arange(n) for n in cells), indexing="ij"), axis=-1).reshape(-1, 3)
    lattice = VoxelLattice.from_cells(places, SPACING)
    scene = Scene(substeps=2)
    scene.add_plane()
    for k in range(count):
        place = (0.2 * (k % 10), 0.2 + 0.2 * (k // 100), 0.2 * (k // 10 % 10))
        matching = {"mode": "linear", "clusters_by": "lattice", "region_width": width}
        scene.add_body(
            lattice, STUFF, method="shape_matching", position=place, rotation=(3.0 * k, 5.0, 0.0), matching=matching
        )
    return scene.build(device, estimate_step=False)


def _frame_seconds(sim: Simulation, frames: int = 20) -> float:
    """Median time of a frame with everything in it, checks too [s]."""
    sim.frame(3)
    times = []
    for _ in range(frames):
        begin = time.perf_counter()
        sim.frame()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))
