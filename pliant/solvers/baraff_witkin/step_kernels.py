"""A step around its solve: what holds the particles, the move with friction, whether to keep it, and the contacts.

`tally` counts (see `Tally`); times are whole numbers of ticks, the shortest step there can be, so that halves add up.
"""

import warp as wp

from pliant.physics.contact import PlaneData, meet_plane, shared_friction
from pliant.solvers.baraff_witkin.sheet_kernels import Cloth, weighted
from pliant.solvers.baraff_witkin.solve_kernels import FREE, SLIDES, STICKS, filtered

wp.set_module_options({"enable_backward": False})

# Places in the tally.
LEVEL = wp.constant(0)
"""How often the step is halved now."""
GOOD = wp.constant(1)
"""Good steps in a row since the step changed."""
LEFT = wp.constant(2)
"""Ticks left of the step that was asked for."""
KEEP = wp.constant(3)
"""Whether the last attempt is kept."""
TAKEN = wp.constant(4)
"""Steps taken since the start."""
THROWN = wp.constant(5)
"""Steps thrown away."""
FORCED = wp.constant(6)
"""Steps kept although they were not good, because they were the shortest."""
DEEPEST = wp.constant(7)
"""The highest level reached."""
SIZE = 8

# Friction that holds a sticking particle, over that on a sliding one, at least: without it they would take turns.
STATIC = wp.constant(1.2)


@wp.kernel
def begin_step(halvings: int, tally_inout: wp.array(dtype=int), going_out: wp.array(dtype=int)):
    """All of the step is left."""
    tally_inout[LEFT] = wp.lshift(1, halvings)
    tally_inout[LEVEL] = wp.min(tally_inout[LEVEL], halvings)
    going_out[0] = 1


@wp.kernel
def begin_attempt(tally: wp.array(dtype=int), halvings: int, dt: float, step_out: wp.array(dtype=float)):
    """Length of the next attempt [s]: the present one, or what is left."""
    ticks = wp.min(wp.lshift(1, halvings - tally[LEVEL]), tally[LEFT])
    step_out[0] = dt * float(ticks) / float(wp.lshift(1, halvings))


@wp.kernel
def start_from(
    start: int,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    hold: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
    rub: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    hold_out: wp.array(dtype=int),
    normal_out: wp.array(dtype=wp.vec3),
    rub_out: wp.array(dtype=wp.vec3),
    impulse_out: wp.array(dtype=wp.vec3),
):
    """The state before the first inner step."""
    i = start + wp.tid()
    x_out[i] = x[i]
    v_out[i] = v[i]
    hold_out[i] = wp.where(inv_mass[i] > 0.0, hold[i], FREE)
    normal_out[i] = normal[i]
    rub_out[i] = rub[i]
    impulse_out[i] = wp.vec3(0.0, 0.0, 0.0)


@wp.kernel
def prescribe(
    start: int,
    inv_mass: wp.array(dtype=float),
    hold: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
    grip: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    a: wp.array(dtype=wp.vec3),
    step: wp.array(dtype=float),
    z_out: wp.array(dtype=wp.vec3),
    guess_out: wp.array(dtype=wp.vec3),
    dv_out: wp.array(dtype=wp.vec3),
):
    """The change of velocity z that what holds a particle asks for, and a guess of the rest from the last step."""
    i = start + wp.tid()
    z = wp.vec3(0.0, 0.0, 0.0)
    if inv_mass[i] > 0.0 and hold[i] != FREE:
        z = grip[i] - v[i]
        if hold[i] == SLIDES:
            z = wp.dot(z, normal[i]) * normal[i]
    guess = filtered(step[0] * a[i], inv_mass[i], hold[i], normal[i])
    z_out[i] = z
    guess_out[i] = guess
    dv_out[i] = z + guess


@wp.kernel
def move(
    start: int,
    inv_mass: wp.array(dtype=float),
    hold: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
    grip: wp.array(dtype=wp.vec3),
    mu: wp.array(dtype=wp.vec2),
    rub: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    dv: wp.array(dtype=wp.vec3),
    r: wp.array(dtype=wp.vec3),
    step: wp.array(dtype=float),
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    hold_out: wp.array(dtype=int),
    rub_out: wp.array(dtype=wp.vec3),
    push_out: wp.array(dtype=wp.vec3),
):
    """The attempt's positions and velocities, and what holds a particle from now on.

    What holds it gave the impulse -r. A surface that would have to pull lets go. A sticking particle that would need
    more than static friction begins to slide, against the friction `rub` [N] that the next solve takes into account; a
    sliding one that friction would push back sticks. `mu` is the kinetic and the static coefficient.
    """
    i = start + wp.tid()
    h = step[0]
    u = v[i] + dv[i]
    held = hold[i]
    push = wp.vec3(0.0, 0.0, 0.0)
    drag = wp.vec3(0.0, 0.0, 0.0)
    if inv_mass[i] > 0.0 and held != FREE:
        n = normal[i]
        reaction = -r[i]
        along = wp.dot(reaction, n)
        most = mu[i][0] * along
        if held == STICKS:
            push = reaction
            needed = reaction - along * n
            size = wp.length(needed)
            if along <= 0.0:
                held = FREE
            elif size > wp.max(mu[i][1] * along, STATIC * most):
                held = SLIDES
                drag = (most / (size * h)) * needed
        else:
            push = along * n + h * rub[i]
            slip = u - grip[i]
            slip = slip - wp.dot(slip, n) * n
            speed = wp.length(slip)
            if along <= 0.0:
                held = FREE
            elif wp.dot(slip, rub[i]) > 0.0 or speed == 0.0:
                held = STICKS
                u = u - slip
                push = push - slip / inv_mass[i]
            else:
                drag = (-most / (speed * h)) * slip
    x_out[i] = x[i] + h * u
    v_out[i] = u
    hold_out[i] = held
    rub_out[i] = drag
    push_out[i] = push


@wp.kernel
def worst_change(
    start: int,
    cloth: Cloth,
    x: wp.array(dtype=wp.vec3),
    x_new: wp.array(dtype=wp.vec3),
    count: int,
    chunks: int,
    worst_out: wp.array(dtype=float),
):
    """The largest change of a stretch among the triangles c, c + chunks, ...; huge if one is not finite."""
    c = start + wp.tid()
    worst = float(0.0)
    for t in range(c, count, chunks):
        corners = cloth.corners[t]
        if cloth.awake[cloth.body[corners[0]]] == 0:
            continue
        change_u = wp.abs(
            wp.length(weighted(cloth.along[t], x_new, corners)) - wp.length(weighted(cloth.along[t], x, corners))
        )
        change_v = wp.abs(
            wp.length(weighted(cloth.across[t], x_new, corners)) - wp.length(weighted(cloth.across[t], x, corners))
        )
        # a comparison with NaN is false, so ask for sense rather than nonsense
        if change_u < 1.0e30 and change_v < 1.0e30:
            worst = wp.max(worst, wp.max(change_u, change_v))
        else:
            worst = 1.0e30
    worst_out[c] = worst


@wp.kernel
def judge(
    worst: wp.array(dtype=float),
    scalars: wp.array(dtype=wp.float64),
    stretch_change: float,
    halvings: int,
    good_steps: int,
    tally_inout: wp.array(dtype=int),
    going_out: wp.array(dtype=int),
):
    """Keep the attempt if its solve ended and nothing was stretched too far, and choose the next step."""
    most = float(0.0)
    for c in range(worst.shape[0]):
        most = wp.max(most, worst[c])
    level = tally_inout[LEVEL]
    good = most <= stretch_change and scalars[0] <= scalars[3]
    keep = int(0)
    if good or level >= halvings:
        keep = 1
        tally_inout[LEFT] = tally_inout[LEFT] - wp.min(wp.lshift(1, halvings - level), tally_inout[LEFT])
        tally_inout[TAKEN] = tally_inout[TAKEN] + 1
    if good:
        tally_inout[GOOD] = tally_inout[GOOD] + 1
        if tally_inout[GOOD] >= good_steps and level > 0:
            tally_inout[LEVEL] = level - 1
            tally_inout[GOOD] = 0
    else:
        tally_inout[GOOD] = 0
        if level < halvings:
            tally_inout[LEVEL] = level + 1
            tally_inout[THROWN] = tally_inout[THROWN] + 1
            tally_inout[DEEPEST] = wp.max(tally_inout[DEEPEST], level + 1)
        else:
            tally_inout[FORCED] = tally_inout[FORCED] + 1
    tally_inout[KEEP] = keep
    going_out[0] = 0
    if tally_inout[LEFT] > 0:
        going_out[0] = 1


@wp.kernel
def keep_attempt(
    start: int,
    tally: wp.array(dtype=int),
    step: wp.array(dtype=float),
    x_new: wp.array(dtype=wp.vec3),
    v_new: wp.array(dtype=wp.vec3),
    hold_new: wp.array(dtype=int),
    rub_new: wp.array(dtype=wp.vec3),
    push: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
    hold_out: wp.array(dtype=int),
    rub_out: wp.array(dtype=wp.vec3),
    a_out: wp.array(dtype=wp.vec3),
    impulse_inout: wp.array(dtype=wp.vec3),
):
    """Go on from the attempt, if it is kept."""
    i = start + wp.tid()
    if tally[KEEP] != 0:
        a_out[i] = (v_new[i] - v_inout[i]) / step[0]
        x_out[i] = x_new[i]
        v_inout[i] = v_new[i]
        hold_out[i] = hold_new[i]
        rub_out[i] = rub_new[i]
        impulse_inout[i] = impulse_inout[i] + push[i]


@wp.kernel
def lean_in(
    start: int,
    hold: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
    depth: float,
    x_inout: wp.array(dtype=wp.vec3),
):
    """Put held particles a little into what holds them, so that the pipeline finds the contact as it is now."""
    i = start + wp.tid()
    if hold[i] != FREE:
        x_inout[i] = x_inout[i] - depth * normal[i]


@wp.kernel
def resolve_holds(
    start: int,
    surface: wp.array(dtype=PlaneData),
    depth: wp.array(dtype=float),
    slots: int,
    body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    friction: wp.array(dtype=wp.vec2),
    restitution: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    hold: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
    rub: wp.array(dtype=wp.vec3),
    rest_speed: float,
    dt: float,
    x_inout: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    hold_out: wp.array(dtype=int),
    normal_out: wp.array(dtype=wp.vec3),
    grip_out: wp.array(dtype=wp.vec3),
    mu_out: wp.array(dtype=wp.vec2),
    rub_out: wp.array(dtype=wp.vec3),
):
    """Commit the prediction, put particles back on surfaces, and remember which surface holds each from now on.

    A particle that was held has had its friction in the solve, and is only put back. One that has just arrived is held
    unless it bounces. A body that sleeps keeps what holds it.
    """
    i = start + wp.tid()
    if awake[body[i]] == 0:
        return
    x = x_next[i]
    v = v_next[i]
    before = x_inout[i]
    held = int(FREE)
    n = wp.vec3(0.0, 0.0, 0.0)
    grip = wp.vec3(0.0, 0.0, 0.0)
    mu = wp.vec2(0.0, 0.0)
    drag = wp.vec3(0.0, 0.0, 0.0)
    if inv_mass[i] > 0.0:
        b = body[i]
        was = hold[i]
        old = normal[i]
        for k in range(slots):
            plane = surface[i * slots + k]
            inside = plane.offset - wp.dot(plane.normal, x)
            if depth[i * slots + k] >= 0.0 and inside >= 0.0:
                now = int(FREE)
                if was != FREE and wp.dot(old, plane.normal) > 0.5:
                    x = x + inside * plane.normal
                    v = v + wp.max(0.0, wp.dot(plane.velocity - v, plane.normal)) * plane.normal
                    now = was
                else:
                    met = meet_plane(x, v, before, plane, friction[b], restitution[b], rest_speed, dt)
                    x = met.x
                    v = met.v
                    relative = v - plane.velocity
                    away = wp.dot(relative, plane.normal)
                    if away <= 1.0e-6:
                        now = SLIDES
                        if wp.length(relative - away * plane.normal) <= 1.0e-6:
                            now = STICKS
                if now != FREE and (held == FREE or now == was):
                    held = now
                    n = plane.normal
                    drag = rub[i]
                    grip = plane.velocity
                    mu = shared_friction(friction[b], plane)
    x_inout[i] = x
    v_out[i] = v
    hold_out[i] = held
    normal_out[i] = n
    grip_out[i] = grip
    mu_out[i] = mu
    rub_out[i] = drag
