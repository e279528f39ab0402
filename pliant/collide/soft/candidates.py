"""Candidates: what may touch in the next steps, found by trees of boxes, with tables that grow when they are full."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import warp as wp

from pliant.collide.soft import candidate_kernels as kernels
from pliant.collide.soft import watch_kernels
from pliant.collide.soft.features import THIN, Features
from pliant.collide.soft.tree import Tree, fit_trees
from pliant.collide.soft.tree_kernels import Course
from pliant.launch import launch, repeat_while
from pliant.model.particles import ASIDE

CHUNK = 64
"""Items that a CPU thread takes at once: handing a kernel's tables to it costs more than a simple item."""


LANES = 8
"""CUDA threads that walk through a tree together, see `find_overlaps`."""
GROUP = 32
"""Vertices, neighbours in space, that are expected to go on with one velocity."""


def launch_chunks(kernel: object, things: int, inputs: list, outputs: list, device: str) -> None:
    """Launch a kernel whose first parameter after `start` is how many items a thread takes."""
    chunk = CHUNK if device == "cpu" else 1
    launch(kernel, -(-things // chunk), [chunk, *inputs], outputs, device=device, grain=8, block_dim=128)


def launch_walks(kernel: object, things: int, inputs: list, outputs: list, device: str, is_shared: bool = True) -> None:
    """Launch a kernel whose first parameters after `start` are how many items a thread takes, and how many threads
    share one: several on CUDA, where it is so."""
    lanes = LANES if is_shared and device != "cpu" else 1
    launch_chunks(kernel, lanes * things, [lanes, *inputs], outputs, device)


class Table:
    """A list of numbers for each of several things, with the same room for all.

    Attributes:
        room: numbers that fit into each list.
        found: the lists, one after the other. count: how many each should hold, also where they do not fit.
    """

    def __init__(self, things: int, room: int, device: str):
        self.things, self.device = things, device
        self.count = wp.zeros(max(things, 1), dtype=int, device=device)
        self._make(room)

    def _make(self, room: int) -> None:
        self.room = room
        self.found = wp.zeros(max(self.things * room, 1), dtype=int, device=self.device)

    def grow(self) -> bool:
        """Make room for the longest list; whether there was too little."""
        longest = int(self.count.numpy().max(initial=0))
        if longest <= self.room:
            return False
        self._make(2 ** int(np.ceil(np.log2(1.25 * longest))))
        return True

    def pairs(self) -> np.ndarray:
        """Each thing with each number of its list, read back (k, 2)."""
        count = np.minimum(self.count.numpy()[: self.things], self.room)
        lists = self.found.numpy()[: self.things * self.room].reshape(self.things, self.room)
        used = np.arange(self.room) < count[:, None]
        return np.stack([np.nonzero(used)[0], lists[used]], axis=1).astype(np.int64)


class Pairs:
    """All candidates one by one, for CUDA, and marks of those that are worth a close look; see `Near` and `Marks`."""

    def __init__(self, vertices: Table, edges: Table, device: str):
        self.vertices, self.edges, self.device = vertices, edges, device
        self.things = vertices.things + edges.things
        self.count = wp.zeros(1, dtype=int, device=device)
        self.marks = kernels.Marks()
        self.marks.hots = wp.zeros(1, dtype=int, device=device)
        self.marks.hot = wp.zeros(max(self.things, 1), dtype=int, device=device)
        self._make(2 * self.things)
        self._make_marks()

    def _make(self, room: int) -> None:
        self.room = room
        self.found = wp.zeros(max(room, 1), dtype=wp.vec2i, device=self.device)

    def _make_marks(self) -> None:
        self.marks.words = 1 + -(-max(self.vertices.room, self.edges.room) // 32)
        self.marks.bits = wp.zeros(max(self.things * self.marks.words, 1), dtype=int, device=self.device)

    def fill(self, full: wp.array) -> None:
        """List the candidates of the tables."""
        one, two = self.vertices, self.edges
        inputs = [one.count, one.room, one.things, two.count, two.room, self.room]
        launch(kernels.list_pairs, self.things, inputs, [self.found, self.count, full], device=self.device)

    def grow(self) -> bool:
        """Make room for all; whether there was too little. To be called when the tables have grown."""
        self._make_marks()
        total = int(self.count.numpy()[0])
        if total <= self.room:
            return False
        self._make(2 * total)
        return True


class Candidates:
    """Pairs of vertices and triangles, and of edges, that may touch soon.

    Args:
        features: what can touch.
        rest: rest positions of all particles [m].
        selfs: bodies that may meet themselves (b,) bool.
        clans: bodies of one of these do not meet each other here, -1 for none (b,).
        radius: what is kept free around each particle [m], on the device.
        device: where they are.
        more: see `Tree`.

    Attributes:
        triangles, edges: the trees.
        partners: bodies near each body. near_triangles: candidates of each vertex, as places in the tree of triangles;
            near_edges: those of each place in the tree of edges, behind it.
        deep: the triangle, as its place in the tree, that is nearest to a vertex which is further inside a solid than
            the reach; negative for others, see `candidate_kernels`.
        turn: how many searches there were. entangled: the last of them in which each body was deep inside another.
        full: set when a table had too little room.
        awake: 1 for bodies that move; those that sleep do not meet each other.
        sort: done after each search, where candidates need it.
        pairs: all of them one by one, on CUDA.
    """

    def __init__(
        self,
        features: Features,
        rest: np.ndarray,
        selfs: np.ndarray,
        radius: wp.array,
        device: str,
        more: np.ndarray | None = None,
        clans: np.ndarray | None = None,
    ):
        self.device = device
        self.radius = radius
        self.reach = features.reach
        # two that stray towards each other must not meet unseen; solids that do are found in the next step
        self.stray = 0.45 if (features.kind == THIN).any() else 0.8
        self.bodies = len(features.kind)
        self.triangles = Tree(features.triangles, features.triangle_body, self.bodies, rest, device, more)
        self.edges = Tree(features.edges[:, [0, 1, 1]], features.edge_body, self.bodies, rest, device, more)
        self.sort: Callable[[], None] | None = None
        ints = lambda values: wp.array(np.ascontiguousarray(values, np.int32), dtype=int, device=device)
        self.vertex, self.vertex_body = ints(features.vertices), ints(features.vertex_body)
        self.edge_body = ints(features.edge_body[self.edges.order])
        self.selfs, self.kind = ints(selfs), ints(features.kind)
        self.clans = ints(np.full(self.bodies, -1) if clans is None else clans)
        self.deep = ints(np.full(max(len(features.vertices), 1), -1))
        count = len(features.vertices)
        # what is not there now is of a body behind all others, which is near none
        self.partners = Table(self.bodies + 1, min(self.bodies, 16), device)
        # on CUDA all that boxes touch is listed at first
        room = 16 if device == "cpu" else 32
        self.near_triangles = Table(count, room, device)
        self.near_edges = Table(self.edges.count, room, device)
        self.pairs = Pairs(self.near_triangles, self.near_edges, device) if device != "cpu" else None
        self.pair_count = wp.zeros(1, dtype=int, device=device) if self.pairs is None else self.pairs.count
        self.full = wp.zeros(1, dtype=int, device=device)
        self.awake = wp.ones(self.bodies, dtype=int, device=device)
        self.stale = wp.ones(1, dtype=int, device=device)
        self.age = wp.zeros(1, dtype=float, device=device)
        self.fastest, self.ahead = (wp.zeros(1, dtype=float, device=device) for _ in range(2))
        self.x_found = wp.zeros(max(count, 1), dtype=wp.vec3, device=device)
        self.v_found, self.astray = (wp.zeros(len(rest), dtype=wp.vec3, device=device) for _ in range(2))
        self.turn = wp.zeros(1, dtype=int, device=device)
        self.entangled = wp.zeros(
            max(self.bodies, 1) + (0 if more is None else len(more) + 1), dtype=int, device=device
        )
        starts = np.searchsorted(features.vertex_body, np.arange(self.bodies + 1))
        cuts = [np.arange(first, end, GROUP) for first, end in itertools.pairwise(starts.tolist())]
        # those that are set aside wait alone
        alone = np.flatnonzero((rest[features.vertices] == ASIDE).all(axis=1))
        self.group_starts = ints(np.unique(np.concatenate([*cuts, alone, [count]])))
        self.groups = len(self.group_starts) - 1

    def follow(self, x: wp.array, x_next: wp.array, v: wp.array, dt: float, frame: float) -> None:
        """Look for candidates again, if those there are may miss something in a step of dt [s] from x to x_next.

        Args:
            x, v: where the step begins [m], and how fast [m/s].
            x_next: where it ends.
            frame: the longest time for which new candidates serve [s].
        """
        watch = [self.vertex, x_next, self.x_found, self.v_found, self.astray, self.age, self.stray * self.reach]
        launch(watch_kernels.grow_older, 1, [dt, self.ahead], [self.age, self.stale], device=self.device)
        launch(watch_kernels.look_for_strays, len(self.vertex), watch, [self.stale], device=self.device)
        repeat_while(self.stale, lambda: self.search(x, x_next, v, dt, frame), device=self.device)

    def search(self, x: wp.array, x_next: wp.array, v: wp.array, dt: float, frame: float) -> None:
        """Fit the trees and find all candidates."""
        course = Course()
        course.x, course.x_next, course.v, course.astray = x, x_next, self.v_found, self.astray
        course.radius, course.ahead, course.reach = self.radius, self.ahead, self.reach
        count, on_cpu = len(self.vertex), self.device == "cpu"
        lanes = 1 if on_cpu else GROUP
        groups = [lanes, self.vertex, self.group_starts, x, x_next, v, dt]
        found = [self.x_found, self.v_found, self.astray]
        launch(watch_kernels.expect, lanes * self.groups, groups, found, device=self.device, grain=64)
        threads = 1 if on_cpu else min(count, 4096)
        given = [threads, self.vertex, self.v_found]
        launch(watch_kernels.find_fastest, threads, given, [self.fastest], device=self.device)
        found = [self.fastest, self.ahead, self.pair_count]
        launch(watch_kernels.look_ahead, 1, [self.reach, dt, frame], found, device=self.device)
        fit_trees(self.triangles, self.edges, course)
        lanes = 1 if on_cpu else 32
        bodies = [lanes, self.triangles.data, self.selfs, self.clans, self.awake, self.bodies, self.partners.room]
        found = [self.partners.found, self.partners.count, self.full]
        launch(kernels.find_partners, lanes * self.bodies, bodies, found, device=self.device, grain=64)
        near = [self.partners.found, self.partners.count, self.partners.room, course]
        table = self.near_triangles
        inputs = [self.vertex, self.vertex_body, self.kind, self.triangles.data, *near, self.turn, table.room]
        found = [table.found, table.count, self.deep, self.entangled, self.full]
        launch_walks(kernels.find_triangles, table.things, [*inputs, table.things], found, self.device)
        table = self.near_edges
        inputs = [self.edge_body, self.edges.data, *near, table.room, table.things]
        launch_walks(kernels.find_edges, table.things, inputs, [table.found, table.count, self.full], self.device)
        if not on_cpu:
            self._keep(course)
        if self.sort is not None:
            self.sort()
        if self.pairs is not None:
            self.pairs.fill(self.full)
        launch(watch_kernels.close_search, 1, [dt], [self.age, self.stale, self.turn], device=self.device)

    def _keep(self, course: Course) -> None:
        """Of what boxes touch keep what may come near, on CUDA; a walk on the CPU looks at that itself."""
        one, two = self.near_triangles, self.near_edges
        inputs = [LANES, self.vertex, self.triangles.data, self.edges.data, course, one.things, one.room, two.room]
        outputs = [one.found, one.count, two.found, two.count]
        threads = LANES * (one.things + two.things)
        launch(kernels.keep_candidates, threads, inputs, outputs, device=self.device, block_dim=128)

    def arrays(self) -> dict[str, wp.array]:
        """What decides who is looked for inside of solids, and where."""
        return {"turn": self.turn, "deep": self.deep, "entangled": self.entangled}

    def forget(self) -> None:
        """Look for candidates anew in the next step."""
        self.stale.fill_(1)

    def grow(self) -> bool:
        """Make room where a table was full; whether one was."""
        if not self.full.numpy()[0]:
            return False
        self.full.zero_()
        grew = [table.grow() for table in (self.partners, self.near_triangles, self.near_edges)]
        if self.pairs is not None:
            grew.append(self.pairs.grow())
        return any(grew)
