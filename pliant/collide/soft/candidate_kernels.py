"""Which vertices may meet which triangles, and which edges which edges, before they are looked at closely."""

import warp as wp

from pliant.collide.soft.near_native import find_overlaps, inside_of
from pliant.collide.soft.tree_kernels import Box, TreeData, apart, grown, no_box

wp.set_module_options({"enable_backward": False})


@wp.func
def meets(one: int, two: int, selfs: wp.array(dtype=int)) -> bool:
    """Whether two bodies may meet, or one itself."""
    return one != two or selfs[one] != 0


@wp.kernel
def find_partners(
    start: int,
    tree: TreeData,
    selfs: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    bodies: int,
    room: int,
    partner_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """The bodies whose boxes touch that of each body, in their order; itself too if it may meet itself. Two that sleep
    do not meet."""
    b = start + wp.tid()
    found = int(0)
    root = tree.roots[b]
    if root < tree.roots[b + 1]:
        box = Box()
        box.low = tree.low[root]
        box.high = tree.high[root]
        for other in range(bodies):
            node = tree.roots[other]
            stirs = awake[b] != 0 or awake[other] != 0
            if stirs and node < tree.roots[other + 1] and meets(b, other, selfs):
                if not apart(tree.low[node], tree.high[node], box):
                    if found < room:
                        partner_out[b * room + found] = other
                    found += 1
    count_out[b] = found
    if found > room:
        full_out[0] = 1


@wp.kernel
def find_triangles(
    start: int,
    chunk: int,
    vertex: wp.array(dtype=int),
    vertex_body: wp.array(dtype=int),
    kind: wp.array(dtype=int),
    tree: TreeData,
    partner: wp.array(dtype=int),
    partners: wp.array(dtype=int),
    partner_room: int,
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    ahead: wp.array(dtype=float),
    reach: float,
    room: int,
    things: int,
    found_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
    deep_out: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """The triangles that each vertex may meet, body by body, as their places in the tree; and where it is deep inside a
    solid, the nearest of that."""
    first_item = (start + wp.tid()) * chunk
    for k in range(first_item, wp.min(first_item + chunk, things)):
        i = vertex[k]
        b = vertex_body[k]
        box = grown(no_box(), x[i], x_next[i], v[i], ahead[0], radius[i])
        found = int(0)
        deep = int(-1)
        for j in range(wp.min(partners[b], partner_room)):
            other = partner[b * partner_room + j]
            before = found
            found = find_overlaps(
                tree, other, box.low, box.high, i, i, 0, x, x_next, v, radius, ahead[0], reach, found, room, k * room,
                found_out,
            )  # fmt: skip
            if found == before and other != b and kind[other] == 0 and deep < 0:
                deep = inside_of(tree, other, i, x)
        count_out[k] = found
        deep_out[k] = deep
        if found > room:
            full_out[0] = 1


@wp.kernel
def find_edges(
    start: int,
    chunk: int,
    item_body: wp.array(dtype=int),
    tree: TreeData,
    partner: wp.array(dtype=int),
    partners: wp.array(dtype=int),
    partner_room: int,
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    ahead: wp.array(dtype=float),
    reach: float,
    room: int,
    things: int,
    found_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """The edges behind each edge in the tree whose boxes touch its own: their places in the tree."""
    first_item = (start + wp.tid()) * chunk
    for k in range(first_item, wp.min(first_item + chunk, things)):
        b = item_body[k]
        mine = tree.corners[k]
        # the boxes of both have the reach around them, which is wanted once
        box = Box()
        wide = wp.vec3(reach, reach, reach)
        box.low = tree.item_low[k] + wide
        box.high = tree.item_high[k] - wide
        found = int(0)
        for j in range(wp.min(partners[b], partner_room)):
            other = partner[b * partner_room + j]
            if other >= b:
                found = find_overlaps(
                    tree, other, box.low, box.high, mine[0], mine[1], k + 1, x, x_next, v, radius, ahead[0], reach,
                    found, room, k * room, found_out,
                )  # fmt: skip
        count_out[k] = found
        if found > room:
            full_out[0] = 1
