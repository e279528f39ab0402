"""A surface made even enough to be simulated: without the edges and altitudes that would force tiny steps.

A sheet's stable step goes with its shortest edges and thinnest triangles; one sliver among ten thousand triangles
decides it for all. Short edges are collapsed, the longest edges of slivers flipped, vertices beside slivers moved
along the surface (the operations of Botsch and Kobbelt 2004, "A remeshing approach to multiresolution modeling",
without its splits), and only where the surface is uneven.
"""

from __future__ import annotations

import dataclasses
import os

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.even_collapse import collapse
from pliant.mesh.even_flip import flip, move
from pliant.mesh.even_net import Net, fixed_vertices, shape
from pliant.mesh.surface import SurfaceMesh
from pliant.vectors import as_positive

SHORTEST, THINNEST, TOLERANCE = 0.3, 0.2, 0.1
# Rounds after which it is given up, and rounds of flips and moves in each.
MOST_ROUNDS, FLIPS, MOVES = 80, 3, 2


@dataclasses.dataclass(frozen=True)
class Evenness:
    """Lengths that limit a sheet's step [m].

    Attributes:
        edge: the median edge. shortest: the shortest edge. thinnest: the smallest altitude of all triangles.
    """

    edge: float
    shortest: float
    thinnest: float

    def reaches(self, shortest: float, thinnest: float) -> bool:
        """Whether no edge and no altitude is below so many median edges."""
        return self.shortest >= shortest * self.edge and self.thinnest >= thinnest * self.edge


def evenness(vertices: np.ndarray, triangles: np.ndarray) -> Evenness:
    """Measure triangles (k, 3), at least one, over vertices (n, 3) [m]."""
    length = arrays.edge_lengths(vertices, arrays.unique_edges(triangles, ((0, 1), (1, 2), (2, 0))))
    thinnest = shape(vertices[triangles])[1].min()
    return Evenness(float(np.median(length)), float(length.min()), float(thinnest))


def even_out(
    mesh: SurfaceMesh, shortest: float = SHORTEST, thinnest: float = THINNEST, tolerance: float = TOLERANCE
) -> SurfaceMesh:
    """The surface without short edges and thin triangles, as far as its shape allows; itself if it is even already.

    What hangs together stays so, with the same holes; the outline keeps its corners, no triangle turns over. Parts and
    paints stay with their triangles; texture coordinates, which moved corners do not fit, are left out.

    Args:
        mesh: without triangles that name a vertex twice; what is no surface (edges of three triangles) stays as it is.
        shortest: edges shorter than this times the median edge are collapsed.
        thinnest: triangles whose smallest altitude is below this times the median edge are flipped, collapsed or moved.
        tolerance: how far the surface and its outline may move, as a part of the median edge.
    """
    shortest = as_positive(shortest, "even_out(shortest)", "1")
    thinnest = as_positive(thinnest, "even_out(thinnest)", "1")
    tolerance = as_positive(tolerance, "even_out(tolerance)", "1")
    where = mesh.name or "surface mesh"
    arrays.check_finite(mesh.vertices, where)
    arrays.check_indices(mesh.triangles, len(mesh.vertices), "triangle", where)
    if not len(mesh.triangles):
        return mesh
    before = now = evenness(mesh.vertices, mesh.triangles)
    triangles = mesh.triangles.astype(np.int64)
    count = len(mesh.vertices)
    net = Net(
        mesh.vertices,
        triangles,
        np.arange(len(triangles)),
        fixed_vertices(triangles, count),
        np.zeros(count),
        tolerance * before.edge,
    )
    collapsed = flipped = moved = 0
    for _ in range(MOST_ROUNDS):
        if now.reaches(shortest, thinnest):
            break
        net.long = float(os.environ.get("LONG","1e9")) * now.edge
        short, thin = shortest * now.edge, thinnest * now.edge
        flips = sum(flip(net, thin) for _ in range(FLIPS))
        moves = sum(move(net, thin) for _ in range(MOVES))
        collapses = collapse(net, short, thin)
        if not flips + moves + collapses:
            break
        collapsed, flipped, moved = collapsed + collapses, flipped + flips, moved + moves
        now = evenness(net.x, net.triangles)
    if not collapsed + flipped + moved:
        return mesh

    for _ in range(int(os.environ.get("POL", "0"))):
        g = float(os.environ.get("GOOD", ".6")) * now.edge
        flipped += flip(net, g)
        moved += move(net, g)
    now = evenness(net.x, net.triangles)
    note = (
        f"The surface was made even: {collapsed} edges were collapsed, {flipped} flipped and {moved} vertices moved; "
        f"the shortest edge is {now.shortest:.3g} m instead of {before.shortest:.3g} m, the smallest altitude of a "
        f"triangle {now.thinnest:.3g} m instead of {before.thinnest:.3g} m"
    )
    even = mesh.of_triangles(net.row)
    look = even.look and dataclasses.replace(even.look, uv=None)
    used = arrays.used_vertices(net.triangles, count)
    vertices, triangles = arrays.without_unused(net.x, net.triangles)
    return SurfaceMesh(vertices, triangles, mesh.name, (*mesh.notes, note), look and look.of_vertices(used))
