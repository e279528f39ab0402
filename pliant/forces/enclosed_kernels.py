"""Kernels of the pressure inside closed surfaces: volumes summed in a fixed order, forces gathered per vertex."""

import warp as wp

from pliant.physics.pressure import BULK, bulk_pressure, gas_pressure, gas_slope, six_gradient, stable_part

wp.set_module_options({"enable_backward": False})


@wp.struct
class EnclosedBody:
    """One closed surface.

    Attributes:
        chunks: first run of vertices and the one after the last.
        anchor: the particle that volumes are measured about, so that nothing cancels far from the origin.
        law: GAS or BULK.
        rest_volume: [m^3].
        stiffness: bulk stiffness [Pa]; of a gas see `find_pressure`.
        ambient: pressure outside [Pa].
        damping_time: damping over stiffness [s].
    """

    chunks: wp.vec2i
    anchor: int
    law: int
    rest_volume: wp.float64
    stiffness: wp.float64
    ambient: wp.float64
    damping_time: wp.float64


@wp.kernel
def find_gradient(
    start: int,
    bodies: wp.array(dtype=EnclosedBody),
    particle: wp.array(dtype=int),
    body_of: wp.array(dtype=int),
    fan_starts: wp.array(dtype=int),
    fan: wp.array(dtype=wp.vec2i),
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    gradient_out: wp.array(dtype=wp.vec3),
    share_out: wp.array(dtype=wp.vec3d),
):
    """dV/dx_i of each vertex [m^2], and its shares in 3 V, in V' and in the sum of |dV/dx_i|^2 / m_i.

    One thread per vertex, over the two other corners of the triangles around it. V is homogeneous of degree three in
    the positions, so that 3 V is the sum of x_i . dV/dx_i.
    """
    k = start + wp.tid()
    i = particle[k]
    anchor = bodies[body_of[k]].anchor
    here = x[i]
    gradient = wp.vec3(0.0, 0.0, 0.0)
    for t in range(fan_starts[k], fan_starts[k + 1]):
        other = fan[t]
        gradient += six_gradient(x[other[0]] - here, x[other[1]] - here)
    gradient = gradient / 6.0
    gradient_out[k] = gradient
    share_out[k] = wp.vec3d(
        wp.float64(wp.dot(here - x[anchor], gradient)),
        wp.float64(wp.dot(v[i] - v[anchor], gradient)),
        wp.float64(wp.dot(gradient, gradient) * inv_mass[i]),
    )


@wp.kernel
def sum_chunks(
    start: int,
    chunk_starts: wp.array(dtype=int),
    share: wp.array(dtype=wp.vec3d),
    part_out: wp.array(dtype=wp.vec3d),
):
    """The sum of each run of vertices."""
    chunk = start + wp.tid()
    total = wp.vec3d(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0))
    for k in range(chunk_starts[chunk], chunk_starts[chunk + 1]):
        total += share[k]
    part_out[chunk] = total


@wp.kernel
def find_pressure(
    start: int,
    bodies: wp.array(dtype=EnclosedBody),
    part: wp.array(dtype=wp.vec3d),
    dt: wp.float64,
    gas_inout: wp.array(dtype=wp.vec3d),
    pressure_out: wp.array(dtype=float),
):
    """The pressure in each body [Pa], and the next overpressure of its gas.

    `gas_inout` holds the overpressure at the rest volume [Pa], where it is going [Pa], and how fast [Pa/s].
    """
    b = start + wp.tid()
    body = bodies[b]
    total = wp.vec3d(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0))
    for chunk in range(body.chunks[0], body.chunks[1]):
        total += part[chunk]
    share = total[0] / (wp.float64(3.0) * body.rest_volume)
    rate = total[1] / body.rest_volume
    at_rest = wp.float64(0.0)
    pressure = wp.float64(0.0)
    slope = wp.float64(0.0)
    if body.law == BULK:
        pressure = bulk_pressure(share, rate, body.stiffness, body.damping_time)
        slope = body.stiffness
    else:
        gas = gas_inout[b]
        at_rest = gas[0]
        pressure = gas_pressure(share, body.ambient, at_rest)
        slope = gas_slope(share, body.ambient, at_rest)
        most = gas[2] * dt
        gas_inout[b] = wp.vec3d(at_rest + wp.clamp(gas[1] - at_rest, -most, most), gas[1], gas[2])
    square = slope * total[2] / body.rest_volume
    pressure_out[b] = wp.float32(at_rest + stable_part(square, body.damping_time, dt) * (pressure - at_rest))


@wp.kernel
def push_out(
    start: int,
    particle: wp.array(dtype=int),
    body_of: wp.array(dtype=int),
    gradient: wp.array(dtype=wp.vec3),
    pressure: wp.array(dtype=float),
    bodies: wp.array(dtype=EnclosedBody),
    weight: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    f_ext_inout: wp.array(dtype=wp.vec3),
):
    """Add p dV/dx_i, where p grows along `weight` [N/m^3], by which gas and air weigh differently."""
    k = start + wp.tid()
    i = particle[k]
    b = body_of[k]
    here = pressure[b] + wp.dot(weight[b], x[i] - x[bodies[b].anchor])
    f_ext_inout[i] = f_ext_inout[i] + here * gradient[k]
