"""The last check of a step: sheets that would still pass through something are stopped short of it.

A particle's way in the step is cut to a share of it. Where a vertex would pass through a triangle, or an edge through
an edge, the ways of all four particles are cut to less than where they meet; then all is looked at again, since they
now move otherwise. Shares are whole numbers, of which the smallest counts, so that the order of
threads does not matter.
"""

import warp as wp

from pliant.collide.soft.contact_rows import Sums
from pliant.collide.soft.narrow_kernels import Surfaces
from pliant.collide.soft.near_native import next_edge, next_triangle
from pliant.collide.soft.response_kernels import taken, whole
from pliant.collide.soft.tree_kernels import TreeData
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
class Stops:
    """For each vertex or edge: how many others it would meet, of which the first `room` are listed, and what share of
    their ways they are let go."""

    room: int
    things: int
    count: wp.array(dtype=int)
    other: wp.array(dtype=int)
    share: wp.array(dtype=float)


@wp.func
def add_stop(k: int, found: int, other: int, share: float, stops: Stops) -> int:
    if found < stops.room:
        stops.other[k * stops.room + found] = other
        stops.share[k * stops.room + found] = share
    return found + 1


@wp.kernel
def meet_vertices(
    start: int,
    chunk: int,
    vertex: wp.array(dtype=int),
    tree: TreeData,
    candidate: wp.array(dtype=int),
    candidates: wp.array(dtype=int),
    room: int,
    surfaces: Surfaces,
    x: wp.array(dtype=wp.vec3),
    x_end: wp.array(dtype=wp.vec3),
    stops_out: Stops,
):
    """Which vertices would pass through triangles of something thin."""
    first_item = (start + wp.tid()) * chunk
    for k in range(first_item, wp.min(first_item + chunk, stops_out.things)):
        found = int(0)
        i = vertex[k]
        end = k * room + wp.min(candidates[k], room)
        j = next_triangle(i, k * room, end, candidate, tree.corners, surfaces.radius, KEPT, x, x_end)
        while j < end:
            item = candidate[j]
            corner = tree.corners[item]
            if surfaces.kind[surfaces.body[corner[0]]] != 0:
                least = KEPT * (surfaces.radius[i] + surfaces.radius[corner[0]])
                p = x[i]
                a = x[corner[0]]
                b = x[corner[1]]
                c = x[corner[2]]
                p1 = x_end[i]
                a1 = x_end[corner[0]]
                b1 = x_end[corner[1]]
                c1 = x_end[corner[2]]
                t = time_of_meeting(p, a, b, c, p1 - p, a1 - a, b1 - b, c1 - c, 0.1 * least)
                share = let_go(from_triangle(p, a, b, c), from_triangle(p1, a1, b1, c1), t, least)
                if share < NEVER:
                    found = add_stop(k, found, item, share, stops_out)
            j = next_triangle(i, j + 1, end, candidate, tree.corners, surfaces.radius, KEPT, x, x_end)
        stops_out.count[k] = found


@wp.kernel
def meet_edges(
    start: int,
    chunk: int,
    tree: TreeData,
    candidate: wp.array(dtype=int),
    candidates: wp.array(dtype=int),
    room: int,
    surfaces: Surfaces,
    x: wp.array(dtype=wp.vec3),
    x_end: wp.array(dtype=wp.vec3),
    stops_out: Stops,
):
    """Which edges would pass through edges, of which one is of something thin."""
    first_item = (start + wp.tid()) * chunk
    for k in range(first_item, wp.min(first_item + chunk, stops_out.things)):
        found = int(0)
        one = tree.corners[k]
        both = wp.vec2i(one[0], one[1])
        end = k * room + wp.min(candidates[k], room)
        j = next_edge(both, k * room, end, candidate, tree.corners, surfaces.radius, KEPT, x, x_end)
        while j < end:
            item = candidate[j]
            two = tree.corners[item]
            if surfaces.kind[surfaces.body[one[0]]] != 0 or surfaces.kind[surfaces.body[two[0]]] != 0:
                least = KEPT * (surfaces.radius[one[0]] + surfaces.radius[two[0]])
                a = x[one[0]]
                b = x[one[1]]
                c = x[two[0]]
                d = x[two[1]]
                a1 = x_end[one[0]]
                b1 = x_end[one[1]]
                c1 = x_end[two[0]]
                d1 = x_end[two[1]]
                t = time_of_edges(a, b, c, d, a1 - a, b1 - b, c1 - c, d1 - d, 0.1 * least)
                share = let_go(between_edges(a, b, c, d), between_edges(a1, b1, c1, d1), t, least)
                if share < NEVER:
                    found = add_stop(k, found, item, share, stops_out)
            j = next_edge(both, j + 1, end, candidate, tree.corners, surfaces.radius, KEPT, x, x_end)
        stops_out.count[k] = found


@wp.func
def stop_pair(ids: wp.vec4i, weights: wp.vec4, share: float, of: Ways, sums: Sums, share_out: wp.array(dtype=int)):
    """Cut the ways of four particles, and take some of the velocity at which the two surfaces go past each other.

    What one surface loses of its momentum the other gains.
    """
    total = float(0.0)
    speed = wp.vec3(0.0, 0.0, 0.0)
    for k in range(4):
        i = ids[k]
        total += weights[k] * weights[k] * of.inv_mass[i]
        speed += weights[k] * of.v[i]
        if of.inv_mass[i] > 0.0:
            wp.atomic_min(share_out, i, int(share * float(of.share[i])))
    if total > 0.0:
        impulse = speed * (-TAKEN / total)
        for k in range(4):
            if weights[k] != 0.0:
                for a in range(3):
                    wp.atomic_add(sums.kick, ids[k], a, whole(weights[k] * impulse[a], sums.scale))


@wp.func
def impatient(share: float, round: int) -> float:
    """After some rounds what would still meet is not let move at all."""
    if round > PATIENT:
        return 0.0
    return share


@wp.kernel
def stop_vertices(
    stride: int,
    vertex: wp.array(dtype=int),
    tree: TreeData,
    stops: Stops,
    of: Ways,
    round: wp.array(dtype=int),
    sums_inout: Sums,
    share_out: wp.array(dtype=int),
    met_out: wp.array(dtype=int),
):
    """Stop vertices and triangles that would meet. On the CPU by one thread."""
    for k in range(wp.tid(), stops.things, stride):
        for j in range(wp.min(stops.count[k], stops.room)):
            met_out[0] = 1
            i = vertex[k]
            corner = tree.corners[stops.other[k * stops.room + j]]
            w = triangle_weights(of.x[i], of.x[corner[0]], of.x[corner[1]], of.x[corner[2]])
            ids = wp.vec4i(i, corner[0], corner[1], corner[2])
            weights = wp.vec4(1.0, -w[0], -w[1], -w[2])
            share = impatient(stops.share[k * stops.room + j], round[0])
            stop_pair(ids, weights, share, of, sums_inout, share_out)


@wp.kernel
def stop_edges(
    stride: int,
    tree: TreeData,
    stops: Stops,
    of: Ways,
    round: wp.array(dtype=int),
    sums_inout: Sums,
    share_out: wp.array(dtype=int),
    met_out: wp.array(dtype=int),
):
    """Stop edges that would meet. On the CPU by one thread."""
    for k in range(wp.tid(), stops.things, stride):
        for j in range(wp.min(stops.count[k], stops.room)):
            met_out[0] = 1
            one = tree.corners[k]
            two = tree.corners[stops.other[k * stops.room + j]]
            w = segments_weights(of.x[one[0]], of.x[one[1]], of.x[two[0]], of.x[two[1]])
            ids = wp.vec4i(one[0], one[1], two[0], two[1])
            weights = wp.vec4(1.0 - w[0], w[0], w[1] - 1.0, -w[1])
            share = impatient(stops.share[k * stops.room + j], round[0])
            stop_pair(ids, weights, share, of, sums_inout, share_out)


@wp.kernel
def begin_ways(
    start: int,
    vertex: wp.array(dtype=int),
    x_after: wp.array(dtype=wp.vec3),
    share_out: wp.array(dtype=int),
    more_out: wp.array(dtype=int),
    x_end_out: wp.array(dtype=wp.vec3),
):
    """Everything goes all its way."""
    i = vertex[start + wp.tid()]
    share_out[i] = WHOLE_WAY
    more_out[i] = WHOLE_WAY
    x_end_out[i] = x_after[i]


@wp.kernel
def take_shares(
    start: int,
    vertex: wp.array(dtype=int),
    found: wp.array(dtype=int),
    of: Ways,
    sums_inout: Sums,
    share_out: wp.array(dtype=int),
    x_end_out: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Use the shares that were found, and what was taken of velocities."""
    i = vertex[start + wp.tid()]
    v_inout[i] = v_inout[i] + taken(sums_inout.kick, i, wp.float64(of.inv_mass[i]) / sums_inout.scale)
    if found[i] < share_out[i]:
        share_out[i] = found[i]
        x_end_out[i] = of.x[i] + way(i, of)


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


@wp.kernel
def begin_rounds(round_out: wp.array(dtype=int), going_out: wp.array(dtype=int)):
    """The first round comes."""
    round_out[0] = 1
    going_out[0] = 1


@wp.kernel
def end_round(
    rounds: int,
    met: wp.array(dtype=int),
    round_inout: wp.array(dtype=int),
    going_out: wp.array(dtype=int),
    left_out: wp.array(dtype=int),
):
    """Go on while something met something, up to so many rounds; what is left then is told."""
    going_out[0] = 0
    if met[0] != 0:
        if round_inout[0] < rounds:
            going_out[0] = 1
        else:
            left_out[0] = 1
    round_inout[0] = round_inout[0] + 1
    met[0] = 0
