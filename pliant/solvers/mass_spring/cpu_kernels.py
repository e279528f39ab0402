"""The step on the CPU: one thread copies a patch with its halo into a corner of its own, walks all elements that
touch the patch, and advances the particles the patch owns.

An element on the border of two patches is computed by both; what it adds to the halo is thrown away.
"""

import warp as wp

from pliant.physics.area import area_force
from pliant.physics.contact import PlaneData
from pliant.solvers.mass_spring.advance import acceleration, advance, stay
from pliant.solvers.mass_spring.constants import ACCELERATION, VERLET, BodyConstants, StepConstants
from pliant.solvers.mass_spring.cpu_native import add_spring_forces, add_tet_forces

wp.set_module_options({"enable_backward": False, "optimization_level": 3})


@wp.struct
class CpuPatches:
    """Patches, halos and elements in runs per patch; elements name places in the patches' own copies.

    `held` tells where each patch's copy begins.
    """

    starts: wp.array(dtype=int)
    body: wp.array(dtype=int)
    halo_starts: wp.array(dtype=int)
    halo: wp.array(dtype=int)
    held: wp.array(dtype=int)
    tet_starts: wp.array(dtype=int)
    tet_corners: wp.array(dtype=wp.vec4i)
    tet_inv_six_volume: wp.array(dtype=float)
    spring_starts: wp.array(dtype=int)
    spring_pairs: wp.array(dtype=wp.vec2i)
    spring_stiffness_length: wp.array(dtype=wp.vec2)
    triangle_starts: wp.array(dtype=int)
    triangle_corners: wp.array(dtype=wp.vec3i)
    triangle_inv_double_area: wp.array(dtype=float)
    x: wp.array(dtype=wp.vec4d)
    v: wp.array(dtype=wp.vec4)
    force: wp.array(dtype=wp.vec4)


@wp.func
def point(p: wp.vec4d) -> wp.vec3d:
    return wp.vec3d(p[0], p[1], p[2])


@wp.func
def xyz(p: wp.vec4) -> wp.vec3:
    return wp.vec3(p[0], p[1], p[2])


@wp.func
def difference(a: wp.vec4d, b: wp.vec4d) -> wp.vec3:
    d = point(a) - point(b)
    return wp.vec3(float(d[0]), float(d[1]), float(d[2]))


@wp.func
def precise(x: wp.vec3, carry: wp.vec3) -> wp.vec4d:
    """Position and carry as one float64 point."""
    return wp.vec4d(
        wp.float64(x[0]) + wp.float64(carry[0]),
        wp.float64(x[1]) + wp.float64(carry[1]),
        wp.float64(x[2]) + wp.float64(carry[2]),
        wp.float64(0.0),
    )


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
    v_carry: wp.array(dtype=wp.vec3),
    step: StepConstants,
    a_inout: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    v_carry_out: wp.array(dtype=wp.vec3),
):
    """Sum the internal forces of one patch and advance its particles, or write their acceleration."""
    patch = start + wp.tid()
    first = patches.starts[patch]
    owned = patches.starts[patch + 1] - first
    base = patches.held[patch]
    held = patches.held[patch + 1] - base
    halo = patches.halo_starts[patch] - owned
    body = bodies[patches.body[patch]]

    if step.awake[patches.body[patch]] == 0:
        for k in range(owned):
            i = first + k
            stay(i, x, carry, v, v_carry, step, a_inout, x_out, carry_out, v_out, v_carry_out)
        return

    # the patch and its halo into the patch's own copy
    for k in range(held):
        i = first + k
        if k >= owned:
            i = patches.halo[halo + k]
        vi = v[i]
        patches.x[base + k] = precise(x[i], carry[i])
        patches.v[base + k] = wp.vec4(vi[0], vi[1], vi[2], 0.0)
        patches.force[base + k] = wp.vec4(0.0, 0.0, 0.0, 0.0)

    add_tet_forces(
        patches.tet_starts[patch],
        patches.tet_starts[patch + 1],
        patches.tet_corners,
        patches.tet_inv_six_volume,
        patches.x,
        patches.v,
        body.volume_stiffness,
        body.volume_form,
        body.volume_damping_form,
        body.volume_damping,
        patches.force,
    )
    add_spring_forces(
        patches.spring_starts[patch],
        patches.spring_starts[patch + 1],
        patches.spring_pairs,
        patches.spring_stiffness_length,
        patches.x,
        patches.v,
        body.spring_damping_time,
        patches.force,
    )
    for t in range(patches.triangle_starts[patch], patches.triangle_starts[patch + 1]):
        triangle = patches.triangle_corners[t]
        for c in range(3):
            i = triangle[c]
            j = triangle[(c + 1) % 3]
            m = triangle[(c + 2) % 3]
            f = area_force(
                difference(patches.x[j], patches.x[i]),
                difference(patches.x[m], patches.x[i]),
                xyz(patches.v[j] - patches.v[i]),
                xyz(patches.v[m] - patches.v[i]),
                patches.triangle_inv_double_area[t],
                body.area_stiffness,
                body.area_damping_time,
            )
            patches.force[i] = patches.force[i] + wp.vec4(f[0], f[1], f[2], 0.0)

    for k in range(owned):
        i = first + k
        w = inv_mass[i]
        outside = wp.vec3()
        if step.has_f_ext != 0:
            outside = f_ext[i]
        a = acceleration(xyz(patches.force[base + k]), outside, v[i], w, body, step)
        if step.action == ACCELERATION:
            a_inout[i] = a
        else:
            before = wp.vec3()
            if step.action == VERLET:
                before = a_inout[i]
            next = advance(x[i], carry[i], v[i], v_carry[i], a, before, body, step, planes, w == 0.0)
            x_out[i] = next.x
            carry_out[i] = next.carry
            v_out[i] = next.v
            v_carry_out[i] = next.v_carry
            if step.action == VERLET:
                a_inout[i] = next.a
