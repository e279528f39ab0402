"""Feet of surface nodes inside a body, and the prisms between both cut into tets.

A node's foot lies below it, as deep as the layer is thick; less deep in thin parts, so that the layers of two sides
never meet. Directions are smoothed over the layer's thickness, so that they fan out in valleys and draw together below
ridges. Where a prism would still turn inside out its feet are drawn to the mean of their neighbours, and if that does
not help, outwards.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.solid.distance import SignedDistance
from pliant.mesh.solid.thickness import thickness_at
from pliant.mesh.surface import EDGE_CORNERS, SurfaceMesh

HALF = 0.42
"""Depth of a foot as a part of the thickness below its node."""
LEAST_COSINE = 0.3
"""Between a node's way inwards and the normals around it; ways are smoothed only as far."""
MOST_SMOOTHING = 60
SETTLE_ROUNDS, STEEPEST_ROUNDS, BLIND = 15, 10, 0.1
SLOPE, STEEPEST_SLOPE = 0.6, 1.0
"""Most that the depth may change over a distance: at first, and where feet are drawn outwards."""
PHASES, SHRINK = (40, 15, 25, 40), 0.85
"""Rounds in which feet are smoothed, drawn outwards, put straight below their nodes, and nodes smoothed."""
SOUND = (0.08, 0.01, 0.01, 0.01)
"""Volume of a tet that is aimed at in each, in thirds of its node triangle times its least depth."""
SHALLOWEST = 0.15
"""Depth that feet are not drawn beyond, in mean edges around a node."""
SAME = 1e-9
"""Distance below which two feet are one, in parts of the body's size."""


@dataclasses.dataclass(frozen=True, eq=False)
class Feet:
    """Feet of n nodes.

    Attributes:
        nodes: (n, 3) [m]. feet: (f, 3) [m]. foot: of each node (n,) int32.
        tets: (m, 4) int32 over nodes, then feet; all positive.
        drawn: nodes whose foot was moved because a prism would have turned over.
        moved: nodes that were moved themselves, because no foot would do.
        dropped: tets that were left out because they stayed inside out.
    """

    nodes: np.ndarray
    feet: np.ndarray
    foot: np.ndarray
    tets: np.ndarray
    drawn: int
    moved: int
    dropped: int


class Net:
    """Triangles over nodes with what is gathered over their neighbours.

    Args:
        triangles: (t, 3), closed.
        count: of nodes.
    """

    def __init__(self, triangles: np.ndarray, count: int):
        self.triangles, self.count = triangles.astype(np.int64), count
        edges = arrays.unique_edges(triangles, EDGE_CORNERS).astype(np.int64)
        self.one, self.two = np.concatenate([edges, edges[:, ::-1]]).T
        self.degree = np.bincount(self.one, minlength=count)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Mean over the neighbours of each node (n, d)."""
        sums = [np.bincount(self.one, values[self.two, k], self.count) for k in range(values.shape[1])]
        return np.stack(sums, axis=1) / self.degree[:, None]

    def spread(self, marked: np.ndarray) -> np.ndarray:
        """Marked nodes and their neighbours (n,) bool."""
        wide = marked.copy()
        wide[self.two[marked[self.one]]] = True
        return wide


def ways_inward(nodes: np.ndarray, net: Net, thickness: float) -> np.ndarray:
    """Unit directions inwards (n, 3), smoothed over about the thickness of the layer [m]."""
    normals, ways = _normals(nodes, net)
    spacing = float(np.linalg.norm(nodes[net.one] - nodes[net.two], axis=1).mean())
    for _ in range(int(np.clip((thickness / spacing) ** 2, 4, MOST_SMOOTHING))):
        smooth = _unit(0.5 * ways + 0.5 * net.mean(ways))
        good = _least_cosine(smooth, normals, net) >= LEAST_COSINE
        ways[good] = smooth[good]
    return -ways


def settled(nodes: np.ndarray, net: Net) -> tuple[np.ndarray, int]:
    """Nodes (n, 3) [m] of which each sees all triangles around it from below, and how many had to be moved for it.

    A node does not where the surface was sampled so coarsely that it folds; it is drawn to the mean of its neighbours.
    """
    moved = np.zeros(net.count, bool)
    for _ in range(SETTLE_ROUNDS):
        normals, ways = _normals(nodes, net)
        blind = _least_cosine(ways, normals, net) < BLIND
        if not blind.any():
            break
        moved |= blind
        nodes = np.where(blind[:, None], 0.5 * (nodes + net.mean(nodes)), nodes)
    return nodes, int(moved.sum())


def _normals(nodes: np.ndarray, net: Net) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals of triangles (t, 3), and ways out of the nodes (n, 3) that see all triangles around, if any does."""
    corners = nodes[net.triangles]
    normals = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    sides = np.roll(corners, -1, axis=1) - corners
    lengths = np.linalg.norm(sides, axis=2)
    back = np.roll(sides, 1, axis=1)
    cosine = -(sides * back).sum(axis=2) / np.maximum(lengths * np.roll(lengths, 1, axis=1), 1e-300)
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    flat = net.triangles.ravel()
    ways = [np.bincount(flat, (angle * normals[:, None, k]).ravel(), net.count) for k in range(3)]
    return normals, _steepest(_unit(np.stack(ways, axis=1)), normals, net)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)


def _least_cosine(ways: np.ndarray, normals: np.ndarray, net: Net) -> np.ndarray:
    """Smallest cosine between a node's way out and the normals of its triangles (n,)."""
    least = np.full(net.count, np.inf)
    np.minimum.at(least, net.triangles.ravel(), (ways[net.triangles] * normals[:, None]).sum(axis=2).ravel())
    return least


def _steepest(ways: np.ndarray, normals: np.ndarray, net: Net) -> np.ndarray:
    """Ways turned towards the normal they see least, where one is nearly behind them."""
    ways = ways.copy()
    for _ in range(STEEPEST_ROUNDS):
        seen = (ways[net.triangles] * normals[:, None]).sum(axis=2)
        low = _least_cosine(ways, normals, net)
        if (low >= LEAST_COSINE).all():
            break
        row, corner = np.nonzero((seen <= low[net.triangles]) & (seen < LEAST_COSINE))
        step = np.zeros_like(ways)
        step[net.triangles[row, corner]] = normals[row]
        trial = _unit(ways + 0.2 * step)
        better = _least_cosine(trial, normals, net) > low
        if not better.any():
            break
        ways[better] = trial[better]
    return ways


def depths(nodes: np.ndarray, ways: np.ndarray, net: Net, thickness: float, distance: SignedDistance) -> np.ndarray:
    """How deep each foot may lie (n,) [m]: the layer's thickness, less in thin parts, changing gently."""
    below = thickness_at(distance, nodes, -ways, 2.0 * thickness / HALF)
    depth = np.minimum(thickness, HALF * below)
    length = np.linalg.norm(nodes[net.one] - nodes[net.two], axis=1)
    for _ in range(200):
        limit = np.full(net.count, np.inf)
        np.minimum.at(limit, net.one, depth[net.two] + SLOPE * length)
        lower = np.minimum(depth, limit)
        if (depth - lower).max() <= 1e-3 * thickness:
            return lower
        depth = lower
    return depth


def prisms(triangles: np.ndarray, foot: np.ndarray, count: int) -> np.ndarray:
    """Three tets for each triangle of nodes and its feet (3 t, 4) int64; tets of a triangle are neighbours.

    The side between two nodes is cut from the foot of the smaller to the larger node, so that neighbours agree.
    """
    triangles = triangles.astype(np.int64)
    order = np.argsort(triangles, axis=1)
    a, b, c = np.take_along_axis(triangles, order, axis=1).T
    fa, fb, fc = (count + foot.astype(np.int64)[k] for k in (a, b, c))
    tets = np.stack([np.stack(t, axis=1) for t in ((fa, fb, fc, c), (fa, fb, c, b), (fa, a, b, c))], axis=1)
    # corners 0 1 2, 1 2 0 and 2 0 1 turn the same way as the triangle
    odd = (order[:, 1] - order[:, 0]) % 3 == 2
    tets[odd] = tets[odd][:, :, [0, 1, 3, 2]]
    return tets.reshape(-1, 4)


def tet_volumes(points: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Signed volumes (m,) [m^3]."""
    a, b, c, d = (points[tets[:, k]] for k in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


def place_feet(nodes: np.ndarray, triangles: np.ndarray, reach: np.ndarray, distance: SignedDistance) -> Feet:
    """Feet at ``nodes + reach``, moved where prisms would turn inside out or feet lie outside.

    First feet are drawn to the mean of their neighbours, then outwards, then straight below their nodes; at last nodes
    that no foot is sound for are drawn to the mean of their neighbours themselves.

    Args:
        nodes: (n, 3) [m]. triangles: of them (t, 3), closed.
        reach: from each node to where its foot should be (n, 3) [m].
        distance: to the surface that the feet must lie inside.
    """
    count = len(nodes)
    net = Net(triangles, count)
    tets = prisms(triangles, np.arange(count), count)
    nodes, reach = nodes.copy(), reach.copy()
    length = np.linalg.norm(nodes[net.one] - nodes[net.two], axis=1)
    spacing = np.bincount(net.one, length, count) / net.degree
    straight: np.ndarray | None = None
    floor = np.minimum(SHALLOWEST * spacing, np.linalg.norm(reach, axis=1))
    drawn, moved = np.zeros(count, bool), np.zeros(count, bool)
    for k in range(sum(PHASES)):
        phase = int(np.searchsorted(np.cumsum(PHASES), k, side="right"))
        bad = _bad(nodes, reach, tets, net, SOUND[phase])
        if not bad.any():
            break
        drawn |= bad
        if phase == 0:
            wide = net.spread(bad)
            reach[wide] = 0.5 * (reach[wide] + net.mean(reach)[wide])
            continue
        depth = np.linalg.norm(reach, axis=1)
        if phase == 3:
            last = bad & (depth <= 1.001 * floor)
            nodes[last] = 0.5 * (nodes[last] + net.mean(nodes)[last])
            moved |= last
        if phase >= 2:
            # means of ways may point past a triangle; straight ones do not, and are sound once they are short
            straight = -_normals(nodes, net)[1] if straight is None or phase == 3 else straight
            reach[bad] = depth[bad, None] * straight[bad]
        target = np.where(bad, np.maximum(SHRINK * depth, floor), depth)
        # a shallow foot beside a deep one turns their prism over sooner or later
        limit = np.full(count, np.inf)
        np.minimum.at(limit, net.one, target[net.two] + STEEPEST_SLOPE * length)
        reach *= (np.minimum(target, limit) / np.maximum(depth, 1e-300))[:, None]
    if moved.any():
        distance = SignedDistance(SurfaceMesh(nodes, triangles), distance.device)
    for _ in range(20):
        out = distance.at(nodes + reach) >= 0.0
        if not out.any():
            break
        drawn |= out
        reach[out] *= 0.5
    size = float(np.ptp(nodes, axis=0).max())
    return _numbered(nodes, nodes + reach, tets, size, int(drawn.sum()), int(moved.sum()))


def _bad(nodes: np.ndarray, reach: np.ndarray, tets: np.ndarray, net: Net, least: float) -> np.ndarray:
    """Nodes of prisms with a tet below the least volume (n,) bool."""
    corners = nodes[net.triangles]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    volumes = tet_volumes(np.concatenate([nodes, nodes + reach]), tets).reshape(-1, 3)
    deep = np.linalg.norm(reach, axis=1)[net.triangles].min(axis=1)
    bad = np.zeros(len(nodes), bool)
    bad[net.triangles[(volumes < (least * area * deep / 3.0)[:, None]).any(axis=1)]] = True
    return bad


def _numbered(nodes: np.ndarray, feet: np.ndarray, tets: np.ndarray, size: float, drawn: int, moved: int) -> Feet:
    """Feet at one place made one, and tets that are flat or stayed inside out left out."""
    count = len(nodes)
    keys = np.round(feet / (SAME * size)).astype(np.int64)
    _, first, foot = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    foot, feet = rank[foot.ravel()], feet[first[order]]
    points = np.concatenate([nodes, feet])
    tets = np.where(tets < count, tets, count + foot[np.maximum(tets - count, 0)])
    ranked = np.sort(tets, axis=1)
    empty = (ranked[:, 1:] == ranked[:, :-1]).any(axis=1)
    sides = [((points[tets[:, i]] - points[tets[:, j]]) ** 2).sum(axis=1) for i in range(4) for j in range(i)]
    longest = np.max(sides, axis=0)
    sound = tet_volumes(points, tets) > 1e-9 * longest**1.5
    kept = tets[sound & ~empty].astype(np.int32)
    return Feet(nodes, feet, foot.astype(np.int32), kept, drawn, moved, int((~sound & ~empty).sum()))
