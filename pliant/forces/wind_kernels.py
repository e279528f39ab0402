"""Kernels of the wind: gusts at each particle, and what the air does to triangles, rods and loose points."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Most of its velocity against the air that a particle may lose in a step. Of (omega h)^2 + 2 c h <= 4 that takes 1,
# and a body with a step of 0.7 times its own stable one at most 2.8.
MOST_LOSS = wp.constant(0.5)
# Kinematic viscosity of air [m^2/s].
VISCOSITY = wp.constant(1.5e-5)
# Drag coefficient of a ball.
BALL_DRAG = wp.constant(0.47)


@wp.struct
class AirData:
    """The air.

    Attributes:
        velocity: mean velocity [m/s].
        density: [kg/m^3].
        drag, lift: coefficients of sheets. friction: of skins. rod_drag: of rods.
    """

    velocity: wp.vec3
    density: float
    drag: float
    lift: float
    friction: float
    rod_drag: float


@wp.func
def wave(turns: float) -> float:
    """Nearly sin(2 pi turns): a parabola, and a part of its square; off by 0.001 at most."""
    t = turns - wp.floor(turns) - 0.5
    y = (16.0 * wp.abs(t) - 8.0) * t
    return y + 0.225 * (y * wp.abs(y) - y)


@wp.func
def held_back(force: wp.vec3, loss: float) -> wp.vec3:
    """A drag that would take `loss` of the velocity against the air in a step, as a step that ends in it takes it.

    Of du/dt = -c u |u|, a step from u ends at u / (1 + c |u| h) exactly: it is never turned around. Right to the first
    order in the step, and never more than `MOST_LOSS`.
    """
    return force / wp.max(1.0 + loss, loss / MOST_LOSS)


@wp.kernel
def find_air(
    start: int,
    air: wp.array(dtype=AirData),
    turns: wp.array(dtype=wp.vec3),
    amplitude: wp.array(dtype=wp.vec3),
    phase: wp.array(dtype=wp.float64),
    particle: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    air_out: wp.array(dtype=wp.vec3),
):
    """Velocity of the air at each particle [m/s]: the mean wind and its gusts."""
    i = particle[start + wp.tid()]
    here = x[i]
    velocity = air[0].velocity
    for w in range(turns.shape[0]):
        velocity += wave(wp.dot(turns[w], here) + float(phase[w])) * amplitude[w]
    air_out[i] = velocity


@wp.kernel
def advance(rate: wp.array(dtype=wp.float64), dt: wp.float64, phase_inout: wp.array(dtype=wp.float64)):
    """Turn the phases of the gusts on by a step."""
    w = wp.tid()
    now = phase_inout[w] + rate[w] * dt
    phase_inout[w] = now - wp.floor(now)


@wp.func
def sheet_force(air: AirData, u: wp.vec3, normal: wp.vec3, area: float) -> wp.vec3:
    """Drag, lift and friction of a sheet's triangle [N], with u its velocity against the air [m/s]."""
    speed = wp.length(u)
    if speed <= 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    along = wp.dot(u, normal)
    half = 0.5 * air.density * area
    force = ((air.drag - air.lift) * along * along / speed) * u + (air.lift * speed * along) * normal
    return -half * (force + (2.0 * air.friction * speed) * (u - along * normal))


@wp.kernel
def blow_on_triangles(
    start: int,
    air: wp.array(dtype=AirData),
    particle: wp.array(dtype=int),
    both_sides: wp.array(dtype=int),
    fan_starts: wp.array(dtype=int),
    fan: wp.array(dtype=wp.vec2i),
    air_at: wp.array(dtype=wp.vec3),
    stride: int,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    dt: float,
    f_ext_inout: wp.array(dtype=wp.vec3),
):
    """Add a third of the force on each triangle around a particle. One thread per particle.

    Closed surfaces feel -rho/2 A (u.n)^2 n where they face the wind only.
    """
    k = start + wp.tid()
    i = particle[k]
    here = x[i]
    slip = v[i] - air_at[i * stride]
    data = air[0]
    most = 2.0 * data.friction + wp.max(data.drag, data.lift)
    force = wp.vec3(0.0, 0.0, 0.0)
    rate = float(0.0)
    for t in range(fan_starts[k], fan_starts[k + 1]):
        a = fan[t][0]
        b = fan[t][1]
        normal = wp.cross(x[a] - here, x[b] - here)
        double_area = wp.length(normal)
        if double_area > 0.0:
            normal = normal / double_area
            u = (slip + v[a] - air_at[a * stride] + v[b] - air_at[b * stride]) / 3.0
            if both_sides[k] != 0:
                force += sheet_force(data, u, normal, double_area / 6.0)
                rate += data.density * double_area / 12.0 * most * wp.length(u)
            else:
                along = wp.dot(u, normal)
                if along > 0.0:
                    drag = data.density * double_area * along / 12.0
                    force -= (drag * along) * normal
                    rate += drag
    f_ext_inout[i] = f_ext_inout[i] + held_back(force, dt * rate * inv_mass[i])


@wp.kernel
def blow_on_rods(
    start: int,
    air: wp.array(dtype=AirData),
    particle: wp.array(dtype=int),
    fan_starts: wp.array(dtype=int),
    other: wp.array(dtype=int),
    radius: wp.array(dtype=float),
    air_at: wp.array(dtype=wp.vec3),
    stride: int,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    dt: float,
    f_ext_inout: wp.array(dtype=wp.vec3),
):
    """Add half of the force on each segment around a particle: drag across it, and friction along it.

    A cylinder's coefficient grows as it gets thin and slow: C (1 + 10 Re^(-2/3)) (White, Viscous Fluid Flow, 3-225).
    """
    k = start + wp.tid()
    i = particle[k]
    here = x[i]
    slip = v[i] - air_at[i * stride]
    data = air[0]
    force = wp.vec3(0.0, 0.0, 0.0)
    rate = float(0.0)
    for t in range(fan_starts[k], fan_starts[k + 1]):
        j = other[t]
        way = x[j] - here
        length = wp.length(way)
        if length > 0.0:
            way = way / length
            u = 0.5 * (slip + v[j] - air_at[j * stride])
            speed = wp.length(u)
            along = wp.dot(u, way)
            across = u - along * way
            cross_speed = wp.length(across)
            reynolds = wp.max(2.0 * radius[t] * cross_speed / VISCOSITY, 1.0e-3)
            drag = data.rod_drag * (1.0 + 10.0 * wp.pow(reynolds, -2.0 / 3.0)) * cross_speed
            rub = wp.pi * data.friction * speed
            # half of 1/2 rho 2 r l
            half = 0.5 * data.density * radius[t] * length
            force -= half * (drag * across + (rub * along) * way)
            rate += half * wp.max(drag, rub)
    f_ext_inout[i] = f_ext_inout[i] + held_back(force, dt * rate * inv_mass[i])


@wp.kernel
def blow_on_points(
    start: int,
    air: wp.array(dtype=AirData),
    particle: wp.array(dtype=int),
    radius: wp.array(dtype=float),
    air_at: wp.array(dtype=wp.vec3),
    stride: int,
    inv_mass: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    dt: float,
    f_ext_inout: wp.array(dtype=wp.vec3),
):
    """Add the drag of a ball to each loose point."""
    k = start + wp.tid()
    i = particle[k]
    u = v[i] - air_at[i * stride]
    rate = 0.5 * air[0].density * BALL_DRAG * wp.pi * radius[k] * radius[k] * wp.length(u)
    f_ext_inout[i] = f_ext_inout[i] + held_back(-rate * u, dt * rate * inv_mass[i])
