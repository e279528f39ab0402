"""Contacts of nodes with surfaces: multipliers for all of them at once, by Sherman, Morrison and Woodbury.

The layer's matrix is replaced by one block for each node, E^-1 with E = `Constants.give`: a push on a node moves that
node and the core and nothing else. With B = [1, -[r]] and T = 1 - m E, a push f changes the core by S^-1 B^T T f,
S = M_core + sum of B^T m T B, and the rate of every node by E f - E m B dv_c. S is that of the same matrix, not of the
layer's: the core's rows then hold exactly, and so do linear and angular momentum; the operator is symmetric and
positive definite. What one contact does to another goes through the core:

    J A^-1 J^T = e + g^T S^-1 g,     e = n^T E n (diagonal),     g = B^T T n (six numbers a contact).

Multipliers that press and never pull make z = S^-1 sum of g lambda the minimum of the convex function
z^T S z / 2 + sum of max(0, b - g.z)^2 / 2e, found by Newton's method: each round sums up 6 x 6 over the contacts that
press. The same is done for velocities and, after friction, for positions, each with its own z. Contacts between layered
bodies are rows of the same kind, which push two cores: the matrix then is one of 6 x 6 blocks over the bodies.
"""

import warp as wp

from pliant.physics.contact import PlaneData, bounce_speed, shared_friction
from pliant.physics.rigid import (
    double3,
    first_half,
    mat66d,
    push_at,
    put6,
    put_upper,
    second_half,
    single,
    single3,
    solve6,
    unpack6,
    unpack_upper,
    vec6d,
)
from pliant.solvers.layered.core_kernels import core_share
from pliant.solvers.layered.data import FREE, STICKS, Chunks, Constants, Holds, Layer, Moment
from pliant.solvers.layered.load_kernels import in_frame

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# how near a plane a node is in the way, over its distance from the centre
NEAR = wp.constant(0.1)
# a wish for a velocity that no contact presses for
NEVER = wp.constant(-1.0e30)
# square of the change of a core's motion, over that of the motion, below which rounds end
SAME = wp.constant(wp.float64(1.0e-10))
PUSH_COLUMNS = 12


@wp.struct
class Press:
    """The contact of each node with a surface or another layered body, in the frame of its own core.

    Attributes:
        normal: out of what is touched (n,). give: velocity along it per push [1/kg] (n,), 0 where there is no contact.
        block: the same for all directions [1/kg] (n,).
        kick: what its velocity along the normal lacks [m/s] (n,). depth: [m] (n,). grip: friction coefficients (n,).
        surface: velocity of a surface [m/s] (n,). held: what a surface gave already where the node sticks [N s] (n,).
        slot: of a contact with a surface, -1 for none (n,).
        partner: the body that is touched, -1 for none (n,). corner: its three nodes that are (n,). share: of each.
        g, g_other: what a push of 1 does to the node's own core, and to that of its partner (n,).
        push: the multiplier [N s] (n,). force: the push as a vector [N s], or while places are solved for what moves by
            its `give` [m kg] (n,). rub: friction [N s] (n,).
        received: the same from contacts of other bodies with this node, in whole numbers (n, 3).
        shift: how friction moved the node, in the world [m] (n,).
        carry: what the contact pushed with in this step already [N s] (n,), and `carry_push`, that along the normal.
    """

    normal: wp.array(dtype=wp.vec3)
    give: wp.array(dtype=float)
    block: wp.array(dtype=wp.mat33)
    kick: wp.array(dtype=float)
    depth: wp.array(dtype=float)
    grip: wp.array(dtype=wp.vec2)
    surface: wp.array(dtype=wp.vec3)
    held: wp.array(dtype=float)
    slot: wp.array(dtype=int)
    partner: wp.array(dtype=int)
    corner: wp.array(dtype=wp.vec3i)
    share: wp.array(dtype=wp.vec3)
    g: wp.array(dtype=vec6d)
    g_other: wp.array(dtype=vec6d)
    push: wp.array(dtype=float)
    force: wp.array(dtype=wp.vec3)
    rub: wp.array(dtype=wp.vec3)
    received: wp.array2d(dtype=wp.int64)
    shift: wp.array(dtype=wp.vec3)
    carry: wp.array(dtype=wp.vec3)
    carry_push: wp.array(dtype=float)


@wp.kernel
def begin_response(next: Moment, moment_out: Moment, z_out: wp.array(dtype=vec6d), z_deep_out: wp.array(dtype=vec6d)):
    """Cores as predicted; nothing presses yet, for velocities and for places."""
    b = wp.tid()
    moment_out.c[b] = next.c[b]
    moment_out.turn[b] = next.turn[b]
    moment_out.v[b] = next.v[b]
    moment_out.w[b] = next.w[b]
    z_out[b] = vec6d()
    z_deep_out[b] = vec6d()


@wp.kernel
def meet_surfaces(
    start: int,
    layer: Layer,
    constants: Constants,
    surface: wp.array(dtype=PlaneData),
    depth: wp.array(dtype=float),
    slots: int,
    inv_mass: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    x_known: wp.array(dtype=wp.vec3),
    v_known: wp.array(dtype=wp.vec3),
    next: Moment,
    holds: Holds,
    planes: wp.array(dtype=PlaneData),
    plane_count: int,
    rest_speed: float,
    dt: float,
    moment_out: Moment,
    press_out: Press,
):
    """Nodes as predicted, with what other bodies did to them, and the contact of each: the deepest.

    A node that is near a plane counts too, with a negative depth: it is in the way where its core is put elsewhere.
    """
    i = start + wp.tid()
    p = layer.first + i
    b = layer.body[i]
    turn = next.turn[b]
    fast = v_next[p]
    free = inv_mass[p] > 0.0
    u = next.u[i]
    rate = next.rate[i]
    if free:
        moved = in_frame(turn, x_next[p] - x_known[i])
        u += moved
        rate += in_frame(turn, fast - v_known[i]) - wp.cross(single3(next.w[b]), moved)
    x = single3(next.c[b] + turn * (double3(layer.rest[i]) + double3(u)))
    moment_out.u[i] = u
    moment_out.rate[i] = rate
    press_out.give[i] = 0.0
    press_out.push[i] = 0.0
    press_out.force[i] = wp.vec3()
    press_out.rub[i] = wp.vec3()
    press_out.slot[i] = -1
    press_out.partner[i] = -1
    press_out.carry[i] = wp.vec3()
    press_out.carry_push[i] = 0.0
    press_out.held[i] = 0.0
    held = holds.mode[i] != FREE
    # what is held may be a little above its surface
    deepest = float(0.0)
    if held:
        deepest = -1.0e30
    chosen = int(-1)
    if free:
        for k in range(slots):
            if depth[p * slots + k] >= 0.0:
                plane = surface[p * slots + k]
                deep = plane.offset - wp.dot(plane.normal, x)
                if deep > deepest:
                    deepest = deep
                    chosen = p * slots + k
    if chosen >= 0:
        plane = surface[chosen]
        n = in_frame(turn, plane.normal)
        approach = wp.dot(fast - plane.velocity, plane.normal)
        came = wp.clamp(wp.dot(v[p] - plane.velocity, plane.normal), wp.min(approach, 0.0), 0.0)
        bounce = bounce_speed(came, wp.max(layer.restitution[b], plane.restitution), rest_speed)
        press_out.slot[i] = chosen
        if holds.mode[i] == STICKS:
            press_out.held[i] = wp.dot(holds.impulse[i], plane.normal)
        press_out.normal[i] = n
        press_out.give[i] = wp.dot(n, constants.give[i] * n)
        press_out.kick[i] = bounce - approach
        press_out.depth[i] = deepest
        press_out.grip[i] = shared_friction(layer.friction[b], plane)
        press_out.surface[i] = in_frame(turn, plane.velocity)
    elif free:
        r = layer.rest[i] + u
        for k in range(plane_count):
            plane = planes[k]
            gap = wp.dot(plane.normal, x) - plane.offset
            reach = dt * wp.length(fast - plane.velocity) + NEAR * wp.length(r)
            if gap < reach and (press_out.give[i] == 0.0 or -gap > press_out.depth[i]):
                n = in_frame(turn, plane.normal)
                press_out.normal[i] = n
                press_out.give[i] = wp.dot(n, constants.give[i] * n)
                press_out.kick[i] = NEVER
                press_out.depth[i] = -gap


@wp.func
def reach_of(i: int, layer: Layer, constants: Constants, next: Moment, direction: wp.vec3) -> vec6d:
    """B^T T d: what a push of 1 along d does to the core."""
    r = double3(layer.rest[i] + next.u[i])
    return push_at(r, double3(core_share(layer.mass[i], constants.give[i]) * direction))


@wp.func
def outer6(g: vec6d, scale: wp.float64) -> mat66d:
    return scale * wp.outer(g, g)


@wp.func
def reach_other(i: int, layer: Layer, constants: Constants, next: Moment, press: Press, direction: wp.vec3) -> vec6d:
    """What a push of 1 along d on a node does to the core of the body that is touched: the opposite, at its nodes."""
    b = layer.body[i]
    o = press.partner[i]
    d = single3(wp.transpose(next.turn[o]) * (next.turn[b] * double3(direction)))
    total = vec6d()
    for k in range(3):
        j = press.corner[i][k]
        total -= wp.float64(press.share[i][k]) * reach_of(j, layer, constants, next, d)
    return total


@wp.kernel
def finish_presses(start: int, layer: Layer, constants: Constants, next: Moment, press_inout: Press):
    """What each contact gives, and what it does to cores.

    Between bodies a node gives, and the nodes that it touches: as much as where all are pushed alike. Where these have
    contacts of their own with the node's body, each is for a half of what there is to do.
    """
    i = start + wp.tid()
    if press_inout.give[i] > 0.0:
        n = press_inout.normal[i]
        block = constants.give[i]
        o = press_inout.partner[i]
        if o >= 0:
            b = layer.body[i]
            turn = single(wp.transpose(next.turn[b]) * next.turn[o])
            both = float(1.0)
            for k in range(3):
                j = press_inout.corner[i][k]
                block += press_inout.share[i][k] * (turn * constants.give[j] * wp.transpose(turn))
                if press_inout.partner[j] == b:
                    both += press_inout.share[i][k]
            block = both * block
            press_inout.g_other[i] = reach_other(i, layer, constants, next, press_inout, n)
        press_inout.block[i] = block
        press_inout.give[i] = wp.dot(n, block * n)
        press_inout.g[i] = reach_of(i, layer, constants, next, n)


@wp.kernel
def mark_chunks(start: int, chunks: Chunks, press: Press, active_out: wp.array(dtype=int)):
    """How many contacts each chunk of nodes has."""
    chunk = start + wp.tid()
    found = int(0)
    for i in range(chunks.begin[chunk], chunks.end[chunk]):
        if press.give[i] > 0.0:
            found += 1
    active_out[chunk] = found


@wp.func
def moved_along(i: int, layer: Layer, press: Press, z: wp.array(dtype=vec6d)) -> wp.float64:
    """What cores that are pushed as z tells do to a contact."""
    moved = wp.dot(press.g[i], z[layer.body[i]])
    if press.partner[i] >= 0:
        moved += wp.dot(press.g_other[i], z[press.partner[i]])
    return moved


@wp.kernel
def sum_presses(
    start: int,
    chunks: Chunks,
    kinds: int,
    layer: Layer,
    press: Press,
    wanted: wp.array(dtype=float),
    z: wp.array(dtype=vec6d),
    active: wp.array(dtype=int),
    parts_out: wp.array2d(dtype=wp.float64),
):
    """Newton's matrix and right-hand side over the contacts of a chunk that press: of the own core, and where bodies
    touch of the other core, and between both."""
    t = start + wp.tid()
    chunk = t // kinds
    kind = t - chunk * kinds
    if active[chunk] > 0:
        h = mat66d()
        s = vec6d()
        for i in range(chunks.begin[chunk], chunks.end[chunk]):
            if press.give[i] > 0.0 and (kind == 0 or press.partner[i] >= 0):
                wish = wp.float64(wanted[i])
                if wish > moved_along(i, layer, press, z):
                    inverse = wp.float64(1.0) / wp.float64(press.give[i])
                    g = press.g[i]
                    if kind == 1:
                        g = press.g_other[i]
                    if kind == 2:
                        h += inverse * wp.outer(g, press.g_other[i])
                    else:
                        h += outer6(g, inverse)
                        s += (wish * inverse) * g
        put_kind(parts_out, chunk, kind, h, s)


@wp.func
def put_kind(parts: wp.array2d(dtype=wp.float64), chunk: int, kind: int, h: mat66d, s: vec6d):
    """Write what a chunk has of one kind: 27 numbers of the own core, 27 of the other, 36 between both."""
    if kind == 2:
        for j in range(6):
            put6(parts, chunk, 54 + 6 * j, h[j])
    else:
        put_upper(parts, chunk, 27 * kind, h)
        put6(parts, chunk, 27 * kind + 21, s)


@wp.kernel
def solve_presses(
    weight: wp.array(dtype=mat66d),
    sums: wp.array2d(dtype=wp.float64),
    z_inout: wp.array(dtype=vec6d),
    moved_out: wp.array(dtype=int),
):
    """Newton's step where bodies do not touch each other: what the presses, or friction, make of each core; and whether
    that is something else than before."""
    b = wp.tid()
    z = solve6(weight[b] + unpack_upper(sums, b, 0), unpack6(sums, b, 21))
    moved_out[b] = differs(z, z_inout[b])
    z_inout[b] = z


@wp.func
def differs(after: vec6d, before: vec6d) -> int:
    """Whether a round has changed something."""
    change = after - before
    if wp.dot(change, change) > SAME * wp.dot(after, after):
        return 1
    return 0


@wp.kernel
def begin_rounds(round_out: wp.array(dtype=int), going_out: wp.array(dtype=int)):
    """There is a round to do."""
    round_out[0] = 0
    going_out[0] = 1


@wp.kernel
def end_round(moved: wp.array(dtype=int), most: int, round_inout: wp.array(dtype=int), going_out: wp.array(dtype=int)):
    """Go on while a core is moved otherwise than in the round before, and there are rounds left."""
    round_inout[0] = round_inout[0] + 1
    going = int(0)
    if round_inout[0] < most:
        for b in range(moved.shape[0]):
            if moved[b] != 0:
                going = 1
    going_out[0] = going


@wp.kernel
def find_pushes(
    start: int,
    chunks: Chunks,
    layer: Layer,
    wanted: wp.array(dtype=float),
    z: wp.array(dtype=vec6d),
    places: int,
    active: wp.array(dtype=int),
    press_inout: Press,
    parts_out: wp.array2d(dtype=wp.float64),
):
    """The multiplier of each contact of a chunk, which never pulls, and what all do to both cores."""
    chunk = start + wp.tid()
    if active[chunk] > 0:
        s = vec6d()
        s_other = vec6d()
        for i in range(chunks.begin[chunk], chunks.end[chunk]):
            if press_inout.give[i] > 0.0:
                lacks = float(wp.float64(wanted[i]) - moved_along(i, layer, press_inout, z))
                push = wp.max(0.0, lacks / press_inout.give[i])
                press_inout.force[i] = push * press_inout.normal[i]
                if places == 0:
                    press_inout.push[i] = push
                    # a part of it was there already
                    push -= press_inout.carry_push[i]
                    press_inout.force[i] = push * press_inout.normal[i]
                s += wp.float64(push) * press_inout.g[i]
                if press_inout.partner[i] >= 0:
                    s_other += wp.float64(push) * press_inout.g_other[i]
        put6(parts_out, chunk, 0, s)
        put6(parts_out, chunk, 6, s_other)


@wp.kernel
def press_cores(
    weight: wp.array(dtype=mat66d),
    sums: wp.array2d(dtype=wp.float64),
    next: Moment,
    change_out: wp.array(dtype=vec6d),
    shift_out: wp.array(dtype=vec6d),
    moment_out: Moment,
):
    """Velocities of the cores after all presses; they are where they were."""
    b = wp.tid()
    change = solve6(weight[b], unpack6(sums, b, 0))
    change_out[b] = change
    shift_out[b] = vec6d()
    moment_out.v[b] = next.v[b] + first_half(change)
    moment_out.w[b] = next.w[b] + second_half(change)


@wp.kernel
def place_cores(
    weight: wp.array(dtype=mat66d),
    sums: wp.array2d(dtype=wp.float64),
    change_out: wp.array(dtype=vec6d),
    shift_inout: wp.array(dtype=vec6d),
):
    """How far the cores are to be put so that nothing is inside a surface."""
    b = wp.tid()
    moved = solve6(weight[b], unpack6(sums, b, 0))
    change_out[b] = moved
    shift_inout[b] = shift_inout[b] + moved


@wp.func
def left_behind(mass: float, give: wp.mat33, r: wp.vec3, change: vec6d) -> wp.vec3:
    """E m B dv_c: what a node lags where its core is pushed."""
    return mass * (give * (single3(first_half(change)) + wp.cross(single3(second_half(change)), r)))


@wp.func
def answer(i: int, layer: Layer, constants: Constants, next: Moment, force: wp.vec3, change: vec6d) -> wp.vec3:
    """What a push on a node and a change of its core do to the node, against its core."""
    give = constants.give[i]
    return give * force - left_behind(layer.mass[i], give, layer.rest[i] + next.u[i], change)


@wp.func
def taken(i: int, unit: float, press: Press) -> wp.vec3:
    """What contacts of other bodies push a node with, which is taken once."""
    force = wp.vec3()
    if unit > 0.0:
        for k in range(3):
            force[k] = unit * float(press.received[i, k])
            press.received[i, k] = wp.int64(0)
    return force


@wp.kernel
def press_nodes(
    start: int,
    layer: Layer,
    constants: Constants,
    inv_mass: wp.array(dtype=float),
    next: Moment,
    change: wp.array(dtype=vec6d),
    unit: float,
    press_inout: Press,
    moment_inout: Moment,
):
    """Rates of the nodes after all presses."""
    i = start + wp.tid()
    force = press_inout.force[i] + taken(i, unit, press_inout)
    if inv_mass[layer.first + i] > 0.0:
        gained = answer(i, layer, constants, next, force, change[layer.body[i]])
        moment_inout.rate[i] = moment_inout.rate[i] + gained


@wp.kernel
def place_nodes(
    start: int,
    layer: Layer,
    constants: Constants,
    inv_mass: wp.array(dtype=float),
    next: Moment,
    moved: wp.array(dtype=vec6d),
    unit: float,
    press_inout: Press,
    moment_inout: Moment,
):
    """Displacements of the nodes after they and their cores were put; that does not change their velocities."""
    i = start + wp.tid()
    force = press_inout.force[i] + taken(i, unit, press_inout)
    if inv_mass[layer.first + i] > 0.0:
        b = layer.body[i]
        way = answer(i, layer, constants, next, force, moved[b])
        moment_inout.rate[i] = moment_inout.rate[i] - wp.cross(single3(moment_inout.w[b]), way)
        moment_inout.u[i] = moment_inout.u[i] + way
