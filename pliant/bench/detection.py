"""`pliant bench detection`: time to find what may touch, by trees, hash grid, octree and all pairs (Sharma, 4.2.3).

Trees, hash grid and all pairs answer the same question: which vertices are near which triangles of other bodies. The
octree answers a coarser one, Sharma's: which particles are in the boxes of which other bodies; for it, all boxes are
what it saves.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from pliant.bench.plot import plot_steps
from pliant.bench.report import Report
from pliant.bench.timing import seconds_per_call
from pliant.collide.soft.boxes import BoxSearch
from pliant.collide.soft.brute import BruteForce
from pliant.collide.soft.candidates import Candidates
from pliant.collide.soft.features import GAP_OF_EDGE, GAP_OF_SIZE, REACH_OF_EDGE, SOLID, Features
from pliant.collide.soft.hash_grid import HashGrid
from pliant.mesh import shapes

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
MOST = {"cpu": 300_000, "cuda": 1_000_000}
MOST_BRUTE = {"cpu": 10_000, "cuda": 100_000}
RADIUS = 0.1
"""Of a body [m]."""
CLOSE = 0.98
"""Distance of neighbours over their diameter: they overlap a little, as in a heap."""
AHEAD = 1 / 60
SPEED = 0.3
"""Typical speed of bodies [m/s]; candidates are found for a frame."""
FEW = 60
"""Bodies in the degenerate cases."""
HUGE = 30.0
"""How much larger the one huge body is."""


@dataclasses.dataclass
class Crowd:
    """Balls of 162 vertices and 320 triangles.

    Attributes:
        features: their vertices and triangles; edges are left out.
        rest: positions [m] (n, 3). v: velocities [m/s] (n, 3).
    """

    features: Features
    rest: np.ndarray
    v: np.ndarray


def ball() -> tuple[np.ndarray, np.ndarray]:
    """Vertices (162, 3) and triangles (320, 3) of a ball's outside."""
    mesh = shapes.ball(RADIUS, 4)
    triangles = mesh.surface()
    used, corners = np.unique(triangles, return_inverse=True)
    return mesh.vertices[used], corners.reshape(-1, 3)


def crowd(middles: np.ndarray, sizes: np.ndarray | float = 1.0, *, turned: bool = True) -> Crowd:
    """Balls around the given points (b, 3) [m], so many times as large as usual."""
    rng = np.random.default_rng(0)
    vertices, corners = ball()
    count = len(middles)
    turns = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0] if turned else np.tile(np.eye(3), (count, 1, 1))
    # a reflection would turn triangles inside out
    turns *= np.linalg.det(turns)[:, None, None]
    scale = np.broadcast_to(np.asarray(sizes, float), count)
    rest = (np.einsum("bij,vj->bvi", turns, vertices) * scale[:, None, None] + middles[:, None]).reshape(-1, 3)
    firsts = len(vertices) * np.arange(count)
    triangles = (corners + firsts[:, None, None]).reshape(-1, 3).astype(np.int32)
    numbers = lambda each: np.repeat(np.arange(count), each).astype(np.int32)
    edge = float(np.median(np.linalg.norm(vertices[corners[:, 0]] - vertices[corners[:, 1]], axis=1)))
    gap = min(GAP_OF_SIZE * 2.0 * 3.0**0.5 * RADIUS, GAP_OF_EDGE * edge)
    none = np.zeros((0, 2), np.int32)
    features = Features(
        np.arange(len(rest), dtype=np.int32),
        triangles,
        none,
        numbers(len(vertices)),
        numbers(len(corners)),
        none[:, 0],
        none,
        np.full(count, SOLID, np.int32),
        np.full(len(rest), 0.5 * gap),
        REACH_OF_EDGE * edge,
        1.0,
    )
    v = SPEED * np.repeat(rng.normal(size=(count, 3)), len(vertices), axis=0)
    return Crowd(features, rest, v)


def heap(bodies: int) -> np.ndarray:
    """Middles of so many balls of the usual size, packed as closely at any number [m] (b, 3)."""
    side = int(np.ceil(bodies ** (1 / 3)))
    places = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return 2.0 * RADIUS * CLOSE * places[np.argsort(places.max(axis=1), kind="stable")[:bodies]]


class AllBoxes(BoxSearch):
    """Particles against the boxes of all other bodies, without the octree."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        table, everyone = self.octree.near, np.arange(self.bodies)
        others = np.concatenate([np.delete(everyone, b) for b in everyone])
        table.room = self.bodies - 1
        table.found = wp.array(others, dtype=int, device=self.device)
        table.count.fill_(table.room)

    def search(self, x: wp.array) -> None:
        self.box(x, self.octree.data.low, self.octree.data.high)
        self.touch(x)


class Searches:
    """All searches over one crowd.

    Args:
        of: the bodies.
        device: where they are.
        brute: look at all pairs too, and at all boxes.

    Attributes:
        seconds_to_build: of each search.
    """

    def __init__(self, of: Crowd, device: str, brute: bool):
        self.device = device
        features = of.features
        bodies = len(features.kind)
        selfs = np.zeros(bodies, bool)
        radius = wp.array(features.radius.astype(np.float32), dtype=float, device=device)
        x, x_next, v = (
            wp.array(part.astype(np.float32), dtype=wp.vec3, device=device)
            for part in (of.rest, of.rest + 0.1 * AHEAD * of.v, of.v)
        )
        there = [x, x_next, v]
        mass = np.ones(len(of.rest))
        makers: dict[str, Callable[[], Any]] = {
            "tree": lambda: Candidates(features, of.rest, selfs, radius, device),
            "hash grid": lambda: HashGrid(features, of.rest, selfs, radius, device),
            "octree": lambda: BoxSearch(features.vertices, features.vertex_body, bodies, radius, mass, device),
        }
        if brute:
            makers["all pairs"] = lambda: BruteForce(features, selfs, radius, device)
            makers["all boxes"] = lambda: AllBoxes(
                features.vertices, features.vertex_body, bodies, radius, mass, device
            )
        args = {"tree": [*there, 0.1 * AHEAD, AHEAD], "octree": [x_next], "all boxes": [x_next]}
        self.finders: dict[str, Any] = {}
        self.seconds_to_build: dict[str, float] = {}
        for name, make in makers.items():
            begin = time.perf_counter()
            finder = make()
            self.seconds_to_build[name] = time.perf_counter() - begin
            self.finders[name] = (finder, args.get(name, [*there, AHEAD]))
            self.issue(name)
            while finder.grow():
                self.issue(name)

    def issue(self, name: str) -> None:
        """Launch one search."""
        finder, args = self.finders[name]
        finder.search(*args)

    def found(self, name: str) -> int:
        """Candidates that a search has found."""
        finder, _ = self.finders[name]
        table = finder.near_triangles if name == "tree" else finder.near
        return int(table.count.numpy()[: table.things].sum())

    def seconds(self, name: str, repeats: int) -> float:
        """Median time of a search [s]."""
        return seconds_per_call(lambda: self.issue(name), self.device, repeats)


def exponent(sizes: Iterable[float], times: Iterable[float]) -> float:
    """The slope of times over sizes, both in logarithms: 1 where time grows with size, 2 with its square."""
    return float(np.polyfit(np.log(list(sizes)), np.log(list(times)), 1)[0])


def run(report: Report, device: str, quick: bool = False, most: int | None = None) -> None:
    kind = "cpu" if device == "cpu" else "cuda"
    limit = most or (3_000 if quick else MOST[kind])
    _scaling(report, device, [n for n in SIZES if n <= limit] or [limit], min(limit, MOST_BRUTE[kind]))
    _degenerate(report, device, 8 if quick else FEW)


def _scaling(report: Report, device: str, sizes: list[int], most_brute: int) -> None:
    """Times of all searches at constant density, and how they grow."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for size in sizes:
        of = crowd(heap(max(2, round(size / len(ball()[0])))))
        searches = Searches(of, device, size <= most_brute)
        count, bodies = len(of.rest), len(of.features.kind)
        for name in searches.finders:
            seconds = searches.seconds(name, 5 if size > 100_000 or name == "all pairs" else 15)
            built = round(searches.seconds_to_build[name], 2)
            sizes_here = {"particles": count, "bodies": bodies, "found": searches.found(name), "s_to_build": built}
            report.add(name, device, "us_per_search", 1e6 * seconds, **sizes_here)
            lines.setdefault(name, []).append((count, seconds))
    for name, line in lines.items():
        if len(line) > 1:
            # below some thousand particles fixed costs count, if there is enough beyond
            part = [point for point in line if point[0] > 5_000]
            part = part if len(part) > 1 else line
            value = exponent(*zip(*part, strict=True))
            report.add(name, device, "exponent", value, particles=f"{part[0][0]} to {part[-1][0]}")


def _degenerate(report: Report, device: str, bodies: int) -> None:
    """All bodies at one point, which Sharma's octree could not make faster; one huge body among many small."""
    spread = heap(bodies)
    among = np.concatenate([spread.mean(axis=0)[None], spread])
    cases = {
        "spread": crowd(spread),
        "all at one point": crowd(np.zeros_like(spread), turned=False),
        "one huge among them": crowd(among, np.where(np.arange(bodies + 1) == 0, HUGE, 1.0)),
    }
    usual: dict[str, float] = {}
    for case, of in cases.items():
        searches = Searches(of, device, brute=True)
        here: dict[str, float] = {}
        for name in searches.finders:
            seconds = searches.seconds(name, 5 if name == "all pairs" else 9)
            found = searches.found(name)
            sizes = {"bodies": len(of.features.kind), "found": found}
            report.add(f"{name}, {case}", device, "ms_per_search", 1e3 * seconds, **sizes)
            report.add(f"{name}, {case}", device, "ns_per_candidate", 1e9 * seconds / max(found, 1))
            here[name] = seconds
            if case != "spread":
                report.add(f"{name}, {case}", device, "over_spread", seconds / usual[name])
        usual = usual or here
        report.add(f"octree, {case}", device, "all_boxes_over_octree", here["all boxes"] / here["octree"])
        report.add(f"tree, {case}", device, "all_pairs_over_tree", here["all pairs"] / here["tree"])


def plot(rows: list[dict[str, Any]], path: str | Path) -> None:
    """Draw the time of a search against the number of particles."""
    plot_steps(rows, path, metric="us_per_search", label="time of a search [ms]")
