"""Contacts of particles with spheres."""

import warp as wp

from pliant.collide.pose_kernels import Pose, velocity_at
from pliant.physics.contact import PlaneData

wp.set_module_options({"enable_backward": False})

# What ends inside a sphere within this angle (its cosine) of where it went in leaves along the radius; what went
# farther round, or is on its way out again, leaves where it came in.
SAME_SIDE = wp.constant(0.5)


@wp.struct
class SphereData:
    """What of a sphere does not change, as the kernels see it; `slide` is the velocity of its surface along itself."""

    slide: wp.vec3
    inside: int
    friction: float
    static_friction: float
    restitution: float
    margin: float


@wp.struct
class Wall:
    """The direction out of a sphere's solid at a place, if there is a contact."""

    normal: wp.vec3
    found: int


@wp.func
def radial(p: wp.vec3, before: wp.vec3) -> wp.vec3:
    """The direction from the centre to a point; at the centre itself to where it came from, or up."""
    normal = wp.vec3(0.0, 1.0, 0.0)
    if wp.length_sq(p) > 0.0:
        normal = wp.normalize(p)
    elif wp.length_sq(before) > 0.0:
        normal = wp.normalize(before)
    return normal


@wp.func
def wall_from_outside(before: wp.vec3, p: wp.vec3, radius: float, margin: float, slack: float) -> Wall:
    """What keeps a particle out of a sphere about the origin; both ends of its way are relative to the centre.

    `slack` [m] lets what rests on the sphere begin a rounding error inside it.
    """
    wall = Wall()
    wall.found = 0
    wall.normal = radial(p, before)
    apart = wp.length(p) - radius
    if apart <= margin:
        wall.found = 1
    way = p - before
    length = wp.length(way)
    if length > 0.0 and wp.length(before) >= radius - slack:
        along = -wp.dot(before, way) / length
        if along > 0.0:
            # where the line is nearest to the centre, and from there back to where it went in
            nearest = before + (along / length) * way
            half = radius * radius - wp.length_sq(nearest)
            if half > 0.0:
                entry = wp.max(along - wp.sqrt(half), 0.0)
                if entry < length:
                    came = wp.normalize(before + (entry / length) * way)
                    turned = wp.dot(came, wall.normal) < SAME_SIDE or wp.dot(way, wall.normal) >= 0.0
                    if apart >= 0.0 or turned:
                        if wp.dot(came, p) < radius:
                            wall.normal = came
                            wall.found = 1
    return wall


@wp.func
def wall_from_inside(before: wp.vec3, p: wp.vec3, radius: float, margin: float) -> Wall:
    """What keeps a particle in a sphere about the origin."""
    wall = Wall()
    wall.found = 0
    wall.normal = -radial(p, before)
    if radius - wp.length(p) <= margin:
        wall.found = 1
    return wall


@wp.kernel
def detect_spheres(
    start: int,
    spheres: wp.array(dtype=SphereData),
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
        sphere = spheres[k]
        pose = poses[row_of[k]]
        off = radius[i] + sphere.margin
        # the sphere moves during the step too: a way counts as it is seen from the sphere
        came = before[i] - (pose.center - pose.step)
        p = x[i] - pose.center
        wall = Wall()
        turn = float(1.0)
        wide = pose.radius + off
        if sphere.inside != 0:
            turn = -1.0
            wide = wp.max(pose.radius - off, 0.0)
            wall = wall_from_inside(came, p, wide, margin)
        else:
            slack = 1.0e-6 * (wp.length(pose.center) + wide)
            wall = wall_from_outside(came, p, wide, margin, slack)
        slot = i * slots + slot_of[k]
        if wall.found != 0:
            n = wall.normal
            touched = wp.transpose(pose.turn) * ((turn * pose.radius) * n)
            plane = PlaneData()
            plane.normal = n
            plane.offset = wp.dot(n, pose.center) + turn * wide
            plane.velocity = velocity_at(pose, touched) + sphere.slide - wp.dot(sphere.slide, n) * n
            plane.friction = sphere.friction
            plane.static_friction = sphere.static_friction
            plane.restitution = sphere.restitution
            surface_out[slot] = plane
            depth_out[slot] = wp.max(turn * wide - wp.dot(n, p), 0.0)
        else:
            depth_out[slot] = -1.0
