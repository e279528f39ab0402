"""Two numbers of a method, fitted so that a body gives in to a few loads as finite elements do."""

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

    def answers(self, numbers: np.ndarray, problem: Problem, start: np.ndarray) -> np.ndarray | None:
        """Displacements (t, n, 3) under the loads; None if the body falls apart under one."""
        whole, inverse = self.whole(numbers), self.inverse(numbers)
        found = solve(whole, problem.loads, inverse, start=start, free=problem.free)
        return None if found is None else problem.clean(found, problem.held)


@dataclasses.dataclass(frozen=True)
class Fit:
    """The two numbers, and how far the answers are off before and after: of each test the root mean square distance
    from the finite elements' answer, weighed by mass, over the root mean square of that answer."""

    numbers: tuple[float, float]
    before: tuple[float, ...]
    after: tuple[float, ...]


@dataclasses.dataclass(eq=False)
class Problem:
    """Loads (t, n, 3) on a body, which particles are free in each (t, n, 1), and what they do to it.

    Attributes:
        clean: takes rigid motion out of fields of the free body; leaves the others as they are.
        mass: [kg] (n,). wanted: answers of finite elements (t, n, 3), clean.
    """

    loads: np.ndarray
    free: np.ndarray
    mass: np.ndarray
    wanted: np.ndarray
    clean: Callable[[np.ndarray, np.ndarray], np.ndarray]

    @property
    def held(self) -> np.ndarray:
        """Tests in which some particles are held (t,) bool."""
        return self.free.reshape(len(self.free), -1).min(axis=1) == 0.0

    def errors(self, fields: np.ndarray) -> np.ndarray:
        weight = self.mass[None, :, None]
        left = (weight * (fields - self.wanted) ** 2).sum(axis=(1, 2))
        return np.sqrt(left / (weight * self.wanted**2).sum(axis=(1, 2)))


def fit(family: Family, problem: Problem) -> Fit | None:
    """Fit so that the answers to the loads are near to the wanted ones; None if a body falls apart under a load.

    The search is in the space of a few fields: those of the finite elements, and those of the method with the numbers
    found so far. It costs a few solutions for any number of trials. Answers are compared as fields: what is too soft
    then counts more than what is too stiff, which can be off by no more than the answer itself.
    """
    held = problem.held
    numbers = np.array(family.start)
    fields = family.answers(numbers, problem, problem.wanted)
    if fields is None:
        return None
    before = problem.errors(fields)
    best, after = numbers, before
    spaces = [np.concatenate([problem.wanted[rows], fields[rows]]) for rows in (~held, held)]
    for _ in range(ROUNDS):
        misses = [
            _reduced(family, space, problem, rows)
            for space, rows in zip(spaces, (~held, held), strict=True)
            if rows.any()
        ]
        numbers = _search(family, misses, best)
        fields = family.answers(numbers, problem, fields)
        if fields is None:
            break
        errors = problem.errors(fields)
        if (errors**2).sum() < (after**2).sum():
            best, after = numbers, errors
        spaces = [np.concatenate([space, fields[r]]) for space, r in zip(spaces, (~held, held), strict=True)]
    return Fit((float(best[0]), float(best[1])), tuple(before.tolist()), tuple(after.tolist()))


Miss = Callable[[np.ndarray], float]


def _reduced(family: Family, space: np.ndarray, problem: Problem, rows: np.ndarray) -> Miss:
    """How far answers to some of the loads are off, within a space of fields (k, n, 3), for two numbers."""
    flat = space.reshape(len(space), -1)
    flat = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    _, sizes, basis = np.linalg.svd(flat, full_matrices=False)
    basis = basis[sizes > 1e-7 * sizes[0]].reshape(-1, *space.shape[1:])
    small = np.stack([family.parts(mode) for mode in basis], axis=1)
    parts = np.einsum("pani,bni->pab", small, basis)
    pushes = np.einsum("kni,bni->kb", problem.loads[rows], basis)
    wanted = np.einsum("kni,bni->kb", problem.wanted[rows], basis)
    metric = np.einsum("ani,n,bni->ab", basis, problem.mass, basis)
    size = np.einsum("ka,ab,kb->k", wanted, metric, wanted)

    def miss(numbers: np.ndarray) -> float:
        matrix = np.tensordot(family.weights(numbers), parts, axes=1)
        try:
            off = np.linalg.solve(matrix, pushes.T).T - wanted
        except np.linalg.LinAlgError:
            return np.inf
        return float((np.einsum("ka,ab,kb->k", off, metric, off) / size).sum())

    return miss


def _search(family: Family, problems: list[Miss], start: np.ndarray) -> np.ndarray:
    """The numbers that miss least, by grids that close in."""
    miss = lambda numbers: sum(problem(numbers) for problem in problems)
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
