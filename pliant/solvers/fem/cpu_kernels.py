"""Kernels of the CPU: runs of rows or edges, whose loops are those of `cpu_native.py`."""

import warp as wp

from pliant.solvers.fem.cpu_native import advance_rows, correct_rows, gather_edges, product_and_dots, restrict_nodes
from pliant.solvers.fem.data import Mesh, Pieces
from pliant.solvers.fem.hold_kernels import Holds
from pliant.solvers.fem.level_kernels import Level
from pliant.solvers.fem.tet_kernels import corotated_tet
from pliant.solvers.fem.tet_native import turn_tets

wp.set_module_options({"enable_backward": False})

RUN = wp.constant(256)
"""Rows or edges of a run."""


@wp.kernel
def product_runs(
    start: int,
    mesh: Mesh,
    diagonal: wp.array(dtype=wp.mat33),
    block: wp.array(dtype=wp.mat33),
    r: wp.array(dtype=wp.vec3),
    z: wp.array(dtype=wp.vec3),
    first: int,
    count: int,
    w_out: wp.array(dtype=wp.vec3),
    parts_out: wp.array(dtype=wp.vec3d),
):
    """w = A z, and the parts of r.z and w.z, run by run."""
    c = start + wp.tid()
    begin = first + c * RUN
    end = first + wp.min(count, (c + 1) * RUN)
    product_and_dots(
        c, begin, end, mesh.row_starts, mesh.row_other, mesh.body, mesh.awake, diagonal, block, r, z, w_out, parts_out
    )


@wp.kernel
def advance_runs(
    start: int,
    inv_mass: wp.array(dtype=float),
    holds: Holds,
    inverse: wp.array(dtype=wp.mat33),
    w: wp.array(dtype=wp.vec3),
    scalars: wp.array(dtype=wp.float64),
    going: wp.array(dtype=int),
    first: int,
    count: int,
    z_inout: wp.array(dtype=wp.vec3),
    d_inout: wp.array(dtype=wp.vec3),
    q_inout: wp.array(dtype=wp.vec3),
    gain_inout: wp.array(dtype=wp.vec3),
    r_inout: wp.array(dtype=wp.vec3),
    free_out: wp.array(dtype=wp.vec3),
    parts_out: wp.array(dtype=wp.vec3d),
):
    """The move of conjugate gradients, run by run."""
    c = start + wp.tid()
    begin = first + c * RUN
    end = first + wp.min(count, (c + 1) * RUN)
    advance_rows(
        c, begin, end, inv_mass, holds.how, holds.normal, inverse, w, scalars, going,
        z_inout, d_inout, q_inout, gain_inout, r_inout, free_out, parts_out,
    )  # fmt: skip


@wp.kernel
def corotated_edge_runs(start: int, mesh: Mesh, pieces: Pieces, count: int, block_out: wp.array(dtype=wp.mat33)):
    """The blocks of edges, run by run."""
    c = start + wp.tid()
    begin = c * RUN
    end = wp.min(count, (c + 1) * RUN)
    gather_edges(
        begin, end, mesh.edge_starts, mesh.edge_tets, mesh.edge_slots, mesh.edge_rows, mesh.body, mesh.awake,
        pieces.gradient, block_out,
    )  # fmt: skip


@wp.kernel
def restrict_runs(
    start: int,
    level: Level,
    source: wp.array(dtype=wp.vec3),
    inverse: wp.array(dtype=float),
    count: int,
    r_out: wp.array(dtype=wp.vec3),
    z_out: wp.array(dtype=wp.vec3),
):
    """Residuals of the nodes of a lattice and their own corrections, run by run."""
    c = start + wp.tid()
    begin = c * RUN
    end = wp.min(count, (c + 1) * RUN)
    restrict_nodes(begin, end, level.starts, level.source, level.weight, source, inverse, r_out, z_out)


@wp.kernel
def correct_runs(
    start: int,
    level: Level,
    corrections: wp.array(dtype=wp.vec3),
    inv_mass: wp.array(dtype=float),
    holds: Holds,
    going: wp.array(dtype=int),
    first: int,
    count: int,
    z_inout: wp.array(dtype=wp.vec3),
):
    """Add what the first lattice corrects, run by run."""
    c = start + wp.tid()
    begin = first + c * RUN
    end = first + wp.min(count, (c + 1) * RUN)
    correct_rows(
        begin, end, first, level.up_starts, level.up_node, level.up_weight, corrections,
        inv_mass, holds.how, holds.normal, going, z_inout,
    )  # fmt: skip


@wp.kernel
def corotated_tet_runs(
    start: int,
    mesh: Mesh,
    rest_inv: wp.array(dtype=wp.mat33),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    dt: float,
    count: int,
    turn_inout: wp.array(dtype=wp.quat),
    pieces: Pieces,
    mark_out: wp.array(dtype=wp.uint8),
):
    """Forces and turned gradients of tets, run by run, the difficult ones one by one."""
    c = start + wp.tid()
    begin = c * RUN
    end = wp.min(count, (c + 1) * RUN)
    marked = turn_tets(
        begin, end, mesh.corners, mesh.tet_body, mesh.awake, mesh.volume, rest_inv, mesh.moduli, x, carry, dt,
        turn_inout, pieces.gradient, pieces.force, mark_out,
    )  # fmt: skip
    if marked > 0:
        for t in range(begin, end):
            if mark_out[t] != wp.uint8(0):
                corotated_tet(t, mesh, rest_inv, x, carry, dt, turn_inout, pieces)
