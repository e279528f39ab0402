"""Lattices on the device: residuals go down to their nodes, corrections come up."""

import warp as wp

from pliant.solvers.fem.data import Mesh
from pliant.solvers.fem.hold_kernels import Holds, is_held

wp.set_module_options({"enable_backward": False})


@wp.struct
class Level:
    """A `Lattice` of `levels.py` on the device."""

    starts: wp.array(dtype=int)
    source: wp.array(dtype=int)
    weight: wp.array(dtype=float)
    up_starts: wp.array(dtype=int)
    up_node: wp.array(dtype=int)
    up_weight: wp.array(dtype=float)
    stiffness: wp.array(dtype=float)
    body: wp.array(dtype=int)


@wp.kernel
def own_measure(
    start: int,
    mesh: Mesh,
    inv_mass: wp.array(dtype=float),
    holds: Holds,
    diagonal: wp.array(dtype=wp.mat33),
    dt: float,
    own_out: wp.array(dtype=float),
):
    """What a particle adds to the diagonals of the nodes around it: its mass, and what is held its whole stiffness."""
    i = start + wp.tid()
    b = mesh.body[i]
    own = mesh.mass[i] * (1.0 + dt * mesh.bodies[b].drag)
    how = holds.how[i]
    if inv_mass[i] == 0.0 or is_held(how):
        own = wp.trace(diagonal[i]) / 3.0
    own_out[i] = own


@wp.kernel
def measure_nodes(
    start: int,
    mesh: Mesh,
    level: Level,
    source: wp.array(dtype=float),
    dt: float,
    measure_out: wp.array(dtype=float),
    inverse_out: wp.array(dtype=float),
):
    """The inverse diagonal of each node."""
    j = start + wp.tid()
    total = float(0.0)
    for s in range(level.starts[j], level.starts[j + 1]):
        total += level.weight[s] * source[level.source[s]]
    measure_out[j] = total
    damping = mesh.bodies[level.body[j]].damping
    inverse_out[j] = 1.0 / (total + dt * (dt + damping) * level.stiffness[j])


@wp.kernel
def restrict(
    start: int,
    level: Level,
    source: wp.array(dtype=wp.vec3),
    inverse: wp.array(dtype=float),
    r_out: wp.array(dtype=wp.vec3),
    z_out: wp.array(dtype=wp.vec3),
):
    """Residuals of the nodes, and their own corrections."""
    j = start + wp.tid()
    total = wp.vec3()
    for s in range(level.starts[j], level.starts[j + 1]):
        total += level.weight[s] * source[level.source[s]]
    r_out[j] = total
    z_out[j] = inverse[j] * total


@wp.kernel
def prolong(start: int, level: Level, z: wp.array(dtype=wp.vec3), finer_inout: wp.array(dtype=wp.vec3)):
    """Add the corrections of a lattice to those of the finer one."""
    k = start + wp.tid()
    total = finer_inout[k]
    for s in range(level.up_starts[k], level.up_starts[k + 1]):
        total += level.up_weight[s] * z[level.up_node[s]]
    finer_inout[k] = total


@wp.func
def from_nodes(level: Level, k: int, z: wp.array(dtype=wp.vec3)) -> wp.vec3:
    """Correction of the k-th particle from the first lattice."""
    total = wp.vec3()
    for s in range(level.up_starts[k], level.up_starts[k + 1]):
        total += level.up_weight[s] * z[level.up_node[s]]
    return total
