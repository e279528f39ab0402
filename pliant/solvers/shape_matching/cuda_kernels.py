"""Sums over clusters on CUDA: a warp takes a chunk of a cluster, its lanes a member each, and adds up over the lanes."""

import functools
from typing import Any

import warp as wp

from pliant.physics.shape_match import basis_types, products
from pliant.solvers.shape_matching.kernels import MidStep, middle_velocity

wp.set_module_options({"enable_backward": False})

LANES = 32


@functools.cache
def sum_members_kernel(order: int) -> Any:
    """The kernel of `MatchKernels.sum_members` for CUDA; launched over 32 threads for each chunk."""
    vec_n, _ = basis_types(order)
    quadratic = order == 9
    at_v = 3 + 3 * order
    sums = at_v + 12
    sums_type = wp.types.vector(length=sums, dtype=float)

    # Halves the numbers each lane holds at every exchange: lane k ends with the sum of number k over all lanes, and
    # those beyond the 32nd are summed the plain way. The order of the additions is fixed, so the bits are too.
    @wp.func_native(f"""
        float s[32];
        #pragma unroll
        for (int k = 0; k < 32; ++k) s[k] = k < {sums} ? total[k] : 0.0f;
        #pragma unroll
        for (int half = 16; half > 0; half >>= 1) {{
            bool upper = lane & half;
            #pragma unroll
            for (int k = 0; k < half; ++k) {{
                float give = upper ? s[k] : s[k + half];
                float keep = upper ? s[k + half] : s[k];
                s[k] = keep + __shfl_xor_sync(0xffffffffu, give, half);
            }}
        }}
        float* row = out.data + (size_t)chunk * {sums};
        if (lane < {sums}) row[lane] = s[0];
        #pragma unroll
        for (int k = 32; k < {sums}; ++k) {{
            float t = total[k];
            #pragma unroll
            for (int half = 16; half > 0; half >>= 1) t += __shfl_xor_sync(0xffffffffu, t, half);
            if (lane == 0) row[k] = t;
        }}
    """)
    def store_sums(total: sums_type, lane: int, chunk: int, out: wp.array2d(dtype=float)): ...

    @wp.kernel(module="unique", enable_backward=False)
    def sum_members(
        start: int,
        chunks: wp.array(dtype=wp.vec4i),
        member: wp.array(dtype=int),
        member_rest: wp.array(dtype=wp.vec4),
        anchor: wp.array(dtype=wp.vec3),
        inv_mass: wp.array(dtype=float),
        f_ext: wp.array(dtype=wp.vec3),
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        step: MidStep,
        sums_out: wp.array2d(dtype=float),
    ):
        tid = start + wp.tid()
        c = tid // 32
        lane = tid - c * 32
        chunk = chunks[c]
        origin = anchor[chunk[3]]
        total = sums_type()
        for k in range(chunk[0] + lane, chunk[0] + chunk[1], 32):
            i = chunk[2] + member[k]
            rest = member_rest[k]
            speed = middle_velocity(v[i], f_ext[i], inv_mass[i], step)
            y = (x[i] - origin) + (0.5 * step.dt) * speed
            q = wp.vec3(rest[0], rest[1], rest[2])
            f = vec_n()
            for j in range(3):
                f[j] = q[j]
            if wp.static(quadratic):
                p = products(q)
                for j in range(6):
                    f[3 + j] = p[j]
            wy = rest[3] * y
            moment = wp.cross(wy, speed)
            spread = products(y)
            for j in range(3):
                total[j] += wy[j]
                for n in range(order):
                    total[3 + order * j + n] += wy[j] * f[n]
                total[at_v + j] += rest[3] * speed[j]
                total[at_v + 3 + j] += moment[j]
            for n in range(6):
                total[at_v + 6 + n] += rest[3] * spread[n]
        store_sums(total, lane, c, sums_out)

    return sum_members
