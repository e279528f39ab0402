"""Self-intersections of a surface: which triangles cut through others."""

from __future__ import annotations

import dataclasses

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.mesh.repair import weld
from pliant.mesh.repair.intersect_kernels import count_partners
from pliant.mesh.repair.triangle_tree import TriangleTree
from pliant.mesh.surface import SurfaceMesh

MOST_EXAMPLES = 16


@dataclasses.dataclass(frozen=True, eq=False)
class Intersections:
    """What `self_intersections` found.

    Attributes:
        counts: how many others each triangle cuts (k,) int32, at most 64.
        examples: pairs of triangles that cut each other (m, 2) int32, the smaller first; at most 16.
    """

    counts: np.ndarray
    examples: np.ndarray

    @property
    def triangles(self) -> int:
        """How many triangles cut another."""
        return int((self.counts > 0).sum())


def self_intersections(mesh: SurfaceMesh, device: str = "cpu") -> Intersections:
    """Find the triangles that cut through others of the same surface.

    Triangles that share a vertex or an edge, by number or by place, count only if they overlap beyond it. Edges that
    lie on each other only touch; a wall that stands on a face, and faces that lie on each other, count. Distances
    below 1e-7 of the box are taken for rounding. Triangles with bad vertices, or flat ones, are left out.
    """
    sound = ((mesh.triangles >= 0) & (mesh.triangles < len(mesh.vertices))).all(axis=1)
    good = np.isfinite(mesh.vertices).all(axis=1)
    rows = np.flatnonzero(sound)
    rows = rows[good[mesh.triangles[rows]].all(axis=1)]
    counts = np.zeros(len(mesh.triangles), np.int32)
    if len(rows) < 2:
        return Intersections(counts, np.zeros((0, 2), np.int32))
    place = np.arange(len(mesh.vertices))
    place[good] = np.flatnonzero(good)[weld.same_place(mesh.vertices[good])]
    found, partners = crossing_counts(mesh.vertices, place[mesh.triangles[rows]], device)
    counts[rows] = found
    crossing = np.flatnonzero(found)
    pairs = np.stack([rows[crossing], rows[partners[crossing]]], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)[:MOST_EXAMPLES]
    return Intersections(counts, pairs.astype(np.int32))


def crossing_counts(vertices: np.ndarray, triangles: np.ndarray, device: str = "cpu") -> tuple[np.ndarray, np.ndarray]:
    """How many others each triangle (k, 3) crosses and the first of them, -1 for none: both (k,) int32."""
    tree = TriangleTree(vertices, triangles, device)
    count = wp.zeros(len(tree), dtype=wp.int32, device=tree.device)
    partner = wp.zeros(len(tree), dtype=wp.int32, device=tree.device)
    launch(
        count_partners,
        len(tree),
        [tree.bvh.id, tree.lowers, tree.uppers, tree.corners, tree.names],
        [count, partner],
        device=tree.device,
        grain=256,
    )
    return count.numpy(), partner.numpy()
