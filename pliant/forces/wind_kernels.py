"""The kernel of the wind: drag on the triangles around each particle."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Most of its velocity against the air that a particle may lose in a step. Of (omega h)^2 + 2 c h <= 4 that takes 1,
# and a body with a step of 0.7 times its own stable one at most 2.8.
MOST_LOSS = wp.constant(0.5)


@wp.kernel
def blow(
    start: int,
    particle: wp.array(dtype=int),
    both_sides: wp.array(dtype=int),
    fan_starts: wp.array(dtype=int),
    fan: wp.array(dtype=wp.vec2i),
    air: wp.array(dtype=wp.vec3),
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    density: float,
    dt: float,
    f_ext_inout: wp.array(dtype=wp.vec3),
):
    """Add a third of -rho/2 A |u.n| (u.n) n of each triangle around a particle, u its velocity against the air.

    Closed surfaces feel it where they face the wind only. One thread per particle.
    """
    k = start + wp.tid()
    i = particle[k]
    here = x[i]
    speed = v[i]
    wind = air[0]
    force = wp.vec3(0.0, 0.0, 0.0)
    rate = float(0.0)
    for t in range(fan_starts[k], fan_starts[k + 1]):
        other = fan[t]
        normal = wp.cross(x[other[0]] - here, x[other[1]] - here)
        double_area = wp.length(normal)
        if double_area > 0.0:
            normal = normal / double_area
            along = wp.dot((speed + v[other[0]] + v[other[1]]) / 3.0 - wind, normal)
            if along > 0.0 or both_sides[k] != 0:
                drag = density * double_area * wp.abs(along) / 12.0
                force -= (drag * along) * normal
                rate += drag
    loss = dt * rate * inv_mass[i]
    if loss > MOST_LOSS:
        force = force * (MOST_LOSS / loss)
    f_ext_inout[i] = f_ext_inout[i] + force
