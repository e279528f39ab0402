"""What contacts between bodies do to layered ones: pushes on nodes, carried on to the cores.

The contacts know particles only. To them a node is as light as it is where all contacts of its body push alike: by what
it gives itself, and by what the core gives for each of them. What they then do to its velocity is read as a push, and
the push does to core and layer what it does in `contact_kernels`, so that both momenta are kept.
"""

import warp as wp

from pliant.physics.rigid import (
    double3,
    first_half,
    mat66d,
    push_at,
    put6,
    second_half,
    single,
    single3,
    solve6,
    turned_by,
    unpack6,
    vec6d,
)
from pliant.solvers.layered.contact_kernels import left_behind
from pliant.solvers.layered.core_kernels import core_share
from pliant.solvers.layered.data import Chunks, Constants, Layer, Moment
from pliant.solvers.layered.load_kernels import in_frame

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

FOLLOW_COLUMNS = 12


@wp.kernel
def count_touched(
    start: int,
    chunks: Chunks,
    layer: Layer,
    contacts: wp.array(dtype=int),
    parts_out: wp.array2d(dtype=wp.float64),
):
    """How many nodes of a chunk are touched by other bodies."""
    chunk = start + wp.tid()
    total = wp.float64(0.0)
    for i in range(chunks.begin[chunk], chunks.end[chunk]):
        if contacts[layer.first + i] > 0:
            total += wp.float64(1.0)
    parts_out[chunk, 0] = total


@wp.kernel
def invert_weights(
    weight: wp.array(dtype=mat66d), touched: wp.array2d(dtype=wp.float64), ease_out: wp.array(dtype=mat66d)
):
    """Velocity of each core per push on it, times the number of nodes that are touched."""
    b = wp.tid()
    ease = mat66d()
    for k in range(6):
        unit = vec6d()
        unit[k] = wp.max(touched[b, 0], wp.float64(1.0))
        column = solve6(weight[b], unit)
        for j in range(6):
            ease[j, k] = column[j]
    ease_out[b] = ease


@wp.kernel
def lighten(
    start: int,
    layer: Layer,
    constants: Constants,
    next: Moment,
    inv_mass: wp.array(dtype=float),
    ease: wp.array(dtype=mat66d),
    light_out: wp.array(dtype=float),
):
    """Inverse mass of each node to contacts between bodies [1/kg], the mean over all directions."""
    i = start + wp.tid()
    p = layer.first + i
    light = float(0.0)
    if inv_mass[p] > 0.0:
        give = constants.give[i]
        share = wp.mat33d(core_share(layer.mass[i], give))
        r = double3(layer.rest[i] + next.u[i])
        moves = wp.float64(0.0)
        for k in range(3):
            axis = wp.vec3d()
            axis[k] = wp.float64(1.0)
            f = share * axis
            g = push_at(r, f)
            moves += wp.dot(g, ease[layer.body[i]] * g)
        light = (wp.trace(give) + float(moves)) / 3.0
    light_out[p] = light


@wp.kernel
def sum_pushes(
    start: int,
    chunks: Chunks,
    layer: Layer,
    constants: Constants,
    next: Moment,
    light: wp.array(dtype=float),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    x_known: wp.array(dtype=wp.vec3),
    v_known: wp.array(dtype=wp.vec3),
    parts_out: wp.array2d(dtype=wp.float64),
):
    """What pushes on the nodes of a chunk do to the core: to its velocities and its place."""
    chunk = start + wp.tid()
    s = vec6d()
    s_place = vec6d()
    for i in range(chunks.begin[chunk], chunks.end[chunk]):
        p = layer.first + i
        if light[p] > 0.0:
            kick = v_next[p] - v_known[i]
            move = x_next[p] - x_known[i]
            if wp.dot(kick, kick) + wp.dot(move, move) > 0.0:
                b = layer.body[i]
                r = double3(layer.rest[i] + next.u[i])
                share = core_share(layer.mass[i], constants.give[i])
                s += push_at(r, double3(share * in_frame(next.turn[b], kick / light[p])))
                s_place += push_at(r, double3(share * in_frame(next.turn[b], move / light[p])))
    put6(parts_out, chunk, 0, s)
    put6(parts_out, chunk, 6, s_place)


@wp.kernel
def follow_pushes(
    weight: wp.array(dtype=mat66d),
    sums: wp.array2d(dtype=wp.float64),
    change_out: wp.array(dtype=vec6d),
    shift_out: wp.array(dtype=vec6d),
    next_inout: Moment,
):
    """Move the cores by the pushes; their place is put off until the nodes have followed."""
    b = wp.tid()
    change = solve6(weight[b], unpack6(sums, b, 0))
    change_out[b] = change
    shift_out[b] = solve6(weight[b], unpack6(sums, b, 6))
    next_inout.v[b] = next_inout.v[b] + first_half(change)
    next_inout.w[b] = next_inout.w[b] + second_half(change)


@wp.kernel
def follow_nodes(
    start: int,
    layer: Layer,
    constants: Constants,
    light: wp.array(dtype=float),
    change: wp.array(dtype=vec6d),
    shift: wp.array(dtype=vec6d),
    next_inout: Moment,
    x_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
    x_known_inout: wp.array(dtype=wp.vec3),
    v_known_inout: wp.array(dtype=wp.vec3),
):
    """Nodes after the pushes on them and on their core; a shift of the core is part of their way for now."""
    i = start + wp.tid()
    p = layer.first + i
    if light[p] > 0.0:
        b = layer.body[i]
        turn = next_inout.turn[b]
        give = constants.give[i]
        r = layer.rest[i] + next_inout.u[i]
        kick = in_frame(turn, v_inout[p] - v_known_inout[i]) / light[p]
        move = in_frame(turn, x_inout[p] - x_known_inout[i]) / light[p]
        moved = give * move - left_behind(layer.mass[i], give, r, shift[b])
        shifted = single3(first_half(shift[b])) + wp.cross(single3(second_half(shift[b])), r)
        kicked = give * kick - left_behind(layer.mass[i], give, r, change[b])
        pushed = single3(first_half(change[b])) + wp.cross(single3(second_half(change[b])), r)
        next_inout.u[i] = next_inout.u[i] + moved
        next_inout.rate[i] = next_inout.rate[i] + kicked - wp.cross(single3(next_inout.w[b]), moved)
        here = x_known_inout[i] + single(turn) * (moved + shifted)
        fast = v_known_inout[i] + single(turn) * (kicked + pushed)
        x_inout[p] = here
        v_inout[p] = fast
        x_known_inout[i] = here
        v_known_inout[i] = fast


@wp.kernel
def follow_places(shift: wp.array(dtype=vec6d), next_inout: Moment):
    """Put the cores where the pushes want them; their velocities stay the same in the world."""
    b = wp.tid()
    turn = next_inout.turn[b]
    next_inout.c[b] = next_inout.c[b] + turn * first_half(shift[b])
    after = turned_by(turn, second_half(shift[b]))
    next_inout.turn[b] = after
    next_inout.v[b] = wp.transpose(after) * (turn * next_inout.v[b])
    next_inout.w[b] = wp.transpose(after) * (turn * next_inout.w[b])
