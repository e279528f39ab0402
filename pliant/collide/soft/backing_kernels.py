"""What colliders do while contacts between bodies are resolved: they stand behind what is pressed against them.

A particle that contacts push into a collider is seen by them where the collider keeps it, with all that was done to it
held back. When contacts are done it is given its momentum, and the collider takes that, with the friction which belongs
to it, as it takes any other.
"""

import warp as wp

from pliant.collide.soft.contact_rows import NEAR_ONLY, Rounds, Rows, Sums, add_count
from pliant.physics.contact import PlaneData, contact_velocity, shared_friction

wp.set_module_options({"enable_backward": False})

ALONE = wp.constant(0)
NEAR = wp.constant(1)
PRESSED = wp.constant(2)
WHOLE = wp.constant(1)
"""What a method takes of the momentum that was held back: all of it, ..."""
ALONG_NORMAL = wp.constant(2)
"""... or that into the collider only, where it deals with friction otherwise."""
HAIR = wp.constant(1.0e-6)
"""How deep in a collider a pressed particle is left at least, over its distance from the origin and a metre."""

COUNTED = wp.constant(16)
"""Set in `Contact.held` where a contact was only near when it was found, and counts like others since."""
LEANS = wp.constant(0.1)
"""How far from a collider a particle may be that it stands behind, over what is kept free around it."""


@wp.struct
class Backing:
    """Colliders behind particles.

    Attributes:
        slots: colliders; none where there is nothing behind anything.
        surface, depth: contacts with them where the step was predicted, and near misses; see `Contacts`.
        takes: what the method of each particle takes of what is held back; zero for one that stands alone.
        near: whether a particle is near a collider, or pressed against it by contacts.
        held_x, held_v: what is held back of what was done to it [m], [m/s].
        x: where the step began [m]. dt: its length [s].
        body, friction: of the particles' bodies. radius: half of what contacts keep free around each [m].
    """

    slots: int
    surface: wp.array(dtype=PlaneData)
    depth: wp.array(dtype=float)
    takes: wp.array(dtype=int)
    near: wp.array(dtype=int)
    held_x: wp.array(dtype=wp.vec3)
    held_v: wp.array(dtype=wp.vec3)
    x: wp.array(dtype=wp.vec3)
    dt: float
    body: wp.array(dtype=int)
    friction: wp.array(dtype=wp.vec2)
    radius: wp.array(dtype=float)


@wp.kernel
def see_colliders(
    start: int,
    vertex: wp.array(dtype=int),
    inv_mass: wp.array(dtype=float),
    backing_inout: Backing,
    x_inout: wp.array(dtype=wp.vec3),
):
    """Which vertices are near a collider. A method that deals with friction itself holds what leans on a collider a
    little inside of it; that is held back."""
    i = vertex[start + wp.tid()]
    near = int(ALONE)
    x = x_inout[i]
    if inv_mass[i] > 0.0 and backing_inout.takes[i] != 0:
        for k in range(backing_inout.slots):
            slot = i * backing_inout.slots + k
            if backing_inout.depth[slot] >= 0.0:
                near = wp.max(near, NEAR)
                if backing_inout.takes[i] == ALONG_NORMAL:
                    near = PRESSED
                    plane = backing_inout.surface[slot]
                    x += wp.max(plane.offset - wp.dot(plane.normal, x), 0.0) * plane.normal
    backing_inout.near[i] = near
    backing_inout.held_x[i] = x_inout[i] - x
    x_inout[i] = x
    backing_inout.held_v[i] = wp.vec3(0.0, 0.0, 0.0)


@wp.func(inline=True)
def keep_out(
    i: int,
    pushed: wp.vec3,
    kicked: wp.vec3,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    backing: Backing,
):
    """Keep a particle out of colliders that contacts have just pushed [m] and kicked [m/s], and hold back what they
    did to it. Friction acts on positions as on velocities."""
    if wp.length_sq(pushed) > 0.0 or wp.length_sq(kicked) > 0.0:
        backing.near[i] = PRESSED
    if backing.near[i] == PRESSED:
        x_free = x[i] + backing.held_x[i]
        v_free = v[i] + backing.held_v[i]
        x_kept = x_free
        v_kept = v_free
        start = backing.x[i]
        for k in range(backing.slots):
            slot = i * backing.slots + k
            if backing.depth[slot] >= 0.0:
                plane = backing.surface[slot]
                depth = plane.offset - wp.dot(plane.normal, x_kept)
                if depth > 0.0:
                    mu = shared_friction(backing.friction[backing.body[i]], plane)
                    way = x_kept - start - backing.dt * plane.velocity
                    way -= wp.dot(way, plane.normal) * plane.normal
                    length = wp.length(way)
                    taken = float(1.0)
                    if length > mu[1] * depth:
                        taken = mu[0] * depth / length
                    x_kept += depth * plane.normal - taken * way
                    v_kept = contact_velocity(v_kept, plane.velocity, plane.normal, 0.0, mu, 0.0, 1.0)
        x[i] = x_kept
        v[i] = v_kept
        backing.held_x[i] = x_free - x_kept
        backing.held_v[i] = v_free - v_kept


@wp.kernel
def give_back(
    start: int,
    vertex: wp.array(dtype=int),
    backing_inout: Backing,
    x_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Give particles the momentum that was held back, and put them as deep into colliders as the step had brought
    them by itself: the colliders meet them next."""
    i = vertex[start + wp.tid()]
    if backing_inout.near[i] == PRESSED:
        x = x_inout[i]
        off = backing_inout.held_x[i]
        hair = HAIR * (1.0 + wp.length(x))
        kick = backing_inout.held_v[i]
        given = kick
        if backing_inout.takes[i] == ALONG_NORMAL:
            given = wp.vec3(0.0, 0.0, 0.0)
        for k in range(backing_inout.slots):
            slot = i * backing_inout.slots + k
            plane = backing_inout.surface[slot]
            into = -wp.dot(off, plane.normal)
            if backing_inout.depth[slot] >= 0.0 and into > 0.0:
                if wp.dot(plane.normal, x) - plane.offset < hair:
                    x -= wp.max(wp.min(backing_inout.depth[slot], into), hair) * plane.normal
                    if backing_inout.takes[i] == ALONG_NORMAL:
                        given += wp.dot(kick, plane.normal) * plane.normal
        x_inout[i] = x
        v_inout[i] = v_inout[i] + given
    backing_inout.near[i] = ALONE


@wp.func(inline=True)
def room_for_friction(way: wp.vec3, i: int, x: wp.vec3, backing: Backing) -> float:
    """Whether a push on a particle along a way is taken whole by a collider behind it: the coefficient of friction up
    to which it also takes what comes with it across; negative where it does not."""
    room = float(-1.0)
    if backing.near[i] == ALONE:
        return room
    for k in range(backing.slots):
        slot = i * backing.slots + k
        if backing.depth[slot] >= 0.0:
            plane = backing.surface[slot]
            into = -wp.dot(way, plane.normal)
            if into > 0.0 and wp.dot(plane.normal, x) - plane.offset <= LEANS * backing.radius[i]:
                mu = shared_friction(backing.friction[backing.body[i]], plane)
                slope = wp.sqrt(wp.max(1.0 - into * into, 0.0)) / into
                if slope <= mu[0]:
                    room = wp.max(room, (mu[0] - slope) / (1.0 + mu[0] * slope))
    return room


@wp.func(inline=True)
def back_row(
    row: int,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    is_new: int,
    rows: Rows,
    sums: Sums,
    backing: Backing,
):
    """Which particles of a contact have a collider behind them, and the friction that holds then. Such a contact takes
    its share of the masses also where it was only near: nothing gives way to several that come to press at once."""
    ids = rows.contact[row].ids
    near = backing.near[ids[0]] + backing.near[ids[1]] + backing.near[ids[2]] + backing.near[ids[3]]
    if near == 0 and (is_new != 0 or rows.contact[row].held == 0):
        rows.contact[row].held = 0
        return
    weights = rows.contact[row].weights
    n = rows.contact[row].normal
    held = int(0)
    moves = int(0)
    room = float(1.0e10)
    for k in range(4):
        w = weights[k]
        i = ids[k]
        if w != 0.0 and inv_mass[i] > 0.0:
            here = room_for_friction(wp.sign(w) * n, i, x[i], backing)
            if here >= 0.0:
                held += 1 << k
                room = wp.min(room, here)
            else:
                moves = 1
    if moves == 0:
        held = 0
    if held != 0:
        mu = rows.contact[row].friction
        rows.contact[row].friction = wp.vec2(wp.min(mu[0], room), wp.min(mu[1], room))
    if is_new == 0:
        held += rows.contact[row].held & COUNTED
    if held != 0 and held & COUNTED == 0 and rows.contact[row].depth <= 0.0:
        held += COUNTED
        for k in range(4):
            if weights[k] != 0.0:
                add_count(sums.contacts, ids[k], 1 - NEAR_ONLY)
    rows.contact[row].held = held


@wp.kernel
def back_contacts(
    start: int,
    threads: int,
    is_listed: int,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    backing: Backing,
    rounds: Rounds,
    sums_inout: Sums,
    vertices_inout: Rows,
    edges_inout: Rows,
):
    """Which contacts press something against a collider. Threads share contacts as in `push_contacts`."""
    thread = start + wp.tid()
    is_new = rounds.finds[0]
    if is_listed == 0:
        for f in range(thread, vertices_inout.things, threads):
            for j in range(vertices_inout.count[f]):
                back_row(f * vertices_inout.room + j, inv_mass, x, is_new, vertices_inout, sums_inout, backing)
        for f in range(thread, edges_inout.things, threads):
            for j in range(edges_inout.count[f]):
                back_row(f * edges_inout.room + j, inv_mass, x, is_new, edges_inout, sums_inout, backing)
        return
    vertices = vertices_inout.actives[0]
    edges = edges_inout.actives[0]
    for a in range(thread, vertices + edges, threads):
        if a < vertices:
            back_row(vertices_inout.active[a], inv_mass, x, is_new, vertices_inout, sums_inout, backing)
        else:
            back_row(edges_inout.active[a - vertices], inv_mass, x, is_new, edges_inout, sums_inout, backing)
