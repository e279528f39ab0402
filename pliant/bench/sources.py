"""`pliant bench sources`: the results of the mass-spring source (Lesmes), measured here, beside its own numbers.

The source gives its meshes' sizes in vertices and tets but neither their files nor their scale. Here the same scans
are filled with about as many tets, ten to forty metres across: at these sizes the source's constants make bodies that
sag by some per cent under their weight, as those in its pictures do.
"""

from __future__ import annotations

import dataclasses
import math
import time
from typing import NamedTuple

import numpy as np
import warp as wp

from pliant.bench.report import Report
from pliant.bench.timing import seconds_per_call
from pliant.errors import BlowUpError
from pliant.materials import PRESETS, RawConstants
from pliant.mesh import shapes
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.tets import TetMesh
from pliant.model.particles import average_volume_mass
from pliant.render.camera import Camera
from pliant.render.raycast import Renderer
from pliant.scene import MASS_SHIFT, Scene
from pliant.simulation import Simulation

# edge of the cube of table 6.1 [m]
SIZE = 10.0

# table 6.1: integrator -> (damping of springs, damping of volumes, his step [ms], his ratio of step to time)
TABLE_61 = {
    "euler": (0.1, 0.1, 3.0, 0.313),
    "midpoint": (0.1, 0.1, 3.5, 0.245),
    "verlet": (0.001, 0.01, 6.5, 0.677),
    "symplectic": (0.001, 0.01, 6.5, 0.677),
}


class SourceMesh(NamedTuple):
    """A mesh of the source: our size, and what its figure 6.1 and tables 5.1, 5.2, 6.2 and 6.3 say of it."""

    scan: str  # our sample mesh
    size: float  # ours [m]
    vertices: int
    tets: int
    cpu_ms: float
    gpu_ms: float
    cpu_fps: str
    gpu_fps: str
    mass: float  # [kg]
    cut: float | None  # truncation of the inverse mass [1/kg]
    spring: float
    spring_damping: float
    volume: float
    volume_damping: float
    dt: float  # [s]

    def constants(self) -> RawConstants:
        return RawConstants(
            spring=self.spring,
            spring_damping=self.spring_damping,
            volume=self.volume,
            volume_damping=self.volume_damping,
            mass=self.mass,
        )


MESHES = {
    "cube": SourceMesh("", 10.0, 3041, 15484, 11.4, 1.2, "+60", "+60", 50.0, None, 50.0, 0.001, 25.0, 0.01, 0.008),
    "bunny": SourceMesh(
        "bunny", 15.0, 4742, 19507, 15.8, 1.8, "+60", "+60", 75.0, 500.0, 50.0, 0.001, 20.0, 0.01, 0.005
    ),
    "bunny2": SourceMesh(
        "bunny", 20.0, 7133, 35081, 26.8, 3.0, "37", "+60", 100.0, 500.0, 50.0, 0.001, 20.0, 0.01, 0.005
    ),
    "dragon": SourceMesh(
        "dragon", 40.0, 25156, 102453, 83.3, 8.6, "12", "+60", 200.0, 250.0, 30.0, 0.001, 20.0, 0.002, 0.0025
    ),
    "armadillo": SourceMesh(
        "armadillo", 40.0, 33276, 145835, 115.2, 11.8, "8", "30", 200.0, 2000.0, 40.0, 0.00001, 20.0, 0.001, 0.0025
    ),
}


def source_body(name: str) -> TetMesh:
    """A mesh of about as many vertices and tets as the source's, from the same scan."""
    source = MESHES[name]
    if not source.scan:
        return shapes.box((source.size, source.size, source.size), (14, 14, 13))
    body = prepare(source.scan, PrepareSettings(size=source.size, tets=source.tets, skin=False))
    assert isinstance(body.solid, TetMesh)
    return body.solid


def dropped(
    mesh: TetMesh,
    raw: RawConstants,
    integrator: str,
    dt: float,
    device: str,
    cut: float | None = None,
    limit: float = 0.0,
) -> Simulation:
    """The source's experiment: the body falls from a small height onto the floor, without friction."""
    frame = 0.04
    height = float(np.ptp(mesh.vertices[:, 1]))
    scene = Scene(substeps=max(1, round(frame / dt)), frame_dt=dt * max(1, round(frame / dt)))
    scene.add_body(
        mesh,
        raw=raw,
        mass_distribution="average_volume",
        largest_inverse_mass=cut,
        position=(0.0, 0.55 * height, 0.0),
        name="body",
    )
    scene.add_plane(friction=0.0)
    scene.configure(
        "mass_spring", integrator=integrator, volume_damping_form="corner", strain_limit=limit, strain_passes=1
    )
    return scene.build(device, estimate_step=False)


def is_stable(sim: Simulation, seconds: float, limit: float = 2.0) -> bool:
    """Whether a run stays in the realm of sense: no spring longer than `limit` times, no energy from nowhere."""
    first = sim.diagnostics().energy
    frames = math.ceil(seconds / sim.frame_dt)
    try:
        for k in range(frames):
            sim.frame()
            if k % 10 == 9 or k == frames - 1:
                now = sim.diagnostics()
                if not now.finite or now.max_stretch > limit or now.kinetic + now.elastic > 1.1 * first:
                    return False
    except BlowUpError:
        return False
    return True


def largest_stable_step(integrator: str, mesh: TetMesh, raw: RawConstants, device: str, seconds: float) -> float:
    """Largest step [s] at which the drop stays stable, to 1.5 per cent."""
    low, high = 2e-4, 0.05
    while high / low > 1.015:
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high) if is_stable(dropped(mesh, raw, integrator, middle, device), seconds) else (low, middle)
        )
    return low


def run(report: Report, device: str, quick: bool = False) -> None:
    table_51(report, device)
    table_61(report, device, 2.0 if quick else 4.0)
    figure_61(report, device)
    table_63(report, device, 1.0 if quick else 10.0)
    with_material(report, device, 0.5 if quick else 4.0)


def table_51(report: Report, device: str) -> None:
    print("Table 5.1 and 5.2: vertices and tets of the bodies made from the scans, and the inverse masses that are cut")
    for name, source in MESHES.items():
        mesh = source_body(name)
        smallest, largest = mesh.dihedral_range()
        case = f"table 5.1 {name}"
        angles = {"dihedral_degrees": f"{smallest:.1f} to {largest:.1f}"}
        report.add(case, device, "vertices", len(mesh.vertices), source=source.vertices)
        report.add(case, device, "tets", len(mesh.tets), source=source.tets, **angles)
        mass = average_volume_mass(mesh.tets, mesh.volumes(), source.mass, len(mesh.vertices))
        over = int((1.0 / mass > source.cut).sum()) if source.cut else 0
        report.add(case, device, "largest_inverse_mass", float(1.0 / mass.min()), cut_at=source.cut, over=over)


def table_61(report: Report, device: str, seconds: float) -> None:
    print("Table 6.1: largest stable step, time per step and their ratio (1,584 vertices; the source's cube has 1,602)")
    mesh = shapes.box((SIZE, SIZE, SIZE), (11, 11, 10))
    for integrator, (kd, kvd, his_step, his_ratio) in TABLE_61.items():
        raw = RawConstants(spring=50.0, spring_damping=kd, volume=50.0, volume_damping=kvd, mass=50.0)
        step = largest_stable_step(integrator, mesh, raw, device, seconds)
        sim = dropped(mesh, raw, integrator, step, device)
        cost = seconds_per_call(lambda sim=sim: issue_steps(sim, 20), device) / 20
        case = f"table 6.1 {integrator}"
        report.add(case, device, "largest_stable_step_ms", step * 1e3, source_ms=his_step)
        report.add(case, device, "ms_per_step", cost * 1e3)
        report.add(case, device, "ratio_of_step_to_time", step / cost, source=his_ratio)


def issue_steps(sim: Simulation, count: int) -> None:
    """Launch steps without the frame's bookkeeping."""
    if sim.can_fuse():
        sim.solvers[0].fused(sim.state, sim.dt, count)
    else:
        for _ in range(count):
            sim.issue_substep()


def figure_61(report: Report, device: str) -> None:
    print("Figure 6.1 and table 6.2: time per step (floor and strain limit included), frames a second with a picture")
    for name, source in MESHES.items():
        sim = dropped(source_body(name), source.constants(), "symplectic", source.dt, device, source.cut, limit=1.5)
        case = f"figure 6.1 {name}"
        size = {"vertices": sim.state.count, "tets": sim.model.tets.count, "springs": sim.model.springs.count}
        cost = seconds_per_call(lambda sim=sim: issue_steps(sim, 10), device, 9) / 10
        his = {"source_cpu_ms": source.cpu_ms, "source_gpu_ms": source.gpu_ms}
        report.add(case, device, "ms_per_step", cost * 1e3, **his, **size)
        his_fps = {"source_cpu": source.cpu_fps, "source_gpu": source.gpu_fps}
        report.add(case, device, "frames_per_s", frames_per_second(sim, cost), **his_fps)


def frames_per_second(sim: Simulation, step_seconds: float, width: int = 640, height: int = 480) -> float:
    """Frames a second when each frame is one step and one picture, as in the source."""
    surface = sim.model.surface()
    renderer = Renderer(width, height, sim.device, samples=1)
    renderer.set_geometry(surface, np.full((len(surface), 3), 0.6), sim.state.count)
    x = sim.state.x.numpy()
    camera = Camera.framing(x.min(axis=0), x.max(axis=0), width / height)
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        renderer.draw(sim.state.x, camera, 0.0)
        wp.synchronize_device(sim.device)
        times.append(time.perf_counter() - begin)
    return 1.0 / (step_seconds + float(np.median(times[1:])))


def table_63(report: Report, device: str, seconds: float) -> None:
    print(f"Table 6.3: the source's constants and steps, {seconds:g} simulated seconds each, symplectic")
    for name, source in MESHES.items():
        sim = dropped(source_body(name), source.constants(), "symplectic", source.dt, device, source.cut, limit=1.5)
        case = f"table 6.3 {name}"
        # single springs are more than doubled for a moment when a body falls from half its height of 30 m
        report.add(case, device, "stable", is_stable(sim, seconds, 3.0), seconds=seconds, **source._asdict())
        now = sim.diagnostics()
        report.add(case, device, "max_stretch", now.max_stretch)
        report.add(case, device, "mean_stretch", now.mean_stretch)
        report.add(case, device, "volume_ratio", now.volume_ratio)


def with_material(report: Report, device: str, seconds: float) -> None:
    print(f"The same bodies 0.3 m in size, of soft rubber that is little damped, {seconds:g} simulated seconds each")
    material = dataclasses.replace(PRESETS["soft_rubber"], damping=2e-4)
    for name, source in MESHES.items():
        mesh = source_body(name).scaled(0.3 / source.size)
        scene = Scene()
        lowest = float(mesh.vertices[:, 1].min())
        scene.add_body(mesh, material, position=(0.0, 0.1 - lowest, 0.0), mass_shift=MASS_SHIFT)
        scene.add_plane()
        sim = scene.build(device)
        case = f"soft rubber {name}"
        begin = time.perf_counter()
        stable = is_stable(sim, seconds, limit=20.0)
        elapsed = time.perf_counter() - begin
        report.add(case, device, "stable", stable, substeps=sim.substeps, tets=len(mesh.tets))
        report.add(case, device, "ms_per_frame", 1e3 * elapsed * sim.frame_dt / seconds)
        report.add(case, device, "volume_ratio", sim.diagnostics().volume_ratio)
