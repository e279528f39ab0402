"""Kernels of the multigrid solve: A x = b for several right-hand sides on one level, and the ways between levels.

On CUDA a thread takes one column of one node: the threads of a node read its blocks together. On the CPU the same is
done by `level_native`, a row of all columns at once.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})


# share of what a group of nodes is alone that is added to it where some of its nodes are held
SOLID = wp.constant(0.1)


@wp.struct
class Level:
    """The matrix A of one level, by blocks of 3 x 3.

    Attributes:
        row_starts, row_other, block: rows beside the diagonal. diagonal, inverse: its blocks, and their inverses (n,).
    """

    row_starts: wp.array(dtype=int)
    row_other: wp.array(dtype=int)
    block: wp.array(dtype=wp.mat33)
    diagonal: wp.array(dtype=wp.mat33)
    inverse: wp.array(dtype=wp.mat33)


@wp.struct
class Transfer:
    """The way from a level to the next coarser one: x_fine = P x_coarse, A_coarse = P^T A P.

    Attributes:
        up_starts, up_other, up_weight: rows of P. down_starts, down_other, down_weight: rows of P^T.
        term_starts: of the terms of each coarse block, those of the diagonal last. term_block: fine block of each term,
            those of the diagonal last. term_row, term_column: its nodes. term_weight: its factor.
        row: coarse node of each coarse block beside the diagonal.
    """

    up_starts: wp.array(dtype=int)
    up_other: wp.array(dtype=int)
    up_weight: wp.array(dtype=float)
    down_starts: wp.array(dtype=int)
    down_other: wp.array(dtype=int)
    down_weight: wp.array(dtype=float)
    term_starts: wp.array(dtype=int)
    term_block: wp.array(dtype=int)
    term_row: wp.array(dtype=int)
    term_column: wp.array(dtype=int)
    term_weight: wp.array(dtype=float)
    row: wp.array(dtype=int)


@wp.func
def column_of(values: wp.array3d(dtype=float), i: int, c: int) -> wp.vec3:
    return wp.vec3(values[i, 0, c], values[i, 1, c], values[i, 2, c])


@wp.func
def put_column(values: wp.array3d(dtype=float), i: int, c: int, value: wp.vec3):
    values[i, 0, c] = value[0]
    values[i, 1, c] = value[1]
    values[i, 2, c] = value[2]


@wp.func
def product_row(level: Level, x: wp.array3d(dtype=float), i: int, c: int) -> wp.vec3:
    """A row of A x, one column. Four at a time: each alone would wait for what it reads."""
    q = level.diagonal[i] * column_of(x, i, c)
    s = level.row_starts[i]
    end = level.row_starts[i + 1]
    while s + 4 <= end:
        x0 = column_of(x, level.row_other[s], c)
        x1 = column_of(x, level.row_other[s + 1], c)
        x2 = column_of(x, level.row_other[s + 2], c)
        x3 = column_of(x, level.row_other[s + 3], c)
        q += level.block[s] * x0 + level.block[s + 1] * x1 + level.block[s + 2] * x2 + level.block[s + 3] * x3
        s += 4
    while s < end:
        q += level.block[s] * column_of(x, level.row_other[s], c)
        s += 1
    return q


@wp.kernel
def product(start: int, level: Level, p: wp.array(dtype=wp.vec3), q_out: wp.array(dtype=wp.vec3)):
    """q = A p."""
    i = start + wp.tid()
    q = level.diagonal[i] * p[i]
    for s in range(level.row_starts[i], level.row_starts[i + 1]):
        q += level.block[s] * p[level.row_other[s]]
    q_out[i] = q


@wp.kernel
def first_smooth(
    start: int,
    inverse: wp.array(dtype=wp.mat33),
    b: wp.array3d(dtype=float),
    columns: int,
    alpha: float,
    x_out: wp.array3d(dtype=float),
    d_out: wp.array3d(dtype=float),
):
    """The first iteration from zero, which needs no product: d = alpha D^-1 b."""
    t = start + wp.tid()
    i = t // columns
    c = t - i * columns
    d = alpha * (inverse[i] * column_of(b, i, c))
    put_column(x_out, i, c, d)
    put_column(d_out, i, c, d)


@wp.kernel
def smooth(
    start: int,
    level: Level,
    inverse: wp.array(dtype=wp.mat33),
    b: wp.array3d(dtype=float),
    x: wp.array3d(dtype=float),
    columns: int,
    alpha: float,
    beta: float,
    x_out: wp.array3d(dtype=float),
    d_inout: wp.array3d(dtype=float),
):
    """One iteration: d = alpha D^-1 (b - A x) + beta d; x + d.

    D^-1 leaves out what is prescribed, which stays as it was at the start. The spectrum of what is left lies within
    that of the whole (Cauchy's interlacing), so the same factors do.
    """
    t = start + wp.tid()
    i = t // columns
    c = t - i * columns
    d = alpha * (inverse[i] * (column_of(b, i, c) - product_row(level, x, i, c)))
    if beta != 0.0:
        d += beta * column_of(d_inout, i, c)
    put_column(d_inout, i, c, d)
    put_column(x_out, i, c, column_of(x, i, c) + d)


@wp.kernel
def last_smooth(
    start: int,
    level: Level,
    inverse: wp.array(dtype=wp.mat33),
    b: wp.array3d(dtype=float),
    x: wp.array3d(dtype=float),
    columns: int,
    alpha: float,
    beta: float,
    d: wp.array3d(dtype=float),
    ahead: float,
    momentum: float,
    x_inout: wp.array3d(dtype=float),
    way_inout: wp.array3d(dtype=float),
):
    """The last iteration of a cycle, and what the cycle did put to use: way = ahead (after - before) + momentum way."""
    t = start + wp.tid()
    i = t // columns
    c = t - i * columns
    after = column_of(x, i, c) + alpha * (inverse[i] * (column_of(b, i, c) - product_row(level, x, i, c)))
    after += beta * column_of(d, i, c)
    before = column_of(x_inout, i, c)
    way = ahead * (after - before)
    if momentum != 0.0:
        way += momentum * column_of(way_inout, i, c)
    put_column(way_inout, i, c, way)
    put_column(x_inout, i, c, before + way)


@wp.kernel
def residual(
    start: int,
    level: Level,
    free: wp.array(dtype=wp.mat33),
    b: wp.array3d(dtype=float),
    x: wp.array3d(dtype=float),
    columns: int,
    r_out: wp.array3d(dtype=float),
):
    """r = Q (b - A x), Q the directions that are free."""
    t = start + wp.tid()
    i = t // columns
    c = t - i * columns
    r = column_of(b, i, c) - product_row(level, x, i, c)
    if free.shape[0] > 0:
        r = free[i] * r
    put_column(r_out, i, c, r)


@wp.kernel
def restrict(start: int, way: Transfer, r: wp.array3d(dtype=float), columns: int, b_out: wp.array3d(dtype=float)):
    """b = P^T r on the coarser level."""
    t = start + wp.tid()
    k = t // columns
    c = t - k * columns
    total = wp.vec3()
    for e in range(way.down_starts[k], way.down_starts[k + 1]):
        total += way.down_weight[e] * column_of(r, way.down_other[e], c)
    put_column(b_out, k, c, total)


@wp.kernel
def prolong(
    start: int,
    way: Transfer,
    free: wp.array(dtype=wp.mat33),
    coarse: wp.array3d(dtype=float),
    x: wp.array3d(dtype=float),
    has_x: int,
    columns: int,
    x_out: wp.array3d(dtype=float),
):
    """x + Q P times what the coarser level found."""
    t = start + wp.tid()
    i = t // columns
    c = t - i * columns
    total = wp.vec3()
    for e in range(way.up_starts[i], way.up_starts[i + 1]):
        total += way.up_weight[e] * column_of(coarse, way.up_other[e], c)
    if free.shape[0] > 0:
        total = free[i] * total
    if has_x != 0:
        total += column_of(x, i, c)
    put_column(x_out, i, c, total)


@wp.kernel
def mark_touched(start: int, way: Transfer, held: wp.array(dtype=int), touched_out: wp.array(dtype=int)):
    """Which coarse nodes have part in a node that is held."""
    k = start + wp.tid()
    found = int(0)
    for e in range(way.down_starts[k], way.down_starts[k + 1]):
        if held[way.down_other[e]] != 0:
            found = 1
    touched_out[k] = found


@wp.func
def entry_of(level: Level, s: int) -> wp.mat33:
    """A block, those of the diagonal last."""
    beside = level.block.shape[0]
    if s < beside:
        return level.block[s]
    return level.diagonal[s - beside]


@wp.func_native("""
#if defined(__CUDA_ARCH__)
for (int step = 1; step < lanes; step *= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
#endif
return value;
""")
def over_lanes(value: float, lanes: int) -> float:
    """Sum over so many neighbouring threads of a warp; on the CPU there is one."""
    ...


@wp.kernel
def gather_blocks(
    start: int,
    lanes: int,
    way: Transfer,
    fine: Level,
    free: wp.array(dtype=wp.mat33),
    always: Level,
    touched: wp.array(dtype=int),
    coarse_out: Level,
):
    """P^T Q A Q P: the blocks of a coarser level, which differ from those `always` there where nodes are held. So many
    threads share a block."""
    t = start + wp.tid()
    lane = t % lanes
    beside = coarse_out.block.shape[0]
    # what is beyond the last block takes part in the sums of its warp
    s = wp.min(t // lanes, beside + coarse_out.diagonal.shape[0] - 1)
    row = s - beside
    column = row
    if s < beside:
        row = way.row[s]
        column = coarse_out.row_other[s]
    total = wp.mat33()
    changed = touched[row] != 0 or touched[column] != 0
    if changed:
        e = way.term_starts[s] + lane
        while e < way.term_starts[s + 1]:
            block = entry_of(fine, way.term_block[e])
            if free.shape[0] > 0:
                block = free[way.term_row[e]] * block * free[way.term_column[e]]
            total += way.term_weight[e] * block
            e += lanes
    for j in range(3):
        for k in range(3):
            total[j, k] = over_lanes(total[j, k], lanes)
    if not changed:
        total = entry_of(always, s)
    if lane == 0:
        if s < beside:
            coarse_out.block[s] = total
        else:
            coarse_out.diagonal[row] = total


@wp.kernel
def invert_blocks(start: int, always: Level, touched: wp.array(dtype=int), coarse_inout: Level):
    """Inverses of a coarser level's diagonal blocks; where little of a group is free its neighbours move that as well,
    and it is held back, so that the spectrum stays within its bounds."""
    k = start + wp.tid()
    inverse = always.inverse[k]
    if touched[k] != 0:
        inverse = wp.inverse(coarse_inout.diagonal[k] + SOLID * always.diagonal[k])
    coarse_inout.inverse[k] = inverse
