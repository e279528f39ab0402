"""`compare`: the same scene under several methods, measured against finite elements with small steps."""

from __future__ import annotations

import dataclasses
import time as clock
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pliant.errors import BlowUpError, InputError
from pliant.lab.ways import Way, as_way, reference_way
from pliant.materials import Material
from pliant.scene import Scene
from pliant.simulation import Simulation

SCENES = ("lean", "hang", "drop")
END = 0.12
"""Part of a body's height that is held where it leans or hangs."""
REFERENCE_SUBSTEPS = 32
Build = Callable[[Way], Scene]


@dataclasses.dataclass(eq=False)
class Lane:
    """What one way made of a scene.

    Attributes:
        way: how it was simulated.
        times: of the frames [s] (f,). errors: root mean square distance from the reference over the size (f,).
        cost: median time of a frame [ms].
        max_stretch, min_stretch: longest and shortest edge over its length at rest, over all frames.
        volume_drift: largest |volume / volume at rest - 1|.
        substeps: steps per frame. notes: what the build said.
        stopped: why it ended early; empty if it did not.
        seen: vertices that are seen in each frame, where a film is wanted.
    """

    way: Way
    times: np.ndarray
    errors: np.ndarray
    cost: float
    max_stretch: float
    min_stretch: float
    volume_drift: float
    substeps: int
    notes: list[str]
    stopped: str
    positions: np.ndarray
    seen: list[np.ndarray]
    triangles: np.ndarray
    colors: np.ndarray

    @property
    def error(self) -> float:
        """Root mean square over all frames."""
        return float(np.sqrt(np.mean(self.errors**2))) if len(self.errors) else float("nan")


@dataclasses.dataclass(eq=False)
class Comparison:
    """Several ways side by side.

    Attributes:
        name: of the scene. size: diagonal of the bodies at rest [m].
        reference: what the errors are against, and doubt: its own error, from half as many substeps, over the size.
    """

    name: str
    size: float
    lanes: list[Lane]
    reference: Lane
    doubt: float

    def table(self) -> str:
        lines = [f"{'method':<34}{'error':>9}{'worst':>9}{'ms/frame':>10}{'substeps':>9}{'stretch':>16}{'volume':>9}"]
        for lane in [*self.lanes, self.reference]:
            worst = float(lane.errors.max(initial=0.0))
            stretch = f"{lane.min_stretch:.2f} to {lane.max_stretch:.2f}"
            lines.append(
                f"{lane.way.name:<34}{100 * lane.error:>7.2f} %{100 * worst:>7.2f} %{lane.cost:>10.2f}"
                f"{lane.substeps:>9}{stretch:>16}{100 * lane.volume_drift:>7.2f} %"
            )
        lines.append(f"errors are over the size of the bodies, {self.size:.3g} m; the reference's own is about "
                     f"{100 * self.doubt:.2g} %")  # fmt: skip
        return "\n".join(lines)

    def best(self, budget: float) -> tuple[Lane, str]:
        """The most accurate way whose frames take at most `budget` [ms], or the fastest if there is none; and why."""
        done = [lane for lane in self.lanes if not lane.stopped] or self.lanes
        fast = [lane for lane in done if lane.cost <= budget]
        if fast:
            lane = min(fast, key=lambda lane: lane.error)
            return lane, (
                f"{lane.way.name} is the most accurate within {budget:.3g} ms a frame: "
                f"off by {100 * lane.error:.2g} % in {lane.cost:.3g} ms"
            )
        lane = min(done, key=lambda lane: lane.cost)
        return lane, (
            f"none takes at most {budget:.3g} ms a frame; {lane.way.name} is nearest: {lane.cost:.3g} ms, "
            f"{lane.cost / budget:.2g} times too slow, off by {100 * lane.error:.2g} %"
        )

    def as_dict(self) -> dict[str, Any]:
        rows = []
        for lane in [*self.lanes, self.reference]:
            own = {k: getattr(lane, k) for k in ("times", "errors", "error", "cost", "max_stretch", "min_stretch")}
            more = {k: getattr(lane, k) for k in ("volume_drift", "substeps", "notes", "stopped")}
            rows.append({"method": lane.way.name, **own, **more})
        return {"scene": self.name, "size": self.size, "reference_doubt": self.doubt, "lanes": rows}


def compare(
    source: Any,
    methods: Sequence[str | Way],
    *,
    material: Material | str = "soft_rubber",
    scene: str = "lean",
    tets: int = 1500,
    size: float | None = None,
    frames: int = 90,
    device: str = "cpu",
    film: bool = False,
    reference_substeps: int = REFERENCE_SUBSTEPS,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Simulate the same scene by several methods.

    Args:
        source: a mesh file, a sample mesh, a mesh, or a function from a `Way` to a `Scene` of your own.
        methods: such as 'mass_spring', 'shape_matching/clusters=8/calibrate=off', 'xpbd/iterations=20'.
        material: of the body. scene: 'lean': held at its foot and pulled sideways, 'hang' from its top, or 'drop'
            onto a floor.
        tets: about how many the body gets. size: its largest extent [m].
        frames: to simulate. device: where.
        film: keep what is seen of each frame, for `write_film`.
        reference_substeps: of the finite elements that the others are measured against.
        progress: called with what is done next.
    """
    if not methods:
        raise InputError("no method is given", "compare.methods", "Give some, such as ['mass_spring', 'xpbd']")
    if scene not in SCENES:
        raise InputError(f"no scene {scene!r}", "compare.scene", f"Use one of: {', '.join(SCENES)}")
    ways = [as_way(text) for text in methods]
    build: Build = source if callable(source) else _body_scene(source, material, scene, tets, size)
    tell = progress or (lambda text: None)
    tell(f"reference, {reference_substeps} substeps")
    # finer and coarser: what differs between them says how far the finer is from its limit
    reference = _run(build, reference_way(reference_substeps), frames, device, film)
    tell(f"reference, {reference_substeps // 2} substeps")
    coarse = _run(build, reference_way(max(reference_substeps // 2, 1)), frames, device, False)
    extent = float(np.linalg.norm(np.ptp(reference.positions[0], axis=0)))
    lanes = []
    for way in ways:
        tell(way.name)
        lane = _run(build, way, frames, device, film)
        lane.errors = _errors(lane.positions, reference.positions, extent)
        lanes.append(lane)
    reference.errors = np.zeros(len(reference.times))
    doubt = _errors(coarse.positions, reference.positions, extent)
    name = source if isinstance(source, str) else getattr(source, "__name__", "scene")
    return Comparison(str(name), extent, lanes, reference, float(np.sqrt(np.mean(doubt**2))))


def _errors(found: np.ndarray, wanted: np.ndarray, extent: float) -> np.ndarray:
    count = min(len(found), len(wanted))
    if found.shape[1:] != wanted.shape[1:]:
        raise InputError(
            f"{found.shape[1]} and {wanted.shape[1]} vertices cannot be compared",
            "compare",
            "Give bodies whose vertices are the same under every method",
        )
    return np.sqrt(((found[:count] - wanted[:count]) ** 2).sum(axis=2).mean(axis=1))[1:] / extent


def _body_scene(source: Any, material: Material | str, scene: str, tets: int, size: float | None) -> Build:
    """A body that leans, hangs, or falls on a floor."""

    def build(way: Way) -> Scene:
        gravity = (9.81, 0.0, 0.0) if scene == "lean" else (0.0, -9.81, 0.0)
        made = Scene(gravity, name=scene, stretch_limit=1e3)
        options: dict[str, Any] = {"matching": way.matching} if way.matching else {}
        if size is not None:
            options["size"] = size
        made.add(
            source,
            material,
            method=way.method,
            name="body",
            calibrate=way.calibrate,
            tets=tets,
            mass_shift=0.0,
            **options,
        )
        entry = made.bodies[0]
        y = entry.mesh.vertices[:, 1]
        if scene == "lean":
            made.pin("body", np.flatnonzero(y < y.min() + END * np.ptp(y)))
        elif scene == "hang":
            made.pin("body", np.flatnonzero(y > y.max() - END * np.ptp(y)))
        else:
            made.add_plane(point=(0.0, float(y.min() - 0.3 * np.ptp(y)), 0.0))
        return made

    return build


def _run(build: Build, way: Way, frames: int, device: str, film: bool) -> Lane:
    """Simulate one way, and measure it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene = build(way)
        if way.settings:
            scene.configure(way.method, **way.settings)
        if way.substeps is not None:
            scene.settings = dataclasses.replace(scene.settings, substeps=way.substeps)
        sim = scene.build(device)
    kept, seen, costs, stopped = [_positions(sim)], [], [], ""
    longest, shortest, drift = 1.0, 1.0, 0.0
    for _ in range(frames):
        begin = clock.perf_counter()
        try:
            sim.frame()
        except BlowUpError as error:
            stopped = str(error)
            break
        costs.append(1e3 * (clock.perf_counter() - begin))
        kept.append(_positions(sim))
        if film:
            seen.append(sim.surface_positions().copy())
        state = sim.diagnostics()
        longest, shortest = max(longest, state.max_stretch), min(shortest, state.min_stretch)
        drift = max(drift, abs(state.volume_ratio - 1.0))
    return Lane(
        way, sim.frame_dt * np.arange(1, len(kept)), np.zeros(0), float(np.median(costs[2:] or [0.0])), longest,
        shortest, drift, sim.substeps, list(sim.notes), stopped, np.array(kept), seen, sim.surface(),
        sim.surface_colors(),
    )  # fmt: skip


def _positions(sim: Simulation) -> np.ndarray:
    return np.concatenate([sim.positions(body.name) for body in sim.model.bodies]).astype(float)
