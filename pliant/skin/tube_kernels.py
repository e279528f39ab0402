"""Device code that places the tubes around rods."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def turned(side: wp.vec3, before: wp.vec3, now: wp.vec3) -> wp.vec3:
    """A vector at a right angle to `before`, turned with it to `now` by the smallest rotation.

    Half a turn is one about the vector itself.
    """
    cosine = wp.dot(before, now)
    found = side
    if cosine > -0.9999:
        found = side - (wp.dot(side, now) / (1.0 + cosine)) * (before + now)
    return wp.normalize(found - wp.dot(found, now) * now)


@wp.kernel
def find_middles(
    start: int,
    spans: wp.array(dtype=wp.vec4i),
    weights: wp.array(dtype=wp.vec4),
    gaps: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    middles_out: wp.array(dtype=wp.vec3),
):
    """The middle of each ring, from the four vertices around it: their differences from the second are weighted.

    Rings within a broken segment are at its ends, and the curve goes straight on where the segment beside is broken.
    See `Tubes.gaps`.
    """
    ring = start + wp.tid()
    span = spans[ring]
    weight = weights[ring]
    gap = gaps[ring]
    base = x[span[1]]
    ahead = x[span[2]] - base
    behind = x[span[0]] - base
    beyond = x[span[3]] - base
    if (gap & 4) != 0:
        behind = -ahead
    if (gap & 8) != 0:
        beyond = 2.0 * ahead
    away = weight[0] * behind + weight[2] * ahead + weight[3] * beyond
    if (gap & 1) != 0:
        away = wp.vec3(0.0, 0.0, 0.0)
    if (gap & 2) != 0:
        away = ahead
    middles_out[ring] = base + away


@wp.kernel
def walk_chains(
    start: int,
    chains: wp.array(dtype=int),
    radius: wp.array(dtype=float),
    first: wp.array(dtype=wp.vec3),
    across: wp.array(dtype=wp.vec3),
    poles: wp.array(dtype=int),
    gaps: wp.array(dtype=int),
    middles: wp.array(dtype=wp.vec3),
    cap: float,
    along_out: wp.array(dtype=wp.vec3),
    across_out: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    normals_out: wp.array(dtype=wp.vec3),
):
    """Carry a frame from ring to ring of each chain without a twist, and place the poles of its ends.

    The first frame is that of rest, turned by the smallest rotation that turns the first segment to where it is now.
    """
    c = start + wp.tid()
    begin = chains[c]
    end = chains[c + 1]
    tangent = first[c]
    side = across[c]
    direction = tangent
    here = middles[begin]
    origin = here
    opening = tangent
    for ring in range(begin, end):
        now = direction
        there = here
        if ring + 1 < end:
            there = middles[ring + 1]
            way = there - here
            size = wp.length(way)
            # nothing leads over a gap
            if size > 0.0 and (gaps[ring] & 1) == 0:
                now = way / size
        mean = now
        opens = int(0)
        if ring > begin:
            opens = gaps[ring - 1] & 2
        if ring > begin and opens == 0:
            mean = direction + now
        size = wp.length(mean)
        if size > 1.0e-6:
            mean = mean / size
        else:
            mean = direction
        side = turned(side, tangent, mean)
        tangent = mean
        direction = now
        along_out[ring] = tangent
        across_out[ring] = side
        if ring == begin:
            opening = tangent
        if ring + 1 < end:
            here = there
    pole = poles[c]
    x_out[pole] = origin - cap * radius[begin] * opening
    normals_out[pole] = -opening
    x_out[pole + 1] = here + cap * radius[end - 1] * tangent
    normals_out[pole + 1] = tangent


@wp.kernel
def place_rings(
    start: int,
    radius: wp.array(dtype=float),
    slots: wp.array(dtype=int),
    circle: wp.array(dtype=wp.vec2),
    gaps: wp.array(dtype=int),
    along: wp.array(dtype=wp.vec3),
    across: wp.array(dtype=wp.vec3),
    middles: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    normals_out: wp.array(dtype=wp.vec3),
):
    """Place the vertices of each ring, and their normals; rings that close an end at a gap are points."""
    ring = start + wp.tid()
    slot = slots[ring]
    centre = middles[ring]
    third = wp.cross(along[ring], across[ring])
    shut = gaps[ring] & 3
    size = radius[ring]
    if shut != 0:
        size = 0.0
    for k in range(circle.shape[0]):
        out = circle[k][0] * across[ring] + circle[k][1] * third
        x_out[slot + k] = centre + size * out
        if shut != 0:
            out = wp.where(shut == 1, along[ring], -along[ring])
        normals_out[slot + k] = out
