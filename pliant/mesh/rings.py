"""Vertices around vertices: neighbour tables, and the pairs one and two rings apart that springs join."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh


@dataclasses.dataclass(frozen=True, eq=False)
class Neighbours:
    """Neighbours of each vertex in one table.

    Attributes:
        starts: (n + 1,) int64; the neighbours of vertex i are ``items[starts[i]:starts[i + 1]]``.
        items: (sum,) int32, sorted for each vertex.
    """

    starts: np.ndarray
    items: np.ndarray

    def of(self, vertex: int) -> np.ndarray:
        """Neighbours of one vertex (k,) int32, sorted."""
        return self.items[self.starts[vertex] : self.starts[vertex + 1]]


def neighbours(edges: np.ndarray, count: int) -> Neighbours:
    """Which vertices an edge joins to each vertex; an edge given twice counts once.

    Args:
        edges: (e, 2) vertex numbers, each edge in any direction.
        count: number of vertices.
    """
    edges = arrays.as_indices(edges, 2, "neighbours(edges)")
    count = arrays.whole(count, "neighbours(count)", low=0)
    arrays.check_indices(edges, count, "edge", "neighbours(edges)")
    ends = edges.astype(np.int64).T
    keys = np.concatenate([ends[0] << 32 | ends[1], ends[1] << 32 | ends[0]])
    # Mesh numbering leaves long sorted runs, which the stable sort merges.
    keys.sort(kind="stable")
    keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
    starts = np.searchsorted(keys >> 32, np.arange(count + 1))
    return Neighbours(starts.astype(np.int64), (keys & 0xFFFFFFFF).astype(np.int32))


def one_ring_edges(mesh: SurfaceMesh | TetMesh) -> np.ndarray:
    """Pairs of vertices one edge apart: (e, 2) int32, smaller number first, sorted."""
    return mesh.edges()


def two_ring_pairs(mesh: SurfaceMesh | TetMesh) -> np.ndarray:
    """All pairs of vertices exactly two edges apart: (e, 2) int32, smaller number first, sorted.

    About three times as many as there are edges; `across_edges` is the part of them that resists bending.
    """
    edges = mesh.edges()
    table = neighbours(edges, len(mesh.vertices))
    degree = np.diff(table.starts)
    # Every vertex joins each pair of its neighbours: row a of its list with the rows after it.
    owner = np.repeat(np.arange(len(degree)), degree)
    row = np.arange(len(owner)) - table.starts[owner]
    after = degree[owner] - 1 - row
    first = np.repeat(np.arange(len(owner)), after)
    ends = np.cumsum(after)
    second = first + 1 + np.arange(len(first)) - np.repeat(ends - after, after)
    keys = np.unique(table.items[first].astype(np.int64) << 32 | table.items[second])
    near = edges[:, 0].astype(np.int64) << 32 | edges[:, 1]
    keys = np.setdiff1d(keys, near, assume_unique=True)
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)


def hinges(mesh: SurfaceMesh) -> np.ndarray:
    """Pairs of triangles with a common edge: (k, 4) int32, the edge's two ends and the far corner on each side.

    Sorted by the edge. The edge's ends stand as in the first of the two triangles, the one with the smaller number. An
    edge of three triangles or more has a hinge between each and the next.
    """
    edge = np.concatenate([mesh.triangles[:, [i, (i + 1) % 3]] for i in range(3)])
    opposite = np.concatenate([mesh.triangles[:, (i + 2) % 3] for i in range(3)])
    face = np.tile(np.arange(len(mesh.triangles)), 3)
    low, high = edge.min(axis=1), edge.max(axis=1)
    order = np.lexsort((face, high, low))
    a, b = order[:-1], order[1:]
    same = (low[a] == low[b]) & (high[a] == high[b]) & (opposite[a] != opposite[b])
    a, b = a[same], b[same]
    return np.column_stack([edge[a], opposite[a], opposite[b]]).astype(np.int32).reshape(-1, 4)


def across_edges(mesh: SurfaceMesh) -> np.ndarray:
    """The opposite corners of neighbouring triangles, where no edge joins them: (e, 2) int32, sorted.

    The springs that resist bending, one for each inner edge (Lecture: cloth). A part of `two_ring_pairs`.
    """
    pairs = arrays.unique_edges(hinges(mesh), [(2, 3)])
    edges = mesh.edges()
    keys = pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1]
    near = edges[:, 0].astype(np.int64) << 32 | edges[:, 1]
    return pairs[~np.isin(keys, near)]
