"""Coarser levels of the layers: which nodes go together, and how a coarse motion moves the nodes.

Nodes go together with their neighbours (Vanek, Mandel and Brezina 1996, smoothed aggregation); a node follows the means
of the groups around it, so P reproduces what moves all nodes alike. Only the numbers of the nodes are looked at, so one
hierarchy serves every length of the step.
"""

from __future__ import annotations

import dataclasses

import numpy as np

BLEND = 0.8
"""Share of a node's ring in what the node follows; the rest is its own group."""
LEFT_OVER = (5, 4, 3)
"""Nodes that make a group where no whole ring is left, the most first."""


@dataclasses.dataclass(frozen=True)
class Pattern:
    """Which blocks of a symmetric matrix are there: `rows` and `columns` (k,) beside the diagonal, sorted by row.

    `strength` (k,) is how strong they are; all alike if not given.
    """

    count: int
    rows: np.ndarray
    columns: np.ndarray
    strength: np.ndarray | None = None

    @property
    def starts(self) -> np.ndarray:
        return np.searchsorted(self.rows, np.arange(self.count + 1))

    def with_diagonal(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of all blocks, the diagonal last."""
        own = np.arange(self.count)
        return np.concatenate([self.rows, own]), np.concatenate([self.columns, own])


@dataclasses.dataclass(frozen=True)
class Coarsening:
    """From a level to the next: P by rows (node, group, weight), the coarse pattern, and the terms of P^T A P.

    Attributes:
        node, group, weight: entries of P, sorted by node.
        coarse: pattern of the coarser level.
        term_starts: of each coarse block, the diagonal last. term_block: fine block, the diagonal last. term_weight.
    """

    node: np.ndarray
    group: np.ndarray
    weight: np.ndarray
    coarse: Pattern
    term_starts: np.ndarray
    term_block: np.ndarray
    term_weight: np.ndarray


def coarsened(fine: Pattern) -> Coarsening:
    """The next coarser level of a pattern."""
    groups, count = _groups(fine)
    node, group, weight = _follows(fine, groups, count)
    return _products(fine, node, group, weight, count)


def _groups(fine: Pattern) -> tuple[np.ndarray, int]:
    """The group of each node (n,), and how many there are: from node to node outwards, a node with all its neighbours
    where all are free still; then what is left with what is left around it; the rest joins its neighbours."""
    starts, columns = fine.starts.tolist(), fine.columns.tolist()
    rings = [columns[starts[i] : starts[i + 1]] for i in range(fine.count)]
    group = [-1] * fine.count
    count = 0
    order = _outwards(rings)
    for i in order:
        if group[i] < 0 and all(group[j] < 0 for j in rings[i]):
            for j in (i, *rings[i]):
                group[j] = count
            count += 1
    for least in LEFT_OVER:
        for i in order:
            if group[i] < 0:
                left = [j for j in rings[i] if group[j] < 0]
                if len(left) + 1 >= least:
                    for j in (i, *left):
                        group[j] = count
                    count += 1
    joined = list(group)
    for i in order:
        if group[i] < 0:
            near = [group[j] for j in rings[i] if group[j] >= 0]
            joined[i] = max(sorted(set(near)), key=near.count)
    return np.array(joined, np.int64), count


def _outwards(rings: list[list[int]]) -> list[int]:
    """All nodes, each near those before it: breadth first."""
    seen = [False] * len(rings)
    order: list[int] = []
    for seed in range(len(rings)):
        if seen[seed]:
            continue
        seen[seed] = True
        begin = len(order)
        order.append(seed)
        while begin < len(order):
            for j in rings[order[begin]]:
                if not seen[j]:
                    seen[j] = True
                    order.append(j)
            begin += 1
    return order


def _follows(fine: Pattern, groups: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries of P: node, group, weight."""
    rows, columns = fine.with_diagonal()
    strong = np.ones(len(fine.rows)) if fine.strength is None else fine.strength
    # a node counts as one of its neighbours does
    own = np.bincount(fine.rows, strong, minlength=fine.count) / np.maximum(np.diff(fine.starts), 1)
    strong = np.concatenate([strong, np.maximum(own, 1e-300)])
    ring = np.bincount(rows, strong, minlength=fine.count)
    node = np.concatenate([rows, np.arange(fine.count)])
    group = np.concatenate([groups[columns], groups])
    weight = np.concatenate([BLEND * strong / ring[rows], np.full(fine.count, 1.0 - BLEND)])
    key, place = np.unique(node * count + group, return_inverse=True)
    return key // count, key % count, np.bincount(place, weight)


def _products(fine: Pattern, node: np.ndarray, group: np.ndarray, weight: np.ndarray, count: int) -> Coarsening:
    """The terms w_iI w_jJ A_ij of each coarse block I, J."""
    starts = np.searchsorted(node, np.arange(fine.count + 1))
    follows = np.diff(starts)
    rows, columns = fine.with_diagonal()
    pairs = follows[rows] * follows[columns]
    block = np.repeat(np.arange(len(rows)), pairs)
    rank = np.arange(len(block)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    one = starts[rows[block]] + rank // follows[columns[block]]
    other = starts[columns[block]] + rank % follows[columns[block]]
    key = group[one] * count + group[other]
    # the diagonal last
    key = np.where(group[one] == group[other], count * count + group[one], key)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    found = key[first]
    beside = found[found < count * count]
    return Coarsening(
        node, group, weight, Pattern(count, beside // count, beside % count), np.append(first, len(key)), block[order],
        (weight[one] * weight[other])[order],
    )  # fmt: skip
