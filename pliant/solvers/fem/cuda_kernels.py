"""All small lattices in one launch: a single block goes down and up through them."""

import warp as wp

wp.set_module_options({"enable_backward": False})

BLOCK = wp.constant(1024)


@wp.func_native("__syncthreads();")
def sync_block(): ...


@wp.struct
class Nodes:
    """The nodes of all lattices in a row, the finest first.

    Attributes:
        begins: first node of each lattice, and the end.
        starts, source, weight: by node, what it is made of, from the second lattice on.
        up_starts, up_node, up_weight: by node, what it is corrected by, up to the last lattice but one.
    """

    begins: wp.array(dtype=int)
    starts: wp.array(dtype=int)
    source: wp.array(dtype=int)
    weight: wp.array(dtype=float)
    up_starts: wp.array(dtype=int)
    up_node: wp.array(dtype=int)
    up_weight: wp.array(dtype=float)


@wp.kernel(grid_stride=False)
def down_and_up(
    nodes: Nodes,
    first: int,
    lattices: int,
    inverse: wp.array(dtype=float),
    r_inout: wp.array(dtype=wp.vec3),
    z_inout: wp.array(dtype=wp.vec3),
):
    """Residuals and corrections of all lattices, coarser than one of them, from its residuals and own corrections."""
    thread = wp.tid()
    for level in range(first + 1, lattices):
        for j in range(nodes.begins[level] + thread, nodes.begins[level + 1], BLOCK):
            total = wp.vec3()
            for s in range(nodes.starts[j], nodes.starts[j + 1]):
                total += nodes.weight[s] * r_inout[nodes.source[s]]
            r_inout[j] = total
            z_inout[j] = inverse[j] * total
        sync_block()
    for step in range(first + 1, lattices):
        level = lattices - 1 + first - step
        for k in range(nodes.begins[level] + thread, nodes.begins[level + 1], BLOCK):
            total = z_inout[k]
            for s in range(nodes.up_starts[k], nodes.up_starts[k + 1]):
                total += nodes.up_weight[s] * z_inout[nodes.up_node[s]]
            z_inout[k] = total
        sync_block()
