"""The cores' share of a step: sums over the layers, the 6 x 6 systems, the move, and the momenta.

With A_e y = F_e and A_e Y = M_ec, the core's unknowns are those of S = M_c - M_ce Y (Schur complement), and the layer
follows, dw = y - Y dv_c. A node that is pinned or lies on a surface gives up its own velocity, or that along a normal:
Q dw = Q (g - B dv_c), and what these rows ask for goes to the core.
"""

import warp as wp

from pliant.physics.rigid import (
    about,
    at_point,
    double3,
    first_half,
    joined,
    mat66d,
    push_at,
    put6,
    put_symmetric,
    put_upper,
    put_vector,
    rigid_mass,
    second_half,
    single3,
    solve6,
    turned_by,
    unpack6,
    unpack_symmetric,
    unpack_upper,
    unpack_vector,
    vec6d,
)
from pliant.solvers.layered.data import FREE, Chunks, Constants, Holds, Layer, Moment
from pliant.solvers.layered.load_kernels import held_part, in_frame, mode_of, swirl

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# columns of the sums of `sum_step`
FIRST = wp.constant(0)
SECOND = wp.constant(3)
RATE = wp.constant(9)
SPIN = wp.constant(12)
PUSH = wp.constant(15)
SWIRL = wp.constant(21)
LAG = wp.constant(27)
COUPLING = wp.constant(33)
PINNED = wp.constant(69)
STEP_COLUMNS = 70
# how far what lies on a surface is shown inside it, over its distance from the origin and 1 m: a few roundings
LEAN = wp.constant(1.0e-6)
# columns of the sums of `sum_after`, whose first are those of `sum_step`
GRIP = wp.constant(15)
AFTER_COLUMNS = 36


@wp.func
def times_rigid(drift: wp.mat33, swing: wp.mat33, v: wp.vec3, w: wp.vec3) -> wp.vec3:
    """Y times a change of the core's velocities."""
    return drift * v + swing * w


@wp.kernel
def sum_step(
    start: int,
    chunks: Chunks,
    layer: Layer,
    constants: Constants,
    begin: Moment,
    y: wp.array(dtype=wp.vec3),
    drift: wp.array(dtype=wp.mat33),
    swing: wp.array(dtype=wp.mat33),
    load: wp.array(dtype=wp.vec3),
    holds: Holds,
    inv_mass: wp.array(dtype=float),
    f_ext: wp.array(dtype=wp.vec3),
    carried: wp.array(dtype=wp.vec3),
    dt: float,
    has_f_ext: int,
    has_holds: int,
    parts_out: wp.array2d(dtype=wp.float64),
):
    """What the cores must know of the nodes of a chunk."""
    chunk = start + wp.tid()
    first = wp.vec3d()
    second = wp.mat33d()
    rates = wp.vec3d()
    spin = wp.vec3d()
    push = vec6d()
    swirls = vec6d()
    lag = vec6d()
    coupling = mat66d()
    pinned = wp.float64(0.0)
    for i in range(chunks.begin[chunk], chunks.end[chunk]):
        b = layer.body[i]
        m = wp.float64(layer.mass[i])
        near = layer.rest[i] + begin.u[i]
        r = double3(near)
        rate = double3(begin.rate[i])
        first += m * r
        second += m * wp.outer(r, r)
        rates += m * rate
        spin += m * wp.cross(r, rate)
        if has_f_ext != 0:
            push += push_at(r, double3(in_frame(begin.turn[b], f_ext[layer.first + i])))
        if carried.shape[0] > 0:
            push += push_at(r, double3(in_frame(begin.turn[b], carried[i] / dt)))
        swirls += m * push_at(r, double3(swirl(single3(begin.w[b]), begin.rate[i], near)))
        lag += m * push_at(r, double3(y[i]))
        cross = wp.skew(r)
        d = wp.mat33d(drift[i])
        s = wp.mat33d(swing[i])
        rd = cross * d
        rs = cross * s
        for j in range(3):
            for k in range(3):
                coupling[j, k] += m * d[j, k]
                coupling[j, 3 + k] += m * s[j, k]
                coupling[3 + j, k] += m * rd[j, k]
                coupling[3 + j, 3 + k] += m * rs[j, k]
        if has_holds != 0:
            mode = mode_of(i, layer, inv_mass, holds)
            if mode != FREE:
                pinned += wp.float64(1.0)
                n = wp.vec3()
                if inv_mass[layer.first + i] > 0.0:
                    n = in_frame(begin.turn[b], holds.normal[i])
                    push += push_at(r, double3(in_frame(begin.turn[b], holds.rub[i])))
                part = held_part(mode, n)
                # the row of a held node: F_e - A y, and M_ec - A Y
                c = constants.scale[b]
                row_y = layer.diagonal[i] * y[i]
                row_d = layer.diagonal[i] * drift[i]
                row_s = layer.diagonal[i] * swing[i]
                for e in range(layer.row_starts[i], layer.row_starts[i + 1]):
                    o = layer.row_other[e]
                    row_y += layer.block[e] * y[o]
                    row_d += layer.block[e] * drift[o]
                    row_s += layer.block[e] * swing[o]
                row_y = part * (load[i] - layer.mass[i] * y[i] - c * row_y)
                left_d = wp.mat33d(part * (layer.mass[i] * (wp.identity(n=3, dtype=float) - drift[i]) - c * row_d))
                left_s = wp.mat33d(part * (-layer.mass[i] * (wp.skew(near) + swing[i]) - c * row_s))
                lag += push_at(r, double3(row_y))
                turned_d = cross * left_d
                turned_s = cross * left_s
                for j in range(3):
                    for k in range(3):
                        coupling[j, k] += left_d[j, k]
                        coupling[j, 3 + k] += left_s[j, k]
                        coupling[3 + j, k] += turned_d[j, k]
                        coupling[3 + j, 3 + k] += turned_s[j, k]
    put_vector(parts_out, chunk, FIRST, first)
    put_symmetric(parts_out, chunk, SECOND, second)
    put_vector(parts_out, chunk, RATE, rates)
    put_vector(parts_out, chunk, SPIN, spin)
    put6(parts_out, chunk, PUSH, push)
    put6(parts_out, chunk, SWIRL, swirls)
    put6(parts_out, chunk, LAG, lag)
    for j in range(6):
        for k in range(6):
            parts_out[chunk, COUPLING + 6 * j + k] = coupling[j, k]
    parts_out[chunk, PINNED] = pinned


@wp.kernel
def move_cores(
    layer: Layer,
    begin: Moment,
    awake: wp.array(dtype=int),
    sums: wp.array2d(dtype=wp.float64),
    dt: wp.float64,
    change_out: wp.array(dtype=vec6d),
    next_out: Moment,
):
    """Solve for the change of each core's velocities, and move it."""
    b = wp.tid()
    w = begin.w[b]
    inertia = layer.core_inertia[b] + about(unpack_symmetric(sums, b, SECOND))
    s = rigid_mass(layer.total_mass[b], inertia, unpack_vector(sums, b, FIRST))
    for j in range(6):
        for k in range(6):
            s[j, k] -= wp.float64(0.5) * (sums[b, COUPLING + 6 * j + k] + sums[b, COUPLING + 6 * k + j])
    q = unpack6(sums, b, PUSH) - unpack6(sums, b, SWIRL)
    q -= joined(wp.vec3d(), wp.cross(w, layer.core_inertia[b] * w))
    change = solve6(s, dt * q - unpack6(sums, b, LAG))
    if awake[layer.number[b]] == 0:
        change = vec6d()
    change_out[b] = change
    v = begin.v[b] + first_half(change)
    w += second_half(change)
    turn = begin.turn[b]
    next = turned_by(turn, dt * w)
    next_out.c[b] = begin.c[b] + dt * (turn * v)
    next_out.turn[b] = next
    next_out.v[b] = wp.transpose(next) * (turn * v)
    next_out.w[b] = w


@wp.kernel
def move_nodes(
    start: int,
    layer: Layer,
    begin: Moment,
    y: wp.array(dtype=wp.vec3),
    drift: wp.array(dtype=wp.mat33),
    swing: wp.array(dtype=wp.mat33),
    change: wp.array(dtype=vec6d),
    dt: float,
    next_out: Moment,
):
    """Let the layer follow its core: dw = y - Y dv_c, u += h w."""
    i = start + wp.tid()
    b = layer.body[i]
    rate = begin.rate[i] + y[i]
    rate -= times_rigid(drift[i], swing[i], single3(first_half(change[b])), single3(second_half(change[b])))
    next_out.rate[i] = rate
    next_out.u[i] = begin.u[i] + dt * rate


@wp.func
def core_share(mass: float, give: wp.mat33) -> wp.mat33:
    """Share of a push on a node that goes on to its core, T = 1 - m E (see contact_kernels)."""
    return wp.identity(n=3, dtype=float) - mass * give


@wp.kernel
def sum_after(
    start: int,
    chunks: Chunks,
    layer: Layer,
    constants: Constants,
    inv_mass: wp.array(dtype=float),
    next: Moment,
    parts_out: wp.array2d(dtype=wp.float64),
):
    """The same of a moment as `sum_step` tells of momenta, and the core's inertia to pushes on nodes."""
    chunk = start + wp.tid()
    first = wp.vec3d()
    second = wp.mat33d()
    rates = wp.vec3d()
    spin = wp.vec3d()
    grip = mat66d()
    for i in range(chunks.begin[chunk], chunks.end[chunk]):
        m = wp.float64(layer.mass[i])
        r = double3(layer.rest[i] + next.u[i])
        rate = double3(next.rate[i])
        first += m * r
        second += m * wp.outer(r, r)
        rates += m * rate
        spin += m * wp.cross(r, rate)
        s = layer.mass[i] * core_share(layer.mass[i], constants.give[i])
        if inv_mass[layer.first + i] == 0.0:
            s = wp.inverse(constants.give[i]) - layer.mass[i] * wp.identity(n=3, dtype=float)
        grip += at_point(wp.mat33d(s), r)
    put_vector(parts_out, chunk, FIRST, first)
    put_symmetric(parts_out, chunk, SECOND, second)
    put_vector(parts_out, chunk, RATE, rates)
    put_vector(parts_out, chunk, SPIN, spin)
    put_upper(parts_out, chunk, GRIP, grip)


@wp.kernel
def keep_momenta(
    layer: Layer,
    begin: Moment,
    before: wp.array2d(dtype=wp.float64),
    after: wp.array2d(dtype=wp.float64),
    keep: int,
    dt: wp.float64,
    next_inout: Moment,
    grip_out: wp.array(dtype=mat66d),
):
    """Give each free body the rigid velocity that it lacks for the momenta it should have, about its mass centre, and
    put that centre where its velocity leads; then what the core weighs to pushes on nodes."""
    b = wp.tid()
    grip = unpack_upper(after, b, GRIP)
    core = rigid_mass(layer.core_mass[b], layer.core_inertia[b], wp.vec3d())
    grip_out[b] = grip + core
    if keep != 0 and before[b, PINNED] == wp.float64(0.0):
        m = layer.total_mass[b]
        turn0 = begin.turn[b]
        turn = next_inout.turn[b]
        # before: momentum, mass centre and spin about it, in the world, and what forces add
        first = unpack_vector(before, b, FIRST)
        v = begin.v[b]
        w = begin.w[b]
        p = m * v + wp.cross(w, first) + unpack_vector(before, b, RATE)
        about_core = (layer.core_inertia[b] + about(unpack_symmetric(before, b, SECOND))) * w
        about_core += wp.cross(first, v) + unpack_vector(before, b, SPIN)
        spin = about_core - wp.cross(first, p) / m
        push = unpack6(before, b, PUSH)
        torque = second_half(push) - wp.cross(first, first_half(push)) / m
        p = turn0 * (p + dt * first_half(push))
        spin = turn0 * (spin + dt * torque)
        centre = begin.c[b] + turn0 * first / m + (dt / m) * p
        # after, in the core's frame
        p = wp.transpose(turn) * p
        spin = wp.transpose(turn) * spin
        first = unpack_vector(after, b, FIRST)
        inertia = layer.core_inertia[b] + about(unpack_symmetric(after, b, SECOND))
        # M_c (v, w) = momenta about the core, less those of the layer's rates
        lean = joined(p - unpack_vector(after, b, RATE), spin + wp.cross(first, p) / m - unpack_vector(after, b, SPIN))
        fit = solve6(rigid_mass(m, inertia, first), lean)
        next_inout.v[b] = first_half(fit)
        next_inout.w[b] = second_half(fit)
        next_inout.c[b] = centre - turn * first / m


@wp.kernel
def show_nodes(
    start: int,
    layer: Layer,
    holds: Holds,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    dt: float,
    next_inout: Moment,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    x_known_out: wp.array(dtype=wp.vec3),
    v_known_out: wp.array(dtype=wp.vec3),
):
    """World positions and velocities; pinned nodes go their own way, and their displacements follow.

    Nodes that lie on a surface are shown a little inside it, so that the pipeline finds them there.
    """
    i = start + wp.tid()
    p = layer.first + i
    b = layer.body[i]
    turn = next_inout.turn[b]
    if inv_mass[p] == 0.0:
        place = x[p] + dt * v[p]
        own = wp.transpose(turn) * (double3(place) - next_inout.c[b])
        next_inout.u[i] = single3(own - double3(layer.rest[i]))
        rate = wp.transpose(turn) * double3(v[p]) - next_inout.v[b] - wp.cross(next_inout.w[b], own)
        next_inout.rate[i] = single3(rate)
        x_out[p] = place
        v_out[p] = v[p]
        x_known_out[i] = place
        v_known_out[i] = v[p]
    else:
        r = double3(layer.rest[i]) + double3(next_inout.u[i])
        speed = next_inout.v[b] + wp.cross(next_inout.w[b], r) + double3(next_inout.rate[i])
        here = single3(next_inout.c[b] + turn * r)
        fast = single3(turn * speed)
        if holds.mode[i] != FREE:
            n = holds.normal[i]
            off = wp.max(wp.dot(n, here - x[p] - dt * holds.speed[i]), 0.0)
            here -= (off + LEAN * (1.0 + wp.length(here))) * n
        x_out[p] = here
        v_out[p] = fast
        x_known_out[i] = here
        v_known_out[i] = fast
