"""Kernels of support springs: the rigid frame of each body from sums in a fixed order, then a spring per vertex."""

import warp as wp

from pliant.physics.rigid_fit import best_rotation, solve_symmetric

wp.set_module_options({"enable_backward": False})


@wp.struct
class SupportedBody:
    """One body on support springs.

    Attributes:
        chunks: first run of vertices and the one after the last.
        anchor: the particle that places are measured from.
        stiffness: sum over the springs [N/m].
        scale: sum of stiffness times squared distance from the rest centre [N m].
        damping_time: damping over stiffness [s].
    """

    chunks: wp.vec2i
    anchor: int
    stiffness: wp.float64
    scale: wp.float64
    damping_time: wp.float64


@wp.struct
class Sums:
    """Sums weighted by stiffness over a run of vertices, from the anchor and relative to its velocity.

    Attributes:
        place, velocity: of x and v. spin: of x cross v.
        moment: of x q^T, with the rest place q. spread: of x x^T.
    """

    place: wp.vec3d
    velocity: wp.vec3d
    spin: wp.vec3d
    moment: wp.mat33d
    spread: wp.mat33d


@wp.struct
class Frame:
    """The rigid motion of a body, from its anchor: centre [m], rotation, velocity [m/s] and spin [rad/s].

    In float64: an error of the frame is the same for all vertices, and would add up to a force on the body.
    """

    centre: wp.vec3d
    rotation: wp.mat33d
    velocity: wp.vec3d
    spin: wp.vec3d


@wp.func
def to_double(a: wp.vec3) -> wp.vec3d:
    return wp.vec3d(wp.float64(a[0]), wp.float64(a[1]), wp.float64(a[2]))


@wp.kernel
def sum_chunks(
    start: int,
    bodies: wp.array(dtype=SupportedBody),
    chunk_body: wp.array(dtype=int),
    chunk_starts: wp.array(dtype=int),
    particle: wp.array(dtype=int),
    rest: wp.array(dtype=wp.vec3d),
    stiffness: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    part_out: wp.array(dtype=Sums),
):
    """The sums of each run of vertices."""
    chunk = start + wp.tid()
    anchor = bodies[chunk_body[chunk]].anchor
    origin, still = x[anchor], v[anchor]
    sums = Sums()
    for k in range(chunk_starts[chunk], chunk_starts[chunk + 1]):
        i = particle[k]
        weight = wp.float64(stiffness[k])
        d = to_double(x[i] - origin)
        u = to_double(v[i] - still)
        sums.place += weight * d
        sums.velocity += weight * u
        sums.spin += weight * wp.cross(d, u)
        sums.moment += weight * wp.outer(d, rest[k])
        sums.spread += weight * wp.outer(d, d)
    part_out[chunk] = sums


@wp.kernel
def fit_frames(
    start: int,
    bodies: wp.array(dtype=SupportedBody),
    part: wp.array(dtype=Sums),
    rotation_inout: wp.array(dtype=wp.mat33d),
    frame_out: wp.array(dtype=Frame),
):
    """The frame of each body that its springs pull least at: they then add up to no force and no torque."""
    b = start + wp.tid()
    body = bodies[b]
    place = wp.vec3d()
    velocity = wp.vec3d()
    spin = wp.vec3d()
    moment = wp.mat33d()
    spread = wp.mat33d()
    for chunk in range(body.chunks[0], body.chunks[1]):
        sums = part[chunk]
        place += sums.place
        velocity += sums.velocity
        spin += sums.spin
        moment += sums.moment
        spread += sums.spread
    centre = place / body.stiffness
    mean = velocity / body.stiffness
    r = best_rotation(moment, rotation_inout[b], body.scale)
    rotation_inout[b] = r
    about = spread - body.stiffness * wp.outer(centre, centre)
    inertia = wp.trace(about) * wp.identity(n=3, dtype=wp.float64) - about
    turning = solve_symmetric(inertia, spin - body.stiffness * wp.cross(centre, mean))
    frame = Frame()
    frame.centre = centre
    frame.rotation = r
    frame.velocity = mean
    frame.spin = turning
    frame_out[b] = frame


@wp.kernel
def hold(
    start: int,
    bodies: wp.array(dtype=SupportedBody),
    particle: wp.array(dtype=int),
    body_of: wp.array(dtype=int),
    rest: wp.array(dtype=wp.vec3d),
    stiffness: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    frames: wp.array(dtype=Frame),
    f_ext_inout: wp.array(dtype=wp.vec3),
):
    """Add each vertex's spring to its rest place in the body's frame, damped against the body's rigid motion."""
    k = start + wp.tid()
    i = particle[k]
    body = bodies[body_of[k]]
    frame = frames[body_of[k]]
    d = to_double(x[i] - x[body.anchor]) - frame.centre
    u = to_double(v[i] - v[body.anchor]) - frame.velocity - wp.cross(frame.spin, d)
    pull = wp.float64(stiffness[k]) * (frame.rotation * rest[k] - d - body.damping_time * u)
    force = wp.vec3(wp.float32(pull[0]), wp.float32(pull[1]), wp.float32(pull[2]))
    f_ext_inout[i] = f_ext_inout[i] + force
