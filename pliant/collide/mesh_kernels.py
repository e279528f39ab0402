"""Contacts of particles with a triangle mesh, found in the mesh's own frame."""

import warp as wp

from pliant.collide.pose_kernels import Pose, own_place, own_place_before, velocity_at
from pliant.physics.contact import PlaneData

wp.set_module_options({"enable_backward": False})

# How a mesh tells its inside: it has none, by the normals at the nearest point, or by the winding number.
SHELL = wp.constant(0)
NORMALS = wp.constant(1)
WINDING = wp.constant(2)
# A nearest point with less of a corner's share than this lies on the edge across from it.
ON_EDGE = wp.constant(1.0e-5)
# What is nearer to the surface than this share of the mesh's extent gets the normal of the surface there.
TOUCHING = wp.constant(1.0e-5)
# A contact from where a particle went in gives way to the nearest one if their normals are closer than this (cosine).
SAME_WAY = wp.constant(0.5)
# How often what slides along a mesh may be turned aside in a step, before it stops.
TURNS = wp.constant(8)
# A surface that a way meets at a flatter angle than this (its sine) does not stop it.
FLATTEST = wp.constant(1.0e-3)


@wp.struct
class MeshData:
    """A mesh as the kernels see it, in its own frame.

    half is half the thickness of a shell [m], cell_half half the diagonal of a cell of the grid of distances [m].
    """

    id: wp.uint64
    low: wp.vec3
    high: wp.vec3
    extent: float
    sign: int
    half: float
    cell_half: float
    deforms: int
    friction: float
    static_friction: float
    restitution: float
    margin: float


@wp.struct
class Near:
    """The nearest point of the surface, the normal out of the solid there, and the signed distance [m]."""

    point: wp.vec3
    normal: wp.vec3
    distance: float
    face: int
    u: float
    v: float
    found: int


@wp.func
def normal_at(normals: wp.array2d(dtype=wp.vec3), face: int, u: float, v: float) -> wp.vec3:
    """The angle-weighted normal of the face, edge or corner at a point, whose sign is exact for closed surfaces
    (Baerentzen and Aanaes 2005, Signed distance computation using the angle weighted pseudonormal)."""
    w = 1.0 - u - v
    place = int(0)
    if u >= 1.0 - ON_EDGE:
        place = 1
    elif v >= 1.0 - ON_EDGE:
        place = 2
    elif w >= 1.0 - ON_EDGE:
        place = 3
    elif w <= ON_EDGE:
        place = 4
    elif u <= ON_EDGE:
        place = 5
    elif v <= ON_EDGE:
        place = 6
    return normals[face, place]


@wp.func
def nearest(data: MeshData, normals: wp.array2d(dtype=wp.vec3), p: wp.vec3, farthest: float) -> Near:
    """The nearest point of the surface within a distance [m], if there is one."""
    near = Near()
    near.found = 0
    query = wp.mesh_query_point_no_sign(data.id, p, farthest)
    if query.result:
        near.found = 1
        near.face = query.face
        near.u = query.u
        near.v = query.v
        near.point = wp.mesh_eval_position(data.id, query.face, query.u, query.v)
        away = p - near.point
        near.distance = wp.length(away)
        flat = normal_at(normals, query.face, query.u, query.v)
        side = float(1.0)
        if wp.dot(away, flat) < 0.0:
            side = -1.0
        if data.sign == WINDING:
            signed = wp.mesh_query_point_sign_winding_number(data.id, p, farthest, 2.0, 0.5)
            if signed.result:
                side = signed.sign
        if data.sign == SHELL:
            # it has no inside: what is off it is in front of it
            near.normal = side * flat
        else:
            near.distance = side * near.distance
            near.normal = flat
        if wp.length(away) > TOUCHING * data.extent:
            near.normal = away / wp.length(away)
            if near.distance < 0.0:
                near.normal = -near.normal
    return near


@wp.struct
class Slid:
    """Where a way along a surface ends [m], and how often it was turned aside."""

    x: wp.vec3
    turns: int


@wp.func
def slid(
    data: MeshData, normals: wp.array2d(dtype=wp.vec3), begin: wp.vec3, way: wp.vec3, off: float, slack: float
) -> Slid:
    """The end of a way that is turned along whatever of the surface it meets, and kept off by `off` [m].

    What is put back along the normal of one place may be behind another, such as the far side of a groove.
    """
    found = Slid()
    found.x = begin
    found.turns = 0
    left = 1.0 * way
    for _ in range(TURNS):
        length = wp.length(left)
        if length > slack:
            d = left / length
            go = float(length)
            n = wp.vec3(0.0, 0.0, 0.0)
            ray = wp.mesh_query_ray(data.id, found.x, d, length + off)
            if ray.result:
                out_of = normals[ray.face, 0]
                steep = -wp.dot(out_of, d)
                if data.sign == SHELL and steep < 0.0:
                    out_of = -out_of
                    steep = -steep
                if steep > FLATTEST:
                    reached = wp.clamp(ray.t - off / wp.max(steep, 0.1), 0.0, length)
                    if reached < length:
                        go = reached
                        n = out_of
                        found.turns = found.turns + 1
            found.x = found.x + go * d
            left = (length - go) * d
            left = left - wp.min(wp.dot(left, n), 0.0) * n
    return found


@wp.func
def displacement(id: wp.uint64, way: wp.array(dtype=wp.vec3), face: int, u: float, v: float) -> wp.vec3:
    """How far a point of a mesh goes in a step [m], from its corners."""
    mesh = wp.mesh_get(id)
    a = way[mesh.indices[3 * face]]
    b = way[mesh.indices[3 * face + 1]]
    c = way[mesh.indices[3 * face + 2]]
    return u * a + v * b + (1.0 - u - v) * c


@wp.func
def depth_bound(data: MeshData, cells: wp.array3d(dtype=float), p: wp.vec3) -> float:
    """How deep inside a point may be that is not near the surface [m], by the distances at the middles of coarse cells;
    negative where it is surely outside."""
    bound = float(-1.0)
    if data.sign != SHELL:
        bound = data.extent
        if data.deforms == 0:
            n = float(cells.shape[0])
            size = data.high - data.low
            i = int(wp.floor(n * (p[0] - data.low[0]) / wp.max(size[0], 1.0e-20)))
            j = int(wp.floor(n * (p[1] - data.low[1]) / wp.max(size[1], 1.0e-20)))
            k = int(wp.floor(n * (p[2] - data.low[2]) / wp.max(size[2], 1.0e-20)))
            bound = -1.0
            if wp.min(wp.min(i, j), k) >= 0 and wp.max(wp.max(i, j), k) < cells.shape[0]:
                middle = cells[i, j, k]
                if middle <= data.cell_half:
                    bound = data.cell_half - middle
    return bound


@wp.kernel
def detect_mesh(
    start: int,
    data: MeshData,
    normals: wp.array2d(dtype=wp.vec3),
    cells: wp.array3d(dtype=float),
    way_of: wp.array(dtype=wp.vec3),
    glide: wp.array(dtype=float),
    bounds: wp.array(dtype=wp.vec3),
    poses: wp.array(dtype=Pose),
    row: int,
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
    out = i * slots + slot
    pose = poses[row]
    p = own_place(pose, x[i])
    q = own_place_before(pose, before[i])
    off = radius[i] + data.margin + data.half
    reach = off + margin
    # of a mesh that deforms: the longest way of a vertex in this step
    carried = float(0.0)
    low = data.low
    high = data.high
    if data.deforms != 0:
        carried = glide[1]
        low = bounds[0]
        high = bounds[1]
    room = wp.vec3(reach + carried, reach + carried, reach + carried)
    above = wp.max(p, q) - (low - room)
    below = (high + room) - wp.min(p, q)
    depth_out[out] = -1.0
    if wp.min(wp.min(above[0], above[1]), above[2]) >= 0.0 and wp.min(wp.min(below[0], below[1]), below[2]) >= 0.0:
        way = p - q
        slack = 2.0e-6 * (data.extent + wp.length(pose.center))
        # a nearest point matters as far away as what was passed in this step, or as a particle may be deep inside:
        # most are near the surface, where a short search is quick
        farthest = wp.max(reach, wp.length(way) + carried) + slack
        near = nearest(data, normals, p, farthest)
        if near.found == 0:
            bound = depth_bound(data, cells, p)
            if bound >= 0.0:
                near = nearest(data, normals, p, bound + farthest)
        if carried > 0.0 and near.found != 0:
            q = q + displacement(data.id, way_of, near.face, near.u, near.v)
            way = p - q
        n = wp.vec3(0.0, 0.0, 0.0)
        at = p
        face = near.face
        u = near.u
        v = near.v
        touching = int(0)
        # how far along the normal it is kept off what it touches
        rim = float(0.0)
        if near.found != 0 and near.distance <= reach:
            touching = 1
            n = near.normal
            at = near.point
            rim = wp.dot(n, at) + off
        length = wp.length(way)
        # nothing was passed if all is farther away than the way is long, nor if the way leads in where it is nearest
        passed = near.found != 0 and wp.abs(near.distance) <= length + slack
        if near.distance < 0.0 and wp.dot(near.normal, way) < 0.0:
            passed = False
        if passed and length > 0.0:
            d = way / length
            ray = wp.mesh_query_ray(data.id, q - slack * d, d, length + slack)
            if ray.result:
                out_of = normals[ray.face, 0]
                if data.sign == SHELL and wp.dot(out_of, d) > 0.0:
                    out_of = -out_of
                if wp.dot(out_of, d) < 0.0:
                    # it went through: where it came in counts, unless the nearest way out is much the same
                    if touching == 0 or near.distance > 0.0 or wp.dot(n, out_of) < SAME_WAY:
                        touching = 1
                        n = out_of
                        at = q + (ray.t - slack) * d
                        rim = wp.dot(n, at) + off
                        face = ray.face
                        u = ray.u
                        v = ray.v
                        go = wp.clamp(ray.t - slack + off / wp.min(wp.dot(n, d), -0.1), 0.0, length)
                        rest = (length - go) * d
                        end = slid(data, normals, q + go * d, rest - wp.dot(rest, n) * n, off, slack)
                        back = end.x - p
                        if end.turns > 0 and wp.length(back) > slack:
                            n = wp.normalize(back)
                            rim = wp.dot(n, end.x)
        if touching != 0:
            plane = PlaneData()
            plane.normal = pose.turn * n
            plane.offset = rim + wp.dot(plane.normal, pose.center)
            plane.velocity = velocity_at(pose, at)
            if carried > 0.0:
                own = displacement(data.id, way_of, face, u, v)
                plane.velocity = plane.velocity + glide[2] * (pose.turn * own)
            plane.friction = data.friction
            plane.static_friction = data.static_friction
            plane.restitution = data.restitution
            surface_out[out] = plane
            depth_out[out] = wp.max(rim - wp.dot(n, p), 0.0)


@wp.kernel
def glide_vertices(
    start: int,
    target: wp.array(dtype=wp.vec3),
    glide: wp.array(dtype=float),
    way_inout: wp.array(dtype=wp.vec3),
    points_out: wp.array(dtype=wp.vec3),
):
    """One step of vertices to where they go; glide holds the steps that are left after it."""
    i = start + wp.tid()
    if glide[0] < 0.0:
        way_inout[i] = wp.vec3(0.0, 0.0, 0.0)
    points_out[i] = target[i] - wp.max(glide[0], 0.0) * way_inout[i]


@wp.kernel
def count_glide(start: int, glide_inout: wp.array(dtype=float)):
    """Steps that are left, -1 when it has arrived; then nothing moves any more."""
    if glide_inout[0] >= 0.0:
        glide_inout[0] = glide_inout[0] - 1.0
    if glide_inout[0] < 0.0:
        glide_inout[1] = 0.0


@wp.func
def face_normal(points: wp.array(dtype=wp.vec3), corners: wp.array(dtype=int), f: int) -> wp.vec3:
    a = points[corners[3 * f]]
    return wp.normalize(wp.cross(points[corners[3 * f + 1]] - a, points[corners[3 * f + 2]] - a))


@wp.func
def usable(normal: wp.vec3, instead: wp.vec3) -> wp.vec3:
    """A direction of length one; the other where it has none."""
    found = instead
    if wp.length(normal) > 1.0e-6:
        found = wp.normalize(normal)
    return found


@wp.kernel
def write_normals(
    start: int,
    points: wp.array(dtype=wp.vec3),
    corners: wp.array(dtype=int),
    across: wp.array2d(dtype=int),
    fan_starts: wp.array(dtype=int),
    fan: wp.array(dtype=int),
    normals_out: wp.array2d(dtype=wp.vec3),
):
    """Normals of a triangle, of its corners (weighted by angle) and of its edges (the sum of both faces)."""
    f = start + wp.tid()
    own = face_normal(points, corners, f)
    normals_out[f, 0] = own
    for c in range(3):
        vertex = corners[3 * f + c]
        total = wp.vec3(0.0, 0.0, 0.0)
        for k in range(fan_starts[vertex], fan_starts[vertex + 1]):
            g = fan[k] / 3
            b = fan[k] % 3
            here = points[corners[fan[k]]]
            one = wp.normalize(points[corners[3 * g + (b + 1) % 3]] - here)
            two = wp.normalize(points[corners[3 * g + (b + 2) % 3]] - here)
            total += wp.acos(wp.clamp(wp.dot(one, two), -1.0, 1.0)) * face_normal(points, corners, g)
        normals_out[f, 1 + c] = usable(total, own)
        both = own
        if across[f, c] >= 0:
            both = own + face_normal(points, corners, across[f, c])
        normals_out[f, 4 + c] = usable(both, own)


@wp.kernel
def write_distances(
    start: int,
    data: MeshData,
    normals: wp.array2d(dtype=wp.vec3),
    p: wp.array(dtype=wp.vec3),
    distance_out: wp.array(dtype=float),
):
    """Signed distances of points in the mesh's own frame [m]."""
    i = start + wp.tid()
    far = data.extent + wp.length(p[i] - 0.5 * (data.low + data.high))
    near = nearest(data, normals, p[i], far)
    distance_out[i] = near.distance
