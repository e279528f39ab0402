"""ClusterSkin: a surface moved by overlapping clusters of particles, for bodies without tets or voxels."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch
from pliant.mesh import arrays
from pliant.skin import cluster_kernels, cpu_kernels
from pliant.skin.cluster_tables import fit_tables, per_cluster
from pliant.skin.cluster_weights import cluster_weights
from pliant.skin.surface import SkinSurface

CHUNK = 64
"""Members, or partial sums, that one thread adds up."""
MAP_GRAIN = 64
SUM_TOLERANCE = 1e-6


class ClusterSkin(SkinSurface):
    """A surface whose vertices follow the affine maps of clusters of particles.

    Cluster c moves a point p at rest to A_c (p - q_c) + x_c, with the centres of mass q_c and x_c at rest and now and
    the best affine map A = A_pq A_qq^-1 (Mueller et al. 2005, Meshless deformations based on shape matching, eq. 7);
    a vertex takes the weighted mean over its clusters. An affine motion of the particles moves every vertex exactly
    so, except along directions in which a cluster is flat: there it keeps its distance from the cluster.

    Args:
        points: vertices at rest (n, 3) [m].
        triangles: (k, 3).
        particles: at rest (N, 3) [m].
        starts: where the members of each cluster start, and the total (c + 1,).
        members: particle numbers (starts[-1],).
        masses: of the particles (N,) [kg]; equal if not given.
        influences: most clusters that move one vertex.
        device: where it lives.
        groups: for several bodies, where the vertices and the clusters of each start, and the totals (bodies + 1, 2):
            vertices follow the clusters of their own body only.

    Attributes:
        clusters, weights: what each vertex follows (n, w) int32, float64; rows of weights add up to 1.
        rest_centres: q_c (c, 3) [m].
        ranks: directions in which each cluster extends, 0 to 3 (c,).
        centres, matrices: x_c and A_c on the device (c,), as of the last `update`.
    """

    def __init__(
        self,
        points: Any,
        triangles: Any,
        particles: Any,
        starts: Any,
        members: Any,
        masses: Any = None,
        influences: int = 4,
        device: str = "cpu",
        groups: np.ndarray | None = None,
    ):
        points = arrays.as_points(points, "ClusterSkin.points")
        particles = arrays.as_points(particles, "ClusterSkin.particles")
        arrays.check_finite(points, "ClusterSkin.points")
        arrays.check_finite(particles, "ClusterSkin.particles")
        starts, members = _checked_clusters(starts, members, len(particles))
        mass = _member_masses(masses, members, len(particles))
        influences = arrays.whole(influences, "ClusterSkin.influences")
        super().__init__(len(points), triangles, device, "ClusterSkin")

        whole = [[0, 0], [len(points), len(starts) - 1]]
        self._groups = np.array(whole if groups is None else groups, np.int64)
        self.clusters, self.weights = self._follow(points, particles, starts, members, influences)
        self._starts, self._member_list, self._member_rest, self._member_mass = (
            starts,
            members,
            particles[members],
            mass,
        )
        means = per_cluster(self._member_rest, starts) / np.diff(starts)[:, None]
        self._size = float(np.abs(self._member_rest - np.repeat(means, np.diff(starts), axis=0)).max()) or 1.0
        self.rest_centres, factors, axes, self.ranks = fit_tables(self._member_rest, mass, starts, self._size)

        # Each body about its own middle, for bodies far from the origin or from each other.
        vertex_counts, cluster_counts = np.diff(self._groups, axis=0).T
        bounds = starts[self._groups[:, 1]]
        middles = per_cluster(particles[members], bounds) / np.diff(bounds)[:, None]
        self._host_count = int(members.max()) + 1
        self._anchors = self._ints(members[starts[:-1]])
        self._members = self._ints(members)
        self._factors = self._floats(factors, wp.vec4)
        self._ranks = self._ints(self.ranks)
        self._axes = self._floats(axes, wp.mat33)
        self._build_levels(starts, members)
        width = self.clusters.shape[1]
        code = cpu_kernels if self.device == "cpu" else cluster_kernels
        self._kernel = code.follow_kernel(width)
        self._columns = wp.zeros(4 * (len(starts) - 1), dtype=wp.vec4, device=self.device)
        self._clusters = wp.array(self.clusters, dtype=wp.types.vector(length=width, dtype=int), device=self.device)
        self._weights = self._floats(self.weights, wp.types.vector(length=width, dtype=float))
        self._rest = self._floats(points - np.repeat(middles, vertex_counts, axis=0), wp.vec3)
        self._cluster_middles = np.repeat(middles, cluster_counts, axis=0)
        self._rest_centres = self._floats(self.rest_centres - self._cluster_middles, wp.vec3)
        self.centres = self._floats(self.rest_centres, wp.vec3)
        self.matrices = self._floats(np.tile(np.eye(3), (len(starts) - 1, 1, 1)), wp.mat33)

    def _follow(
        self, points: np.ndarray, particles: np.ndarray, starts: np.ndarray, members: np.ndarray, influences: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Clusters and weights of all vertices (n, w), body by body."""
        found = []
        for (vertex, cluster), (vertex_end, cluster_end) in itertools.pairwise(self._groups.tolist()):
            own = members[starts[cluster] : starts[cluster_end]]
            rows = starts[cluster : cluster_end + 1] - starts[cluster]
            near = cluster_weights(points[vertex:vertex_end], particles, rows, own, influences, self.device)
            found.append((near[0] + cluster, near[1]))
        width = max(clusters.shape[1] for clusters, _ in found)
        padded = [_padded(*part, width) for part in found]
        return np.concatenate([part[0] for part in padded]), np.concatenate([part[1] for part in padded])

    def set_weights(self, clusters: Any, weights: Any, rows: slice, where: str = "ClusterSkin.set_weights") -> None:
        """Change what some vertices follow; takes effect with the next update, and allocates nothing on the device.

        Args:
            clusters: (n, w) whole numbers; w at most that of `clusters`.
            weights: (n, w); each row adds up to 1.
            rows: the vertices in question.
            where: what to name in messages.
        """
        clusters, weights = np.asarray(clusters), np.asarray(weights, np.float64)
        count, width = self.clusters[rows].shape
        if clusters.shape != weights.shape or clusters.ndim != 2 or len(clusters) != count or clusters.shape[1] > width:
            raise InputError(
                f"clusters {clusters.shape} and weights {weights.shape}", where, f"Give both as ({count}, {width})"
            )
        total = len(self.rest_centres)
        if clusters.dtype.kind not in "iu" or (clusters.size and not 0 <= clusters.min() <= clusters.max() < total):
            raise InputError("some clusters do not exist", where, f"Give whole numbers from 0 to {total - 1}")
        wrong = ~(np.abs(weights.sum(axis=1) - 1.0) <= SUM_TOLERANCE)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(f"vertex {row} has the weights {weights[row].tolist()}", where, "Let them add up to 1")
        self.clusters[rows], self.weights[rows] = _padded(clusters, weights, width)
        self._clusters[rows].assign(self.clusters[rows])
        self._weights[rows].assign(self.weights[rows].astype(np.float32))

    def keep_members(self, kept: np.ndarray, clusters: slice) -> None:
        """Let some clusters have only some of the members they were built with; allocates nothing on the device.

        Args:
            kept: which of their members (k,) bool, at least one of each cluster.
            clusters: the clusters in question.
        """
        first, end = int(self._starts[clusters.start]), int(self._starts[clusters.stop])
        starts = self._starts[clusters.start : clusters.stop + 1] - first
        mass = np.where(kept, self._member_mass[first:end], 0.0)
        centres, factors, axes, ranks = fit_tables(self._member_rest[first:end], mass, starts, self._size)
        self.rest_centres[clusters], self.ranks[clusters] = centres, ranks
        # a member that flew away would be a bad origin for sums
        left = np.flatnonzero(kept)
        anchors = self._member_list[first + left[np.searchsorted(left, starts[:-1])]]
        whole = self._anchors.numpy().copy()
        whole[clusters] = anchors
        self._anchors.assign(whole)
        self._chunk_anchors.assign(np.repeat(whole, self._chunk_counts).astype(np.int32))
        self._factors[first:end].assign(factors.astype(np.float32))
        self._ranks[clusters].assign(ranks)
        self._axes[clusters].assign(axes.astype(np.float32))
        self._rest_centres[clusters].assign((centres - self._cluster_middles[clusters]).astype(np.float32))

    def _ints(self, values: np.ndarray) -> wp.array:
        return wp.array(np.ascontiguousarray(values, np.int32), dtype=int, device=self.device)

    def _floats(self, values: np.ndarray, dtype: Any) -> wp.array:
        return wp.array(np.ascontiguousarray(values, np.float32), dtype=dtype, device=self.device)

    def _build_levels(self, starts: np.ndarray, members: np.ndarray) -> None:
        """Cut the sums over clusters into chunks, and those over chunks again, until a few are left per cluster."""
        chunk_starts, row_starts = _cut(starts)
        self._chunk_counts = np.diff(row_starts)
        self._chunk_anchors = self._ints(np.repeat(members[starts[:-1]], self._chunk_counts))
        self._levels = [self._level(chunk_starts)]
        while np.diff(row_starts).max() > CHUNK:
            chunk_starts, row_starts = _cut(row_starts)
            self._levels.append(self._level(chunk_starts))
        self._last_starts = self._ints(row_starts)

    def _level(self, starts: np.ndarray) -> tuple[wp.array, wp.array, wp.array]:
        count = len(starts) - 1
        sums = [wp.zeros(count, dtype=dtype, device=self.device) for dtype in (wp.vec3, wp.mat33)]
        return self._ints(starts), sums[0], sums[1]

    def update(self, x: wp.array, normals: bool = True) -> None:
        """Write `x`, and `normals` if asked for, from the particles' positions (N,) vec3 [m]; nothing is read back."""
        if len(x) < self._host_count:
            raise InputError(
                f"{len(x)} particles, but the clusters hold some up to {self._host_count - 1}",
                "ClusterSkin.update(x)",
                "Give the positions of all particles",
            )
        starts, *sums = self._levels[0]
        inputs = [starts, self._chunk_anchors, self._members, self._factors, x]
        self._sum(cluster_kernels.sum_members, inputs, sums)
        for starts, *next_sums in self._levels[1:]:
            self._sum(cluster_kernels.sum_partials, [starts, *sums], next_sums)
            sums = next_sums
        inputs = [self._last_starts, self._anchors, self._ranks, self._axes, *sums, x]
        self._sum(cluster_kernels.finish_maps, inputs, [self.centres, self.matrices])
        self.update_from_maps(self.centres, self.matrices, normals)

    def _sum(self, kernel: Any, inputs: list[Any], outputs: list[wp.array]) -> None:
        launch(kernel, len(outputs[0]), inputs, outputs, device=self.device, grain=MAP_GRAIN)

    def update_from_maps(self, centres: wp.array, matrices: wp.array, normals: bool = True) -> None:
        """Write `x`, and `normals` if asked for, from a solver's own maps: x_c (c,) vec3 [m] and A_c (c,) mat33.

        They must move a point p to A_c (p - `rest_centres`[c]) + x_c.
        """
        if not len(centres) == len(matrices) == len(self.rest_centres):
            raise InputError(
                f"{len(centres)} centres and {len(matrices)} matrices for {len(self.rest_centres)} clusters",
                "ClusterSkin.update_from_maps",
                "Give one of each per cluster",
            )
        launch(
            cluster_kernels.fold_maps,
            len(centres),
            [self._rest_centres, centres, matrices],
            [self._columns],
            device=self.device,
        )
        inputs = [self._clusters, self._weights, self._rest, self._columns]
        launch(self._kernel, len(self), inputs, [self.x], device=self.device)
        if normals:
            self.update_normals()


def _checked_clusters(starts: Any, members: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    starts, members = np.asarray(starts), np.asarray(members)
    if starts.ndim != 1 or len(starts) < 2 or members.ndim != 1 or {starts.dtype.kind, members.dtype.kind} - set("iu"):
        raise InputError(
            f"starts {starts.shape} of {starts.dtype} and members {members.shape} of {members.dtype}",
            "ClusterSkin",
            "Give whole numbers: where each cluster starts, with the total at the end, and its particles",
        )
    if starts[0] != 0 or starts[-1] != len(members):
        raise InputError(
            f"starts run from {starts[0]} to {starts[-1]}, and there are {len(members)} members",
            "ClusterSkin.starts",
            "Begin with 0 and end with the number of members",
        )
    if (np.diff(starts) < 1).any():
        raise InputError(
            f"cluster {int(np.argmax(np.diff(starts) < 1))} has no member", "ClusterSkin.starts", "Leave it out"
        )
    if members.min() < 0 or members.max() >= count:
        raise InputError(
            f"members run from {members.min()} to {members.max()}",
            "ClusterSkin.members",
            f"Particle numbers run from 0 to {count - 1}",
        )
    return starts.astype(np.int64), members.astype(np.int64)


def _member_masses(masses: Any, members: np.ndarray, count: int) -> np.ndarray:
    """Mass of each member [kg] (members,)."""
    mass = np.ones(count) if masses is None else np.asarray(masses, np.float64)
    if mass.shape != (count,) or not (np.isfinite(mass).all() and (mass > 0.0).all()):
        raise InputError(
            f"masses {mass.shape}, not all positive and finite, or not one per particle",
            "ClusterSkin.masses",
            f"Give {count} masses above 0 [kg]",
        )
    return mass[members]


def _padded(clusters: np.ndarray, weights: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows made `width` long by their first cluster with no weight."""
    more = width - clusters.shape[1]
    clusters = np.concatenate([clusters, np.repeat(clusters[:, :1], more, axis=1)], axis=1)
    return clusters.astype(np.int32), np.pad(weights, ((0, 0), (0, more)))


def _cut(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut rows into chunks of at most `CHUNK`: where each chunk starts, and where the chunks of each row start."""
    sizes = np.diff(starts)
    counts = -(-sizes // CHUNK)
    per_row = np.concatenate([[0], np.cumsum(counts)])
    row = np.repeat(np.arange(len(sizes)), counts)
    place = np.arange(per_row[-1]) - per_row[row]
    return np.concatenate([starts[row] + CHUNK * place, starts[-1:]]), per_row
