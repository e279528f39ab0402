"""The blow-up guard: finds the first value that is not finite or absurd, on the device, without stopping it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Model
from pliant.model.state import State
from pliant.vectors import FARTHEST, FASTEST

wp.set_module_options({"enable_backward": False})

PARTS = 1024
"""Threads that look; each at every so-many-th item."""
CUDA_PARTS = 16384


@wp.kernel
def guard_particles(
    start: int,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    parts: int,
    farthest: float,
    fastest: float,
    bad_out: wp.array(dtype=int),
):
    """The first particle of each part whose position or speed makes no sense, or -1."""
    c = start + wp.tid()
    bad = int(-1)
    for i in range(c, x.shape[0], parts):
        if bad < 0:
            far = wp.length(x[i])
            speed = wp.length(v[i])
            # a comparison with NaN is false, so ask for sense rather than nonsense
            if not (far < farthest and speed < fastest):
                bad = i
    bad_out[c] = bad


@wp.kernel
def guard_springs(
    start: int,
    pairs: wp.array(dtype=wp.vec2i),
    rest_length: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    parts: int,
    worst_out: wp.array(dtype=float),
    where_out: wp.array(dtype=int),
):
    """The longest spring of each part, over its rest length."""
    c = start + wp.tid()
    worst = float(0.0)
    where = int(-1)
    for s in range(c, pairs.shape[0], parts):
        pair = pairs[s]
        stretch = wp.length(x[pair[1]] - x[pair[0]]) / rest_length[s]
        if stretch > worst:
            worst = stretch
            where = s
    worst_out[c] = worst
    where_out[c] = where


@dataclasses.dataclass(frozen=True)
class GuardReport:
    """What the guard saw: a particle that makes no sense (-1 if none), and the longest spring."""

    particle: int
    spring: int
    stretch: float
    limit: float

    @property
    def bad(self) -> bool:
        return self.particle >= 0 or self.stretch > self.limit


class Guard:
    """Watches all particles and springs of a model."""

    def __init__(
        self,
        model: Model,
        device: str,
        stretch_limit: float,
        farthest: float = FARTHEST,
        fastest: float = FASTEST,
    ):
        self.device = device
        self.limit = stretch_limit
        self.farthest = farthest
        self.fastest = fastest
        self.springs = model.springs.count
        self.particles = model.particles.count
        self.pairs = wp.array(model.springs.pairs, dtype=wp.vec2i, device=device)
        self._rest_length = model.springs.rest_length.astype(np.float32)
        self.rest = wp.array(self._rest_length, dtype=float, device=device)
        self._forgot = False
        self.parts = PARTS if device == "cpu" else CUDA_PARTS
        self.bad = wp.full(self.parts, -1, dtype=int, device=device)
        self.worst = wp.zeros(self.parts, dtype=float, device=device)
        self.where = wp.full(self.parts, -1, dtype=int, device=device)

    def forget(self, broken: Sequence[tuple[int, np.ndarray]]) -> None:
        """Watch no more springs that are broken: the first spring of each body, and a mask over its own."""
        if not any(mask.any() for _, mask in broken) and not self._forgot:
            return
        # only the rows of these bodies: a method may have taken others out itself
        rest = self.rest.numpy().copy()
        for first, mask in broken:
            rows = slice(first, first + len(mask))
            rest[rows] = np.where(mask, np.inf, self._rest_length[rows])
        self.rest.assign(rest)
        self._forgot = True

    def look(self, state: State) -> None:
        """Launch the guard; `read` tells what it saw."""
        grain = max(1, 16384 * self.parts // max(self.particles, 1))
        launch(
            guard_particles,
            self.parts,
            [state.x, state.v, self.parts, self.farthest, self.fastest],
            [self.bad],
            device=self.device,
            grain=grain,
        )
        if self.springs:
            launch(
                guard_springs,
                self.parts,
                [self.pairs, self.rest, state.x, self.parts],
                [self.worst, self.where],
                device=self.device,
                grain=grain // 4 + 1,
            )

    def read(self) -> GuardReport:
        bad = self.bad.numpy()
        bad = bad[bad >= 0]
        worst = self.worst.numpy()
        k = int(np.argmax(worst))
        return GuardReport(int(bad.min()) if len(bad) else -1, int(self.where.numpy()[k]), float(worst[k]), self.limit)
