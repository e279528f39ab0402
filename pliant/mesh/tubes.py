"""Tubes: how rods are seen, as rings along smooth curves through their vertices, closed at the ends of each chain."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from pliant.mesh.look import Look
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh

SIDES = ((3_000, 8), (6_000, 6), (100_000, 4))
"""Sides of a tube for at most so many segments in all; more have three."""
FEWEST_SIDES = 3
STEPS = ((3_000, 4), (40_000, 2))
"""Rings for each segment, for at most so many segments in all; more have one."""
FEWEST_STEPS_TO_BREAK = 3
"""Rings for each segment of rods that can break: of a broken one those between its ends close both of them."""
CAP = 0.6
"""How far a closed end reaches beyond its ring, over the ring's radius."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tubes:
    """Rings along chains of vertices, each chain closed at both ends.

    A chain runs from a root to a tip, or from the vertex where it leaves another chain. Its rings lie on a smooth curve
    through its vertices: between two of them a cubic whose slopes at both are those of the parabola through the vertex
    and its neighbours (Catmull and Rom 1974, with the lengths at rest as parameter). Vertices of the surface are those
    of the rings, ring by ring, and then the first and last pole of each chain.

    Attributes:
        spans: the four vertices that place the middle of each ring (r, 4) int32, chain after chain, and
        weights: their weights (r, 4), which add up to 1.
        chains: first ring of each chain, and the number of rings (c + 1,) int32.
        radius: of each ring, the mean of the segments at it, or the one that is to be seen [m] (r,).
        sides: vertices of a ring.
        first: direction of each chain's first segment at rest (c, 3), a unit vector.
        across: where the first vertex of its first ring lies, seen from the middle (c, 3), a unit vector.
        length: way along the chain to each ring at rest [m] (r,).
    """

    spans: np.ndarray
    weights: np.ndarray
    chains: np.ndarray
    radius: np.ndarray
    sides: int
    first: np.ndarray
    across: np.ndarray
    length: np.ndarray

    @staticmethod
    def of(mesh: RodMesh, sides: int | None = None, steps: int | None = None, *, breaks: bool = False) -> Tubes:
        """The tubes of rods.

        Args:
            mesh: the rods as they are at rest.
            sides: of a tube; fewer for more segments if not given.
            steps: rings for each segment; fewer for more segments if not given.
            breaks: whether segments can break: they then have enough rings for that.
        """
        sides = _for_count(len(mesh.segments), SIDES, FEWEST_SIDES) if sides is None else sides
        steps = _for_count(len(mesh.segments), STEPS, 1) if steps is None else steps
        steps = max(steps, FEWEST_STEPS_TO_BREAK) if breaks else steps
        knots, chains = _chains(mesh)
        is_first, is_last = np.zeros(len(knots), bool), np.zeros(len(knots), bool)
        is_first[chains[:-1]], is_last[chains[1:] - 1] = True, True
        lengths = np.linalg.norm(np.diff(mesh.vertices[knots], axis=0, append=0.0), axis=1)
        lengths[is_last] = 1.0
        total = np.cumsum(np.where(is_last, 0.0, lengths))
        length = np.insert(total, 0, 0.0)[:-1]
        length -= np.repeat(length[chains[:-1]], np.diff(chains))

        by_child = np.zeros(len(mesh.vertices))
        turned = mesh.parents[mesh.segments[:, 1]] != mesh.segments[:, 0]
        by_child[np.where(turned, mesh.segments[:, 0], mesh.segments[:, 1])] = mesh.radius
        before, after = by_child[knots], np.roll(by_child[knots], -1)
        radius = np.where(is_first, after, np.where(is_last, before, 0.5 * (before + after)))
        if mesh.seen_radius is not None:
            radius = np.full(len(knots), mesh.seen_radius)

        # rings: `steps` from each knot on, and one for the last of a chain
        count = np.where(is_last, 1, steps)
        knot = np.repeat(np.arange(len(knots)), count)
        starts = np.cumsum(count) - count
        part = (np.arange(len(knot)) - starts[knot]) / steps
        ahead = np.where(is_last, np.arange(len(knots)), np.arange(len(knots)) + 1)
        behind = np.where(is_first, np.arange(len(knots)), np.arange(len(knots)) - 1)
        ends = np.stack([behind[knot], knot, ahead[knot], ahead[ahead[knot]]], axis=1)
        weights = _cubic(part, ends, lengths)
        first = _unit(mesh.vertices[knots[chains[:-1] + 1]] - mesh.vertices[knots[chains[:-1]]])
        return Tubes(
            knots[ends].astype(np.int32),
            weights,
            np.append(starts[chains[:-1]], len(knot)).astype(np.int32),
            radius[knot] + part * (radius[ahead[knot]] - radius[knot]),
            sides,
            first,
            _some_normal(first),
            length[knot] + part * np.where(is_last, 0.0, lengths)[knot],
        )

    @functools.cached_property
    def centres(self) -> np.ndarray:
        """The rods' vertex nearest to the middle of each ring, along its chain (r,) int32."""
        return np.take_along_axis(self.spans, self.weights.argmax(axis=1)[:, None], axis=1)[:, 0]

    def middles(self, x: np.ndarray) -> np.ndarray:
        """The middle of each ring [m] (r, 3) float64 for positions of the rods' vertices (n, 3)."""
        return np.einsum("ri,rij->rj", self.weights, np.asarray(x, np.float64)[self.spans])

    def gaps(self, gone: np.ndarray) -> np.ndarray:
        """How each ring stands to broken segments (r,) int32: a sum of what applies.

        1 and 2: it lies within one, and closes the end before or after it; 4 and 8: the segment before or after its own
        is broken.

        Args:
            gone: whether the segment that leads to each of the rods' vertices, from its root, is broken (n,) bool.
        """
        behind, here, ahead, beyond = self.spans.T
        within = gone[ahead] & (ahead != here) & (self.weights[:, 2] != 0.0)
        # the middle ring closes the end before it
        second = self.weights[:, 2] > self.weights[:, 1] + 1e-6
        found = np.where(within, np.where(second, 2, 1), 0)
        found += 4 * (gone[here] & (here != behind)) + 8 * (gone[beyond] & (beyond != ahead))
        return found.astype(np.int32)

    @property
    def rings(self) -> int:
        return len(self.spans)

    @property
    def count(self) -> int:
        """Number of vertices of the surface."""
        return self.rings * self.sides + 2 * (len(self.chains) - 1)

    @functools.cached_property
    def circle(self) -> np.ndarray:
        """Cosine and sine of the angle of each side (sides, 2)."""
        angle = math.tau * np.arange(self.sides) / self.sides
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def hosts(self) -> np.ndarray:
        """The rods' vertex that each vertex of the surface belongs to (n,) int64."""
        ends = np.stack([self.centres[self.chains[:-1]], self.centres[self.chains[1:] - 1]], axis=1)
        return np.concatenate([np.repeat(self.centres, self.sides), ends.reshape(-1)]).astype(np.int64)

    def host(self, vertex: int) -> np.ndarray:
        """The rods' vertex that one vertex of the surface belongs to (1,) int64."""
        chain, end = divmod(vertex - self.rings * self.sides, 2)
        ring = vertex // self.sides if chain < 0 else int(self.chains[chain + end]) - end
        return self.centres[ring : ring + 1].astype(np.int64)

    def triangles(self) -> np.ndarray:
        """Triangles of the surface (k, 3) int32: those between rings, then those of the ends."""
        side, after = np.arange(self.sides), np.roll(np.arange(self.sides), -1)
        has_next = np.ones(self.rings, bool)
        has_next[self.chains[1:] - 1] = False
        below = (np.flatnonzero(has_next) * self.sides)[:, None]
        above = below + self.sides
        a, b, c, d = below + side, below + after, above + after, above + side
        walls = np.stack([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)], axis=2).reshape(-1, 3)
        pole = (self.rings * self.sides + 2 * np.arange(len(self.chains) - 1))[:, None]
        start, end = self.chains[:-1, None] * self.sides, (self.chains[1:, None] - 1) * self.sides
        caps = [
            np.stack(np.broadcast_arrays(pole, start + after, start + side), axis=-1),
            np.stack(np.broadcast_arrays(pole + 1, end + side, end + after), axis=-1),
        ]
        return np.concatenate([walls, *(cap.reshape(-1, 3) for cap in caps)]).astype(np.int32)

    def uv(self) -> np.ndarray:
        """Texture coordinates of the triangles' corners (k, 3, 2) float32.

        u goes once around the tube, v along the chain, by 1 for the circumference at its beginning.
        """
        triangles = self.triangles()
        chain = np.repeat(np.arange(len(self.chains) - 1), np.diff(self.chains))
        along = self.length / (math.tau * self.radius[self.chains[:-1]][chain])
        ends = np.stack([along[self.chains[:-1]], along[self.chains[1:] - 1]], axis=1)
        v = np.concatenate([np.repeat(along, self.sides), ends.reshape(-1)])
        u = np.concatenate([np.tile(np.arange(self.sides) / self.sides, self.rings), np.full(ends.size, 0.5)])
        found = np.stack([u[triangles], v[triangles]], axis=-1)
        # the last side ends at 1 and not at the 0 that the first one begins with
        seam = (triangles % self.sides == 0) & (triangles < self.rings * self.sides)
        found[..., 0] += seam & (found[..., 0].max(axis=1, keepdims=True) > 0.5)
        return found.astype(np.float32)

    def frames(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Direction along the chain at each ring, and to its first vertex: unit vectors (r, 3) float64, twice.

        The first ring of a chain is turned from its place at rest by the smallest rotation that turns the first
        segment, and each other ring likewise from the one before it: there is no twist, and no history. A segment that
        folds back on the one before turns about any axis across it.

        Args:
            x: positions of the rods' vertices [m] (n, 3).
        """
        points = self.middles(x)
        lengths = np.diff(self.chains)
        chain = np.repeat(np.arange(len(lengths)), lengths)
        number = np.arange(self.rings) - self.chains[chain]
        along = self._directions(points, chain, number)
        before = np.where((number == 0)[:, None], self.first[chain], np.roll(along, 1, axis=0))
        axis = np.where((number == 0)[:, None], self.across[chain], _some_normal(before))
        # the rotation from the chain's beginning to each ring: those of twice as many rings in each round
        turn = _rotations(before, along, axis)
        reach = 1
        while reach < lengths.max(initial=0):
            far = np.flatnonzero(number >= reach)
            turn[far] = turn[far] @ turn[far - reach]
            reach *= 2
        across = np.einsum("rij,rj->ri", turn, self.across[chain])
        across -= np.einsum("ij,ij->i", across, along)[:, None] * along
        return along, _unit(across)

    def _directions(self, points: np.ndarray, chain: np.ndarray, number: np.ndarray) -> np.ndarray:
        """Direction of the chain at each ring (r, 3): the mean of those to the ring before and from it to the next."""
        is_last = np.arange(self.rings) == self.chains[chain + 1] - 1
        way = np.roll(points, -1, axis=0) - points
        size = np.linalg.norm(way, axis=1)
        # where there is no length, and at the end, the direction before goes on; at the beginning that of rest
        known = np.where((size > 0.0) & ~is_last, np.arange(self.rings), -1)
        place = np.maximum.accumulate(known)
        own = place >= self.chains[chain]
        after = np.where(own[:, None], way[np.maximum(place, 0)], self.first[chain])
        after /= np.linalg.norm(after, axis=1, keepdims=True)
        mean = np.where((number > 0)[:, None], np.roll(after, 1, axis=0) + after, after)
        size = np.linalg.norm(mean, axis=1, keepdims=True)
        return np.where(size > 1e-6, mean / np.where(size > 1e-6, size, 1.0), np.roll(after, 1, axis=0))

    def placed(self, x: np.ndarray) -> np.ndarray:
        """Vertices of the surface [m] (count, 3) float64 for positions of the rods' vertices (n, 3)."""
        along, across = self.frames(x)
        points = self.middles(x)
        third = np.cross(along, across)
        out = self.circle[:, :1] * across[:, None] + self.circle[:, 1:] * third[:, None]
        rings = points[:, None] + self.radius[:, None, None] * out
        start, end = self.chains[:-1], self.chains[1:] - 1
        reach = CAP * self.radius[:, None] * along
        poles = np.stack([points[start] - reach[start], points[end] + reach[end]], axis=1)
        return np.concatenate([rings.reshape(-1, 3), poles.reshape(-1, 3)])

    def surface(self, x: np.ndarray, name: str = "") -> SurfaceMesh:
        """The tubes as a surface with texture coordinates, for positions of the rods' vertices [m] (n, 3)."""
        return SurfaceMesh(self.placed(x), self.triangles(), name, (), Look(uv=self.uv()))


def _for_count(count: int, table: tuple[tuple[int, int], ...], least: int) -> int:
    return next((value for most, value in table if count <= most), least)


def _chains(mesh: RodMesh) -> tuple[np.ndarray, np.ndarray]:
    """Vertices of the chains in a row, that which a chain leaves first; and where each begins, and the end."""
    order, count = mesh.depth_first, len(mesh.vertices)
    parents = mesh.parents[order].astype(np.int64)
    begins = np.ones(count, bool)
    begins[1:] = parents[1:] != order[:-1]
    branches = begins & (parents >= 0)
    place = np.arange(count) + np.cumsum(branches)
    knots = np.empty(count + int(branches.sum()), np.int64)
    knots[place] = order
    knots[place[branches] - 1] = parents[branches]
    return knots, np.append((place - branches)[begins], len(knots))


def _cubic(part: np.ndarray, ends: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Weights (r, 4) of the knots `ends` (r, 4) for a point at this part (r,) of the way from the second to the third.

    At the end of a chain, where two of the knots are the same, the curve goes straight on.
    """
    behind, here, ahead, beyond = ends.T
    h = lengths[here]
    t = part[:, None]
    weights = np.zeros((len(part), 4))
    # values and slopes at both ends (cubic Hermite), the slopes by the knots around them
    weights[:, 1:3] = np.concatenate([1.0 - t**2 * (3.0 - 2.0 * t), t**2 * (3.0 - 2.0 * t)], axis=1)
    rise, fall = part * (1.0 - part) ** 2, -(part**2) * (1.0 - part)
    opening, closing = here == behind, beyond == ahead
    a, b = np.where(opening, h, lengths[behind]), np.where(closing, h, lengths[ahead])
    first = [-h * h / (a * (a + h)), (h - a) / a, a / (a + h)]
    last = [-b / (h + b), (b - h) / b, h * h / (b * (h + b))]
    straight = (np.zeros_like(h), -np.ones_like(h), np.ones_like(h))
    for k in range(3):
        weights[:, k] += rise * np.where(opening, straight[k], first[k])
        weights[:, k + 1] += fall * np.where(closing, (*straight[1:], straight[0])[k], last[k])
    weights[here == ahead] = [0.0, 1.0, 0.0, 0.0]
    return weights


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _some_normal(directions: np.ndarray) -> np.ndarray:
    """A unit vector at a right angle to each direction (c, 3)."""
    axis = np.eye(3)[np.abs(directions).argmin(axis=1)]
    return _unit(axis - np.einsum("ij,ij->i", axis, directions)[:, None] * directions)


def _rotations(before: np.ndarray, now: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """The smallest rotations (r, 3, 3) of unit vectors `before` to `now`; half a turn is one about `axis`."""
    cosine = np.einsum("ij,ij->i", before, now)
    v = np.cross(before, now)
    cross = np.zeros((len(v), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    cross -= cross.transpose(0, 2, 1)
    turn = np.eye(3) + cross + cross @ cross / np.maximum(1.0 + cosine, 1e-4)[:, None, None]
    half = cosine <= -0.9999
    turn[half] = 2.0 * axis[half, :, None] * axis[half, None, :] - np.eye(3)
    return turn
