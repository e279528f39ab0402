"""A hash grid: vertices in cells of one size, and the cells that the boxes of triangles reach."""

import warp as wp

from pliant.collide.soft.candidate_kernels import meets
from pliant.collide.soft.tree_kernels import apart, grown, no_box

wp.set_module_options({"enable_backward": False})

RUN = 64
"""Vertices that one thread looks through."""
FARTHEST = wp.constant(1.0e6)
"""Cells are numbered up to this; what is further out is in the last one."""

_RUN = wp.constant(RUN)


@wp.struct
class GridData:
    """Vertices in a hash grid.

    Attributes:
        count, buckets: number of vertices and of lists, a power of two.
        cell_size: [m].
        low, high, cell: box [m] and cell of each vertex.
        key, vertex: sorted: the list a vertex is in, and its number.
        first, end: of each list.
        wide: half of the widest box [m], one number for each axis.
    """

    count: int
    buckets: int
    cell_size: float
    low: wp.array(dtype=wp.vec3)
    high: wp.array(dtype=wp.vec3)
    cell: wp.array(dtype=wp.vec3i)
    key: wp.array(dtype=int)
    vertex: wp.array(dtype=int)
    first: wp.array(dtype=int)
    end: wp.array(dtype=int)
    wide: wp.array(dtype=wp.vec3)


@wp.func
def cell_of(point: wp.vec3, size: float) -> wp.vec3i:
    """The cell that a point is in."""
    out = wp.vec3i(0, 0, 0)
    for a in range(3):
        out[a] = int(wp.clamp(wp.floor(point[a] / size), -FARTHEST, FARTHEST))
    return out


@wp.func
def bucket_of(cell: wp.vec3i, buckets: int) -> int:
    """The list of a cell (Teschner, Heidelberger, Mueller, Pomerantes and Gross 2003, section 4.1)."""
    mixed = (cell[0] * 73856093) ^ (cell[1] * 19349663) ^ (cell[2] * 83492791)
    return mixed & (buckets - 1)


@wp.kernel
def place_vertices(
    start: int,
    vertex: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    ahead: float,
    grid_out: GridData,
):
    """The box of each vertex, the cell of its middle, and the list of that."""
    k = start + wp.tid()
    i = vertex[k]
    box = grown(no_box(), x[i], x_next[i], v[i], ahead, radius[i])
    grid_out.low[k] = box.low
    grid_out.high[k] = box.high
    cell = cell_of(0.5 * (box.low + box.high), grid_out.cell_size)
    grid_out.cell[k] = cell
    grid_out.key[k] = bucket_of(cell, grid_out.buckets)
    grid_out.vertex[k] = k


@wp.kernel
def widest_of_runs(start: int, grid: GridData, wide_out: wp.array(dtype=wp.vec3)):
    """Half of the widest box of each run of vertices, rounded up."""
    k = start + wp.tid()
    wide = wp.vec3(0.0, 0.0, 0.0)
    for i in range(k * _RUN, wp.min((k + 1) * _RUN, grid.count)):
        middle = 0.5 * (grid.low[i] + grid.high[i])
        wide = wp.max(wide, wp.max(middle - grid.low[i], grid.high[i] - middle))
    wide_out[k] = 1.000001 * wide


@wp.kernel
def widest_of_all(wide: wp.array(dtype=wp.vec3), runs: int, wide_out: wp.array(dtype=wp.vec3)):
    """The widest of all runs."""
    out = wp.vec3(0.0, 0.0, 0.0)
    for k in range(runs):
        out = wp.max(out, wide[k])
    wide_out[0] = out


@wp.kernel
def clear_lists(start: int, grid_out: GridData):
    """Empty lists."""
    k = start + wp.tid()
    grid_out.first[k] = 0
    grid_out.end[k] = 0


@wp.kernel
def mark_lists(start: int, grid_out: GridData):
    """Where lists begin and end among the sorted vertices."""
    k = start + wp.tid()
    key = grid_out.key[k]
    if k == 0 or grid_out.key[wp.max(k - 1, 0)] != key:
        grid_out.first[key] = k
    if k + 1 == grid_out.count or grid_out.key[wp.min(k + 1, grid_out.count - 1)] != key:
        grid_out.end[key] = k + 1


@wp.kernel
def find_vertices(
    start: int,
    corners: wp.array(dtype=wp.vec3i),
    triangle_body: wp.array(dtype=int),
    vertex: wp.array(dtype=int),
    vertex_body: wp.array(dtype=int),
    selfs: wp.array(dtype=int),
    grid: GridData,
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    ahead: float,
    reach: float,
    room: int,
    found_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """The vertices whose boxes touch that of each triangle, cell by cell; where it reaches more cells than there are
    vertices, all of them are looked at instead."""
    t = start + wp.tid()
    corner = corners[t]
    body = triangle_body[t]
    box = no_box()
    for j in range(3):
        p = corner[j]
        box = grown(box, x[p], x_next[p], v[p], ahead, radius[p] + reach)
    low = cell_of(box.low - grid.wide[0], grid.cell_size)
    high = cell_of(box.high + grid.wide[0], grid.cell_size)
    sides = high - low + wp.vec3i(1, 1, 1)
    cells = float(sides[0]) * float(sides[1]) * float(sides[2])
    is_wide = cells >= float(grid.count)
    visits = int(1)
    if not is_wide:
        visits = sides[0] * sides[1] * sides[2]
    found = int(0)
    for j in range(visits):
        cell = low + wp.vec3i(j % sides[0], j // sides[0] % sides[1], j // sides[0] // sides[1])
        first = int(0)
        end = grid.count
        if not is_wide:
            bucket = bucket_of(cell, grid.buckets)
            first = grid.first[bucket]
            end = grid.end[bucket]
        for at in range(first, end):
            k = grid.vertex[at]
            # a list may hold vertices of other cells, which have their turn when their own cell has
            if (is_wide or grid.cell[k] == cell) and not apart(grid.low[k], grid.high[k], box):
                i = vertex[k]
                if meets(body, vertex_body[k], selfs) and corner[0] != i and corner[1] != i and corner[2] != i:
                    if found < room:
                        found_out[t * room + found] = k
                    found += 1
    count_out[t] = found
    if found > room:
        full_out[0] = 1
