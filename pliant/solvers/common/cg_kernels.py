"""Preconditioned conjugate gradients: products with a matrix of 3 x 3 blocks, dot products, when to stop.

Dot products are added in a fixed order in float64, and the scalars stay on the device:
[r.z, alpha, beta, the r.z at which to stop, iterations done].
"""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def block_product(
    start: int,
    row_starts: wp.array(dtype=int),
    row_other: wp.array(dtype=int),
    body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    diagonal: wp.array(dtype=wp.mat33),
    block: wp.array(dtype=wp.mat33),
    p: wp.array(dtype=wp.vec3),
    q_out: wp.array(dtype=wp.vec3),
):
    """q = A p; row i has its diagonal block and a block for each of its others. Bodies that sleep have p = 0."""
    i = start + wp.tid()
    if awake[body[i]] == 0:
        q_out[i] = wp.vec3(0.0, 0.0, 0.0)
        return
    q = diagonal[i] * p[i]
    for s in range(row_starts[i], row_starts[i + 1]):
        q += block[s] * p[row_other[s]]
    q_out[i] = q


@wp.kernel
def dot_parts(
    start: int,
    a: wp.array(dtype=wp.vec3),
    b: wp.array(dtype=wp.vec3),
    first: int,
    count: int,
    chunks: int,
    parts_out: wp.array(dtype=wp.float64),
):
    """One part of a dot product: items c, c + chunks, c + 2 chunks, ... in this order, in float64."""
    c = start + wp.tid()
    total = wp.float64(0.0)
    for i in range(c, count, chunks):
        total += wp.float64(wp.dot(a[first + i], b[first + i]))
    parts_out[c] = total


@wp.func
def total_of(parts: wp.array(dtype=wp.float64)) -> wp.float64:
    total = wp.float64(0.0)
    for c in range(parts.shape[0]):
        total += parts[c]
    return total


@wp.kernel
def begin_solve(
    parts: wp.array(dtype=wp.float64),
    tolerance: float,
    scalars_out: wp.array(dtype=wp.float64),
    going_out: wp.array(dtype=int),
):
    """The end is a share of what is left at first."""
    total = total_of(parts)
    scalars_out[0] = total
    scalars_out[3] = total * wp.float64(tolerance) * wp.float64(tolerance)
    scalars_out[4] = wp.float64(0.0)
    going_out[0] = 0
    if total > wp.float64(0.0):
        going_out[0] = 1


@wp.kernel
def find_alpha(parts: wp.array(dtype=wp.float64), scalars_inout: wp.array(dtype=wp.float64)):
    """Length of the move along d."""
    total = total_of(parts)
    alpha = wp.float64(0.0)
    if total > wp.float64(0.0):
        alpha = scalars_inout[0] / total
    scalars_inout[1] = alpha


@wp.kernel
def find_beta(
    parts: wp.array(dtype=wp.float64),
    most: int,
    scalars_inout: wp.array(dtype=wp.float64),
    going_out: wp.array(dtype=int),
):
    """How much of the old direction stays in the new one, and whether to go on; not if something is not finite."""
    total = total_of(parts)
    scalars_inout[2] = total / scalars_inout[0]
    scalars_inout[0] = total
    scalars_inout[4] = scalars_inout[4] + wp.float64(1.0)
    going_out[0] = 0
    if total > scalars_inout[3] and scalars_inout[4] < wp.float64(most):
        going_out[0] = 1


@wp.kernel
def turn(
    start: int,
    z: wp.array(dtype=wp.vec3),
    scalars: wp.array(dtype=wp.float64),
    d_inout: wp.array(dtype=wp.vec3),
):
    """Next search direction."""
    i = start + wp.tid()
    d_inout[i] = z[i] + float(scalars[2]) * d_inout[i]
