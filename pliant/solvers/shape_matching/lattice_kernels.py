"""Device code of lattice shape matching: sums over regions as running sums along the axes (Rivers and James 2007).

Sums over the whole region cancel almost wholly when they are taken about its own centre, and a running sum subtracts
what it added: both are done in float64, so that neither the size of the body nor the length of a run is seen.
"""

import functools
from typing import Any

import warp as wp

from pliant.physics.contact import PlaneData
from pliant.solvers.shape_matching.constants import BodyMatch
from pliant.solvers.shape_matching.step_kernels import MidStep, external, middle_velocity, moved

wp.set_module_options({"enable_backward": False})

SUMS = 24
"""Numbers summed over regions: weight times y (3), y_i q_k (9), v (3), y x v (3) and the products of y (6)."""
GIVEN = 18
"""Numbers summed over the regions of a particle: map (9), its offset (3), velocity at the origin (3) and spin (3)."""

row_type = wp.types.vector(length=SUMS, dtype=wp.float64)
"""Either of them, the second filled up with zeros: a CPU adds 24 numbers faster than 18."""


@functools.cache
def run_kernels(size: int) -> tuple[Any, Any]:
    """The kernels that sum `size` numbers at a time: all of a row on the CPU, one on CUDA, whose threads then read
    next to each other. `sum_runs` takes the runs of one axis, `sum_bodies` whole bodies."""

    # Sums over the rows within some steps along a run: its first item, length, first row of the body, steps. Written
    # out so that the running sum stays in registers: a vector of Warp is kept on the stack, at half the speed.
    @wp.func_native(f"""
        const int length = run[1], steps = run[3];
        const int* item = items.data + run[0];
        const double* in = rows.data + (size_t)run[2] * {SUMS} + (size_t)piece * {size};
        double* out = sums_out.data + (size_t)run[2] * {SUMS} + (size_t)piece * {size};
        double total[{size}];
        for (int j = 0; j < {size}; ++j) total[j] = 0.0;
        for (int k = 0; k < steps && k < length; ++k) {{
            const double* row = in + (size_t)item[k] * {SUMS};
            for (int j = 0; j < {size}; ++j) total[j] += row[j];
        }}
        for (int k = 0; k < length; ++k) {{
            if (k + steps < length) {{
                const double* row = in + (size_t)item[k + steps] * {SUMS};
                for (int j = 0; j < {size}; ++j) total[j] += row[j];
            }}
            if (k > steps) {{
                const double* row = in + (size_t)item[k - steps - 1] * {SUMS};
                for (int j = 0; j < {size}; ++j) total[j] -= row[j];
            }}
            double* sum = out + (size_t)item[k] * {SUMS};
            for (int j = 0; j < {size}; ++j) sum[j] = total[j];
        }}
    """)
    def sum_run(
        run: wp.vec4i,
        items: wp.array(dtype=int),
        rows: wp.array2d(dtype=wp.float64),
        piece: int,
        sums_out: wp.array2d(dtype=wp.float64),
    ): ...

    @wp.kernel(module="unique", enable_backward=False)
    def sum_runs(
        start: int,
        runs: wp.array(dtype=wp.vec4i),
        items: wp.array(dtype=int),
        row_body: wp.array(dtype=int),
        rows: wp.array2d(dtype=wp.float64),
        pieces: int,
        awake: wp.array(dtype=int),
        sums_out: wp.array2d(dtype=wp.float64),
    ):
        i = start + wp.tid()
        r = i // pieces
        if awake[row_body[runs[r][2]]] == 0:
            return
        sum_run(runs[r], items, rows, i - r * pieces, sums_out)

    @wp.kernel(module="unique", enable_backward=False)
    def sum_bodies(
        start: int,
        run_starts: wp.array2d(dtype=int),
        runs: wp.array(dtype=wp.vec4i),
        items: wp.array(dtype=int),
        row_body: wp.array(dtype=int),
        axis: int,
        awake: wp.array(dtype=int),
        rows_inout: wp.array2d(dtype=wp.float64),
        sums_out: wp.array2d(dtype=wp.float64),
    ):
        """All three sums of a body, along x or z first, then y, then the other: a small body stays in the cache."""
        b = start + wp.tid()
        if awake[row_body[runs[run_starts[axis, b]][2]]] == 0:
            return
        for r in range(run_starts[axis, b], run_starts[axis, b + 1]):
            sum_run(runs[r], items, rows_inout, 0, sums_out)
        for r in range(run_starts[1, b], run_starts[1, b + 1]):
            sum_run(runs[r], items, sums_out, 0, rows_inout)
        for r in range(run_starts[2 - axis, b], run_starts[2 - axis, b + 1]):
            sum_run(runs[r], items, rows_inout, 0, sums_out)

    return sum_runs, sum_bodies


@wp.func
def exact(a: wp.vec3) -> wp.vec3d:
    return wp.vec3d(wp.float64(a[0]), wp.float64(a[1]), wp.float64(a[2]))


@wp.func
def rounded(a: wp.vec3d) -> wp.vec3:
    return wp.vec3(float(a[0]), float(a[1]), float(a[2]))


@wp.kernel
def weigh_particles(
    start: int,
    row_rest: wp.array(dtype=int),
    row_body: wp.array(dtype=int),
    rest: wp.array(dtype=wp.vec4d),
    bodies: wp.array(dtype=BodyMatch),
    anchor: wp.array(dtype=wp.vec3),
    inv_mass: wp.array(dtype=float),
    f_ext: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    first: int,
    step: MidStep,
    rows_out: wp.array(dtype=row_type),
):
    """What each particle adds to the sums of its regions; y is about the last centre of the body's first region."""
    c = start + wp.tid()
    if step.awake[row_body[c]] == 0:
        return
    i = first + c
    at = rest[row_rest[c]]
    origin = anchor[bodies[row_body[c]].first_cluster]
    speed = middle_velocity(v[i], external(f_ext, i, step), inv_mass[i], step)
    u = exact(v[i])
    y = exact(x[i]) - exact(origin) + wp.float64(0.5 * step.dt) * exact(speed)
    wy = at[3] * y
    moment = wp.cross(wy, u)
    total = row_type()
    for j in range(3):
        total[j] = wy[j]
        for k in range(3):
            total[3 + 3 * j + k] = wy[j] * at[k]
        total[12 + j] = at[3] * u[j]
        total[15 + j] = moment[j]
        total[18 + j] = wy[j] * y[j]
    total[21] = wy[0] * y[1]
    total[22] = wy[1] * y[2]
    total[23] = wy[2] * y[0]
    rows_out[c] = total


@wp.kernel
def centre_regions(
    start: int,
    row_rest: wp.array(dtype=int),
    row_body: wp.array(dtype=int),
    region: wp.array(dtype=wp.vec4d),
    radius: wp.array(dtype=float),
    bodies: wp.array(dtype=BodyMatch),
    anchor: wp.array(dtype=wp.vec3),
    rows: wp.array(dtype=row_type),
    awake: wp.array(dtype=int),
    sums_out: wp.array2d(dtype=float),
):
    """The sums as means in each region's own frame, as `MatchKernels.fit` wants them. `region` is the place of its
    centre at rest, and one over its mass."""
    c = start + wp.tid()
    if awake[row_body[c]] == 0:
        return
    t = row_rest[c]
    at = region[t]
    total = at[3] * rows[c]
    grown = wp.float64(1.0) / wp.float64(radius[t])
    away = exact(anchor[bodies[row_body[c]].first_cluster]) - exact(anchor[c])
    mean = wp.vec3d(total[0], total[1], total[2])
    u = wp.vec3d(total[12], total[13], total[14])
    moment = wp.vec3d(total[15], total[16], total[17]) + wp.cross(away, u)
    for j in range(3):
        sums_out[c, j] = float(mean[j] + away[j])
        for k in range(3):
            sums_out[c, 3 + 3 * j + k] = float((total[3 + 3 * j + k] - mean[j] * at[k]) * grown)
        sums_out[c, 12 + j] = float(u[j])
        sums_out[c, 15 + j] = float(moment[j])
        sums_out[c, 18 + j] = float(total[18 + j] + (mean[j] + mean[j] + away[j]) * away[j])
        n = (j + 1) % 3
        sums_out[c, 21 + j] = float(total[21 + j] + mean[j] * away[n] + away[j] * mean[n] + away[j] * away[n])


@wp.kernel
def share_maps(
    start: int,
    row_rest: wp.array(dtype=int),
    row_body: wp.array(dtype=int),
    region: wp.array(dtype=wp.vec4d),
    radius: wp.array(dtype=float),
    bodies: wp.array(dtype=BodyMatch),
    anchor: wp.array(dtype=wp.vec3),
    maps: wp.array2d(dtype=float),
    awake: wp.array(dtype=int),
    rows_out: wp.array(dtype=row_type),
):
    """What each region tells its particles, as maps of the body's rest positions and of places about its anchor."""
    c = start + wp.tid()
    if awake[row_body[c]] == 0:
        return
    t = row_rest[c]
    at = region[t]
    grown = wp.float64(1.0) / wp.float64(radius[t])
    origin = exact(anchor[bodies[row_body[c]].first_cluster])
    given = row_type()
    for j in range(3):
        offset = wp.float64(maps[c, 9 + j]) + (wp.float64(maps[c, 12 + j]) - origin[j])
        for k in range(3):
            slope = grown * wp.float64(maps[c, 3 * j + k])
            given[3 * j + k] = slope
            offset -= slope * at[k]
        given[9 + j] = offset
    arm = exact(wp.vec3(maps[c, 12], maps[c, 13], maps[c, 14])) - origin
    omega = exact(wp.vec3(maps[c, 18], maps[c, 19], maps[c, 20]))
    turned = wp.cross(omega, arm)
    for j in range(3):
        given[12 + j] = wp.float64(maps[c, 15 + j]) - turned[j]
        given[15 + j] = omega[j]
    rows_out[c] = given


@wp.kernel
def move_particles(
    start: int,
    row_rest: wp.array(dtype=int),
    row_body: wp.array(dtype=int),
    rest: wp.array(dtype=wp.vec4d),
    share: wp.array(dtype=wp.float64),
    bodies: wp.array(dtype=BodyMatch),
    planes: wp.array(dtype=PlaneData),
    anchor: wp.array(dtype=wp.vec3),
    rows: wp.array(dtype=row_type),
    inv_mass: wp.array(dtype=float),
    f_ext: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    first: int,
    step: MidStep,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Pull each particle to the mean of its regions' goals, damp it towards their mean motion, and move it."""
    c = start + wp.tid()
    i = first + c
    w = inv_mass[i]
    before = x[i]
    old = v[i]
    if w == 0.0:
        x_out[i] = before + step.dt * old
        v_out[i] = old
    else:
        t = row_rest[c]
        at = rest[t]
        body = bodies[row_body[c]]
        force = external(f_ext, i, step)
        u = exact(middle_velocity(old, force, w, step))
        y = exact(before) - exact(anchor[body.first_cluster]) + wp.float64(0.5 * step.dt) * u
        mean = share[t] * rows[c]
        away = wp.vec3d(mean[9], mean[10], mean[11]) - y
        for j in range(3):
            for k in range(3):
                away[j] += mean[3 * j + k] * at[k]
        slip = exact(old) - wp.vec3d(mean[12], mean[13], mean[14]) - wp.cross(wp.vec3d(mean[15], mean[16], mean[17]), y)
        met = moved(before, old, force, w, rounded(away), rounded(slip), body, planes, step)
        x_out[i] = met.x
        v_out[i] = met.v
