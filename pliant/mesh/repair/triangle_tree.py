"""The triangles of a surface in a tree of boxes on a device, scaled to the unit box, for geometric queries."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import pick_device

MARGIN = 1e-6
"""Added around every box: what rounds to float32 stays inside."""


class TriangleTree:
    """Corners in float64, so that predicates are exact enough, and their boxes in a tree.

    Args:
        vertices: finite (n, 3) [m]. triangles: (k, 3), at least one, all vertex numbers in range.
        device: where the queries run.
    """

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray, device: str = "cpu"):
        self.device = pick_device(device)
        self.triangles = triangles
        used = vertices[triangles]
        low = used.min(axis=(0, 1))
        size = float((used.max(axis=(0, 1)) - low).max())
        self.points = (used - low) / (size if size > 0.0 else 1.0)
        self.corners = wp.array(self.points.reshape(-1, 3), dtype=wp.vec3d, device=self.device)
        self.names = wp.array(triangles.astype(np.int32).ravel(), dtype=wp.int32, device=self.device)
        lowers, uppers = self.points.min(axis=1) - MARGIN, self.points.max(axis=1) + MARGIN
        self.lowers = wp.array(lowers.astype(np.float32), dtype=wp.vec3, device=self.device)
        self.uppers = wp.array(uppers.astype(np.float32), dtype=wp.vec3, device=self.device)
        self.bvh = wp.Bvh(self.lowers, self.uppers)

    def __len__(self) -> int:
        return len(self.points)
