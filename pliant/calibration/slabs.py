"""A direct solver for bodies: the matrix is cut into slabs of particles, each of which touches its neighbours only."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from pliant.calibration.block_matrix import BlockMatrix

SEED = 0.03
"""Part of an extent of a body from whose end levels are counted."""


def levels(matrix: BlockMatrix, seeds: np.ndarray) -> tuple[np.ndarray, int]:
    """Steps along shared elements from the particles `seeds` to each particle (n,), and how many parts there are.

    A part that cannot be reached begins with its first particle, a step after the others.
    """
    row = matrix.row_of_blocks()
    level = np.full(matrix.count, -1)
    front = np.zeros(matrix.count, bool)
    new, step, parts = np.asarray(seeds), 0, 1
    while len(new):
        level[new] = step
        front[:] = False
        front[new] = True
        near = np.unique(matrix.column[front[row]])
        new, step = near[level[near] < 0], step + 1
        if not len(new):
            new = np.flatnonzero(level < 0)[:1]
            parts += len(new)
    return level, parts


def thinnest_levels(matrix: BlockMatrix, x: np.ndarray) -> tuple[np.ndarray, int]:
    """`levels` from that side of particles at x (n, 3) from which slabs take least work."""
    found = []
    for s in x.T:
        found.append(levels(matrix, np.flatnonzero(s < s.min() + SEED * np.ptp(s))))
    return min(found, key=lambda pair: Slabs.work(pair[0]))


@dataclasses.dataclass(eq=False)
class Slabs:
    """A matrix as blocks on and beside the diagonal, one for each level.

    Attributes:
        order: particles, slab by slab (n,). starts: first of each slab, and the end.
        own: block of each slab on the diagonal. beside: of each but the first, with the one before.
    """

    order: np.ndarray
    starts: np.ndarray
    own: list[np.ndarray]
    beside: list[np.ndarray]

    @staticmethod
    def of(matrix: BlockMatrix, level: np.ndarray) -> Slabs:
        order = np.argsort(level, kind="stable")
        starts = np.searchsorted(level[order], np.arange(level.max() + 2))
        place = np.empty(len(level), np.int64)
        place[order] = np.arange(len(level))
        place -= starts[level]
        row, column = matrix.row_of_blocks(), matrix.column
        by_level = np.argsort(level[row], kind="stable")
        ends = np.searchsorted(level[row][by_level], np.arange(level.max() + 2))
        sizes = np.diff(starts)
        own: list[np.ndarray] = []
        beside: list[np.ndarray] = []
        for k, size in enumerate(sizes):
            mine = by_level[ends[k] : ends[k + 1]]
            for step, out in ((0, own), (1, beside)):
                if step > k:
                    continue
                pick = mine[level[column[mine]] == k - step]
                dense = np.zeros((size, 3, sizes[k - step], 3))
                dense[place[row[pick]], :, place[column[pick]]] = matrix.blocks[pick]
                out.append(dense.reshape(3 * size, -1))
        return Slabs(order, starts, own, beside)

    @staticmethod
    def work(level: np.ndarray) -> float:
        """About how many operations a factorization takes."""
        return 6.0 * float(((3.0 * np.bincount(level)) ** 3).sum())

    def factor(self, added: np.ndarray) -> Factors:
        """Factors of the matrix with numbers (n,) added to its diagonal."""
        more = np.repeat(added[self.order], 3)
        inverses: list[np.ndarray] = []
        steps: list[np.ndarray] = []
        for k, block in enumerate(self.own):
            whole = block + np.diag(more[3 * self.starts[k] : 3 * self.starts[k + 1]])
            if k:
                step = self.beside[k - 1] @ inverses[-1]
                whole -= step @ self.beside[k - 1].T
                steps.append(step)
            inverses.append(np.linalg.inv(whole))
        return Factors(self, inverses, steps)


@dataclasses.dataclass(eq=False)
class Factors:
    """What solves a system of slabs: inverses of the slabs' own blocks, and what they hand on."""

    slabs: Slabs
    inverses: list[np.ndarray]
    steps: list[np.ndarray]

    def solve(self, loads: np.ndarray) -> np.ndarray:
        """Displacements (t, n, 3) under loads (t, n, 3)."""
        order, starts = self.slabs.order, self.slabs.starts
        right = loads[:, order].transpose(1, 2, 0).reshape(3 * len(order), -1)
        parts = [right[3 * begin : 3 * end] for begin, end in itertools.pairwise(starts)]
        for k, step in enumerate(self.steps, 1):
            parts[k] = parts[k] - step @ parts[k - 1]
        for k in reversed(range(len(parts))):
            parts[k] = self.inverses[k] @ parts[k]
            if k + 1 < len(parts):
                parts[k] -= self.steps[k].T @ parts[k + 1]
        found = np.empty_like(loads)
        found[:, order] = np.concatenate(parts).reshape(len(order), 3, -1).transpose(2, 0, 1)
        return found
