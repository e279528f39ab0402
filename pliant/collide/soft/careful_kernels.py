"""The last check of a step: sheets that would still pass through something are stopped short of it.

A particle's way in the step is cut to a share of it. Where a vertex would pass through a triangle, or an edge through
an edge, the ways of all four particles are cut to less than where they meet; then all is looked at again, since they
now move otherwise. Shares are whole numbers, of which the smallest counts, so that the order of
threads does not matter.
"""

import warp as wp

from pliant.collide.soft.candidate_kernels import Near
from pliant.collide.soft.contact_rows import Sums, add_whole, take_least, taken
from pliant.collide.soft.look_kernels import next_marked, unmark
from pliant.collide.soft.narrow_kernels import Surfaces
from pliant.collide.soft.near_native import next_edge, next_triangle
from pliant.physics.closest import segments_weights, triangle_weights
from pliant.physics.crossing import NEVER, time_of_edges, time_of_meeting

wp.set_module_options({"enable_backward": False})

WHOLE_WAY = wp.constant(1 << 20)
"""The share of a particle that goes all its way."""
SHORT_OF = wp.constant(0.8)
"""Share of the way to where two would meet that they are let go."""
STUCK = wp.constant(1 << 14)
"""The share below which a particle is stuck."""
TAKEN = wp.constant(0.25)
"""Share of the velocity past each other that is taken from two that would meet, in one round: they may meet others."""
KEPT = wp.constant(0.1)
"""Share of what is kept free between surfaces below which they are not let come near each other."""
MOST_TAKEN = wp.constant(4)
"""Meetings of a vertex or an edge that take velocity in one round: more together would take too much."""
PATIENT = wp.constant(5)
"""Rounds after which what would still meet is not let move at all."""


@wp.struct
class Ways:
    """A step: positions before it and after it [m], velocities [m/s], and what share of its way each particle goes."""

    x: wp.array(dtype=wp.vec3)
    x_after: wp.array(dtype=wp.vec3)
    v: wp.array(dtype=wp.vec3)
    share: wp.array(dtype=int)
    inv_mass: wp.array(dtype=float)


@wp.func
def way(i: int, of: Ways) -> wp.vec3:
    return (float(of.share[i]) / float(WHOLE_WAY)) * (of.x_after[i] - of.x[i])


@wp.func
def let_go(before: float, after: float, passes: float, least: float) -> float:
    """Share of their ways that two are let go which are so far apart before and after a step [m], and pass through each
    other at a share of it: they are not to come nearer than `least` [m], or nearer than they were. 2 for all of it."""
    floor = wp.min(least, before)
    if passes < NEVER:
        return SHORT_OF * passes * wp.clamp((before - floor) / wp.max(before, 1.0e-12), 0.0, 1.0)
    if after < floor:
        return wp.clamp(SHORT_OF * (before - floor) / wp.max(before - after, 1.0e-12), 0.0, 1.0)
    return NEVER


@wp.func
def from_triangle(p: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3) -> float:
    w = triangle_weights(p, a, b, c)
    return wp.length(p - w[0] * a - w[1] * b - w[2] * c)


@wp.func
def between_edges(a: wp.vec3, b: wp.vec3, c: wp.vec3, d: wp.vec3) -> float:
    w = segments_weights(a, b, c, d)
    return wp.length(a + w[0] * (b - a) - c - w[1] * (d - c))


@wp.struct
class Stopped:
    """What the check finds: shares of ways that are let go, of which the smallest count; what is taken of velocities;
    and whether something would meet. The round in which it does. How many are looked at closely, on CUDA."""

    share: wp.array(dtype=int)
    sums: Sums
    met: wp.array(dtype=int)
    round: wp.array(dtype=int)
    going: wp.array(dtype=int)
    left: wp.array(dtype=int)
    hots: wp.array(dtype=int)


@wp.func
def impatient(share: float, round: int) -> float:
    """After some rounds what would still meet is not let move at all."""
    if round > PATIENT:
        return 0.0
    return share


@wp.func
def stop_pair(ids: wp.vec4i, weights: wp.vec4, least: float, number: int, of: Ways, stopped: Stopped):
    """Cut the ways of four particles, and take some of the velocity at which the two surfaces go past each other, if
    this is one of the first meetings, by number.

    What one surface loses of its momentum the other gains.
    """
    share = impatient(least, stopped.round[0])
    stopped.met[0] = 1
    total = float(0.0)
    speed = wp.vec3(0.0, 0.0, 0.0)
    for k in range(4):
        i = ids[k]
        total += weights[k] * weights[k] * of.inv_mass[i]
        speed += weights[k] * of.v[i]
        if of.inv_mass[i] > 0.0:
            take_least(stopped.share, i, int(share * float(of.share[i])))
    if total > 0.0 and number < MOST_TAKEN:
        impulse = speed * (-TAKEN / total)
        for k in range(4):
            if weights[k] != 0.0:
                for a in range(3):
                    add_whole(stopped.sums.kick, ids[k], a, weights[k] * impulse[a], stopped.sums.scale)


@wp.func(inline=True)
def next_near_triangle(
    k: int, i: int, first: int, end: int, near: Near, of: Surfaces, ways: Ways, x_end: wp.array(dtype=wp.vec3)
) -> int:
    """The next candidate of a vertex that may be too near: on CUDA they are marked."""
    base = k * near.triangle_room
    if near.marks.words > 0:
        return base + next_marked(k, first - base, end - base, near.marks)
    return next_triangle(i, first, end, near.triangle, near.triangles.corners, of.radius, KEPT, ways.x, x_end)


@wp.func(inline=True)
def next_near_edge(
    k: int,
    thing: int,
    both: wp.vec2i,
    first: int,
    end: int,
    near: Near,
    of: Surfaces,
    ways: Ways,
    x_end: wp.array(dtype=wp.vec3),
) -> int:
    """The same for an edge."""
    base = k * near.edge_room
    if near.marks.words > 0:
        return base + next_marked(thing, first - base, end - base, near.marks)
    return next_edge(both, first, end, near.edge, near.edges.corners, of.radius, KEPT, ways.x, x_end)


@wp.func
def stop_vertex(k: int, near: Near, surfaces: Surfaces, of: Ways, x_end: wp.array(dtype=wp.vec3), stopped: Stopped):
    """Stop a vertex and the triangles of something thin through which it would pass."""
    i = near.vertex[k]
    found = int(0)
    corners = near.triangles.corners
    end = k * near.triangle_room + wp.min(near.triangle_count[k], near.triangle_room)
    j = next_near_triangle(k, i, k * near.triangle_room, end, near, surfaces, of, x_end)
    while j < end:
        corner = corners[near.triangle[j]]
        if surfaces.kind[surfaces.body[corner[0]]] != 0:
            least = KEPT * (surfaces.radius[i] + surfaces.radius[corner[0]])
            p = of.x[i]
            a = of.x[corner[0]]
            b = of.x[corner[1]]
            c = of.x[corner[2]]
            p1 = x_end[i]
            a1 = x_end[corner[0]]
            b1 = x_end[corner[1]]
            c1 = x_end[corner[2]]
            t = time_of_meeting(p, a, b, c, p1 - p, a1 - a, b1 - b, c1 - c, 0.1 * least)
            share = let_go(from_triangle(p, a, b, c), from_triangle(p1, a1, b1, c1), t, least)
            if share < NEVER:
                w = triangle_weights(p, a, b, c)
                ids = wp.vec4i(i, corner[0], corner[1], corner[2])
                stop_pair(ids, wp.vec4(1.0, -w[0], -w[1], -w[2]), share, found, of, stopped)
                found += 1
        j = next_near_triangle(k, i, j + 1, end, near, surfaces, of, x_end)


@wp.func
def stop_edge(
    k: int, thing: int, near: Near, surfaces: Surfaces, of: Ways, x_end: wp.array(dtype=wp.vec3), stopped: Stopped
):
    """Stop an edge and the edges through which it would pass, where one of the two is of something thin."""
    corners = near.edges.corners
    one = corners[k]
    both = wp.vec2i(one[0], one[1])
    found = int(0)
    end = k * near.edge_room + wp.min(near.edge_count[k], near.edge_room)
    j = next_near_edge(k, thing, both, k * near.edge_room, end, near, surfaces, of, x_end)
    while j < end:
        two = corners[near.edge[j]]
        if surfaces.kind[surfaces.body[one[0]]] != 0 or surfaces.kind[surfaces.body[two[0]]] != 0:
            least = KEPT * (surfaces.radius[one[0]] + surfaces.radius[two[0]])
            a = of.x[one[0]]
            b = of.x[one[1]]
            c = of.x[two[0]]
            d = of.x[two[1]]
            a1 = x_end[one[0]]
            b1 = x_end[one[1]]
            c1 = x_end[two[0]]
            d1 = x_end[two[1]]
            t = time_of_edges(a, b, c, d, a1 - a, b1 - b, c1 - c, d1 - d, 0.1 * least)
            share = let_go(between_edges(a, b, c, d), between_edges(a1, b1, c1, d1), t, least)
            if share < NEVER:
                w = segments_weights(a, b, c, d)
                ids = wp.vec4i(one[0], one[1], two[0], two[1])
                stop_pair(ids, wp.vec4(1.0 - w[0], w[0], w[1] - 1.0, -w[1]), share, found, of, stopped)
                found += 1
        j = next_near_edge(k, thing, both, j + 1, end, near, surfaces, of, x_end)


@wp.kernel
def stop_short(
    start: int,
    chunk: int,
    near: Near,
    surfaces: Surfaces,
    of: Ways,
    x_end: wp.array(dtype=wp.vec3),
    vertices: int,
    things: int,
    stopped_out: Stopped,
):
    """Stop all vertices and edges that would pass through something thin."""
    first = (start + wp.tid()) * chunk
    for k in range(first, wp.min(first + chunk, things)):
        if k < vertices:
            if near.triangle_count[k] > 0:
                stop_vertex(k, near, surfaces, of, x_end, stopped_out)
        elif near.edge_count[k - vertices] > 0:
            stop_edge(k - vertices, k, near, surfaces, of, x_end, stopped_out)


@wp.kernel
def stop_marked(
    start: int,
    threads: int,
    near: Near,
    surfaces: Surfaces,
    of: Ways,
    x_end: wp.array(dtype=wp.vec3),
    vertices: int,
    stopped_out: Stopped,
):
    """The same on CUDA, for those that have marked candidates."""
    for h in range(start + wp.tid(), near.marks.hots[0], threads):
        k = near.marks.hot[h]
        if k < vertices:
            stop_vertex(k, near, surfaces, of, x_end, stopped_out)
        else:
            stop_edge(k - vertices, k, near, surfaces, of, x_end, stopped_out)
        unmark(k, 0, 1, near.marks)


@wp.kernel
def begin_ways(
    start: int,
    vertex: wp.array(dtype=int),
    x_after: wp.array(dtype=wp.vec3),
    share_out: wp.array(dtype=int),
    x_end_out: wp.array(dtype=wp.vec3),
    stopped_out: Stopped,
):
    """Everything goes all its way, and the first round comes."""
    k = start + wp.tid()
    i = vertex[k]
    share_out[i] = WHOLE_WAY
    stopped_out.share[i] = WHOLE_WAY
    x_end_out[i] = x_after[i]
    if k == 0:
        stopped_out.round[0] = 1
        stopped_out.going[0] = 1


@wp.kernel
def take_shares(
    start: int,
    vertex: wp.array(dtype=int),
    of: Ways,
    rounds: int,
    stopped_inout: Stopped,
    share_out: wp.array(dtype=int),
    x_end_out: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Use the shares that were found, and what was taken of velocities. Go on while something met something, up to so
    many rounds; what is left then is told."""
    k = start + wp.tid()
    i = vertex[k]
    sums = stopped_inout.sums
    v_inout[i] = v_inout[i] + taken(sums.kick, i, wp.float64(of.inv_mass[i]) / sums.scale)
    if stopped_inout.share[i] < share_out[i]:
        share_out[i] = stopped_inout.share[i]
        x_end_out[i] = of.x[i] + way(i, of)
    if k == 0:
        stopped_inout.going[0] = 0
        if stopped_inout.met[0] != 0:
            if stopped_inout.round[0] < rounds:
                stopped_inout.going[0] = 1
            else:
                stopped_inout.left[0] = 1
        stopped_inout.round[0] = stopped_inout.round[0] + 1
        stopped_inout.met[0] = 0
        stopped_inout.hots[0] = 0


@wp.kernel
def cut_ways(
    start: int,
    vertex: wp.array(dtype=int),
    share: wp.array(dtype=int),
    x_end: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Put each particle where its share of the way ends; one that is stuck loses half of its velocity, or what pulls it
    would make it faster and faster while it cannot move."""
    i = vertex[start + wp.tid()]
    if share[i] < WHOLE_WAY:
        x_out[i] = x_end[i]
        if share[i] < STUCK:
            v_inout[i] = 0.5 * v_inout[i]
