"""Boxes of trees on the device."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.struct
class TreeData:
    """Trees of boxes, one for each body, all in one set of arrays.

    Attributes:
        corners, item: particles of each item as it stands in the tree, and its number.
        item_low, item_high: its box [m].
        low, high: box of each node [m].
        first, items: items of a leaf; no items where a node is no leaf.
        last: the end of the items of all leaves below a node.
        skip: where the walk goes on behind all that is below a node. right: its second child.
        roots: first node of each body's tree, and the end.
    """

    corners: wp.array(dtype=wp.vec3i)
    item: wp.array(dtype=int)
    item_low: wp.array(dtype=wp.vec3)
    item_high: wp.array(dtype=wp.vec3)
    low: wp.array(dtype=wp.vec3)
    high: wp.array(dtype=wp.vec3)
    first: wp.array(dtype=int)
    items: wp.array(dtype=int)
    last: wp.array(dtype=int)
    skip: wp.array(dtype=int)
    right: wp.array(dtype=int)
    roots: wp.array(dtype=int)


@wp.struct
class Box:
    """Where something is and will be soon [m]."""

    low: wp.vec3
    high: wp.vec3


@wp.func
def grown(box: Box, x: wp.vec3, x_next: wp.vec3, v: wp.vec3, ahead: float, around: float) -> Box:
    """A box that also holds a particle now, after the step, and a time ahead [s], with a distance around it [m]."""
    then = x + ahead * v
    wide = wp.vec3(around, around, around)
    out = Box()
    out.low = wp.min(box.low, wp.min(wp.min(x, x_next), then) - wide)
    out.high = wp.max(box.high, wp.max(wp.max(x, x_next), then) + wide)
    return out


@wp.func
def no_box() -> Box:
    """A box that holds nothing."""
    out = Box()
    out.low = wp.vec3(1.0e30, 1.0e30, 1.0e30)
    out.high = wp.vec3(-1.0e30, -1.0e30, -1.0e30)
    return out


@wp.func
def apart(low: wp.vec3, high: wp.vec3, box: Box) -> bool:
    """Whether two boxes do not touch."""
    return (
        low[0] > box.high[0]
        or high[0] < box.low[0]
        or low[1] > box.high[1]
        or high[1] < box.low[1]
        or low[2] > box.high[2]
        or high[2] < box.low[2]
    )


@wp.kernel
def box_items(
    start: int,
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    ahead: wp.array(dtype=float),
    reach: float,
    tree_out: TreeData,
):
    """The box of each item."""
    i = start + wp.tid()
    corner = tree_out.corners[i]
    box = no_box()
    for k in range(3):
        p = corner[k]
        box = grown(box, x[p], x_next[p], v[p], ahead[0], radius[p] + reach)
    tree_out.item_low[i] = box.low
    tree_out.item_high[i] = box.high


@wp.kernel
def fit_level(start: int, by_depth: wp.array(dtype=int), tree_inout: TreeData):
    """The boxes of nodes of one level, from what is below them."""
    node = by_depth[start + wp.tid()]
    low = wp.vec3(1.0e30, 1.0e30, 1.0e30)
    high = wp.vec3(-1.0e30, -1.0e30, -1.0e30)
    count = tree_inout.items[node]
    if count > 0:
        first = tree_inout.first[node]
        for i in range(first, first + count):
            low = wp.min(low, tree_inout.item_low[i])
            high = wp.max(high, tree_inout.item_high[i])
    else:
        right = tree_inout.right[node]
        low = wp.min(tree_inout.low[node + 1], tree_inout.low[right])
        high = wp.max(tree_inout.high[node + 1], tree_inout.high[right])
    tree_inout.low[node] = low
    tree_inout.high[node] = high
