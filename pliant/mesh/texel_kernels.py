"""Kernel that lets cells grow along a surface."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def grow(
    start: int,
    starts: wp.array(dtype=int),
    items: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec3d),
    seeds: wp.array(dtype=wp.vec3d),
    owned: wp.array(dtype=int),
    cell: wp.array(dtype=int),
    cell_out: wp.array(dtype=int),
    changed_out: wp.array(dtype=wp.uint8),
):
    """Each vertex joins the cell, its own or a neighbour's, whose seed is nearest; -1 is none. Seeds keep theirs."""
    i = start + wp.tid()
    best = cell[i]
    if owned[i] >= 0:
        best = owned[i]
    else:
        least = wp.float64(wp.inf)
        if best >= 0:
            least = wp.length_sq(seeds[best] - points[i])
        for k in range(starts[i], starts[i + 1]):
            other = cell[items[k]]
            if other >= 0 and other != best:
                far = wp.length_sq(seeds[other] - points[i])
                if far < least or (far == least and other < best):
                    least = far
                    best = other
    cell_out[i] = best
    if best != cell[i]:
        changed_out[i] = wp.uint8(1)
    else:
        changed_out[i] = wp.uint8(0)
