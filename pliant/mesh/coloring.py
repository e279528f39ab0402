"""Graph colouring: elements of one colour share no vertex, so a solver may handle them all at once."""

from __future__ import annotations

import dataclasses

import numpy as np
import warp as wp

from pliant.launch import launch, pick_device
from pliant.mesh import arrays
from pliant.mesh.coloring_kernels import even_out, first_fit
from pliant.mesh.rings import neighbours

PASSES = 3
"""Times the colouring is done: each takes the colours of the one before in a new order, and needs no more of them."""


@dataclasses.dataclass(frozen=True, eq=False)
class Coloring:
    """Elements by colour.

    Attributes:
        color: colour of each element (m,) int32, from 0.
        order: elements sorted by colour, then by number (m,) int32.
        starts: (colours + 1,) int32; the elements of colour c are ``order[starts[c]:starts[c + 1]]``.
    """

    color: np.ndarray
    order: np.ndarray
    starts: np.ndarray

    @property
    def count(self) -> int:
        """Number of colours."""
        return len(self.starts) - 1

    def of(self, color: int) -> np.ndarray:
        """Elements of one colour (k,) int32, sorted."""
        return self.order[self.starts[color] : self.starts[color + 1]]


def color(elements: np.ndarray, count: int, *, balance: bool = True) -> Coloring:
    """Colour elements so that no two of a colour have a vertex in common.

    First fit in the order given, then again colour by colour from the last to the first (Culberson 1992), which never
    takes more colours and often fewer; then elements move to smaller colours. At most 1 + k (d - 1) colours for k
    corners and at most d elements around a vertex; no fewer than d are possible. The same input gives the same colours.

    Args:
        elements: vertex numbers (m, k).
        count: number of vertices.
        balance: make the colours about equally large.
    """
    return _color_elements(np.asarray(elements), count, "element", "color(elements)", balance)


def color_springs(pairs: np.ndarray, count: int, *, balance: bool = True) -> Coloring:
    """Colour springs (e, 2) so that no two of a colour share a vertex; see `color`."""
    return _color_elements(arrays.as_indices(pairs, 2, "color_springs(pairs)"), count, "spring", "", balance)


def color_tets(tets: np.ndarray, count: int, *, balance: bool = True) -> Coloring:
    """Colour tets (m, 4) so that no two of a colour share a vertex; see `color`."""
    return _color_elements(arrays.as_indices(tets, 4, "color_tets(tets)"), count, "tet", "", balance)


def color_vertices(edges: np.ndarray, count: int, *, balance: bool = True) -> Coloring:
    """Colour vertices so that no edge joins two of a colour; at most one more colour than the most edges at a vertex.

    Args:
        edges: (e, 2) vertex numbers.
        count: number of vertices; one without edges has a colour too.
        balance: make the colours about equally large.
    """
    table = neighbours(edges, count)
    itself = np.arange(count, dtype=np.int32)[:, None]
    most = int(np.diff(table.starts).max(initial=0)) + 1
    return _color(itself, table.starts, table.items, most, balance)


def _color_elements(elements: np.ndarray, count: int, kind: str, where: str, balance: bool) -> Coloring:
    where = where or f"color_{kind}s"
    elements = arrays.as_indices(elements, elements.shape[1] if elements.ndim == 2 else 1, where)
    count = arrays.whole(count, f"{where.split('(')[0]}(count)", low=0)
    arrays.check_indices(elements, count, kind, where)
    corners = elements.shape[1]
    flat = elements.reshape(-1)
    items = (np.argsort(flat, kind="stable") // max(corners, 1)).astype(np.int32)
    starts = np.zeros(count + 1, np.int64)
    around = np.bincount(flat, minlength=count)
    np.cumsum(around, out=starts[1:])
    most = 1 + corners * max(int(around.max(initial=0)) - 1, 0)
    return _color(elements, starts, items, most, balance)


def _color(elements: np.ndarray, starts: np.ndarray, items: np.ndarray, most: int, balance: bool) -> Coloring:
    """Colour elements (m, k) that differ from all ``items`` around their corners; at most ``most`` colours."""
    total = len(elements)
    if not total:
        return Coloring(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(1, np.int32))
    device = pick_device("cpu")
    array = lambda values: wp.array(np.ascontiguousarray(values, np.int32), dtype=int, device=device)
    table = [wp.array(elements, dtype=int, ndim=2, device=device), array(starts), array(items)]
    stamp = array(np.full(most + 1, -1))
    order = np.arange(total, dtype=np.int32)
    for _ in range(PASSES):
        stamp.fill_(-1)
        found = array(np.full(total, -1))
        launch(first_fit, 1, [*table, array(order), stamp], [found], device=device)
        colors = found.numpy()
        # Elements of one colour do not touch, so taking them together they fit into as few colours as before.
        order = np.argsort(-colors, kind="stable").astype(np.int32)
    if balance:
        stamp.fill_(-1)
        sizes = array(np.bincount(colors))
        launch(even_out, 1, [*table, stamp], [sizes, found], device=device)
        colors = found.numpy()
    colors = colors.copy()
    counts = np.bincount(colors)
    return Coloring(
        colors,
        np.argsort(colors, kind="stable").astype(np.int32),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
    )
