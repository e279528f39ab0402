"""Vertex block descent (Chen et al. 2024): each particle in turn goes where its own part of the step is solved.

Particles of one colour share no tet, so all of them move at once. What is sought is the gain of velocity, as in the
implicit step, and every energy and constraint is the same.
"""

import warp as wp

from pliant.physics.corotated import corotated_stress
from pliant.physics.neo_hookean import cofactor, neo_hookean_stress
from pliant.physics.polar import nearest_rotation
from pliant.solvers.fem.data import Mesh
from pliant.solvers.fem.hold_kernels import LANDS, SLIDES, Holds, filtered, is_held
from pliant.solvers.fem.row_kernels import row_of_corner
from pliant.solvers.fem.tet_kernels import edges_of

wp.set_module_options({"enable_backward": False})


# Parts of a body in which landings are counted.
LANDING_PARTS = wp.constant(32)


@wp.struct
class Descent:
    """What does not change during a step: where it starts, and what acts on particles.

    Attributes:
        x, carry, v: positions [m] with their remainders and velocities [m/s] at the start.
        rest_inv: inverse edges at rest; turn: rotations at the start, where searches begin.
        gravity, dt: [m/s^2], [s]; has_f_ext, neo_hookean: 1 or 0.
    """

    x: wp.array(dtype=wp.vec3)
    carry: wp.array(dtype=wp.vec3)
    v: wp.array(dtype=wp.vec3)
    rest_inv: wp.array(dtype=wp.mat33)
    turn: wp.array(dtype=wp.quat)
    f_ext: wp.array(dtype=wp.vec3)
    inv_mass: wp.array(dtype=float)
    gravity: wp.vec3
    dt: float
    has_f_ext: int
    neo_hookean: int


@wp.struct
class Local:
    """A particle's own part of a step: what is left of its equation [N s], and the diagonal of its matrix [kg]."""

    left: wp.vec3
    diagonal: wp.mat33


@wp.func
def velocity_edges(corners: wp.vec4i, v: wp.array(dtype=wp.vec3), gain: wp.array(dtype=wp.vec3)) -> wp.mat33:
    """Differences of velocities from corner 0, as columns [m/s]."""
    v0 = v[corners[0]]
    g0 = gain[corners[0]]
    return wp.matrix_from_cols(
        (v[corners[1]] - v0) + (gain[corners[1]] - g0),
        (v[corners[2]] - v0) + (gain[corners[2]] - g0),
        (v[corners[3]] - v0) + (gain[corners[3]] - g0),
    )


@wp.func
def own_equation(
    i: int, mesh: Mesh, step: Descent, holds: Holds, gain: wp.array(dtype=wp.vec3), with_diagonal: int
) -> Local:
    """What is left of the equation of a particle where the velocities lead to.

    Damping is a stress 2 mu E' + lambda tr E' times its time, with E' the rate of Green's strain about the start of
    the step: it does not slow a body that turns.
    """
    found = Local()
    dt = step.dt
    body = mesh.bodies[mesh.body[i]]
    m = mesh.mass[i]
    one = wp.identity(n=3, dtype=float)
    force = m * step.gravity
    if step.has_f_ext != 0:
        force += step.f_ext[i]
    if holds.how[i] == SLIDES:
        force += holds.rub[i]
    stiff = wp.mat33()
    viscous = wp.mat33()
    for s in range(mesh.corner_starts[i], mesh.corner_starts[i + 1]):
        code = mesh.corner_tets[s]
        t = code >> 2
        corner = code & 3
        corners = mesh.corners[t]
        inv = step.rest_inv[t]
        rate = velocity_edges(corners, step.v, gain)
        before = edges_of(corners, step.x, step.carry)
        f = (before + dt * rate) * inv
        b = row_of_corner(inv, corner)
        volume = mesh.volume[t]
        stress = wp.mat33()
        if step.neo_hookean != 0:
            stress = neo_hookean_stress(f, body.lame, body.shear)
            if with_diagonal != 0:
                squares = wp.ddot(f, f)
                k = 4.0 / 3.0 * body.shear
                fb = f * b
                gb = cofactor(f) * b
                stiff += volume * (
                    (k * squares / (squares + 1.0) * wp.dot(b, b)) * one
                    + (2.0 * k / ((squares + 1.0) * (squares + 1.0))) * wp.outer(fb, fb)
                    + (body.lame + 5.0 / 6.0 * body.shear) * wp.outer(gb, gb)
                )
        else:
            r = wp.quat_to_matrix(nearest_rotation(f, step.turn[t]))
            stress = corotated_stress(f, r, body.lame, body.shear)
            if with_diagonal != 0:
                # never less than the curvature, so that no move overshoots: that of |F - R|^2 is at most 2
                tight = wp.max(wp.ddot(r, f) - 3.0, 0.0)
                c = r * b
                stiff += volume * (
                    body.lame * wp.outer(c, c) + ((2.0 * body.shear + body.lame * tight) * wp.dot(b, b)) * one
                )
        if body.damping > 0.0:
            old = before * inv
            strain_rate = wp.transpose(old) * (rate * inv)
            strain_rate = 0.5 * (strain_rate + wp.transpose(strain_rate))
            stress += body.damping * old * (2.0 * body.shear * strain_rate + (body.lame * wp.trace(strain_rate)) * one)
            if with_diagonal != 0:
                fb = old * b
                square = old * wp.transpose(old)
                viscous += volume * ((body.shear * wp.dot(b, b)) * square + (body.shear + body.lame) * wp.outer(fb, fb))
        force -= volume * (stress * b)
    u = step.v[i] + gain[i]
    found.left = dt * (force - (m * body.drag) * u) - m * gain[i]
    found.diagonal = (m * (1.0 + dt * body.drag)) * one + (dt * dt) * stiff + (dt * body.damping) * viscous
    return found


@wp.kernel
def count_landings(start: int, spans: wp.array(dtype=wp.vec2i), holds: Holds, landings_out: wp.array(dtype=int)):
    """How many of every so-many-th particle of a body come to a surface in this step."""
    c = start + wp.tid()
    span = spans[c // LANDING_PARTS]
    count = int(0)
    for i in range(span[0] + c % LANDING_PARTS, span[1], LANDING_PARTS):
        if holds.how[i] == LANDS:
            count += 1
    landings_out[c] = count


@wp.kernel
def choose_start(
    start: int,
    mesh: Mesh,
    landings: wp.array(dtype=int),
    step: Descent,
    holds: Holds,
    a: wp.array(dtype=wp.vec3),
    gain_inout: wp.array(dtype=wp.vec3),
):
    """Where sweeps begin: of the last acceleration only what is along gravity, as the paper has it; a body that hits
    a surface begins where it is. Sweeps only go down from there, so what it can be deformed by is its own motion, and
    not that of particles which fly on while others have been stopped."""
    i = start + wp.tid()
    b = mesh.body[i]
    if step.inv_mass[i] == 0.0 or mesh.awake[b] == 0:
        return
    hits = int(0)
    for c in range(b * LANDING_PARTS, (b + 1) * LANDING_PARTS):
        hits += landings[c]
    square = wp.dot(step.gravity, step.gravity)
    share = float(0.0)
    if square > 0.0:
        share = wp.clamp(wp.dot(a[i], step.gravity) / square, 0.0, 1.0)
    gain = (step.dt * share) * step.gravity
    if hits > 0:
        gain = -step.v[i]
    how = holds.how[i]
    n = holds.normal[i]
    if not is_held(how):
        gain_inout[i] = gain
    else:
        # what is held keeps what holds it
        held = gain_inout[i] - filtered(gain_inout[i], step.inv_mass[i], how, n)
        gain_inout[i] = held + filtered(gain, step.inv_mass[i], how, n)


@wp.kernel
def descend(
    start: int,
    order: wp.array(dtype=int),
    mesh: Mesh,
    step: Descent,
    holds: Holds,
    gain_inout: wp.array(dtype=wp.vec3),
):
    """Solve the own part of every particle of a colour."""
    i = order[start + wp.tid()]
    if mesh.awake[mesh.body[i]] == 0 or step.inv_mass[i] == 0.0:
        return
    own = own_equation(i, mesh, step, holds, gain_inout, 1)
    w = step.inv_mass[i]
    free = filtered(own.left, w, holds.how[i], holds.normal[i])
    gain_inout[i] = gain_inout[i] + filtered(wp.inverse(own.diagonal) * free, w, holds.how[i], holds.normal[i])


@wp.kernel
def leave(
    start: int,
    mesh: Mesh,
    step: Descent,
    holds: Holds,
    gain: wp.array(dtype=wp.vec3),
    r_out: wp.array(dtype=wp.vec3),
):
    """What is left of the equations of all particles in the end."""
    i = start + wp.tid()
    if mesh.awake[mesh.body[i]] == 0:
        r_out[i] = wp.vec3(0.0, 0.0, 0.0)
        return
    own = own_equation(i, mesh, step, holds, gain, 0)
    r_out[i] = own.left


@wp.kernel
def note_turns(
    start: int,
    mesh: Mesh,
    step: Descent,
    gain: wp.array(dtype=wp.vec3),
    turn_out: wp.array(dtype=wp.quat),
):
    """Rotations at the end of the step, where the searches of the next one begin."""
    t = start + wp.tid()
    if mesh.awake[mesh.tet_body[t]] == 0:
        return
    corners = mesh.corners[t]
    f = (edges_of(corners, step.x, step.carry) + step.dt * velocity_edges(corners, step.v, gain)) * step.rest_inv[t]
    turn_out[t] = nearest_rotation(f, step.turn[t])
