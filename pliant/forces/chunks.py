"""Runs of items that are summed one after the other, so that a sum does not depend on the number of threads."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

SHORTEST = 32


@dataclasses.dataclass(frozen=True)
class Chunks:
    """The items of several bodies, which stand one after the other, cut into runs.

    Attributes:
        starts: first item of each run, and the end (c + 1,) int32.
        body: body number of each run (c,) int32.
        ranges: first run of each body and the one after the last, (b, 2) int32.
    """

    starts: np.ndarray
    body: np.ndarray
    ranges: np.ndarray

    @property
    def count(self) -> int:
        return len(self.body)


def cut(counts: Sequence[int]) -> Chunks:
    """Cut the items of bodies of so many items into runs, about as many as a run has items."""
    starts: list[np.ndarray] = []
    body: list[int] = []
    ranges: list[tuple[int, int]] = []
    first = 0
    for b, count in enumerate(counts):
        parts = max(1, count // max(SHORTEST, math.isqrt(count)))
        ranges.append((len(body), len(body) + parts))
        starts.append(first + np.arange(parts) * count // parts)
        body += [b] * parts
        first += count
    return Chunks(
        np.append(np.concatenate(starts), first).astype(np.int32), np.array(body, np.int32), np.array(ranges, np.int32)
    )
