"""What every skin has: vertices, triangles and area-weighted normals on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pliant.launch import launch, pick_device
from pliant.mesh import arrays
from pliant.model.patches import incidence
from pliant.skin import cpu_kernels, kernels

NORMAL_WIDTHS = (6, 8)
"""Triangles around a vertex that a row can hold: the smallest that leaves few vertices out is taken."""
CROWDED_SHARE = 0.05


class SkinSurface:
    """A surface on a device; vertices keep the order they were given in.

    Attributes:
        device: where it lives.
        x: positions (n,) vec3 [m].
        normals: unit normals (n,) vec3, weighted by the triangles' areas; zero where there is no area.
        triangles: (k, 3) int32, on the host.
    """

    def __init__(self, count: int, triangles: Any, device: str, where: str):
        self.device = pick_device(device)
        self._code = cpu_kernels if self.device == "cpu" else kernels
        self.triangles = arrays.as_indices(triangles, 3, f"{where}.triangles")
        arrays.check_indices(self.triangles, count, "triangle", f"{where}.triangles")
        self.x = wp.zeros(count, dtype=wp.vec3, device=self.device)
        self.normals = wp.zeros(count, dtype=wp.vec3, device=self.device)
        self._build_normals(count)

    def __len__(self) -> int:
        return len(self.x)

    def _build_normals(self, count: int) -> None:
        # Triangles in the order of their vertices, so that neighbours lie near each other in memory.
        order = np.argsort(self.triangles.min(axis=1), kind="stable") if len(self.triangles) else np.zeros(0, int)
        triangles = self.triangles[order]
        starts, around, _ = incidence(triangles, count)
        valence = np.diff(starts)
        width = next((w for w in NORMAL_WIDTHS if (valence > w).sum() <= CROWDED_SHARE * count), NORMAL_WIDTHS[-1])
        rows = np.full((count, width), len(triangles), np.int32)
        owner = np.repeat(np.arange(count), valence)
        place = np.arange(len(around)) - starts[owner]
        fits = place < width
        rows[owner[fits], place[fits]] = around[fits]
        crowded = np.flatnonzero(valence > width)
        rest = valence[owner] > width

        self._face_triangles = wp.array(triangles, dtype=wp.vec3i, device=self.device)
        self._face_normals = wp.zeros(len(triangles) + 1, dtype=wp.vec4, device=self.device)
        self._normal_kernel = self._code.normal_kernel(width)
        row_type = wp.types.vector(length=width, dtype=int)
        self._around = wp.array(rows, dtype=row_type, device=self.device)
        crowded_starts = np.concatenate([[0], np.cumsum(valence[crowded])])
        self._crowded = [
            wp.array(values.astype(np.int32), dtype=int, device=self.device)
            for values in (crowded, crowded_starts, around[rest])
        ]

    def update_normals(self) -> None:
        """Write `normals` from `x`."""
        device = self.device
        launch(
            self._code.find_face_normals,
            len(self._face_triangles),
            [self._face_triangles, self.x],
            [self._face_normals],
            device=device,
        )
        launch(self._normal_kernel, len(self), [self._around, self._face_normals], [self.normals], device=device)
        launch(
            kernels.find_crowded_normals,
            len(self._crowded[0]),
            [*self._crowded, self._face_normals],
            [self.normals],
            device=device,
        )
