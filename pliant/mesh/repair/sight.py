"""Inside and outside by rays: which patches lie in which, and which side of a patch sees the outside."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.mesh.repair.sight_kernels import count_escapes, signed_crossings
from pliant.mesh.repair.triangle_tree import TriangleTree

FEWEST_RAYS, MOST_RAYS = 16, 64
"""Directions that a sample looks into, half of them the opposites of the others."""
ALL_RAYS = 1 << 18
"""Rays over all samples, as far as the fewest allow: bounds the time for a heap of loose triangles."""
SAMPLES = 4096
"""Samples over all patches together, when there are not more patches."""
FEWEST, MOST = 2, 256
"""Samples of a single patch."""
NEST_RAYS = 7
"""Rays that tell whether a closed patch lies within others."""
AGREE = 0.85
"""Part of a patch's rays that must find it inside another."""


def directions(count: int) -> np.ndarray:
    """Unit vectors (count, 3) spread evenly (Fibonacci), each with its opposite; count is even."""
    half = count // 2
    i = np.arange(half)
    height = (i + 0.5) / half
    angle = i * math.pi * (3.0 - math.sqrt(5.0)) + 0.1234
    ring = np.sqrt(1.0 - height**2)
    up = np.stack([ring * np.cos(angle), height, ring * np.sin(angle)], axis=1)
    return np.concatenate([up, -up])


@dataclasses.dataclass(frozen=True, eq=False)
class Samples:
    """Points spread over patches: of each its triangle, patch (s,), place in the tree's unit box (s, 3), weight."""

    triangle: np.ndarray
    patch: np.ndarray
    origin: np.ndarray
    weight: np.ndarray


def spread(tree: TriangleTree, patch: np.ndarray, wanted: np.ndarray, per_patch: int) -> Samples:
    """The same number of points on each wanted patch, weighted with the area of their triangles.

    Args:
        tree: of k triangles. patch: of each triangle (k,). wanted: patches (p,) bool.
        per_patch: points on each.
    """
    order = np.argsort(patch, kind="stable")
    size = np.bincount(patch, minlength=len(wanted))
    first = np.cumsum(size) - size
    chosen = np.flatnonzero(wanted)
    j = np.arange(per_patch)
    triangle = order[(first[chosen][:, None] + (j * size[chosen][:, None]) // per_patch)].ravel()
    # Places in the triangle by the additive golden-ratio sequence of two numbers (Roberts 2018).
    u, v = (0.5 + (j + 1) * 0.7548776662466927) % 1.0, (0.5 + (j + 1) * 0.5698402909980532) % 1.0
    u, v = np.where(u + v > 1.0, 1.0 - u, u), np.where(u + v > 1.0, 1.0 - v, v)
    u, v = 0.02 + 0.94 * np.tile(u, len(chosen)), 0.02 + 0.94 * np.tile(v, len(chosen))
    a, b, c = (tree.points[triangle, i] for i in range(3))
    # The same points whichever way the triangle winds.
    swap = (tree.triangles[triangle, 1] > tree.triangles[triangle, 2])[:, None]
    b, c = np.where(swap, c, b), np.where(swap, b, c)
    origin = a + u[:, None] * (b - a) + v[:, None] * (c - a)
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return Samples(triangle, patch[triangle], origin, area)


def nesting(
    tree: TriangleTree, patch: np.ndarray, closed: np.ndarray, volume: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How deep closed patches lie in other closed ones.

    Args:
        tree: of k triangles. patch: of each triangle (k,).
        closed: (p,) bool. volume: signed, of each patch (p,); of open ones anything.

    Returns:
        inside: closed patches that lie within another (p,) bool.
        host: sign of the volume of the outermost patch around each of those (p,) int: 1, -1, or 0 for none.
    """
    count = len(closed)
    inside, host = np.zeros(count, bool), np.zeros(count, np.int64)
    if closed.sum() < 2:
        return inside, host
    sign = np.where(closed, np.sign(volume), 0).astype(np.int32)
    samples = spread(tree, patch, closed, NEST_RAYS)
    ways = directions(2 * NEST_RAYS)[:NEST_RAYS] + np.array([0.0123, 0.0071, 0.0157])
    ways = np.tile(ways / np.linalg.norm(ways, axis=1)[:, None], (int(closed.sum()), 1))
    depth = _crossings(tree, patch, sign, samples, ways)
    inside[closed] = (depth.reshape(-1, NEST_RAYS) >= 1).mean(axis=1) >= AGREE
    if inside.any():
        outer = np.where(inside, 0, np.abs(sign)).astype(np.int32)
        around = _crossings(tree, patch, outer, samples, ways).reshape(-1, NEST_RAYS)
        host[closed] = np.sign(np.median(around, axis=1))
    return inside, np.where(inside, host, 0)


def _crossings(
    tree: TriangleTree, patch: np.ndarray, weight: np.ndarray, samples: Samples, ways: np.ndarray
) -> np.ndarray:
    total = wp.zeros(len(ways), dtype=wp.int32, device=tree.device)
    put = lambda array, kind: wp.array(np.ascontiguousarray(array), dtype=kind, device=tree.device)
    launch(
        signed_crossings,
        len(ways),
        [
            tree.bvh.id,
            tree.corners,
            put(patch.astype(np.int32), wp.int32),
            put(weight, wp.int32),
            put(samples.origin, wp.vec3d),
            put(ways, wp.vec3d),
            put(samples.patch.astype(np.int32), wp.int32),
        ],
        [total],
        device=tree.device,
        grain=64,
    )
    return total.numpy()


def outlook(tree: TriangleTree, patch: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How much of the outside the fronts and the backs of patches see: both (p,) from 0 to 1; 0 where not wanted.

    For a convex cup the back sees the area of the opening over the area of the cup. Turning a patch exchanges its
    two numbers exactly.
    """
    count = len(wanted)
    front, back = np.zeros(count), np.zeros(count)
    patches = int(wanted.sum())
    if not patches:
        return front, back
    samples = spread(tree, patch, wanted, int(np.clip(SAMPLES // patches, FEWEST, MOST)))
    a, b, c = (tree.points[samples.triangle, i] for i in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    normal /= np.where(length > 0.0, length, 1.0)
    seen = [wp.zeros(len(normal), dtype=wp.float64, device=tree.device) for _ in range(2)]
    put = lambda array, kind: wp.array(np.ascontiguousarray(array), dtype=kind, device=tree.device)
    launch(
        count_escapes,
        len(normal),
        [
            tree.bvh.id,
            tree.corners,
            put(directions(2 * int(np.clip(ALL_RAYS // len(normal), FEWEST_RAYS, MOST_RAYS) // 2)), wp.vec3d),
            put(samples.triangle.astype(np.int32), wp.int32),
            put(samples.origin, wp.vec3d),
            put(normal, wp.vec3d),
        ],
        seen,
        device=tree.device,
        grain=64,
    )
    total = np.bincount(samples.patch, weights=samples.weight, minlength=count)
    total = np.where(total > 0.0, total, 1.0)
    front = np.bincount(samples.patch, weights=samples.weight * seen[0].numpy(), minlength=count) / total
    back = np.bincount(samples.patch, weights=samples.weight * seen[1].numpy(), minlength=count) / total
    return front, back
