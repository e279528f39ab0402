"""What every step of shape matching is made of: the middle of the step, the move, sums of rows, wide loads."""

import warp as wp

from pliant.physics.contact import Met, PlaneData, ball_meets_planes
from pliant.solvers.shape_matching.constants import BodyMatch

wp.set_module_options({"enable_backward": False})


@wp.struct
class MidStep:
    """Length of the step, gravity, whether there are forces besides, and which bodies are awake."""

    dt: float
    gravity: wp.vec3
    has_f_ext: int
    plane_count: int
    rest_speed: float
    awake: wp.array(dtype=int)


@wp.func
def external(f_ext: wp.array(dtype=wp.vec3), i: int, step: MidStep) -> wp.vec3:
    """Force on particle i besides gravity [N]; not read where there is none."""
    f = wp.vec3(0.0, 0.0, 0.0)
    if step.has_f_ext != 0:
        f = f_ext[i]
    return f


@wp.func
def acceleration(f_ext: wp.vec3, inv_mass: float, step: MidStep) -> wp.vec3:
    """Gravity and the forces besides [m/s^2]; none for a pinned particle."""
    if inv_mass == 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    return step.gravity + inv_mass * f_ext


@wp.func
def middle_velocity(v: wp.vec3, f_ext: wp.vec3, inv_mass: float, step: MidStep) -> wp.vec3:
    """Velocity at the middle of the step without pull and damping [m/s].

    Forces that may depend on the place have their whole kick before the drift, or a spring among them would gain
    energy: they are those of the place where the step begins.
    """
    if inv_mass == 0.0:
        return v
    return v + (0.5 * step.dt) * step.gravity + (step.dt * inv_mass) * f_ext


@wp.func_native("""
#if defined(__CUDA_ARCH__)
float4 r = __ldg((const float4*)(table.data) + i);
return wp::vec_t<4, float>(r.x, r.y, r.z, r.w);
#else
const float* r = (const float*)(table.data) + 4 * (size_t)i;
return wp::vec_t<4, float>(r[0], r[1], r[2], r[3]);
#endif
""")
def load_four(table: wp.array2d(dtype=float), i: int) -> wp.vec4:
    """The i-th four numbers of a table whose rows are a multiple of four long, in one load."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
((float4*)(table.data))[i] = make_float4(four[0], four[1], four[2], four[3]);
#else
float* r = (float*)(table.data) + 4 * (size_t)i;
for (int k = 0; k < 4; ++k) r[k] = four[k];
#endif
""")
def store_four(table: wp.array2d(dtype=float), i: int, four: wp.vec4):
    """The same for writing."""
    ...


@wp.func
def moved(
    x: wp.vec3,
    v: wp.vec3,
    f_ext: wp.vec3,
    inv_mass: float,
    away: wp.vec3,
    slip: wp.vec3,
    body: BodyMatch,
    planes: wp.array(dtype=PlaneData),
    step: MidStep,
) -> Met:
    """A particle after the step.

    Args:
        away: from where it is at the middle of the step to the mean of its goals [m].
        slip: its velocity, less that of its clusters' rigid motion [m/s].
    """
    speed = middle_velocity(v, f_ext, inv_mass, step)
    gain = body.pull * away - body.damp * slip - (body.drag * step.dt) * speed
    met = Met()
    met.x = x + step.dt * (speed + 0.5 * gain)
    met.v = v + (step.dt * acceleration(f_ext, inv_mass, step) + gain)
    if step.plane_count > 0:
        met = ball_meets_planes(
            met.x,
            met.v,
            x,
            body.radius,
            planes,
            step.plane_count,
            body.friction,
            body.restitution,
            step.rest_speed,
            step.dt,
        )
    return met


@wp.kernel
def sum_rows(
    start: int,
    row_starts: wp.array(dtype=int),
    rows: wp.array2d(dtype=float),
    width: int,
    sums_out: wp.array2d(dtype=float),
):
    """Sums of runs of rows, in their order: one thread for each number."""
    i = start + wp.tid()
    row = i // width
    k = i - row * width
    total = float(0.0)
    for r in range(row_starts[row], row_starts[row + 1]):
        total += rows[r, k]
    sums_out[row, k] = total
