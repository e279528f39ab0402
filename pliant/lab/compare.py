"""`compare`: the same scene under several methods, measured against finite elements with small steps."""

from __future__ import annotations

import dataclasses
import time as clock
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pliant.errors import BlowUpError, InputError
from pliant.lab.shape_change import ShapeChange
from pliant.lab.ways import Way, as_way, check_methods, reference_way
from pliant.materials import Material
from pliant.mesh.tets import TetMesh
from pliant.scene import Scene
from pliant.simulation import Simulation
from pliant.solvers import solver_class

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
        max_stretch, min_stretch: longest and shortest edge of the mesh over its length at rest, over all frames.
        volume_drift: largest |volume / volume at rest - 1| of all tets together.
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
                + (f"  stopped after {len(lane.times)} frames" if lane.stopped else "")
            )
        lines.append(
            f"errors are over the size of the bodies, {self.size:.3g} m; the reference, {self.reference.way.method} "
            f"with {self.reference.substeps} substeps, is itself off by about {100 * self.doubt:.2g} %"
        )
        return "\n".join(lines)

    def best(self, budget: float) -> tuple[Lane, str]:
        """The most accurate way whose frames take at most `budget` [ms], or the fastest if there is none; and why."""
        if not budget > 0.0:
            raise InputError(f"{budget!r} ms is no time for a frame", "best(budget)", "Give one above 0")
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

    def notes(self) -> list[str]:
        """What was said of the ways: each note once, with the names of those that it is about unless that is all."""
        said: dict[str, list[str]] = {}
        for lane in self.lanes:
            for note in dict.fromkeys([*lane.notes, *([f"stopped: {lane.stopped}"] if lane.stopped else [])]):
                said.setdefault(note, []).append(lane.way.name)
        everyone = len(self.lanes)
        return [note if len(names) == everyone > 1 else f"{', '.join(names)}: {note}" for note, names in said.items()]

    def as_dict(self) -> dict[str, Any]:
        rows = []
        for lane in [*self.lanes, self.reference]:
            own = {k: getattr(lane, k) for k in ("times", "errors", "error", "cost", "max_stretch", "min_stretch")}
            more = {k: getattr(lane, k) for k in ("volume_drift", "substeps", "notes", "stopped")}
            rows.append({"method": lane.way.name, **own, **more})
        of = {"reference_method": self.reference.way.method, "reference_doubt": self.doubt}
        return {"scene": self.name, "size": self.size, **of, "lanes": rows}


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
    reference: str | Way | None = None,
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
        reference: what the others are measured against, written as the methods are; finite elements if not given, and
            XPBD with many iterations where they cannot take the bodies.
        reference_substeps: its steps per frame; the next coarser, half as many, says how far it is converged.
        progress: called with what is done next.
    """
    check_methods(methods, "compare.methods")
    if scene not in SCENES:
        raise InputError(f"no scene {scene!r}", "compare.scene", f"Use one of: {', '.join(SCENES)}")
    for name, number in (("frames", frames), ("reference_substeps", reference_substeps)):
        if number < 1:
            raise InputError(f"{number} is too few", f"compare.{name}", "Give 1 or more")
    ways = [as_way(text) for text in methods]
    if not callable(source):
        for way in ways:
            if TetMesh not in solver_class(way.method).takes:
                raise InputError(f"the method '{way.method}' takes no tets", "compare.methods", "Leave it out")
    build: Build = source if callable(source) else _body_scene(source, material, scene, tets, size)
    tell = progress or (lambda text: None)
    base = as_way(reference) if reference is not None else reference_way(_kinds(build(ways[0])))
    base = dataclasses.replace(base, name="reference")
    best = _reference(build, base, reference_substeps, frames, device, film, tell)
    # finer and coarser: what differs between them says how far the finer is from its limit
    coarse = _reference(build, base, max(reference_substeps // 2, 1), frames, device, False, tell)
    extent = float(np.linalg.norm(np.ptp(best.positions[0], axis=0)))
    lanes = []
    for way in ways:
        tell(way.name)
        lane = _run(build, way, frames, device, film)
        lane.errors = _errors(lane.positions, best.positions, extent)
        lanes.append(lane)
    best.errors = np.zeros(len(best.times))
    doubt = _errors(coarse.positions, best.positions, extent)
    name = source if isinstance(source, str) else getattr(source, "__name__", "scene")
    return Comparison(str(name), extent, lanes, best, float(np.sqrt(np.mean(doubt**2))))


def _kinds(scene: Scene) -> set[type]:
    """What the bodies of a scene are meshes of."""
    return {type(entry.mesh) for entry in scene.bodies}


def _reference(
    build: Build, base: Way, substeps: int, frames: int, device: str, film: bool, tell: Callable[[str], None]
) -> Lane:
    """The reference with so many substeps; one that blows up is none."""
    tell(f"reference, {base.method}, {substeps} substeps")
    lane = _run(build, dataclasses.replace(base, substeps=substeps), frames, device, film)
    if lane.stopped:
        raise InputError(
            f"the reference stopped: {lane.stopped}",
            "compare.reference",
            "Give more reference_substeps, or another one",
        )
    return lane


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
    change = ShapeChange(sim)
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
        change.look()
    # the first frames compile and record
    cost = float(np.median(costs[2:] or costs or [0.0]))
    return Lane(
        way, sim.frame_dt * np.arange(1, len(kept)), np.zeros(0), cost, change.longest, change.shortest,
        change.drift, sim.substeps, list(sim.notes), stopped, np.array(kept), seen, sim.surface(),
        sim.surface_colors(),
    )  # fmt: skip


def _positions(sim: Simulation) -> np.ndarray:
    return np.concatenate([sim.positions(body.name) for body in sim.model.bodies]).astype(float)
