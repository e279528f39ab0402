"""Kernels of the ray caster: corner normals, what a pixel sees, what light reaches it, its colour.

A picture takes two passes over its pixels. `trace` shoots one ray through the middle of a pixel and, where
it lands, a few to points of the lamp and over the hemisphere; which ones repeats every 4 x 4 pixels. `resolve`
averages those answers over 4 x 4 neighbours on the same surface, so that a pixel is lit as if by sixteen times
the rays, without noise; and it shoots more rays through the pixels that an edge crosses, and only there.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})

SKY = wp.constant(-1)
GROUND = wp.constant(-2)
FAR = wp.constant(1.0e8)


@wp.struct
class View:
    """The camera, with `right` and `up` reaching from the middle of the picture at distance 1 to its edges."""

    origin: wp.vec3
    forward: wp.vec3
    right: wp.vec3
    up: wp.vec3
    width: int
    height: int
    row_stride: int  # coprime to height: spreads the costly rows over the CPU threads
    pixel: float  # width of a pixel at distance 1


@wp.struct
class Stage:
    """Light, ground and the lengths that go with the size of the scene."""

    light: wp.vec3  # unit vector towards the lamp
    light_u: wp.vec3  # two vectors across, as long as the lamp's radius at distance 1
    light_v: wp.vec3
    center: wp.vec3  # the ground fades out around this point
    ground: float  # height [m]
    has_ground: int
    reach: float  # how far bodies darken their surroundings [m]
    bias: float  # how far from a surface a ray starts [m]
    tile: float  # side of a tile on the ground [m]
    fade: float  # distance at which the ground has faded into the background [m]
    wireframe: int
    lamp_rays: int
    ambient_rays: int


@wp.struct
class Surface:
    """The triangles of every body."""

    mesh: wp.uint64
    x: wp.array(dtype=wp.vec3)
    triangles: wp.array(dtype=int)  # (3 m,)
    normals: wp.array(dtype=wp.vec3)  # (3 m,), one per corner
    colors: wp.array(dtype=wp.vec3)  # (m,), linear


@wp.struct
class Hit:
    """What a ray met: a triangle, GROUND or SKY."""

    face: int
    distance: float
    p: wp.vec3
    n: wp.vec3  # interpolated normal on the side of the eye
    start: wp.vec3  # where rays that leave the surface begin
    u: float
    v: float


@wp.kernel
def face_normals(
    start: int, x: wp.array(dtype=wp.vec3), triangles: wp.array(dtype=int), area_normal_out: wp.array(dtype=wp.vec3)
):
    """Normal of each triangle, as long as twice its area."""
    i = start + wp.tid()
    a = x[triangles[3 * i]]
    area_normal_out[i] = wp.cross(x[triangles[3 * i + 1]] - a, x[triangles[3 * i + 2]] - a)


@wp.kernel
def corner_normals(
    start: int,
    triangles: wp.array(dtype=int),
    first: wp.array(dtype=int),
    around: wp.array(dtype=int),
    area_normal: wp.array(dtype=wp.vec3),
    crease_low: float,
    crease_high: float,
    normal_out: wp.array(dtype=wp.vec3),
):
    """Area-weighted normal of each triangle's corner, over the triangles around its vertex.

    A neighbour counts fully where the cosine of the angle to it is above `crease_high`, not at all below
    `crease_low` and smoothly in between: a box keeps its edges, and a fold opens without a jump.
    """
    i = start + wp.tid()
    vertex = triangles[i]
    mine = wp.normalize(area_normal[i // 3])
    total = wp.vec3()
    for k in range(first[vertex], first[vertex + 1]):
        other = area_normal[around[k]]
        t = (wp.dot(wp.normalize(other), mine) - crease_low) / (crease_high - crease_low)
        t = wp.clamp(t, 0.0, 1.0)
        total += other * (t * t * (3.0 - 2.0 * t))
    if wp.length_sq(total) > 0.0:
        normal_out[i] = wp.normalize(total)
    else:
        normal_out[i] = mine


@wp.func
def view_ray(view: View, px: float, py: float):
    """Unit direction through a point of the picture, in pixels from its top left corner."""
    sx = 2.0 * px / float(view.width) - 1.0
    sy = 1.0 - 2.0 * py / float(view.height)
    return wp.normalize(view.forward + sx * view.right + sy * view.up)


@wp.func
def cast(surface: Surface, stage: Stage, origin: wp.vec3, direction: wp.vec3):
    """The nearest thing along a ray."""
    hit = Hit()
    hit.face = SKY
    hit.distance = FAR
    if stage.has_ground != 0 and direction[1] < -1.0e-6 and origin[1] > stage.ground:
        hit.face = GROUND
        hit.distance = (stage.ground - origin[1]) / direction[1]
    query = wp.mesh_query_ray(surface.mesh, origin, direction, hit.distance)
    if query.result:
        hit.face = query.face
        hit.distance = query.t
        hit.u = query.u
        hit.v = query.v
    hit.p = origin + hit.distance * direction
    if hit.face == GROUND:
        hit.n = wp.vec3(0.0, 1.0, 0.0)
        hit.start = hit.p + stage.bias * hit.n
    if hit.face >= 0:
        c = 3 * hit.face
        a = surface.x[surface.triangles[c]]
        b = surface.x[surface.triangles[c + 1]]
        d = surface.x[surface.triangles[c + 2]]
        flat = wp.normalize(wp.cross(b - a, d - a))
        side = float(1.0)
        if wp.dot(flat, direction) > 0.0:
            side = float(-1.0)
        na = side * surface.normals[c]
        nb = side * surface.normals[c + 1]
        nd = side * surface.normals[c + 2]
        w = 1.0 - hit.u - hit.v
        n = wp.normalize(hit.u * na + hit.v * nb + w * nd)
        if wp.length_sq(n) < 0.5:
            n = side * flat
        hit.n = n
        # Rays that leave a coarse triangle start on the smooth surface it stands for, or its flat side
        # would shade itself (J. Hanika, Hacking the Shadow Terminator, Ray Tracing Gems II, 2021, eq. 1-3).
        lift = hit.u * wp.min(0.0, wp.dot(hit.p - a, na)) * na
        lift += hit.v * wp.min(0.0, wp.dot(hit.p - b, nb)) * nb
        lift += w * wp.min(0.0, wp.dot(hit.p - d, nd)) * nd
        hit.start = hit.p - lift + stage.bias * (side * flat)
    return hit


@wp.func
def incoming(
    surface: Surface,
    stage: Stage,
    hit: Hit,
    slot: int,
    lamp: wp.array(dtype=wp.vec2),
    dome: wp.array(dtype=wp.vec3),
):
    """How much of the lamp (x) and of the surroundings (y) reaches a point, each 0 to 1, by one slot of 16."""
    lit = float(0.0)
    if wp.dot(hit.n, stage.light) > -0.15:
        for k in range(stage.lamp_rays):
            s = lamp[slot * stage.lamp_rays + k]
            toward = wp.normalize(stage.light + s[0] * stage.light_u + s[1] * stage.light_v)
            if not wp.mesh_query_ray_anyhit(surface.mesh, hit.start, toward, FAR):
                lit += 1.0
    n = hit.n
    # A basis around the normal without a square root (T. Duff et al., JCGT 6(1), 2017).
    sign = float(1.0)
    if n[2] < 0.0:
        sign = float(-1.0)
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    tangent = wp.vec3(1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0])
    across = wp.vec3(b, sign + n[1] * n[1] * a, -n[1])
    blocked = float(0.0)
    for k in range(stage.ambient_rays):
        d = dome[slot * stage.ambient_rays + k]
        query = wp.mesh_query_ray(surface.mesh, hit.start, d[0] * tangent + d[1] * across + d[2] * n, stage.reach)
        if query.result:
            near = 1.0 - query.t / stage.reach
            blocked += near * (2.0 - near)
    return wp.vec2(lit / float(stage.lamp_rays), 1.0 - blocked / float(stage.ambient_rays))


@wp.func
def background(direction: wp.vec3):
    """The studio's wall: bright at the horizon, cooler and darker above (linear colour)."""
    t = wp.clamp(wp.max(1.4 * direction[1], -0.25 * direction[1]), 0.0, 1.0)
    t = t * (2.0 - t)
    return wp.lerp(wp.vec3(0.84, 0.86, 0.88), wp.vec3(0.40, 0.50, 0.63), t)


@wp.func
def covered(center: float, width: float):
    """Signed share of a strip of `width` around `center` that lies on even rather than on odd tiles."""
    low = (center - 0.5 * width) * 0.5
    high = (center + 0.5 * width) * 0.5
    low = wp.abs(low - wp.floor(low) - 0.5)
    high = wp.abs(high - wp.floor(high) - 0.5)
    return 2.0 * (low - high) / width


@wp.func
def ground_albedo(stage: Stage, p: wp.vec3, direction: wp.vec3, footprint: float):
    """Two shades in a checkerboard, averaged over what the pixel covers: no edge to alias."""
    steep = wp.max(-direction[1], 1.0e-3)
    long = footprint * (1.0 / steep - 1.0)
    wx = (footprint + long * wp.abs(direction[0])) / stage.tile
    wz = (footprint + long * wp.abs(direction[2])) / stage.tile
    even = covered(p[0] / stage.tile, wx) * covered(p[2] / stage.tile, wz)
    return wp.vec3(0.66, 0.67, 0.69) + 0.035 * even * wp.vec3(1.0, 1.0, 1.0)


@wp.func
def line_cover(surface: Surface, hit: Hit, footprint: float):
    """How much of a pixel the edges of its triangle cover, 0 to 1."""
    c = 3 * hit.face
    a = surface.x[surface.triangles[c]]
    b = surface.x[surface.triangles[c + 1]]
    d = surface.x[surface.triangles[c + 2]]
    double_area = wp.length(wp.cross(b - a, d - a))
    # A corner's weight times its height over the opposite edge is the distance to that edge.
    near = hit.u * double_area / wp.max(wp.length(d - b), 1.0e-12)
    near = wp.min(near, hit.v * double_area / wp.max(wp.length(a - d), 1.0e-12))
    near = wp.min(near, (1.0 - hit.u - hit.v) * double_area / wp.max(wp.length(b - a), 1.0e-12))
    return wp.clamp(1.2 - near / footprint, 0.0, 1.0)


@wp.func
def shade(surface: Surface, stage: Stage, view: View, hit: Hit, light: wp.vec2, direction: wp.vec3):
    """Linear colour of what a ray met; `light` as from `incoming`."""
    if hit.face == SKY:
        return background(direction)
    footprint = view.pixel * hit.distance
    facing = wp.max(wp.dot(hit.n, stage.light), 0.0) * light[0]
    key = wp.vec3(1.02, 0.98, 0.92) * facing
    up = 0.5 + 0.5 * hit.n[1]
    if hit.face == GROUND:
        ambient = wp.vec3(0.37, 0.40, 0.44) * (0.12 + 0.88 * light[1] * light[1])
        color = wp.cw_mul(ground_albedo(stage, hit.p, direction, footprint), key * 0.92 + ambient)
        away = wp.length(wp.vec2(hit.p[0] - stage.center[0], hit.p[2] - stage.center[2])) / stage.fade
        left = wp.exp(-away * away)
        return wp.lerp(background(direction), color, left)
    albedo = surface.colors[hit.face]
    if stage.wireframe != 0:
        albedo = wp.lerp(albedo, wp.vec3(0.015, 0.018, 0.025), 0.85 * line_cover(surface, hit, footprint))
    ambient = wp.lerp(wp.vec3(0.30, 0.285, 0.27), wp.vec3(0.44, 0.48, 0.55), up) * light[1]
    if stage.has_ground != 0:
        # Where a body nearly touches the ground, the ground below lies in its shadow and reflects little.
        height = wp.max(hit.p[1] - stage.ground, 0.0)
        ambient *= 1.0 - 0.7 * (1.0 - up) * wp.exp(-3.0 * height / stage.reach)
    color = wp.cw_mul(albedo, key * 0.95 + ambient)
    half = wp.normalize(stage.light - direction)
    color += wp.vec3(1.0, 0.98, 0.95) * (0.20 * facing * wp.pow(wp.max(wp.dot(hit.n, half), 0.0), 60.0))
    # A thin coat that mirrors the surroundings at a grazing view.
    cosine = wp.clamp(-wp.dot(hit.n, direction), 0.0, 1.0)
    grazing = 1.0 - cosine
    fresnel = 0.03 + 0.30 * grazing * grazing * grazing * grazing
    mirrored = direction + 2.0 * cosine * hit.n
    sheen = background(mirrored) * (0.45 + 0.55 * wp.smoothstep(-0.3, 0.3, mirrored[1]))
    return color + sheen * (fresnel * light[1])


@wp.func
def pixel_of(view: View, item: int):
    """The pixel that an item of a launch stands for: whole rows, in a scattered order."""
    row = (item // view.width) * view.row_stride % view.height
    return row * view.width + item % view.width


@wp.kernel
def trace(
    start: int,
    surface: Surface,
    stage: Stage,
    view: View,
    lamp: wp.array(dtype=wp.vec2),
    dome: wp.array(dtype=wp.vec3),
    hit_out: wp.array(dtype=Hit),
    light_out: wp.array(dtype=wp.vec2),
):
    """One ray through the middle of each pixel, and the light that reaches what it met by one slot of 16."""
    i = pixel_of(view, start + wp.tid())
    px = i % view.width
    py = i // view.width
    direction = view_ray(view, float(px) + 0.5, float(py) + 0.5)
    hit = cast(surface, stage, view.origin, direction)
    hit_out[i] = hit
    light = wp.vec2(1.0, 1.0)
    if hit.face != SKY:
        light = incoming(surface, stage, hit, (py % 4) * 4 + px % 4, lamp, dome)
    light_out[i] = light


@wp.func
def alike(view: View, hit: Hit, other: Hit, cosine: float):
    """Whether two points lie on one smooth piece of surface."""
    same = (hit.face >= 0 and other.face >= 0) or hit.face == other.face
    if not same or hit.face == SKY:
        return same
    if hit.face == GROUND:
        return True
    if wp.dot(hit.n, other.n) < cosine:
        return False
    return wp.abs(wp.dot(other.p - hit.p, hit.n)) < 4.0 * view.pixel * hit.distance


@wp.func
def gather_light(
    surface: Surface,
    stage: Stage,
    view: View,
    hit: Hit,
    px: int,
    py: int,
    hits: wp.array(dtype=Hit),
    lights: wp.array(dtype=wp.vec2),
    lamp: wp.array(dtype=wp.vec2),
    dome: wp.array(dtype=wp.vec3),
):
    """The light at a point as the mean over the pixels around it that see the same surface.

    Five by five, the outer ones at half weight: every slot of the 4 x 4 pattern counts equally.
    """
    total = wp.vec2()
    weights = float(0.0)
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            qx = px + dx
            qy = py + dy
            if qx >= 0 and qy >= 0 and qx < view.width and qy < view.height:
                j = qy * view.width + qx
                if alike(view, hit, hits[j], 0.8):
                    w = float(1.0)
                    if wp.abs(dx) == 2:
                        w *= 0.5
                    if wp.abs(dy) == 2:
                        w *= 0.5
                    total += w * lights[j]
                    weights += w
    if weights >= 2.0:
        return total / weights
    # Too thin a sliver to have neighbours: ask for itself.
    for k in range(4):
        total += incoming(surface, stage, hit, (5 * k + px + py) % 16, lamp, dome)
        weights += 1.0
    return total / weights


@wp.func
def to_byte(value: float):
    """Linear light to a byte of sRGB, with a soft shoulder in place of a hard clip."""
    c = wp.max(value, 0.0)
    if c > 0.8:
        c = 1.0 - 0.2 * wp.exp((0.8 - c) * 5.0)
    return wp.uint8(int(255.0 * wp.pow(c, 1.0 / 2.2) + 0.5))


@wp.kernel
def resolve(
    start: int,
    surface: Surface,
    stage: Stage,
    view: View,
    samples: int,
    lamp: wp.array(dtype=wp.vec2),
    dome: wp.array(dtype=wp.vec3),
    hits: wp.array(dtype=Hit),
    lights: wp.array(dtype=wp.vec2),
    image_out: wp.array(dtype=wp.uint8),
):
    """Colour of each pixel; samples x samples rays where an edge passes through it or its neighbours."""
    i = pixel_of(view, start + wp.tid())
    px = i % view.width
    py = i // view.width
    hit = hits[i]
    edge = bool(False)
    if samples > 1:
        for k in range(9):
            qx = px + k % 3 - 1
            qy = py + k // 3 - 1
            if qx >= 0 and qy >= 0 and qx < view.width and qy < view.height:
                other = hits[qy * view.width + qx]
                if not alike(view, hit, other, 0.9):
                    edge = True
                elif hit.face >= 0:
                    if wp.length_sq(surface.colors[hit.face] - surface.colors[other.face]) > 1.0e-4:
                        edge = True
    color = wp.vec3()
    if not edge:
        light = wp.vec2(1.0, 1.0)
        if hit.face != SKY:
            light = gather_light(surface, stage, view, hit, px, py, hits, lights, lamp, dome)
        color = shade(surface, stage, view, hit, light, view_ray(view, float(px) + 0.5, float(py) + 0.5))
    else:
        for k in range(samples * samples):
            # Rows shifted against each other, so that an upright edge meets as many steps as samples^2.
            sx = (float(k % samples) + (float(k // samples) + 0.5) / float(samples)) / float(samples)
            sy = (float(k // samples) + (float(k % samples) + 0.5) / float(samples)) / float(samples)
            direction = view_ray(view, float(px) + sx, float(py) + sy)
            sample = cast(surface, stage, view.origin, direction)
            light = wp.vec2(1.0, 1.0)
            if sample.face != SKY:
                light = gather_light(surface, stage, view, sample, px, py, hits, lights, lamp, dome)
            color += shade(surface, stage, view, sample, light, direction)
        color /= float(samples * samples)
    image_out[3 * i] = to_byte(color[0])
    image_out[3 * i + 1] = to_byte(color[1])
    image_out[3 * i + 2] = to_byte(color[2])
