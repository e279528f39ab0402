"""An octree without pointers: cells in the order of their codes, and a walk that skips what is not touched."""

import warp as wp

from pliant.collide.soft.tree_kernels import Box, apart, no_box

wp.set_module_options({"enable_backward": False})

DEPTH = 16
"""Times that space is cut into eight."""
LEVEL_BITS = 5
"""Bits of a key behind the code of its cell."""
RUN = 64
"""Boxes that one thread joins."""

_DEPTH = wp.constant(DEPTH)
_SHIFT = wp.constant(wp.int64(LEVEL_BITS))
_LEVEL_MASK = wp.constant(wp.int64(2**LEVEL_BITS - 1))
_RUN = wp.constant(RUN)


@wp.struct
class OctreeData:
    """Boxes in an octree.

    Attributes:
        count: number of boxes.
        low, high: of each box [m].
        cell: the lowest corner of its cell, in cells of the last level.
        key, item: sorted: the code of that corner with the level of the cell behind it, and the number of the box.
        corner, width, slack: of the cube that is cut [m], and what rounding may change of its cells.
    """

    count: int
    low: wp.array(dtype=wp.vec3)
    high: wp.array(dtype=wp.vec3)
    cell: wp.array(dtype=wp.vec3i)
    key: wp.array(dtype=wp.int64)
    item: wp.array(dtype=int)
    corner: wp.array(dtype=wp.vec3)
    width: wp.array(dtype=float)
    slack: wp.array(dtype=float)


@wp.kernel
def join_runs(
    start: int,
    low: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
    count: int,
    low_out: wp.array(dtype=wp.vec3),
    high_out: wp.array(dtype=wp.vec3),
):
    """A box around each run of boxes."""
    k = start + wp.tid()
    box = no_box()
    for i in range(k * _RUN, wp.min((k + 1) * _RUN, count)):
        box.low = wp.min(box.low, low[i])
        box.high = wp.max(box.high, high[i])
    low_out[k] = box.low
    high_out[k] = box.high


@wp.kernel
def place_root(low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), tree_out: OctreeData):
    """The cube that is cut: it has all boxes in it."""
    size = high[0] - low[0]
    far = wp.max(wp.max(wp.abs(low[0])), wp.max(wp.abs(high[0])))
    tree_out.corner[0] = low[0]
    tree_out.width[0] = wp.max(wp.max(size), 1.0e-30)
    tree_out.slack[0] = 1.0e-6 * far


@wp.func
def spread(value: int) -> wp.int64:
    """The bits of a number below 2^21, with two empty ones between them."""
    v = wp.int64(value)
    v = (v | (v << wp.int64(32))) & wp.int64(0x1F00000000FFFF)
    v = (v | (v << wp.int64(16))) & wp.int64(0x1F0000FF0000FF)
    v = (v | (v << wp.int64(8))) & wp.int64(0x100F00F00F00F00F)
    v = (v | (v << wp.int64(4))) & wp.int64(0x10C30C30C30C30C3)
    return (v | (v << wp.int64(2))) & wp.int64(0x1249249249249249)


@wp.kernel
def place_boxes(start: int, tree_out: OctreeData):
    """The cell of each box: the smallest that is no narrower than the sphere around the box, with its middle in it."""
    i = start + wp.tid()
    low = tree_out.low[i]
    high = tree_out.high[i]
    across = wp.length(high - low)
    width = tree_out.width[0]
    level = int(0)
    while level < _DEPTH and 0.5 * width >= across:
        width = 0.5 * width
        level += 1
    cell = wp.vec3i(0, 0, 0)
    code = wp.int64(0)
    side = 1 << level
    for a in range(3):
        place = (0.5 * (low[a] + high[a]) - tree_out.corner[0][a]) / width
        cell[a] = wp.clamp(int(wp.clamp(place, 0.0, float(side))), 0, side - 1) << (_DEPTH - level)
        code = code | (spread(cell[a]) << wp.int64(a))
    tree_out.cell[i] = cell
    tree_out.key[i] = (code << _SHIFT) | wp.int64(level)
    tree_out.item[i] = i


@wp.func
def is_touched(tree: OctreeData, cell: wp.vec3i, level: int, box: Box) -> bool:
    """Whether what has its middle in a cell may touch a box: it reaches half the cell's width beyond the cell."""
    if level == 0:
        return True
    width = tree.width[0] / float(1 << level)
    wide = 0.5 * width + tree.slack[0]
    shift = _DEPTH - level
    low = tree.corner[0] + width * wp.vec3(float(cell[0] >> shift), float(cell[1] >> shift), float(cell[2] >> shift))
    around = wp.vec3(wide, wide, wide)
    return not apart(low - around, low + wp.vec3(width, width, width) + around, box)


@wp.func
def first_from(key: wp.array(dtype=wp.int64), begin: int, end: int, least: wp.int64) -> int:
    """The first place from `begin` on whose key is no less; `end` if there is none."""
    low = begin
    high = end
    while low < high:
        middle = (low + high) // 2
        if key[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@wp.kernel
def find_boxes(
    start: int,
    tree: OctreeData,
    room: int,
    found_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """The other boxes that touch each box, in the order of their cells.

    The walk goes through the boxes in that order. Before one is looked at, the cells around it are, from the widest to
    its own, as far as they are not those of the box before; what lies in one that is not touched is skipped.
    """
    b = start + wp.tid()
    box = Box()
    box.low = tree.low[b]
    box.high = tree.high[b]
    found = int(0)
    at = int(0)
    last = wp.int64(0)
    passed = int(0)
    if box.low[0] > box.high[0]:
        at = tree.count
    while at < tree.count:
        key = tree.key[at]
        item = tree.item[at]
        level = int(key & _LEVEL_MASK)
        code = key >> _SHIFT
        # cells that hold the last code are touched down to the level `passed`: where they hold this one too, no look
        shared = wp.min(passed, level)
        while shared > 0 and ((code ^ last) >> wp.int64(3 * (_DEPTH - shared))) != wp.int64(0):
            shared -= 1
        passed = shared
        while passed < level and is_touched(tree, tree.cell[item], passed + 1, box):
            passed += 1
        last = code
        if passed < level:
            bits = wp.int64(3 * (_DEPTH - passed - 1))
            behind = ((code >> bits) + wp.int64(1)) << bits
            at = first_from(tree.key, at + 1, tree.count, behind << _SHIFT)
        else:
            if item != b and not apart(tree.low[item], tree.high[item], box):
                if found < room:
                    found_out[b * room + found] = item
                found += 1
            at += 1
    count_out[b] = found
    if found > room:
        full_out[0] = 1
