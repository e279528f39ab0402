"""Charts of an atlas: which triangles hang together in the texture."""

from __future__ import annotations

import numpy as np

from pliant.mesh import arrays

SAME_UV = 1e-6
"""Distance below which two places in the texture are one, in parts of its side."""


def charts_of(triangles: np.ndarray, uv: np.ndarray) -> np.ndarray:
    """Chart of each triangle (k,) int32: triangles that share an edge hang together where it has one place in uv.

    Args:
        triangles: (k, 3) vertex numbers.
        uv: of each corner (k, 3, 2), in parts of the texture.
    """
    row, side, other_row, other_side = shared_edges(triangles)
    ends = lambda r, s: (uv[r, s], uv[r, (s + 1) % 3])
    (a, b), (c, d) = ends(row, side), ends(other_row, other_side)
    same = (np.abs(a - d) < SAME_UV).all(axis=1) & (np.abs(b - c) < SAME_UV).all(axis=1)
    return arrays.connected_parts(np.stack([row, other_row], axis=1)[same], len(triangles))[1]


def shared_edges(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Triangle and side of both uses of each edge that exactly two triangles share, in opposite directions (e,) each.

    Side i runs from corner i to the next.
    """
    first, second = triangles.astype(np.int64), np.roll(triangles, -1, axis=1).astype(np.int64)
    forward = (first << 32 | second).ravel()
    backward = (second << 32 | first).ravel()
    order = np.argsort(forward, kind="stable")
    at = np.minimum(np.searchsorted(forward[order], backward), len(order) - 1)
    partner = order[at]
    here = np.flatnonzero((forward[partner] == backward) & (first.ravel() < second.ravel()))
    there = partner[here]
    return here // 3, here % 3, there // 3, there % 3
