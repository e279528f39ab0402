"""Trees made by formula: branches that leave branches, as thick as Leonardo's rule says."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from pliant.mesh.rods import RodMesh
from pliant.mesh.shape_arguments import as_length, as_number, as_whole, bound

GOLDEN = math.pi * (3.0 - math.sqrt(5.0))
"""Angle around a branch from one that leaves it to the next [rad]."""
BARE = 0.3
"""Part of the trunk below its first branch; later branches begin after half of it."""
FEWEST = 3
"""Fewest segments of a branch."""
SHARE = 0.8
"""Length of a branch over what is left of the one that it leaves, beyond where it leaves."""
LEAST_LENGTH = 0.25
"""The same over the whole of that branch, at least."""


def tree(
    height: float = 3.0,
    radius: float = 0.06,
    levels: int = 4,
    branches: int = 7,
    angle: float = 50.0,
    taper: float = 0.15,
    segments: int = 16,
    crook: float = 8.0,
    lift: float = 0.3,
    seed: int = 0,
) -> RodMesh:
    """A tree of branching rods, its root at the origin, growing up.

    Where a branch leaves, the areas of the cross sections before and after are equal (Leonardo da Vinci's rule); the
    last twigs taper to their tips. The same seed gives the same tree.

    Args:
        height: length of the trunk [m].
        radius: of the trunk at its root [m].
        levels: orders of branches, the trunk counted.
        branches: that leave the trunk, and each of the branches but the last.
        angle: of a branch to the one that it leaves [degrees].
        taper: radius at the end of a branch over that at its beginning.
        segments: of the trunk; branches have about as many for their length, at least three.
        crook: largest random angle from segment to segment [degrees].
        lift: how far branches bend up, from -1 (they hang) to 1.
        seed: what the random numbers follow from.
    """
    height, radius = as_length(height, "tree(height)"), as_length(radius, "tree(radius)")
    levels, branches = as_whole(levels, "tree", "levels"), as_whole(branches, "tree", "branches")
    segments = as_whole(segments, "tree", "segments")
    bound(FEWEST * branches ** (levels - 1) + segments, "tree(levels)")
    grower = _Grower(
        levels,
        branches,
        math.radians(as_number(angle, "tree", "angle")),
        as_number(taper, "tree", "taper"),
        height / segments,
        math.radians(as_number(crook, "tree", "crook")),
        as_number(lift, "tree", "lift"),
        np.random.default_rng(as_whole(seed, "tree", "seed")),
    )
    grower.vertices.append(np.zeros(3))
    todo = [_Branch(0, np.array([0.0, 1.0, 0.0]), height, radius, 1, 0.0)]
    while todo:
        todo += grower.grow(todo.pop(0))
    return RodMesh(np.array(grower.vertices), np.array(grower.segments), np.array(grower.radii), "tree")


@dataclasses.dataclass
class _Branch:
    """A branch before it has grown: the vertex it leaves, its direction, length [m] and radius [m], its order."""

    start: int
    way: np.ndarray
    length: float
    radius: float
    level: int
    around: float


@dataclasses.dataclass
class _Grower:
    """Grows branches; the settings are those of `tree`, angles in radians."""

    levels: int
    branches: int
    angle: float
    taper: float
    step: float
    crook: float
    lift: float
    random: np.random.Generator
    vertices: list[np.ndarray] = dataclasses.field(default_factory=list)
    segments: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    radii: list[float] = dataclasses.field(default_factory=list)

    def grow(self, branch: _Branch) -> list[_Branch]:
        """Add the vertices of a branch; returns those that leave it."""
        last = branch.level == self.levels
        # room for the branches that leave it, two at a vertex
        least = FEWEST if last else max(FEWEST, 1 + self.branches // 2)
        count = max(least, round(branch.length / self.step))
        leaving = np.zeros(0, np.int64) if last else self._places(branch, count)
        areas = self._areas(branch, leaving, count)
        here, way = self.vertices[branch.start], branch.way
        before = branch.start
        found: list[_Branch] = []
        left = branch.radius**2
        for k in range(1, count + 1):
            radius = math.sqrt(left)
            if last:
                # a twig tapers evenly
                radius = branch.radius * (1.0 - (1.0 - self.taper) * (k - 1) / (count - 1))
            here = here + branch.length / count * way
            self.vertices.append(here)
            self.segments.append((before, len(self.vertices) - 1))
            self.radii.append(radius)
            before = len(self.vertices) - 1
            for number in np.flatnonzero(leaving == k):
                around = branch.around + GOLDEN * number + self.random.uniform(-0.4, 0.4)
                rest = (1.0 - k / count) * branch.length
                length = max(SHARE * rest, LEAST_LENGTH * branch.length) * self.random.uniform(0.8, 1.2)
                direction = self._aside(way, self.angle * self.random.uniform(0.8, 1.2), around)
                found.append(_Branch(before, direction, length, math.sqrt(areas[number]), branch.level + 1, around))
                left -= areas[number]
            way = self._onward(way, branch.level)
        return found

    def _places(self, branch: _Branch, count: int) -> np.ndarray:
        """After which segment each branch leaves, from the root up; not at the tip."""
        first = BARE if branch.level == 1 else 0.5 * BARE
        part = np.linspace(first, 1.0, self.branches, endpoint=False)
        part = part + self.random.uniform(0.0, (1.0 - first) / self.branches, self.branches)
        return np.clip(np.rint(part * count), 1, max(count - 1, 1)).astype(np.int64)

    def _areas(self, branch: _Branch, leaving: np.ndarray, count: int) -> np.ndarray:
        """Square of the radius of each branch that leaves [m^2]; they take all that the branch loses by its taper."""
        rest = 1.0 - leaving / count
        share = np.maximum(SHARE * rest, LEAST_LENGTH) * self.random.uniform(0.8, 1.2, len(leaving))
        return branch.radius**2 * (1.0 - self.taper**2) * share / share.sum() if len(leaving) else share

    def _aside(self, way: np.ndarray, angle: float, around: float) -> np.ndarray:
        """A direction at an angle to another, turned around it."""
        axis = np.eye(3)[np.abs(way).argmin()]
        first = np.cross(way, axis)
        first /= np.linalg.norm(first)
        second = np.cross(way, first)
        return math.cos(angle) * way + math.sin(angle) * (math.cos(around) * first + math.sin(around) * second)

    def _onward(self, way: np.ndarray, level: int) -> np.ndarray:
        """The direction of the next segment: a little astray, and up."""
        bend = self.crook * (0.5 if level == 1 else 1.0) * math.sqrt(self.random.uniform())
        way = self._aside(way, bend, self.random.uniform(0.0, math.tau))
        way = way + np.array([0.0, 0.25 * self.lift, 0.0])
        return way / np.linalg.norm(way)
