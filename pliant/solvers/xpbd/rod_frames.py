"""Orientations of many segments at once on the host: unit quaternions (n, 4) as (x, y, z, w), float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rotations b, then a (n, 4)."""
    av, aw, bv, bw = a[:, :3], a[:, 3:], b[:, :3], b[:, 3:]
    vector = aw * bv + bw * av + np.cross(av, bv)
    return np.concatenate([vector, aw * bw - (av * bv).sum(axis=1, keepdims=True)], axis=1)


def conjugate(q: np.ndarray) -> np.ndarray:
    """The rotations back (n, 4)."""
    return q * [-1.0, -1.0, -1.0, 1.0]


def turned(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors (n, 3) after the rotations."""
    t = 2.0 * np.cross(q[:, :3], v)
    return v + q[:, 3:] * t + np.cross(q[:, :3], t)


def third_axis(q: np.ndarray) -> np.ndarray:
    """What the rotations make of (0, 0, 1) (n, 3)."""
    return turned(q, np.broadcast_to([0.0, 0.0, 1.0], (len(q), 3)))


def vectors_of(q: np.ndarray) -> np.ndarray:
    """Four times the modified Rodrigues vectors (n, 3) [rad]; see `pliant.physics.quaternion.vector_of`."""
    sign = np.where(q[:, 3:] < 0.0, -1.0, 1.0)
    return 4.0 * sign * q[:, :3] / (1.0 + np.abs(q[:, 3:]))


def shortest_turns(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rotations that take unit vectors a to unit vectors b (n, 3) by the smallest angle (n, 4)."""
    w = 1.0 + (a * b).sum(axis=1, keepdims=True)
    axis = np.cross(a, b)
    half = w[:, 0] < 1e-9
    if half.any():
        # half a turn: any axis across a will do
        other = np.where(np.abs(a[half, :1]) < 0.7, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
        axis[half], w[half] = np.cross(a[half], other), 0.0
    q = np.concatenate([axis, w], axis=1)
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def led(
    levels: Sequence[np.ndarray], parent: np.ndarray, joint: np.ndarray, first: np.ndarray, directions: np.ndarray
) -> np.ndarray:
    """Orientations from root to tip (n, 4): the one before, turned by the joint, then the shortest way to the segment.

    Args:
        levels: nodes by distance from the root.
        parent: node before each one (n,).
        joint: orientation of each segment seen from the one before (n, 4).
        first: orientation to start from in each tree (t, 4).
        directions: unit vector along each segment (n, 3).
    """
    q = np.tile([0.0, 0.0, 0.0, 1.0], (len(parent), 1))
    tree = np.cumsum(parent < 0) - 1
    for depth, level in enumerate(levels[1:]):
        start = first[tree[level]] if depth == 0 else product(q[parent[level]], joint[level])
        found = product(shortest_turns(third_axis(start), directions[level]), start)
        q[level] = found / np.linalg.norm(found, axis=1, keepdims=True)
    return q


def best_turns(rest: np.ndarray, x: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The rotation of each run of points that fits it best, from rest to x (n, 3), as quaternions (t, 4).

    The largest eigenvector of Horn's matrix (Horn 1987); any of them where points on a line leave a choice.
    """
    size = np.diff(starts)
    mean = lambda p: np.repeat(np.add.reduceat(p, starts[:-1]) / size[:, None], size, axis=0)
    p, c = rest - mean(rest), x - mean(x)
    s = np.add.reduceat(p[:, :, None] * c[:, None, :], starts[:-1])
    trace = np.trace(s, axis1=1, axis2=2)
    horn = np.empty((len(size), 4, 4))
    horn[:, :3, :3] = s + np.swapaxes(s, 1, 2) - trace[:, None, None] * np.eye(3)
    horn[:, 3, 3] = trace
    axial = np.stack([s[:, 1, 2] - s[:, 2, 1], s[:, 2, 0] - s[:, 0, 2], s[:, 0, 1] - s[:, 1, 0]], axis=1)
    horn[:, :3, 3] = horn[:, 3, :3] = axial
    return np.linalg.eigh(horn)[1][:, :, 3]
