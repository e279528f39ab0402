"""`pliant bench layered`: tyres and other layered bodies: frames and contacts a second, and what the time goes into."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.bench.report import Report
from pliant.bench.timing import seconds_per_call
from pliant.materials import Material
from pliant.mesh import layered_shapes
from pliant.mesh.layer_settings import LayerSettings
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.prepare_layered import prepare_layered
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.scene import Scene
from pliant.simulation import Simulation

RUBBER = Material(density=400.0, young=4e5, poisson=0.35, damping=0.002, friction=0.8)
SOFT = Material(density=1000.0, young=1e5, poisson=0.35, damping=0.004, friction=0.8)
FRAMES = 120
SEEN, PRESSED = "ms_per_step_seen", "ms_per_step_pressed"
NEVER = -1e29
"""What a contact wants at least that is not only near."""


def tyre(texture: int, detail: int = 360, skin: bool = False) -> LayeredMesh:
    """A tyre at the texels of a texture of some side; `detail` is the fineness of the surface that is seen."""
    body = prepare_layered(
        layered_shapes.tyre(detail=detail), LayerSettings(texture=texture), PrepareSettings(skin=skin)
    )
    assert isinstance(body.solid, LayeredMesh)
    return body.solid


def rolling(meshes: list[LayeredMesh], device: str, contact: str = "none") -> Simulation:
    """Tyres that stand on a floor side by side, and roll."""
    scene = Scene(name="tyres", contact=contact)
    scene.add_plane(name="road")
    for k, mesh in enumerate(meshes):
        seen = None if mesh.skin is None else (mesh.skin, mesh.embedding)
        scene.add_body(
            mesh, RUBBER, method="layered", name=f"tyre {k}", rotation=(90.0, 0.0, 0.0), skin=seen,
            position=(0.0, 0.54, 0.6 * k), velocity=(3.0, 0.0, 0.0), angular_velocity=(0.0, 0.0, -5.6),
        )  # fmt: skip
    return scene.build(device)


def colliding(meshes: list[LayeredMesh], device: str) -> Simulation:
    """Tyres that roll into each other, one after the other from both sides, and bounce."""
    scene = Scene(name="tyres that collide", contact="bodies")
    scene.add_plane(name="road")
    for k, mesh in enumerate(meshes):
        side = 1.0 if k % 2 == 0 else -1.0
        scene.add_body(
            mesh, RUBBER, method="layered", name=f"tyre {k}", rotation=(90.0, 0.0, 0.0),
            position=(-side * (0.65 + 0.6 * k), 0.6, 0.06 * side), velocity=(3.0 * side, 0.0, 0.0),
            angular_velocity=(0.0, 0.0, -5.6 * side),
        )  # fmt: skip
    return scene.build(device)


def piled(meshes: list[LayeredMesh], device: str, young: float = 1e5) -> Simulation:
    """Soft and heavy tyres that lie on each other, which press with much of their sides."""
    stuff = dataclasses.replace(SOFT, young=young)
    scene = Scene(name="tyres in a pile", contact="bodies")
    scene.add_plane(name="floor")
    height = 0.01
    for k, mesh in enumerate(meshes):
        low, high = float(mesh.nodes[:, 1].min()), float(mesh.nodes[:, 1].max())
        scene.add_body(
            mesh, stuff, method="layered", name=f"tyre {k}", position=(0.03 * k, height - low, 0.02 * k)
        )  # fmt: skip
        height += high - low + 0.01
    return scene.build(device)


def touching(sim: Simulation) -> int:
    """Nodes at which a contact was solved for in the last step: with a collider or with another layered body.

    Nodes that are only near something do not count.
    """
    press = sim.solvers[0].response.press  # type: ignore[attr-defined]
    return int(((press.give.numpy() > 0.0) & (press.kick.numpy() > NEVER)).sum())


def run(report: Report, device: str, quick: bool = False) -> None:
    frames = 10 if quick else FRAMES
    for texture in [32] if quick else [64, 128, 256] if device == "cpu" else [64, 128, 256, 512]:
        mesh = tyre(texture)
        _roll(report, device, rolling([mesh], device), f"a tyre, texture {texture}", len(mesh.tets), frames)
    # the scene of the source: tyres with 62,000 nodes and 324,000 tets together
    mesh = tyre(32 if quick else 256)
    count = 2 if quick else max(1, round(62_000 / len(mesh.nodes)))
    tets = count * len(mesh.tets)
    _roll(report, device, rolling([mesh] * count, device), f"{count} tyres that roll", tets, frames)
    _roll(report, device, colliding([mesh] * count, device), f"{count} tyres that collide", tets, frames)
    _roll(report, device, piled([mesh] * 3, device), "3 tyres in a pile", 3 * len(mesh.tets), frames)
    _seen(report, device, quick)
    _pressed(report, device, quick)


def _roll(report: Report, device: str, sim: Simulation, case: str, tets: int, frames: int) -> None:
    """Time of a frame, contacts a second, and the time of each stage."""
    solver = sim.solvers[0]
    begin = time.perf_counter()
    sim.frame(2)
    report.add(case, device, "seconds_to_the_second_frame", time.perf_counter() - begin)
    times, contacts = [], []
    for _ in range(frames):
        begin = time.perf_counter()
        sim.frame()
        times.append(time.perf_counter() - begin)
        contacts.append(touching(sim))
    constants = solver.constants(sim.dt)  # type: ignore[attr-defined]
    sizes = {"nodes": sim.state.count, "tets": tets, "iterations": constants.iterations}
    median = float(np.median(times))
    report.add(case, device, "ms_per_frame", 1e3 * median, **sizes)
    report.add(case, device, "frames_per_second", 1.0 / median)
    mean = float(np.mean(contacts))
    report.add(case, device, "contacts_per_second", mean / median, contacts=mean)
    alone = seconds_per_call(sim.issue_substep, device, 10)
    found = {"condition": round(constants.condition, 1), "nodes": sim.state.count}
    report.add(case, device, "ms_per_step_on_the_device", 1e3 * alone, **found)
    for stage, milliseconds in sim.stage_times().items():
        report.add(case, device, f"ms_{stage.replace(' ', '_')}", milliseconds)


def _seen(report: Report, device: str, quick: bool, details: Sequence[int] = (160, 320, 640, 1440)) -> None:
    """Time of a step against the fineness of what is seen: nodes and contacts stay the same."""
    for detail in details[:1] if quick else details:
        mesh = tyre(32 if quick else 128, detail, skin=True)
        sim = rolling([mesh], device)
        sim.frame(10)
        step = seconds_per_call(sim.issue_substep, device, 20)
        skin = seconds_per_call(lambda sim=sim: sim.skins.update(sim.state.x), device, 20)
        seen = 0 if mesh.skin is None else len(mesh.skin.triangles)
        sizes = {"triangles": seen, "nodes": len(mesh.nodes)}
        report.add(f"{seen:,} triangles seen", device, SEEN, 1e3 * step, **sizes)
        report.add(f"{seen:,} triangles seen", device, "ms_skin", 1e3 * skin, **sizes)


def _pressed(report: Report, device: str, quick: bool) -> None:
    """Time of a step against the texels in contact: a tyre that lies on the floor, softer and softer."""
    mesh = tyre(32 if quick else 128)
    for young in [1e5] if quick else [4e6, 4e5, 1e5, 3e4, 1e4]:
        sim = piled([mesh], device, young)
        sim.frame(40)
        contacts = touching(sim)
        step = seconds_per_call(sim.issue_substep, device, 20)
        report.add(f"{young:g} Pa", device, PRESSED, 1e3 * step, contacts=contacts, nodes=len(mesh.nodes))


def plot(rows: list[dict[str, Any]], path: str | Path) -> None:
    """Draw the time of a step against what is seen, what is simulated, and what is in contact."""
    from pliant.bench.plot import plot_panels

    panels = [
        ("triangles that are seen", SEEN, "triangles"),
        ("nodes", "ms_per_step_on_the_device", "nodes"),
        ("texels in contact", PRESSED, "contacts"),
    ]
    only = lambda metric, case: metric != "ms_per_step_on_the_device" or case.startswith("a tyre")
    lines = {
        label: sorted(
            (row["settings"][key], row["value"])
            for row in rows
            if row["metric"] == metric and only(metric, row["case"])
        )
        for label, metric, key in panels
    }
    plot_panels(lines, "time of a step [ms]", str(rows[0]["device"]), path)
