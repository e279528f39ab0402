"""`pliant bench stream`: what reaches the studio's page, how fast, and what a slow page does to the rest.

Simulated is a ring of voxels that follows one shape (linear shape matching, one cluster, two substeps) and falls onto
a floor, seen as a fine skin that rides on it: the simulation costs little, and what is measured is the stream.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from pliant.bench.report import Report
from pliant.bench.stream_page import Page, opened
from pliant.errors import InputError, MissingExtraError, PliantError
from pliant.mesh.embed import embed
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.surface import SurfaceMesh
from pliant.scene import Scene

RINGS = {20_000: (200, 100), 50_000: (250, 200), 150_000: (500, 300)}
"""Vertices around the ring and around its cross-section."""
REQUIRED = {20_000: 60, 50_000: 60, 150_000: 30}
"""Updates per second that a page must show."""
CLIENTS = (1, 4, 16, 50)
MOST_LATENCY = 40.0
SLOW = 0.1
"""Time that a slow page takes for a frame [s]."""
RADIUS, THICKNESS = 0.12, 0.05
CELL = 0.02
HISTORY_MB = 16.0


def ring(around: int, across: int) -> SurfaceMesh:
    """A torus about the y axis with so many vertices around it and around its cross-section."""
    u, w = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    a, b = 2.0 * np.pi * u / around, 2.0 * np.pi * w / across
    out = RADIUS + THICKNESS * np.cos(b)
    vertices = np.stack([out * np.cos(a), THICKNESS * np.sin(b), out * np.sin(a)], axis=-1).reshape(-1, 3)
    here, right = u * across + w, (u + 1) % around * across + w
    above, both = u * across + (w + 1) % across, (u + 1) % around * across + (w + 1) % across
    quads = np.stack([here, above, both, here, both, right], axis=-1)
    return SurfaceMesh(vertices, quads.reshape(-1, 3).astype(np.int32), "ring")


def carrier() -> VoxelLattice:
    """The voxels that a ring rides on."""
    reach = int(np.ceil((RADIUS + THICKNESS) / CELL)) + 1
    axis = np.arange(-reach, reach)
    cells = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    x, y, z = (CELL * (cells + 0.5)).T
    away = np.hypot(np.hypot(x, z) - RADIUS, y)
    return VoxelLattice.from_cells(cells[away < THICKNESS + 0.9 * CELL], CELL, name="ring")


def make_scene(around: int, across: int) -> Scene:
    """A ring with a skin of so many vertices, above a floor."""
    scene = Scene(substeps=2)
    scene.add_plane()
    body, skin = carrier(), ring(around, across)
    scene.add_body(
        body,
        "soft_rubber",
        method="shape_matching",
        name="ring",
        matching={"mode": "linear", "clusters": 1},
        skin=(skin, embed(skin.vertices, body)),
        position=(0.0, 0.3, 0.0),
        rotation=(40.0, 0.0, 10.0),
    )
    return scene


class Studio:
    """A server on this machine, and an engine for each scene in turn.

    Attributes:
        published: when each frame was first there [s since 1970], by its number.
    """

    def __init__(self, device: str, folder: str):
        self.device = device
        self.folder = Path(folder)
        self.server: Any = None
        self.engine: Any = None
        self.published: dict[int, float] = {}

    def show(self, scene: Scene) -> None:
        """Serve a scene, and let it run."""
        from pliant.studio.document import Document
        from pliant.studio.engine import Engine
        from pliant.studio.options import StudioOptions
        from pliant.studio.server import Server

        sim = scene.build(self.device, estimate_step=False)
        sim.frame(2)
        document = Document.from_simulation(sim, self.folder)
        engine = Engine(document, self.folder, self.device, sim, autosave=False, history_mb=HISTORY_MB)
        self.engine = engine
        self.published.clear()
        if self.server is None:
            server = Server(engine, StudioOptions(port=0))
            server.start()
            server.current.on_frame.append(self._note)
            self.server = server
        else:
            self.server.current.swap(engine)
        engine.do("play").result()

    def _note(self) -> None:
        self.published.setdefault(self.engine.world.frame_number, time.time())

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop()

    def made(self, begin: float, end: float) -> float:
        """Frames made per second between two moments."""
        return sum(begin <= t < end for t in list(self.published.values())) / (end - begin)

    def ages(self, taken: list[tuple[int, float]]) -> np.ndarray:
        """How old frames were when a client was done with them [ms]."""
        return np.array([1e3 * (at - self.published[k]) for k, at in taken if k in self.published])

    def watch(self, clients: int, seconds: float, delay: float = 0.0) -> dict[str, Any]:
        """What clients in another process get."""
        url = f"ws://127.0.0.1:{self.server.port}/stream"
        command = [sys.executable, "-m", "pliant.bench.stream_clients", url, "--clients", str(clients)]
        command += ["--seconds", str(seconds), "--delay", str(delay)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise PliantError(f"the clients failed: {done.stderr.strip()}")
        return json.loads(done.stdout)


def run(report: Report, device: str, quick: bool = False) -> None:
    try:
        import nicegui  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("nicegui", "studio", "The studio") from error
    seconds = 0.5 if quick else 3.0
    sizes = [20_000] if quick else list(RINGS)
    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(device, folder)
        try:
            for vertices in sizes:
                studio.show(make_scene(*RINGS[vertices]))
                _frame_costs(report, studio, vertices)
                if vertices == sizes[0]:
                    _slow_client(report, studio, seconds)
                    _clients(report, studio, CLIENTS[1:2] if quick else CLIENTS, seconds)
            _in_page(report, studio, sizes, seconds)
        finally:
            studio.stop()


def _frame_costs(report: Report, studio: Studio, vertices: int) -> None:
    """Bytes of a frame, and the time to simulate, to pack and to write one, with no client there."""
    engine, case = studio.engine, f"frame of {vertices:,} vertices"
    engine.do("pause").result()
    world = engine.world
    lane = world.lanes[0]
    size = len(engine.newest()[1])
    report.add(case, studio.device, "bytes_per_frame", size, particles=lane.sim.state.count, substeps=lane.sim.substeps)
    report.add(case, studio.device, "bytes_per_vertex", size / vertices)
    stats = engine._stats()
    make = lambda: world.frames.frame(world.lanes, world.hands, stats, {}, None, set())
    for metric, call in (
        ("ms_simulate_with_skin", lane.sim.frame),
        ("ms_pack", lane.packer.pack),
        ("ms_message", make),
    ):
        times = []
        for _ in range(33):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        report.add(case, studio.device, metric, 1e3 * float(np.median(times[3:])))
    engine.do("play").result()


def _slow_client(report: Report, studio: Studio, seconds: float) -> None:
    """A client that takes 100 ms for each frame, and what that does to the server."""
    # the history fills its share of the memory first
    time.sleep(HISTORY_MB * 1e6 / len(studio.engine.newest()[1]) / 60.0)
    before = _memory()
    found = studio.watch(1, seconds, SLOW)
    after = _memory()
    (client,) = found["clients"]
    case = "slow client, 100 ms a frame"
    _slow_rows(report, studio, case, found["begin"], found["end"], client["taken"])
    report.add(case, studio.device, "most_unacknowledged", client["most_held"], allowed=3)
    if before is not None and after is not None:
        report.add(case, studio.device, "mb_grown_by_server", (after - before) * 1e-6, seconds=seconds)


def _slow_rows(report: Report, studio: Studio, case: str, begin: float, end: float, taken: list[Any]) -> None:
    made = studio.made(begin, end)
    rate = len(taken) / (end - begin)
    ages = studio.ages(taken)
    report.add(case, studio.device, "frames_per_s", rate, made_per_s=round(made, 1))
    report.add(case, studio.device, "skipped_share", 1.0 - rate / max(made, 1e-9))
    if len(ages):
        report.add(case, studio.device, "ms_oldest_when_applied", float(ages.max()), median=round(np.median(ages)))


def _clients(report: Report, studio: Studio, counts: tuple[int, ...], seconds: float) -> None:
    """Frames per second that each of many clients gets."""
    size = len(studio.engine.newest()[1])
    for count in counts:
        found = studio.watch(count, seconds)
        span = found["end"] - found["begin"]
        rates = np.array([len(client["taken"]) for client in found["clients"]]) / span
        made = studio.made(found["begin"], found["end"])
        case = f"clients, {count} at once"
        settings = {"slowest": round(float(rates.min()), 1), "made_per_s": round(made, 1)}
        report.add(case, studio.device, "frames_per_s_each", float(np.median(rates)), **settings)
        report.add(case, studio.device, "mb_per_s_together", float(rates.sum()) * size * 1e-6)


def _in_page(report: Report, studio: Studio, sizes: list[int], seconds: float) -> None:
    """What a page applies; where there is no browser that is told, and nothing of it measured."""
    try:
        with opened(studio.server.link) as page:
            for vertices in sizes:
                studio.show(make_scene(*RINGS[vertices]))
                _updates(report, studio, page, vertices, seconds)
                if vertices == sizes[0]:
                    _latency(report, studio, page, seconds)
                    _slow_page(report, studio, page, seconds)
    except InputError as error:
        report.add("page", studio.device, "not_measured", str(error))


def _updates(report: Report, studio: Studio, page: Page, vertices: int, seconds: float) -> None:
    """Frames applied per second, smooth normals among them."""
    page.wait_for(vertices)
    page.apply(0.5 * seconds)
    begin = time.time()
    found = [page.apply(seconds / 3) for _ in range(3)]
    made = studio.made(begin, time.time())
    rates = [part["applied"] / part["elapsed"] for part in found]
    taken = [(k, 1e-3 * ms) for part in found for k, ms in part["taken"]]
    gaps = 1e3 * np.diff([t for _, t in taken])
    case = f"page, {vertices:,} vertices"
    settings = {"required": REQUIRED[vertices], "asked": 60, "made_per_s": round(made, 1)}
    report.add(case, studio.device, "updates_per_s", float(np.median(rates)), **settings)
    report.add(case, studio.device, "ms_between_updates", float(np.median(gaps)), p95=round(np.percentile(gaps, 95), 1))
    report.add(case, studio.device, "ms_from_frame_to_page", float(np.median(studio.ages(taken))))
    report.add(case, studio.device, "mean_length_of_normals", page.normals())


def _latency(report: Report, studio: Studio, page: Page, seconds: float) -> None:
    """Time from a drag in the page to the frame that shows it, while time runs."""
    found = np.array(page.drag(1.5 * seconds))
    case = "drag, 20,000 vertices"
    report.add(
        case, studio.device, "ms_drag_to_frame", float(np.median(found)), required=MOST_LATENCY, drags=len(found)
    )
    report.add(case, studio.device, "ms_drag_to_frame_p95", float(np.percentile(found, 95)))


def _slow_page(report: Report, studio: Studio, page: Page, seconds: float) -> None:
    """A page that is busy for 100 ms with each frame."""
    begin = time.time()
    found = page.apply(seconds, SLOW)
    taken = [(k, 1e-3 * ms) for k, ms in found["taken"]]
    _slow_rows(report, studio, "slow page, 100 ms a frame", begin, begin + found["elapsed"], taken)


def _memory() -> int | None:
    """Bytes of memory that this process has in use; None where that cannot be told."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None
