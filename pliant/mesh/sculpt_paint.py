"""Paint on a sculpted surface: coats that cover regions, with vertices pulled to the borders to make them smooth."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.even_flip import flip
from pliant.mesh.even_net import Net
from pliant.mesh.look import Look
from pliant.mesh.sculpt import Shape
from pliant.mesh.surface import EDGE_CORNERS, SurfaceMesh

Color = tuple[float, float, float]
ROUNDS, SETTLING = 8, 4
"""Rounds in which edges are flipped and vertices make room for those on a border, and steps in each."""
RIM = 0.5
"""Width of the rim between a coat and what lies outside it, in mean edges."""
PULL = 0.2
"""How far a vertex is moved in one step towards its line, in mean edges."""
THICK, LONG = 0.6, 1.6
"""Edges of triangles thinner or longer than this, in mean edges, are flipped where that helps."""
SHORTEST, LONGEST, PATIENCE = 0.42, 1.9, 3
"""A vertex with a shorter or longer edge, in mean edges, is let go from its line after so many rounds."""
FOLDED = 0.3
"""Cosine between a triangle's normal and the shape's, below which its vertices are let go too."""


@dataclasses.dataclass(frozen=True, eq=False)
class Coat:
    """A colour for the part of a surface that lies in a region.

    Attributes:
        color: red, green and blue from 0 to 1 (sRGB).
        region: what it covers.
    """

    color: Color
    region: Shape


def painted(mesh: SurfaceMesh, shape: Shape, base: Color, coats: Sequence[Coat]) -> SurfaceMesh:
    """The mesh with its vertices coloured, later coats over earlier ones, and slid along the surface to their borders.

    Args:
        mesh: the shape's surface.
        shape: what the vertices lie on.
        base: colour of what no coat covers.
        coats: each leaves its colour on the vertices inside its region and on its border.
    """
    vertices, edges = mesh.vertices.copy(), mesh.edges()
    coat_of = np.full(len(vertices), -1)
    border_of = np.full(len(vertices), -1)
    for number, coat in enumerate(coats):
        inside = coat.region.distance(vertices)
        coat_of[inside < 0.0], border_of[inside < 0.0] = number, -1
        border = _nearest_to_border(inside, edges)
        coat_of[border], border_of[border] = number, number
    # The triangles just outside a border show a mixture of two colours: the next ring is pulled near to thin them.
    edge = float(arrays.edge_lengths(vertices, edges).mean())
    lines = [*(coat.region for coat in coats), *(coat.region.grown(RIM * edge) for coat in coats)]
    line_of = border_of.copy()
    for a, b in ((0, 1), (1, 0)):
        ends = edges[(border_of[edges[:, a]] >= 0) & (border_of[edges[:, b]] < 0)][:, (a, b)]
        outside = ends[coat_of[ends[:, 1]] != coat_of[ends[:, 0]]]
        line_of[outside[:, 1]] = len(coats) + border_of[outside[:, 0]]
    triangles = mesh.triangles
    for number in range(ROUNDS):
        edges = arrays.unique_edges(triangles, EDGE_CORNERS)
        vertices, line_of = _settled(vertices, edges, line_of, shape, lines, edge)
        triangles = _flipped(vertices, triangles)
        if number >= PATIENCE:
            # where the lines crowd or part the vertices, evenness goes before a smooth border
            line_of[_strained(vertices, triangles, shape, edge)] = -1
    table = np.array([*(coat.color for coat in coats), base], np.float32)
    colors = np.concatenate([table[coat_of], np.ones((len(vertices), 1), np.float32)], axis=1)
    return dataclasses.replace(mesh, vertices=vertices, triangles=triangles, look=Look(vertex_colors=colors))


def _nearest_to_border(inside: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Vertices (b,) that, once on the border, leave no edge across it; of two that would do, the nearer one.

    Args:
        inside: distance of each vertex to the border, negative inside (n,) [m].
        edges: (e, 2).
    """
    left = inside.copy()
    while True:
        ends = left[edges]
        crossing = edges[ends[:, 0] * ends[:, 1] < 0.0]
        if not len(crossing):
            return np.flatnonzero(left != inside)
        # ties are told apart by number
        rank = np.empty(len(left), np.int64)
        rank[np.argsort(np.abs(left), kind="stable")] = np.arange(len(left))
        beaten = np.zeros(len(left), bool)
        beaten[np.take_along_axis(crossing, rank[crossing].argmax(axis=1)[:, None], axis=1)] = True
        left[np.setdiff1d(crossing, np.flatnonzero(beaten))] = 0.0


def _slid(points: np.ndarray, shape: Shape, region: Shape, reach: float, steps: int) -> np.ndarray:
    """The points (n, 3) moved to where the shape's surface and the region's meet, by at most ``reach`` a step [m]."""
    for _ in range(steps):
        normal = shape.gradient(points)
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        slope = region.gradient(points)
        slope -= (slope * normal).sum(axis=1, keepdims=True) * normal
        # where the two surfaces are nearly parallel the border lies far away or nowhere
        step = (region.distance(points) / np.maximum((slope**2).sum(axis=1), 0.1))[:, None] * slope
        step *= np.minimum(1.0, reach / np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-12))
        points = shape.project(points - step, 1)
    return points


def _settled(
    vertices: np.ndarray, edges: np.ndarray, line_of: np.ndarray, shape: Shape, lines: Sequence[Shape], edge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) moved to the mean of their neighbours, on a line of those on the same one [m].

    Args:
        line_of: number of the region whose border a vertex is held on, -1 for none (n,).
        edge: mean length of the edges [m].

    Returns:
        the vertices, and line_of with those let go that could not reach their line.
    """
    line_of = line_of.copy()
    both = np.concatenate([edges, edges[:, ::-1]])
    held = line_of >= 0
    both = both[~held[both[:, 0]] | (line_of[both[:, 0]] == line_of[both[:, 1]])]
    count = np.bincount(both[:, 0], minlength=len(vertices))
    free = count >= np.where(held, 2, 1)
    for _ in range(SETTLING):
        sums = np.stack([np.bincount(both[:, 0], vertices[both[:, 1], k], len(vertices)) for k in range(3)], axis=1)
        goal = np.where(free[:, None], sums / np.maximum(count, 1)[:, None], vertices)
        vertices = shape.project(vertices + 0.5 * (goal - vertices), 2)
        for number, region in enumerate(lines):
            rows = line_of == number
            vertices[rows] = _slid(vertices[rows], shape, region, PULL * edge, 2)
    for number, region in enumerate(lines):
        rows = np.flatnonzero(line_of == number)
        line_of[rows[np.abs(region.distance(vertices[rows])) > PULL * edge]] = -1
    return vertices, line_of


def _strained(vertices: np.ndarray, triangles: np.ndarray, shape: Shape, edge: float) -> np.ndarray:
    """Vertices (s,) of edges too short or too long, and of triangles that are folded over."""
    edges = arrays.unique_edges(triangles, EDGE_CORNERS)
    length = arrays.edge_lengths(vertices, edges)
    odd = edges[(length < SHORTEST * edge) | (length > LONGEST * edge)]
    surface = SurfaceMesh(vertices, triangles)
    outward = shape.gradient(vertices[triangles].mean(axis=1))
    folded = triangles[(surface.normals() * outward).sum(axis=1) < FOLDED * np.linalg.norm(outward, axis=1)]
    return np.unique(np.concatenate([odd.ravel(), folded.ravel()]))


def _flipped(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The triangles (k, 3) with edges flipped where the thinner of the two beside them gains."""
    edge = float(arrays.edge_lengths(vertices, arrays.unique_edges(triangles, EDGE_CORNERS)).mean())
    count, nothing = len(vertices), np.zeros(len(vertices))
    free = np.zeros(count, bool)
    net = Net(vertices, triangles.astype(np.int64), np.arange(len(triangles)), free, free, nothing, nothing, np.inf,
              np.inf, LONG * edge)  # fmt: skip
    while flip(net, THICK * edge):
        pass
    return net.triangles.astype(np.int32)
