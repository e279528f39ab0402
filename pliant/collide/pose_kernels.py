"""Where moving colliders are in each step of a frame, and how fast their surfaces move there."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Columns of a row of motion, each the first of four: where it goes [m] and its radius [m]; the displacement of a step
# [m] and the steps that are left; the orientation there as a quaternion; the rotation of a step [rad] and whether a
# path leads it; the velocity of its surface besides [m/s] and the steps in a second.
PLACE = wp.constant(0)
GLIDE = wp.constant(4)
FACING = wp.constant(8)
SPIN = wp.constant(12)
RATE = wp.constant(16)
COLUMNS = 20


@wp.struct
class Pose:
    """A collider now, and in the step before: a point p of its own frame is at ``center + turn p``."""

    center: wp.vec3
    turn: wp.mat33
    step: wp.vec3
    turn_before: wp.mat33
    rate: wp.vec3
    inv_dt: float
    radius: float


@wp.func
def three(motion: wp.array2d(dtype=float), k: int, column: int) -> wp.vec3:
    return wp.vec3(motion[k, column], motion[k, column + 1], motion[k, column + 2])


@wp.func
def turned(facing: wp.quat, spin: wp.vec3, steps: float) -> wp.mat33:
    """The orientation so many steps before it faces there."""
    q = facing
    angle = wp.length(spin)
    if angle > 0.0 and steps != 0.0:
        q = wp.quat_from_axis_angle(spin / angle, -steps * angle) * facing
    return wp.quat_to_matrix(q)


@wp.kernel
def advance_poses(start: int, motion_inout: wp.array2d(dtype=float), pose_out: wp.array(dtype=Pose)):
    """Do one step of each glide; what has arrived stands still, but what a path leads goes on as it did."""
    k = start + wp.tid()
    left = motion_inout[k, GLIDE + 3]
    if left > 0.0 or motion_inout[k, SPIN + 3] != 0.0:
        left = left - 1.0
        motion_inout[k, GLIDE + 3] = left
    else:
        for c in range(3):
            motion_inout[k, GLIDE + c] = 0.0
            motion_inout[k, SPIN + c] = 0.0
    facing = wp.quat(
        motion_inout[k, FACING], motion_inout[k, FACING + 1], motion_inout[k, FACING + 2], motion_inout[k, FACING + 3]
    )
    spin = three(motion_inout, k, SPIN)
    pose = Pose()
    pose.step = three(motion_inout, k, GLIDE)
    pose.center = three(motion_inout, k, PLACE) - left * pose.step
    pose.turn = turned(facing, spin, left)
    pose.turn_before = turned(facing, spin, left + 1.0)
    pose.rate = three(motion_inout, k, RATE)
    pose.inv_dt = motion_inout[k, RATE + 3]
    pose.radius = motion_inout[k, PLACE + 3]
    pose_out[k] = pose


@wp.func
def own_place(pose: Pose, x: wp.vec3) -> wp.vec3:
    """A point of the world in the collider's own frame."""
    return wp.transpose(pose.turn) * (x - pose.center)


@wp.func
def own_place_before(pose: Pose, x: wp.vec3) -> wp.vec3:
    """The same at the start of the step."""
    return wp.transpose(pose.turn_before) * (x - (pose.center - pose.step))


@wp.func
def velocity_at(pose: Pose, p: wp.vec3) -> wp.vec3:
    """Velocity [m/s] of a point of its own frame: the chord of the step, so that what sticks goes where it goes."""
    return pose.rate + pose.inv_dt * (pose.step + (pose.turn - pose.turn_before) * p)
