"""Contacts of particles with convex solids, or rooms, given by half-spaces."""

import warp as wp

from pliant.collide.pose_kernels import Pose, own_place, own_place_before, velocity_at
from pliant.physics.contact import PlaneData

wp.set_module_options({"enable_backward": False})

# Half-spaces in whose corner a point was not found are met one after the other, this often.
ROUNDS = wp.constant(24)


@wp.struct
class SolidData:
    """A convex solid as the kernels see it: its half-spaces are rows of a table, from `first` on."""

    first: int
    count: int
    inside: int
    size: float
    friction: float
    static_friction: float
    restitution: float
    margin: float


@wp.struct
class Wall:
    """A plane in the solid's own frame, dot(normal, p) = offset, if one was found."""

    normal: wp.vec3
    offset: float
    found: int


@wp.func
def over(walls: wp.array(dtype=wp.vec4), k: int, p: wp.vec3) -> float:
    """Signed distance of a point from the plane of a half-space [m], positive outside it."""
    wall = walls[k]
    return wall[0] * p[0] + wall[1] * p[1] + wall[2] * p[2] - wall[3]


@wp.func
def normal_of(walls: wp.array(dtype=wp.vec4), k: int) -> wp.vec3:
    wall = walls[k]
    return wp.vec3(wall[0], wall[1], wall[2])


@wp.func
def farthest(walls: wp.array(dtype=wp.vec4), data: SolidData, p: wp.vec3) -> int:
    """The half-space that a point is farthest outside of, or least inside."""
    found = data.first
    most = over(walls, found, p)
    for k in range(data.first + 1, data.first + data.count):
        here = over(walls, k, p)
        if here > most:
            most = here
            found = k
    return found


@wp.func
def on_edge(walls: wp.array(dtype=wp.vec4), p: wp.vec3, i: int, j: int, off: float) -> wp.vec3:
    """The foot of the perpendicular from p on the line where two planes meet, both moved in by `off` [m]."""
    a = normal_of(walls, i)
    b = normal_of(walls, j)
    va = over(walls, i, p) + off
    vb = over(walls, j, p) + off
    c = wp.dot(a, b)
    # on one of them alone where the other does not hold it there, or they are parallel
    foot = p - vb * b
    det = 1.0 - c * c
    if det > 1.0e-6:
        share = (va - c * vb) / det
        other = (vb - c * va) / det
        if other <= 0.0:
            foot = p - va * a
        elif share > 0.0:
            foot = p - share * a - other * b
    return foot


@wp.func
def nearest_in(walls: wp.array(dtype=wp.vec4), data: SolidData, p: wp.vec3, off: float, slack: float) -> wp.vec3:
    """The point of a convex solid, moved in by `off` [m], that is nearest to one outside, or nearly.

    It is looked for on the plane that is farthest exceeded, on the edge with the next one, and in the corner with a
    third; where that is not in the solid, planes are met one after the other. So of a solid of many planes that is far
    away the point found may be another one.
    """
    i = farthest(walls, data, p)
    y = p - (over(walls, i, p) + off) * normal_of(walls, i)
    j = farthest(walls, data, y)
    if over(walls, j, y) + off > slack:
        y = on_edge(walls, p, i, j, off)
        k = farthest(walls, data, y)
        if over(walls, k, y) + off > slack:
            a = normal_of(walls, i)
            b = normal_of(walls, j)
            c = normal_of(walls, k)
            det = wp.dot(a, wp.cross(b, c))
            if wp.abs(det) > 1.0e-5:
                # seen from p, so that there is no difference of large numbers
                da = -(over(walls, i, p) + off)
                db = -(over(walls, j, p) + off)
                dc = -(over(walls, k, p) + off)
                y = p + (da * wp.cross(b, c) + db * wp.cross(c, a) + dc * wp.cross(a, b)) / det
            for _ in range(ROUNDS):
                m = farthest(walls, data, y)
                past = over(walls, m, y) + off
                if past > slack:
                    y = y - past * normal_of(walls, m)
    return y


@wp.func
def entered(walls: wp.array(dtype=wp.vec4), data: SolidData, before: wp.vec3, p: wp.vec3, slack: float) -> int:
    """The half-space through whose plane a straight way goes into a convex solid; -1 if it does not, or began inside.

    A way is in the solid where it is behind all planes, so the last entry counts, if no exit comes before it. `slack`
    [m] lets what rests on a face begin a rounding error behind it.
    """
    found = int(-1)
    entry = float(-1.0)
    leave = float(1.0)
    apart = int(0)
    for k in range(data.first, data.first + data.count):
        a = over(walls, k, before)
        b = over(walls, k, p)
        if a >= -slack:
            if b >= 0.0:
                apart = 1
            elif b < a:
                outside = wp.max(a, 0.0)
                t = outside / (outside - b)
                if t > entry:
                    entry = t
                    found = k
        elif b > 0.0:
            leave = wp.min(leave, a / (a - b))
    if apart != 0 or entry > leave:
        found = -1
    return found


@wp.func
def from_outside(
    walls: wp.array(dtype=wp.vec4), data: SolidData, before: wp.vec3, p: wp.vec3, reach: float, off: float, slack: float
) -> Wall:
    """The plane that keeps a particle out of a convex solid, kept off by `off`; near misses up to `reach` count [m]."""
    wall = Wall()
    wall.found = 0
    k = entered(walls, data, before, p, slack)
    outside = farthest(walls, data, p)
    gap = over(walls, outside, p)
    if k < 0 and gap <= 0.0:
        k = outside
    if k >= 0:
        wall.normal = normal_of(walls, k)
        wall.offset = walls[k][3] + off
        wall.found = 1
    elif gap <= reach:
        y = nearest_in(walls, data, p, 0.0, slack)
        apart = wp.length(p - y)
        if apart <= reach and apart > 0.0:
            wall.normal = (p - y) / apart
            wall.offset = wp.dot(wall.normal, y) + off
            wall.found = 1
    return wall


@wp.func
def from_inside(
    walls: wp.array(dtype=wp.vec4), data: SolidData, p: wp.vec3, margin: float, off: float, slack: float
) -> Wall:
    """The plane that keeps a particle in a room; past an edge or a corner it leads straight back there."""
    wall = Wall()
    wall.found = 0
    k = farthest(walls, data, p)
    past = over(walls, k, p) + off
    if past >= -margin:
        wall.normal = -normal_of(walls, k)
        wall.offset = off - walls[k][3]
        wall.found = 1
        if past > 0.0:
            y = nearest_in(walls, data, p, off, slack)
            if wp.length(y - p) > slack:
                wall.normal = wp.normalize(y - p)
                wall.offset = wp.dot(wall.normal, y)
    return wall


@wp.kernel
def detect_halfspaces(
    start: int,
    solids: wp.array(dtype=SolidData),
    walls: wp.array(dtype=wp.vec4),
    slot_of: wp.array(dtype=int),
    row_of: wp.array(dtype=int),
    poses: wp.array(dtype=Pose),
    radius: wp.array(dtype=float),
    before: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    slots: int,
    margin: float,
    surface_out: wp.array(dtype=PlaneData),
    depth_out: wp.array(dtype=float),
):
    i = start + wp.tid()
    for s in range(solids.shape[0]):
        data = solids[s]
        pose = poses[row_of[s]]
        p = own_place(pose, x[i])
        off = radius[i] + data.margin
        slack = 1.0e-6 * (wp.length(pose.center) + data.size)
        wall = Wall()
        if data.inside != 0:
            wall = from_inside(walls, data, p, margin, off, slack)
        else:
            came = own_place_before(pose, before[i])
            wall = from_outside(walls, data, came, p, margin + off, off, slack)
        slot = i * slots + slot_of[s]
        if wall.found != 0:
            depth = wp.max(wall.offset - wp.dot(wall.normal, p), 0.0)
            plane = PlaneData()
            plane.normal = pose.turn * wall.normal
            plane.offset = wall.offset + wp.dot(plane.normal, pose.center)
            plane.velocity = velocity_at(pose, p + depth * wall.normal)
            plane.friction = data.friction
            plane.static_friction = data.static_friction
            plane.restitution = data.restitution
            surface_out[slot] = plane
            depth_out[slot] = depth
        else:
            depth_out[slot] = -1.0
