"""Contacts of nodes with surfaces: multipliers for all of them at once, by Sherman, Morrison and Woodbury.

The layer's matrix is replaced by one block for each node, E^-1 with E = `Constants.give`: a push on a node moves that
node and the core and nothing else. With B = [1, -[r]] and T = 1 - m E, a push f changes the core by S^-1 B^T T f,
S = M_core + sum of B^T m T B, and the rate of every node by E f - E m B dv_c. S is that of the same matrix, not of the
layer's: the core's rows then hold exactly, and so do linear and angular momentum; the operator is symmetric and
positive definite. What one contact does to another goes through the core:

    J A^-1 J^T = e + g^T S^-1 g,     e = n^T E n (diagonal),     g = B^T T n (six numbers a contact).

Multipliers that press and never pull make z = S^-1 sum of g lambda the minimum of the convex function
z^T S z / 2 + sum of max(0, b - g.z)^2 / 2e, found by Newton's method: each round sums up 6 x 6 over the contacts that
press. The same is done for velocities and, after friction, for positions, each with its own z.
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
    single3,
    solve6,
    turned_by,
    unpack6,
    unpack_upper,
    vec6d,
)
from pliant.solvers.layered.core_kernels import core_share
from pliant.solvers.layered.data import FREE, SLIDES, STICKS, Chunks, Constants, Holds, Layer, Moment
from pliant.solvers.layered.load_kernels import in_frame

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# speed of leaving [m/s] above which a node is not held by the surface it met
CALM = wp.constant(1.0e-4)
# how near a plane a node is in the way, over its distance from the centre
NEAR = wp.constant(0.1)
# a wish for a velocity that no contact presses for
NEVER = wp.constant(-1.0e30)
# how far above a surface a node still lies on it, over its distance from the centre
LOOSE = wp.constant(1.0e-3)
PRESS_COLUMNS = 54
RUB_COLUMNS = 27
END_COLUMNS = 12


@wp.struct
class Press:
    """The contact of each node, in the frame of its core.

    Attributes:
        normal: out of the surface (n,). give: velocity along it per push [1/kg] (n,), 0 where there is no contact.
        kick: what its velocity along the normal lacks [m/s] (n,). depth: [m] (n,). grip: friction coefficients (n,).
        surface: velocity of the surface [m/s] (n,). push: the multiplier [N s] (n,). rub: friction [N s] (n,).
        held: what the surface gave already where the node sticks [N s] (n,). slot: of the contact, -1 for none (n,).
    """

    normal: wp.array(dtype=wp.vec3)
    give: wp.array(dtype=float)
    kick: wp.array(dtype=float)
    depth: wp.array(dtype=float)
    grip: wp.array(dtype=wp.vec2)
    surface: wp.array(dtype=wp.vec3)
    push: wp.array(dtype=float)
    rub: wp.array(dtype=wp.vec3)
    held: wp.array(dtype=float)
    slot: wp.array(dtype=int)


@wp.kernel
def begin_response(next: Moment, moment_out: Moment, z_out: wp.array(dtype=vec6d), z_deep_out: wp.array(dtype=vec6d)):
    """Cores as predicted; nothing presses yet."""
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
    press_out.rub[i] = wp.vec3()
    press_out.slot[i] = -1
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


@wp.kernel
def sum_presses(
    start: int,
    chunks: Chunks,
    layer: Layer,
    constants: Constants,
    next: Moment,
    press: Press,
    z: wp.array(dtype=vec6d),
    z_deep: wp.array(dtype=vec6d),
    parts_out: wp.array2d(dtype=wp.float64),
):
    """Newton's matrix and right-hand side over the contacts of a chunk that press: velocities, then positions."""
    chunk = start + wp.tid()
    h = mat66d()
    h_deep = mat66d()
    s = vec6d()
    s_deep = vec6d()
    for i in range(chunks.begin[chunk], chunks.end[chunk]):
        if press.give[i] > 0.0:
            b = layer.body[i]
            g = reach_of(i, layer, constants, next, press.normal[i])
            inverse = wp.float64(1.0) / wp.float64(press.give[i])
            kick = wp.float64(press.kick[i])
            if kick > wp.dot(g, z[b]):
                h += outer6(g, inverse)
                s += (kick * inverse) * g
            deep = wp.float64(press.depth[i])
            if deep > wp.dot(g, z_deep[b]):
                h_deep += outer6(g, inverse)
                s_deep += (deep * inverse) * g
    put_upper(parts_out, chunk, 0, h)
    put6(parts_out, chunk, 21, s)
    put_upper(parts_out, chunk, 27, h_deep)
    put6(parts_out, chunk, 48, s_deep)


@wp.kernel
def solve_presses(
    weight: wp.array(dtype=mat66d),
    sums: wp.array2d(dtype=wp.float64),
    z_out: wp.array(dtype=vec6d),
    z_deep_out: wp.array(dtype=vec6d),
):
    """Newton's step: what the presses make of each core."""
    b = wp.tid()
    z_out[b] = solve6(weight[b] + unpack_upper(sums, b, 0), unpack6(sums, b, 21))
    z_deep_out[b] = solve6(weight[b] + unpack_upper(sums, b, 27), unpack6(sums, b, 48))


@wp.func
def multiplier(wanted: float, give: float, g: vec6d, z: vec6d) -> float:
    """The push of a contact, which never pulls."""
    return wp.max(0.0, float(wp.float64(wanted) - wp.dot(g, z)) / give)


@wp.kernel
def sum_multipliers(
    start: int,
    chunks: Chunks,
    layer: Layer,
    constants: Constants,
    next: Moment,
    press: Press,
    z: wp.array(dtype=vec6d),
    z_deep: wp.array(dtype=vec6d),
    parts_out: wp.array2d(dtype=wp.float64),
):
    """What all multipliers of a chunk do to the core: to its velocities and its place."""
    chunk = start + wp.tid()
    s = vec6d()
    s_deep = vec6d()
    for i in range(chunks.begin[chunk], chunks.end[chunk]):
        if press.give[i] > 0.0:
            b = layer.body[i]
            g = reach_of(i, layer, constants, next, press.normal[i])
            s += wp.float64(multiplier(press.kick[i], press.give[i], g, z[b])) * g
            s_deep += wp.float64(multiplier(press.depth[i], press.give[i], g, z_deep[b])) * g
    put6(parts_out, chunk, 0, s)
    put6(parts_out, chunk, 6, s_deep)


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
    moved = solve6(weight[b], unpack6(sums, b, 6))
    change_out[b] = moved
    shift_inout[b] = shift_inout[b] + moved


@wp.func
def left_behind(mass: float, give: wp.mat33, r: wp.vec3, change: vec6d) -> wp.vec3:
    """E m B dv_c: what a node lags where its core is pushed."""
    return mass * (give * (single3(first_half(change)) + wp.cross(single3(second_half(change)), r)))


@wp.kernel
def press_nodes(
    start: int,
    layer: Layer,
    constants: Constants,
    inv_mass: wp.array(dtype=float),
    next: Moment,
    z: wp.array(dtype=vec6d),
    change: wp.array(dtype=vec6d),
    press_inout: Press,
    moment_inout: Moment,
):
    """Rates of the nodes after all presses."""
    i = start + wp.tid()
    if inv_mass[layer.first + i] > 0.0:
        b = layer.body[i]
        give = constants.give[i]
        r = layer.rest[i] + next.u[i]
        rate = moment_inout.rate[i] - left_behind(layer.mass[i], give, r, change[b])
        if press_inout.give[i] > 0.0:
            n = press_inout.normal[i]
            push = multiplier(press_inout.kick[i], press_inout.give[i], reach_of(i, layer, constants, next, n), z[b])
            press_inout.push[i] = push
            rate += push * (give * n)
        moment_inout.rate[i] = rate


@wp.kernel
def place_nodes(
    start: int,
    layer: Layer,
    constants: Constants,
    inv_mass: wp.array(dtype=float),
    next: Moment,
    press: Press,
    z_deep: wp.array(dtype=vec6d),
    moved: wp.array(dtype=vec6d),
    moment_inout: Moment,
):
    """Displacements of the nodes after they and their cores were put; that does not change their velocities."""
    i = start + wp.tid()
    if inv_mass[layer.first + i] > 0.0:
        b = layer.body[i]
        give = constants.give[i]
        way = -left_behind(layer.mass[i], give, layer.rest[i] + next.u[i], moved[b])
        if press.give[i] > 0.0:
            n = press.normal[i]
            g = reach_of(i, layer, constants, next, n)
            way += multiplier(press.depth[i], press.give[i], g, z_deep[b]) * (give * n)
        moment_inout.rate[i] = moment_inout.rate[i] - wp.cross(single3(moment_inout.w[b]), way)
        moment_inout.u[i] = moment_inout.u[i] + way


@wp.struct
class Rub:
    """Friction of one contact, linear about a trial: an impulse of -(s (t.v + ...)) along two directions.

    Attributes:
        one, other: unit vectors along the surface. sticks: the inverse of what gives along them. slip: velocity there.
    """

    one: wp.vec3
    other: wp.vec3
    stiff: wp.mat22
    slip: wp.vec2


@wp.func
def rub_of(
    i: int, layer: Layer, constants: Constants, next: Moment, press: Press, moment: Moment, z: wp.array(dtype=vec6d)
) -> Rub:
    """What friction does at a contact where friction elsewhere has moved the core by z."""
    b = layer.body[i]
    n = press.normal[i]
    rub = Rub()
    axis = wp.vec3(1.0, 0.0, 0.0)
    if wp.abs(n[0]) > 0.7:
        axis = wp.vec3(0.0, 1.0, 0.0)
    one = wp.normalize(wp.cross(n, axis))
    other = wp.cross(n, one)
    r = layer.rest[i] + next.u[i]
    v = single3(moment.v[b]) + wp.cross(single3(moment.w[b]), r) + moment.rate[i] - press.surface[i]
    give = constants.give[i]
    across = wp.dot(one, give * other)
    stiff = wp.inverse(wp.mat22(wp.dot(one, give * one), across, across, wp.dot(other, give * other)))
    slip = wp.vec2(wp.dot(one, v), wp.dot(other, v))
    moved = wp.vec2(
        float(wp.dot(reach_of(i, layer, constants, next, one), z[b])),
        float(wp.dot(reach_of(i, layer, constants, next, other), z[b])),
    )
    now = slip + moved
    size = wp.length(stiff * now)
    push = press.push[i] + press.held[i]
    if size > press.grip[i][1] * push:
        weight = press.grip[i][0] * push / wp.max(wp.length(now), 1.0e-12)
        stiff = wp.mat22(weight, 0.0, 0.0, weight)
    rub.one = one
    rub.other = other
    rub.stiff = stiff
    rub.slip = slip
    return rub


@wp.kernel
def begin_rubs(z_out: wp.array(dtype=vec6d)):
    """Friction has moved no core yet."""
    z_out[wp.tid()] = vec6d()


@wp.kernel
def sum_rubs(
    start: int,
    chunks: Chunks,
    layer: Layer,
    constants: Constants,
    next: Moment,
    press: Press,
    moment: Moment,
    z: wp.array(dtype=vec6d),
    parts_out: wp.array2d(dtype=wp.float64),
):
    """Matrix and right-hand side of friction over the contacts of a chunk: those that stick, and those that slide."""
    chunk = start + wp.tid()
    h = mat66d()
    s = vec6d()
    for i in range(chunks.begin[chunk], chunks.end[chunk]):
        if press.push[i] + press.held[i] > 0.0:
            rub = rub_of(i, layer, constants, next, press, moment, z)
            g = reach_of(i, layer, constants, next, rub.one)
            k = reach_of(i, layer, constants, next, rub.other)
            h += outer6(g, wp.float64(rub.stiff[0, 0])) + outer6(k, wp.float64(rub.stiff[1, 1]))
            h += wp.float64(rub.stiff[0, 1]) * (wp.outer(g, k) + wp.outer(k, g))
            f = rub.stiff * rub.slip
            s -= wp.float64(f[0]) * g + wp.float64(f[1]) * k
    put_upper(parts_out, chunk, 0, h)
    put6(parts_out, chunk, 21, s)


@wp.kernel
def solve_rubs(weight: wp.array(dtype=mat66d), sums: wp.array2d(dtype=wp.float64), z_out: wp.array(dtype=vec6d)):
    """What friction makes of each core."""
    b = wp.tid()
    z_out[b] = solve6(weight[b] + unpack_upper(sums, b, 0), unpack6(sums, b, 21))


@wp.kernel
def find_rubs(
    start: int,
    chunks: Chunks,
    layer: Layer,
    constants: Constants,
    next: Moment,
    moment: Moment,
    z: wp.array(dtype=vec6d),
    press_inout: Press,
    parts_out: wp.array2d(dtype=wp.float64),
):
    """Friction of each contact of a chunk, at most what its push allows, and what it does to the core."""
    chunk = start + wp.tid()
    s = vec6d()
    for i in range(chunks.begin[chunk], chunks.end[chunk]):
        if press_inout.push[i] + press_inout.held[i] > 0.0:
            rub = rub_of(i, layer, constants, next, press_inout, moment, z)
            b = layer.body[i]
            g = reach_of(i, layer, constants, next, rub.one)
            k = reach_of(i, layer, constants, next, rub.other)
            now = rub.slip + wp.vec2(float(wp.dot(g, z[b])), float(wp.dot(k, z[b])))
            f = -(rub.stiff * now)
            press_inout.rub[i] = f[0] * rub.one + f[1] * rub.other
            s += wp.float64(f[0]) * g + wp.float64(f[1]) * k
    put6(parts_out, chunk, 0, s)
    put6(parts_out, chunk, 6, vec6d())


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
    dt: float,
    press_inout: Press,
    moment_inout: Moment,
):
    """Rates and displacements of the nodes after friction, and how deep they are then."""
    i = start + wp.tid()
    if inv_mass[layer.first + i] > 0.0:
        b = layer.body[i]
        give = constants.give[i]
        r = layer.rest[i] + next.u[i]
        change_of_rate = give * press_inout.rub[i] - left_behind(layer.mass[i], give, r, change[b])
        moved = dt * change_of_rate
        rigid = single3(first_half(change[b])) + wp.cross(single3(second_half(change[b])), r)
        press_inout.depth[i] = press_inout.depth[i] - wp.dot(press_inout.normal[i], moved + dt * rigid)
        moment_inout.rate[i] = moment_inout.rate[i] + change_of_rate - wp.cross(single3(moment_inout.w[b]), moved)
        moment_inout.u[i] = moment_inout.u[i] + moved


@wp.kernel
def put_cores(shift: wp.array(dtype=vec6d), moment_inout: Moment):
    """Put the cores where the contacts want them; their velocities stay the same in the world."""
    b = wp.tid()
    turn = moment_inout.turn[b]
    moved = shift[b]
    moment_inout.c[b] = moment_inout.c[b] + turn * first_half(moved)
    next = turned_by(turn, second_half(moved))
    moment_inout.turn[b] = next
    moment_inout.v[b] = wp.transpose(next) * (turn * moment_inout.v[b])
    moment_inout.w[b] = wp.transpose(next) * (turn * moment_inout.w[b])


@wp.kernel
def put_nodes(
    start: int,
    layer: Layer,
    surface: wp.array(dtype=PlaneData),
    depth: wp.array(dtype=float),
    slots: int,
    planes: wp.array(dtype=PlaneData),
    plane_count: int,
    inv_mass: wp.array(dtype=float),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    press: Press,
    holds: Holds,
    moment_inout: Moment,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    x_known_out: wp.array(dtype=wp.vec3),
    v_known_out: wp.array(dtype=wp.vec3),
    holds_out: Holds,
):
    """World positions and velocities; what is inside a surface still put on it, and what it is held by from now on."""
    i = start + wp.tid()
    p = layer.first + i
    b = layer.body[i]
    turn = moment_inout.turn[b]
    centre = moment_inout.c[b]
    changed = int(0)
    x = x_next[p]
    v = v_next[p]
    if inv_mass[p] > 0.0:
        r = double3(layer.rest[i]) + double3(moment_inout.u[i])
        x = single3(centre + turn * r)
        v = single3(turn * (moment_inout.v[b] + wp.cross(moment_inout.w[b], r) + double3(moment_inout.rate[i])))
        mode = int(FREE)
        rub = wp.vec3()
        if press.slot[i] >= 0:
            plane = surface[press.slot[i]]
            push = press.push[i] + wp.dot(holds.impulse[i], plane.normal)
            leaves = wp.dot(v - plane.velocity, plane.normal)
            deep = plane.offset - wp.dot(plane.normal, x)
            # what was lifted off with its core by deeper contacts is not held
            lies = deep > -LOOSE * wp.length(layer.rest[i])
            if push > 0.0 and lies and (holds.mode[i] != FREE or leaves <= CALM):
                mode = SLIDES
                if holds.mode[i] == FREE:
                    # friction that was not used up
                    if wp.length(press.rub[i]) < 0.999 * press.grip[i][1] * press.push[i]:
                        mode = STICKS
                else:
                    mode = holds.mode[i]
                    rub = holds.rub[i]
                x += deep * plane.normal
                v -= leaves * plane.normal
                changed = 1
            holds_out.normal[i] = plane.normal
            holds_out.speed[i] = plane.velocity
            holds_out.grip[i] = press.grip[i]
        holds_out.mode[i] = mode
        holds_out.rub[i] = rub
        for k in range(slots + plane_count):
            plane = planes[wp.max(k - slots, 0)]
            meets = k >= slots
            if k < slots:
                if depth[p * slots + k] >= 0.0:
                    plane = surface[p * slots + k]
                    meets = True
            if meets:
                deep = plane.offset - wp.dot(plane.normal, x)
                if deep > 0.0:
                    x += deep * plane.normal
                    approach = wp.dot(v - plane.velocity, plane.normal)
                    v -= wp.min(approach, 0.0) * plane.normal
                    changed = 1
    else:
        changed = 1
    if changed != 0:
        r = wp.transpose(turn) * (double3(x) - centre)
        moment_inout.u[i] = single3(r - double3(layer.rest[i]))
        rate = wp.transpose(turn) * double3(v) - moment_inout.v[b] - wp.cross(moment_inout.w[b], r)
        moment_inout.rate[i] = single3(rate)
    x_out[p] = x
    v_out[p] = v
    x_known_out[i] = x
    v_known_out[i] = v
