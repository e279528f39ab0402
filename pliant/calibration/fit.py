"""Two numbers of a method, fitted so that a body gives in to four loads as finite elements do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from pliant.calibration.conjugate import Product, solve

Bounds = tuple[tuple[float, float], tuple[float, float]]
ROUNDS = 2
"""How often the fields that a fit is made from are taken anew."""
GRID = 13
"""Values along each axis of the search."""


@dataclasses.dataclass(eq=False)
class Family:
    """A stiffness that is a sum of parts, in terms of two numbers.

    Attributes:
        parts: each part times displacements (n, 3): (p, n, 3).
        whole: for two numbers, the sum of the parts times several displacements (n, 3, k).
        weights: from the two numbers to the weight of each part (p,).
        inverse: what conjugate gradients are preconditioned with, for two numbers.
        start: the two numbers without calibration. bounds: where they may lie.
        log: whether each is searched by factors.
    """

    parts: Callable[[np.ndarray], np.ndarray]
    whole: Callable[[np.ndarray], Product]
    weights: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray], np.ndarray]
    start: tuple[float, float]
    bounds: Bounds
    log: tuple[bool, bool]

    def fields(self, numbers: np.ndarray, loads: np.ndarray, start: np.ndarray | None = None) -> np.ndarray | None:
        """Displacements (4, n, 3) under the loads; None if the body falls apart under one."""
        return solve(self.whole(numbers), loads, self.inverse(numbers), start=start)


@dataclasses.dataclass(frozen=True)
class Fit:
    """The two numbers, and how far the answers to the loads are off before and after: ln(method / finite elements)."""

    numbers: tuple[float, float]
    before: tuple[float, ...]
    after: tuple[float, ...]


def fit(family: Family, loads: np.ndarray, wanted: np.ndarray, reference: np.ndarray) -> Fit | None:
    """Fit so that the work of the loads is `wanted` (4,) [J]; None if a body falls apart under a load.

    The search is in the space of a few fields: those of the finite elements (4, n, 3), and those of the method with the
    numbers found so far. It costs a few solutions for any number of trials.
    """
    numbers = np.array(family.start)
    fields = family.fields(numbers, loads, reference)
    if fields is None:
        return None
    before = _errors(loads, fields, wanted)
    best, after = numbers, before
    space = np.concatenate([reference, fields])
    for _ in range(ROUNDS):
        numbers = _search(family, space, loads, wanted, best)
        fields = family.fields(numbers, loads, fields)
        if fields is None:
            break
        errors = _errors(loads, fields, wanted)
        if (errors**2).sum() < (after**2).sum():
            best, after = numbers, errors
        space = np.concatenate([space, fields])
    return Fit((float(best[0]), float(best[1])), tuple(before.tolist()), tuple(after.tolist()))


def _errors(loads: np.ndarray, fields: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    return np.log((loads * fields).sum(axis=(1, 2)) / wanted)


def _search(family: Family, space: np.ndarray, loads: np.ndarray, wanted: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The numbers whose answers within a space of fields (k, n, 3) are nearest to the wanted ones."""
    flat = space.reshape(len(space), -1)
    flat = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    _, sizes, basis = np.linalg.svd(flat, full_matrices=False)
    basis = basis[sizes > 1e-7 * sizes[0]].reshape(-1, *space.shape[1:])
    small = np.stack([family.parts(mode) for mode in basis], axis=1)
    parts = np.einsum("pani,bni->pab", small, basis)
    pushes = np.einsum("kni,bni->kb", loads, basis)

    def miss(numbers: np.ndarray) -> float:
        matrix = np.tensordot(family.weights(numbers), parts, axes=1)
        try:
            answers = np.linalg.solve(matrix, pushes.T).T
        except np.linalg.LinAlgError:
            return np.inf
        work = (answers * pushes).sum(axis=1)
        return float((np.log(work / wanted) ** 2).sum()) if (work > 0.0).all() else np.inf

    best, least = start, miss(start)
    width = 1.0
    lows, highs = _ends(family)
    centre = None
    for _ in range(9):
        axes = []
        for k in range(2):
            if centre is None:
                low, high = lows[k], highs[k]
            else:
                reach = 0.5 * width * (highs[k] - lows[k])
                low, high = max(lows[k], centre[k] - reach), min(highs[k], centre[k] + reach)
            axes.append(np.linspace(low, high, GRID))
        for first in axes[0]:
            for second in axes[1]:
                trial = _numbers(family, first, second)
                value = miss(trial)
                if value < least:
                    best, least = trial, value
        centre = [np.log(best[k]) if family.log[k] else best[k] for k in range(2)]
        width *= 0.3
    return best


def _ends(family: Family) -> tuple[list[float], list[float]]:
    ends = [[np.log(v) if family.log[k] else v for v in family.bounds[k]] for k in range(2)]
    return [e[0] for e in ends], [e[1] for e in ends]


def _numbers(family: Family, first: float, second: float) -> np.ndarray:
    return np.array([np.exp(v) if family.log[k] else v for k, v in enumerate((first, second))])
