"""Wind on sheets whose vertices split: the triangles around a particle change while it blows."""

import warp as wp

from pliant.forces.wind_kernels import AirData, held_back, sheet_force

wp.set_module_options({"enable_backward": False})


@wp.kernel
def blow_on_fans(
    start: int,
    air: wp.array(dtype=AirData),
    member: wp.array(dtype=int),
    corners: wp.array(dtype=int),
    fan_start: wp.array(dtype=int),
    fan_count: wp.array(dtype=int),
    fan: wp.array(dtype=int),
    air_at: wp.array(dtype=wp.vec3),
    stride: int,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    dt: float,
    f_ext_inout: wp.array(dtype=wp.vec3),
):
    """Add a third of the force on each triangle around a particle, from both sides. One thread per particle."""
    i = member[start + wp.tid()]
    data = air[0]
    most = 2.0 * data.friction + wp.max(data.drag, data.lift)
    force = wp.vec3(0.0, 0.0, 0.0)
    rate = float(0.0)
    for k in range(fan_start[i], fan_start[i] + fan_count[i]):
        t = fan[k] // 3
        a = corners[3 * t]
        b = corners[3 * t + 1]
        c = corners[3 * t + 2]
        normal = wp.cross(x[b] - x[a], x[c] - x[a])
        double_area = wp.length(normal)
        if double_area > 0.0:
            slip = v[a] - air_at[a * stride] + v[b] - air_at[b * stride] + v[c] - air_at[c * stride]
            u = slip / 3.0
            force += sheet_force(data, u, normal / double_area, double_area / 6.0)
            rate += data.density * double_area / 12.0 * most * wp.length(u)
    f_ext_inout[i] = f_ext_inout[i] + held_back(force, dt * rate * inv_mass[i])
