"""The beginning of a step: gravity and drag on the cores, what others did to the nodes, the layer's right-hand sides.

A step is solved for the change of the velocities: with A = M + h D + h^2 K on the nodes and D = damping K,

    A dw + M_ec dv_c = h (f - m s - K (u - u_p)) - h (D + h K) w,      s = 2 W x w + W x (W x r).

Gravity moves core and nodes alike and is part of the core's velocity from the start, so that free fall is exact.
"""

import warp as wp

from pliant.physics.rigid import single, single3
from pliant.solvers.layered.data import FREE, SLIDES, STICKS, Constants, Holds, Layer, Moment

wp.set_module_options({"enable_backward": False})

mat34 = wp.types.matrix(shape=(3, 4), dtype=float)
mat38 = wp.types.matrix(shape=(3, 8), dtype=float)


@wp.func
def swirl(w: wp.vec3, rate: wp.vec3, r: wp.vec3) -> wp.vec3:
    """Acceleration of a node that the turning frame of its core adds: Coriolis' and the centripetal one."""
    return 2.0 * wp.cross(w, rate) + wp.cross(w, wp.cross(w, r))


@wp.func
def in_frame(turn: wp.mat33d, value: wp.vec3) -> wp.vec3:
    """A world vector in the frame of a core."""
    return wp.transpose(single(turn)) * value


@wp.kernel
def begin_cores(
    layer: Layer, moment: Moment, awake: wp.array(dtype=int), gravity: wp.vec3d, dt: wp.float64, begin_out: Moment
):
    """Cores at the start of a step, with the velocity that gravity and drag give them in it; what sleeps has none."""
    b = wp.tid()
    turn = moment.turn[b]
    kept = wp.float64(1.0) / (wp.float64(1.0) + dt * wp.float64(layer.drag[b]))
    if awake[layer.number[b]] == 0:
        kept = wp.float64(0.0)
    begin_out.c[b] = moment.c[b]
    begin_out.turn[b] = turn
    begin_out.v[b] = kept * (moment.v[b] + dt * (wp.transpose(turn) * gravity))
    begin_out.w[b] = kept * moment.w[b]


@wp.kernel
def adopt(
    start: int,
    layer: Layer,
    moment: Moment,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    x_known: wp.array(dtype=wp.vec3),
    v_known: wp.array(dtype=wp.vec3),
    dt: float,
    begin_out: Moment,
):
    """Nodes at the start of a step, with what others did to their positions and velocities since the last one."""
    i = start + wp.tid()
    p = layer.first + i
    b = layer.body[i]
    u = moment.u[i]
    rate = moment.rate[i]
    if inv_mass[p] > 0.0:
        moved = in_frame(moment.turn[b], x[p] - x_known[i])
        u += moved
        rate += in_frame(moment.turn[b], v[p] - v_known[i]) - wp.cross(single3(moment.w[b]), moved)
    begin_out.u[i] = u
    begin_out.rate[i] = rate / (1.0 + dt * layer.drag[b])


@wp.func
def layer_load(
    i: int,
    layer: Layer,
    begin: Moment,
    f_ext: wp.array(dtype=wp.vec3),
    plastic: wp.array(dtype=wp.vec3),
    carried: wp.array(dtype=wp.vec3),
    has_f_ext: int,
    dt: float,
) -> wp.vec3:
    """What pushes a node in a step [N s], without gravity."""
    b = layer.body[i]
    ahead = dt + layer.damping[b]
    f = -(layer.diagonal[i] * (begin.u[i] + ahead * begin.rate[i]))
    for s in range(layer.row_starts[i], layer.row_starts[i + 1]):
        j = layer.row_other[s]
        f -= layer.block[s] * (begin.u[j] + ahead * begin.rate[j])
    if plastic.shape[0] > 0:
        f += plastic[i]
    f -= layer.mass[i] * swirl(single3(begin.w[b]), begin.rate[i], layer.rest[i] + begin.u[i])
    if has_f_ext != 0:
        f += in_frame(begin.turn[b], f_ext[layer.first + i])
    f = dt * f
    if carried.shape[0] > 0:
        f += in_frame(begin.turn[b], carried[i])
    return f


@wp.kernel
def load_free(
    start: int,
    layer: Layer,
    begin: Moment,
    f_ext: wp.array(dtype=wp.vec3),
    plastic: wp.array(dtype=wp.vec3),
    carried: wp.array(dtype=wp.vec3),
    has_f_ext: int,
    dt: float,
    b_out: wp.array(dtype=mat34),
    x_out: wp.array(dtype=mat34),
):
    """Right-hand sides where nothing is pinned: the load, and -m [u], what u changes in those of a turning core."""
    i = start + wp.tid()
    f = layer_load(i, layer, begin, f_ext, plastic, carried, has_f_ext, dt)
    t = -layer.mass[i] * wp.skew(begin.u[i])
    b_out[i] = mat34(
        f[0], t[0, 0], t[0, 1], t[0, 2],
        f[1], t[1, 0], t[1, 1], t[1, 2],
        f[2], t[2, 0], t[2, 1], t[2, 2],
    )  # fmt: skip
    x_out[i] = mat34()


@wp.func
def held_part(mode: int, normal: wp.vec3) -> wp.mat33:
    """Q: the directions in which the velocity of a node is prescribed."""
    if mode == STICKS:
        return wp.identity(n=3, dtype=float)
    if mode == SLIDES:
        return wp.outer(normal, normal)
    return wp.mat33()


@wp.func
def mode_of(i: int, layer: Layer, inv_mass: wp.array(dtype=float), holds: Holds) -> int:
    """How a node is held: as if it stuck where it is pinned."""
    if inv_mass[layer.first + i] == 0.0:
        return STICKS
    return holds.mode[i]


@wp.kernel
def load_held(
    start: int,
    layer: Layer,
    constants: Constants,
    begin: Moment,
    holds: Holds,
    inv_mass: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    f_ext: wp.array(dtype=wp.vec3),
    plastic: wp.array(dtype=wp.vec3),
    carried: wp.array(dtype=wp.vec3),
    has_f_ext: int,
    dt: float,
    load_out: wp.array(dtype=wp.vec3),
    b_out: wp.array(dtype=mat38),
    x_out: wp.array(dtype=mat38),
    inverse_out: wp.array(dtype=wp.mat33),
    free_out: wp.array(dtype=wp.mat33),
    held_out: wp.array(dtype=int),
):
    """Right-hand sides where nodes are pinned or lie on surfaces: the load and M_ec, and where to start.

    The world velocity of a held node is given, all of it or along a normal: Q dw = Q (g - B dv_c), B = [1, -[r]].
    """
    i = start + wp.tid()
    p = layer.first + i
    b = layer.body[i]
    r = layer.rest[i] + begin.u[i]
    f = layer_load(i, layer, begin, f_ext, plastic, carried, has_f_ext, dt)
    mode = mode_of(i, layer, inv_mass, holds)
    inverse = constants.inverse[i]
    free = wp.identity(n=3, dtype=float)
    start_y = wp.vec3()
    start_drift = constants.drift[i]
    start_swing = constants.swing[i]
    if mode != FREE:
        n = wp.vec3()
        speed = v[p]
        if inv_mass[p] > 0.0:
            n = in_frame(begin.turn[b], holds.normal[i])
            speed = holds.speed[i]
            f += dt * in_frame(begin.turn[b], holds.rub[i])
        part = held_part(mode, n)
        free -= part
        gap = in_frame(begin.turn[b], speed) - single3(begin.v[b]) - wp.cross(single3(begin.w[b]), r) - begin.rate[i]
        start_y = part * gap
        start_drift = part + free * start_drift
        start_swing = free * start_swing - part * wp.skew(r)
        if mode == STICKS:
            inverse = wp.mat33()
        else:
            along = inverse * n
            inverse = inverse - wp.outer(along, along) / wp.dot(n, along)
    load_out[i] = f
    inverse_out[i] = inverse
    free_out[i] = free
    held_out[i] = mode
    m = layer.mass[i]
    t = -m * wp.skew(r)
    b_out[i] = mat38(
        f[0], m, 0.0, 0.0, t[0, 0], t[0, 1], t[0, 2], 0.0,
        f[1], 0.0, m, 0.0, t[1, 0], t[1, 1], t[1, 2], 0.0,
        f[2], 0.0, 0.0, m, t[2, 0], t[2, 1], t[2, 2], 0.0,
    )  # fmt: skip
    d = start_drift
    s = start_swing
    x_out[i] = mat38(
        start_y[0], d[0, 0], d[0, 1], d[0, 2], s[0, 0], s[0, 1], s[0, 2], 0.0,
        start_y[1], d[1, 0], d[1, 1], d[1, 2], s[1, 0], s[1, 1], s[1, 2], 0.0,
        start_y[2], d[2, 0], d[2, 1], d[2, 2], s[2, 0], s[2, 1], s[2, 2], 0.0,
    )  # fmt: skip


@wp.kernel
def load_core(start: int, layer: Layer, b_out: wp.array(dtype=mat38)):
    """Right-hand sides M_ec of a layer at rest, behind a column of zeros."""
    i = start + wp.tid()
    m = layer.mass[i]
    t = -m * wp.skew(layer.rest[i])
    b_out[i] = mat38(
        0.0, m, 0.0, 0.0, t[0, 0], t[0, 1], t[0, 2], 0.0,
        0.0, 0.0, m, 0.0, t[1, 0], t[1, 1], t[1, 2], 0.0,
        0.0, 0.0, 0.0, m, t[2, 0], t[2, 1], t[2, 2], 0.0,
    )  # fmt: skip


@wp.kernel
def part_free(
    start: int,
    constants: Constants,
    x: wp.array(dtype=mat34),
    y_out: wp.array(dtype=wp.vec3),
    drift_out: wp.array(dtype=wp.mat33),
    swing_out: wp.array(dtype=wp.mat33),
):
    """The solutions: of the load, and of a core that moves and turns."""
    i = start + wp.tid()
    s = x[i]
    y_out[i] = wp.vec3(s[0, 0], s[1, 0], s[2, 0])
    drift_out[i] = constants.drift[i]
    swing_out[i] = constants.swing[i] + wp.mat33(
        s[0, 1], s[0, 2], s[0, 3], s[1, 1], s[1, 2], s[1, 3], s[2, 1], s[2, 2], s[2, 3]
    )


@wp.kernel
def part_held(
    start: int,
    x: wp.array(dtype=mat38),
    y_out: wp.array(dtype=wp.vec3),
    drift_out: wp.array(dtype=wp.mat33),
    swing_out: wp.array(dtype=wp.mat33),
):
    """The same of seven columns; the eighth fills up the row."""
    i = start + wp.tid()
    s = x[i]
    y_out[i] = wp.vec3(s[0, 0], s[1, 0], s[2, 0])
    drift_out[i] = wp.mat33(s[0, 1], s[0, 2], s[0, 3], s[1, 1], s[1, 2], s[1, 3], s[2, 1], s[2, 2], s[2, 3])
    swing_out[i] = wp.mat33(s[0, 4], s[0, 5], s[0, 6], s[1, 4], s[1, 5], s[1, 6], s[2, 4], s[2, 5], s[2, 6])
