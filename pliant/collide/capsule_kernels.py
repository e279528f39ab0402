"""Contacts of particles with capsules: all points within a radius of a line between two ends."""

import warp as wp

from pliant.collide.pose_kernels import Pose, own_place, own_place_before, velocity_at
from pliant.collide.sphere_kernels import SAME_SIDE, Wall
from pliant.physics.contact import PlaneData

wp.set_module_options({"enable_backward": False})


@wp.struct
class CapsuleData:
    """What of a capsule does not change; `half` leads from its middle to its end, in its own frame."""

    half: wp.vec3
    radius: float
    friction: float
    static_friction: float
    restitution: float
    margin: float


@wp.func
def axis_point(p: wp.vec3, half: wp.vec3) -> wp.vec3:
    """The point of the axis that is nearest."""
    share = float(0.0)
    if wp.length_sq(half) > 0.0:
        share = wp.clamp(wp.dot(p, half) / wp.length_sq(half), -1.0, 1.0)
    return share * half


@wp.func
def outward(p: wp.vec3, before: wp.vec3, half: wp.vec3) -> wp.vec3:
    """The direction from the axis to a point; on the axis itself to where it came from, or across."""
    away = p - axis_point(p, half)
    if wp.length_sq(away) == 0.0:
        away = before - axis_point(before, half)
    if wp.length_sq(away) == 0.0:
        away = wp.cross(half, wp.vec3(1.0, 0.0, 0.0))
        if wp.abs(half[0]) > 0.7 * wp.length(half):
            away = wp.cross(half, wp.vec3(0.0, 0.0, 1.0))
    return wp.normalize(away)


@wp.func
def ball_entry(q: wp.vec3, d: wp.vec3, end: wp.vec3, radius: float) -> float:
    """Way along a line from q in the unit direction d to where it enters a ball about an end; negative if nowhere."""
    along = -wp.dot(q - end, d)
    # from the nearest point of the line, not from q: there is no difference of large squares
    off = q - end + along * d
    under = radius * radius - wp.length_sq(off)
    entry = float(-1.0)
    if under > 0.0 and along > 0.0:
        entry = wp.max(along - wp.sqrt(under), 0.0)
    return entry


@wp.func
def entry_of(q: wp.vec3, d: wp.vec3, half: wp.vec3, radius: float) -> float:
    """Way along a line that begins outside to where it enters a capsule; negative if it does not."""
    length = wp.length(half)
    entry = float(-1.0)
    if length > 0.0:
        axis = half / length
        across = d - wp.dot(d, axis) * axis
        side = q - wp.dot(q, axis) * axis
        steep = wp.length(across)
        if steep > 1.0e-7:
            e = across / steep
            along = -wp.dot(side, e)
            off = side + along * e
            under = radius * radius - wp.length_sq(off)
            if under > 0.0 and along > 0.0:
                t = wp.max(along - wp.sqrt(under), 0.0) / steep
                if wp.abs(wp.dot(q + t * d, axis)) <= length:
                    entry = t
    if entry < 0.0:
        first = ball_entry(q, d, half, radius)
        other = ball_entry(q, d, -half, radius)
        entry = first
        if first < 0.0 or (other >= 0.0 and other < first):
            entry = other
    return entry


@wp.func
def wall_of_capsule(before: wp.vec3, p: wp.vec3, half: wp.vec3, radius: float, margin: float, slack: float) -> Wall:
    """What keeps a particle out of a capsule about the origin, as for a sphere."""
    wall = Wall()
    wall.found = 0
    wall.normal = outward(p, before, half)
    apart = wp.length(p - axis_point(p, half)) - radius
    if apart <= margin:
        wall.found = 1
    way = p - before
    length = wp.length(way)
    if length > 0.0 and wp.length(before - axis_point(before, half)) >= radius - slack:
        entry = entry_of(before, way / length, half, radius)
        if entry >= 0.0 and entry < length:
            hit = before + (entry / length) * way
            foot = axis_point(hit, half)
            came = wp.normalize(hit - foot)
            turned = wp.dot(came, wall.normal) < SAME_SIDE or wp.dot(way, wall.normal) >= 0.0
            if apart >= 0.0 or turned:
                if wp.dot(came, p - foot) < radius:
                    wall.normal = came
                    wall.found = 1
    return wall


@wp.kernel
def detect_capsules(
    start: int,
    capsules: wp.array(dtype=CapsuleData),
    slot_of: wp.array(dtype=int),
    row_of: wp.array(dtype=int),
    poses: wp.array(dtype=Pose),
    radius: wp.array(dtype=float),
    before: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    count: int,
    slots: int,
    margin: float,
    surface_out: wp.array(dtype=PlaneData),
    depth_out: wp.array(dtype=float),
):
    i = start + wp.tid()
    for k in range(count):
        capsule = capsules[k]
        pose = poses[row_of[k]]
        wide = capsule.radius + capsule.margin + radius[i]
        p = own_place(pose, x[i])
        came = own_place_before(pose, before[i])
        slack = 1.0e-6 * (wp.length(pose.center) + wp.length(capsule.half) + wide)
        wall = wall_of_capsule(came, p, capsule.half, wide, margin, slack)
        slot = i * slots + slot_of[k]
        if wall.found != 0:
            n = wall.normal
            # normals of the round ends lean towards their end, those of the side to neither
            rim = wp.abs(wp.dot(n, capsule.half)) + wide
            depth = wp.max(rim - wp.dot(n, p), 0.0)
            plane = PlaneData()
            plane.normal = pose.turn * n
            plane.offset = rim + wp.dot(plane.normal, pose.center)
            plane.velocity = velocity_at(pose, p + depth * n)
            plane.friction = capsule.friction
            plane.static_friction = capsule.static_friction
            plane.restitution = capsule.restitution
            surface_out[slot] = plane
            depth_out[slot] = depth
        else:
            depth_out[slot] = -1.0
