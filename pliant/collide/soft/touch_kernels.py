"""The contacts of a step: which candidates touch, in rows."""

import warp as wp

from pliant.collide.soft.candidate_kernels import INSIDE, OUTSIDE, Near
from pliant.collide.soft.contact_rows import Rounds, Rows, Sums, list_rows
from pliant.collide.soft.lanes import count_bits, from_lane, lanes_with, lowest_bit
from pliant.collide.soft.look_kernels import is_marked, unmark
from pliant.collide.soft.narrow_kernels import (
    SLACK,
    Moves,
    Surfaces,
    Touch,
    add_apart,
    finish_rows,
    kept_apart,
    meet_edges,
    meet_solid,
    meet_thin,
    meet_triangle,
    triangle_ids,
    triangle_signs,
    write_row,
)
from pliant.collide.soft.near_native import next_edge, next_triangle
from pliant.collide.soft.tree_kernels import TreeData, box_of

wp.set_module_options({"enable_backward": False})

LANES = wp.constant(8)
"""CUDA threads that share a vertex or an edge."""


@wp.func(inline=True)
def middle_of(trees: TreeData, b: int) -> wp.vec3:
    """The middle of the box around a body."""
    box = box_of(trees.nodes, trees.roots[b])
    return 0.5 * (box.low + box.high)


@wp.func(inline=True)
def look_at_triangle(k: int, i: int, at: int, lane: int, end: int, near: Near, of: Surfaces, m: Moves) -> int:
    """The candidate that a lane looks at closely: its own, if it is marked; on the CPU the next that may be near."""
    if near.marks.words == 0:
        return next_triangle(i, at, end, near.triangle, near.triangles.corners, of.radius, 1.0 + SLACK, m.x, m.x_next)
    own = at + lane
    if own < end:
        if is_marked(k, own - k * near.triangle_room, near.marks) != 0:
            return own
    return end


@wp.func(inline=True)
def end_of_run(j: int, body: int, lane: int, lanes: int, end: int, near: Near, of: Surfaces) -> int:
    """Where the candidates of a body end, of which the first is given: those of one body stand together."""
    next = int(j + 1)
    ends = int(0)
    while next < end and ends == 0:
        own = next + lane
        is_other = int(1)
        if own < end:
            if of.body[near.triangles.corners[near.triangle[own]][0]] == body:
                is_other = 0
        ends = lanes_with(is_other, lanes)
        next += wp.where(ends != 0, lowest_bit(ends), lanes)
    return wp.min(next, end)


@wp.func(inline=True)
def touch_triangles(k: int, lane: int, lanes: int, near: Near, of: Surfaces, m: Moves, rows: Rows) -> int:
    """The contacts of a vertex: with a solid one, at the nearest point; with sheets one from each side. How many there
    are, also where there is no room for them. Lanes share what is thin."""
    i = near.vertex[k]
    mine = of.body[i]
    found = int(0)
    inside = int(OUTSIDE)
    corners = near.triangles.corners
    room = near.triangle_room
    end = k * room + wp.min(near.triangle_count[k], room)
    j = k * room
    while j < end:
        corner = corners[near.triangle[j]]
        other = of.body[corner[0]]
        next = int(end)
        is_other_solid = bool(False)
        if of.solids != 0:
            next = end_of_run(j, other, lane, lanes, end, near, of)
            is_other_solid = of.kind[other] == 0 and other != mine
        if is_other_solid:
            apart = of.radius[i] + of.radius[corner[0]]
            touch = meet_solid(i, lane, lanes, j, next, near.triangle, corners, apart, m)
            if touch.found != 0:
                if touch.was_inside != 0:
                    inside = INSIDE
                if lane == 0 and found < rows.room:
                    ids = triangle_ids(i, touch.corner)
                    row = k * rows.room + found
                    write_row(rows, row, ids, triangle_signs(touch.weights), touch, apart, of)
                found += 1
            # what one lane wrote is seen by all after this
            found = from_lane(found, 0, lanes)
        else:
            at = int(j)
            while at < next:
                look = look_at_triangle(k, i, at, lane, next, near, of, m)
                touch = Touch()
                touch.found = 0
                same = int(0)
                if look < next:
                    corner = corners[near.triangle[look]]
                    other = of.body[corner[0]]
                    solid = wp.where(of.kind[other] == 0, 1, 0)
                    same = wp.where(other == mine, 1, 0)
                    touch = meet_thin(i, corner, solid, same, of, m)
                touching = lanes_with(touch.found, lanes)
                while touching != 0:
                    turn = lowest_bit(touching)
                    touching = touching & (touching - 1)
                    if lane == turn:
                        apart = kept_apart(i, corner, touch.weights, of, same)
                        ids = triangle_ids(i, corner)
                        signs = triangle_signs(touch.weights)
                        found = add_apart(k, found, rows, ids, signs, touch, apart, of)
                    found = from_lane(found, turn, lanes)
                at = wp.where(near.marks.words == 0, look + 1, at + lanes)
        j = next
    if lane != 0:
        return found
    deep = near.deep[k]
    if deep < 0:
        near.deep[k] = inside
    else:
        # far inside a solid: out slowly, and all of a body the same way
        corner = corners[deep]
        touch = meet_triangle(i, corner, 1.0e10, 1, m.x_next)
        if touch.found != 0 and touch.distance < 0.0:
            off = middle_of(near.triangles, mine) - middle_of(near.triangles, of.body[corner[0]])
            if wp.length(off) > 1.0e-9:
                touch.normal = wp.normalize(off)
            if found < rows.room:
                ids = triangle_ids(i, corner)
                apart = of.radius[i] + of.radius[corner[0]]
                row = k * rows.room + found
                write_row(rows, row, ids, triangle_signs(touch.weights), touch, apart, of)
                # told by the sign that it is far inside
                rows.contact[row].apart = -apart
            found += 1
    return found


@wp.func(inline=True)
def touch_edges(k: int, thing: int, lane: int, lanes: int, near: Near, of: Surfaces, m: Moves, rows: Rows) -> int:
    """The contacts of an edge with edges behind it in the tree; how many there are, also where there is no room."""
    corners = near.edges.corners
    one = corners[k]
    both = wp.vec2i(one[0], one[1])
    mine = of.body[one[0]]
    found = int(0)
    room = near.edge_room
    end = k * room + wp.min(near.edge_count[k], room)
    at = k * room
    while at < end:
        j = int(at + lane)
        if near.marks.words == 0:
            j = next_edge(both, at, end, near.edge, corners, of.radius, 1.0 + SLACK, m.x, m.x_next)
        elif j < end:
            if is_marked(thing, j - k * room, near.marks) == 0:
                j = end
        touch = Touch()
        touch.found = 0
        ids = wp.vec4i(0, 0, 0, 0)
        if j < end:
            item = near.edge[j]
            two = corners[item]
            other = of.body[two[0]]
            solid = int(0)
            if of.kind[mine] == 0 or of.kind[other] == 0:
                solid = 1
            same = int(0)
            if mine == other:
                same = 1
            touch = meet_edges(one, two, solid, same, near.out[k], near.out[item], of, m)
            ids = wp.vec4i(one[0], one[1], two[0], two[1])
        touching = lanes_with(touch.found, lanes)
        place = found + count_bits(touching & ((1 << lane) - 1))
        if touch.found != 0 and place < rows.room:
            w = touch.weights
            weights = wp.vec4(1.0 - w[0], w[0], w[1] - 1.0, -w[1])
            write_row(rows, k * rows.room + place, ids, weights, touch, w[2], of)
        found += count_bits(touching)
        at = wp.where(near.marks.words == 0, j + 1, at + lanes)
    return found


@wp.kernel
def touch(
    start: int,
    chunk: int,
    near: Near,
    of: Surfaces,
    m: Moves,
    rounds: Rounds,
    vertices_out: Rows,
    edges_out: Rows,
    sums_inout: Sums,
    full_out: wp.array(dtype=int),
):
    """On the CPU: all contacts of vertices and then of edges, and how many touch each particle; none are looked for in
    a round that goes on with those of the last one."""
    first = (start + wp.tid()) * chunk
    if rounds.finds[0] == 0:
        return
    end = wp.min(first + chunk, vertices_out.things + edges_out.things)
    for k in range(first, end):
        # most have no candidates; handing the tables on takes longer than to see that
        found = int(0)
        if k < vertices_out.things:
            if near.triangle_count[k] == 0 and near.deep[k] < 0:
                near.deep[k] = OUTSIDE
            else:
                found = touch_triangles(k, 0, 1, near, of, m, vertices_out)
            list_rows(k, found, 0, vertices_out, full_out)
        else:
            e = k - vertices_out.things
            if near.edge_count[e] > 0:
                found = touch_edges(e, k, 0, 1, near, of, m, edges_out)
            list_rows(e, found, 0, edges_out, full_out)
    if first < vertices_out.things:
        finish_rows(first, wp.min(end, vertices_out.things), vertices_out, of, m, sums_inout)
    if end > vertices_out.things:
        begin = wp.max(first - vertices_out.things, 0)
        finish_rows(begin, end - vertices_out.things, edges_out, of, m, sums_inout)


@wp.kernel
def touch_marked(
    start: int,
    threads: int,
    most: int,
    near: Near,
    of: Surfaces,
    m: Moves,
    rounds: Rounds,
    vertices_out: Rows,
    edges_out: Rows,
    full_out: wp.array(dtype=int),
):
    """On CUDA: the contacts of vertices and edges that have marked candidates, as they were found. Eight threads share
    a vertex or an edge, unless there are more than so many: then a thread each is done earlier."""
    if rounds.finds[0] == 0:
        return
    hots = near.marks.hots[0]
    lanes = wp.where(hots > most, 1, LANES)
    lane = (start + wp.tid()) % lanes
    for h in range((start + wp.tid()) // lanes, hots, threads // lanes):
        k = near.marks.hot[h]
        found = int(0)
        if k < vertices_out.things:
            found = touch_triangles(k, lane, lanes, near, of, m, vertices_out)
            if lane == 0:
                list_rows(k, found, 1, vertices_out, full_out)
        else:
            e = k - vertices_out.things
            found = touch_edges(e, k, lane, lanes, near, of, m, edges_out)
            if lane == 0:
                list_rows(e, found, 1, edges_out, full_out)
        # all lanes have seen the marks when this is done
        found = from_lane(found, 0, lanes)
        unmark(k, lane, lanes, near.marks)
