"""Wrinkled skins: fine surfaces over coarse sheets, with waves where these are compressed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch
from pliant.mesh.wrinkles import WrinkleMap
from pliant.model.patches import incidence
from pliant.skin import wrinkle_kernels as kernels
from pliant.skin.surface import SkinSurface

# Pairs of passes that smooth the compression over the coarse mesh.
SMOOTHING = 1


@dataclasses.dataclass
class _Sheet:
    """One sheet's vertices of each level: where the fine ones begin, their numbers, tables and room."""

    first: int
    counts: list[int]
    limit: list[wp.array]
    levels: list[list[wp.array]]
    buffers: list[wp.array]


class WrinkleSkin(SkinSurface):
    """The wrinkled surfaces of several sheets in a row; each frame follows from the particles alone.

    Args:
        maps: one for each sheet, in the model's particle numbers.
        particles: number of particles of the model.
        device: where it lives.
    """

    def __init__(self, maps: Sequence[WrinkleMap], particles: int, device: str = "cpu"):
        ends = np.cumsum([0, *(len(m.hosts) for m in maps)])
        triangles = np.concatenate([m.triangles + first for m, first in zip(maps, ends[:-1], strict=True)])
        super().__init__(int(ends[-1]), triangles.astype(np.int32), device, "WrinkleSkin")
        corners = np.concatenate([m.corners for m in maps])
        starts, around, _ = incidence(corners, particles)
        used = np.flatnonzero(np.diff(starts))
        self._particles = particles
        make = self._upload
        self._faces = [
            make(corners.astype(np.int32), wp.vec3i),
            make(np.concatenate([m.inverse for m in maps]).astype(np.float32), wp.vec4),
        ]
        # the rows of other particles are empty, so the fans of these follow one another
        fan = (used, np.concatenate([starts[used], starts[-1:]]), around)
        self._fans = [make(values.astype(np.int32), int) for values in fan]
        self._fans.append(make(np.concatenate([m.area for m in maps]).astype(np.float32), float))
        room = lambda count: wp.zeros(count, dtype=wp.vec3, device=self.device)
        self._face_metric, self._metric, self._spare = room(len(corners)), room(particles), room(particles)
        self._sheets = [self._sheet(m, int(first)) for m, first in zip(maps, ends[:-1], strict=True)]
        self._fine = [
            make(np.concatenate([m.hosts for m in maps]).astype(np.int32), wp.vec3i),
            make(np.concatenate([_data(m) for m in maps]), wp.vec4),
            make(np.concatenate([m.phase.reshape(-1) for m in maps]), float),
        ]

    def _upload(self, values: np.ndarray, dtype: Any) -> wp.array:
        return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)

    def update(self, x: wp.array, normals: bool = True) -> None:
        """Write `x`, and `normals` if asked for, from the particles' positions (N,) vec3 [m]; nothing is read back."""
        if len(x) < self._particles:
            raise InputError(
                f"{len(x)} particles instead of {self._particles}", "WrinkleSkin.update(x)", "Give those of all"
            )
        self._smooth(x)
        self._measure(x)
        self.update_normals()
        fine = [*self._fine, self._metric, self.normals]
        launch(kernels.lift_up, len(self), fine, [self.x], device=self.device, grain=4096)
        if normals:
            self.update_normals()

    def _sheet(self, m: WrinkleMap, first: int) -> _Sheet:
        """What subdivides one sheet, whose fine vertices begin at `first`."""
        table = lambda s: [
            self._upload(s.starts.astype(np.int32), int),
            self._upload(s.columns.astype(np.int32), int),
            self._upload(s.weights.astype(np.float32), float),
        ]
        counts = [len(m.vertices), *(len(s) for s in m.stencils)]
        buffers = [wp.zeros(n, dtype=wp.vec3, device=self.device) for n in counts[:-1]]
        limit = [self._upload(m.vertices.astype(np.int32), int), *table(m.limit)]
        return _Sheet(first, counts, limit, [table(s) for s in m.stencils], buffers)

    def _smooth(self, x: wp.array) -> None:
        """Write the smooth fine surfaces without waves to `x`."""
        for sheet in self._sheets:
            if not sheet.levels:
                launch(kernels.copy_vertices, sheet.counts[0], [sheet.limit[0], x, sheet.first], [self.x],
                       device=self.device)  # fmt: skip
                continue
            launch(kernels.pull_out, sheet.counts[0], [*sheet.limit, x], [sheet.buffers[0]], device=self.device)
            for k, level in enumerate(sheet.levels):
                last = k + 1 == len(sheet.levels)
                target, first = (self.x, sheet.first) if last else (sheet.buffers[k + 1], 0)
                given = [*level, first, sheet.buffers[k]]
                launch(kernels.subdivide, sheet.counts[k + 1], given, [target], device=self.device)

    def _measure(self, x: wp.array) -> None:
        """Write the metric at the coarse vertices, smoothed."""
        device, count = self.device, len(self._fans[0])
        launch(kernels.find_faces, len(self._face_metric), [*self._faces, x], [self._face_metric], device=device)
        fans = [*self._fans, self._face_metric]
        launch(kernels.gather_faces, count, fans, [self._metric], device=device)
        for _ in range(SMOOTHING):
            for source, target in ((self._metric, self._spare), (self._spare, self._metric)):
                around = [*self._fans, self._faces[0], source]
                launch(kernels.smooth_metric, count, around, [target], device=device)


def _data(m: WrinkleMap) -> np.ndarray:
    """Two weights, the height of a wave of slope 1 [m], and the threshold, of each fine vertex (n, 4) float32."""
    data = np.empty((len(m.hosts), 4), np.float32)
    data[:, :2] = m.weights[:, 1:]
    data[:, 2] = m.settings.strength * m.wavelength / (2.0 * np.pi)
    data[:, 3] = m.settings.threshold
    return data
