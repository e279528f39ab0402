"""The outsides of sheets and rods as they have come apart, and candidates of bodies that are in pieces."""

import warp as wp

from pliant.collide.soft.candidate_kernels import Near

wp.set_module_options({"enable_backward": False})

GONE = wp.constant(-1)
"""The corner of an item that is not there."""


@wp.struct
class Sides:
    """Triangles of sheets and segments of rods that can come apart, and their sides.

    Attributes:
        corners: of each triangle when it was built. source: where its corners stand in `split`, -1 for one whose
            vertices do not split. gone: 1 for one that is no more.
        triangle_place: place of each in the tree of triangles.
        now: its corners now.
        side: triangle and corner of each side, and those of the side that it was joined with, -1 for none.
        meets: whether a side may meet others at all.
        side_place: place of each side in the tree of edges.
        split: corners of sheets that tear, slot by slot.
    """

    corners: wp.array(dtype=wp.vec3i)
    source: wp.array(dtype=int)
    gone: wp.array(dtype=int)
    triangle_place: wp.array(dtype=int)
    now: wp.array(dtype=wp.vec3i)
    side: wp.array(dtype=wp.vec4i)
    meets: wp.array(dtype=int)
    side_place: wp.array(dtype=int)
    split: wp.array(dtype=int)


@wp.kernel
def place_triangles(start: int, sides: Sides, corners_out: wp.array(dtype=wp.vec3i)):
    """Each triangle with the corners it has now; one that is no more has none."""
    t = start + wp.tid()
    now = sides.corners[t]
    s = sides.source[t]
    if s >= 0:
        now = wp.vec3i(sides.split[s], sides.split[s + 1], sides.split[s + 2])
    sides.now[t] = now
    if sides.gone[t] != 0:
        now = wp.vec3i(GONE, GONE, GONE)
    corners_out[sides.triangle_place[t]] = now


@wp.func
def corner_at(corners: wp.vec3i, c: int) -> int:
    return corners[c % 3]


@wp.kernel
def place_sides(start: int, sides: Sides, corners_out: wp.array(dtype=wp.vec3i), out_out: wp.array(dtype=wp.vec2i)):
    """Each side of a triangle as an edge; two that are joined are one, the first."""
    k = start + wp.tid()
    side = sides.side[k]
    t = side[0]
    own = sides.now[t]
    a = corner_at(own, side[1])
    b = corner_at(own, side[1] + 1)
    across = corner_at(own, side[1] + 2)
    beyond = int(GONE)
    is_edge = sides.gone[t] == 0 and sides.meets[k] != 0
    if side[2] >= 0:
        if sides.gone[side[2]] == 0:
            other = sides.now[side[2]]
            c = corner_at(other, side[3])
            d = corner_at(other, side[3] + 1)
            if wp.min(a, b) == wp.min(c, d) and wp.max(a, b) == wp.max(c, d):
                beyond = corner_at(other, side[3] + 2)
                is_edge = is_edge and t < side[2]
    # a segment of a rod has its second end twice
    if across == b:
        across = int(GONE)
    edge = wp.vec3i(GONE, GONE, GONE)
    if is_edge:
        edge = wp.vec3i(wp.min(a, b), wp.max(a, b), wp.max(a, b))
    place = sides.side_place[k]
    corners_out[place] = edge
    out_out[place] = wp.vec2i(across, beyond)


@wp.kernel
def rest_of_split(
    start: int,
    first: int,
    home: wp.array(dtype=int),
    rest_inout: wp.array(dtype=wp.vec3),
):
    """A particle that was split from another is where that was at rest."""
    i = start + wp.tid() + first
    if home[i] != i:
        rest_inout[i] = rest_inout[home[i]]


@wp.func
def piece_of(list: wp.array(dtype=int), j: int, corners: wp.array(dtype=wp.vec3i), body: wp.array(dtype=int)) -> int:
    return body[corners[list[j]][0]]


@wp.func
def without_own(
    first: int,
    count: int,
    own: int,
    list: wp.array(dtype=int),
    corners: wp.array(dtype=wp.vec3i),
    body: wp.array(dtype=int),
) -> int:
    """Leave out candidates of one's own piece; how many are left."""
    kept = int(0)
    for j in range(count):
        item = list[first + j]
        if body[corners[item][0]] != own:
            list[first + kept] = item
            kept += 1
    return kept


@wp.kernel
def sort_by_piece(
    start: int,
    broken: wp.array(dtype=int),
    meets_itself: int,
    body: wp.array(dtype=int),
    vertices: int,
    near_inout: Near,
):
    """Let candidates of one piece stand together, and leave out those of one's own unless it meets itself.

    Nothing is done before something is in pieces. A list that is too long for its table stays as it is: the frame is
    done again.
    """
    if broken[0] != 0:
        k = start + wp.tid()
        if k < vertices:
            count = near_inout.triangle_count[k]
            room = near_inout.triangle_room
            first = k * room
            if count > 0 and count <= room:
                corners = near_inout.triangles.corners
                own = body[near_inout.vertex[k]]
                if meets_itself == 0:
                    count = without_own(first, count, own, near_inout.triangle, corners, body)
                    near_inout.triangle_count[k] = count
                for j in range(1, count):
                    item = near_inout.triangle[first + j]
                    piece = body[corners[item][0]]
                    place = j
                    while place > 0 and piece_of(near_inout.triangle, first + place - 1, corners, body) > piece:
                        near_inout.triangle[first + place] = near_inout.triangle[first + place - 1]
                        place -= 1
                    near_inout.triangle[first + place] = item
        else:
            e = k - vertices
            count = near_inout.edge_count[e]
            room = near_inout.edge_room
            if count > 0 and count <= room:
                corners = near_inout.edges.corners
                own = body[corners[e][0]]
                if meets_itself == 0:
                    near_inout.edge_count[e] = without_own(e * room, count, own, near_inout.edge, corners, body)


@wp.func
def were_one(i: int, corners: wp.vec3i, home: wp.array(dtype=int)) -> bool:
    """Whether a particle and one of several corners were split from the same one."""
    h = home[i]
    return home[corners[0]] == h or home[corners[1]] == h or home[corners[2]] == h


@wp.kernel
def leave_neighbours(
    start: int, home: wp.array(dtype=int), splits: wp.array(dtype=int), vertices: int, near_inout: Near
):
    """Leave out candidates that shared a corner before a vertex was split: where a sheet begins to tear its two sides
    are in one place. `splits` is 1 for particles of sheets that tear."""
    k = start + wp.tid()
    kept = int(0)
    if k < vertices:
        i = near_inout.vertex[k]
        room = near_inout.triangle_room
        count = near_inout.triangle_count[k]
        if splits[i] != 0 and count > 0 and count <= room:
            for j in range(k * room, k * room + count):
                item = near_inout.triangle[j]
                if not were_one(i, near_inout.triangles.corners[item], home):
                    near_inout.triangle[k * room + kept] = item
                    kept += 1
            near_inout.triangle_count[k] = kept
    else:
        e = k - vertices
        room = near_inout.edge_room
        count = near_inout.edge_count[e]
        if count > 0 and count <= room:
            edge = near_inout.edges.corners[e]
            if splits[edge[0]] != 0:
                for j in range(e * room, e * room + count):
                    item = near_inout.edge[j]
                    other = near_inout.edges.corners[item]
                    if not were_one(edge[0], other, home) and not were_one(edge[1], other, home):
                        near_inout.edge[e * room + kept] = item
                        kept += 1
                near_inout.edge_count[e] = kept
