"""The step on the CPU: one thread walks the elements of a patch and adds to the particles the patch owns.

An element on the border of two patches is computed by both, and each adds to its own particles only. Elements
that lie wholly inside come first, so that their loop needs no test.
"""

import warp as wp

from pliant.physics.area import area_force
from pliant.physics.contact import PlaneData
from pliant.physics.spring import spring_force
from pliant.physics.volume import corner_damping, tet_pressure
from pliant.solvers.mass_spring.advance import acceleration, advance
from pliant.solvers.mass_spring.constants import BodyConstants, StepConstants

wp.set_module_options({"enable_backward": False, "optimization_level": 3})


@wp.struct
class CpuPatches:
    """Patches and their elements, in runs per patch; `*_inner` is where the elements that cross the border begin."""

    starts: wp.array(dtype=int)
    body: wp.array(dtype=int)
    tet_starts: wp.array(dtype=int)
    tet_inner: wp.array(dtype=int)
    tet_corners: wp.array(dtype=wp.vec4i)
    tet_inv_six_volume: wp.array(dtype=float)
    spring_starts: wp.array(dtype=int)
    spring_inner: wp.array(dtype=int)
    spring_pairs: wp.array(dtype=wp.vec2i)
    spring_stiffness_length: wp.array(dtype=wp.vec2)
    triangle_starts: wp.array(dtype=int)
    triangle_corners: wp.array(dtype=wp.vec3i)
    triangle_inv_double_area: wp.array(dtype=float)


@wp.func
def add_owned(force: wp.array(dtype=wp.vec3), i: int, first: int, end: int, f: wp.vec3):
    if i >= first and i < end:
        force[i] = force[i] + f


@wp.kernel
def step_patches(
    start: int,
    patches: CpuPatches,
    bodies: wp.array(dtype=BodyConstants),
    planes: wp.array(dtype=PlaneData),
    inv_mass: wp.array(dtype=float),
    f_ext: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    step: StepConstants,
    force_out: wp.array(dtype=wp.vec3),
    a_inout: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Sum the internal forces of one patch and advance its particles, or write their acceleration."""
    patch = start + wp.tid()
    first = patches.starts[patch]
    end = patches.starts[patch + 1]
    body = bodies[patches.body[patch]]
    for i in range(first, end):
        force_out[i] = wp.vec3(0.0, 0.0, 0.0)

    inner = patches.tet_inner[patch]
    for t in range(patches.tet_starts[patch], patches.tet_starts[patch + 1]):
        corners = patches.tet_corners[t]
        i0 = corners[0]
        i1 = corners[1]
        i2 = corners[2]
        i3 = corners[3]
        inv = patches.tet_inv_six_volume[t]
        x0 = x[i0]
        c0 = carry[i0]
        e1 = (x[i1] - x0) + (carry[i1] - c0)
        e2 = (x[i2] - x0) + (carry[i2] - c0)
        e3 = (x[i3] - x0) + (carry[i3] - c0)
        # gradients of 6 V at the corners
        g1 = wp.cross(e2, e3)
        g2 = wp.cross(e3, e1)
        g3 = wp.cross(e1, e2)
        g0 = -(g1 + g2 + g3)
        rate = float(0.0)
        if body.volume_damping_form == 1:
            v0 = v[i0]
            rate = wp.dot(v[i1] - v0, g1) + wp.dot(v[i2] - v0, g2) + wp.dot(v[i3] - v0, g3)
        pressure = tet_pressure(wp.dot(e1, g1), rate, inv, body.volume_stiffness, body.volume_form, body.volume_damping)
        p = -pressure / 6.0
        f0 = p * g0
        f1 = p * g1
        f2 = p * g2
        f3 = p * g3
        if body.volume_damping_form == 2:
            v0 = v[i0]
            d1 = v[i1] - v0
            d2 = v[i2] - v0
            d3 = v[i3] - v0
            strength = body.volume_damping
            f0 += corner_damping(g0, d1, d2, d3, strength)
            f1 += corner_damping(g1, -d1, d2 - d1, d3 - d1, strength)
            f2 += corner_damping(g2, -d2, d1 - d2, d3 - d2, strength)
            f3 += corner_damping(g3, -d3, d1 - d3, d2 - d3, strength)
        if t < inner:
            force_out[i0] = force_out[i0] + f0
            force_out[i1] = force_out[i1] + f1
            force_out[i2] = force_out[i2] + f2
            force_out[i3] = force_out[i3] + f3
        else:
            add_owned(force_out, i0, first, end, f0)
            add_owned(force_out, i1, first, end, f1)
            add_owned(force_out, i2, first, end, f2)
            add_owned(force_out, i3, first, end, f3)

    inner = patches.spring_inner[patch]
    for s in range(patches.spring_starts[patch], patches.spring_starts[patch + 1]):
        pair = patches.spring_pairs[s]
        i = pair[0]
        j = pair[1]
        constants = patches.spring_stiffness_length[s]
        k = constants[0]
        d = (x[j] - x[i]) + (carry[j] - carry[i])
        f = spring_force(d, v[j] - v[i], constants[1], k, k * body.spring_damping_time)
        if s < inner:
            force_out[i] = force_out[i] + f
            force_out[j] = force_out[j] - f
        else:
            add_owned(force_out, i, first, end, f)
            add_owned(force_out, j, first, end, -f)

    for t in range(patches.triangle_starts[patch], patches.triangle_starts[patch + 1]):
        triangle = patches.triangle_corners[t]
        for c in range(3):
            i = triangle[c]
            if i >= first and i < end:
                j = triangle[(c + 1) % 3]
                m = triangle[(c + 2) % 3]
                f = area_force(
                    (x[j] - x[i]) + (carry[j] - carry[i]),
                    (x[m] - x[i]) + (carry[m] - carry[i]),
                    v[j] - v[i],
                    v[m] - v[i],
                    patches.triangle_inv_double_area[t],
                    body.area_stiffness,
                    body.area_damping_time,
                )
                force_out[i] = force_out[i] + f

    for i in range(first, end):
        w = inv_mass[i]
        a = acceleration(force_out[i], f_ext[i], v[i], w, body, step)
        if step.action == 0:
            a_inout[i] = a
        else:
            next = advance(x[i], carry[i], v[i], a, a_inout[i], body, step, planes, w == 0.0)
            x_out[i] = next.x
            carry_out[i] = next.carry
            v_out[i] = next.v
            a_inout[i] = next.a
