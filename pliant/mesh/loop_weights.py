"""Loop's subdivision: each vertex of the next level as a weighted sum of those of the level before."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.surface import EDGE_CORNERS

SHARPEST = np.cos(np.radians(45.0))
"""Cosine of the turn of a border beyond which its vertex is a corner, and stays where it is."""


@dataclasses.dataclass(frozen=True, eq=False)
class Stencils:
    """Weighted sums: row i is the sum of weights[k] * x[columns[k]] for k from starts[i] to starts[i + 1]."""

    starts: np.ndarray
    columns: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def apply(self, x: np.ndarray) -> np.ndarray:
        """The sums of rows of x (n, d)."""
        return np.add.reduceat(self.weights[:, None] * x[self.columns], self.starts[:-1], axis=0)


@dataclasses.dataclass(frozen=True, eq=False)
class Level:
    """Triangles and the edges between their vertices, of which some are borders.

    Attributes:
        triangles: (k, 3) int64. count: of vertices.
        edges: (e, 2), sorted. of_triangle: the edges of each triangle (k, 3), from corner c to the next.
        border: whether an edge has not just two triangles (e,). corner: vertices that stay where they are (count,).
    """

    triangles: np.ndarray
    count: int
    edges: np.ndarray
    of_triangle: np.ndarray
    border: np.ndarray
    corner: np.ndarray

    @staticmethod
    def of(triangles: np.ndarray, count: int, corner: np.ndarray) -> Level:
        edges = arrays.unique_edges(triangles.astype(np.int32), EDGE_CORNERS).astype(np.int64)
        following = np.roll(triangles, -1, axis=1)
        keys = np.minimum(triangles, following) * count + np.maximum(triangles, following)
        of_triangle = np.searchsorted(edges[:, 0] * count + edges[:, 1], keys)
        border = np.bincount(of_triangle.reshape(-1), minlength=len(edges)) != 2
        return Level(triangles, count, edges, of_triangle, border, corner)

    def children(self) -> np.ndarray:
        """Four triangles for each (4k, 3), those of one in a row; the vertices on edges come after the others."""
        a, b, c = self.triangles.T
        ab, bc, ca = (self.count + self.of_triangle).T
        rows = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        return np.stack([np.stack(row, axis=1) for row in rows], axis=1).reshape(-1, 3)

    def next_level(self) -> Level:
        """The level of the children."""
        corner = np.concatenate([self.corner, np.zeros(len(self.edges), bool)])
        return Level.of(self.children(), self.count + len(self.edges), corner)

    def subdivided(self) -> Stencils:
        """The vertices of the next level (Loop 1987, with Warren's weights; cubic splines along borders)."""
        share = lambda m: np.where(m == 3, 3.0 / 16.0, 3.0 / (8.0 * np.maximum(m, 1)))
        own, ends, others, each = self._around(share, 1.0 / 8.0)
        e = np.arange(len(self.edges))
        halves = np.where(self.border, 0.5, 0.375)
        opposite = np.roll(self.triangles, -2, axis=1).reshape(-1)
        of = self.of_triangle.reshape(-1)
        inner = ~self.border[of]
        rows = [ends, np.arange(self.count), self.count + e, self.count + e, self.count + of[inner]]
        columns = [others, np.arange(self.count), self.edges[:, 0], self.edges[:, 1], opposite[inner]]
        weights = [each, own, halves, halves, np.full(int(inner.sum()), 0.125)]
        return _stencils(rows, columns, weights, self.count + len(self.edges))

    def limit(self) -> Stencils:
        """Where the vertices go after subdividing without end."""
        share = lambda m: np.where(m == 3, 1.0 / 5.0, 1.0 / (2.0 * np.maximum(m, 1)))
        own, ends, others, each = self._around(share, 1.0 / 6.0)
        here = np.arange(self.count)
        return _stencils([ends, here], [others, here], [each, own], self.count)

    def _around(self, inner: Callable[[np.ndarray], np.ndarray], along: float) -> list[np.ndarray]:
        """Weights of each vertex itself, and rows, columns and weights of its neighbours.

        Args:
            inner: weight of a neighbour inside of the surface, from the number of neighbours.
            along: weight of the two neighbours on a border.
        """
        ends, others = np.concatenate([self.edges, self.edges[:, ::-1]]).T
        border = np.concatenate([self.border, self.border])
        valence = np.bincount(ends, minlength=self.count)
        borders = np.bincount(ends, border, self.count)
        fixed = self.corner | ~np.isin(borders, (0, 2)) | (valence < 3) & (borders == 0)
        beta = inner(valence)
        weight = np.where(borders[ends] == 0, beta[ends], np.where(border, along, 0.0))
        weight[fixed[ends]] = 0.0
        used = weight > 0.0
        own = 1.0 - np.bincount(ends, weight, self.count)
        return [own, ends[used], others[used], weight[used]]


def first_level(vertices: np.ndarray, triangles: np.ndarray) -> Level:
    """The level of a mesh at rest (n, 3) [m], with the corners of its borders."""
    count = len(vertices)
    level = Level.of(triangles.astype(np.int64), count, np.zeros(count, bool))
    ends, others = np.concatenate([level.edges[level.border], level.edges[level.border][:, ::-1]]).T
    way = vertices[others] - vertices[ends]
    way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
    total = np.stack([np.bincount(ends, way[:, k], count) for k in range(3)], axis=1)
    # the sum of two unit vectors that turn by an angle t has the squared length 2 - 2 cos t
    corner = (np.bincount(ends, minlength=count) == 2) & (np.sum(total**2, axis=1) > 2.0 - 2.0 * SHARPEST)
    return dataclasses.replace(level, corner=corner)


def _stencils(rows: list[np.ndarray], columns: list[np.ndarray], weights: list[np.ndarray], count: int) -> Stencils:
    """Stencils of so many rows, from entries in any order."""
    row, column, weight = np.concatenate(rows), np.concatenate(columns), np.concatenate(weights)
    order = np.lexsort((column, row))
    starts = np.searchsorted(row[order], np.arange(count + 1))
    return Stencils(starts, column[order], weight[order])
