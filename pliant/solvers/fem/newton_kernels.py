"""Newton's method on a step: where velocities lead to, what implicit Euler minimises there, how far to go."""

import warp as wp

from pliant.physics.integrate import add_carried
from pliant.solvers.fem.data import Mesh
from pliant.solvers.fem.hold_kernels import SLIDES, Holds
from pliant.solvers.fem.tet_kernels import tet_energy

wp.set_module_options({"enable_backward": False})


@wp.kernel
def trial(
    start: int,
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    gain: wp.array(dtype=wp.vec3),
    change: wp.array(dtype=wp.vec3),
    fraction: float,
    dt: float,
    gain_out: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
):
    """A gain of velocity with a fraction of its change, and the positions it leads to."""
    i = start + wp.tid()
    g = gain[i] + fraction * change[i]
    gain_out[i] = g
    to = add_carried(x[i], carry[i], dt * (v[i] + g))
    x_out[i] = to.high
    carry_out[i] = to.carry


@wp.kernel
def merit_particles(
    start: int,
    mesh: Mesh,
    block: wp.array(dtype=wp.mat33),
    f_ext: wp.array(dtype=wp.vec3),
    has_f_ext: int,
    inv_mass: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    gain: wp.array(dtype=wp.vec3),
    holds: Holds,
    gravity: wp.vec3,
    dt: float,
    first: int,
    count: int,
    chunks: int,
    parts_out: wp.array(dtype=wp.float64),
):
    """Inertia, outer forces, drag and damping: their part of what implicit Euler minimises. Without what v alone adds,
    which is the same for every gain."""
    c = start + wp.tid()
    total = wp.float64(0.0)
    for k in range(c, count, chunks):
        i = first + k
        b = mesh.body[i]
        if mesh.awake[b] == 0:
            continue
        body = mesh.bodies[b]
        g = gain[i]
        u = v[i] + g
        if body.damping > 0.0:
            stiff = wp.vec3()
            for s in range(mesh.row_starts[i], mesh.row_starts[i + 1]):
                j = mesh.row_other[s]
                stiff += block[s] * ((v[j] - v[i]) + (gain[j] - g))
            total += wp.float64(0.5 * body.damping / (dt + body.damping) * wp.dot(u, stiff))
        if inv_mass[i] > 0.0:
            outside = mesh.mass[i] * gravity
            if has_f_ext != 0:
                outside += f_ext[i]
            if holds.how[i] == SLIDES:
                outside += holds.rub[i]
            total += wp.float64(0.5 * mesh.mass[i] * (wp.dot(g, g) + dt * body.drag * wp.dot(u, u)))
            total += wp.float64(-dt * wp.dot(outside, g))
    parts_out[c] = total


@wp.kernel
def merit_tets(
    start: int,
    mesh: Mesh,
    rest_inv: wp.array(dtype=wp.mat33),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    turn: wp.array(dtype=wp.quat),
    neo_hookean: int,
    count: int,
    chunks: int,
    parts_inout: wp.array(dtype=wp.float64),
):
    """Elastic energy, added to the part of the particles."""
    c = start + wp.tid()
    total = wp.float64(0.0)
    for t in range(c, count, chunks):
        if mesh.awake[mesh.tet_body[t]] != 0:
            total += tet_energy(t, mesh, rest_inv, x, carry, turn, neo_hookean)
    parts_inout[c] = parts_inout[c] + total


@wp.kernel
def note_merit(parts: wp.array(dtype=wp.float64), place: int, merit_out: wp.array(dtype=wp.float64)):
    total = wp.float64(0.0)
    for c in range(parts.shape[0]):
        total += parts[c]
    merit_out[place] = total


@wp.kernel
def choose_fraction(merit: wp.array(dtype=wp.float64), trials: int, fraction_out: wp.array(dtype=float)):
    """That of the fractions 1, 1/2, 1/4, ... with the least merit; none if all raise it beyond rounding."""
    fraction = float(1.0)
    chosen = float(0.0)
    least = merit[0] + wp.float64(1.0e-12) * wp.abs(merit[0])
    for k in range(trials):
        if merit[1 + k] < least:
            chosen = fraction
            least = merit[1 + k]
        fraction = 0.5 * fraction
    fraction_out[0] = chosen


@wp.kernel
def take(
    start: int,
    change: wp.array(dtype=wp.vec3),
    fraction: wp.array(dtype=float),
    gain_inout: wp.array(dtype=wp.vec3),
):
    """Add a fraction of the change."""
    i = start + wp.tid()
    gain_inout[i] = gain_inout[i] + fraction[0] * change[i]
