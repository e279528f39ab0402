"""The iteration of the layer's solve in C++ for the CPU: a vector register holds a row of all right-hand sides.

The formula is that of `solve_kernels.iterate`; Warp's own code for small matrices takes several times as long.
"""

import warp as wp

from pliant.solvers.layered.data import Constants, Layer
from pliant.solvers.layered.load_kernels import mat34, mat38

wp.set_module_options({"enable_backward": False})

# nodes that one item of a launch takes
RUN = wp.constant(64)

_ITERATE = """
typedef float row __attribute__((ext_vector_type(WIDTH), aligned(4)));
const float* X = (const float*)x.data;
const float* B = (const float*)b.data;
float* D = (float*)d.data;
float* OUT = (float*)x_out.data;
const float* K = (const float*)block.data;
const float* DIAGONAL = (const float*)diagonal.data;
const float* INVERSE = (const float*)inverse.data;
auto at = [](const float* p, int i, int k) { return *(const row*)(p + 3 * WIDTH * (long)i + WIDTH * k); };
auto put = [](float* p, int i, int k, row v) { *(row*)(p + 3 * WIDTH * (long)i + WIDTH * k) = v; };
for (int i = first; i < end; ++i) {
    const row x0 = at(X, i, 0), x1 = at(X, i, 1), x2 = at(X, i, 2);
    const float* k = DIAGONAL + 9 * (long)i;
    row q0 = k[0] * x0 + k[1] * x1 + k[2] * x2;
    row q1 = k[3] * x0 + k[4] * x1 + k[5] * x2;
    row q2 = k[6] * x0 + k[7] * x1 + k[8] * x2;
    const int last = starts.data[i + 1];
    for (int s = starts.data[i]; s < last; ++s) {
        const int j = other.data[s];
        const float* k = K + 9 * (long)s;
        const row y0 = at(X, j, 0), y1 = at(X, j, 1), y2 = at(X, j, 2);
        q0 += k[0] * y0 + k[1] * y1 + k[2] * y2;
        q1 += k[3] * y0 + k[4] * y1 + k[5] * y2;
        q2 += k[6] * y0 + k[7] * y1 + k[8] * y2;
    }
    const int o = body.data[i];
    const float m = mass.data[i], c = scale.data[o];
    const row l0 = at(B, i, 0) - m * x0 - c * q0;
    const row l1 = at(B, i, 1) - m * x1 - c * q1;
    const row l2 = at(B, i, 2) - m * x2 - c * q2;
    const float a = *wp::address(alpha, o, step), f = *wp::address(beta, o, step);
    const float* v = INVERSE + 9 * (long)i;
    const row d0 = a * (v[0] * l0 + v[1] * l1 + v[2] * l2) + f * at(D, i, 0);
    const row d1 = a * (v[3] * l0 + v[4] * l1 + v[5] * l2) + f * at(D, i, 1);
    const row d2 = a * (v[6] * l0 + v[7] * l1 + v[8] * l2) + f * at(D, i, 2);
    put(D, i, 0, d0);
    put(D, i, 1, d1);
    put(D, i, 2, d2);
    put(OUT, i, 0, x0 + d0);
    put(OUT, i, 1, x1 + d1);
    put(OUT, i, 2, x2 + d2);
}
"""


@wp.func_native(_ITERATE.replace("WIDTH", "4"))
def iterate_rows4(
    first: int,
    end: int,
    body: wp.array(dtype=int),
    mass: wp.array(dtype=float),
    starts: wp.array(dtype=int),
    other: wp.array(dtype=int),
    diagonal: wp.array(dtype=wp.mat33),
    block: wp.array(dtype=wp.mat33),
    scale: wp.array(dtype=float),
    alpha: wp.array2d(dtype=float),
    beta: wp.array2d(dtype=float),
    inverse: wp.array(dtype=wp.mat33),
    b: wp.array(dtype=mat34),
    x: wp.array(dtype=mat34),
    step: int,
    x_out: wp.array(dtype=mat34),
    d: wp.array(dtype=mat34),
): ...


@wp.func_native(_ITERATE.replace("WIDTH", "8"))
def iterate_rows8(
    first: int,
    end: int,
    body: wp.array(dtype=int),
    mass: wp.array(dtype=float),
    starts: wp.array(dtype=int),
    other: wp.array(dtype=int),
    diagonal: wp.array(dtype=wp.mat33),
    block: wp.array(dtype=wp.mat33),
    scale: wp.array(dtype=float),
    alpha: wp.array2d(dtype=float),
    beta: wp.array2d(dtype=float),
    inverse: wp.array(dtype=wp.mat33),
    b: wp.array(dtype=mat38),
    x: wp.array(dtype=mat38),
    step: int,
    x_out: wp.array(dtype=mat38),
    d: wp.array(dtype=mat38),
): ...


@wp.kernel
def iterate4(
    start: int,
    layer: Layer,
    constants: Constants,
    inverse: wp.array(dtype=wp.mat33),
    b: wp.array(dtype=mat34),
    x: wp.array(dtype=mat34),
    step: int,
    x_out: wp.array(dtype=mat34),
    d_inout: wp.array(dtype=mat34),
):
    """`solve_kernels.iterate` for a run of nodes."""
    t = start + wp.tid()
    iterate_rows4(
        t * RUN, wp.min(t * RUN + RUN, layer.mass.shape[0]), layer.body, layer.mass, layer.row_starts, layer.row_other,
        layer.diagonal, layer.block, constants.scale, constants.alpha, constants.beta, inverse, b, x, step, x_out,
        d_inout,
    )  # fmt: skip


@wp.kernel
def iterate8(
    start: int,
    layer: Layer,
    constants: Constants,
    inverse: wp.array(dtype=wp.mat33),
    b: wp.array(dtype=mat38),
    x: wp.array(dtype=mat38),
    step: int,
    x_out: wp.array(dtype=mat38),
    d_inout: wp.array(dtype=mat38),
):
    """`solve_kernels.iterate` for a run of nodes."""
    t = start + wp.tid()
    iterate_rows8(
        t * RUN, wp.min(t * RUN + RUN, layer.mass.shape[0]), layer.body, layer.mass, layer.row_starts, layer.row_other,
        layer.diagonal, layer.block, constants.scale, constants.alpha, constants.beta, inverse, b, x, step, x_out,
        d_inout,
    )  # fmt: skip
