"""The layer's linear systems (M + c K) x = b for several right-hand sides at once, by Chebyshev iteration.

The matrix stays the same from step to step, so the bounds of its spectrum are known, and the iteration needs no dot
products: one launch each, the same polynomial every time (Golub and Varga 1961, Chebyshev semi-iterative methods).
Preconditioned by the 3 x 3 diagonal blocks.
"""

from typing import Any

import warp as wp

from pliant.solvers.layered.data import Constants, Layer

wp.set_module_options({"enable_backward": False})


@wp.kernel
def stiffness_product(start: int, layer: Layer, p: wp.array(dtype=wp.vec3), q_out: wp.array(dtype=wp.vec3)):
    """q = K p."""
    i = start + wp.tid()
    q = layer.diagonal[i] * p[i]
    for s in range(layer.row_starts[i], layer.row_starts[i + 1]):
        q += layer.block[s] * p[layer.row_other[s]]
    q_out[i] = q


@wp.kernel
def start_at_zero(
    start: int,
    layer: Layer,
    constants: Constants,
    b: wp.array(dtype=Any),
    x_out: wp.array(dtype=Any),
    d_out: wp.array(dtype=Any),
):
    """The first iteration from zero, which needs no product."""
    i = start + wp.tid()
    d = constants.alpha[layer.body[i], 0] * (constants.inverse[i] * b[i])
    d_out[i] = d
    x_out[i] = d


@wp.kernel
def iterate(
    start: int,
    layer: Layer,
    constants: Constants,
    inverse: wp.array(dtype=wp.mat33),
    b: wp.array(dtype=Any),
    x: wp.array(dtype=Any),
    step: int,
    x_out: wp.array(dtype=Any),
    d_inout: wp.array(dtype=Any),
):
    """One iteration: d = alpha D^-1 (b - A x) + beta d; x + d.

    D^-1 leaves out what is prescribed, which stays as it was at the start. The spectrum of what is left lies within
    that of the whole (Cauchy's interlacing), so the same factors do.
    """
    i = start + wp.tid()
    own = x[i]
    body = layer.body[i]
    q = layer.diagonal[i] * own
    for s in range(layer.row_starts[i], layer.row_starts[i + 1]):
        q += layer.block[s] * x[layer.row_other[s]]
    left = b[i] - layer.mass[i] * own - constants.scale[body] * q
    d = constants.alpha[body, step] * (inverse[i] * left) + constants.beta[body, step] * d_inout[i]
    d_inout[i] = d
    x_out[i] = own + d
