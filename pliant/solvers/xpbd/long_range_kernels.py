"""Long-range attachments: ways along a cloth to the nearest pins, and what keeps vertices within them."""

import warp as wp

from pliant.solvers.xpbd.constraint_kernels import gap, shift, weight

wp.set_module_options({"enable_backward": False})

ANCHORS = 3
"""Pins that a particle is held to."""
MOST_SWEEPS = wp.constant(4000)


@wp.func
def offer(i: int, anchor: int, way: float, anchors: wp.array(dtype=int), ways: wp.array(dtype=float)) -> int:
    """Take a pin into the sorted list of particle i if the way to it is among the shortest; 1 if it was."""
    last = wp.static(ANCHORS) - 1
    place = int(last)
    for k in range(wp.static(ANCHORS)):
        if anchors[wp.static(ANCHORS) * i + k] == anchor:
            place = k
    at = wp.static(ANCHORS) * i + place
    if way >= ways[at]:
        return 0
    while place > 0 and ways[at - 1] > way:
        anchors[at] = anchors[at - 1]
        ways[at] = ways[at - 1]
        at -= 1
        place -= 1
    anchors[at] = anchor
    ways[at] = way
    return 1


@wp.kernel
def find_ways(
    starts: wp.array(dtype=int),
    items: wp.array(dtype=int),
    lengths: wp.array(dtype=float),
    count: int,
    anchors_inout: wp.array(dtype=int),
    ways_inout: wp.array(dtype=float),
):
    """Shortest ways along edges from every particle to the nearest pins, by sweeps to and fro until nothing changes.

    Runs in one thread: every way depends on those before it. Pins start with themselves and a way of zero.
    """
    changed = int(1)
    sweep = int(0)
    while changed != 0 and sweep < MOST_SWEEPS:
        changed = int(0)
        for k in range(count):
            i = k
            if sweep % 2 == 1:
                i = count - 1 - k
            for n in range(starts[i], starts[i + 1]):
                j = items[n]
                for a in range(wp.static(ANCHORS)):
                    anchor = anchors_inout[wp.static(ANCHORS) * j + a]
                    if anchor >= 0:
                        way = ways_inout[wp.static(ANCHORS) * j + a] + lengths[n]
                        changed += offer(i, anchor, way, anchors_inout, ways_inout)
        sweep += 1


@wp.kernel
def keep_near(
    start: int,
    anchors: wp.array(dtype=int),
    ways: wp.array(dtype=float),
    base: wp.array(dtype=wp.vec4d),
    first: int,
    move_inout: wp.array(dtype=wp.vec4),
):
    """Bring back each particle that is further from a pin than along the cloth; it moves nothing but itself."""
    i = start + wp.tid()
    if weight(base, i) > 0.0:
        for k in range(wp.static(ANCHORS)):
            row = wp.static(ANCHORS) * (i - first) + k
            anchor = anchors[row]
            if anchor >= 0:
                d = gap(base, move_inout, i, anchor)
                length = wp.length(d)
                over = length - ways[row]
                if over > 0.0:
                    shift(move_inout, i, (over / length) * d)
