"""Clusters: overlapping groups of vertices, each of which shape matching treats as one."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch, pick_device
from pliant.mesh import arrays
from pliant.mesh.cluster_kernels import nearest_center, reach
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.rings import Neighbours, neighbours

REGION_SLOTS = 1 << 24
"""Grid places that are searched at once, to bound the scratch memory."""
WIDEST_REGION = 40
MOST_COMPARISONS = 500_000_000
"""Vertices times centres that k-means takes: about a minute on two cores."""
MOST_MEMBERS = 100_000_000
"""Members of all clusters together."""
FEWEST_IN_CELL = 8
"""Vertices that a cell of staggered grids should hold, so that the cells of the next grid reach across its sides."""


@dataclasses.dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of vertices in one table.

    Attributes:
        starts: (c + 1,) int64; the members of cluster i are ``members[starts[i]:starts[i + 1]]``.
        members: (sum,) int32, sorted within a cluster.
        notes: what was done to the clusters on their way here, for the user.
    """

    starts: np.ndarray
    members: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.starts) - 1

    def sizes(self) -> np.ndarray:
        """Members of each cluster (c,)."""
        return np.diff(self.starts)

    def of(self, cluster: int) -> np.ndarray:
        """Members of one cluster (k,) int32, sorted."""
        return self.members[self.starts[cluster] : self.starts[cluster + 1]]

    def clusters_of(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The table the other way round: starts (count + 1,) int64, and the clusters of each vertex (sum,) int32."""
        order = np.argsort(self.members, kind="stable")
        owner = np.repeat(np.arange(self.count, dtype=np.int32), self.sizes())
        starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(self.members, minlength=count), out=starts[1:])
        return starts, owner[order]

    def check(self, count: int, where: str = "clusters") -> list[str]:
        """Raise `InputError` where a vertex is in no cluster; return notes on what is only suspicious.

        Args:
            count: number of vertices.
            where: what to name in messages.
        """
        if not self.count or (self.sizes() <= 0).any():
            empty = int(np.argmax(self.sizes() <= 0)) if self.count else 0
            raise InputError(f"cluster {empty} has no members", where, "Give each at least one vertex")
        if self.members.min() < 0 or self.members.max() >= count:
            raise InputError(
                f"a member is vertex {self.members.max()} of {count}", where, f"Number vertices from 0 to {count - 1}"
            )
        held = np.zeros(count, bool)
        held[self.members] = True
        if not held.all():
            raise InputError(
                f"{(~held).sum()} of {count} vertices are in no cluster, the first is vertex {int(np.argmin(held))}",
                where,
                "Put every vertex into at least one",
            )
        parts = self.parts()
        if parts == 1:
            return []
        return [f"the clusters fall into {parts} groups that have no vertex in common and will move apart"]

    def parts(self) -> int:
        """Number of groups of clusters that share vertices, directly or through others."""
        owner = np.repeat(np.arange(self.count), self.sizes())
        order = np.argsort(self.members, kind="stable")
        same = self.members[order[1:]] == self.members[order[:-1]]
        pairs = np.stack([owner[order[:-1]][same], owner[order[1:]][same]], axis=1)
        return arrays.connected_parts(pairs, self.count)[0]


def from_pairs(cluster: np.ndarray, vertex: np.ndarray, notes: tuple[str, ...] = ()) -> Clusters:
    """Clusters from memberships in any order, cluster and vertex of each (k,); empty clusters are left out."""
    keys = np.unique(cluster.astype(np.int64) << 32 | vertex.astype(np.int64))
    _, first = np.unique(keys >> 32, return_index=True)
    return Clusters(np.append(first, len(keys)).astype(np.int64), (keys & 0xFFFFFFFF).astype(np.int32), notes)


def kmeans_clusters(
    vertices: np.ndarray,
    edges: np.ndarray,
    count: int,
    *,
    seed: int = 0,
    iterations: int = 20,
    min_size: int = 1,
    rings: int = 1,
) -> Clusters:
    """Clusters by k-means, each then grown by the vertices next to it, so that neighbours overlap (Chentanez).

    Centres start as k-means++ chooses them (Arthur and Vassilvitskii 2007) and move to the means of their vertices
    until nothing changes. The same input and seed give the same clusters.

    Args:
        vertices: (n, 3) [m].
        edges: (e, 2), along which the clusters grow.
        count: clusters asked for; there are fewer where there are fewer places.
        seed: what the first centres follow from.
        iterations: most moves of the centres.
        min_size: clusters with fewer members are joined to the one they share most vertices with, or the nearest.
        rings: how often a cluster is grown by the vertices next to it.
    """
    points = _points(vertices, "kmeans_clusters(vertices)")
    count = arrays.whole(count, "kmeans_clusters(count)")
    iterations = arrays.whole(iterations, "kmeans_clusters(iterations)", low=0)
    min_size = arrays.whole(min_size, "kmeans_clusters(min_size)")
    if len(points) * count > MOST_COMPARISONS:
        raise InputError(
            f"{count:,} centres for {len(points):,} vertices would take very long",
            "kmeans_clusters(count)",
            f"Give at most {MOST_COMPARISONS // len(points):,}, or use grid_clusters (clusters_by = 'grids')",
        )
    table = neighbours(edges, len(points))
    seed = arrays.whole(seed, "kmeans_clusters(seed)", low=0)
    centers = _first_centers(points, min(count, len(points)), np.random.default_rng(seed))
    owner, squared = _nearest(points, centers)
    for _ in range(iterations):
        sizes = np.bincount(owner, minlength=len(centers))
        sums = np.stack([np.bincount(owner, points[:, axis], len(centers)) for axis in range(3)], axis=1)
        centers = sums / np.maximum(sizes, 1)[:, None]
        empty = np.flatnonzero(sizes == 0)
        if len(empty):
            # A centre that lost its vertices goes to one of those farthest from theirs.
            centers[empty] = points[np.argsort(-squared, kind="stable")[: len(empty)]]
        before = owner
        owner, squared = _nearest(points, centers)
        if np.array_equal(owner, before) and not len(empty):
            break
    clusters = from_pairs(owner, np.arange(len(points)))
    for _ in range(arrays.whole(rings, "kmeans_clusters(rings)", low=0)):
        clusters = _grown(clusters, table)
    notes: tuple[str, ...] = ()
    if clusters.count < count:
        notes = (f"{clusters.count} clusters were made of the {count} asked for: there are too few different places",)
    return merge_small(dataclasses.replace(clusters, notes=notes), points, min_size)


def check_members(count: int, where: str) -> None:
    """Refuse clusters with so many members in all that no memory would hold their tables."""
    if count > MOST_MEMBERS:
        raise InputError(
            f"the clusters would have up to {count:,} members in all",
            where,
            f"Use fewer or smaller ones, or less overlap: {MOST_MEMBERS:,} are taken",
        )


def _grown(clusters: Clusters, table: Neighbours) -> Clusters:
    """Each cluster with the vertices next to its members."""
    check_members(int(np.diff(table.starts)[clusters.members].sum()), "rings")
    owner = np.repeat(np.arange(clusters.count), clusters.sizes())
    counts = np.diff(table.starts)[clusters.members]
    first = np.repeat(table.starts[clusters.members], counts)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    cluster = np.concatenate([owner, np.repeat(owner, counts)])
    return from_pairs(cluster, np.concatenate([clusters.members, table.items[first + place]]))


def box_clusters(
    vertices: np.ndarray, count: int, *, axis: int | None = None, overlap: float = 0.2, min_size: int = 1
) -> Clusters:
    """Clusters in equal boxes one after the other along an axis, each widened so that neighbours overlap (Sharma).

    A box without vertices is left out, and its neighbours widened to the next vertex so that they overlap still.

    Args:
        vertices: (n, 3) [m].
        count: boxes.
        axis: 0, 1 or 2; the longest side of the whole when not given.
        overlap: how far a box reaches into its neighbours on either side, over its own width.
        min_size: clusters with fewer members are joined to the one they share most vertices with, or the nearest.
    """
    points = _points(vertices, "box_clusters(vertices)")
    count = arrays.whole(count, "box_clusters(count)")
    min_size = arrays.whole(min_size, "box_clusters(min_size)")
    if axis not in (None, 0, 1, 2):
        raise InputError(f"{axis!r} is no axis", "box_clusters(axis)", "Give 0, 1, 2, or nothing for the longest side")
    if not isinstance(overlap, (int, float)) or not math.isfinite(overlap) or overlap < 0.0:
        raise InputError(
            f"{overlap!r} is no share", "box_clusters(overlap)", "Give a number of at least 0, such as 0.2"
        )
    sides = np.ptp(points, axis=0)
    along = points[:, int(np.argmax(sides)) if axis is None else axis]
    low, length = float(along.min()), float(np.ptp(along))
    width = length / count
    if width <= 0.0:
        clusters = from_pairs(np.zeros(len(points), np.int64), np.arange(len(points)))
    else:
        box = np.minimum(((along - low) / width).astype(np.int64), count - 1)
        filled, box = np.unique(box, return_inverse=True)
        first = np.full(len(filled), np.inf)
        last = np.full(len(filled), -np.inf)
        np.minimum.at(first, box, along)
        np.maximum.at(last, box, along)
        starts, ends = low + filled * width - overlap * width, low + (filled + 1) * width + overlap * width
        if overlap > 0.0:
            starts[1:] = np.minimum(starts[1:], last[:-1])
            ends[:-1] = np.maximum(ends[:-1], first[1:])
        order = np.argsort(along, kind="stable")
        begin = np.searchsorted(along[order], np.minimum(starts, first), side="left")
        stop = np.searchsorted(along[order], np.maximum(ends, last), side="right")
        sizes = stop - begin
        cluster = np.repeat(np.arange(len(filled)), sizes)
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(begin, sizes)
        clusters = from_pairs(cluster, order[place])
    notes: tuple[str, ...] = ()
    if clusters.count < count:
        notes = (f"{clusters.count} of {count} boxes hold a vertex; the others were left out",)
    return merge_small(dataclasses.replace(clusters, notes=notes), points, min_size)


def grid_clusters(vertices: np.ndarray, count: int, *, grids: int = 2) -> Clusters:
    """Clusters in the cells of several grids, each shifted against the last by an equal part of a cell.

    Every vertex is in one cell of each grid, so in as many clusters as there are grids; neighbours overlap as the grids
    are staggered. The time is that of sorting, however many clusters there are.

    Args:
        vertices: (n, 3) [m].
        count: about how many clusters; the cells' size follows from it. There are fewer where smaller cells would hold
            too few vertices to hang together.
        grids: number of grids.
    """
    points = _points(vertices, "grid_clusters(vertices)")
    count = arrays.whole(count, "grid_clusters(count)")
    grids = arrays.whole(grids, "grid_clusters(grids)")
    low, sides = points.min(axis=0), np.ptp(points, axis=0)
    wanted = max(1, round(count / grids))
    if grids > 1:
        wanted = max(1, min(wanted, len(points) // FEWEST_IN_CELL))
    cells = _cells_along(points - low, sides, wanted)
    clusters = _in_grids(points - low, sides, cells, grids)
    if grids == 1 or clusters.parts() == 1:
        return clusters
    # too few vertices in a cell: the next grid does not reach across its sides, and the body would fall apart
    coarser, found = cells, clusters
    while found.parts() > 1 and 8 * found.count >= clusters.count and coarser.max() > 1.0:
        coarser = np.maximum(1.0, np.floor(0.8 * coarser))
        found = _in_grids(points - low, sides, coarser, grids)
    if found.parts() > 1 or 8 * found.count < clusters.count:
        return clusters
    note = f"{found.count} clusters were made of the {count} asked for: smaller ones would not hang together"
    return dataclasses.replace(found, notes=(note,))


def _in_grids(places: np.ndarray, sides: np.ndarray, cells: np.ndarray, grids: int) -> Clusters:
    """Clusters in the cells of grids, for places (n, 3) in a box with the given sides [m] and cells along them."""
    clusters, members, first = [], [], 0
    for grid in range(grids):
        # an axis along which there is one cell is not cut; the others by grids shifted by a part of a cell
        shift = np.where(cells > 1, grid / grids, 0.0)
        place = places * np.divide(cells, sides, out=np.zeros(3), where=sides > 0.0)
        cell = np.minimum(np.floor(place + shift), cells - 1 + (shift > 0.0)).astype(np.int64)
        shape = cell.max(axis=0) + 1
        _, owner = np.unique((cell[:, 0] * shape[1] + cell[:, 1]) * shape[2] + cell[:, 2], return_inverse=True)
        clusters.append(owner.reshape(-1) + first)
        members.append(np.arange(len(places)))
        first += int(owner.max()) + 1
    return from_pairs(np.concatenate(clusters), np.concatenate(members))


def _cells_along(places: np.ndarray, sides: np.ndarray, wanted: int) -> np.ndarray:
    """Cells along each axis (3,), as nearly cubes as they can be, of which about `wanted` hold a point."""
    longest = float(sides.max())
    if longest <= 0.0 or wanted == 1:
        return np.ones(3)
    small, large = longest / min(4096.0, 4.0 * wanted), 2.0 * longest
    # enough points to find nearly every cell that holds one
    sample = places[:: max(1, len(places) // max(200_000, 32 * wanted))]
    for _ in range(16):
        size = math.sqrt(small * large)
        along = np.maximum(1.0, np.round(sides / size))
        place = sample * np.divide(along, sides, out=np.zeros(3), where=sides > 0.0)
        cell = np.minimum(np.floor(place), along - 1.0).astype(np.int64)
        shape = cell.max(axis=0) + 1
        held = len(np.unique((cell[:, 0] * shape[1] + cell[:, 1]) * shape[2] + cell[:, 2]))
        small, large = (size, large) if held > wanted else (small, size)
    return np.maximum(1.0, np.round(sides / large))


def lattice_regions(lattice: VoxelLattice, width: int = 1) -> Clusters:
    """One cluster for each lattice vertex: what at most ``width`` steps through filled cubes lead to (FastLSM).

    A step goes from a vertex to any vertex of a cube they share, so a region deep inside is a block of
    (2 width + 1)^3 vertices (Rivers and James 2007).
    """
    width = arrays.whole(width, "lattice_regions(width)")
    if width > WIDEST_REGION:
        raise InputError(f"{width} is too wide", "lattice_regions(width)", f"Give at most {WIDEST_REGION}")
    where = lattice.name or "voxel lattice"
    lattice.check(where)
    grid = lattice.grid()
    order = np.lexsort(grid.T)
    if (grid[order[1:]] == grid[order[:-1]]).all(axis=1).any():
        raise InputError("two vertices stand at the same place of the grid", where, "Merge them first")
    pairs = arrays.unique_edges(lattice.cubes, [(i, j) for i in range(8) for j in range(i + 1, 8)])
    total = len(lattice.vertices)
    table = neighbours(pairs, total)
    device = pick_device("cpu")
    array = lambda values, dtype: wp.array(np.ascontiguousarray(values, np.int32), dtype=dtype, device=device)
    inputs = [array(table.starts, int), array(table.items, int), array(grid, wp.vec3i)]
    slots = (2 * width + 1) ** 3
    rows = max(1, min(total, REGION_SLOTS // slots))
    sizes, members = [], []
    for base in range(0, total, rows):
        here = min(rows, total - base)
        step = wp.full((here, slots), value=-1, dtype=wp.int8, device=device)
        region = wp.full((here, slots), value=-1, dtype=int, device=device)
        launch(reach, here, [*inputs, base, width], [step, region], device=device, grain=256)
        found = np.sort(region.numpy(), axis=1)
        inside = found >= 0
        sizes.append(inside.sum(axis=1))
        members.append(found[inside])
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return Clusters(starts.astype(np.int64), np.concatenate(members))


def merge_small(clusters: Clusters, vertices: np.ndarray, min_size: int) -> Clusters:
    """Join each cluster of fewer than ``min_size`` members to the one it shares most of them with, or the nearest."""
    joined = 0
    while clusters.count > 1 and (sizes := clusters.sizes()).min() < min_size:
        small = int(np.argmin(sizes))
        owner = np.repeat(np.arange(clusters.count), sizes)
        shared = np.bincount(owner[np.isin(clusters.members, clusters.of(small))], minlength=clusters.count)
        shared[small] = -1
        target = int(np.argmax(shared))
        if shared[target] <= 0:
            sums = np.stack([np.bincount(owner, vertices[clusters.members, a]) for a in range(3)], axis=1)
            middles = sums / sizes[:, None]
            away = ((middles - middles[small]) ** 2).sum(axis=1)
            away[small] = np.inf
            target = int(np.argmin(away))
        owner[owner == small] = target
        clusters = from_pairs(owner, clusters.members, clusters.notes)
        joined += 1
    if joined:
        note = f"{joined} clusters of fewer than {min_size} vertices were joined to their neighbours"
        clusters = dataclasses.replace(clusters, notes=(*clusters.notes, note))
    return clusters


def _points(vertices: Any, where: str) -> np.ndarray:
    points = arrays.as_points(vertices, where)
    if not len(points):
        raise InputError("there are no vertices", where, "Give at least one")
    arrays.check_finite(points, where)
    return points


def _first_centers(points: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Centres (k, 3), k <= count: each a vertex, drawn by the squared distance to those before (k-means++) [m]."""
    chosen = [int(rng.integers(len(points)))]
    squared = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count:
        total = np.cumsum(squared)
        if total[-1] <= 0.0:
            break
        draw = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
        draw = min(draw, len(points) - 1)
        if squared[draw] <= 0.0:
            draw = int(np.argmax(squared))
        chosen.append(draw)
        squared = np.minimum(squared, ((points - points[draw]) ** 2).sum(axis=1))
    return points[chosen]


def _nearest(points: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest centre of each point (n,) and its squared distance (n,) [m^2]."""
    device = pick_device("cpu")
    array = lambda values: wp.array(np.ascontiguousarray(values), dtype=wp.vec3d, device=device)
    nearest = wp.zeros(len(points), dtype=int, device=device)
    squared = wp.zeros(len(points), dtype=wp.float64, device=device)
    launch(nearest_center, len(points), [array(points), array(centers)], [nearest, squared], device=device, grain=1024)
    return nearest.numpy(), squared.numpy()
