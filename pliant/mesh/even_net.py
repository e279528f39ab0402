"""A triangle net that is being changed in rounds: its tables, and which steps of a round are independent."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh.repair import topology

# A step that is done for its triangles' shape must raise their smallest altitude by this factor, so that rounds end.
GAIN = 1.02
# Cosine of how far a triangle may turn in a step; further counts as turned over.
OWN_TURN = 0.5
# Cosine of how far the outline turns at a corner: 30 degrees.
CORNER = 0.866


@dataclasses.dataclass
class Net:
    """A surface that is being changed.

    Attributes:
        x: vertices (n, 3) [m]; those of no triangle are gone.
        triangles: (k, 3) int64. row: the original triangle of each (k,).
        fixed: vertices that stay as they are (n,) bool.
        corner: corners of the outline (n,) bool.
        error: bound of how far the surface has moved at each vertex (n,) [m]. dent: the same of its outline.
        tolerance: how far the surface may move [m]. slack: how far its outline.
        long: see `shape` [m].
    """

    x: np.ndarray
    triangles: np.ndarray
    row: np.ndarray
    fixed: np.ndarray
    corner: np.ndarray
    error: np.ndarray
    dent: np.ndarray
    tolerance: float
    slack: float
    long: float = np.inf

    def shape(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Unit normals (m, 3), zero if flat, and thicknesses (m,) [m] of triangles (m, 3, 3) [m]."""
        return shape(corners, self.long)

    def thicknesses(self) -> np.ndarray:
        """Thickness of each triangle (k,) [m]."""
        return self.shape(self.x[self.triangles])[1]


def shape(corners: np.ndarray, long: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals (m, 3), zero if flat, and thicknesses (m,) [m] of triangles (m, 3, 3) [m].

    The thickness is the smallest altitude; where the longest edge is above `long` [m], it is that much less.
    """
    side = np.roll(corners, -1, axis=1) - corners
    normal = np.cross(side[:, 0], -side[:, 2])
    doubled = np.linalg.norm(normal, axis=1)
    longest = np.sqrt((side**2).sum(axis=2).max(axis=1, initial=0.0))
    altitude = np.divide(doubled, longest, out=np.zeros(len(corners)), where=longest > 0.0)
    if np.isfinite(long):
        altitude *= long / np.maximum(longest, long)
    return np.divide(normal, doubled[:, None], out=np.zeros_like(normal), where=doubled[:, None] > 0.0), altitude


def fixed_vertices(triangles: np.ndarray, count: int) -> np.ndarray:
    """Vertices where the surface is not a surface (count,) bool: at edges of three triangles or of two that wind
    differently, and where parts touch in a point only."""
    table = topology.edge_table(triangles)
    odd = (table.count > 2) | ((table.count == 2) & (table.balance() != 0.0))
    fixed = np.zeros(count, bool)
    fixed[table.ends[odd].ravel()] = True
    _, fan = topology.fans(table)
    corner = np.unique(triangles.ravel().astype(np.int64) << 32 | fan) >> 32
    return fixed | (np.bincount(corner, minlength=count) > 1)


def corner_vertices(x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Corners of the outline (n,) bool: where it turns by more than `CORNER`."""
    corner = np.zeros(len(x), bool)
    after, before = _outline(topology.edge_table(triangles), triangles, len(x))
    rim = np.flatnonzero((after >= 0) & (before >= 0))
    come, go = x[rim] - x[before[rim]], x[after[rim]] - x[rim]
    straight = np.einsum("ij,ij->i", come, go)
    corner[rim] = straight < CORNER * np.linalg.norm(come, axis=1) * np.linalg.norm(go, axis=1)
    return corner


def _outline(table: topology.EdgeTable, triangles: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The vertex after and before each on the outline (count,) int64, -1 for those inside."""
    free = table.free_sides()
    start, end = triangles.ravel()[free], np.roll(triangles, -1, axis=1).ravel()[free]
    after, before = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    after[start], before[end] = end, start
    return after, before


class Tables:
    """Who is beside whom in a net, for one round."""

    def __init__(self, net: Net):
        n, t = len(net.x), net.triangles
        self.edges = table = topology.edge_table(t)
        ends = table.ends.astype(np.int64)
        self.keys = ends[:, 0] << 32 | ends[:, 1]
        both = np.concatenate([ends, ends[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        self.near = both[order, 1]
        self.near_from = np.searchsorted(both[order, 0], np.arange(n + 1))
        corner = t.ravel()
        order = np.argsort(corner, kind="stable")
        self.fan = order // 3
        self.fan_from = np.searchsorted(corner[order], np.arange(n + 1))
        self.after, self.before = _outline(table, t, n)
        self.rim = (self.after >= 0) | (self.before >= 0)

    def joined(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether an edge joins vertices a and b (m,)."""
        key = np.minimum(a, b) << 32 | np.maximum(a, b)
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return self.keys[place] == key

    def around(self, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Triangles around vertices (m,): the place in `vertices` and the triangle, one row for each."""
        return _spread(vertices, self.fan_from, self.fan)

    def beside(self, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Neighbours of vertices (m,): the place in `vertices` and the neighbour, one row for each."""
        return _spread(vertices, self.near_from, self.near)


def _spread(picked: np.ndarray, first: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = first[picked + 1] - first[picked]
    owner = np.repeat(np.arange(len(picked)), count)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    return owner, items[first[picked][owner] + within]


def ranks(size: np.ndarray) -> np.ndarray:
    """Order of steps: by size in steps of a factor of two, mixed within so that neighbours seldom wait in a row."""
    grade = np.floor(np.log2(np.maximum(size, np.finfo(float).tiny)))
    mixed = (np.arange(len(size), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    rank = np.empty(len(size), np.int64)
    rank[np.lexsort((mixed, grade))] = np.arange(len(size))
    return rank


def first_of(owner: np.ndarray, triangle: np.ndarray, rank: np.ndarray, count: int) -> np.ndarray:
    """Which steps (m,) have the lowest rank of all at each triangle they change."""
    best = np.full(count, len(rank), np.int64)
    np.minimum.at(best, triangle, rank[owner])
    return np.bincount(owner[best[triangle] != rank[owner]], minlength=len(rank)) == 0
