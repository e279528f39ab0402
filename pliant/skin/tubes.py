"""TubeSkin: the tubes around rods, moved on a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.mesh.tubes import CAP, Tubes
from pliant.skin import tube_kernels as kernels
from pliant.skin.surface import SkinSurface

RING_GRAIN = 4096
CHAIN_GRAIN = 256


@dataclasses.dataclass
class _Run:
    """Tubes with the same number of sides: three launches.

    Attributes:
        middles: tables of the middles of rings, and they themselves.
        walk: tables of the chains. place: tables of the rings. frames: of the rings.
        gaps: how the rings stand to broken segments. bodies: the numbers of the tubes.
    """

    middles: list[wp.array]
    walk: list[wp.array]
    place: list[wp.array]
    frames: list[wp.array]
    gaps: wp.array
    bodies: list[int]


class TubeSkin(SkinSurface):
    """The tubes of one body, or of several in a row, placed from nothing but the particles.

    One thread walks along each chain of vertices and carries a frame from ring to ring; see `Tubes.frames`. Normals
    are those of round tubes.

    Args:
        tubes: the tubes; a list for several bodies.
        device: where they live.
        first_particle: added to the numbers of the vertices; a list for several bodies.
    """

    def __init__(self, tubes: Tubes | Sequence[Tubes], device: str = "cpu", first_particle: int | Sequence[int] = 0):
        parts = [tubes] if isinstance(tubes, Tubes) else list(tubes)
        firsts = [first_particle] * len(parts) if isinstance(first_particle, int) else list(first_particle)
        starts = np.cumsum([0, *(part.count for part in parts)])
        triangles = [part.triangles() + start for part, start in zip(parts, starts, strict=False)]
        super().__init__(int(starts[-1]), np.concatenate(triangles).astype(np.int32), device, "TubeSkin")
        self._parts = parts
        self._runs = [
            self._build_run([k for k, part in enumerate(parts) if part.sides == sides], parts, firsts, starts)
            for sides in sorted({part.sides for part in parts})
        ]

    def _build_normals(self, count: int) -> None:
        """Nothing: the normals of tubes are known."""

    def update_normals(self) -> None:
        """Nothing: `update` writes them."""

    def _build_run(self, chosen: list[int], parts: list[Tubes], firsts: list[int], starts: np.ndarray) -> _Run:
        """The tubes of bodies that have as many sides, in a row."""
        rings = np.cumsum([0, *(parts[k].rings for k in chosen)])

        def put(values: list[np.ndarray], dtype: Any) -> wp.array:
            kind = np.int32 if dtype in (int, wp.vec4i) else np.float32
            return wp.array(np.concatenate(values).astype(kind), dtype=dtype, device=self.device)

        sides = parts[chosen[0]].sides
        ends = [parts[k].chains[:-1] + ring for k, ring in zip(chosen, rings, strict=False)]
        poles = [starts[k] + parts[k].rings * sides + 2 * np.arange(len(parts[k].first)) for k in chosen]
        slots = [starts[k] + sides * np.arange(parts[k].rings) for k in chosen]
        spans = put([parts[k].spans + firsts[k] for k in chosen], wp.vec4i)
        weights = put([parts[k].weights for k in chosen], wp.vec4)
        middles = wp.zeros(int(rings[-1]), dtype=wp.vec3, device=self.device)
        radius = put([parts[k].radius for k in chosen], float)
        frames = [wp.zeros(int(rings[-1]), dtype=wp.vec3, device=self.device) for _ in range(2)]
        rest = [put([getattr(parts[k], name) for k in chosen], wp.vec3) for name in ("first", "across")]
        walk = [put([*ends, rings[-1:]], int), radius, *rest, put(poles, int)]
        place = [radius, put(slots, int), put([parts[chosen[0]].circle], wp.vec2)]
        gaps = wp.zeros(int(rings[-1]), dtype=int, device=self.device)
        return _Run([spans, weights, middles], walk, place, frames, gaps, chosen)

    def break_segments(self, body: int, gone: np.ndarray) -> None:
        """Let the tubes of one of the bodies, by its number here, have gaps, between frames; see `Tubes.gaps`."""
        for run in self._runs:
            if body in run.bodies:
                place = run.bodies.index(body)
                first = sum(self._parts[k].rings for k in run.bodies[:place])
                values = run.gaps.numpy().copy()
                values[first : first + self._parts[body].rings] = self._parts[body].gaps(gone)
                run.gaps.assign(values)

    def update(self, x: wp.array) -> None:
        """Write `x` and `normals` for the particles' positions (N,) vec3 [m]; nothing is read back or allocated."""
        for run in self._runs:
            *tables, middles = run.middles
            given = [*tables, run.gaps, x]
            launch(kernels.find_middles, len(middles), given, [middles], device=self.device, grain=RING_GRAIN)
            launch(
                kernels.walk_chains,
                len(run.walk[-1]),
                [*run.walk, run.gaps, middles, CAP],
                [*run.frames, self.x, self.normals],
                device=self.device,
                grain=CHAIN_GRAIN,
            )
            launch(
                kernels.place_rings,
                len(run.place[0]),
                [*run.place, run.gaps, *run.frames, middles],
                [self.x, self.normals],
                device=self.device,
                grain=RING_GRAIN,
            )
