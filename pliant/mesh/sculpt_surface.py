"""The surface of a sculpted shape as evenly sized triangles over a given number of vertices.

A fine surface is taken from a grid; its vertices are gathered into as many equal clusters as vertices are wanted, which
become round and even as each moves to its middle; the net of neighbouring clusters is the mesh. After Valette and
Chassery 2004, Approximated Centroidal Voronoi Diagrams for Uniform Polygonal Mesh Coarsening.
"""

from __future__ import annotations

import itertools

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.order import bisect_order
from pliant.mesh.rings import neighbours
from pliant.mesh.sculpt import Shape
from pliant.mesh.surface import SurfaceMesh

BLOCK = 8
"""Cells along a block that is sampled as a whole or not at all."""
REACH = 2.0
"""A block is sampled when its middle lies within so many of its radii from the surface: distances are not exact."""
MOST_NODES = 100_000_000
ROUGH = 100
"""Cells along the longest side of the grid that the area is measured on."""
FINENESS = 24
"""Vertices of the fine surface for each one that is wanted."""
ROUNDS = 100
PUSH = 1.6
"""How far a cluster's place moves towards its middle, in parts of the way; beyond 1 it settles sooner."""


def fine_surface(shape: Shape, cell: float) -> SurfaceMesh:
    """Triangles with a vertex in every grid cell that the surface crosses (surface nets), pulled onto the surface.

    In a crease sharper than the cells, four triangles may share an edge.

    Args:
        shape: the solid.
        cell: side of a grid cell [m].
    """
    if not (np.isfinite(cell) and cell > 0.0):
        raise InputError(f"a cell of {cell!r} m", "fine_surface(cell)", "Give a positive length")
    low = shape.low - 2.0 * cell
    blocks = np.ceil((shape.high + 2.0 * cell - low) / (cell * BLOCK))
    if not np.prod(blocks * BLOCK) < MOST_NODES:
        raise InputError(f"cells of {cell:.3g} m", "fine_surface(cell)", f"Use a grid of at most {MOST_NODES:,} nodes")
    inside, values = _sampled(shape, low, cell, blocks.astype(int))
    cells = _crossed(inside)
    if not len(cells):
        raise InputError(f"no grid cell of {cell:.3g} m meets the surface", "fine_surface(cell)", "Give a smaller cell")
    number = np.full(np.array(inside.shape) - 1, -1, np.int64)
    number[tuple(cells.T)] = np.arange(len(cells))
    vertices = shape.project(low + cell * _middles(values, cells), 2)
    return SurfaceMesh(vertices, _quads(inside, number), "fine surface")


def _sampled(shape: Shape, low: np.ndarray, cell: float, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether each grid node is inside (x, y, z) bool, and its distance [m], that of its block's middle far away."""
    side = BLOCK * cell
    numbers = np.indices(tuple(blocks)).reshape(3, -1).T
    middle = shape.distance(low + side * (numbers + 0.5))
    values = np.repeat(np.repeat(np.repeat(middle.reshape(blocks), BLOCK, 0), BLOCK, 1), BLOCK, 2)
    near = numbers[np.abs(middle) < REACH * 0.5 * np.sqrt(3.0) * side]
    within = np.indices((BLOCK,) * 3).reshape(3, -1).T
    for rows in np.array_split(near, max(1, len(near) // 500)):
        nodes = (BLOCK * rows[:, None] + within).reshape(-1, 3)
        values[tuple(nodes.T)] = shape.distance(low + cell * nodes)
    # a node exactly on the surface would make cells without extent
    values[values == 0.0] = 1e-9 * cell
    return values < 0.0, values


def _crossed(inside: np.ndarray) -> np.ndarray:
    """Grid cells (m, 3) whose corners are not all on one side."""
    count = np.zeros(np.array(inside.shape) - 1, np.int8)
    for corner in itertools.product((0, 1), repeat=3):
        count += inside[tuple(slice(c, n - 1 + c) for c, n in zip(corner, inside.shape, strict=True))]
    return np.argwhere((count > 0) & (count < 8))


def _middles(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Mean of the points where the surface crosses each cell's edges (m, 3), in cells from the grid's corner."""
    total, count = np.zeros((len(cells), 3)), np.zeros(len(cells))
    for axis in range(3):
        step = np.eye(3, dtype=int)[axis]
        for u, v in itertools.product((0, 1), repeat=2):
            start = cells + u * np.roll(step, 1) + v * np.roll(step, 2)
            a, b = values[tuple(start.T)], values[tuple((start + step).T)]
            cross = (a < 0.0) != (b < 0.0)
            along = a[cross] / (a[cross] - b[cross])
            total[cross] += start[cross] + along[:, None] * step
            count += cross
    return total / count[:, None]


def _quads(inside: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Two triangles around each grid edge that crosses the surface (k, 3) int64, counter-clockwise from outside."""
    found = []
    for axis in range(3):
        one, two = np.roll(np.eye(3, dtype=int)[axis], 1), np.roll(np.eye(3, dtype=int)[axis], 2)
        lower, upper = (np.moveaxis(inside, axis, 0)[part] for part in (slice(0, -1), slice(1, None)))
        edges = np.argwhere(lower != upper)
        leaving = lower[tuple(edges.T)]
        edges = np.insert(edges[:, 1:], axis, edges[:, 0], axis=1)
        around = [edges - one - two, edges - two, edges, edges - one]
        quad = np.stack([number[tuple(cells.T)] for cells in around], axis=1)
        quad[~leaving] = quad[~leaving][:, ::-1]
        found += [quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]]
    return np.concatenate(found)


def even_surface(shape: Shape, count: int, name: str = "", fineness: int = FINENESS) -> SurfaceMesh:
    """The surface of a shape over exactly ``count`` vertices, with triangles of one size.

    Args:
        shape: the solid. What is thinner than the triangles are long, in any direction, cannot be told.
        count: vertices.
        name: of the mesh.
        fineness: vertices of the fine surface for each one that is wanted, at least 8.

    Returns:
        a closed surface, counter-clockwise from outside.
    """
    count = arrays.whole(count, "even_surface(count)", low=12)
    fineness = arrays.whole(fineness, "even_surface(fineness)", low=8)
    rough = fine_surface(shape, shape.size / ROUGH)
    # a net has about one and a half vertices for each square of the grid's cell
    fine = fine_surface(shape, float(np.sqrt(1.5 * rough.areas().sum() / (fineness * count))))
    cluster, places = _clusters(fine, count)
    corners = cluster[fine.triangles]
    a, b, c = corners.T
    mesh = SurfaceMesh(shape.project(places), corners[(a != b) & (b != c) & (c != a)], name)
    parts = fine.components()[0]
    if len(np.unique(mesh.triangles)) != count or not mesh.is_closed() or mesh.components()[0] != parts:
        raise InputError(
            f"{count} vertices do not make a closed surface here",
            name or "even_surface",
            "Give more vertices, or thicken what is thinner than an edge",
        )
    return mesh


def _clusters(fine: SurfaceMesh, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The cluster of each vertex (n,) int64, and the middle of each cluster (count, 3) [m]."""
    x, n = fine.vertices, len(fine.vertices)
    weight = np.bincount(fine.triangles.ravel(), np.repeat(fine.areas(), 3), n)
    ring = neighbours(fine.edges(), n)
    degree = np.diff(ring.starts)
    # every vertex's neighbours, and itself in the places left over
    table = np.tile(np.arange(n)[:, None], (1, int(degree.max()) + 1))
    owner = np.repeat(np.arange(n), degree)
    table[owner, 1 + np.arange(len(owner)) - ring.starts[owner]] = ring.items
    # Neighbours in space stand together in this order, so equal pieces of it are the first clusters.
    order, _ = bisect_order(x, max(1, n // count // 4))
    cluster = np.empty(n, np.int64)
    cluster[order] = np.arange(n) * count // n
    places = _middle(x, weight, cluster, count)
    for _ in range(ROUNDS):
        for _ in range(2):
            choices = cluster[table]
            squared = ((places[choices] - x[:, None]) ** 2).sum(axis=2)
            cluster = np.take_along_axis(choices, squared.argmin(axis=1)[:, None], axis=1)[:, 0]
        _refill(x, weight, cluster, places)
        places += PUSH * (_middle(x, weight, cluster, count) - places)
    return cluster, _middle(x, weight, cluster, count)


def _refill(x: np.ndarray, weight: np.ndarray, cluster: np.ndarray, places: np.ndarray) -> None:
    """Let each cluster that has lost all its vertices begin anew at the rim of one of the largest; changes both."""
    sizes = np.bincount(cluster, weight, len(places))
    empty = np.flatnonzero(sizes == 0.0)
    if not len(empty):
        return
    large = np.argsort(-sizes, kind="stable")[: len(empty)]
    far = ((x - places[cluster]) ** 2).sum(axis=1)
    # the last of a cluster's vertices in order of distance is its farthest
    order = np.lexsort((far, cluster))
    last = order[np.searchsorted(cluster[order], large, side="right") - 1]
    cluster[last], places[empty] = empty, x[last]


def _middle(x: np.ndarray, weight: np.ndarray, cluster: np.ndarray, count: int) -> np.ndarray:
    """Middle of each cluster by weight (count, 3) [m]."""
    total = np.bincount(cluster, weight, count)
    sums = np.stack([np.bincount(cluster, weight * x[:, k], count) for k in range(3)], axis=1)
    return sums / np.maximum(total, 1e-300)[:, None]
