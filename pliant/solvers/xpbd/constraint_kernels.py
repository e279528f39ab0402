"""Each kind of constraint as the step solves it: where its particles are now, and what it moves them by.

Positions of the start of the step stand in `base` (x + carry in float64, and the inverse mass), which nothing changes
during the step; `move` holds what the particles have moved by since (float32). So small moves far from the origin
lose nothing, and differences of positions are exact. `pace` is what they would move by with the velocities of the start
of the step, less what dampers have taken of them.
"""

import warp as wp

from pliant.physics.bending import fold_of, turned_from
from pliant.physics.distance import damping_share, multiplier_change
from pliant.physics.polar import nearest_rotation
from pliant.physics.strain_tet import Stress, block_multiplier, pair_weight, stress_matrix, without_torque
from pliant.physics.strain_triangle import (
    response,
    strain_change,
    strain_multiplier,
    strain_of,
    strain_response,
    triangle_push,
    woven,
)

wp.set_module_options({"enable_backward": False})

# Kinds of constraints, in the order in which a patch solves them (`Constraints.KINDS`).
BEND = wp.constant(0)
FOLD = wp.constant(1)
TET = wp.constant(2)
TRIANGLE = wp.constant(3)
DISTANCE = wp.constant(4)


@wp.struct
class Tables:
    """All constraints in the order of `Runs`, and their multipliers where there are several iterations.

    bend_law is K_1, K_2, K_3 and the compliance; fold_law and distance_law are the rest angle or length, the compliance
    and the damping time; triangle_law the compliances 11, 22, 12 and shear; tet_law the compliance of shear, that
    across, and the damping time; tet_weight the eigenvalues of W, in whose axes tet_inverse stands. patch_bodies are
    the first and the last body that a patch has constraints of, awake is 1 for bodies that move.
    """

    patch_runs: wp.array(dtype=int)
    patch_bodies: wp.array(dtype=wp.vec2i)
    awake: wp.array(dtype=int)
    run_kind: wp.array(dtype=int)
    run_first: wp.array(dtype=int)
    run_end: wp.array(dtype=int)
    bend: wp.array(dtype=wp.vec4i)
    bend_law: wp.array(dtype=wp.vec4)
    bend_damping: wp.array(dtype=float)
    bend_sum: wp.array(dtype=wp.vec3)
    fold: wp.array(dtype=wp.vec4i)
    fold_law: wp.array(dtype=wp.vec3)
    fold_sum: wp.array(dtype=float)
    tet: wp.array(dtype=wp.vec4i)
    tet_inverse: wp.array(dtype=wp.mat33)
    tet_weight: wp.array(dtype=wp.vec3)
    tet_law: wp.array(dtype=wp.vec3)
    tet_turn: wp.array(dtype=wp.quat)
    tet_sum: wp.array(dtype=wp.vec3)
    triangle: wp.array(dtype=wp.vec3i)
    triangle_inverse: wp.array(dtype=wp.vec4)
    triangle_law: wp.array(dtype=wp.vec4)
    triangle_damping: wp.array(dtype=float)
    triangle_sum: wp.array(dtype=wp.vec3)
    distance: wp.array(dtype=wp.vec2i)
    distance_law: wp.array(dtype=wp.vec3)
    distance_sum: wp.array(dtype=float)


@wp.func
def sleeps(bodies: wp.vec2i, awake: wp.array(dtype=int)) -> bool:
    """Whether all bodies from the first to the last sleep."""
    stirs = int(0)
    for b in range(bodies[0], bodies[1] + 1):
        stirs = wp.max(stirs, awake[b])
    return stirs == 0


@wp.struct
class Pass:
    """One pass over the constraints: 1 / dt [1/s] and its square, and whether multipliers are read and kept."""

    inv_dt: float
    inv_dt2: float
    reads: int
    keeps: int


@wp.func
def gap(base: wp.array(dtype=wp.vec4d), move: wp.array(dtype=wp.vec4), i: int, j: int) -> wp.vec3:
    """From particle i to particle j, where they are now [m]."""
    a = base[i]
    b = base[j]
    p = move[i]
    q = move[j]
    return wp.vec3(
        float(b[0] - a[0]) + (q[0] - p[0]), float(b[1] - a[1]) + (q[1] - p[1]), float(b[2] - a[2]) + (q[2] - p[2])
    )


@wp.func
def slip(move: wp.array(dtype=wp.vec4), i: int, j: int) -> wp.vec3:
    """What particle j has moved by since the step began, less what i has [m]."""
    p = move[i]
    q = move[j]
    return wp.vec3(q[0] - p[0], q[1] - p[1], q[2] - p[2])


@wp.func
def weight(base: wp.array(dtype=wp.vec4d), i: int) -> float:
    """Inverse mass of particle i [1/kg]."""
    return float(base[i][3])


@wp.func
def shift(move: wp.array(dtype=wp.vec4), i: int, by: wp.vec3):
    """Move particle i."""
    p = move[i]
    move[i] = wp.vec4(p[0] + by[0], p[1] + by[1], p[2] + by[2], 0.0)


@wp.func
def solve_distances(
    t: Tables,
    first: int,
    end: int,
    stride: int,
    base: wp.array(dtype=wp.vec4d),
    step: Pass,
    pace: wp.array(dtype=wp.vec4),
    move: wp.array(dtype=wp.vec4),
):
    """Distances first, first + stride, ... before end: C = length - rest length."""
    for c in range(first, end, stride):
        pair = t.distance[c]
        i = pair[0]
        j = pair[1]
        law = t.distance_law[c]
        wi = weight(base, i)
        wj = weight(base, j)
        d = gap(base, move, i, j)
        length = wp.length(d)
        w = wi + wj
        if length > 0.0 and w > 0.0:
            n = d / length
            compliance = law[1] * step.inv_dt2
            sum = float(0.0)
            damped = float(0.0)
            if step.reads != 0:
                sum = t.distance_sum[c]
            elif law[2] > 0.0:
                damped = -damping_share(law[2] * step.inv_dt, compliance, w) * wp.dot(n, slip(pace, i, j))
                shift(pace, i, (-wi * damped) * n)
                shift(pace, j, (wj * damped) * n)
            change = multiplier_change(length - law[0] + w * damped, w, compliance, sum)
            if step.keeps != 0:
                t.distance_sum[c] = sum + change
            shift(move, i, (-wi * (change + damped)) * n)
            shift(move, j, (wj * (change + damped)) * n)


@wp.func
def solve_bends(
    t: Tables,
    first: int,
    end: int,
    stride: int,
    base: wp.array(dtype=wp.vec4d),
    step: Pass,
    pace: wp.array(dtype=wp.vec4),
    move: wp.array(dtype=wp.vec4),
):
    """The vector constraint sum K_a x_a = 0 of a flat hinge.

    K are the cotangent weights of Bergou et al. 2006 (A Quadratic Bending Model for Inextensible Surfaces): the sum is
    the edge's length times the jump of slope [m], and its energy is that of a plate while edges keep their lengths.
    The constraint is linear and its three components are alike, so that one number is all there is to invert.
    """
    for c in range(first, end, stride):
        at = t.bend[c]
        if at[0] >= 0:
            law = t.bend_law[c]
            k0 = -(law[0] + law[1] + law[2])
            w0 = weight(base, at[0]) * k0
            w1 = weight(base, at[1]) * law[0]
            w2 = weight(base, at[2]) * law[1]
            w3 = weight(base, at[3]) * law[2]
            jump = (
                law[0] * gap(base, move, at[0], at[1])
                + law[1] * gap(base, move, at[0], at[2])
                + law[2] * gap(base, move, at[0], at[3])
            )
            w = w0 * k0 + w1 * law[0] + w2 * law[1] + w3 * law[2]
            if w > 0.0:
                compliance = law[3] * step.inv_dt2
                sum = wp.vec3(0.0, 0.0, 0.0)
                damped = wp.vec3(0.0, 0.0, 0.0)
                if step.reads != 0:
                    sum = t.bend_sum[c]
                elif t.bend_damping[c] > 0.0:
                    rate = (
                        law[0] * slip(pace, at[0], at[1])
                        + law[1] * slip(pace, at[0], at[2])
                        + law[2] * slip(pace, at[0], at[3])
                    )
                    damped = -damping_share(t.bend_damping[c] * step.inv_dt, compliance, w) * rate
                    shift(pace, at[0], w0 * damped)
                    shift(pace, at[1], w1 * damped)
                    shift(pace, at[2], w2 * damped)
                    shift(pace, at[3], w3 * damped)
                change = (-1.0 / (w + compliance)) * (jump + w * damped + compliance * sum)
                if step.keeps != 0:
                    t.bend_sum[c] = sum + change
                change += damped
                shift(move, at[0], w0 * change)
                shift(move, at[1], w1 * change)
                shift(move, at[2], w2 * change)
                shift(move, at[3], w3 * change)


@wp.func
def solve_folds(
    t: Tables,
    first: int,
    end: int,
    stride: int,
    base: wp.array(dtype=wp.vec4d),
    step: Pass,
    pace: wp.array(dtype=wp.vec4),
    move: wp.array(dtype=wp.vec4),
):
    """Angles of hinges that are folded at rest: C = angle - rest angle."""
    for c in range(first, end, stride):
        at = t.fold[c]
        if at[0] >= 0:
            law = t.fold_law[c]
            w0 = weight(base, at[0])
            w1 = weight(base, at[1])
            w2 = weight(base, at[2])
            w3 = weight(base, at[3])
            f = fold_of(gap(base, move, at[0], at[1]), gap(base, move, at[0], at[2]), gap(base, move, at[0], at[3]))
            w = w0 * wp.dot(f.g0, f.g0) + w1 * wp.dot(f.g1, f.g1) + w2 * wp.dot(f.g2, f.g2) + w3 * wp.dot(f.g3, f.g3)
            if w > 0.0:
                compliance = law[1] * step.inv_dt2
                sum = float(0.0)
                damped = float(0.0)
                if step.reads != 0:
                    sum = t.fold_sum[c]
                elif law[2] > 0.0:
                    rate = (
                        wp.dot(f.g1, slip(pace, at[0], at[1]))
                        + wp.dot(f.g2, slip(pace, at[0], at[2]))
                        + wp.dot(f.g3, slip(pace, at[0], at[3]))
                    )
                    damped = -damping_share(law[2] * step.inv_dt, compliance, w) * rate
                    shift(pace, at[0], (w0 * damped) * f.g0)
                    shift(pace, at[1], (w1 * damped) * f.g1)
                    shift(pace, at[2], (w2 * damped) * f.g2)
                    shift(pace, at[3], (w3 * damped) * f.g3)
                change = multiplier_change(turned_from(f.angle, law[0]) + w * damped, w, compliance, sum)
                if step.keeps != 0:
                    t.fold_sum[c] = sum + change
                change += damped
                shift(move, at[0], (w0 * change) * f.g0)
                shift(move, at[1], (w1 * change) * f.g1)
                shift(move, at[2], (w2 * change) * f.g2)
                shift(move, at[3], (w3 * change) * f.g3)


@wp.func
def solve_triangles(
    t: Tables,
    first: int,
    end: int,
    stride: int,
    base: wp.array(dtype=wp.vec4d),
    step: Pass,
    pace: wp.array(dtype=wp.vec4),
    move: wp.array(dtype=wp.vec4),
):
    """The three strains of triangles as one block each."""
    for c in range(first, end, stride):
        at = t.triangle[c]
        b = t.triangle_inverse[c]
        w0 = weight(base, at[0])
        w1 = weight(base, at[1])
        w2 = weight(base, at[2])
        if w0 + w1 + w2 > 0.0:
            e1 = gap(base, move, at[0], at[1])
            e2 = gap(base, move, at[0], at[2])
            shape = woven(b[0] * e1 + b[2] * e2, b[1] * e1 + b[3] * e2)
            x0 = -(b[0] + b[2])
            y0 = -(b[1] + b[3])
            heavy = wp.vec3(
                w0 * x0 * x0 + w1 * b[0] * b[0] + w2 * b[2] * b[2],
                w0 * y0 * y0 + w1 * b[1] * b[1] + w2 * b[3] * b[3],
                w0 * x0 * y0 + w1 * b[0] * b[1] + w2 * b[2] * b[3],
            )
            law = t.triangle_law[c]
            block = response(shape, heavy)
            needed = strain_of(shape)
            sum = wp.vec3(0.0, 0.0, 0.0)
            damped = wp.vec3(0.0, 0.0, 0.0)
            damping = t.triangle_damping[c] * step.inv_dt
            if step.reads != 0:
                sum = t.triangle_sum[c]
                needed += step.inv_dt2 * wp.vec3(
                    law[0] * sum[0] + law[2] * sum[1], law[2] * sum[0] + law[1] * sum[1], law[3] * sum[2]
                )
            elif damping > 0.0:
                d1 = slip(pace, at[0], at[1])
                d2 = slip(pace, at[0], at[2])
                rate = strain_change(shape, b[0] * d1 + b[2] * d2, b[1] * d1 + b[3] * d2)
                soft = step.inv_dt2 * (law[0] + law[1])
                share = soft / (soft + heavy[0] + heavy[1])
                damped = share * strain_multiplier(damping * rate, block, damping, law, step.inv_dt2)
                needed += strain_response(damped, block)
                shift(pace, at[0], w0 * triangle_push(shape, damped, x0, y0))
                shift(pace, at[1], w1 * triangle_push(shape, damped, b[0], b[1]))
                shift(pace, at[2], w2 * triangle_push(shape, damped, b[2], b[3]))
            more = strain_multiplier(needed, block, 1.0, law, step.inv_dt2)
            if step.keeps != 0:
                t.triangle_sum[c] = sum + more
            more += damped
            shift(move, at[0], w0 * triangle_push(shape, more, x0, y0))
            shift(move, at[1], w1 * triangle_push(shape, more, b[0], b[1]))
            shift(move, at[2], w2 * triangle_push(shape, more, b[2], b[3]))


@wp.func
def shift_tet(at: wp.vec4i, push: wp.mat33, base: wp.array(dtype=wp.vec4d), move: wp.array(dtype=wp.vec4)):
    """Move the corners of a tet, the last three by the columns of a matrix, the first by what balances them."""
    p1 = wp.vec3(push[0, 0], push[1, 0], push[2, 0])
    p2 = wp.vec3(push[0, 1], push[1, 1], push[2, 1])
    p3 = wp.vec3(push[0, 2], push[1, 2], push[2, 2])
    shift(move, at[0], -weight(base, at[0]) * (p1 + p2 + p3))
    shift(move, at[1], weight(base, at[1]) * p1)
    shift(move, at[2], weight(base, at[2]) * p2)
    shift(move, at[3], weight(base, at[3]) * p3)


@wp.func
def symmetric(m: wp.mat33) -> Stress:
    """The symmetric part of a matrix."""
    out = Stress()
    out.diagonal = wp.vec3(m[0, 0], m[1, 1], m[2, 2])
    out.off = 0.5 * wp.vec3(m[1, 2] + m[2, 1], m[0, 2] + m[2, 0], m[0, 1] + m[1, 0])
    return out


@wp.func
def solve_tets(
    t: Tables,
    first: int,
    end: int,
    stride: int,
    base: wp.array(dtype=wp.vec4d),
    step: Pass,
    pace: wp.array(dtype=wp.vec4),
    move: wp.array(dtype=wp.vec4),
):
    """The six strains of tets as one block each."""
    for c in range(first, end, stride):
        at = t.tet[c]
        b = t.tet_inverse[c]
        heavy = t.tet_weight[c]
        if heavy[0] + heavy[1] + heavy[2] > 0.0:
            edges = wp.matrix_from_cols(
                gap(base, move, at[0], at[1]), gap(base, move, at[0], at[2]), gap(base, move, at[0], at[3])
            )
            f = edges * b
            turn = nearest_rotation(f, t.tet_turn[c])
            t.tet_turn[c] = turn
            r = wp.quat_to_matrix(turn)
            back = wp.transpose(r)
            s = back * f
            s = 0.5 * (s + wp.transpose(s))
            law = t.tet_law[c]
            shear = law[0] * step.inv_dt2
            across = law[1] * step.inv_dt2
            needed = symmetric(s - wp.identity(n=3, dtype=float))
            sum = Stress()
            damped = Stress()
            damping = law[2] * step.inv_dt
            if step.reads != 0:
                sum.diagonal = t.tet_sum[2 * c]
                sum.off = t.tet_sum[2 * c + 1]
                trace = across * (sum.diagonal[0] + sum.diagonal[1] + sum.diagonal[2])
                needed.diagonal += shear * sum.diagonal - wp.vec3(trace, trace, trace)
                needed.off += shear * sum.off
            elif damping > 0.0:
                flow = wp.matrix_from_cols(slip(pace, at[0], at[1]), slip(pace, at[0], at[2]), slip(pace, at[0], at[3]))
                found = block_multiplier(symmetric(damping * (back * (flow * b))), damping * heavy, shear, across)
                share = 3.0 * shear / (3.0 * shear + heavy[0] + heavy[1] + heavy[2])
                damped.diagonal = share * found.diagonal
                damped.off = share * found.off
                needed.diagonal += wp.cw_mul(heavy, damped.diagonal)
                needed.off += wp.cw_mul(pair_weight(heavy), damped.off)
                shift_tet(at, r * without_torque(s, stress_matrix(damped)) * wp.transpose(b), base, pace)
            more = block_multiplier(needed, heavy, shear, across)
            if step.keeps != 0:
                t.tet_sum[2 * c] = sum.diagonal + more.diagonal
                t.tet_sum[2 * c + 1] = sum.off + more.off
            more.diagonal += damped.diagonal
            more.off += damped.off
            shift_tet(at, r * without_torque(s, stress_matrix(more)) * wp.transpose(b), base, move)


@wp.func
def solve_run(
    kind: int,
    t: Tables,
    first: int,
    end: int,
    stride: int,
    base: wp.array(dtype=wp.vec4d),
    step: Pass,
    pace: wp.array(dtype=wp.vec4),
    move: wp.array(dtype=wp.vec4),
):
    """Solve the constraints first, first + stride, ... before end of one kind."""
    if kind == DISTANCE:
        solve_distances(t, first, end, stride, base, step, pace, move)
    elif kind == BEND:
        solve_bends(t, first, end, stride, base, step, pace, move)
    elif kind == TRIANGLE:
        solve_triangles(t, first, end, stride, base, step, pace, move)
    elif kind == TET:
        solve_tets(t, first, end, stride, base, step, pace, move)
    else:
        solve_folds(t, first, end, stride, base, step, pace, move)
