"""Which springs break: those stretched beyond what they stand, one at a time in each neighbourhood."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def better(a: int, b: int, over: wp.array(dtype=float)) -> int:
    """The one of two springs that is further beyond its limit; of equals the first; -1 is none."""
    if b < 0:
        return a
    if a < 0:
        return b
    if over[b] > over[a]:
        return b
    if over[b] == over[a]:
        return wp.min(a, b)
    return a


@wp.kernel
def measure_springs(
    start: int,
    pairs: wp.array(dtype=wp.vec2i),
    longest: wp.array(dtype=float),
    broken: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    over_out: wp.array(dtype=float),
):
    """Length of each spring over its longest, zero where it may stay; one without a longest length never breaks."""
    s = start + wp.tid()
    over = float(0.0)
    if broken[s] == 0.0 and longest[s] > 0.0:
        pair = pairs[s]
        ratio = wp.length(x[pair[1]] - x[pair[0]]) / longest[s]
        if ratio > 1.0:
            over = ratio
    over_out[s] = over


@wp.kernel
def worst_around(
    start: int,
    starts: wp.array(dtype=int),
    spring: wp.array(dtype=int),
    over: wp.array(dtype=float),
    worst_out: wp.array(dtype=int),
):
    """The spring at each particle that is furthest beyond its limit; -1 for none."""
    i = start + wp.tid()
    worst = int(-1)
    for k in range(starts[i], starts[i + 1]):
        if over[spring[k]] > 0.0:
            worst = better(worst, spring[k], over)
    worst_out[i] = worst


@wp.kernel
def spread_worst(
    start: int,
    starts: wp.array(dtype=int),
    other: wp.array(dtype=int),
    over: wp.array(dtype=float),
    worst: wp.array(dtype=int),
    worst_out: wp.array(dtype=int),
):
    """The worst spring one particle further around."""
    i = start + wp.tid()
    found = worst[i]
    for k in range(starts[i], starts[i + 1]):
        found = better(found, worst[other[k]], over)
    worst_out[i] = found


@wp.kernel
def flag_springs(
    start: int,
    pairs: wp.array(dtype=wp.vec2i),
    over: wp.array(dtype=float),
    worst: wp.array(dtype=int),
    broken_inout: wp.array(dtype=float),
    changed_out: wp.array(dtype=int),
):
    """Break the springs that are the worst in their neighbourhood, for good.

    Whoever writes `changed` writes the same, so it does not matter who comes last.
    """
    s = start + wp.tid()
    pair = pairs[s]
    if over[s] > 0.0 and worst[pair[0]] == s and worst[pair[1]] == s:
        broken_inout[s] = 1.0
        changed_out[0] = 1
