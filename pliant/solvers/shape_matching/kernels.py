"""Device code of shape matching: sums over clusters, the fit of each cluster, and the step of each particle.

A step is an implicit midpoint step. At the middle of the step, x' = x + dt/2 (v + dt/2 a), each cluster is fitted to
its members; the pull towards the mean of their goals and the drag on what is not rigid motion change the velocity by
J, and the position moves by dt (v + dt/2 a + J/2). The pull and the drag of a cluster have no force and no torque
about x', and the middle of the step lies off x' by a multiple of J: so linear and angular momentum are kept to
rounding, whatever the step.
"""

import dataclasses
import functools
from typing import Any

import warp as wp

from pliant.physics.contact import Met, PlaneData, meet_planes
from pliant.physics.polar import nearest_rotation, spectral_norm
from pliant.physics.shape_match import basis_types, fit_weight, linear_strain, products, spin, volume_scale
from pliant.solvers.shape_matching.constants import BodyMatch

wp.set_module_options({"enable_backward": False})


@wp.struct
class MidStep:
    """Length of the step, gravity, and whether there are forces besides."""

    dt: float
    gravity: wp.vec3
    has_f_ext: int
    plane_count: int
    rest_speed: float


@wp.func
def external(f_ext: wp.array(dtype=wp.vec3), i: int, step: MidStep) -> wp.vec3:
    """Force on particle i besides gravity [N]; not read where there is none."""
    f = wp.vec3(0.0, 0.0, 0.0)
    if step.has_f_ext != 0:
        f = f_ext[i]
    return f


@wp.func
def acceleration(f_ext: wp.vec3, inv_mass: float, step: MidStep) -> wp.vec3:
    """Gravity and the forces besides [m/s^2]; none for a pinned particle."""
    if inv_mass == 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    return step.gravity + inv_mass * f_ext


@wp.func
def middle_velocity(v: wp.vec3, f_ext: wp.vec3, inv_mass: float, step: MidStep) -> wp.vec3:
    """Velocity at the middle of the step without pull and damping [m/s]."""
    return v + (0.5 * step.dt) * acceleration(f_ext, inv_mass, step)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
float4 r = __ldg((const float4*)(table.data) + i);
return wp::vec_t<4, float>(r.x, r.y, r.z, r.w);
#else
const float* r = (const float*)(table.data) + 4 * (size_t)i;
return wp::vec_t<4, float>(r[0], r[1], r[2], r[3]);
#endif
""")
def load_four(table: wp.array2d(dtype=float), i: int) -> wp.vec4:
    """The i-th four numbers of a table whose rows are a multiple of four long, in one load."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
((float4*)(table.data))[i] = make_float4(four[0], four[1], four[2], four[3]);
#else
float* r = (float*)(table.data) + 4 * (size_t)i;
for (int k = 0; k < 4; ++k) r[k] = four[k];
#endif
""")
def store_four(table: wp.array2d(dtype=float), i: int, four: wp.vec4):
    """The same for writing."""
    ...


@wp.func
def moved(
    x: wp.vec3,
    v: wp.vec3,
    f_ext: wp.vec3,
    inv_mass: float,
    away: wp.vec3,
    slip: wp.vec3,
    body: BodyMatch,
    planes: wp.array(dtype=PlaneData),
    step: MidStep,
) -> Met:
    """A particle after the step.

    Args:
        away: from where it is at the middle of the step to the mean of its goals [m].
        slip: its velocity then, less that of its clusters' rigid motion [m/s].
    """
    speed = middle_velocity(v, f_ext, inv_mass, step)
    gain = body.pull * away - body.damp * slip - (body.drag * step.dt) * speed
    met = Met()
    met.x = x + step.dt * (speed + 0.5 * gain)
    met.v = v + (step.dt * acceleration(f_ext, inv_mass, step) + gain)
    if step.plane_count > 0:
        met = meet_planes(
            met.x,
            met.v,
            x,
            planes,
            step.plane_count,
            body.friction,
            body.restitution,
            step.rest_speed,
            step.dt,
        )
    return met


@wp.kernel
def sum_rows(
    start: int,
    row_starts: wp.array(dtype=int),
    rows: wp.array2d(dtype=float),
    width: int,
    sums_out: wp.array2d(dtype=float),
):
    """Sums of runs of rows, in their order: one thread for each number."""
    i = start + wp.tid()
    row = i // width
    k = i - row * width
    total = float(0.0)
    for r in range(row_starts[row], row_starts[row + 1]):
        total += rows[r, k]
    sums_out[row, k] = total


@dataclasses.dataclass(frozen=True)
class MatchKernels:
    """The kernels for goals of `order` functions.

    Attributes:
        sums: length of a row of sums over a cluster, a multiple of four: mean of x' about the anchor (3), its products
            with the functions (3 order), means of v' (3), of x' x v' (3), and of the products of x' with itself (6).
        maps: numbers that a fit leaves for the members: map (3 order), offset (3), centre (3), velocity (3), spin (3),
            and what fills the row up to a multiple of four.
    """

    order: int
    sums: int
    maps: int
    sum_members: Any
    fit: Any
    move: Any


@dataclasses.dataclass(frozen=True)
class MemberCode:
    """What the sums over clusters are made of, for goals of `order` functions.

    Attributes:
        sums: how many numbers are summed; sums_type: the vector of them.
        functions: the functions of a rest position that goals are made of.
        add_member: adds one member's part to the sums.
    """

    sums: int
    sums_type: Any
    functions: Any
    add_member: Any


@functools.cache
def member_code(order: int) -> MemberCode:
    """The sums over members for goals of 3 or 9 functions."""
    vec_n, _ = basis_types(order)
    quadratic = order == 9
    at_v = 3 + 3 * order
    sums = at_v + 12
    sums_type = wp.types.vector(length=sums, dtype=float)

    @wp.func
    def functions(q: wp.vec3) -> vec_n:
        f = vec_n()
        for k in range(3):
            f[k] = q[k]
        if wp.static(quadratic):
            p = products(q)
            for k in range(6):
                f[3 + k] = p[k]
        return f

    @wp.func
    def add_member(total: sums_type, rest: wp.vec4, y: wp.vec3, v: wp.vec3) -> sums_type:
        """rest is the member's place at rest and its weight, y its place about the anchor."""
        f = functions(wp.vec3(rest[0], rest[1], rest[2]))
        wy = rest[3] * y
        moment = wp.cross(wy, v)
        spread = products(y)
        for i in range(3):
            total[i] += wy[i]
            for k in range(order):
                total[3 + order * i + k] += wy[i] * f[k]
            total[at_v + i] += rest[3] * v[i]
            total[at_v + 3 + i] += moment[i]
        for k in range(6):
            total[at_v + 6 + k] += rest[3] * spread[k]
        return total

    return MemberCode(sums, sums_type, functions, add_member)


@functools.cache
def match_kernels(order: int) -> MatchKernels:
    """The kernels for goals of 3 or 9 functions."""
    _, mat_n = basis_types(order)
    code = member_code(order)
    functions, add_member, sums_type = code.functions, code.add_member, code.sums_type
    quadratic = order == 9
    sums = code.sums
    fours = -(-(3 * order + 12) // 4)
    row_type = wp.types.vector(length=4 * fours, dtype=float)
    sum_fours = -(-code.sums // 4)
    summed_type = wp.types.vector(length=4 * sum_fours, dtype=float)
    line_fours = -(-order // 4)
    line_type = wp.types.vector(length=4 * line_fours, dtype=float)
    at_v = 3 + 3 * order
    at_moment = at_v + 3
    at_spread = at_v + 6

    @wp.func
    def linear_part(m: mat_n) -> wp.mat33:
        return wp.mat33(m[0, 0], m[0, 1], m[0, 2], m[1, 0], m[1, 1], m[1, 2], m[2, 0], m[2, 1], m[2, 2])

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
        """Sums over a chunk of a cluster: first entry, number of entries, first particle of the body, cluster."""
        c = start + wp.tid()
        chunk = chunks[c]
        origin = anchor[chunk[3]]
        total = sums_type()
        for k in range(chunk[0], chunk[0] + chunk[1]):
            i = chunk[2] + member[k]
            speed = middle_velocity(v[i], external(f_ext, i, step), inv_mass[i], step)
            total = add_member(total, member_rest[k], (x[i] - origin) + (0.5 * step.dt) * speed, speed)
        for k in range(sums):
            sums_out[c, k] = total[k]

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
        """Fit each cluster to its members and leave its goal and its rigid motion for them."""
        c = start + wp.tid()
        t = cluster_rest[c]
        body = bodies[cluster_body[c]]
        size = radius[t]
        total = summed_type()
        for n in range(sum_fours):
            part = load_four(sums, sum_fours * c + n)
            for j in range(4):
                total[4 * n + j] = part[j]
        mean = line_type()
        for n in range(line_fours):
            part = load_four(means, line_fours * t + n)
            for j in range(4):
                mean[4 * n + j] = part[j]
        shift = wp.vec3(total[0], total[1], total[2])
        centre = anchor_inout[c] + shift
        # A_pq about the centre: linear functions have no mean, their products have
        apq = mat_n()
        for i in range(3):
            for k in range(order):
                apq[i, k] = total[3 + order * i + k]
        if wp.static(quadratic):
            for i in range(3):
                for k in range(3, order):
                    apq[i, k] -= shift[i] * mean[k]

        # the rest shape with what has become of it for good, and the rotation that fits it best
        shape = mat_n()
        for i in range(3):
            shape[i, i] = 1.0
        moment = linear_part(apq)
        if body.plastic != 0:
            for i in range(3):
                for k in range(order):
                    shape[i, k] = plastic_inout[c, order * i + k]
            for i in range(3):
                for j in range(3):
                    moment[i, j] = float(0.0)
                    for k in range(order):
                        moment[i, j] += apq[i, k] * shape[j, k]
        turn = nearest_rotation(moment, rotation_inout[c])
        r = wp.quat_to_matrix(turn)

        # goal = beta * (best fit, scaled to the volume at rest) + (1 - beta) * (turned rest shape)
        rigid = mat_n()
        for i in range(3):
            for k in range(order):
                for j in range(3):
                    rigid[i, k] += size * r[i, j] * shape[j, k]
        goal = rigid
        if body.beta > 0.0 or body.plastic != 0:
            best = mat_n()
            for j in range(order):
                line = line_type()
                for n in range(line_fours):
                    part = load_four(inverse, (order * t + j) * line_fours + n)
                    for m in range(4):
                        line[4 * n + m] = part[m]
                for i in range(3):
                    for k in range(order):
                        best[i, k] += apq[i, j] * line[k]
            gap = r * missing[t]
            for i in range(3):
                for k in range(3):
                    best[i, k] += size * gap[i, k]
            linear = (1.0 / size) * linear_part(best)
            volume = wp.determinant(linear)
            weight = body.beta * fit_weight(volume)
            scale = weight * volume_scale(volume, body.keep_volume)
            for i in range(3):
                for k in range(order):
                    goal[i, k] = scale * best[i, k] + (1.0 - weight) * rigid[i, k]
            if body.plastic != 0:
                # Mueller et al. 2005, section 4.5, for the quadratic part too: the shape yields to the fit, turned back
                wanted = mat_n()
                for i in range(3):
                    for k in range(order):
                        for j in range(3):
                            wanted[i, k] += r[j, i] * best[j, k] / size
                bend = float(0.0)
                for i in range(3):
                    for k in range(3, order):
                        bend += (wanted[i, k] - shape[i, k]) * (wanted[i, k] - shape[i, k])
                strain = wp.max(linear_strain(linear_part(wanted), linear_part(shape)), 2.0 * wp.sqrt(bend))
                if strain > body.yield_strain and volume > 0.0 and strain < 1.0e6:
                    shape = shape + body.creep * (wanted - shape)
                    for i in range(3):
                        shape[i, i] -= 1.0
                    bend = float(0.0)
                    for i in range(3):
                        for k in range(3, order):
                            bend += shape[i, k] * shape[i, k]
                    permanent = wp.max(spectral_norm(linear_part(shape)), 2.0 * wp.sqrt(bend))
                    if permanent > body.plastic_limit:
                        shape = (body.plastic_limit / permanent) * shape
                    for i in range(3):
                        shape[i, i] += 1.0
                    left = wp.determinant(linear_part(shape))
                    if left > 0.05:
                        held = wp.pow(left, -1.0 / 3.0)
                        for i in range(3):
                            for k in range(3):
                                shape[i, k] *= held
                        for i in range(3):
                            for k in range(order):
                                plastic_inout[c, order * i + k] = shape[i, k]

        # products are given to the members as they are: their means go into the offset
        offset = centre
        if wp.static(quadratic):
            for i in range(3):
                for k in range(3, order):
                    offset[i] -= goal[i, k] * mean[k]
        velocity = wp.vec3(total[at_v], total[at_v + 1], total[at_v + 2])
        turning = wp.vec3(total[at_moment], total[at_moment + 1], total[at_moment + 2])
        turning -= wp.cross(shift, velocity)
        xx = total[at_spread] - shift[0] * shift[0]
        yy = total[at_spread + 1] - shift[1] * shift[1]
        zz = total[at_spread + 2] - shift[2] * shift[2]
        xy = total[at_spread + 3] - shift[0] * shift[1]
        yz = total[at_spread + 4] - shift[1] * shift[2]
        zx = total[at_spread + 5] - shift[2] * shift[0]
        omega = spin(turning, wp.mat33(xx, xy, zx, xy, yy, yz, zx, yz, zz))

        anchor_inout[c] = centre
        rotation_inout[c] = turn
        row = row_type()
        for i in range(3):
            for k in range(order):
                row[order * i + k] = goal[i, k]
            row[3 * order + i] = offset[i]
            row[3 * order + 3 + i] = centre[i]
            row[3 * order + 6 + i] = velocity[i]
            row[3 * order + 9 + i] = omega[i]
        for n in range(fours):
            store_four(maps_out, fours * c + n, wp.vec4(row[4 * n], row[4 * n + 1], row[4 * n + 2], row[4 * n + 3]))

    @wp.kernel(module="unique", enable_backward=False)
    def move(
        start: int,
        particle_body: wp.array(dtype=int),
        of_starts: wp.array(dtype=int),
        of_cluster: wp.array(dtype=int),
        of_rest: wp.array(dtype=wp.vec3),
        bodies: wp.array(dtype=BodyMatch),
        planes: wp.array(dtype=PlaneData),
        maps: wp.array2d(dtype=float),
        inv_mass: wp.array(dtype=float),
        f_ext: wp.array(dtype=wp.vec3),
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        step: MidStep,
        x_out: wp.array(dtype=wp.vec3),
        v_out: wp.array(dtype=wp.vec3),
    ):
        """Pull each particle to the mean of its clusters' goals, damp it towards their mean motion, and move it."""
        i = start + wp.tid()
        body = bodies[particle_body[i]]
        w = inv_mass[i]
        before = x[i]
        old = v[i]
        force = external(f_ext, i, step)
        speed = middle_velocity(old, force, w, step)
        if w == 0.0:
            x_out[i] = before + step.dt * old
            v_out[i] = old
        else:
            middle = before + (0.5 * step.dt) * speed
            away = wp.vec3(0.0, 0.0, 0.0)
            slip = wp.vec3(0.0, 0.0, 0.0)
            at = body.first_start + (i - body.first_particle)
            first = of_starts[at]
            last = of_starts[at + 1]
            for k in range(first, last):
                c = body.first_cluster + of_cluster[k]
                row = row_type()
                for n in range(fours):
                    part = load_four(maps, fours * c + n)
                    for j in range(4):
                        row[4 * n + j] = part[j]
                f = functions(of_rest[k])
                goal = wp.vec3(row[3 * order], row[3 * order + 1], row[3 * order + 2]) - middle
                for j in range(3):
                    for n in range(order):
                        goal[j] += row[order * j + n] * f[n]
                away += goal
                arm = middle - wp.vec3(row[3 * order + 3], row[3 * order + 4], row[3 * order + 5])
                omega = wp.vec3(row[3 * order + 9], row[3 * order + 10], row[3 * order + 11])
                velocity = wp.vec3(row[3 * order + 6], row[3 * order + 7], row[3 * order + 8])
                slip += speed - velocity - wp.cross(omega, arm)
            share = 1.0 / float(wp.max(last - first, 1))
            met = moved(before, old, force, w, share * away, share * slip, body, planes, step)
            x_out[i] = met.x
            v_out[i] = met.v

    return MatchKernels(order, 4 * sum_fours, 4 * fours, sum_members, fit, move)
