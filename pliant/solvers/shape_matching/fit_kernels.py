"""The fit of a cluster to its members: its goal, its rigid motion, and what becomes of its rest shape for good."""

import functools
from typing import Any

import warp as wp

from pliant.physics.polar import nearest_rotation, spectral_norm
from pliant.physics.shape_match import basis_types, fit_weight, linear_strain, spin, volume_push
from pliant.solvers.shape_matching.constants import BodyMatch
from pliant.solvers.shape_matching.member_kernels import member_code
from pliant.solvers.shape_matching.step_kernels import load_four, store_four

wp.set_module_options({"enable_backward": False})


@functools.cache
def fit_kernel(order: int) -> Any:
    """The kernel that fits clusters with goals of 3 or 9 functions."""
    _, mat_n = basis_types(order)
    quadratic = order == 9
    fours = map_fours(order)
    row_type = wp.types.vector(length=4 * fours, dtype=float)
    sum_fours = -(-member_code(order).sums // 4)
    summed_type = wp.types.vector(length=4 * sum_fours, dtype=float)
    line_fours = -(-order // 4)
    line_type = wp.types.vector(length=4 * line_fours, dtype=float)
    lines_type = wp.types.matrix(shape=(3, 4 * line_fours), dtype=float)
    slope_fours = 2
    at_v = 3 + 3 * order
    at_moment = at_v + 3
    at_spread = at_v + 6

    @wp.func
    def linear_part(m: Any) -> wp.mat33:
        return wp.mat33(m[0, 0], m[0, 1], m[0, 2], m[1, 0], m[1, 1], m[1, 2], m[2, 0], m[2, 1], m[2, 2])

    @wp.kernel(module="unique", enable_backward=False)
    def fit(
        start: int,
        cluster_rest: wp.array(dtype=int),
        cluster_body: wp.array(dtype=int),
        radius: wp.array(dtype=float),
        means: wp.array2d(dtype=float),
        inverse: wp.array2d(dtype=float),
        missing: wp.array2d(dtype=float),
        slope: wp.array2d(dtype=float),
        lacks: wp.array(dtype=int),
        goals: wp.array(dtype=wp.vec4),
        bodies: wp.array(dtype=BodyMatch),
        sums: wp.array2d(dtype=float),
        awake: wp.array(dtype=int),
        anchor_inout: wp.array(dtype=wp.vec3),
        rotation_inout: wp.array(dtype=wp.quat),
        plastic_inout: wp.array2d(dtype=float),
        maps_out: wp.array2d(dtype=float),
    ):
        """Fit each cluster to its members and leave its goal and its rigid motion for them."""
        c = start + wp.tid()
        if awake[cluster_body[c]] == 0:
            return
        t = cluster_rest[c]
        body = bodies[cluster_body[c]]
        follows = goals[c]
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
        anchor = anchor_inout[c]
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

        # goal = beta * (best fit, pushed to the volume at rest) + (1 - beta) * (turned rest shape)
        rigid = mat_n()
        for i in range(3):
            for k in range(order):
                for j in range(3):
                    rigid[i, k] += size * r[i, j] * shape[j, k]
        goal = rigid
        if follows[1] != 0.0 or follows[3] > 0.0 or body.plastic != 0:
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
            # directions without extent are those of the turned rest shape
            if lacks[t] > 0:
                for m in range(3):
                    for k in range(order):
                        lacking = size * missing[t, 4 * line_fours * m + k]
                        for i in range(3):
                            best[i, k] += r[i, m] * lacking
            linear = (1.0 / size) * linear_part(best)
            volume = wp.determinant(linear)
            sound = fit_weight(volume)
            weight = follows[1] * sound
            for i in range(3):
                for k in range(order):
                    goal[i, k] = weight * best[i, k] + (1.0 - weight) * rigid[i, k]
            # what is bent and twisted, without the shear that goes with it on these points, is followed by a share of
            # its own: then the pull still has no torque, since rotations are found without it
            if wp.static(quadratic):
                more = (follows[2] - follows[1]) * sound
                if more != 0.0:
                    for j in range(3):
                        line = line_type()
                        for n in range(slope_fours):
                            part = load_four(slope, (3 * t + j) * slope_fours + n)
                            for m in range(4):
                                line[4 * n + m] = part[m]
                        for i in range(3):
                            for k in range(3, order):
                                goal[i, j] -= more * (best[i, k] - rigid[i, k]) * line[k - 3]
                    for i in range(3):
                        for k in range(3, order):
                            goal[i, k] += more * (best[i, k] - rigid[i, k])
            # what lies in a plane has no volume
            if follows[3] > 0.0 and sound > 0.0 and lacks[t] == 0:
                lines = lines_type()
                for j in range(3):
                    for n in range(line_fours):
                        part = load_four(inverse, (order * t + j) * line_fours + n)
                        for m in range(4):
                            lines[j, 4 * n + m] = part[m]
                push = (follows[3] * sound * size) * volume_push(linear, volume, linear_part(lines))
                for i in range(3):
                    for k in range(order):
                        for j in range(3):
                            goal[i, k] += push[i, j] * lines[j, k]
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
                    # as far as the limit allows, at the volume at rest: putting one right spoils the other by less
                    # each time
                    left = float(0.0)
                    permanent = float(0.0)
                    for _round in range(4):
                        bend = float(0.0)
                        for i in range(3):
                            for k in range(3, order):
                                bend += shape[i, k] * shape[i, k]
                        permanent = wp.max(spectral_norm(linear_part(shape)), 2.0 * wp.sqrt(bend))
                        if permanent > body.plastic_limit:
                            shape = (0.999 * body.plastic_limit / permanent) * shape
                        for i in range(3):
                            shape[i, i] += 1.0
                        left = wp.determinant(linear_part(shape))
                        held = wp.pow(wp.max(left, 0.05), -1.0 / 3.0)
                        for i in range(3):
                            for k in range(3):
                                shape[i, k] *= held
                        for i in range(3):
                            shape[i, i] -= 1.0
                    permanent = spectral_norm(linear_part(shape))
                    for i in range(3):
                        shape[i, i] += 1.0
                    if left > 0.05 and permanent <= body.plastic_limit:
                        for i in range(3):
                            for k in range(order):
                                plastic_inout[c, order * i + k] = shape[i, k]

        # what the members are given is about the old anchor, as the sums are, so that it rounds as the body's size
        # does; products are given as they are: their means go into the offset
        offset = shift
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

        at_anchor = velocity - wp.cross(omega, shift)

        anchor_inout[c] = anchor + shift
        rotation_inout[c] = turn
        row = row_type()
        for i in range(3):
            for k in range(order):
                row[order * i + k] = goal[i, k]
            row[3 * order + i] = offset[i]
            row[3 * order + 3 + i] = anchor[i]
            row[3 * order + 6 + i] = at_anchor[i]
            row[3 * order + 9 + i] = omega[i]
        row[3 * order + 12] = follows[0]
        for n in range(fours):
            store_four(maps_out, fours * c + n, wp.vec4(row[4 * n], row[4 * n + 1], row[4 * n + 2], row[4 * n + 3]))

    return fit


def map_fours(order: int) -> int:
    """Fours of numbers that a fit leaves for the members of a cluster."""
    return -(-(3 * order + 13) // 4)
