"""The steps of rods around and between their direct solves."""

import warp as wp

from pliant.physics.quaternion import shortest_turn, third_axis, turn_of, vector_of
from pliant.solvers.xpbd.rod_native import ROOT, solve_chain_trees, solve_rod_trees

wp.set_module_options({"enable_backward": False})

ENDLESS = wp.constant(1.0e30)
"""Length of a spring that may be as long as it likes [m]."""
WIDEST = wp.constant(3.0)
"""Turn within one step that a segment is let spin by on its own [rad]: a wider one could be taken for one backwards."""


@wp.struct
class Lead:
    """How the pinned particles of a body move, taken as one rigid body: centre [m], velocity [m/s], spin [rad/s]."""

    centre: wp.vec3
    velocity: wp.vec3
    spin: wp.vec3


@wp.kernel
def fit_leads(
    start: int,
    pinned: wp.array2d(dtype=int),
    x: wp.array(dtype=wp.vec3),
    move: wp.array(dtype=wp.vec3),
    dt: float,
    lead_out: wp.array(dtype=Lead),
):
    """The rigid motion of each body's pinned particles, by least squares; a row lists some of them, then -1."""
    b = start + wp.tid()
    lead = Lead()
    count = float(0.0)
    for k in range(pinned.shape[1]):
        i = pinned[b, k]
        if i >= 0:
            lead.centre += x[i]
            lead.velocity += move[i] / dt
            count += 1.0
    if count > 1.0:
        lead.centre /= count
        lead.velocity /= count
        inertia = wp.mat33(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        moment = wp.vec3(0.0, 0.0, 0.0)
        for k in range(pinned.shape[1]):
            i = pinned[b, k]
            if i >= 0:
                r = x[i] - lead.centre
                inertia += wp.dot(r, r) * wp.identity(n=3, dtype=float) - wp.outer(r, r)
                moment += wp.cross(r, move[i] / dt - lead.velocity)
        size = wp.trace(inertia)
        if size > 0.0:
            # a little more than there is, so that particles in a row spin about it by nothing
            inertia = inertia / size + 1.0e-4 * wp.identity(n=3, dtype=float)
            lead.spin = wp.inverse(inertia) * (moment / size)
    lead_out[b] = lead


@wp.func
def follows(lead: Lead, x: wp.vec3, v: wp.vec3) -> bool:
    """Whether a particle moves with the others, but for a tenth: along the chord of a frame it is not quite a turn."""
    turned = wp.cross(lead.spin, x - lead.centre)
    return wp.length(v - lead.velocity - turned) <= 0.1 * wp.length(turned)


@wp.kernel
def begin_rods(
    start: int,
    link: wp.array(dtype=wp.vec4i),
    segment: wp.array(dtype=wp.vec4),
    node_body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    body: wp.array(dtype=int),
    leads: wp.array(dtype=Lead),
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    move: wp.array(dtype=wp.vec3),
    omega: wp.array(dtype=wp.vec3),
    dt: float,
    q_inout: wp.array(dtype=wp.quat),
    q_start_out: wp.array(dtype=wp.quat),
    force_out: wp.array(dtype=wp.vec3),
    torque_out: wp.array(dtype=wp.vec3),
):
    """A segment turns on by its spin; one that is pinned at both ends is led, by the smallest turn to its direction.

    Where all pinned particles of the body turn as one, as on a head, it turns about itself with them too.
    """
    n = start + wp.tid()
    if awake[node_body[n]] == 0:
        return
    ends = link[n]
    force_out[n] = wp.vec3(0.0, 0.0, 0.0)
    torque_out[n] = wp.vec3(0.0, 0.0, 0.0)
    q = q_inout[n]
    q_start_out[n] = q
    if (ends[2] & ROOT) == 0:
        if inv_mass[ends[0]] == 0.0 and inv_mass[ends[3]] == 0.0:
            e = (x[ends[0]] - x[ends[3]]) + (move[ends[0]] - move[ends[3]])
            size = wp.length(e)
            if size > 0.0:
                along = e / size
                lead = leads[body[n]]
                about = float(0.0)
                if follows(lead, x[ends[0]], move[ends[0]] / dt) and follows(lead, x[ends[3]], move[ends[3]] / dt):
                    about = dt * wp.dot(lead.spin, along)
                led = shortest_turn(third_axis(q), along) * q
                q_inout[n] = wp.normalize(turn_of(about * along) * led)
        else:
            turn = (dt / (1.0 + dt * segment[n][3])) * omega[n]
            size = wp.length(turn)
            if size > WIDEST:
                turn = turn * (WIDEST / size)
            q_inout[n] = wp.normalize(turn_of(turn) * q)


@wp.kernel
def finish_rods(
    start: int,
    node_body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    q: wp.array(dtype=wp.quat),
    q_start: wp.array(dtype=wp.quat),
    force: wp.array(dtype=wp.vec3),
    dt: float,
    omega_out: wp.array(dtype=wp.vec3),
    pull_out: wp.array(dtype=float),
):
    """The spin of each segment [rad/s], and what it pulls with [N]; none where it pushes."""
    n = start + wp.tid()
    if awake[node_body[n]] == 0:
        omega_out[n] = wp.vec3(0.0, 0.0, 0.0)
        return
    omega_out[n] = vector_of(q[n] * wp.quat_inverse(q_start[n])) / dt
    pull_out[n] = wp.max(-wp.dot(force[n], third_axis(q[n])) / (dt * dt), 0.0)


@wp.kernel
def finish_chains(
    start: int,
    node_body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    tension: wp.array(dtype=float),
    dt: float,
    pull_out: wp.array(dtype=float),
):
    """What each link pulls with [N]; none where it pushes."""
    n = start + wp.tid()
    if awake[node_body[n]] == 0:
        return
    pull_out[n] = wp.max(-tension[n] / (dt * dt), 0.0)


@wp.kernel
def copy_base(
    start: int, particle: wp.array(dtype=int), x: wp.array(dtype=wp.vec3), base_out: wp.array(dtype=wp.vec4d)
):
    """Positions of the rods' particles in float64."""
    i = particle[start + wp.tid()]
    p = x[i]
    base_out[i] = wp.vec4d(wp.float64(p[0]), wp.float64(p[1]), wp.float64(p[2]), wp.float64(0.0))


@wp.kernel
def clear_tension(start: int, tension_out: wp.array(dtype=float)):
    n = start + wp.tid()
    tension_out[n] = 0.0


@wp.kernel
def break_segments(
    start: int,
    link: wp.array(dtype=wp.vec4i),
    segment: wp.array(dtype=wp.vec4),
    limit: wp.array(dtype=float),
    spring: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    move: wp.array(dtype=wp.vec3),
    broken_out: wp.array(dtype=float),
    watched_out: wp.array(dtype=float),
):
    """A segment that is stretched beyond its limit breaks for good, and is watched no more; no limit is one of 0."""
    n = start + wp.tid()
    ends = link[n]
    if (ends[2] & ROOT) == 0 and limit[n] > 0.0:
        e = (x[ends[0]] - x[ends[3]]) + (move[ends[0]] - move[ends[3]])
        if wp.length(e) > (1.0 + limit[n]) * segment[n][0]:
            broken_out[n] = 1.0
            watched_out[spring[n]] = ENDLESS


@wp.kernel
def solve_rods(
    start: int,
    chunk_starts: wp.array(dtype=int),
    work_starts: wp.array(dtype=int),
    tree_starts: wp.array(dtype=int),
    link: wp.array(dtype=wp.vec4i),
    segment: wp.array(dtype=wp.vec4),
    compliance: wp.array(dtype=wp.vec4),
    joint: wp.array(dtype=wp.quat),
    node_body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    broken: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    base: wp.array(dtype=wp.vec4d),
    q_start: wp.array(dtype=wp.quat),
    pull: wp.array(dtype=float),
    dt: float,
    work_out: wp.array(dtype=wp.float64),
    move_inout: wp.array(dtype=wp.vec3),
    q_inout: wp.array(dtype=wp.quat),
    force_inout: wp.array(dtype=wp.vec3),
    torque_inout: wp.array(dtype=wp.vec3),
):
    """One Newton step of the trees of a chunk, one after the other in the same workspace."""
    c = start + wp.tid()
    for tree in range(chunk_starts[c], chunk_starts[c + 1]):
        if awake[node_body[tree_starts[tree]]] != 0:
            solve_rod_trees(
                tree, tree + 1, work_starts[c], tree_starts, link, segment, compliance, joint, broken, inv_mass, base,
                q_start, pull, dt, work_out, move_inout, q_inout, force_inout, torque_inout,
            )  # fmt: skip


@wp.kernel
def solve_chains(
    start: int,
    chunk_starts: wp.array(dtype=int),
    work_starts: wp.array(dtype=int),
    tree_starts: wp.array(dtype=int),
    link: wp.array(dtype=wp.vec4i),
    segment: wp.array(dtype=wp.vec4),
    node_body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    broken: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    base: wp.array(dtype=wp.vec4d),
    pull: wp.array(dtype=float),
    dt: float,
    work_out: wp.array(dtype=wp.float64),
    move_inout: wp.array(dtype=wp.vec3),
    tension_inout: wp.array(dtype=float),
):
    """The same for chains."""
    c = start + wp.tid()
    for tree in range(chunk_starts[c], chunk_starts[c + 1]):
        if awake[node_body[tree_starts[tree]]] != 0:
            solve_chain_trees(
                tree, tree + 1, work_starts[c], tree_starts, link, segment, broken, inv_mass, base, pull, dt, work_out,
                move_inout, tension_inout,
            )  # fmt: skip
