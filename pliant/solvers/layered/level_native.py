"""The passes of the multigrid solve in C++ for the CPU: a vector register holds a row of all right-hand sides.

The formulas are those of `level_kernels`; Warp's own code for small matrices takes several times as long.
"""

import warp as wp

from pliant.solvers.layered.level_kernels import Level, Transfer

wp.set_module_options({"enable_backward": False})

# nodes that one item of a launch takes
RUN = wp.constant(64)

_ROWS = """
typedef float row4 __attribute__((ext_vector_type(4), aligned(4)));
typedef float row8 __attribute__((ext_vector_type(8), aligned(4)));
auto work = [&](auto zero) {
    typedef decltype(zero) row;
    const int width = sizeof(row) / 4;
    struct Rows { row a, b, c; };
    auto get = [=](const wp::array_t<float>& values, int i) {
        const float* p = values.data + 3 * width * (long)i;
        return Rows{*(const row*)p, *(const row*)(p + width), *(const row*)(p + 2 * width)};
    };
    auto put = [=](wp::array_t<float>& values, int i, const Rows& v) {
        float* p = values.data + 3 * width * (long)i;
        *(row*)p = v.a; *(row*)(p + width) = v.b; *(row*)(p + 2 * width) = v.c;
    };
    auto times = [](const float* k, const Rows& v) {
        return Rows{k[0] * v.a + k[1] * v.b + k[2] * v.c, k[3] * v.a + k[4] * v.b + k[5] * v.c,
                    k[6] * v.a + k[7] * v.b + k[8] * v.c};
    };
    auto add = [](const Rows& v, float f, const Rows& w) { return Rows{v.a + f * w.a, v.b + f * w.b, v.c + f * w.c}; };
    auto scaled = [](float f, const Rows& w) { return Rows{f * w.a, f * w.b, f * w.c}; };
    BODY
};
if (columns == 4) work((row4)0.0f); else work((row8)0.0f);
"""

_LEFT = """
    const float* K = (const float*)block.data;
    const float* DIAGONAL = (const float*)diagonal.data;
    auto left = [&](int i, const Rows& own) {
        Rows q = times(DIAGONAL + 9 * (long)i, own);
        const int last = starts.data[i + 1];
        for (int s = starts.data[i]; s < last; ++s) {
            const Rows y = get(x, other.data[s]);
            const float* k = K + 9 * (long)s;
            q.a += k[0] * y.a + k[1] * y.b + k[2] * y.c;
            q.b += k[3] * y.a + k[4] * y.b + k[5] * y.c;
            q.c += k[6] * y.a + k[7] * y.b + k[8] * y.c;
        }
        return add(get(b, i), -1.0f, q);
    };
"""

_SMOOTH = """
    const float* INVERSE = (const float*)inverse.data;
    for (int i = first; i < end; ++i) {
        const Rows own = get(x, i);
        Rows d = scaled(alpha, times(INVERSE + 9 * (long)i, left(i, own)));
        if (beta != 0.0f) d = add(d, beta, get(d_inout, i));
        put(d_inout, i, d);
        put(x_out, i, add(own, 1.0f, d));
    }
"""

_LAST = """
    const float* INVERSE = (const float*)inverse.data;
    for (int i = first; i < end; ++i) {
        const Rows own = get(x, i);
        Rows after = add(own, alpha, times(INVERSE + 9 * (long)i, left(i, own)));
        after = add(after, beta, get(d, i));
        const Rows before = get(x_inout, i);
        Rows way = scaled(ahead, add(after, -1.0f, before));
        if (momentum != 0.0f) way = add(way, momentum, get(way_inout, i));
        put(way_inout, i, way);
        put(x_inout, i, add(before, 1.0f, way));
    }
"""

_RESIDUAL = """
    const float* FREE = (const float*)free_part.data;
    const bool held = free_part.shape[0] > 0;
    for (int i = first; i < end; ++i) {
        const Rows r = left(i, get(x, i));
        put(r_out, i, held ? times(FREE + 9 * (long)i, r) : r);
    }
"""

_RESTRICT = """
    for (int k = first; k < end; ++k) {
        Rows total{zero, zero, zero};
        for (int e = starts.data[k]; e < starts.data[k + 1]; ++e)
            total = add(total, weight.data[e], get(r, other.data[e]));
        put(b_out, k, total);
    }
"""

_PROLONG = """
    const float* FREE = (const float*)free_part.data;
    const bool held = free_part.shape[0] > 0;
    for (int i = first; i < end; ++i) {
        Rows total{zero, zero, zero};
        for (int e = starts.data[i]; e < starts.data[i + 1]; ++e)
            total = add(total, weight.data[e], get(coarse, other.data[e]));
        if (held) total = times(FREE + 9 * (long)i, total);
        if (has_x) total = add(total, 1.0f, get(x, i));
        put(x_out, i, total);
    }
"""


def _code(*parts: str) -> str:
    return _ROWS.replace("BODY", "".join(parts))


@wp.func_native(_code(_LEFT, _SMOOTH))
def smooth_rows(
    first: int,
    end: int,
    starts: wp.array(dtype=int),
    other: wp.array(dtype=int),
    block: wp.array(dtype=wp.mat33),
    diagonal: wp.array(dtype=wp.mat33),
    inverse: wp.array(dtype=wp.mat33),
    b: wp.array3d(dtype=float),
    x: wp.array3d(dtype=float),
    columns: int,
    alpha: float,
    beta: float,
    x_out: wp.array3d(dtype=float),
    d_inout: wp.array3d(dtype=float),
): ...


@wp.func_native(_code(_LEFT, _LAST))
def last_rows(
    first: int,
    end: int,
    starts: wp.array(dtype=int),
    other: wp.array(dtype=int),
    block: wp.array(dtype=wp.mat33),
    diagonal: wp.array(dtype=wp.mat33),
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
): ...


@wp.func_native(_code(_LEFT, _RESIDUAL))
def residual_rows(
    first: int,
    end: int,
    starts: wp.array(dtype=int),
    other: wp.array(dtype=int),
    block: wp.array(dtype=wp.mat33),
    diagonal: wp.array(dtype=wp.mat33),
    free_part: wp.array(dtype=wp.mat33),
    b: wp.array3d(dtype=float),
    x: wp.array3d(dtype=float),
    columns: int,
    r_out: wp.array3d(dtype=float),
): ...


@wp.func_native(_code(_RESTRICT))
def restrict_rows(
    first: int,
    end: int,
    starts: wp.array(dtype=int),
    other: wp.array(dtype=int),
    weight: wp.array(dtype=float),
    r: wp.array3d(dtype=float),
    columns: int,
    b_out: wp.array3d(dtype=float),
): ...


@wp.func_native(_code(_PROLONG))
def prolong_rows(
    first: int,
    end: int,
    starts: wp.array(dtype=int),
    other: wp.array(dtype=int),
    weight: wp.array(dtype=float),
    free_part: wp.array(dtype=wp.mat33),
    coarse: wp.array3d(dtype=float),
    x: wp.array3d(dtype=float),
    has_x: int,
    columns: int,
    x_out: wp.array3d(dtype=float),
): ...


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
    """`level_kernels.smooth` for a run of nodes."""
    t = start + wp.tid()
    smooth_rows(
        t * RUN, wp.min(t * RUN + RUN, inverse.shape[0]), level.row_starts, level.row_other, level.block,
        level.diagonal, inverse, b, x, columns, alpha, beta, x_out, d_inout,
    )  # fmt: skip


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
    """`level_kernels.last_smooth` for a run of nodes."""
    t = start + wp.tid()
    last_rows(
        t * RUN, wp.min(t * RUN + RUN, inverse.shape[0]), level.row_starts, level.row_other, level.block,
        level.diagonal, inverse, b, x, columns, alpha, beta, d, ahead, momentum, x_inout, way_inout,
    )  # fmt: skip


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
    """`level_kernels.residual` for a run of nodes."""
    t = start + wp.tid()
    residual_rows(
        t * RUN, wp.min(t * RUN + RUN, level.diagonal.shape[0]), level.row_starts, level.row_other, level.block,
        level.diagonal, free, b, x, columns, r_out,
    )  # fmt: skip


@wp.kernel
def restrict(start: int, way: Transfer, r: wp.array3d(dtype=float), columns: int, b_out: wp.array3d(dtype=float)):
    """`level_kernels.restrict` for a run of coarse nodes."""
    t = start + wp.tid()
    end = wp.min(t * RUN + RUN, way.down_starts.shape[0] - 1)
    restrict_rows(t * RUN, end, way.down_starts, way.down_other, way.down_weight, r, columns, b_out)


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
    """`level_kernels.prolong` for a run of nodes."""
    t = start + wp.tid()
    end = wp.min(t * RUN + RUN, way.up_starts.shape[0] - 1)
    prolong_rows(
        t * RUN, end, way.up_starts, way.up_other, way.up_weight, free, coarse, x, has_x, columns, x_out
    )  # fmt: skip
