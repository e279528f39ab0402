"""Sums over the nodes of each body in a fixed order: chunks, groups of chunks, bodies."""

import warp as wp

from pliant.solvers.layered.data import Chunks

wp.set_module_options({"enable_backward": False})


@wp.kernel
def sum_groups(
    start: int,
    chunks: Chunks,
    parts: wp.array2d(dtype=wp.float64),
    columns: int,
    active: wp.array(dtype=int),
    groups_out: wp.array2d(dtype=wp.float64),
):
    """Add up the chunks of a group, or those of them that have something; one number for each item."""
    t = start + wp.tid()
    g = t // columns
    k = t - g * columns
    total = wp.float64(0.0)
    for c in range(chunks.group_begin[g], chunks.group_end[g]):
        if active.shape[0] == 0 or active[wp.min(c, active.shape[0] - 1)] > 0:
            total += parts[c, k]
    groups_out[g, k] = total


@wp.kernel
def sum_bodies(
    start: int,
    chunks: Chunks,
    groups: wp.array2d(dtype=wp.float64),
    columns: int,
    sums_out: wp.array2d(dtype=wp.float64),
):
    """Add up the groups of a body; one number for each item."""
    t = start + wp.tid()
    b = t // columns
    k = t - b * columns
    total = wp.float64(0.0)
    for g in range(chunks.body_begin[b], chunks.body_end[b]):
        total += groups[g, k]
    sums_out[b, k] = total
