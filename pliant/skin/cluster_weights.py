"""Which clusters a skin's vertices follow, and how much."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.skin import cluster_kernels

FAR = 100.0
"""Distance from the particles' middle, in lengths of their box, beyond which neighbours are found by direction."""
FINDING_GRAIN = 512
BATCH = 1 << 16
"""Vertices weighed at once: bounds the scratch memory."""


def cluster_weights(
    points: np.ndarray, particles: np.ndarray, starts: np.ndarray, members: np.ndarray, influences: int, device: str
) -> tuple[np.ndarray, np.ndarray]:
    """Clusters (n, w) int32 and weights (n, w) float64 of each point, the largest weight first; rows add up to 1.

    A vertex follows the eight nearest particles with weights (1 - d / d_max)^2, where d_max is the distance of the
    ninth (Sumner, Schmid and Pauly 2007, Embedded deformation, eq. 4): a particle fades out before it is left out. Each
    particle passes its weight on to the clusters that hold it in equal parts, as goals are averaged in shape matching
    (Chentanez). The `influences` largest are kept.

    Args:
        points: (n, 3) [m].
        particles: (N, 3) [m].
        starts, members: the clusters, (c + 1,) and (starts[-1],).
        influences: most clusters per point.
        device: where the search runs.
    """
    held, member_of = np.unique(members, return_inverse=True)
    places = particles[held]
    ids = _nearest(points, places, device)
    share = _fading(points, places, ids)

    # The clusters around each particle that is held, as rows of a table.
    cluster = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    pairs = np.unique(np.stack([member_of, cluster], axis=1), axis=0)
    counts = np.bincount(pairs[:, 0], minlength=len(held))
    first = np.cumsum(counts) - counts

    found = np.zeros((len(points), influences), np.int32)
    weights = np.zeros((len(points), influences))
    for begin in range(0, len(points), BATCH):
        rows = slice(begin, begin + BATCH)
        near, part = ids[rows].ravel(), (share[rows] / counts[ids[rows]]).ravel()
        number = counts[near]
        entry = np.repeat(np.arange(len(near)), number)
        place = np.arange(len(entry)) - np.repeat(np.cumsum(number) - number, number)
        point = entry // ids.shape[1]
        key = point * len(starts) + pairs[first[near[entry]] + place, 1]
        keys, at = np.unique(key, return_inverse=True)
        total = np.bincount(at.ravel(), weights=part[entry], minlength=len(keys))
        point, number_of = keys // len(starts), keys % len(starts)
        order = np.lexsort((number_of, -total, point))
        per_point = np.bincount(point, minlength=len(ids[rows]))
        rank = np.arange(len(order)) - np.repeat(np.cumsum(per_point) - per_point, per_point)
        kept = rank < influences
        chosen = order[kept]
        found[begin + point[chosen], rank[kept]] = number_of[chosen]
        weights[begin + point[chosen], rank[kept]] = total[chosen]
    used = max(1, int((weights > 0.0).sum(axis=1).max(initial=1)))
    found, weights = found[:, :used], weights[:, :used]
    return found, weights / weights.sum(axis=1, keepdims=True)


def _nearest(points: np.ndarray, places: np.ndarray, device: str) -> np.ndarray:
    """The nearest places of each point (n, up to 9), nearest first."""
    wanted = min(cluster_kernels.NEIGHBOURS, len(places))
    low, high = places.min(axis=0), places.max(axis=0)
    size = float((high - low).max()) or 1.0
    middle = 0.5 * (low + high)
    scaled = (points - middle) / size
    away = np.linalg.norm(scaled, axis=1, keepdims=True)
    scaled *= FAR / np.maximum(away, FAR)
    spots = wp.array(((places - middle) / size).astype(np.float32), dtype=wp.vec3, device=device)
    asked = wp.array(scaled.astype(np.float32), dtype=wp.vec3, device=device)
    bvh = wp.Bvh(spots, wp.clone(spots))
    nearest = wp.empty(len(points), dtype=cluster_kernels.ids_type, device=device)
    spacing = 1.5 * len(places) ** (-1.0 / 3.0)
    inputs = [bvh.id, spots, asked, spacing, wanted]
    launch(cluster_kernels.find_nearest_particles, len(points), inputs, [nearest], device=device, grain=FINDING_GRAIN)
    return nearest.numpy().reshape(len(points), -1)[:, :wanted].astype(np.int64)


def _fading(points: np.ndarray, places: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Weight of each neighbour (n, up to 9); rows add up to 1."""
    distance = np.linalg.norm(places[ids] - points[:, None], axis=2)
    farthest = distance.max(axis=1, keepdims=True)
    if ids.shape[1] < cluster_kernels.NEIGHBOURS:
        # All there are: none has to fade out.
        farthest = 2.0 * farthest
    closeness = np.divide(distance, farthest, out=np.ones_like(distance), where=farthest > 0.0)
    weights = (1.0 - closeness) ** 2
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.full_like(weights, 1.0 / ids.shape[1]), where=total > 1e-20)
