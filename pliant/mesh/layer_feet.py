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
from pliant.mesh.surface import EDGE_CORNERS

HALF = 0.42
"""Depth of a foot as a part of the thickness below its node."""
LEAST_COSINE = 0.3
"""Between a node's way inwards and the normals around it; ways are smoothed only as far."""
MOST_SMOOTHING = 60
SETTLE_ROUNDS, BLIND = 30, 0.1
SLOPE = 0.6
"""Most that the depth may change over a distance."""
SOUND = 2e-3
"""Least volume of a tet, in thirds of its node triangle times its least depth."""
RELAX_ROUNDS, SHRINK_ROUNDS, STRAIGHT_ROUNDS, SHRINK = 40, 15, 60, 0.85
SAME = 1e-9
"""Distance below which two feet are one, in parts of the body's size."""


@dataclasses.dataclass(frozen=True, eq=False)
class Feet:
    """Feet of n nodes.

    Attributes:
        feet: (f, 3) [m]. foot: of each node (n,) int32. tets: (m, 4) int32 over nodes, then feet; all positive.
        drawn: nodes whose foot was moved because a prism would have turned over.
        dropped: tets that were left out because they stayed inside out.
    """

    feet: np.ndarray
    foot: np.ndarray
    tets: np.ndarray
    drawn: int
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
    for _ in range(30):
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

    Args:
        nodes: (n, 3) [m]. triangles: of them (t, 3), closed.
        reach: from each node to where its foot should be (n, 3) [m].
        distance: to the surface that the feet must lie inside.
    """
    count = len(nodes)
    net, own = Net(triangles, count), np.arange(count)
    tets = prisms(triangles, own, count)
    corners = nodes[net.triangles]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    reach = reach.copy()
    drawn = np.zeros(count, bool)
    for k in range(RELAX_ROUNDS + SHRINK_ROUNDS + STRAIGHT_ROUNDS):
        volumes = tet_volumes(np.concatenate([nodes, nodes + reach]), tets).reshape(-1, 3)
        deep = np.linalg.norm(reach, axis=1)[net.triangles].min(axis=1)
        bad = np.zeros(count, bool)
        bad[net.triangles[(volumes < (SOUND * area * deep / 3.0)[:, None]).any(axis=1)]] = True
        if not bad.any():
            break
        drawn |= bad
        if k < RELAX_ROUNDS:
            wide = net.spread(bad)
            reach[wide] = 0.5 * (reach[wide] + net.mean(reach)[wide])
            continue
        if k == RELAX_ROUNDS + SHRINK_ROUNDS:
            # means of ways may point past a triangle; straight ones do not, and are sound once they are short
            straight = -_normals(nodes, net)[1]
            reach[bad] = np.linalg.norm(reach[bad], axis=1, keepdims=True) * straight[bad]
        reach[bad] *= SHRINK
    for _ in range(20):
        out = distance.at(nodes + reach) >= 0.0
        if not out.any():
            break
        drawn |= out
        reach[out] *= 0.5
    return _numbered(nodes, nodes + reach, net, tets, float(np.ptp(nodes, axis=0).max()), int(drawn.sum()))


def _numbered(nodes: np.ndarray, feet: np.ndarray, net: Net, tets: np.ndarray, size: float, drawn: int) -> Feet:
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
    return Feet(feet, foot.astype(np.int32), tets[sound & ~empty].astype(np.int32), drawn, int((~sound & ~empty).sum()))
