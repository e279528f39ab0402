"""A quantity of the particles as heat of what is seen: carried to the vertices, and the span of the heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Body, Model
from pliant.quantities.nearest import nearest_points
from pliant.studio import packing_kernels as kernels

SAMPLES = 4096
"""Seen vertices that the span is found from."""
SHARE = 0.95
"""Of the vertices that stay below the level: a few that are crushed at a floor do not set the scale."""
STEPS = (1.0, 2.0, 5.0, 10.0)
FALL = 0.02
"""Share of the way down that the followed level goes with each frame; it rises at once."""
SLACK = 0.7
"""The span shrinks when the level is below this share of the next smaller step."""


class HeatSpan:
    """The upper end of a heat map: the level rounded up to 1, 2 or 5 times a power of ten, and seldom changed.

    Attributes:
        high: the end now.
    """

    def __init__(self) -> None:
        self.high = 0.0
        self._level = 0.0

    def follow(self, level: float) -> float:
        """The end for the level that most values stay below now."""
        if math.isfinite(level) and level > self._level:
            self._level = level
        elif math.isfinite(level):
            self._level += FALL * (level - self._level)
        if self._level > self.high or self.high == 0.0:
            self.high = _round_up(self._level)
        while self._level < SLACK * (lower := _step_below(self.high)) and lower > 0.0:
            self.high = lower
        return self.high


def _round_up(level: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below the level; at least 1e-6."""
    level = min(max(level, 1e-6), 1e30)
    power = math.floor(math.log10(level) + 1e-9)
    base = float(f"1e{power}")
    return next((float(f"{step:g}e{power}") for step in STEPS if step * base >= level * (1.0 - 1e-9)), 10.0 * base)


def _step_below(high: float) -> float:
    """The step below an end; zero below the smallest."""
    if high <= 1e-6:
        return 0.0
    power = math.floor(math.log10(high) + 1e-9)
    lead = round(high / 10.0**power)
    return float(f"5e{power - 1}") if lead == 1 else float(f"{1 if lead == 2 else 2}e{power}")


class HeatCarrier:
    """Carries values of particles to what is seen.

    A skin's vertex has the mean of its hosts' values by their weights, one that follows clusters that of the nearest
    particle of its body at rest, the corners of a ball that of their particle.

    Args:
        model: whose bodies are seen.
        first: where the vertices of each body start among all that are seen, and the total (bodies + 1,).
        device: where it lives.

    Attributes:
        values: of all that is seen (n,), as of the last `carry`.
    """

    def __init__(self, model: Model, first: np.ndarray, device: str):
        self._model = model
        self.device = device
        self.values = wp.zeros(max(int(first[-1]), 1), dtype=float, device=device)
        self._pending: list[tuple[list[int], wp.array, wp.array, wp.array | None]] = []
        self._runs: list[tuple] | None = None
        count = int(first[-1])
        rows = np.unique(np.linspace(0, max(count - 1, 0), min(SAMPLES, count)).astype(np.int32))
        self._rows = wp.array(rows, dtype=int, device=device)
        self._sample = wp.zeros(len(rows), dtype=float, device=device)

    def add(self, chosen: Sequence[int], bodies: wp.array, shifts: wp.array, hosts: wp.array | None = None) -> None:
        """Carry values to a row of surfaces of chosen bodies; see `Packer`.

        `hosts` are the particles of the vertices (n,) int on the device where they change, as those of torn sheets do.
        """
        self._pending.append((list(chosen), bodies, shifts, hosts))

    def _tables(self) -> list[tuple]:
        """Hosts and weights of each row of surfaces; made when heat is asked for first."""
        if self._runs is None:
            self._runs = []
            for chosen, of_vertex, shifts, known in self._pending:
                if known is not None:
                    self._runs.append((kernels.pick_values, len(known), [known, of_vertex, shifts]))
                    continue
                parts = [self._hosts(self._model.bodies[k]) for k in chosen]
                width = max(hosts.shape[1] for hosts, _ in parts)
                hosts = np.concatenate([_wide(hosts, width) for hosts, _ in parts]).astype(np.int32)
                weights = np.concatenate([_wide(weights, width) for _, weights in parts]).astype(np.float32)
                if width == 1:
                    tables = [wp.array(hosts[:, 0].copy(), dtype=int, device=self.device)]
                    kernel = kernels.pick_values
                else:
                    kinds = [wp.types.vector(length=width, dtype=kind) for kind in (int, float)]
                    tables = [
                        wp.array(np.ascontiguousarray(values), dtype=kind, device=self.device)
                        for values, kind in zip((hosts, weights), kinds, strict=True)
                    ]
                    kernel = kernels.mix_kernel(width)
                self._runs.append((kernel, len(hosts), [*tables, of_vertex, shifts]))
        return self._runs

    def _hosts(self, body: Body) -> tuple[np.ndarray, np.ndarray]:
        """Particles that each seen vertex of a body has its value from, and their weights (n, k)."""
        if body.embedding is not None:
            weights = np.maximum(body.embedding.weights, 0.0)
            return body.embedding.hosts, weights / weights.sum(axis=1, keepdims=True)
        if body.tubes is not None:
            hosts = body.particles[0] + body.tubes.hosts()[:, None]
        elif body.skin is not None:
            rest = self._model.particles.rest[slice(*body.particles)]
            hosts = body.particles[0] + nearest_points(rest, body.skin.vertices, 1)
        else:
            each = body.seen_vertices // max(len(body.rank), 1)
            hosts = np.repeat(body.particle_of, each)[:, None]
        return hosts, np.ones(hosts.shape)

    def carry(self, values: wp.array) -> None:
        """Write `values` from those of the particles (N,) float."""
        for kernel, count, tables in self._tables():
            launch(kernel, count, [*tables, values], [self.values], device=self.device)

    def level(self, values: wp.array) -> float:
        """What one in a hundred of the seen vertices exceeds, from a part of them, for values of the particles (N,).

        Of what is seen, as a few hot particles within would leave the surface in the colour of no heat.
        """
        if not len(self._rows):
            return 0.0
        self.carry(values)
        launch(kernels.sample_values, len(self._rows), [self._rows, self.values], [self._sample], device=self.device)
        sample = self._sample.numpy()
        sample = sample[np.isfinite(sample)]
        level = _level(sample)
        # where most have no heat at all, as far from contacts, those that have some set the scale
        return level if level > 0.0 else _level(sample[sample > 0.0])


def _level(sample: np.ndarray) -> float:
    """What most of a sample stays below; zero if there is none."""
    if not len(sample):
        return 0.0
    place = min(int(SHARE * len(sample)), len(sample) - 1)
    return float(np.partition(sample, place)[place])


def _wide(rows: np.ndarray, width: int) -> np.ndarray:
    """Rows made `width` long by zeros."""
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
