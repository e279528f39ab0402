"""Trees of boxes around triangles or edges: one for each body, made once, fitted anew as the body deforms.

A node is followed by what is below it, and `skip` says where the walk goes on if its box is not touched: a walk needs
no stack, only a loop. The shape of a tree is that of the body at rest. Neighbours in a body stay neighbours however it
folds, so fitting the boxes anew is enough.
"""

from __future__ import annotations

import itertools

import numpy as np
import warp as wp

from pliant.collide.soft.tree_kernels import TreeData, box_items, fit_level
from pliant.launch import launch
from pliant.mesh.order import bisect_order

LEAF = 4
"""Items in a leaf."""


class Tree:
    """Boxes around items of several bodies.

    Args:
        corners: particles of each item (m, 3), body after body.
        item_body: body of each item (m,), sorted.
        bodies: number of bodies.
        rest: rest positions of all particles [m].
        device: where the boxes are.

    Attributes:
        order: the items as they stand in the tree: place -> number of the item that was given.
        data: what kernels walk through.
    """

    def __init__(self, corners: np.ndarray, item_body: np.ndarray, bodies: int, rest: np.ndarray, device: str):
        self.device = device
        self.count = len(corners)
        starts = np.searchsorted(item_body, np.arange(bodies + 1))
        middle = rest[corners].mean(axis=1) if self.count else np.zeros((0, 3))
        order: list[np.ndarray] = []
        first, items, last, skip, right, depth = (list[np.ndarray]() for _ in range(6))
        roots = np.zeros(bodies + 1, np.int64)
        for b in range(bodies):
            roots[b] = sum(len(part) for part in skip)
            own, leaf_starts = bisect_order(middle[starts[b] : starts[b + 1]], LEAF)
            if not len(own):
                continue
            order.append(own + starts[b])
            shape = _shape(leaf_starts)
            first.append(shape[0] + starts[b])
            items.append(shape[1])
            last.append(shape[2] + starts[b])
            skip.append(shape[3] + roots[b])
            right.append(np.where(shape[4] >= 0, shape[4] + roots[b], -1))
            depth.append(shape[5])
        joined = lambda parts: np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, np.int64)
        self.order = joined(order)
        roots[bodies] = sum(len(part) for part in skip)
        self.nodes = int(roots[bodies])
        deep = joined(depth)
        by_depth = np.argsort(-deep, kind="stable")
        ends = np.searchsorted(-deep[by_depth], -np.arange(deep.max(initial=0), -2, -1)) if self.nodes else [0]
        self._levels = [(int(a), int(b)) for a, b in itertools.pairwise(ends)]
        ints = lambda values: wp.array(np.ascontiguousarray(values, np.int32), dtype=int, device=device)
        boxes = lambda count: wp.zeros(max(count, 1), dtype=wp.vec3, device=device)
        data = TreeData()
        data.corners = wp.array(np.asarray(corners, np.int32)[self.order], dtype=wp.vec3i, device=device)
        data.item = ints(self.order)
        data.item_low, data.item_high = boxes(self.count), boxes(self.count)
        data.low, data.high = boxes(self.nodes), boxes(self.nodes)
        data.first, data.items = ints(joined(first)), ints(joined(items))
        data.last = ints(joined(last))
        data.skip, data.right = ints(joined(skip)), ints(joined(right))
        data.roots = ints(roots)
        self.data = data
        self._by_depth = ints(by_depth)

    def fit(self, x: wp.array, x_next: wp.array, v: wp.array, radius: wp.array, ahead: wp.array, reach: float) -> None:
        """Fit all boxes to where the items are, after the step and `ahead` [s] later, and `reach` [m] around."""
        inputs = [x, x_next, v, radius, ahead, reach]
        launch(box_items, self.count, inputs, [self.data], device=self.device, grain=2048)
        for first, end in self._levels:
            launch(fit_level, end - first, [self._by_depth], [self.data], device=self.device, first=first, grain=4096)


def _shape(leaf_starts: np.ndarray) -> tuple[np.ndarray, ...]:
    """The nodes over leaves as `bisect_order` cuts them, each before what is below it.

    Returns:
        first, items: first item of each leaf and how many; zero items for others.
        last: end of the items below each node.
        skip: where the walk goes on behind a node and all below it.
        right: the second child, -1 for a leaf; the first one follows its parent.
        depth: of each node.
    """
    leaves = len(leaf_starts) - 1
    count = 2 * leaves - 1
    first, items, last, skip, right, depth = (np.zeros(count, np.int64) for _ in range(6))
    # nodes of a level: their place, their first leaf and how many leaves are below them
    node, begin, size = np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([leaves])
    level = 0
    while len(node):
        skip[node] = node + 2 * size - 1
        last[node] = leaf_starts[begin + size]
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
    return first, items, last, skip, right, depth
