"""Sums over clusters on CUDA: a warp takes a chunk of a cluster, its lanes a member each, and adds up over the lanes."""

import functools
from typing import Any

import warp as wp

from pliant.solvers.shape_matching.kernels import MidStep, member_code, middle_velocity

wp.set_module_options({"enable_backward": False})

LANES = 32


@functools.cache
def sum_members_kernel(order: int) -> Any:
    """The kernel of `MatchKernels.sum_members` for CUDA; launched over 32 threads for each chunk."""
    code = member_code(order)
    sums, sums_type, add_member = code.sums, code.sums_type, code.add_member

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
            speed = middle_velocity(v[i], f_ext[i], inv_mass[i], step)
            total = add_member(total, member_rest[k], (x[i] - origin) + (0.5 * step.dt) * speed, speed)
        store_sums(total, lane, c, sums_out)

    return sum_members
