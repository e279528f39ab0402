"""ClusterSkin: a surface moved by overlapping clusters of particles, for bodies without tets or voxels."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch
from pliant.mesh import arrays
from pliant.skin import cluster_kernels, cpu_kernels
from pliant.skin.cluster_weights import cluster_weights
from pliant.skin.surface import SkinSurface

CHUNK = 64
"""Members, or partial sums, that one thread adds up."""
MAP_GRAIN = 64
FLAT = 1e-3
"""Spread of a cluster across a direction, as a part of its largest, below which it has no extent there."""


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
    ):
        points = arrays.as_points(points, "ClusterSkin.points")
        particles = arrays.as_points(particles, "ClusterSkin.particles")
        arrays.check_finite(points, "ClusterSkin.points")
        arrays.check_finite(particles, "ClusterSkin.particles")
        starts, members = _checked_clusters(starts, members, len(particles))
        shares = _mass_shares(masses, starts, members, len(particles))
        influences = arrays.whole(influences, "ClusterSkin.influences")
        super().__init__(len(points), triangles, device, "ClusterSkin")

        self.clusters, self.weights = cluster_weights(points, particles, starts, members, influences, self.device)
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self.rest_centres = _per_cluster(shares[:, None] * particles[members], starts)
        arms = particles[members] - self.rest_centres[owner]
        # Once more about the centre found, for bodies far from the origin.
        self.rest_centres += _per_cluster(shares[:, None] * arms, starts)
        arms = particles[members] - self.rest_centres[owner]
        size = float(np.abs(arms).max()) or 1.0
        pseudo_inverse, axes, self.ranks = _inverse_moments(arms / size, shares, starts)
        slopes = shares[:, None] * np.einsum("mij,mj->mi", pseudo_inverse[owner], arms / size) / size

        middle = particles[members].mean(axis=0)
        self._host_count = int(members.max()) + 1
        self._anchors = self._ints(members[starts[:-1]])
        self._members = self._ints(members)
        self._factors = self._floats(np.concatenate([slopes, shares[:, None]], axis=1), wp.vec4)
        self._ranks = self._ints(self.ranks)
        self._axes = self._floats(axes, wp.mat33)
        self._build_levels(starts, members)
        width = self.clusters.shape[1]
        code = cpu_kernels if self.device == "cpu" else cluster_kernels
        self._kernel = code.follow_kernel(width)
        self._columns = wp.zeros(4 * (len(starts) - 1), dtype=wp.vec4, device=self.device)
        self._clusters = wp.array(self.clusters, dtype=wp.types.vector(length=width, dtype=int), device=self.device)
        self._weights = self._floats(self.weights, wp.types.vector(length=width, dtype=float))
        self._rest = self._floats(points - middle, wp.vec3)
        self._rest_centres = self._floats(self.rest_centres - middle, wp.vec3)
        self.centres = self._floats(self.rest_centres, wp.vec3)
        self.matrices = self._floats(np.tile(np.eye(3), (len(starts) - 1, 1, 1)), wp.mat33)

    def _ints(self, values: np.ndarray) -> wp.array:
        return wp.array(np.ascontiguousarray(values, np.int32), dtype=int, device=self.device)

    def _floats(self, values: np.ndarray, dtype: Any) -> wp.array:
        return wp.array(np.ascontiguousarray(values, np.float32), dtype=dtype, device=self.device)

    def _build_levels(self, starts: np.ndarray, members: np.ndarray) -> None:
        """Cut the sums over clusters into chunks, and those over chunks again, until a few are left per cluster."""
        chunk_starts, per_cluster = _cut(starts)
        chunk_anchors = np.repeat(members[starts[:-1]], np.diff(per_cluster))
        self._chunk_anchors = self._ints(chunk_anchors)
        self._levels = [self._level(chunk_starts)]
        while np.diff(per_cluster).max() > CHUNK:
            chunk_starts, per_cluster = _cut(per_cluster)
            self._levels.append(self._level(chunk_starts))
        self._last_starts = self._ints(per_cluster)

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


def _mass_shares(masses: Any, starts: np.ndarray, members: np.ndarray, count: int) -> np.ndarray:
    """Each member's part of its cluster's mass (members,)."""
    mass = np.ones(count) if masses is None else np.asarray(masses, np.float64)
    if mass.shape != (count,) or not (np.isfinite(mass).all() and (mass > 0.0).all()):
        raise InputError(
            f"masses {mass.shape}, not all positive and finite, or not one per particle",
            "ClusterSkin.masses",
            f"Give {count} masses above 0 [kg]",
        )
    weight = mass[members]
    return weight / np.repeat(_per_cluster(weight[:, None], starts)[:, 0], np.diff(starts))


def _per_cluster(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums over each cluster's members: (members, ...) -> (c, ...)."""
    return np.add.reduceat(values, starts[:-1], axis=0)


def _inverse_moments(
    arms: np.ndarray, shares: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A_qq^-1 within the directions of extent (c, 3, 3), axes as rows, the longest first, and their number (c,)."""
    moments = _per_cluster(shares[:, None, None] * arms[:, :, None] * arms[:, None, :], starts)
    values, vectors = np.linalg.eigh(moments)
    values, axes = values[:, ::-1], vectors[:, :, ::-1].transpose(0, 2, 1).copy()
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    kept = values > np.maximum(FLAT**2 * values[:, :1], np.finfo(np.float64).tiny)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    return np.einsum("ck,cki,ckj->cij", inverse, axes, axes), axes, kept.sum(axis=1).astype(np.int32)


def _cut(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut rows into chunks of at most `CHUNK`: where each chunk starts, and where the chunks of each row start."""
    sizes = np.diff(starts)
    counts = -(-sizes // CHUNK)
    per_row = np.concatenate([[0], np.cumsum(counts)])
    row = np.repeat(np.arange(len(sizes)), counts)
    place = np.arange(per_row[-1]) - per_row[row]
    return np.concatenate([starts[row] + CHUNK * place, starts[-1:]]), per_row
