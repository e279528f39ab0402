"""Sums over clusters on CUDA: a warp takes a chunk of a cluster, its lanes a member each, and adds up over them."""

import functools
from typing import Any

import warp as wp

from pliant.solvers.shape_matching.member_kernels import member_code
from pliant.solvers.shape_matching.step_kernels import MidStep, external, middle_velocity

wp.set_module_options({"enable_backward": False})

LANES = 32


@wp.func_native("""
float4 r = __ldg((const float4*)(table.data) + i);
return wp::vec_t<4, float>(r.x, r.y, r.z, r.w);
""")
def load_rest(table: wp.array(dtype=wp.vec4), i: int) -> wp.vec4: ...


def _store_code(sums: int) -> str:
    """Code that adds up the numbers of all lanes and stores them in a row.

    Every exchange halves the numbers that a lane holds, so lane k ends with the sum of number k; those beyond the 32nd
    are added the plain way. Written out, so that nothing is indexed; the order of additions is fixed, so the bits are.
    """
    lines = [f"float s{k} = {f'total[{k}]' if k < sums else '0.0f'};" for k in range(LANES)]
    half = LANES // 2
    while half:
        lines.append(f"{{ bool upper = lane & {half};")
        for k in range(half):
            lines.append(f"float give{k} = upper ? s{k} : s{k + half};")
            lines.append(f"s{k} = (upper ? s{k + half} : s{k}) + __shfl_xor_sync(0xffffffffu, give{k}, {half});")
        lines.append("}")
        half //= 2
    lines.append(f"float* row = out.data + (size_t)chunk * {-(-sums // 4) * 4};")
    lines.append(f"if (lane < {sums}) row[lane] = s0;")
    for k in range(LANES, sums):
        lines.append(f"float t{k} = total[{k}];")
        lines += [f"t{k} += __shfl_xor_sync(0xffffffffu, t{k}, {half});" for half in (16, 8, 4, 2, 1)]
        lines.append(f"if (lane == {k - LANES}) row[{k}] = t{k};")
    return "\n".join(lines)


@functools.cache
def warp_sums_kernel(order: int) -> Any:
    """The kernel of `MatchKernels.sum_members` for CUDA; launched over 32 threads for each chunk."""
    code = member_code(order)
    sums, sums_type, add_member = code.sums, code.sums_type, code.add_member

    @wp.func_native(_store_code(sums))
    def store_sums(total: sums_type, lane: int, chunk: int, out: wp.array2d(dtype=float)): ...

    @wp.kernel(module="unique", enable_backward=False)
    def sum_members(
        start: int,
        chunks: wp.array(dtype=wp.vec4i),
        cluster_body: wp.array(dtype=int),
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
        if step.awake[cluster_body[chunk[3]]] == 0:
            return
        origin = anchor[chunk[3]]
        total = sums_type()
        end = chunk[0] + chunk[1]
        for k in range(chunk[0] + lane, end, 64):
            # two at once, so that one's places are on their way while the other's arrive; past the end with weight 0
            rest = load_rest(member_rest, k)
            i = chunk[2] + member[k]
            other_rest = wp.vec4(0.0, 0.0, 0.0, 0.0)
            j = i
            if k + 32 < end:
                other_rest = load_rest(member_rest, k + 32)
                j = chunk[2] + member[k + 32]
            speed = middle_velocity(v[i], external(f_ext, i, step), inv_mass[i], step)
            other_speed = middle_velocity(v[j], external(f_ext, j, step), inv_mass[j], step)
            place = (x[i] - origin) + (0.5 * step.dt) * speed
            other_place = (x[j] - origin) + (0.5 * step.dt) * other_speed
            total = add_member(total, rest, place, v[i])
            total = add_member(total, other_rest, other_place, v[j])
        store_sums(total, lane, c, sums_out)

    return sum_members
