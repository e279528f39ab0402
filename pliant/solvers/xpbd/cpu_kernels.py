"""The constraints on the CPU: a thread walks a patch, run after run."""

import warp as wp

from pliant.solvers.xpbd.constraint_kernels import BEND, DISTANCE, Pass, Tables, sleeps, solve_run
from pliant.solvers.xpbd.cpu_native import bend_run, distance_run

wp.set_module_options({"enable_backward": False})


@wp.kernel
def solve_patches(
    start: int,
    tables: Tables,
    base: wp.array(dtype=wp.vec4d),
    step: Pass,
    pace_inout: wp.array(dtype=wp.vec4),
    move_inout: wp.array(dtype=wp.vec4),
):
    """All constraints of a patch, one after the other."""
    patch = start + wp.tid()
    if sleeps(tables.patch_bodies[patch], tables.awake):
        return
    for run in range(tables.patch_runs[patch], tables.patch_runs[patch + 1]):
        kind = tables.run_kind[run]
        first = tables.run_first[run]
        end = tables.run_end[run]
        if kind == DISTANCE:
            distance_run(
                first, end, tables.distance, tables.distance_law, base, step.inv_dt, step.reads, step.keeps,
                tables.distance_sum, pace_inout, move_inout,
            )  # fmt: skip
        elif kind == BEND:
            bend_run(
                first, end, tables.bend, tables.bend_law, tables.bend_damping, base, step.inv_dt, step.reads,
                step.keeps, tables.bend_sum, pace_inout, move_inout,
            )  # fmt: skip
        else:
            solve_run(kind, tables, first, end, 1, base, step, pace_inout, move_inout)


@wp.kernel
def solve_patches_plainly(
    start: int,
    tables: Tables,
    base: wp.array(dtype=wp.vec4d),
    step: Pass,
    pace_inout: wp.array(dtype=wp.vec4),
    move_inout: wp.array(dtype=wp.vec4),
):
    """The same in Warp's own code throughout: what the C++ loops are tested against."""
    patch = start + wp.tid()
    if sleeps(tables.patch_bodies[patch], tables.awake):
        return
    for run in range(tables.patch_runs[patch], tables.patch_runs[patch + 1]):
        kind = tables.run_kind[run]
        solve_run(kind, tables, tables.run_first[run], tables.run_end[run], 1, base, step, pace_inout, move_inout)
