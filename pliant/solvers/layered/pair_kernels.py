"""Layered bodies that touch each other: contact planes, one contact for each texel, and the cores' joint system.

The surface of a body is cut into patches; which body each of them is near to is found by spheres. Where it is near one,
its nodes are projected onto that body along the normal of the contact plane there: the mean of both surfaces around the
place, over half of the layer's thickness, in which the flatter one counts more. A node's projection is a ray through
the tree over the other's texel triangles at rest, with the displacements there added, so no tree is ever built anew.
Where a node is inside, the ray tells the depth and the texels that it touches.
"""

import warp as wp

from pliant.physics.contact import bounce_speed
from pliant.physics.rigid import double3, mat66d, put6, single3, solve6, unpack6, vec6d
from pliant.solvers.layered.contact_kernels import NEVER, Press, differs, moved_along, taken
from pliant.solvers.layered.data import FREE, Carry, Chunks, Constants, Holds, Layer, Moment
from pliant.solvers.layered.load_kernels import in_frame

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# least cosine between a surface and the normal of a plane that it is projected along
FACING = wp.constant(0.2)
# depth beyond which a ray has met something else, over the thickness of both layers
DEEPEST = wp.constant(0.8)
# how near a body a node is in the way, over the thickness of the layer
NEAR_BODY = wp.constant(0.05)
CASTS = wp.constant(3)
# share of what a contact pushed with that it does again: with all of it bodies that lie on others go on swinging
AGAIN = wp.constant(0.8)
# how far a contact may slide in a step and still push again, over the thickness of the layer
STEADY = wp.constant(0.02)
# how much more a flat surface counts in the normal of a plane than one that is not
FLAT = wp.constant(4.0)


@wp.struct
class Patches:
    """Patches of all bodies: the groups of nodes that sums are taken over.

    Attributes:
        body: of each patch (g,). begin: first patch of each body (b + 1,). of_node: patch of each node (n,).
        centre, normal: at rest, about the core [m] (g,). radius: with room for displacements [m] (g,).
        out: mean normal around each node at rest, whose length tells how flat it is there (n,).
        size: of each body about its core [m] (b,). thick: of its layer [m] (b,).
        mesh: tree over the triangles of each body at rest (b,). face_begin: its first triangle. face: nodes of each.
    """

    body: wp.array(dtype=int)
    begin: wp.array(dtype=int)
    of_node: wp.array(dtype=int)
    centre: wp.array(dtype=wp.vec3)
    normal: wp.array(dtype=wp.vec3)
    radius: wp.array(dtype=float)
    out: wp.array(dtype=wp.vec3)
    size: wp.array(dtype=float)
    thick: wp.array(dtype=float)
    mesh: wp.array(dtype=wp.uint64)
    face_begin: wp.array(dtype=int)
    face: wp.array(dtype=wp.vec3i)


@wp.func
def into_world(turn: wp.mat33d, value: wp.vec3) -> wp.vec3:
    return single3(turn * double3(value))


@wp.kernel
def find_partners(
    start: int,
    patches: Patches,
    next: Moment,
    awake: wp.array(dtype=int),
    partner_out: wp.array(dtype=int),
):
    """The body that each patch is nearest to; none is -1."""
    p = start + wp.tid()
    b = patches.body[p]
    turn = next.turn[b]
    here = next.c[b] + turn * double3(patches.centre[p])
    own = into_world(turn, patches.normal[p])
    best = float(0.0)
    partner = int(-1)
    for o in range(patches.size.shape[0]):
        off = single3(next.c[o] - here)
        reach = patches.size[o] + patches.radius[p]
        if o != b and wp.dot(off, off) < reach * reach and awake[b] + awake[o] > 0:
            across = wp.transpose(next.turn[o])
            there = single3(across * (here - next.c[o]))
            facing = single3(across * double3(own))
            weight = float(0.0)
            for q in range(patches.begin[o], patches.begin[o + 1]):
                apart = patches.centre[q] - there
                overlap = patches.radius[p] + patches.radius[q] - wp.length(apart)
                if overlap > 0.0 and wp.dot(facing, patches.normal[q]) < 0.5:
                    weight += overlap
            if weight > best:
                best = weight
                partner = o
    partner_out[p] = partner


@wp.kernel
def meet_bodies(
    start: int,
    layer: Layer,
    constants: Constants,
    patches: Patches,
    partner: wp.array(dtype=int),
    inv_mass: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    next: Moment,
    holds: Holds,
    carry: Carry,
    rest_speed: float,
    dt: float,
    press_inout: Press,
):
    """The contact of each node with the body that its patch is near to, where it is deeper than that with a surface.

    A contact that pushed in the step's equations already stays one, if only to take that back.
    """
    i = start + wp.tid()
    p = layer.first + i
    patch = patches.of_node[i]
    o = partner[patch]
    b = layer.body[i]
    was = carry.partner[i]
    if was >= 0:
        own = in_frame(next.turn[b], carry.force[i])
        press_inout.normal[i] = wp.normalize(own)
        press_inout.give[i] = 1.0
        press_inout.kick[i] = NEVER
        press_inout.depth[i] = NEVER
        press_inout.slot[i] = -1
        press_inout.held[i] = 0.0
        press_inout.partner[i] = was
        press_inout.corner[i] = carry.corner[i]
        press_inout.share[i] = carry.share[i]
        press_inout.carry[i] = own
        press_inout.carry_push[i] = wp.length(own)
    if o >= 0 and (was == o or was < 0) and inv_mass[p] > 0.0 and holds.mode[i] == FREE:
        across = wp.transpose(next.turn[o])
        own_out = -single3(across * (next.turn[b] * double3(patches.out[i])))
        ray = wp.normalize(own_out)
        place = single3(across * (double3(x_next[p]) - next.c[o]))
        thick = patches.thick[o]
        reach = 2.0 * thick + patches.thick[b]
        # the other's normal and displacement are found where the ray ends, so the ray is cast again
        aside = wp.vec3()
        depth = float(-1.0e30)
        corner = wp.vec3i()
        share = wp.vec3()
        if wp.length(place) < patches.size[o] + thick:
            for turn in range(3):
                begin = place - aside - thick * ray
                way = float(0.0)
                found = int(0)
                for _cast in range(CASTS):
                    if found == 0 and way < reach:
                        hit = wp.mesh_query_ray(patches.mesh[o], begin + way * ray, ray, reach - way)
                        if hit.result:
                            if wp.dot(hit.normal, ray) > FACING:
                                found = 1
                                way += hit.t
                                corner = patches.face[patches.face_begin[o] + hit.face]
                                share = wp.vec3(hit.u, hit.v, 1.0 - hit.u - hit.v)
                            else:
                                way += hit.t + 1.0e-4 * thick
                        else:
                            way = reach
                if found == 1:
                    moved = share[0] * next.u[corner[0]] + share[1] * next.u[corner[1]] + share[2] * next.u[corner[2]]
                    out = wp.dot(moved, ray)
                    depth = way - thick + out
                    if turn == 0:
                        met = share[0] * patches.out[corner[0]] + share[1] * patches.out[corner[1]]
                        met += share[2] * patches.out[corner[2]]
                        ray = wp.normalize(
                            wp.pow(wp.length_sq(own_out), FLAT) * own_out + wp.pow(wp.length_sq(met), FLAT) * met
                        )
                        out = wp.dot(moved, ray)
                    aside = moved - out * ray
                else:
                    depth = -1.0e30
        n = into_world(next.turn[o], ray)
        deepest = -NEAR_BODY * thick
        if was >= 0:
            deepest = -4.0 * NEAR_BODY * thick
        elif press_inout.give[i] > 0.0 and press_inout.kick[i] != NEVER:
            deepest = wp.max(deepest, press_inout.depth[i])
        if depth > deepest and depth < DEEPEST * (thick + patches.thick[b]):
            touched = wp.vec3()
            before = wp.vec3()
            for k in range(3):
                j = layer.first + corner[k]
                touched += share[k] * v_next[j]
                before += share[k] * v[j]
            approach = wp.dot(v_next[p] - touched, n)
            came = wp.clamp(wp.dot(v[p] - before, n), wp.min(approach, 0.0), 0.0)
            bounce = bounce_speed(came, wp.max(layer.restitution[b], layer.restitution[o]), rest_speed)
            own = in_frame(next.turn[b], n)
            press_inout.normal[i] = own
            press_inout.give[i] = wp.dot(own, constants.give[i] * own)
            press_inout.kick[i] = NEVER
            if depth >= 0.0:
                press_inout.kick[i] = bounce - approach
            elif was >= 0:
                # it may come as near as it is
                press_inout.kick[i] = depth / dt - approach
            press_inout.carry_push[i] = wp.dot(press_inout.carry[i], own)
            press_inout.depth[i] = depth
            press_inout.grip[i] = wp.vec2(
                wp.sqrt(layer.friction[b][0] * layer.friction[o][0]),
                wp.sqrt(layer.friction[b][1] * layer.friction[o][1]),
            )
            press_inout.surface[i] = wp.vec3()
            press_inout.slot[i] = -1
            press_inout.held[i] = 0.0
            press_inout.partner[i] = o
            press_inout.corner[i] = corner
            press_inout.share[i] = share


@wp.kernel
def hand_on(layer: Layer, press: Press, force: wp.array(dtype=wp.vec3), next: Moment, scale: float, press_out: Press):
    """What contacts push the nodes with that they touch, in whole numbers, whose sum does not depend on the order.

    Serial on the CPU.
    """
    i = wp.tid()
    o = press.partner[i]
    if o >= 0:
        f = force[i]
        if wp.dot(f, f) > 0.0:
            b = layer.body[i]
            other = single3(wp.transpose(next.turn[o]) * (next.turn[b] * double3(f)))
            for k in range(3):
                j = press.corner[i][k]
                for c in range(3):
                    share = wp.int64(-scale * press.share[i][k] * other[c])
                    wp.atomic_add(press_out.received, j, c, share)


@wp.kernel
def sum_carried(
    start: int,
    chunks: Chunks,
    press: Press,
    active: wp.array(dtype=int),
    parts_out: wp.array2d(dtype=wp.float64),
):
    """What the contacts of a chunk have done to both cores in the step's equations, as multipliers would."""
    chunk = start + wp.tid()
    if active[chunk] > 0:
        s = vec6d()
        s_other = vec6d()
        for i in range(chunks.begin[chunk], chunks.end[chunk]):
            push = wp.float64(press.carry_push[i])
            if push != wp.float64(0.0):
                s += push * press.g[i]
                s_other += push * press.g_other[i]
        put6(parts_out, chunk, 0, s)
        put6(parts_out, chunk, 6, s_other)


@wp.kernel
def carried_cores(weight: wp.array(dtype=mat66d), sums: wp.array2d(dtype=wp.float64), z_out: wp.array(dtype=vec6d)):
    """The same as a change of the cores."""
    b = wp.tid()
    z_out[b] = solve6(weight[b], unpack6(sums, b, 0))


@wp.kernel
def without_carried(start: int, layer: Layer, z: wp.array(dtype=vec6d), press_inout: Press):
    """What the velocity of each contact would lack if nothing had pushed yet: multipliers are for all of it."""
    i = start + wp.tid()
    if press_inout.give[i] > 0.0 and press_inout.kick[i] != NEVER:
        there = float(moved_along(i, layer, press_inout, z))
        press_inout.kick[i] = press_inout.kick[i] + press_inout.give[i] * press_inout.carry_push[i] + there


@wp.kernel
def keep_carry(
    start: int,
    layer: Layer,
    press: Press,
    next: Moment,
    thick: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    last: wp.array(dtype=float),
    dt: float,
    carry_out: Carry,
):
    """What contacts that last push with again: no more than they did in two steps, and where they do not slide far."""
    i = start + wp.tid()
    o = press.partner[i]
    force = wp.vec3()
    partner = int(-1)
    push = float(0.0)
    if o >= 0:
        push = press.push[i]
        before = last[i]
        if push > 0.0 and before > 0.0:
            b = layer.body[i]
            slip = v[layer.first + i]
            for k in range(3):
                slip -= press.share[i][k] * v[layer.first + press.corner[i][k]]
            if dt * wp.length(slip) < STEADY * thick[b]:
                n = press.normal[i]
                along = press.carry[i] - press.carry_push[i] * n
                part = AGAIN * wp.min(1.0, before / push)
                force = part * into_world(next.turn[b], push * n + press.rub[i] + along)
                partner = o
    carry_out.force[i] = force
    carry_out.corner[i] = press.corner[i]
    carry_out.share[i] = press.share[i]
    carry_out.partner[i] = partner
    carry_out.last[i] = push


@wp.kernel
def hand_carry(layer: Layer, carry: Carry, next: Moment, scale: float, press_out: Press):
    """The opposite of what is carried, to the nodes that are touched. Serial on the CPU."""
    i = wp.tid()
    o = carry.partner[i]
    if o >= 0:
        other = in_frame(next.turn[o], carry.force[i])
        for k in range(3):
            for c in range(3):
                share = wp.int64(-scale * carry.share[i][k] * other[c])
                wp.atomic_add(press_out.received, carry.corner[i][k], c, share)


@wp.kernel
def load_carry(start: int, layer: Layer, next: Moment, unit: float, press_inout: Press, carry_inout: Carry):
    """All that acts on a node again."""
    i = start + wp.tid()
    carry_inout.load[i] = carry_inout.force[i] + into_world(next.turn[layer.body[i]], taken(i, unit, press_inout))


@wp.func
def upper_at(i: int, j: int) -> int:
    """Where a number of a symmetric matrix stands among its 21."""
    low = wp.min(i, j)
    return 6 * low - (low * (low - 1)) // 2 + wp.max(i, j) - low


@wp.kernel
def assemble(
    start: int,
    chunks: Chunks,
    patches: Patches,
    partner: wp.array(dtype=int),
    groups: wp.array2d(dtype=wp.float64),
    weight: wp.array(dtype=mat66d),
    size: int,
    matrix_out: wp.array2d(dtype=wp.float64),
):
    """One number of the cores' joint matrix, or of its right-hand side, which is the last column."""
    t = start + wp.tid()
    row = t // (size + 1)
    column = t - row * (size + 1)
    a = row // 6
    i = row - 6 * a
    total = wp.float64(0.0)
    if column == size:
        for g in range(chunks.body_begin[a], chunks.body_end[a]):
            total += groups[g, 21 + i]
        for g in range(partner.shape[0]):
            if partner[g] == a:
                total += groups[g, 48 + i]
    else:
        b = column // 6
        j = column - 6 * b
        if a == b:
            total = weight[a][i, j]
            k = upper_at(i, j)
            for g in range(chunks.body_begin[a], chunks.body_end[a]):
                total += groups[g, k]
            for g in range(partner.shape[0]):
                if partner[g] == a:
                    total += groups[g, 27 + k]
        else:
            for g in range(chunks.body_begin[a], chunks.body_end[a]):
                if partner[g] == b:
                    total += groups[g, 54 + 6 * i + j]
            for g in range(chunks.body_begin[b], chunks.body_end[b]):
                if partner[g] == a:
                    total += groups[g, 54 + 6 * j + i]
    matrix_out[row, column] = total


@wp.func_native("""
#if defined(__CUDA_ARCH__)
__syncthreads();
#endif
""")
def sync_block(): ...


@wp.kernel
def solve_joint(
    lanes: int,
    size: int,
    matrix_inout: wp.array2d(dtype=wp.float64),
    z_inout: wp.array(dtype=vec6d),
    moved_out: wp.array(dtype=int),
):
    """Solve the cores' joint system by Gauss and Jordan, without pivots, as it is positive definite; one block."""
    lane = wp.tid()
    width = size + 1
    for k in range(size):
        pivot = matrix_inout[k, k]
        t = int(lane)
        while t < size * (size - k):
            row = t // (size - k)
            column = k + 1 + t - row * (size - k)
            if row != k:
                factor = matrix_inout[row, k] / pivot
                matrix_inout[row, column] = matrix_inout[row, column] - factor * matrix_inout[k, column]
            t += lanes
        sync_block()
    b = int(lane)
    while b < size // 6:
        z = vec6d()
        for k in range(6):
            z[k] = matrix_inout[6 * b + k, width - 1] / matrix_inout[6 * b + k, 6 * b + k]
        moved_out[b] = differs(z, z_inout[b])
        z_inout[b] = z
        b += lanes


@wp.kernel
def gather_pushes(
    start: int,
    chunks: Chunks,
    partner: wp.array(dtype=int),
    groups: wp.array2d(dtype=wp.float64),
    sums_out: wp.array2d(dtype=wp.float64),
):
    """What all multipliers do to each core: those of its own nodes, and those of nodes that touch it."""
    t = start + wp.tid()
    b = t // 6
    k = t - 6 * b
    total = wp.float64(0.0)
    for g in range(chunks.body_begin[b], chunks.body_end[b]):
        total += groups[g, k]
    for g in range(partner.shape[0]):
        if partner[g] == b:
            total += groups[g, 6 + k]
    sums_out[b, k] = total
