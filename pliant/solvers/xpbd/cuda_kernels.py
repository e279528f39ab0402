"""The constraints on CUDA: a block walks a patch, colour after colour; or a launch for each colour of all patches."""

import functools
from typing import Any

import warp as wp

from pliant.solvers.xpbd.constraint_kernels import (
    BEND,
    DISTANCE,
    FOLD,
    TET,
    TRIANGLE,
    Pass,
    Tables,
    sleeps,
    solve_bends,
    solve_distances,
    solve_folds,
    solve_run,
    solve_tets,
    solve_triangles,
)

wp.set_module_options({"enable_backward": False})

BLOCK = 256
"""Threads of a block; solids, whose blocks need many registers, have half as many."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
__syncthreads();
#endif
""")
def sync_block():
    """Wait for all threads of the block."""
    ...


@functools.cache
def block_kernel(block: int, bend: bool, fold: bool, tet: bool, triangle: bool, distance: bool) -> Any:
    """The kernel for blocks of so many threads and the kinds of constraints that there are: fewer need less room."""

    @wp.kernel(module="unique", grid_stride=False, enable_backward=False)
    def solve_blocks(
        first_patch: int,
        tables: Tables,
        base: wp.array(dtype=wp.vec4d),
        step: Pass,
        pace_inout: wp.array(dtype=wp.vec4),
        move_inout: wp.array(dtype=wp.vec4),
    ):
        """All runs of a patch, with a barrier after each: the threads of a block see what its others have moved.

        Every thread of a block goes through the same runs, so all reach every barrier. Nobody but this block touches
        the patch's particles during the launch.
        """
        tid = wp.tid()
        patch = first_patch + tid // wp.static(block)
        thread = tid % wp.static(block)
        if sleeps(tables.patch_bodies[patch], tables.awake):
            return
        for run in range(tables.patch_runs[patch], tables.patch_runs[patch + 1]):
            kind = tables.run_kind[run]
            end = tables.run_end[run]
            first = tables.run_first[run] + thread
            if wp.static(distance):
                if kind == DISTANCE:
                    solve_distances(tables, first, end, wp.static(block), base, step, pace_inout, move_inout)
            if wp.static(bend):
                if kind == BEND:
                    solve_bends(tables, first, end, wp.static(block), base, step, pace_inout, move_inout)
            if wp.static(triangle):
                if kind == TRIANGLE:
                    solve_triangles(tables, first, end, wp.static(block), base, step, pace_inout, move_inout)
            if wp.static(tet):
                if kind == TET:
                    solve_tets(tables, first, end, wp.static(block), base, step, pace_inout, move_inout)
            if wp.static(fold):
                if kind == FOLD:
                    solve_folds(tables, first, end, wp.static(block), base, step, pace_inout, move_inout)
            sync_block()

    return solve_blocks


@wp.kernel(enable_backward=False)
def solve_round(
    first_patch: int,
    number: int,
    block: int,
    tables: Tables,
    base: wp.array(dtype=wp.vec4d),
    step: Pass,
    pace_inout: wp.array(dtype=wp.vec4),
    move_inout: wp.array(dtype=wp.vec4),
):
    """The run of this number of every patch: the same without barriers, in as many launches as there are runs."""
    tid = wp.tid()
    patch = first_patch + tid // block
    thread = tid % block
    run = tables.patch_runs[patch] + number
    if run < tables.patch_runs[patch + 1] and not sleeps(tables.patch_bodies[patch], tables.awake):
        kind = tables.run_kind[run]
        first = tables.run_first[run] + thread
        solve_run(kind, tables, first, tables.run_end[run], block, base, step, pace_inout, move_inout)
