"""Trees of boxes around triangles or edges: one for each body, made once, fitted anew as the body deforms.

A node is followed by what is below it, and `skip` says where the walk goes on if its box is not touched: a walk needs
no stack, only a loop. The shape of a tree is that of the body at rest. Neighbours in a body stay neighbours however it
folds, so fitting the boxes anew is enough.
"""

from __future__ import annotations

import itertools

import numpy as np
import warp as wp

from pliant.collide.soft.tree_kernels import Course, TreeData, box_items, fit_levels, fit_up
from pliant.launch import launch
from pliant.mesh.order import bisect_order

LEAF = 4
"""Items in a leaf; less than 8, see `TreeData`."""
LEVELS = 3
"""Levels that one launch fits."""


class Tree:
    """Boxes around items of several bodies.

    Args:
        corners: particles of each item (m, 3), body after body.
        item_body: body of each item (m,), sorted.
        bodies: number of bodies.
        rest: rest positions of all particles [m].
        device: where the boxes are.
        more: bodies whose pieces have numbers of their own behind those of all bodies and the one after them (p,).

    Attributes:
        order: the items as they stand in the tree: place -> number of the item that was given.
        data: what kernels walk through.
    """

    def __init__(
        self,
        corners: np.ndarray,
        item_body: np.ndarray,
        bodies: int,
        rest: np.ndarray,
        device: str,
        more: np.ndarray | None = None,
    ):
        self.device = device
        self.count = len(corners)
        starts = np.searchsorted(item_body, np.arange(bodies + 1))
        middle = rest[corners].mean(axis=1) if self.count else np.zeros((0, 3))
        order: list[np.ndarray] = []
        leaf, skip, right, depth = (list[np.ndarray]() for _ in range(4))
        roots = np.zeros(bodies + 1, np.int64)
        for b in range(bodies):
            roots[b] = sum(len(part) for part in skip)
            own, leaf_starts = bisect_order(middle[starts[b] : starts[b + 1]], LEAF)
            if not len(own):
                continue
            order.append(own + starts[b])
            shape = _shape(leaf_starts)
            leaf.append(np.where(shape[1] > 0, 8 * (shape[0] + starts[b]) + shape[1], 0))
            skip.append(shape[2] + roots[b])
            right.append(np.where(shape[3] >= 0, shape[3] + roots[b], -1))
            depth.append(shape[4])
        joined = lambda parts: np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, np.int64)
        self.order = joined(order)
        roots[bodies] = sum(len(part) for part in skip)
        self.nodes = int(roots[bodies])
        leaves, deep = joined(leaf), joined(depth)
        ints = lambda values: wp.array(np.ascontiguousarray(values, np.int32), dtype=int, device=device)
        node = np.zeros((max(self.nodes, 1), 8), np.float32)
        node.view(np.int32)[: self.nodes, 3] = joined(skip)
        node.view(np.int32)[: self.nodes, 7] = leaves
        data = TreeData()
        data.nodes = wp.array(node, dtype=float, device=device)
        data.boxes = wp.zeros((max(self.count, 1), 8), dtype=float, device=device)
        data.corners = wp.array(np.asarray(corners, np.int32)[self.order], dtype=wp.vec3i, device=device)
        data.leaf = ints(np.repeat(np.flatnonzero(leaves), leaves[leaves > 0] % 8))
        rights = joined(right)
        parents = np.full(self.nodes, -1)
        inner = np.flatnonzero(rights >= 0)
        parents[inner + 1] = parents[rights[inner]] = inner
        data.right, data.parent = ints(rights), ints(parents)
        data.arrived = ints(np.zeros(self.nodes))
        self.leaves = ints(np.flatnonzero(leaves))
        data.roots = ints(roots if more is None else np.append(roots, roots[more]))
        self.data = data
        tops = range(int(deep.max(initial=-1)) - LEVELS + 1, -LEVELS, -LEVELS)
        self.tops = [ints(np.flatnonzero(deep == max(top, 0))) for top in tops]


def fit_trees(one: Tree, two: Tree, course: Course) -> None:
    """Fit the boxes of two trees to where their items go."""
    trees = [one.data, two.data]
    launch(box_items, one.count + two.count, [one.count, course], trees, device=one.device, grain=2048)
    if one.device != "cpu":
        count = len(one.leaves)
        inputs = [count, one.leaves, two.leaves]
        launch(fit_up, count + len(two.leaves), inputs, trees, device=one.device)
        return
    nothing = one.data.right[:0]
    for tops in itertools.zip_longest(one.tops, two.tops, fillvalue=nothing):
        nodes = len(tops[0]) + len(tops[1])
        launch(fit_levels, nodes, [len(tops[0]), *tops], trees, device=one.device, grain=1024)


def _shape(leaf_starts: np.ndarray) -> tuple[np.ndarray, ...]:
    """The nodes over leaves as `bisect_order` cuts them, each before what is below it.

    Returns:
        first, items: first item of each leaf and how many; zero items for others.
        skip: where the walk goes on behind a node and all below it.
        right: the second child, -1 for a leaf; the first one follows its parent.
        depth: of each node.
    """
    leaves = len(leaf_starts) - 1
    count = 2 * leaves - 1
    first, items, skip, right, depth = (np.zeros(count, np.int64) for _ in range(5))
    # nodes of a level: their place, their first leaf and how many leaves are below them
    node, begin, size = np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([leaves])
    level = 0
    while len(node):
        skip[node] = node + 2 * size - 1
        depth[node] = level
        is_leaf = size == 1
        first[node[is_leaf]] = leaf_starts[begin[is_leaf]]
        items[node[is_leaf]] = leaf_starts[begin[is_leaf] + 1] - leaf_starts[begin[is_leaf]]
        right[node[is_leaf]] = -1
        node, begin, size = node[~is_leaf], begin[~is_leaf], size[~is_leaf]
        lower = (size + 1) // 2
        right[node] = node + 2 * lower
        node = np.concatenate([node + 1, node + 2 * lower])
        begin, size = np.concatenate([begin, begin + lower]), np.concatenate([lower, size - lower])
        level += 1
    return first, items, skip, right, depth
