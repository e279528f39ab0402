"""Nearest centres of points, and regions of lattice vertices."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def nearest_center(
    start: int,
    points: wp.array(dtype=wp.vec3d),
    centers: wp.array(dtype=wp.vec3d),
    nearest_out: wp.array(dtype=int),
    squared_out: wp.array(dtype=wp.float64),
):
    """The centre next to each point, the first of those equally near, and its squared distance [m^2]."""
    i = start + wp.tid()
    best = int(0)
    least = wp.length_sq(points[i] - centers[0])
    for c in range(1, centers.shape[0]):
        squared = wp.length_sq(points[i] - centers[c])
        if squared < least:
            least = squared
            best = c
    nearest_out[i] = best
    squared_out[i] = least


@wp.kernel
def reach(
    start: int,
    starts: wp.array(dtype=int),
    items: wp.array(dtype=int),
    grid: wp.array(dtype=wp.vec3i),
    base: int,
    width: int,
    step_out: wp.array2d(dtype=wp.int8),
    region_out: wp.array2d(dtype=int),
):
    """Vertices that at most `width` steps lead to from vertex base + row; a step goes to a vertex of a common cube.

    A row has a slot for each place of the grid around the vertex, x fastest; step_out and region_out come filled with
    -1, and hold the number of steps and the vertex.
    """
    row = start + wp.tid()
    here = grid[base + row]
    side = 2 * width + 1
    middle = (side * side * side) / 2
    step_out[row, middle] = wp.int8(0)
    region_out[row, middle] = base + row
    for step in range(width):
        for slot in range(side * side * side):
            if step_out[row, slot] == wp.int8(step):
                v = region_out[row, slot]
                for k in range(starts[v], starts[v + 1]):
                    u = items[k]
                    # A place one step further lies within the row: each step moves by one along an axis at most.
                    d = grid[u] - here
                    place = ((d[2] + width) * side + d[1] + width) * side + d[0] + width
                    if step_out[row, place] < wp.int8(0):
                        step_out[row, place] = wp.int8(step + 1)
                        region_out[row, place] = u
