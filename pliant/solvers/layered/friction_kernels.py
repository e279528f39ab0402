"""Friction of the contacts that press, through the same operator as the presses, cut at Coulomb's bound.

In each round a contact sticks, or slides and resists by what its push allows: linear about the last round's velocities,
so a round is a system like that of the presses.
"""

import warp as wp

from pliant.physics.rigid import double3, first_half, mat66d, put6, second_half, single3, solve6, unpack6, vec6d
from pliant.solvers.layered.contact_kernels import (
    Press,
    answer,
    put_kind,
    reach_of,
    reach_other,
    taken,
)
from pliant.solvers.layered.data import Chunks, Constants, Layer, Moment

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.struct
class Rub:
    """Friction of one contact, linear about a trial: an impulse of -(s (t.v + ...)) along two directions.

    Attributes:
        one, other: unit vectors along the surface. stiff: the inverse of what gives along them. slip: velocity there.
        there: friction that acts in the step's equations already and is taken back where the contact slides.
        g, k: what pushes along both do to the node's core. g_other, k_other: to the core that is touched.
    """

    one: wp.vec3
    other: wp.vec3
    stiff: wp.mat22
    slip: wp.vec2
    there: wp.vec2
    g: vec6d
    k: vec6d
    g_other: vec6d
    k_other: vec6d


@wp.func
def node_velocity(i: int, layer: Layer, next: Moment, moment: Moment) -> wp.vec3:
    """Velocity of a node in the frame of its core."""
    b = layer.body[i]
    return single3(moment.v[b]) + wp.cross(single3(moment.w[b]), layer.rest[i] + next.u[i]) + moment.rate[i]


@wp.func
def rub_of(
    i: int, layer: Layer, constants: Constants, next: Moment, press: Press, moment: Moment, z: wp.array(dtype=vec6d)
) -> Rub:
    """What friction does at a contact where friction elsewhere has moved the cores by z."""
    b = layer.body[i]
    o = press.partner[i]
    n = press.normal[i]
    rub = Rub()
    axis = wp.vec3(1.0, 0.0, 0.0)
    if wp.abs(n[0]) > 0.7:
        axis = wp.vec3(0.0, 1.0, 0.0)
    one = wp.normalize(wp.cross(n, axis))
    other = wp.cross(n, one)
    v = node_velocity(i, layer, next, moment) - press.surface[i]
    rub.g = reach_of(i, layer, constants, next, one)
    rub.k = reach_of(i, layer, constants, next, other)
    moved = wp.vec2(float(wp.dot(rub.g, z[b])), float(wp.dot(rub.k, z[b])))
    if o >= 0:
        touched = wp.vec3()
        for c in range(3):
            touched += press.share[i][c] * node_velocity(press.corner[i][c], layer, next, moment)
        v -= single3(wp.transpose(next.turn[b]) * (next.turn[o] * double3(touched)))
        rub.g_other = reach_other(i, layer, constants, next, press, one)
        rub.k_other = reach_other(i, layer, constants, next, press, other)
        moved += wp.vec2(float(wp.dot(rub.g_other, z[o])), float(wp.dot(rub.k_other, z[o])))
    give = press.block[i]
    across = wp.dot(one, give * other)
    stiff = wp.inverse(wp.mat22(wp.dot(one, give * one), across, across, wp.dot(other, give * other)))
    slip = wp.vec2(wp.dot(one, v), wp.dot(other, v))
    now = slip + moved
    carried = wp.vec2(wp.dot(one, press.carry[i]), wp.dot(other, press.carry[i]))
    size = wp.length(stiff * now - carried)
    push = press.push[i] + press.held[i]
    if size > press.grip[i][1] * push:
        weight = press.grip[i][0] * push / wp.max(wp.length(now), 1.0e-12)
        stiff = wp.mat22(weight, 0.0, 0.0, weight)
        rub.there = carried
    rub.one = one
    rub.other = other
    rub.stiff = stiff
    rub.slip = slip
    return rub


@wp.kernel
def begin_rubs(z_out: wp.array(dtype=vec6d)):
    """Friction has moved no core yet."""
    z_out[wp.tid()] = vec6d()


@wp.func
def rubs(i: int, press: Press) -> bool:
    """Whether a contact has friction, or has had."""
    return press.push[i] + press.held[i] > 0.0 or press.carry_push[i] != 0.0


@wp.func
def both_ways(stiff: wp.mat22, g: vec6d, k: vec6d, p: vec6d, q: vec6d) -> mat66d:
    """[g k] stiff [p q]^T."""
    h = wp.float64(stiff[0, 0]) * wp.outer(g, p) + wp.float64(stiff[1, 1]) * wp.outer(k, q)
    return h + wp.float64(stiff[0, 1]) * (wp.outer(g, q) + wp.outer(k, p))


@wp.kernel
def sum_rubs(
    start: int,
    chunks: Chunks,
    kinds: int,
    layer: Layer,
    constants: Constants,
    next: Moment,
    press: Press,
    moment: Moment,
    z: wp.array(dtype=vec6d),
    active: wp.array(dtype=int),
    parts_out: wp.array2d(dtype=wp.float64),
):
    """Matrix and right-hand side of friction over the contacts of a chunk: those that stick, and those that slide."""
    t = start + wp.tid()
    chunk = t // kinds
    kind = t - chunk * kinds
    if active[chunk] > 0:
        h = mat66d()
        s = vec6d()
        for i in range(chunks.begin[chunk], chunks.end[chunk]):
            if rubs(i, press) and (kind == 0 or press.partner[i] >= 0):
                rub = rub_of(i, layer, constants, next, press, moment, z)
                f = rub.stiff * rub.slip + rub.there
                if kind == 0:
                    h += both_ways(rub.stiff, rub.g, rub.k, rub.g, rub.k)
                    s -= wp.float64(f[0]) * rub.g + wp.float64(f[1]) * rub.k
                elif kind == 1:
                    h += both_ways(rub.stiff, rub.g_other, rub.k_other, rub.g_other, rub.k_other)
                    s -= wp.float64(f[0]) * rub.g_other + wp.float64(f[1]) * rub.k_other
                else:
                    h += both_ways(rub.stiff, rub.g, rub.k, rub.g_other, rub.k_other)
        put_kind(parts_out, chunk, kind, h, s)


@wp.kernel
def find_rubs(
    start: int,
    chunks: Chunks,
    layer: Layer,
    constants: Constants,
    next: Moment,
    moment: Moment,
    z: wp.array(dtype=vec6d),
    active: wp.array(dtype=int),
    press_inout: Press,
    parts_out: wp.array2d(dtype=wp.float64),
):
    """Friction of each contact of a chunk, at most what its push allows, and what it does to both cores."""
    chunk = start + wp.tid()
    if active[chunk] > 0:
        s = vec6d()
        s_other = vec6d()
        for i in range(chunks.begin[chunk], chunks.end[chunk]):
            if rubs(i, press_inout):
                rub = rub_of(i, layer, constants, next, press_inout, moment, z)
                b = layer.body[i]
                o = press_inout.partner[i]
                now = rub.slip + wp.vec2(float(wp.dot(rub.g, z[b])), float(wp.dot(rub.k, z[b])))
                if o >= 0:
                    now += wp.vec2(float(wp.dot(rub.g_other, z[o])), float(wp.dot(rub.k_other, z[o])))
                f = -(rub.stiff * now) - rub.there
                press_inout.rub[i] = f[0] * rub.one + f[1] * rub.other
                s += wp.float64(f[0]) * rub.g + wp.float64(f[1]) * rub.k
                if o >= 0:
                    s_other += wp.float64(f[0]) * rub.g_other + wp.float64(f[1]) * rub.k_other
        put6(parts_out, chunk, 0, s)
        put6(parts_out, chunk, 6, s_other)


@wp.kernel
def rub_cores(
    weight: wp.array(dtype=mat66d),
    sums: wp.array2d(dtype=wp.float64),
    dt: wp.float64,
    change_out: wp.array(dtype=vec6d),
    shift_inout: wp.array(dtype=vec6d),
    moment_inout: Moment,
):
    """Velocities of the cores after friction, which also takes its part of the step's way."""
    b = wp.tid()
    change = solve6(weight[b], unpack6(sums, b, 0))
    change_out[b] = change
    shift_inout[b] = shift_inout[b] + dt * change
    moment_inout.v[b] = moment_inout.v[b] + first_half(change)
    moment_inout.w[b] = moment_inout.w[b] + second_half(change)


@wp.kernel
def rub_nodes(
    start: int,
    layer: Layer,
    constants: Constants,
    inv_mass: wp.array(dtype=float),
    next: Moment,
    change: wp.array(dtype=vec6d),
    unit: float,
    dt: float,
    press_inout: Press,
    moment_inout: Moment,
):
    """Rates and displacements of the nodes after friction."""
    i = start + wp.tid()
    force = press_inout.rub[i] + taken(i, unit, press_inout)
    shift = wp.vec3()
    if inv_mass[layer.first + i] > 0.0:
        b = layer.body[i]
        gained = answer(i, layer, constants, next, force, change[b])
        moved = dt * gained
        r = layer.rest[i] + next.u[i]
        rigid = single3(first_half(change[b])) + wp.cross(single3(second_half(change[b])), r)
        shift = single3(next.turn[b] * double3(moved + dt * rigid))
        moment_inout.rate[i] = moment_inout.rate[i] + gained - wp.cross(single3(moment_inout.w[b]), moved)
        moment_inout.u[i] = moment_inout.u[i] + moved
    press_inout.shift[i] = shift


@wp.kernel
def deepen(start: int, layer: Layer, next: Moment, press_inout: Press):
    """How deep contacts are after friction has moved what touches."""
    i = start + wp.tid()
    if press_inout.give[i] > 0.0:
        shift = press_inout.shift[i]
        if press_inout.partner[i] >= 0:
            for k in range(3):
                shift -= press_inout.share[i][k] * press_inout.shift[press_inout.corner[i][k]]
        n = single3(next.turn[layer.body[i]] * double3(press_inout.normal[i]))
        press_inout.depth[i] = press_inout.depth[i] - wp.dot(n, shift)
