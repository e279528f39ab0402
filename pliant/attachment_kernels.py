"""Kernels of attachments: a particle and a weighted point of up to four others, held at a distance."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Directions of less than this length [m] are none.
NO_WAY = wp.constant(1.0e-12)
# Share of the length that may lie across the old direction; beyond, the rod is corrected along the new one.
STEEPEST = wp.constant(0.75)


@wp.struct
class Ties:
    """All attachments, those of one colour in a row.

    Attributes:
        particle: the one that is attached. host, weight: up to four that carry the point it is attached to.
        compliance: 1 / stiffness [m/N]; zero is rigid.
        target: distance that is kept in the end [m].
        strength: force at which it breaks [N].
    """

    particle: wp.array(dtype=int)
    host: wp.array(dtype=wp.vec4i)
    weight: wp.array(dtype=wp.vec4)
    compliance: wp.array(dtype=float)
    target: wp.array(dtype=float)
    strength: wp.array(dtype=float)


@wp.struct
class TieState:
    """What changes of attachments.

    Attributes:
        intact: 1, or 0 once it is broken.
        length: distance that is kept now [m]; it goes to the target at `rate` [m/s].
        axis: from the point to the particle when the step began [m].
        pace: how fast the length changes in this step [m/s].
        sum: XPBD's multiplier of this step, a force times dt^2 [N s^2].
        impulse: on the particle since the frame began [N s].
        force: on the particle, as the mean of the last frame [N].
    """

    intact: wp.array(dtype=float)
    length: wp.array(dtype=float)
    rate: wp.array(dtype=float)
    axis: wp.array(dtype=wp.vec3)
    pace: wp.array(dtype=float)
    sum: wp.array(dtype=float)
    impulse: wp.array(dtype=wp.vec3)
    force: wp.array(dtype=wp.vec3)


@wp.func
def difference(ties: Ties, k: int, values: wp.array(dtype=wp.vec3)) -> wp.vec3:
    """What a particle has more than the point that it is attached to, of positions or velocities."""
    own = values[ties.particle[k]]
    host = ties.host[k]
    weight = ties.weight[k]
    more = wp.vec3(0.0, 0.0, 0.0)
    for j in range(4):
        more += weight[j] * (own - values[host[j]])
    return more


@wp.func
def softness(ties: Ties, k: int, inv_mass: wp.array(dtype=float)) -> float:
    """How far particle and point part under a unit impulse on both, over its size [1/kg]."""
    host = ties.host[k]
    weight = ties.weight[k]
    total = inv_mass[ties.particle[k]]
    for j in range(4):
        total += weight[j] * weight[j] * inv_mass[host[j]]
    return total


@wp.func
def push(ties: Ties, k: int, inv_mass: wp.array(dtype=float), by: wp.vec3, values_out: wp.array(dtype=wp.vec3)):
    """Add an impulse to the particle and take it from the point's hosts: nothing is gained or lost."""
    i = ties.particle[k]
    host = ties.host[k]
    weight = ties.weight[k]
    values_out[i] = values_out[i] + inv_mass[i] * by
    for j in range(4):
        if weight[j] > 0.0:
            h = host[j]
            values_out[h] = values_out[h] - (weight[j] * inv_mass[h]) * by


@wp.func
def unit(way: wp.vec3, otherwise: wp.vec3) -> wp.vec3:
    """The direction of a vector, or of another where it has none."""
    length = wp.length(way)
    if length > NO_WAY:
        return way / length
    length = wp.length(otherwise)
    if length > NO_WAY:
        return otherwise / length
    return wp.vec3(0.0, 1.0, 0.0)


@wp.func
def keep_rigid(
    ties: Ties,
    now: TieState,
    k: int,
    inv_mass: wp.array(dtype=float),
    w: float,
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Put particle and point at their distance, and take from their velocities what would part them.

    Positions are put right without a change of velocity, so that neither rounding nor a gap that closes makes speed.
    A rod is put right along the direction it had before the step (Ryckaert, Ciccotti and Berendsen 1977), which keeps
    the angular momentum; its velocity along it is that of a circle through both ends of the step.
    """
    length = now.length[k]
    d = difference(ties, k, x_out)
    speed = difference(ties, k, v_out)
    move = -d
    kick = -speed
    if length > 0.0:
        u = unit(now.axis[k], d)
        along = wp.dot(d, u)
        across = wp.max(wp.dot(d, d) - along * along, 0.0)
        if along > 0.0 and across < STEEPEST * length * length:
            move = (wp.sqrt(length * length - across) - along) * u
        else:
            move = length * unit(d, u) - d
            u = unit(d, u)
        part = wp.dot(speed, u)
        swing = dt * dt * wp.max(wp.dot(speed, speed) - part * part, 0.0)
        wanted = now.pace[k]
        if swing < STEEPEST * length * length:
            wanted -= swing / (dt * (length + wp.sqrt(length * length - swing)))
        kick = (wanted - part) * u
    push(ties, k, inv_mass, move / w, x_out)
    push(ties, k, inv_mass, kick / w, v_out)
    now.impulse[k] = now.impulse[k] + kick / w


@wp.func
def keep_elastic(
    ties: Ties,
    now: TieState,
    k: int,
    inv_mass: wp.array(dtype=float),
    w: float,
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """A spring, implicit in time: XPBD's step of one constraint (Macklin et al. 2016, eq. 18)."""
    d = difference(ties, k, x_out)
    distance = wp.length(d)
    if distance > NO_WAY:
        n = d / distance
        u = unit(now.axis[k], d)
        turn = wp.dot(u, n)
        if turn < 0.5:
            u = n
            turn = 1.0
        soft = ties.compliance[k] / (dt * dt)
        more = -(distance - now.length[k] + soft * now.sum[k]) / (w * turn + soft)
        now.sum[k] = now.sum[k] + more
        push(ties, k, inv_mass, more * u, x_out)
        push(ties, k, inv_mass, (more / dt) * u, v_out)
        now.impulse[k] = now.impulse[k] + (more / dt) * u


@wp.func
def keep(
    ties: Ties,
    now: TieState,
    k: int,
    inv_mass: wp.array(dtype=float),
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    w = softness(ties, k, inv_mass)
    if now.intact[k] > 0.0 and w > 0.0:
        if ties.compliance[k] > 0.0:
            keep_elastic(ties, now, k, inv_mass, w, dt, x_out, v_out)
        else:
            keep_rigid(ties, now, k, inv_mass, w, dt, x_out, v_out)


@wp.kernel
def begin_frame(start: int, now_out: TieState):
    """Forget the impulses of the last frame."""
    k = start + wp.tid()
    now_out.impulse[k] = wp.vec3(0.0, 0.0, 0.0)


@wp.kernel
def begin_step(start: int, ties: Ties, x: wp.array(dtype=wp.vec3), dt: float, now_out: TieState):
    """Where attachments point before a step, and the distance to keep at its end."""
    k = start + wp.tid()
    length = now_out.length[k]
    goal = ties.target[k]
    reach = now_out.rate[k] * dt
    after = goal
    if wp.abs(goal - length) > reach:
        after = length + wp.sign(goal - length) * reach
    now_out.axis[k] = difference(ties, k, x)
    now_out.pace[k] = (after - length) / dt
    now_out.length[k] = after
    now_out.sum[k] = 0.0


@wp.kernel
def solve_batch(
    start: int,
    ties: Ties,
    inv_mass: wp.array(dtype=float),
    dt: float,
    now_out: TieState,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Attachments of one colour, which share no particle."""
    keep(ties, now_out, start + wp.tid(), inv_mass, dt, x_out, v_out)


@wp.kernel
def solve_all(
    ties: Ties,
    inv_mass: wp.array(dtype=float),
    dt: float,
    count: int,
    iterations: int,
    now_out: TieState,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """All attachments, one after the other in one thread, some times over."""
    for _ in range(iterations):
        for k in range(count):
            keep(ties, now_out, k, inv_mass, dt, x_out, v_out)


@wp.kernel
def end_frame(start: int, ties: Ties, inv_mass: wp.array(dtype=float), duration: float, now_out: TieState):
    """The mean force of the frame; what carried more than its strength breaks. Where both sides are held or asleep it
    stays as it was."""
    k = start + wp.tid()
    if inv_mass[ties.particle[k]] == 0.0 and inv_mass[ties.host[k][0]] == 0.0:
        return
    force = now_out.impulse[k] / duration
    now_out.force[k] = force
    if wp.length(force) > ties.strength[k]:
        now_out.intact[k] = 0.0


@wp.struct
class Loans:
    """Particles that count as heavier while their method solves its constraints, each once.

    Attributes:
        particle: which. drag: of its body [1/s].
        starts: entries of particle h are ``starts[h]:starts[h + 1]``. tie, mass: attachment and what it lends [kg].
        ratio: how much heavier it counts. inv_mass: its own [1/kg].
        x, v: where it would be after the step, and how fast, without forces but gravity [m], [m/s].
    """

    particle: wp.array(dtype=int)
    drag: wp.array(dtype=float)
    starts: wp.array(dtype=int)
    tie: wp.array(dtype=int)
    mass: wp.array(dtype=float)
    ratio: wp.array(dtype=float)
    inv_mass: wp.array(dtype=float)
    x: wp.array(dtype=wp.vec3)
    v: wp.array(dtype=wp.vec3)


@wp.kernel
def lend_mass(
    start: int,
    now: TieState,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    gravity: wp.vec3,
    dt: float,
    loans_out: Loans,
    inv_mass_out: wp.array(dtype=float),
):
    """Let particles at joints feel the mass that hangs on them, before their method moves them."""
    h = start + wp.tid()
    i = loans_out.particle[h]
    more = float(0.0)
    for e in range(loans_out.starts[h], loans_out.starts[h + 1]):
        k = loans_out.tie[e]
        if now.intact[k] > 0.0 and now.length[k] == 0.0:
            more += loans_out.mass[e]
    w = inv_mass_out[i]
    ratio = 1.0 + more * w
    free = (v[i] + dt * gravity) / (1.0 + loans_out.drag[h] * dt)
    loans_out.ratio[h] = ratio
    loans_out.inv_mass[h] = w
    loans_out.v[h] = free
    loans_out.x[h] = x[i] + dt * free
    inv_mass_out[i] = w / ratio


@wp.kernel
def return_mass(
    start: int,
    loans: Loans,
    inv_mass_out: wp.array(dtype=float),
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Give the particles their own mass again, and the impulses that they got while they were heavier."""
    h = start + wp.tid()
    i = loans.particle[h]
    ratio = loans.ratio[h]
    # what was asleep at the start of the step may have woken in it
    if loans.inv_mass[h] > 0.0:
        inv_mass_out[i] = loans.inv_mass[h]
    if ratio > 1.0:
        x_out[i] = loans.x[h] + ratio * (x_out[i] - loans.x[h])
        v_out[i] = loans.v[h] + ratio * (v_out[i] - loans.v[h])
