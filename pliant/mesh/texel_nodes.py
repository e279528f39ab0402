"""The nodes of a texture: a closed surface sampled at the texels of its atlas, welded over the seams."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.atlas import Atlas
from pliant.mesh.surface import EDGE_CORNERS, SurfaceMesh
from pliant.mesh.texel_cells import Cells
from pliant.mesh.texel_refine import Fine, refined
from pliant.mesh.texel_seeds import creases, crossed_texels, thinned, vertex_normals

FARTHEST = 0.95
"""Distance from a node beyond which a point of the surface gets one of its own, in texels."""
FILL_APART = 0.7
FILL_ROUNDS = 6
NEAR = 12
"""Texels around a node that are searched for one that is free."""


@dataclasses.dataclass(frozen=True, eq=False)
class TexelNodes:
    """A closed surface over nodes that have texels.

    Attributes:
        nodes: (n, 3) [m]. triangles: (t, 3) int32, counter-clockwise from outside.
        texel: row and column of each node (n, 2) int32. node_of_texel: (texture, texture) int32, -1 for none.
        chart_of: chart at each node (n,) int32.
        facts: how many nodes are texel centres, lie on creases, or were added.
    """

    nodes: np.ndarray
    triangles: np.ndarray
    texel: np.ndarray
    node_of_texel: np.ndarray
    chart_of: np.ndarray
    facts: dict[str, Any]


@dataclasses.dataclass(eq=False)
class _Seeds:
    """Nodes while they are chosen: places (s, 3) [m], home vertices (s,), texels (s,) or -1."""

    points: np.ndarray
    home: np.ndarray
    texel: np.ndarray

    def with_vertices(self, fine: Fine, vertices: np.ndarray) -> _Seeds:
        return _Seeds(
            np.concatenate([self.points, fine.vertices[vertices]]),
            np.concatenate([self.home, vertices]),
            np.concatenate([self.texel, np.full(len(vertices), -1)]),
        )


def texel_nodes(surface: SurfaceMesh, atlas: Atlas, device: str = "cpu") -> TexelNodes:
    """Sample a closed surface at the texels of its atlas.

    Texel centres become nodes, except near creases, whose own vertices do, and near seams, where the texels of two
    charts that are one point of the surface get one node between them. Where texels leave gaps (charts narrower than
    one, steep ones) nodes are added. The triangles are those of neighbouring cells, see `texel_cells`.

    Args:
        surface: closed.
        atlas: of it.
        device: where cells grow.
    """
    fine = refined(surface, atlas)
    side = atlas.texture
    normals = surface.normals()[fine.row]
    texel, row, weights, doubles = crossed_texels(fine, side)
    around = vertex_normals(fine)
    seeds = _first_seeds(fine, normals, around, texel, row, weights)
    counts = {"texel_nodes": int((seeds.texel >= 0).sum()), "crease_nodes": int((seeds.texel < 0).sum())}
    cells = Cells(fine.vertices, fine.triangles, device)
    seeds, cell = _filled(fine, around, cells, seeds)
    counts["filling_nodes"] = len(seeds.home) - sum(counts.values())
    seeds, cell, added = _repaired(fine, cells, seeds, cell, surface)
    counts |= {"repair_nodes": added, "overlapping_texels": doubles}
    triangles = cells.net(cell)
    holder = cell[np.take_along_axis(fine.triangles[row], weights.argmax(axis=1)[:, None], axis=1)[:, 0]]
    node_of_texel, own = _texels(fine, seeds, texel, holder, side, surface)
    # numbered by texels, row after row
    order = np.argsort(own)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    number = np.append(rank, -1)[node_of_texel]
    triangles = rank[triangles]
    triangles = triangles[np.lexsort(triangles.T[::-1])]
    _check_topology(surface, triangles, len(order))
    chart = np.zeros(len(fine.vertices), np.int32)
    chart[fine.triangles.ravel()] = np.repeat(atlas.chart_of[fine.row], 3)
    return TexelNodes(
        seeds.points[order],
        triangles.astype(np.int32),
        np.stack(np.divmod(own[order], side), axis=1).astype(np.int32),
        number.astype(np.int32),
        chart[seeds.home[order]],
        {**counts, "texels": len(texel), "fine_vertices": len(fine.vertices), "charts": atlas.charts},
    )


def _first_seeds(
    fine: Fine, normals: np.ndarray, around: np.ndarray, texel: np.ndarray, row: np.ndarray, weights: np.ndarray
) -> _Seeds:
    """Corners, then vertices of creases, then texel centres, none too near to another."""
    sharp, corner = creases(fine, normals)
    sharp = np.concatenate([sharp[corner], sharp[~corner]])
    points = np.einsum("nk,nkd->nd", weights, fine.vertices[fine.triangles[row]])
    nearest = np.take_along_axis(fine.triangles[row], weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    places = np.concatenate([fine.vertices[sharp], points])
    directions = np.concatenate([around[sharp], normals[row]])
    stay = thinned(places, directions, np.concatenate([fine.texel[sharp], fine.texel[nearest]]))
    home = np.concatenate([sharp, nearest])[stay]
    own = np.concatenate([np.full(len(sharp), -1), texel])[stay]
    # of two centres that would begin at one vertex the first does
    _, first = np.unique(home, return_index=True)
    first = np.sort(first)
    return _Seeds(places[stay][first], home[first], own[first])


def _filled(fine: Fine, around: np.ndarray, cells: Cells, seeds: _Seeds) -> tuple[_Seeds, np.ndarray]:
    """Seeds added where the nearest is too far, and the cells of all."""
    cell = None
    for _ in range(FILL_ROUNDS):
        if len(seeds.home):
            cell = cells.grown(seeds.home, seeds.points, cell)
            gap = np.linalg.norm(fine.vertices - seeds.points[cell], axis=1) / fine.texel
            gap[cell < 0] = np.inf
        else:
            gap = np.full(len(fine.vertices), np.inf)
        far = np.flatnonzero(gap > FARTHEST)
        if not len(far):
            break
        far = far[np.lexsort((far, -gap[far]))]
        far = far[thinned(fine.vertices[far], around[far], fine.texel[far], FILL_APART)]
        seeds = seeds.with_vertices(fine, far)
    assert cell is not None
    return seeds, cells.grown(seeds.home, seeds.points, cell)


def _repaired(
    fine: Fine, cells: Cells, seeds: _Seeds, cell: np.ndarray, surface: SurfaceMesh
) -> tuple[_Seeds, np.ndarray, int]:
    """Seeds added to cells that are no discs, until all are; and how many were."""
    home, _, cell, faulty = cells.repaired(seeds.home, seeds.points, cell)
    if faulty.any():
        raise InputError(
            f"{int(faulty.sum())} nodes have surroundings that are no surface",
            surface.name or "surface",
            "Give a larger texture, or a surface without parts as thin as a texel",
        )
    more = home[len(seeds.home) :]
    return seeds.with_vertices(fine, more), cell, len(more)


def _texels(
    fine: Fine, seeds: _Seeds, texel: np.ndarray, holder: np.ndarray, side: int, surface: SurfaceMesh
) -> tuple[np.ndarray, np.ndarray]:
    """The node of each texel (side, side), and each node's own texel (n,) as row * side + column."""
    table = np.full(side * side, -1, np.int64)
    table[texel] = holder
    own = seeds.texel.copy()
    named = own >= 0
    table[own[named]] = np.flatnonzero(named)
    # a texel that was given up lends itself to a node of its cell that has none
    free = np.ones(side * side, bool)
    free[own[named]] = False
    lent = texel[free[texel]]
    wanting = ~named[table[lent]]
    nodes, first = np.unique(table[lent[wanting]], return_index=True)
    own[nodes] = lent[wanting][first]
    free[texel] = False
    places = np.zeros((len(fine.vertices), 2))
    places[fine.triangles.ravel()] = fine.uv.reshape(-1, 2)
    steps = np.stack(np.meshgrid(np.arange(-NEAR, NEAR + 1), np.arange(-NEAR, NEAR + 1)), axis=-1).reshape(-1, 2)
    steps = steps[np.lexsort((steps[:, 1], steps[:, 0], (steps**2).sum(axis=1)))]
    for node in np.flatnonzero(own < 0):
        centre = np.floor(places[seeds.home[node]]).astype(np.int64)
        around = centre + steps
        around = around[(around >= 0).all(axis=1) & (around < side).all(axis=1)]
        flat = around[:, 1] * side + around[:, 0]
        open_ = np.flatnonzero(free[flat])
        if len(open_):
            spot = int(flat[open_[0]])
        else:
            rest = np.flatnonzero(free)
            if not len(rest):
                raise InputError(
                    "more nodes are needed than there are texels", surface.name or "surface", "Give a larger texture"
                )
            away = np.stack(np.divmod(rest, side)[::-1], axis=1) - centre
            spot = int(rest[(away**2).sum(axis=1).argmin()])
        free[spot] = False
        own[node] = spot
    table[own] = np.arange(len(own))
    return table.reshape(side, side), own


def _check_topology(surface: SurfaceMesh, triangles: np.ndarray, count: int) -> None:
    """Raise when holes or parts were lost."""
    before = len(np.unique(surface.triangles)) - len(surface.edges()) + len(surface.triangles)
    after = count - len(arrays.unique_edges(triangles, EDGE_CORNERS)) + len(triangles)
    if before != after:
        raise InputError(
            f"its Euler characteristic became {after} instead of {before}: a hole or a part is smaller than a texel",
            surface.name or "surface",
            "Give a larger texture",
        )
