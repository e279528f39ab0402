"""Which vertices may meet which triangles, and which edges which edges, before they are looked at closely."""

import warp as wp

from pliant.collide.soft.near_native import find_overlaps, inside_of, keep_near
from pliant.collide.soft.tree_kernels import Course, TreeData, box_of, no_box, swept

wp.set_module_options({"enable_backward": False})


@wp.struct
class Marks:
    """Which candidates of a vertex or an edge are worth a close look, as bits.

    Attributes:
        words: numbers for each vertex or edge: the first tells that it has any, the others have 32 bits each; none
            where candidates are not marked.
        bits: these numbers, of vertices and then of edges; all zero when all have been looked at.
        hot: vertices and edges that have such candidates, in any order. hots: how many.
    """

    words: int
    bits: wp.array(dtype=int)
    hot: wp.array(dtype=int)
    hots: wp.array(dtype=int)


@wp.struct
class Near:
    """Candidates: of each vertex, and of each place in the tree of edges, how many there are and room for how many; the
    corners opposite each edge; and of each vertex the triangle that it is deep behind, see `Candidates`.

    On CUDA they are also listed one by one, and marked when they are worth a close look, see `look_kernels`.
    """

    vertex: wp.array(dtype=int)
    triangles: TreeData
    triangle: wp.array(dtype=int)
    triangle_count: wp.array(dtype=int)
    triangle_room: int
    deep: wp.array(dtype=int)
    edges: TreeData
    out: wp.array(dtype=wp.vec2i)
    edge: wp.array(dtype=int)
    edge_count: wp.array(dtype=int)
    edge_room: int
    pair: wp.array(dtype=wp.vec2i)
    pairs: wp.array(dtype=int)
    marks: Marks


@wp.func
def meets(one: int, two: int, selfs: wp.array(dtype=int)) -> bool:
    """Whether two bodies may meet, or one itself."""
    return one != two or selfs[one] != 0


@wp.func_native("""
const float* nodes = (const float*)(tree.nodes.data);
const int* roots = (const int*)(tree.roots.data);
int* out = (int*)(partner_out.data) + (size_t)b * room;
const float* mine = nodes + 8 * (size_t)roots[b];
const int* stirs = (const int*)(awake.data);
const int* clan = (const int*)(clans.data);
int found = 0;
if (roots[b] == roots[b + 1]) return 0;
#if defined(__CUDA_ARCH__)
const int lanes = 32, lane = threadIdx.x & 31;
#else
const int lanes = 1, lane = 0;
#endif
for (int base = 0; base < bodies; base += lanes) {
    const int other = base + lane;
    bool near = other < bodies && roots[other] < roots[other + 1] && (other != b || meets_itself != 0);
    near = near && (stirs[b] != 0 || stirs[other] != 0);
    near = near && (other == b || clan[b] < 0 || clan[b] != clan[other]);
    if (near) {
        const float* theirs = nodes + 8 * (size_t)roots[other];
        for (int k = 0; k < 3; ++k) near = near && theirs[k] <= mine[4 + k] && theirs[4 + k] >= mine[k];
    }
#if defined(__CUDA_ARCH__)
    const unsigned all = __ballot_sync(0xffffffffu, near);
    const int place = found + __popc(all & ((1u << lane) - 1u));
    found += __popc(all);
#else
    const int place = found;
    found += near;
#endif
    if (near && place < room) out[place] = other;
}
return found;
""")
def list_partners(
    tree: TreeData,
    b: int,
    meets_itself: int,
    clans: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    bodies: int,
    room: int,
    partner_out: wp.array(dtype=int),
) -> int:
    """List the bodies whose boxes touch that of a body, in their order; how many they are. On CUDA by a whole warp."""
    ...


@wp.kernel
def find_partners(
    start: int,
    lanes: int,
    tree: TreeData,
    selfs: wp.array(dtype=int),
    clans: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    bodies: int,
    room: int,
    partner_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """The bodies whose boxes touch that of each body, in their order; itself too if it may meet itself. Two that sleep
    do not meet, nor do two of a clan. So many threads share a body: the lanes of a warp, or one on the CPU."""
    b = (start + wp.tid()) // lanes
    found = list_partners(tree, b, selfs[b], clans, awake, bodies, room, partner_out)
    count_out[b] = found
    if found > room:
        full_out[0] = 1


@wp.kernel
def list_pairs(
    triangles: wp.array(dtype=int),
    triangle_room: int,
    vertices: int,
    edges: wp.array(dtype=int),
    edge_room: int,
    room: int,
    pair_out: wp.array(dtype=wp.vec2i),
    pairs_inout: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """List all candidates, each as its vertex or edge, those of edges behind those of vertices, and its place in the
    list of that; in any order."""
    k = wp.tid()
    count = int(0)
    if k < vertices:
        count = wp.min(triangles[k], triangle_room)
    else:
        count = wp.min(edges[k - vertices], edge_room)
    if count > 0:
        first = wp.atomic_add(pairs_inout, 0, count)
        if first + count > room:
            full_out[0] = 1
        else:
            for j in range(count):
                pair_out[first + j] = wp.vec2i(k, j)


TURNS = wp.constant(8)
EVERY = wp.constant(4)
"""Every fourth search an eighth of all vertices is looked for inside of solids."""
RUN = wp.constant(32)
"""Vertices that have their turn together."""
OUTSIDE = wp.constant(-1)
INSIDE = wp.constant(-2)
"""A vertex that is inside of a solid, and near its surface."""


@wp.kernel
def find_triangles(
    start: int,
    chunk: int,
    lanes: int,
    vertex: wp.array(dtype=int),
    vertex_body: wp.array(dtype=int),
    kind: wp.array(dtype=int),
    tree: TreeData,
    partner: wp.array(dtype=int),
    partners: wp.array(dtype=int),
    partner_room: int,
    course: Course,
    turn: wp.array(dtype=int),
    room: int,
    things: int,
    found_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
    deep_inout: wp.array(dtype=int),
    entangled_out: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """The triangles that each vertex may meet, body by body, as their places in the tree; and where it is deep inside a
    solid, the nearest of that.

    A vertex that was inside before is looked for there; others when they have their turn, the first time all.
    """
    first_item = (start + wp.tid()) // lanes * chunk
    for k in range(first_item, wp.min(first_item + chunk, things)):
        i = vertex[k]
        b = vertex_body[k]
        box = swept(no_box(), i, course, course.radius[i])
        found = int(0)
        looks = deep_inout[k] != OUTSIDE or turn[0] == 0
        looks = looks or (turn[0] % EVERY == 0 and (k // RUN + turn[0] // EVERY) % TURNS == 0)
        deep = int(OUTSIDE)
        for j in range(wp.min(partners[b], partner_room)):
            other = partner[b * partner_room + j]
            found = find_overlaps(
                tree, tree.roots[other], tree.roots[other + 1], box.low, box.high, i, i, 0, course, found, room,
                k * room, found_out,
            )  # fmt: skip
            if other != b and kind[other] == 0 and deep < 0 and looks:
                deep = inside_of(tree, other, i, course.reach, course.x)
                if deep >= 0:
                    entangled_out[b] = turn[0] + 1
                    entangled_out[other] = turn[0] + 1
        count_out[k] = found
        deep_inout[k] = deep
        if found > room:
            full_out[0] = 1


@wp.kernel
def find_edges(
    start: int,
    chunk: int,
    lanes: int,
    item_body: wp.array(dtype=int),
    tree: TreeData,
    partner: wp.array(dtype=int),
    partners: wp.array(dtype=int),
    partner_room: int,
    course: Course,
    room: int,
    things: int,
    found_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """The edges behind each edge in the tree whose boxes touch its own: their places in the tree."""
    first_item = (start + wp.tid()) // lanes * chunk
    for k in range(first_item, wp.min(first_item + chunk, things)):
        b = item_body[k]
        mine = tree.corners[k]
        # the boxes of both have the reach around them, which is wanted once
        box = box_of(tree.boxes, k)
        wide = wp.vec3(course.reach, course.reach, course.reach)
        box.low += wide
        box.high -= wide
        found = int(0)
        for j in range(wp.min(partners[b], partner_room)):
            other = partner[b * partner_room + j]
            if other >= b:
                # nodes stand as their items do: what is behind an edge is in its leaf and behind that
                node = wp.where(other == b, tree.leaf[k], tree.roots[other])
                found = find_overlaps(
                    tree, node, tree.roots[other + 1], box.low, box.high, mine[0], mine[1], k + 1, course, found, room,
                    k * room, found_out,
                )  # fmt: skip
        count_out[k] = found
        if found > room:
            full_out[0] = 1


@wp.kernel
def keep_candidates(
    start: int,
    lanes: int,
    vertex: wp.array(dtype=int),
    triangles: TreeData,
    edges: TreeData,
    course: Course,
    vertices: int,
    triangle_room: int,
    edge_room: int,
    triangle_inout: wp.array(dtype=int),
    triangle_count_inout: wp.array(dtype=int),
    edge_inout: wp.array(dtype=int),
    edge_count_inout: wp.array(dtype=int),
):
    """On CUDA: of the items whose boxes touch those of vertices and then of edges, keep what may come near them. Lists
    that do not fit stay as they are."""
    k = (start + wp.tid()) // lanes
    lane = (start + wp.tid()) % lanes
    if k < vertices:
        found = triangle_count_inout[k]
        if found > 0 and found <= triangle_room:
            i = vertex[k]
            kept = keep_near(triangles, i, i, course, found, k * triangle_room, triangle_inout)
            if lane == 0:
                triangle_count_inout[k] = kept
    else:
        e = k - vertices
        found = edge_count_inout[e]
        if found > 0 and found <= edge_room:
            both = edges.corners[e]
            kept = keep_near(edges, both[0], both[1], course, found, e * edge_room, edge_inout)
            if lane == 0:
                edge_count_inout[e] = kept
