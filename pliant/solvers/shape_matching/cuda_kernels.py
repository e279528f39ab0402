"""Sums and fits of clusters on CUDA: a warp takes a cluster, or a chunk of one.

The lanes take a member each and add up; in the fit, each takes one coefficient of the 3 x order matrices, and all of them
the small things that there is one of, such as the rotation.
"""

import dataclasses
import functools
from typing import Any

import warp as wp

from pliant.physics.polar import nearest_rotation, spectral_norm
from pliant.physics.shape_match import fit_weight, linear_strain, spin, volume_scale
from pliant.solvers.shape_matching.constants import BodyMatch
from pliant.solvers.shape_matching.kernels import MidStep, external, member_code, middle_velocity

wp.set_module_options({"enable_backward": False})

LANES = 32


@wp.func_native("__syncwarp();")
def sync_lanes(): ...


@wp.func_native("return __shfl_sync(0xffffffffu, x, lane);")
def of_lane(x: float, lane: int) -> float: ...


@wp.func_native("""
float s = x;
for (int half = 16; half > 0; half >>= 1) s += __shfl_xor_sync(0xffffffffu, s, half);
return s;
""")
def lane_total(x: float) -> float: ...


@wp.func
def row_of(m: wp.mat33, i: int) -> wp.vec3:
    """Row i of a matrix, chosen without indexing registers."""
    a = wp.vec3(m[0, 0], m[0, 1], m[0, 2])
    if i == 1:
        a = wp.vec3(m[1, 0], m[1, 1], m[1, 2])
    if i == 2:
        a = wp.vec3(m[2, 0], m[2, 1], m[2, 2])
    return a


@wp.func
def component(a: wp.vec3, i: int) -> float:
    """Component i of a vector, zero for other numbers."""
    x = float(0.0)
    if i == 0:
        x = a[0]
    if i == 1:
        x = a[1]
    if i == 2:
        x = a[2]
    return x


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
    lines.append(f"float* row = out.data + (size_t)chunk * {sums};")
    lines.append(f"if (lane < {sums}) row[lane] = s0;")
    for k in range(LANES, sums):
        lines.append(f"float t{k} = total[{k}];")
        lines += [f"t{k} += __shfl_xor_sync(0xffffffffu, t{k}, {half});" for half in (16, 8, 4, 2, 1)]
        lines.append(f"if (lane == {k - LANES}) row[{k}] = t{k};")
    return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class CudaKernels:
    """The kernels of `MatchKernels` for CUDA; each is launched over 32 threads for a chunk or a cluster.

    Attributes:
        sum_members: sums over chunks. fit: fits of clusters from their sums.
        sum_and_fit: both, where every cluster is one chunk.
    """

    sum_members: Any
    fit: Any
    sum_and_fit: Any


@functools.cache
def cuda_kernels(order: int) -> CudaKernels:
    """The kernels for goals of 3 or 9 functions."""
    code = member_code(order)
    count, sums_type, add_member = code.sums, code.sums_type, code.add_member
    quadratic = order == 9
    at_v = 3 + 3 * order

    @wp.func_native(_store_code(count))
    def store_sums(total: sums_type, lane: int, chunk: int, out: wp.array2d(dtype=float)): ...

    @wp.func
    def sum_chunk(
        c: int,
        lane: int,
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
        """Sums over a chunk of a cluster: first entry, number of entries, first particle of the body, cluster."""
        chunk = chunks[c]
        origin = anchor[chunk[3]]
        total = sums_type()
        for k in range(chunk[0] + lane, chunk[0] + chunk[1], 32):
            i = chunk[2] + member[k]
            speed = middle_velocity(v[i], external(f_ext, i, step), inv_mass[i], step)
            total = add_member(total, member_rest[k], (x[i] - origin) + (0.5 * step.dt) * speed, speed)
        store_sums(total, lane, c, sums_out)

    @wp.func
    def moment_with(
        c: int,
        t: int,
        i: int,
        j: int,
        means: wp.array2d(dtype=float),
        sums: wp.array2d(dtype=float),
        shift: float,
        shape: wp.array2d(dtype=float),
    ) -> float:
        """Entry (i, j) of A_pq times the transposed permanent map."""
        total = float(0.0)
        for k in range(order):
            a = sums[c, 3 + order * i + k]
            if k >= 3:
                a -= shift * means[t, k]
            total += a * shape[c, order * j + k]
        return total

    @wp.func
    def gathered(mine: float) -> wp.mat33:
        """The linear part of the matrix whose coefficients the lanes hold."""
        m = wp.mat33()
        for i in range(3):
            for j in range(3):
                m[i, j] = of_lane(mine, order * i + j)
        return m

    @wp.func
    def fit_cluster(
        c: int,
        lane: int,
        cluster_rest: wp.array(dtype=int),
        cluster_body: wp.array(dtype=int),
        radius: wp.array(dtype=float),
        means: wp.array2d(dtype=float),
        inverse: wp.array2d(dtype=float),
        missing: wp.array(dtype=wp.mat33),
        bodies: wp.array(dtype=BodyMatch),
        sums: wp.array2d(dtype=float),
        anchor_inout: wp.array(dtype=wp.vec3),
        rotation_inout: wp.array(dtype=wp.quat),
        plastic_inout: wp.array2d(dtype=float),
        maps_out: wp.array2d(dtype=float),
    ):
        """The fit of `MatchKernels.fit`; lane order * i + k has coefficient (i, k)."""
        t = cluster_rest[c]
        body = bodies[cluster_body[c]]
        size = radius[t]
        i = lane // order
        k = lane - order * i
        held = i < 3
        i = wp.min(i, 2)
        shift = wp.vec3(sums[c, 0], sums[c, 1], sums[c, 2])
        centre = anchor_inout[c] + shift
        my_shift = component(shift, i)
        moment = wp.mat33()
        for m in range(3):
            for n in range(3):
                moment[m, n] = sums[c, 3 + order * m + n]
        mean = float(0.0)
        if k >= 3:
            mean = means[t, k]

        # the column of the rest shape with what has become of it for good, and the rotation that fits it best
        column = wp.vec3(0.0, 0.0, 0.0)
        if body.plastic != 0:
            for m in range(3):
                column[m] = plastic_inout[c, order * m + k]
                for n in range(3):
                    moment[m, n] = moment_with(c, t, m, n, means, sums, shift[m], plastic_inout)
        else:
            if k == 0:
                column[0] = 1.0
            if k == 1:
                column[1] = 1.0
            if k == 2:
                column[2] = 1.0
        turn = nearest_rotation(moment, rotation_inout[c])
        r = wp.quat_to_matrix(turn)
        rigid = size * wp.dot(row_of(r, i), column)

        # goal = beta * (best fit, scaled to the volume at rest) + (1 - beta) * (turned rest shape)
        goal = rigid
        if body.beta > 0.0 or body.plastic != 0:
            best = float(0.0)
            for n in range(order):
                a = sums[c, 3 + order * i + n]
                if n >= 3:
                    a -= my_shift * means[t, n]
                best += a * inverse[t, order * n + k]
            if k < 3:
                best += size * wp.dot(row_of(r, i), row_of(wp.transpose(missing[t]), k))
            linear = (1.0 / size) * gathered(best)
            volume = wp.determinant(linear)
            weight = body.beta * fit_weight(volume)
            goal = weight * volume_scale(volume, body.keep_volume) * best + (1.0 - weight) * rigid
            if body.plastic != 0:
                # the shape yields to the fit, turned back
                wanted = float(0.0)
                for m in range(3):
                    wanted += component(row_of(r, m), i) * of_lane(best, order * m + k)
                wanted = wanted / size
                shape = component(column, i)
                off = wanted - shape
                bend = float(0.0)
                if held and k >= 3:
                    bend = off * off
                bend = lane_total(bend)
                strain = wp.max(linear_strain(gathered(wanted), gathered(shape)), 2.0 * wp.sqrt(bend))
                if strain > body.yield_strain and volume > 0.0 and strain < 1.0e6:
                    one = float(0.0)
                    if k == i:
                        one = 1.0
                    change = shape + body.creep * off - one
                    bend = float(0.0)
                    if held and k >= 3:
                        bend = change * change
                    permanent = wp.max(spectral_norm(gathered(change)), 2.0 * wp.sqrt(lane_total(bend)))
                    if permanent > body.plastic_limit:
                        change = (body.plastic_limit / permanent) * change
                    shape = one + change
                    left = wp.determinant(gathered(shape))
                    if left > 0.05 and held:
                        if k < 3:
                            shape *= wp.pow(left, -1.0 / 3.0)
                        plastic_inout[c, lane] = shape

        offset = centre
        if wp.static(quadratic):
            part = goal * mean
            for m in range(3):
                for n in range(3, order):
                    offset[m] -= of_lane(part, order * m + n)
        if held:
            maps_out[c, lane] = goal
        velocity = wp.vec3(sums[c, at_v], sums[c, at_v + 1], sums[c, at_v + 2])
        turning = wp.vec3(sums[c, at_v + 3], sums[c, at_v + 4], sums[c, at_v + 5]) - wp.cross(shift, velocity)
        xx = sums[c, at_v + 6] - shift[0] * shift[0]
        yy = sums[c, at_v + 7] - shift[1] * shift[1]
        zz = sums[c, at_v + 8] - shift[2] * shift[2]
        xy = sums[c, at_v + 9] - shift[0] * shift[1]
        yz = sums[c, at_v + 10] - shift[1] * shift[2]
        zx = sums[c, at_v + 11] - shift[2] * shift[0]
        omega = spin(turning, wp.mat33(xx, xy, zx, xy, yy, yz, zx, yz, zz))
        sync_lanes()
        if lane == 0:
            anchor_inout[c] = centre
            rotation_inout[c] = turn
        if lane < 3:
            maps_out[c, 3 * order + lane] = component(offset, lane)
            maps_out[c, 3 * order + 3 + lane] = component(centre, lane)
            maps_out[c, 3 * order + 6 + lane] = component(velocity, lane)
            maps_out[c, 3 * order + 9 + lane] = component(omega, lane)

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
        thread = start + wp.tid()
        c = thread // 32
        sum_chunk(c, thread - 32 * c, chunks, member, member_rest, anchor, inv_mass, f_ext, x, v, step, sums_out)

    @wp.kernel(module="unique", enable_backward=False)
    def fit(
        start: int,
        cluster_rest: wp.array(dtype=int),
        cluster_body: wp.array(dtype=int),
        radius: wp.array(dtype=float),
        means: wp.array2d(dtype=float),
        inverse: wp.array2d(dtype=float),
        missing: wp.array(dtype=wp.mat33),
        bodies: wp.array(dtype=BodyMatch),
        sums: wp.array2d(dtype=float),
        anchor_inout: wp.array(dtype=wp.vec3),
        rotation_inout: wp.array(dtype=wp.quat),
        plastic_inout: wp.array2d(dtype=float),
        maps_out: wp.array2d(dtype=float),
    ):
        thread = start + wp.tid()
        c = thread // 32
        fit_cluster(
            c, thread - 32 * c, cluster_rest, cluster_body, radius, means, inverse, missing, bodies, sums,
            anchor_inout, rotation_inout, plastic_inout, maps_out,
        )  # fmt: skip

    @wp.kernel(module="unique", enable_backward=False)
    def sum_and_fit(
        start: int,
        chunks: wp.array(dtype=wp.vec4i),
        member: wp.array(dtype=int),
        member_rest: wp.array(dtype=wp.vec4),
        inv_mass: wp.array(dtype=float),
        f_ext: wp.array(dtype=wp.vec3),
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        step: MidStep,
        cluster_rest: wp.array(dtype=int),
        cluster_body: wp.array(dtype=int),
        radius: wp.array(dtype=float),
        means: wp.array2d(dtype=float),
        inverse: wp.array2d(dtype=float),
        missing: wp.array(dtype=wp.mat33),
        bodies: wp.array(dtype=BodyMatch),
        sums_out: wp.array2d(dtype=float),
        anchor_inout: wp.array(dtype=wp.vec3),
        rotation_inout: wp.array(dtype=wp.quat),
        plastic_inout: wp.array2d(dtype=float),
        maps_out: wp.array2d(dtype=float),
    ):
        thread = start + wp.tid()
        c = thread // 32
        lane = thread - 32 * c
        sum_chunk(c, lane, chunks, member, member_rest, anchor_inout, inv_mass, f_ext, x, v, step, sums_out)
        sync_lanes()
        fit_cluster(
            c, lane, cluster_rest, cluster_body, radius, means, inverse, missing, bodies, sums_out,
            anchor_inout, rotation_inout, plastic_inout, maps_out,
        )  # fmt: skip

    return CudaKernels(sum_members, fit, sum_and_fit)
