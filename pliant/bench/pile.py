"""`pliant bench pile`: soft blocks that fall on each other, many bodies in a bowl, how deep they overlap, and what they
cost once they sleep.

Shape-matched bodies are one cluster each, as those of other engines. They are softer than their material says, unless
they are calibrated; both are measured.
"""

from __future__ import annotations

import time

import numpy as np
import warp as wp

from pliant.bench.report import Report
from pliant.launch import launch
from pliant.materials import Material
from pliant.mesh import shapes
from pliant.scene import Scene
from pliant.simulation import Simulation

# A soft rubber that loses its bounce quickly.
SOFT = Material(young=1e5, poisson=0.4, density=300.0, damping=0.008, friction=0.6)
SIDE = 0.2
CELLS = 7
# Distance of blocks at the start over their side: none is inside another.
APART = 1.12
FALL_SECONDS = 4.0
BOWL_SECONDS = 3.0
SPACING = 0.125
SLEEP_SECONDS = 12.0
"""The longest time until a pile sleeps."""
TURNS = 4
FRAMES = 5
"""Frames of a turn, so few that what is awake stays so."""


def pile(
    blocks: int, device: str, method: str = "shape_matching", *, sleep: bool = False, calibrate: str = "off"
) -> Simulation:
    """Blocks of 512 particles, three by three in every layer, turned a little, above a floor."""
    rng = np.random.default_rng(1)
    mesh = shapes.box((SIDE,) * 3, CELLS)
    scene = Scene(contact="bodies", sleep=sleep, name="pile", calibrate=calibrate)
    scene.add_plane()
    for k in range(blocks):
        place = np.array([k % 3 - 1, 0.0, (k // 3) % 3 - 1]) * APART * SIDE + 0.02 * SIDE * rng.uniform(-1, 1, 3)
        place[1] = 0.65 * SIDE + APART * SIDE * (k // 9)
        turn = tuple(rng.uniform(-3.0, 3.0, 3))
        scene.add_body(mesh, SOFT, method=method, name=f"block {k}", position=tuple(place), rotation=turn)
    return scene.build(device)


def bowl(bodies: int, device: str, calibrate: str = "off") -> Simulation:
    """Small shape-matched bodies of 64 particles that fall into a round bowl."""
    rng = np.random.default_rng(2)
    mesh = shapes.box((0.08, 0.08, 0.08), 3)
    side = int(np.ceil(bodies ** (1.0 / 3.0)))
    scene = Scene(contact="bodies", name="bowl", calibrate=calibrate)
    scene.add_sphere(SPACING * (side + 1.0), inside=True)
    for k in range(bodies):
        layer, row = divmod(k, side * side)
        place = np.array([row % side, layer, row // side]) - (side - 1) / 2.0
        place = SPACING * place + 0.01 * rng.uniform(-1, 1, 3)
        turn = tuple(rng.uniform(-15.0, 15.0, 3))
        scene.add_body(mesh, SOFT, method="shape_matching", name=f"b{k}", position=tuple(place), rotation=turn)
    return scene.build(device)


@wp.kernel(enable_backward=False)
def _depths(id: wp.uint64, p: wp.array(dtype=wp.vec3), farthest: float, depth_out: wp.array(dtype=float)):
    """How deep points are inside a closed surface [m]; negative outside."""
    i = wp.tid()
    found = wp.mesh_query_point_sign_winding_number(id, p[i], farthest)
    if found.result:
        depth_out[i] = -found.sign * wp.length(p[i] - wp.mesh_eval_position(id, found.face, found.u, found.v))


def deepest(sim: Simulation) -> float:
    """How deep the deepest vertex of a body is inside another body [m], by winding numbers; zero if none is."""
    x = sim.state.x.numpy()
    spans = [slice(*body.particles) for body in sim.model.bodies]
    low, high = (np.array([f(x[span], axis=0) for span in spans]) for f in (np.min, np.max))
    most = 0.0
    for k, body in enumerate(sim.model.bodies):
        near = [j for j in np.flatnonzero((low <= high[k]).all(axis=1) & (high >= low[k]).all(axis=1)) if j != k]
        points = np.concatenate([np.zeros((0, 3), np.float32), *(x[spans[j]] for j in near)])
        points = points[(points > low[k]).all(axis=1) & (points < high[k]).all(axis=1)]
        if not len(points):
            continue
        corners = (body.surface - body.particles[0]).astype(np.int32).reshape(-1)
        mesh = wp.Mesh(
            wp.array(x[spans[k]], dtype=wp.vec3, device="cpu"),
            wp.array(corners, dtype=int, device="cpu"),
            support_winding_number=True,
        )
        depth = wp.zeros(len(points), dtype=float, device="cpu")
        size = float(np.linalg.norm(high[k] - low[k]))
        given = [mesh.id, wp.array(points, dtype=wp.vec3, device="cpu"), size]
        launch(_depths, len(points), given, [depth], device="cpu")
        most = max(most, float(depth.numpy().max()))
    return most


def run(report: Report, device: str, quick: bool = False) -> None:
    methods = ["shape_matching"] if quick else ["shape_matching", "mass_spring", "xpbd", "fem"]
    for method in methods:
        sim = pile(3 if quick else 27, device, method)
        _fall(report, device, sim, f"pile, {method}", 0.3 if quick else FALL_SECONDS)
        _sleep(report, device, pile(3 if quick else 27, device, method, sleep=True), f"pile, {method}")
    count = 27 if quick else 100 if device == "cpu" else 1000
    _fall(report, device, bowl(count, device), f"{count:,} bodies in a bowl", 0.2 if quick else BOWL_SECONDS)
    if quick:
        return
    # shape matching as stiff as its material takes more steps
    _fall(report, device, pile(27, device, calibrate="auto"), "pile, calibrated", FALL_SECONDS)
    _fall(report, device, bowl(count, device, "auto"), f"{count:,} bodies, calibrated", BOWL_SECONDS)


def _fall(report: Report, device: str, sim: Simulation, case: str, seconds: float) -> None:
    """Time of every frame, and at the end how deep bodies are inside each other, and how fast they still are."""
    sim.frame()
    times = []
    for _ in range(round(seconds / sim.frame_dt)):
        begin = time.perf_counter()
        sim.frame()
        times.append(time.perf_counter() - begin)
    sizes = {"particles": sim.state.count, "substeps": sim.substeps}
    report.add(case, device, "ms_per_frame", 1e3 * float(np.median(times)), **sizes)
    report.add(case, device, "worst_ms_of_a_frame", 1e3 * float(max(times)), **sizes)
    gap = 2e3 * float(sim.body_contacts.features.radius.max())  # type: ignore[attr-defined]
    report.add(case, device, "deepest_overlap_mm", 1e3 * deepest(sim), kept_apart_mm=round(gap, 2))
    v = sim.state.v.numpy()
    report.add(case, device, "rms_speed_at_the_end", float(np.sqrt((v**2).sum(axis=1).mean())))


def _sleep(report: Report, device: str, sim: Simulation, case: str) -> None:
    """Time of a frame of a settled pile, asleep and awake in turns."""
    bodies = len(sim.model.bodies)
    while len(sim.sleeping_bodies()) < bodies and sim.time < SLEEP_SECONDS:
        sim.frame()
    sizes = {"asleep": len(sim.sleeping_bodies()), "after_s": round(sim.time, 2)}
    times: dict[str, list[float]] = {"asleep": [], "awake": []}
    saved = {name: array.numpy().copy() for name, array in sim.arrays().items()}
    for turn in range(TURNS):
        for state, spent in times.items():
            for name, array in sim.arrays().items():
                array.assign(saved[name])
            sim.follow_restored()
            if state == "awake":
                sim.wake()
            sim.frame()
            begin = time.perf_counter()
            sim.frame(FRAMES)
            if turn:
                spent.append((time.perf_counter() - begin) / FRAMES)
    for state, spent in times.items():
        report.add(case, device, f"ms_per_frame_{state}", 1e3 * float(np.median(spent)), **sizes)
