"""The element size that gives a wanted number of elements."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar

from pliant.mesh.solid.bcc import TooFineError
from pliant.mesh.solid.distance import OutOfTimeError

TRIES = 5


@dataclasses.dataclass(frozen=True)
class Target:
    """A wanted count of 'tets' or 'vertices'."""

    kind: str
    count: int
    TOLERANCE: ClassVar[float] = 0.05
    """Relative error of the count at which the search ends."""
    WORTH_A_NOTE: ClassVar[float] = 0.1
    """Relative error above which it is told."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """A mesh, the element size it was made with [m], and what is to be told about it."""

    mesh: Any
    size: float
    notes: tuple[str, ...] = ()


def fit_size(make: Callable[[float], Any], count: Callable[[Any], int], size: float, target: Target) -> Fit:
    """Make meshes of different element size until one has the wanted count within a twentieth; else the nearest.

    The count falls with about the third power of the size; the power is found from the last two meshes.

    Args:
        make: a mesh for an element size [m]; may raise `OutOfTimeError` or `TooFineError`, which end the search if a
            mesh was made before.
        count: of a mesh.
        size: the first to try [m].
    """
    best: Fit | None = None
    best_error, best_count = math.inf, 0
    last: tuple[float, float] | None = None
    for _ in range(TRIES):
        try:
            mesh = make(size)
        except (OutOfTimeError, TooFineError):
            if best is None:
                raise
            break
        found = count(mesh)
        if not found:
            best = best or Fit(mesh, size)
            size *= 0.6
            last = None
            continue
        error = math.log(found / target.count)
        if abs(error) < best_error:
            best, best_error, best_count = Fit(mesh, size), abs(error), found
        if abs(error) <= math.log(1.0 + Target.TOLERANCE):
            break
        power = 3.0
        if last is not None and last[0] != math.log(size):
            power = min(max((last[1] - error) / (math.log(size) - last[0]), 1.5), 5.0)
        last = (math.log(size), error)
        size *= math.exp(error / power)
    if best is None:
        raise ValueError("no mesh was made")
    if best_count and best_error > math.log(1.0 + Target.WORTH_A_NOTE):
        note = f"{best_count:,} {target.kind} were reached, {target.count:,} were wanted"
        return dataclasses.replace(best, notes=(note,))
    return best
