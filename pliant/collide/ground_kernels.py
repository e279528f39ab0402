"""Contacts of particles with the ground of a heightmap."""

import warp as wp

from pliant.physics.contact import PlaneData

wp.set_module_options({"enable_backward": False})

# A foot of the local normal that is still below the surface by this share of a cell is looked for straight above.
FOOT_TOLERANCE = wp.constant(1.0e-4)
FOOT_STEPS = wp.constant(6)
# A way is looked at every half cell, but at no more places than this, and halved so often where it goes in.
MOST_PLACES = wp.constant(64)
HALVINGS = wp.constant(8)
# What is below ground leaves along the normal there, unless it went in at a slope that faces another way (cosine).
SAME_WAY = wp.constant(0.5)


@wp.struct
class MapData:
    """Where the grid of a heightmap lies, as the kernels see it."""

    corner_x: float
    corner_z: float
    cell_x: float
    cell_z: float
    rows: int
    columns: int
    extend: int
    friction: float
    static_friction: float
    restitution: float
    margin: float


@wp.struct
class Ground:
    """Height [m] and slopes at a place, and whether there is ground at all."""

    height: float
    slope_x: float
    slope_z: float
    found: int


@wp.func
def ground_at(data: MapData, heights: wp.array2d(dtype=float), p: wp.vec3) -> Ground:
    """The bilinear ground below or above a point."""
    raw_u = (p[0] - data.corner_x) / data.cell_x
    raw_w = (p[2] - data.corner_z) / data.cell_z
    last_u = float(data.columns - 1)
    last_w = float(data.rows - 1)
    place_u = wp.clamp(raw_u, 0.0, last_u)
    place_w = wp.clamp(raw_w, 0.0, last_w)
    # clamped as whole numbers too: a position that is not finite must not read outside the grid
    j = wp.clamp(int(place_u), 0, data.columns - 2)
    i = wp.clamp(int(place_w), 0, data.rows - 2)
    u = place_u - float(j)
    w = place_w - float(i)
    a = heights[i, j]
    b = heights[i, j + 1]
    c = heights[i + 1, j]
    d = heights[i + 1, j + 1]
    ground = Ground()
    ground.height = (a * (1.0 - u) + b * u) * (1.0 - w) + (c * (1.0 - u) + d * u) * w
    ground.slope_x = ((b - a) * (1.0 - w) + (d - c) * w) / data.cell_x
    ground.slope_z = ((c - a) * (1.0 - u) + (d - b) * u) / data.cell_z
    ground.found = 1
    if raw_u != place_u:
        ground.slope_x = 0.0
        ground.found = data.extend
    if raw_w != place_w:
        ground.slope_z = 0.0
        ground.found = data.extend
    return ground


@wp.func
def way_out(data: MapData, heights: wp.array2d(dtype=float), p: wp.vec3, normal: wp.vec3, depth: float) -> float:
    """How far along the normal a point below the surface must go to be above it [m]; negative if that is not found.

    The first guess is the depth below the tangent plane; where the ground curves up, Newton's method goes on.
    """
    way = float(depth)
    slack = FOOT_TOLERANCE * wp.min(data.cell_x, data.cell_z)
    for _ in range(FOOT_STEPS):
        foot = p + way * normal
        ground = ground_at(data, heights, foot)
        below = ground.height - foot[1]
        gain = normal[1] - ground.slope_x * normal[0] - ground.slope_z * normal[2]
        if below > 0.0 and gain > 0.05:
            way += below / gain
    foot = p + way * normal
    ground = ground_at(data, heights, foot)
    if ground.found == 0 or ground.height - foot[1] > slack or way > 4.0 * depth:
        way = -1.0
    return way


@wp.func
def facing_at(data: MapData, heights: wp.array2d(dtype=float), p: wp.vec3) -> wp.vec3:
    """The normal of the ground below or above a point."""
    ground = ground_at(data, heights, p)
    return wp.normalize(wp.vec3(-ground.slope_x, 1.0, -ground.slope_z))


@wp.func
def is_below(data: MapData, heights: wp.array2d(dtype=float), p: wp.vec3) -> bool:
    ground = ground_at(data, heights, p)
    return ground.found != 0 and ground.height > p[1]


@wp.func
def entry_share(data: MapData, heights: wp.array2d(dtype=float), before: wp.vec3, p: wp.vec3) -> wp.vec2:
    """Shares of a way just before and after it goes below ground; 1 if it does not, or is too short to pass a ridge."""
    way = p - before
    along = wp.max(wp.abs(way[0]) / data.cell_x, wp.abs(way[2]) / data.cell_z)
    share = wp.vec2(1.0, 1.0)
    # written so that a way that is not finite is not looked at
    if along > 0.5 and along < 1.0e6:
        if not is_below(data, heights, before):
            places = wp.min(int(2.0 * along) + 1, MOST_PLACES)
            high = float(2.0)
            low = float(0.0)
            for k in range(1, places + 1):
                if high > 1.0:
                    here = float(k) / float(places)
                    if is_below(data, heights, before + here * way):
                        high = here
                    else:
                        low = here
            if high <= 1.0:
                for _ in range(HALVINGS):
                    middle = 0.5 * (low + high)
                    if is_below(data, heights, before + middle * way):
                        high = middle
                    else:
                        low = middle
                share = wp.vec2(low, high)
    return share


@wp.kernel
def detect_ground(
    start: int,
    data: MapData,
    heights: wp.array2d(dtype=float),
    radius: wp.array(dtype=float),
    before: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    slot: int,
    slots: int,
    margin: float,
    surface_out: wp.array(dtype=PlaneData),
    depth_out: wp.array(dtype=float),
):
    i = start + wp.tid()
    p = x[i]
    ground = ground_at(data, heights, p)
    normal = wp.normalize(wp.vec3(-ground.slope_x, 1.0, -ground.slope_z))
    depth = (ground.height - p[1]) * normal[1]
    row = i * slots + slot
    off = radius[i] + data.margin
    way = p - before[i]
    share = entry_share(data, heights, before[i], p)
    passed = bool(False)
    if share[0] < 1.0:
        at = before[i] + share[0] * way
        facing = facing_at(data, heights, before[i] + share[1] * way)
        below = wp.dot(facing, at - p)
        clear = ground.found == 0 or depth <= 0.0
        if below > 0.0 and (clear or wp.dot(facing, normal) < SAME_WAY):
            passed = True
            normal = facing
            depth = below
        if depth > 0.0:
            # what is put back along this slope may be behind a ridge that it meets on its way there
            lift = FOOT_TOLERANCE * wp.min(data.cell_x, data.cell_z) * normal
            end = p + depth * normal + lift
            slid = entry_share(data, heights, at + lift, end)
            if slid[0] < 1.0:
                along = end - at - lift
                stop = at + lift + slid[0] * along
                if wp.dot(facing_at(data, heights, at + lift + slid[1] * along), normal) < SAME_WAY:
                    passed = True
                    depth = wp.length(stop - p)
                    normal = (stop - p) / depth
    if passed or (ground.found != 0 and depth >= -margin - off):
        if depth > 0.0 and not passed:
            depth = way_out(data, heights, p, normal, depth)
            if depth < 0.0:
                # the normal leads under another slope or off the map: straight up there is always a way out
                normal = wp.vec3(0.0, 1.0, 0.0)
                depth = ground.height - p[1]
        plane = PlaneData()
        plane.normal = normal
        plane.offset = wp.dot(normal, p) + depth + off
        plane.friction = data.friction
        plane.static_friction = data.static_friction
        plane.restitution = data.restitution
        surface_out[row] = plane
        depth_out[row] = wp.max(depth + off, 0.0)
    else:
        depth_out[row] = -1.0
