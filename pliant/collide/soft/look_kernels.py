"""The first look at candidates on CUDA: a thread for each, which marks what is worth a close look.

Most candidates are far from touching, and some vertices and edges have many more than others. A close look takes long;
where threads took vertices, all would wait for those with most candidates.
"""

import warp as wp

from pliant.collide.soft.candidate_kernels import OUTSIDE, Marks, Near
from pliant.collide.soft.contact_rows import Meeting, Rounds, Rows, clear_meeting
from pliant.collide.soft.narrow_kernels import SLACK, Moves, Surfaces
from pliant.collide.soft.near_native import next_edge, next_triangle

wp.set_module_options({"enable_backward": False})


@wp.func_native("""
#if defined(__CUDA_ARCH__)
int* mine = (int*)(marks.bits.data) + (size_t)thing * marks.words;
if (slot >= 0) atomicOr(mine + 1 + (slot >> 5), 1 << (slot & 31));
if (atomicExch(mine, 1) == 0) ((int*)(marks.hot.data))[atomicAdd((int*)(marks.hots.data), 1)] = thing;
#endif
""")
def mark(thing: int, slot: int, marks: Marks):
    """Mark a candidate of a vertex or an edge by its place; with a negative one the vertex alone."""
    ...


@wp.func_native("""
if (marks.words == 0) return 1;
return (((const int*)(marks.bits.data))[(size_t)thing * marks.words + 1 + (slot >> 5)] >> (slot & 31)) & 1;
""")
def is_marked(thing: int, slot: int, marks: Marks) -> int:
    """Whether a candidate is worth a close look: all are where there are no marks."""
    ...


@wp.func_native("""
const int* bits = (const int*)(marks.bits.data) + (size_t)thing * marks.words + 1;
#if defined(__CUDA_ARCH__)
while (slot < count) {
    const unsigned rest = (unsigned)bits[slot >> 5] >> (slot & 31);
    if (rest) return min(slot + __ffs(rest) - 1, count);
    slot = (slot | 31) + 1;
}
#endif
return count;
""")
def next_marked(thing: int, slot: int, count: int, marks: Marks) -> int:
    """The first marked candidate from a place on; `count` if there is none before that."""
    ...


@wp.func(inline=True)
def unmark(thing: int, lane: int, lanes: int, marks: Marks):
    """Forget the marks of a vertex or an edge; lanes share the work."""
    for word in range(lane, marks.words, lanes):
        marks.bits[thing * marks.words + word] = 0


@wp.func(inline=True)
def look_at_pair(
    p: int,
    vertices: int,
    takes_solids: int,
    factor: float,
    near: Near,
    of: Surfaces,
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
):
    """Mark a candidate that may come nearer than a factor of what is kept free on its way from x to x_next; and, where
    solids are taken, a vertex near another one: the nearest of its triangles counts, however far it is."""
    pair = near.pair[p]
    thing = pair[0]
    if thing < vertices:
        i = near.vertex[thing]
        place = thing * near.triangle_room + pair[1]
        other = of.body[near.triangles.corners[near.triangle[place]][0]]
        if takes_solids != 0 and of.kind[other] == 0 and other != of.body[i]:
            mark(thing, -1, near.marks)
        elif (
            next_triangle(i, place, place + 1, near.triangle, near.triangles.corners, of.radius, factor, x, x_next)
            == place
        ):
            mark(thing, pair[1], near.marks)
    else:
        k = thing - vertices
        place = k * near.edge_room + pair[1]
        one = near.edges.corners[k]
        both = wp.vec2i(one[0], one[1])
        if next_edge(both, place, place + 1, near.edge, near.edges.corners, of.radius, factor, x, x_next) == place:
            mark(thing, pair[1], near.marks)


@wp.kernel
def look(
    start: int,
    threads: int,
    room: int,
    near: Near,
    of: Surfaces,
    m: Moves,
    vertices_inout: Rows,
    edges_inout: Rows,
    rounds_inout: Rounds,
    meeting_out: Meeting,
    touches_out: wp.array(dtype=int),
):
    """Mark candidates that may touch in the step, where contacts are found anew: there are none yet."""
    t = start + wp.tid()
    if t == 0:
        touches_out[0] = 0
        rounds_inout.round[0] = rounds_inout.round[0] + 1
        rounds_inout.missed[0] = 0
        rounds_inout.missed[1] = 0
        rounds_inout.deep[0] = 0
    clear_meeting(t, meeting_out)
    if rounds_inout.finds[0] == 0:
        return
    if t < vertices_inout.things:
        vertices_inout.before[t] = vertices_inout.count[t]
        vertices_inout.count[t] = 0
        if near.deep[t] >= 0:
            mark(t, -1, near.marks)
        else:
            near.deep[t] = OUTSIDE
    elif t < vertices_inout.things + edges_inout.things:
        k = t - vertices_inout.things
        edges_inout.before[k] = edges_inout.count[k]
        edges_inout.count[k] = 0
    for p in range(t, wp.min(near.pairs[0], room), threads):
        look_at_pair(p, vertices_inout.things, 1, 1.0 + SLACK, near, of, m.x, m.x_next)


@wp.kernel
def look_at_ways(
    start: int,
    threads: int,
    room: int,
    vertices: int,
    factor: float,
    near: Near,
    of: Surfaces,
    x: wp.array(dtype=wp.vec3),
    x_end: wp.array(dtype=wp.vec3),
):
    """Mark candidates that may come nearer than a factor of what is kept free on their ways from x to x_end."""
    for p in range(start + wp.tid(), wp.min(near.pairs[0], room), threads):
        look_at_pair(p, vertices, 0, factor, near, of, x, x_end)
