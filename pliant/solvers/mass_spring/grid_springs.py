"""Springs of a cloth whose triangles pair up to quads: structural, shear and flexion (Provot 1995)."""

from __future__ import annotations

import numpy as np

from pliant.errors import InputError
from pliant.materials import Material
from pliant.mesh import arrays
from pliant.mesh.surface import SurfaceMesh
from pliant.model.springs import BEND, SHEAR, STRUCTURAL, Springs
from pliant.solvers.mass_spring.cloth_moduli import cloth_moduli, warp_angle
from pliant.solvers.mass_spring.line_springs import BendGroups, Triples, springs_over

# Least stiffness of a thread, over what it would be without shear springs.
LEAST_SHARE = 0.05


def quads_of(mesh: SurfaceMesh) -> np.ndarray:
    """The quads that triangles pair up to over their longest edges: corners in a row around each (q, 4) int64.

    Raises:
        InputError: some triangle has no partner, so the mesh is no grid.
    """
    triangles = mesh.triangles.astype(np.int64)
    ends = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2)
    length = np.linalg.norm(mesh.vertices[ends[..., 0]] - mesh.vertices[ends[..., 1]], axis=2)
    longest = np.argmax(length, axis=1)
    row = np.arange(len(triangles))
    edge = np.sort(ends[row, longest], axis=1)
    far = triangles[row, (longest + 2) % 3]
    order = np.lexsort((row, edge[:, 1], edge[:, 0]))
    _, counts = np.unique(edge, axis=0, return_counts=True)
    if (counts != 2).any():
        raise InputError(
            f"{int(counts[counts != 2].sum())} of {len(triangles)} triangles have no partner over their longest edge, "
            "so they form no grid of quads",
            f"{mesh.name or 'sheet'}.springs",
            "Use springs='two_ring', or give a grid such as shapes.sheet",
        )
    first, second = order[0::2], order[1::2]
    return np.stack([edge[first, 0], far[first], edge[first, 1], far[second]], axis=1)


def grid_springs(
    mesh: SurfaceMesh, material: Material, warp: tuple[float, float, float] | None
) -> tuple[Springs, BendGroups, list[str]]:
    """Provot's three kinds of springs, with constants from the moduli of the cloth.

    Of a cell of a along the warp and b along the weft, diagonal d, the springs have, per thickness t,

        C66 = C12 = 2 k_shear a b / d^2,  C11 = k_warp a / b + C66 a^2 / b^2,  C22 = k_weft b / a + C66 b^2 / a^2

    and the triangles' area energy adds what C12 lacks to C11, C22 and C12. Threads of the edge have one cell beside
    them, and half the stiffness. Flexion springs join every second vertex along warp and weft; with the threads they
    bend as a beam of the cloth's bending rigidity times the width of the thread (see `springs_over`).

    Args:
        warp: direction of the warp; see `warp_directions`. The grid's own lines are the threads: those nearer to it are
            warp.

    Returns:
        The springs, sorted by pair; what they hold each other by; notes for the user.
    """
    x, count, thickness = mesh.vertices, len(mesh.vertices), material.thickness
    quads = quads_of(mesh)
    moduli = cloth_moduli(material)
    sides = np.stack([quads, np.roll(quads, -1, axis=1)], axis=2)
    edges = arrays.unique_edges(quads, ((0, 1), (1, 2), (2, 3), (3, 0))).astype(np.int64)
    keys = edges[:, 0] * count + edges[:, 1]
    low, high = sides.min(axis=2), sides.max(axis=2)
    side_row = np.searchsorted(keys, low * count + high)
    length = arrays.edge_lengths(x, edges)
    is_warp = np.abs(np.cos(warp_angle(mesh, edges, warp))) > np.sqrt(0.5)
    side_length = length[side_row]
    along = 0.5 * (side_length + np.roll(side_length, -2, axis=1))  # mean of opposite sides
    across = np.roll(along, -1, axis=1)
    own = np.where(is_warp[side_row], moduli.warp, moduli.weft) - moduli.area
    full = thickness * own * across / along
    wanted = full - thickness * moduli.shear * along / across
    raised = wanted < LEAST_SHARE * full
    given = np.where(raised, LEAST_SHARE * full, wanted)
    # each cell gives half to each of two opposite sides
    edge_stiffness = np.bincount(side_row.ravel(), 0.5 * given.ravel(), len(edges))
    width = np.bincount(side_row.ravel(), 0.5 * across.ravel(), len(edges))

    diagonals = np.stack([np.sort(quads[:, [0, 2]], axis=1), np.sort(quads[:, [1, 3]], axis=1)], axis=1)
    squared = ((x[diagonals[..., 0]] - x[diagonals[..., 1]]) ** 2).sum(axis=2)
    shear = 0.5 * thickness * moduli.shear * squared / (along * across)[:, :1]

    triples = _threads(quads, edges, keys, count)
    triples.rigidity = material.plate_rigidity * width[triples.edges].mean(axis=1)
    over = springs_over(x, triples, length, edge_stiffness)

    pairs = np.concatenate([edges, diagonals.reshape(-1, 2), np.sort(triples.ends, axis=1)])
    stiffness = np.concatenate([over.edge_stiffness, shear.ravel(), over.stiffness])
    sizes = [len(edges), 2 * len(quads), len(over.stiffness)]
    kinds = np.repeat([STRUCTURAL, SHEAR, BEND], sizes).astype(np.int8)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    shear_row = len(edges) + np.arange(2 * len(quads)).reshape(-1, 2)
    bend_row = sizes[0] + sizes[1] + np.arange(sizes[2])
    groups = BendGroups.join(
        [
            BendGroups(place[np.column_stack([triples.edges, bend_row])], over.tension, place[bend_row]),
            # the second diagonal of a quad, which no triangle has, goes with any other spring of the quad
            BendGroups(
                place[np.column_stack([side_row, shear_row])], np.zeros((len(quads), 6)), place[shear_row[:, 1]]
            ),
        ]
    )
    pairs, stiffness = pairs[order], stiffness[order]
    span = arrays.edge_lengths(x, pairs)
    rest = span * (1.0 - groups.stress(len(pairs)) / np.maximum(stiffness, 1e-300))
    notes = []
    if raised.any():
        notes.append(
            f"{int(raised.sum())} sides of cells would need springs below zero beside those against shear: the cloth "
            "is stiffer there than its material; square cells or a smaller shear modulus help."
        )
    if over.cut:
        notes.append(
            f"{over.cut} of {len(over.stiffness)} threads bend more easily than the material, which is thick beside "
            "the cells: use larger cells, or a thinner sheet."
        )
    return Springs(pairs.astype(np.int32), rest, stiffness, kinds[order]), groups, notes


def _threads(quads: np.ndarray, edges: np.ndarray, keys: np.ndarray, count: int) -> Triples:
    """Vertices in a row along warp or weft: two edges at a vertex of at most four that share no quad."""
    degree = np.bincount(edges.ravel(), minlength=count)
    middle = np.concatenate([edges[:, 0], edges[:, 1]])
    other = np.concatenate([edges[:, 1], edges[:, 0]])
    order = np.lexsort((other, middle))
    middle, other = middle[order], other[order]
    first = np.searchsorted(middle, np.arange(count + 1))
    found = []
    for i in range(4):
        for j in range(i + 1, 4):
            m = np.flatnonzero((degree > j) & (degree <= 4))
            found.append(np.stack([m, other[first[m] + i], other[first[m] + j]], axis=1))
    rows = np.concatenate(found)
    # two neighbours of a vertex that lie in one quad with it are its diagonal
    diagonal = np.concatenate([quads[:, [0, 2]], quads[:, [1, 3]]])
    between = np.concatenate([quads[:, [1, 3]], quads[:, [0, 2]]])
    pair_key = lambda p: p.min(axis=1) * count + p.max(axis=1)
    bad = np.concatenate([pair_key(diagonal) * count + between[:, c] for c in range(2)])
    rows = rows[~np.isin(pair_key(rows[:, 1:]) * count + rows[:, 0], bad)]
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    # a line that closes on itself after two edges would double a spring
    _, keep = np.unique(pair_key(rows[:, 1:]), return_index=True)
    rows = rows[np.sort(keep)]
    find = lambda p: np.searchsorted(keys, pair_key(p))
    both = np.stack([find(rows[:, [0, 1]]), find(rows[:, [0, 2]])], axis=1)
    return Triples(rows[:, 1:], rows[:, 0], both, np.zeros(len(rows)))
