"""Rows of the matrix: each edge gathers its block from the tets around it, each particle its diagonal and forces."""

import warp as wp

from pliant.physics.corotated import corotated_block
from pliant.physics.neo_hookean import Curvature, curvature_block
from pliant.solvers.fem.data import Mesh, Pieces

wp.set_module_options({"enable_backward": False})


@wp.func
def corner_gradient(gradient: wp.mat44, corner: int) -> wp.vec3:
    return wp.vec3(gradient[corner, 0], gradient[corner, 1], gradient[corner, 2])


@wp.func
def row_of_corner(rows: wp.mat33, corner: int) -> wp.vec3:
    """What belongs to a corner of a tet, a force or a rest gradient, from the rows for the corners 1 to 3."""
    if corner == 0:
        return wp.vec3(
            -rows[0, 0] - rows[1, 0] - rows[2, 0],
            -rows[0, 1] - rows[1, 1] - rows[2, 1],
            -rows[0, 2] - rows[1, 2] - rows[2, 2],
        )
    return rows[corner - 1]


@wp.kernel
def corotated_edges(start: int, mesh: Mesh, pieces: Pieces, block_out: wp.array(dtype=wp.mat33)):
    """The blocks (i, j) and (j, i) of each edge."""
    e = start + wp.tid()
    if mesh.awake[mesh.body[mesh.edge_rows[e]]] == 0:
        return
    k = wp.mat33()
    for s in range(mesh.edge_starts[e], mesh.edge_starts[e + 1]):
        code = mesh.edge_tets[s]
        g = pieces.gradient[code >> 4]
        a = corner_gradient(g, (code >> 2) & 3)
        b = corner_gradient(g, code & 3)
        k += corotated_block(a, b, g[0, 3], g[1, 3], g[2, 3])
    slots = mesh.edge_slots[e]
    block_out[slots[0]] = k
    block_out[slots[1]] = wp.transpose(k)


@wp.kernel
def neo_hookean_edges(start: int, mesh: Mesh, pieces: Pieces, block_out: wp.array(dtype=wp.mat33)):
    """The blocks (i, j) and (j, i) of each edge."""
    e = start + wp.tid()
    if mesh.awake[mesh.body[mesh.edge_rows[e]]] == 0:
        return
    k = wp.mat33()
    for s in range(mesh.edge_starts[e], mesh.edge_starts[e + 1]):
        code = mesh.edge_tets[s]
        t = code >> 4
        g = pieces.gradient[t]
        found = Curvature()
        found.left = pieces.left[t]
        found.stretch = pieces.stretch[t]
        found.straight = pieces.straight[t]
        found.crossed = pieces.crossed[t]
        a = corner_gradient(g, (code >> 2) & 3)
        b = corner_gradient(g, code & 3)
        k += g[0, 3] * curvature_block(found, a, b)
    slots = mesh.edge_slots[e]
    block_out[slots[0]] = k
    block_out[slots[1]] = wp.transpose(k)


@wp.kernel
def diagonals(
    start: int,
    mesh: Mesh,
    block: wp.array(dtype=wp.mat33),
    dt: float,
    diagonal_out: wp.array(dtype=wp.mat33),
    inverse_out: wp.array(dtype=wp.mat33),
):
    """A row's diagonal is its mass less the sum of its blocks: what moves as one feels no stiffness, to rounding."""
    i = start + wp.tid()
    b = mesh.body[i]
    if mesh.awake[b] == 0:
        return
    d = (mesh.mass[i] * (1.0 + dt * mesh.bodies[b].drag)) * wp.identity(n=3, dtype=float)
    for s in range(mesh.row_starts[i], mesh.row_starts[i + 1]):
        d = d - block[s]
    d = 0.5 * (d + wp.transpose(d))
    diagonal_out[i] = d
    inverse_out[i] = wp.inverse(d)


@wp.kernel
def gather_forces(start: int, mesh: Mesh, pieces: Pieces, force_out: wp.array(dtype=wp.vec3)):
    """Elastic force on each particle [N]."""
    i = start + wp.tid()
    if mesh.awake[mesh.body[i]] == 0:
        return
    total = wp.vec3()
    for s in range(mesh.corner_starts[i], mesh.corner_starts[i + 1]):
        code = mesh.corner_tets[s]
        total += row_of_corner(pieces.force[code >> 2], code & 3)
    force_out[i] = total
