"""Conjugate gradients with one sum per iteration (Chronopoulos and Gear 1989), and their start.

The scalars stay on the device, in float64: [r.z of the last iteration, alpha, beta, the measure of the residual at
which to stop, iterations done, that measure now]. The measure is r.y with y = r preconditioned by the blocks of the
particles alone, whatever else makes up z.
"""

import warp as wp

from pliant.solvers.fem.data import Mesh
from pliant.solvers.fem.hold_kernels import SLIDES, Holds, filtered
from pliant.solvers.fem.level_kernels import Level, from_nodes

wp.set_module_options({"enable_backward": False})

LAST = wp.constant(0)
ALPHA = wp.constant(1)
BETA = wp.constant(2)
GOAL = wp.constant(3)
DONE = wp.constant(4)
LEFT_OVER = wp.constant(5)
SCALARS = 6


@wp.kernel
def begin_rows(
    start: int,
    mesh: Mesh,
    block: wp.array(dtype=wp.mat33),
    diagonal: wp.array(dtype=wp.mat33),
    inverse: wp.array(dtype=wp.mat33),
    force: wp.array(dtype=wp.vec3),
    f_ext: wp.array(dtype=wp.vec3),
    has_f_ext: int,
    inv_mass: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    holds: Holds,
    gain: wp.array(dtype=wp.vec3),
    gravity: wp.vec3,
    dt: float,
    ahead: float,
    r_out: wp.array(dtype=wp.vec3),
    free_out: wp.array(dtype=wp.vec3),
    z_out: wp.array(dtype=wp.vec3),
    size_out: wp.array(dtype=wp.vec2),
):
    """The residual of the step for velocities v and their gain, its free part, that preconditioned by its block z, and
    the sizes of the residual and of all forces.

    The elastic force was found where they lead to if `ahead` is 0, or at the start of the step if it is 1: then the
    stiffness times dt (v + gain) is its change. The blocks are K dt (dt + damping). What the residual is small beside
    are all forces, without what cancels of them.
    """
    i = start + wp.tid()
    b = mesh.body[i]
    if mesh.awake[b] == 0:
        r_out[i] = wp.vec3(0.0, 0.0, 0.0)
        free_out[i] = wp.vec3(0.0, 0.0, 0.0)
        z_out[i] = wp.vec3(0.0, 0.0, 0.0)
        size_out[i] = wp.vec2(0.0, 0.0)
        return
    body = mesh.bodies[b]
    m = mesh.mass[i]
    # a stiffness times differences of velocities: what moves as one does not feel it
    stiff = wp.vec3()
    for s in range(mesh.row_starts[i], mesh.row_starts[i + 1]):
        j = mesh.row_other[s]
        stiff += block[s] * ((v[j] - v[i]) + (gain[j] - gain[i]))
    share = (ahead * dt + body.damping) / (dt + body.damping)
    outside = m * gravity
    if has_f_ext != 0:
        outside += f_ext[i]
    if holds.how[i] == SLIDES:
        outside += holds.rub[i]
    r = dt * (force[i] + outside - (m * body.drag) * (v[i] + gain[i])) - m * gain[i] - share * stiff
    free = filtered(r, inv_mass[i], holds.how[i], holds.normal[i])
    z = filtered(inverse[i] * free, inv_mass[i], holds.how[i], holds.normal[i])
    r_out[i] = r
    free_out[i] = free
    z_out[i] = z
    measure = wp.vec2(0.0, 0.0)
    if inv_mass[i] > 0.0:
        scale = wp.trace(inverse[i]) * dt * dt / 3.0
        measure = wp.vec2(wp.dot(free, z), scale * (wp.length_sq(force[i]) + wp.length_sq(outside)))
    size_out[i] = measure


@wp.kernel
def product_rows(
    start: int,
    mesh: Mesh,
    diagonal: wp.array(dtype=wp.mat33),
    block: wp.array(dtype=wp.mat33),
    z: wp.array(dtype=wp.vec3),
    w_out: wp.array(dtype=wp.vec3),
):
    """w = A z."""
    i = start + wp.tid()
    total = wp.vec3()
    if mesh.awake[mesh.body[i]] != 0:
        total = diagonal[i] * z[i]
        for s in range(mesh.row_starts[i], mesh.row_starts[i + 1]):
            total += block[s] * z[mesh.row_other[s]]
    w_out[i] = total


@wp.kernel
def sum_sizes(
    start: int,
    a: wp.array(dtype=wp.vec2),
    first: int,
    count: int,
    chunks: int,
    parts_out: wp.array(dtype=wp.vec3d),
):
    """One part of the sums of sizes: items c, c + chunks, c + 2 chunks, ... in this order, in float64."""
    c = start + wp.tid()
    total = wp.vec3d()
    for k in range(c, count, chunks):
        value = a[first + k]
        total += wp.vec3d(wp.float64(0.0), wp.float64(value[1]), wp.float64(value[0]))
    parts_out[c] = total


@wp.kernel
def dot_triples(
    start: int,
    r: wp.array(dtype=wp.vec3),
    z: wp.array(dtype=wp.vec3),
    w: wp.array(dtype=wp.vec3),
    size: wp.array(dtype=wp.vec2),
    first: int,
    count: int,
    chunks: int,
    parts_out: wp.array(dtype=wp.vec3d),
):
    """One part of r.z, of w.z and of the measure: items c, c + chunks, ... in this order, in float64."""
    c = start + wp.tid()
    one = wp.float64(0.0)
    two = wp.float64(0.0)
    three = wp.float64(0.0)
    for k in range(c, count, chunks):
        i = first + k
        one += wp.float64(wp.dot(r[i], z[i]))
        two += wp.float64(wp.dot(w[i], z[i]))
        three += wp.float64(size[i][0])
    parts_out[c] = wp.vec3d(one, two, three)


@wp.func
def total_of(parts: wp.array(dtype=wp.vec3d), count: int) -> wp.vec3d:
    total = wp.vec3d()
    for c in range(count):
        total += parts[c]
    return total


@wp.kernel
def begin_solve(
    parts: wp.array(dtype=wp.vec3d),
    count: int,
    tolerance: float,
    scalars_out: wp.array(dtype=wp.float64),
    going_out: wp.array(dtype=int),
):
    """The end is a share of all forces, or of what is left at first where that is more."""
    total = total_of(parts, count)
    scalars_out[LAST] = wp.float64(0.0)
    scalars_out[ALPHA] = wp.float64(0.0)
    goal = wp.max(total[2], total[1]) * wp.float64(tolerance) * wp.float64(tolerance)
    scalars_out[GOAL] = goal
    scalars_out[DONE] = wp.float64(0.0)
    scalars_out[LEFT_OVER] = total[2]
    going_out[0] = 0
    if total[2] > goal:
        going_out[0] = 1


@wp.kernel
def find_lengths(
    parts: wp.array(dtype=wp.vec3d),
    count: int,
    most: int,
    scalars_inout: wp.array(dtype=wp.float64),
    going_inout: wp.array(dtype=int),
):
    """Length of the next move, how much of the last direction is in it, and whether to make it."""
    if going_inout[0] == 0:
        return
    total = total_of(parts, count)
    rz = total[0]
    going = int(0)
    # a comparison with what is not a number is false
    if total[2] > scalars_inout[GOAL] and scalars_inout[DONE] < wp.float64(most):
        going = 1
    beta = wp.float64(0.0)
    curve = total[1]
    if scalars_inout[LAST] > wp.float64(0.0) and scalars_inout[ALPHA] > wp.float64(0.0):
        beta = rz / scalars_inout[LAST]
        curve = curve - beta * rz / scalars_inout[ALPHA]
    alpha = wp.float64(0.0)
    if curve > wp.float64(0.0):
        alpha = rz / curve
    else:
        going = 0
    scalars_inout[LEFT_OVER] = total[2]
    if going != 0:
        scalars_inout[LAST] = rz
        scalars_inout[ALPHA] = alpha
        scalars_inout[BETA] = beta
        scalars_inout[DONE] = scalars_inout[DONE] + wp.float64(1.0)
    going_inout[0] = going


@wp.kernel
def advance(
    start: int,
    inv_mass: wp.array(dtype=float),
    holds: Holds,
    inverse: wp.array(dtype=wp.mat33),
    w: wp.array(dtype=wp.vec3),
    scalars: wp.array(dtype=wp.float64),
    going: wp.array(dtype=int),
    z_inout: wp.array(dtype=wp.vec3),
    d_inout: wp.array(dtype=wp.vec3),
    q_inout: wp.array(dtype=wp.vec3),
    gain_inout: wp.array(dtype=wp.vec3),
    r_inout: wp.array(dtype=wp.vec3),
    free_out: wp.array(dtype=wp.vec3),
    size_out: wp.array(dtype=wp.vec2),
):
    """Move along the next direction d, with q = A d, and precondition what is free of the residual by its block."""
    i = start + wp.tid()
    if going[0] == 0:
        return
    alpha = float(scalars[ALPHA])
    beta = float(scalars[BETA])
    d = z_inout[i]
    q = w[i]
    if beta > 0.0:
        d += beta * d_inout[i]
        q += beta * q_inout[i]
    d_inout[i] = d
    q_inout[i] = q
    gain_inout[i] = gain_inout[i] + alpha * d
    r = r_inout[i] - alpha * q
    r_inout[i] = r
    how = holds.how[i]
    n = holds.normal[i]
    free = filtered(r, inv_mass[i], how, n)
    z = filtered(inverse[i] * free, inv_mass[i], how, n)
    free_out[i] = free
    z_inout[i] = z
    size_out[i] = wp.vec2(wp.dot(free, z), 0.0)


@wp.kernel
def add_corrections(
    start: int,
    level: Level,
    corrections: wp.array(dtype=wp.vec3),
    inv_mass: wp.array(dtype=float),
    holds: Holds,
    going: wp.array(dtype=int),
    first: int,
    z_inout: wp.array(dtype=wp.vec3),
):
    """Add what the first lattice corrects to what the blocks of the particles do."""
    i = start + wp.tid()
    if going[0] == 0:
        return
    total = z_inout[i] + from_nodes(level, i - first, corrections)
    z_inout[i] = filtered(total, inv_mass[i], holds.how[i], holds.normal[i])
