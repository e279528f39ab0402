"""The step on CUDA: one block holds a patch and its halo in shared memory, a few lanes share each particle.

Positions are settled to a grain (a power of two, the same for a whole body) relative to a point of the patch, in
an arithmetic that gives every block the same rounded position of a particle. Differences of positions are then
exact, the two sides of an element feel exactly opposite forces in different blocks, and a body far from the origin
is as precise as one at the origin.
"""

import functools
from typing import Any

import warp as wp

from pliant.physics.area import area_force
from pliant.physics.contact import PlaneData
from pliant.physics.volume import corner_damping, opposite_normal, tet_pressure
from pliant.solvers.mass_spring.advance import acceleration, advance, stay
from pliant.solvers.mass_spring.constants import ACCELERATION, RATE, VERLET, BodyConstants, StepConstants
from pliant.solvers.mass_spring.cuda_native import (
    lane_sum,
    load_pair,
    load_pair_float,
    rsqrt,
    shared_get,
    shared_put,
    sync_block,
)

wp.set_module_options({"enable_backward": False})


@wp.struct
class CudaPatches:
    """Patches, halos, and the elements around each particle in transposed slices (see model/patches.py)."""

    starts: wp.array(dtype=int)
    body: wp.array(dtype=int)
    halo_starts: wp.array(dtype=int)
    halo: wp.array(dtype=int)
    tet_starts: wp.array(dtype=int)
    tet_rows: wp.array(dtype=int)
    tet_others: wp.array(dtype=wp.vec2i)
    tet_inv_six_volume: wp.array(dtype=float)
    spring_starts: wp.array(dtype=int)
    spring_rows: wp.array(dtype=int)
    spring_other: wp.array(dtype=wp.uint16)
    spring_stiffness_length: wp.array(dtype=wp.vec2)
    triangle_starts: wp.array(dtype=int)
    triangle_rows: wp.array(dtype=int)
    triangle_others: wp.array(dtype=wp.vec2i)
    triangle_inv_double_area: wp.array(dtype=float)


@wp.func
def settled(x: float, carry: float, origin: float, quantum: float, inv_quantum: float) -> float:
    """x + carry - origin, rounded to the quantum; the same grid point whatever the origin (a multiple of it) is."""
    high = x - origin
    back = high - x
    low = (x - (high - back)) - (origin + back)
    scaled = high * inv_quantum
    whole = wp.rint(scaled)
    return (whole + wp.rint((scaled - whole) + (carry + low) * inv_quantum)) * quantum


@wp.func
def snapped(x: float, quantum: float, inv_quantum: float) -> float:
    """x rounded to the quantum."""
    return wp.rint(x * inv_quantum) * quantum


@functools.cache
def step_kernel(
    block: int, lanes: int, capacity: int, volume_form: int, volume_damping_form: int, has_triangles: bool
) -> Any:
    """The step kernel for blocks of `block` threads, `lanes` per particle, and at most `capacity` particles held.

    `volume_form` is that of all bodies, or -1 where they differ.
    """

    @wp.func_native(f"__shared__ float4 pool[{2 * capacity}]; return (int)(unsigned)__cvta_generic_to_shared(pool);")
    def position_pool() -> int: ...

    velocities = capacity * 16

    @wp.kernel(module="unique", grid_stride=False, enable_backward=False)
    def step_patches(
        patches: CudaPatches,
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
        tid = wp.tid()
        patch = tid // wp.static(block)
        thread = tid - patch * wp.static(block)
        pool = position_pool()
        vpool = pool + wp.static(velocities)
        first = patches.starts[patch]
        owned = patches.starts[patch + 1] - first
        halo_first = patches.halo_starts[patch]
        held = owned + patches.halo_starts[patch + 1] - halo_first
        body = bodies[patches.body[patch]]
        if step.awake[patches.body[patch]] == 0:
            # all threads of the block return
            for k in range(thread, owned, wp.static(block)):
                stay(first + k, x, carry, v, v_carry, step, a_inout, x_out, carry_out, v_out, v_carry_out)
            return
        q = body.quantum
        iq = body.inv_quantum

        # the patch and its halo into shared memory
        centre = x[first + owned / 2]
        ox = snapped(centre[0], q, iq)
        oy = snapped(centre[1], q, iq)
        oz = snapped(centre[2], q, iq)
        for i in range(thread, held, wp.static(block)):
            g = first + i
            if i >= owned:
                g = patches.halo[halo_first + i - owned]
            xg = x[g]
            cg = carry[g]
            shared_put(
                pool,
                i,
                wp.vec3(
                    settled(xg[0], cg[0], ox, q, iq), settled(xg[1], cg[1], oy, q, iq), settled(xg[2], cg[2], oz, q, iq)
                ),
                0.0,
            )
            shared_put(vpool, i, v[g], 0.0)
        sync_block()

        local = thread // wp.static(lanes)
        mine = wp.min(local, owned - 1)
        xi = shared_get(pool, mine)
        vi = shared_get(vpool, mine)
        slice = tid // 32
        lane = thread % 32
        force = wp.vec3()

        # tets around the particle
        rows = patches.tet_rows[slice]
        base = patches.tet_starts[slice] + lane
        for r in range(rows):
            others = load_pair(patches.tet_others, base + r * 32)
            inv = patches.tet_inv_six_volume[base + r * 32]
            j = others[0] & 0xFFFF
            k = (others[0] >> 16) & 0xFFFF
            m = others[1]
            e1 = shared_get(pool, j) - xi
            e2 = shared_get(pool, k) - xi
            e3 = shared_get(pool, m) - xi
            normal = wp.vec3()
            rate = float(0.0)
            if wp.static(volume_damping_form > 0):
                d1 = shared_get(vpool, j) - vi
                d2 = shared_get(vpool, k) - vi
                d3 = shared_get(vpool, m) - vi
                if wp.static(volume_damping_form == RATE):
                    # the gradients at the other corners give the rate, and their sum the normal
                    g1 = wp.cross(e2, e3)
                    g2 = wp.cross(e3, e1)
                    g3 = wp.cross(e1, e2)
                    rate = wp.dot(d1, g1) + wp.dot(d2, g2) + wp.dot(d3, g3)
                    normal = g1 + g2 + g3
                else:
                    normal = opposite_normal(e1, e2, e3)
                    force += corner_damping(normal, d1, d2, d3, body.volume_damping)
            else:
                normal = opposite_normal(e1, e2, e3)
            form = body.volume_form
            if wp.static(volume_form >= 0):
                form = wp.static(volume_form)
            pressure = tet_pressure(wp.dot(e1, normal), rate, inv, body.volume_stiffness, form, body.volume_damping)
            force += (pressure * wp.static(1.0 / 6.0)) * normal

        # springs around the particle
        rows = patches.spring_rows[slice]
        base = patches.spring_starts[slice] + lane
        for r in range(rows):
            j = int(patches.spring_other[base + r * 32])
            constants = load_pair_float(patches.spring_stiffness_length, base + r * 32)
            d = shared_get(pool, j) - xi
            dv = shared_get(vpool, j) - vi
            squared = wp.max(wp.dot(d, d), 1.0e-30)
            inverse = rsqrt(squared)
            tension = constants[0] * (
                squared * inverse - constants[1] + body.spring_damping_time * inverse * wp.dot(d, dv)
            )
            force += (tension * inverse) * d

        if wp.static(has_triangles):
            rows = patches.triangle_rows[slice]
            base = patches.triangle_starts[slice] + lane
            for r in range(rows):
                others = load_pair(patches.triangle_others, base + r * 32)
                j = others[0]
                k = others[1]
                force += area_force(
                    shared_get(pool, j) - xi,
                    shared_get(pool, k) - xi,
                    shared_get(vpool, j) - vi,
                    shared_get(vpool, k) - vi,
                    patches.triangle_inv_double_area[base + r * 32],
                    body.area_stiffness,
                    body.area_damping_time,
                )

        force = lane_sum(force, wp.static(lanes))
        if thread % wp.static(lanes) == 0 and local < owned:
            i = first + local
            w = inv_mass[i]
            outside = wp.vec3()
            if step.has_f_ext != 0:
                outside = f_ext[i]
            a = acceleration(force, outside, vi, w, body, step)
            if step.action == ACCELERATION:
                a_inout[i] = a
            else:
                before = wp.vec3()
                if step.action == VERLET:
                    before = a_inout[i]
                next = advance(x[i], carry[i], vi, v_carry[i], a, before, body, step, planes, w == 0.0)
                x_out[i] = next.x
                carry_out[i] = next.carry
                v_out[i] = next.v
                v_carry_out[i] = next.v_carry
                if step.action == VERLET:
                    a_inout[i] = next.a

    return step_patches
