"""A surface made even enough to be simulated: without the edges and altitudes that would force tiny steps.

A sheet's stable step goes with its shortest edges and thinnest triangles; one sliver among ten thousand triangles
decides it for all. Short edges are collapsed, the longest edges of slivers flipped, vertices beside slivers moved
along the surface (the operations of Botsch and Kobbelt 2004, "A remeshing approach to multiresolution modeling",
without its splits), and only where the surface is uneven.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.even_collapse import collapse, drop_ears
from pliant.mesh.even_flip import flip, move
from pliant.mesh.even_net import Net, corner_vertices, fixed_vertices, shape
from pliant.mesh.surface import SurfaceMesh
from pliant.vectors import as_positive

SHORTEST, THINNEST, TOLERANCE = 0.3, 0.2, 0.1
# An uneven surface is worked on until its triangles are this much thicker than the thinnest that is let pass, and its
# edges this much longer than the shortest: the median edge grows a little at the end.
MARGIN, EDGE_MARGIN = 2.0, 1.15
# Triangles with edges longer than this many median edges count as thinner than they are: their areas are stiffer.
LONG = 1.2
MOST_ROUNDS, FLIPS, MOVES = 30, 3, 2
# Rounds of flips and moves at the end, and how thick triangles are then wanted, in median edges.
LAST_ROUNDS, WANTED = 8, 0.6
# The rounds end when nothing is collapsed and fewer than this part of the triangles gain by flips and moves.
FEW = 1e-3
# If it is uneven then, the outline may move this many times as far: a jagged one has its teeth cut.
LOOSER = 3.0


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
        shortest: the surface is uneven if an edge is below this times the median edge; such edges are collapsed.
        thinnest: the surface is uneven too if an altitude of a triangle is below this times the median edge; it is
            then worked on until they are twice that, where the shape allows it.
        tolerance: how far the surface and its outline may move, as a part of the median edge; the outline three
            times as far if it would be uneven else, and thin triangles that stick out of it are dropped then.
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
    if before.reaches(shortest, thinnest):
        return mesh
    triangles = mesh.triangles.astype(np.int64)
    count = len(mesh.vertices)
    net = Net(
        mesh.vertices,
        triangles,
        np.arange(len(triangles)),
        fixed_vertices(triangles, count),
        corner_vertices(mesh.vertices, triangles),
        np.zeros(count),
        np.zeros(count),
        tolerance * before.edge,
        tolerance * before.edge,
    )
    collapsed = flipped = moved = dropped = 0
    for times in (1.0, LOOSER):
        net.slack = times * tolerance * before.edge
        if times > 1.0:
            dropped = drop_ears(net, thinnest * now.edge)
        for _ in range(MOST_ROUNDS):
            net.long = LONG * now.edge
            thin = MARGIN * thinnest * now.edge
            flips = _repeated(flip, net, thin, FLIPS)
            moves = _repeated(move, net, thin, MOVES)
            collapses = collapse(net, EDGE_MARGIN * shortest * now.edge, thin)
            collapsed, flipped, moved = collapsed + collapses, flipped + flips, moved + moves
            now = evenness(net.x, net.triangles)
            if not collapses and flips + moves <= FEW * len(net.triangles):
                break
        if now.reaches(shortest, thinnest):
            break
    if not collapsed + flipped + moved + dropped:
        return mesh
    for _ in range(LAST_ROUNDS):
        flipped += flip(net, WANTED * now.edge)
        moved += move(net, WANTED * now.edge)
    now = evenness(net.x, net.triangles)
    note = (
        f"The surface was made even: {collapsed} edges were collapsed, {flipped} flipped and {moved} vertices moved; "
        f"the shortest edge is {now.shortest:.3g} m instead of {before.shortest:.3g} m, the smallest altitude of a "
        f"triangle {now.thinnest:.3g} m instead of {before.thinnest:.3g} m"
    )
    if dropped:
        note += f". {dropped} thin triangles that stuck out of the outline were dropped"
    even = mesh.of_triangles(net.row)
    look = even.look and dataclasses.replace(even.look, uv=None)
    used = arrays.used_vertices(net.triangles, count)
    vertices, triangles = arrays.without_unused(net.x, net.triangles)
    return SurfaceMesh(vertices, triangles, mesh.name, (*mesh.notes, note), look and look.of_vertices(used))


def _repeated(step: Callable[[Net, float], int], net: Net, thin: float, times: int) -> int:
    """How much was done by a step repeated until it finds nothing more to do."""
    total = 0
    for _ in range(times):
        done = step(net, thin)
        total += done
        if not done:
            break
    return total
