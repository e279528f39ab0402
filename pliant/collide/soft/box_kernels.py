"""Particles of bodies against the boxes of others: detection, and what a contact does to both."""

import warp as wp

from pliant.collide.soft.contact_rows import held_back, whole
from pliant.collide.soft.tree_kernels import Box, no_box

wp.set_module_options({"enable_backward": False})

SLACK = wp.constant(0.2)
"""Share of its radius within which a particle counts that is not beyond the plane yet, since others may push it."""


@wp.struct
class Crowd:
    """The particles of all bodies, body after body, in runs that one thread walks through.

    Attributes:
        particle, body: of each place. radius: half of what is kept free, of each particle of the model [m].
        mass: of each particle of the model [kg].
        run_first: first place of each run, and the end. body_run: first run of each body, and the end.
    """

    particle: wp.array(dtype=int)
    body: wp.array(dtype=int)
    radius: wp.array(dtype=float)
    mass: wp.array(dtype=float)
    run_first: wp.array(dtype=int)
    body_run: wp.array(dtype=int)


@wp.struct
class Whole:
    """Each body as one mass.

    Attributes:
        lightness: inverse mass [1/kg]; zero of a body that is pinned somewhere, or has no particles.
        v: its velocity, with what contacts did to it [m/s].
        shift: what contacts did to its place [m]. d_shift, d_v: what the last pass did.
        contacts: how many particles push against the body's box.
        sums: what they do in a pass, in whole multiples of 1 / scale: to the place and to the velocity, (3,) each.
    """

    lightness: wp.array(dtype=float)
    v: wp.array(dtype=wp.vec3)
    shift: wp.array(dtype=wp.vec3)
    d_shift: wp.array(dtype=wp.vec3)
    d_v: wp.array(dtype=wp.vec3)
    contacts: wp.array(dtype=int)
    sums: wp.array2d(dtype=wp.int64)
    scale: wp.float64


@wp.struct
class BoxRows:
    """Contacts of particles with boxes: `room` rows for each place in the crowd, of which the first `count` are in use.

    Attributes:
        other: the body whose box it is. normal: towards the particle.
        carried: how far the other body moves in the step [m].
        target: the least height of the particle over the origin along the normal [m].
        depth: how much of it was missing [m].
        friction, bounce: coefficient, and the speed at which the two should part [m/s].
        push, grip: what was done to positions so far, along the normal and across [kg m].
        impulse, rub: the same for velocities [N s].
    """

    room: int
    things: int
    count: wp.array(dtype=int)
    other: wp.array(dtype=int)
    normal: wp.array(dtype=wp.vec3)
    carried: wp.array(dtype=wp.vec3)
    target: wp.array(dtype=float)
    depth: wp.array(dtype=float)
    friction: wp.array(dtype=float)
    bounce: wp.array(dtype=float)
    push: wp.array(dtype=float)
    grip: wp.array(dtype=wp.vec3)
    impulse: wp.array(dtype=float)
    rub: wp.array(dtype=wp.vec3)
    own_push: wp.array(dtype=wp.vec3)
    own_kick: wp.array(dtype=wp.vec3)


# ---- detection -------------------------------------------------------------------------------------------------------


@wp.kernel
def box_runs(
    start: int,
    crowd: Crowd,
    x: wp.array(dtype=wp.vec3),
    low_out: wp.array(dtype=wp.vec3),
    high_out: wp.array(dtype=wp.vec3),
):
    """A box around each run of particles, as spheres."""
    r = start + wp.tid()
    box = no_box()
    for k in range(crowd.run_first[r], crowd.run_first[r + 1]):
        i = crowd.particle[k]
        wide = wp.vec3(crowd.radius[i], crowd.radius[i], crowd.radius[i])
        box.low = wp.min(box.low, x[i] - wide)
        box.high = wp.max(box.high, x[i] + wide)
    low_out[r] = box.low
    high_out[r] = box.high


@wp.kernel
def box_bodies(
    start: int,
    crowd: Crowd,
    low: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
    low_out: wp.array(dtype=wp.vec3),
    high_out: wp.array(dtype=wp.vec3),
):
    """A box around the runs of each body; one that holds nothing around those without particles."""
    b = start + wp.tid()
    box = no_box()
    for r in range(crowd.body_run[b], crowd.body_run[b + 1]):
        box.low = wp.min(box.low, low[r])
        box.high = wp.max(box.high, high[r])
    low_out[b] = box.low
    high_out[b] = box.high


@wp.func
def squared_distance(point: wp.vec3, low: wp.vec3, high: wp.vec3) -> float:
    """Squared distance of a point from a box, zero inside [m^2] (Ericson 2005, section 5.1.3.1)."""
    return wp.length_sq(point - wp.min(wp.max(point, low), high))


@wp.kernel
def find_touched(
    start: int,
    crowd: Crowd,
    x: wp.array(dtype=wp.vec3),
    low: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
    partner: wp.array(dtype=int),
    partners: wp.array(dtype=int),
    partner_room: int,
    room: int,
    found_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """The bodies whose boxes each particle touches as a sphere (Ericson 2005, section 5.2.5; Sharma, figure 4.3)."""
    k = start + wp.tid()
    i = crowd.particle[k]
    b = crowd.body[k]
    radius = crowd.radius[i]
    found = int(0)
    for j in range(wp.min(partners[b], partner_room)):
        other = partner[b * partner_room + j]
        if squared_distance(x[i], low[other], high[other]) <= radius * radius:
            if found < room:
                found_out[k * room + found] = other
            found += 1
    count_out[k] = found
    if found > room:
        full_out[0] = 1


# ---- bodies as wholes ------------------------------------------------------------------------------------------------


@wp.kernel
def weigh_runs(
    start: int,
    crowd: Crowd,
    inv_mass: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    mass_out: wp.array(dtype=wp.float64),
    mv_out: wp.array(dtype=wp.vec3d),
    held_out: wp.array(dtype=int),
):
    """Mass and momentum of each run, and whether one of its particles is pinned."""
    r = start + wp.tid()
    mass = wp.float64(0.0)
    mv = wp.vec3d()
    held = int(0)
    for k in range(crowd.run_first[r], crowd.run_first[r + 1]):
        i = crowd.particle[k]
        m = wp.float64(crowd.mass[i])
        mass += m
        mv += m * wp.vec3d(v[i])
        if inv_mass[i] == 0.0:
            held = int(1)
    mass_out[r] = mass
    mv_out[r] = mv
    held_out[r] = held


@wp.kernel
def weigh_bodies(
    start: int,
    crowd: Crowd,
    mass: wp.array(dtype=wp.float64),
    mv: wp.array(dtype=wp.vec3d),
    held: wp.array(dtype=int),
    whole_out: Whole,
):
    """Velocity and inverse mass of each body; no contacts yet."""
    b = start + wp.tid()
    total = wp.float64(0.0)
    moving = wp.vec3d()
    is_held = int(0)
    for r in range(crowd.body_run[b], crowd.body_run[b + 1]):
        total += mass[r]
        moving += mv[r]
        is_held = wp.max(is_held, held[r])
    none = wp.vec3(0.0, 0.0, 0.0)
    whole_out.v[b] = none
    whole_out.lightness[b] = 0.0
    if total > wp.float64(0.0):
        whole_out.v[b] = wp.vec3(moving / total)
        if is_held == 0:
            whole_out.lightness[b] = float(wp.float64(1.0) / total)
    whole_out.shift[b] = none
    whole_out.contacts[b] = 0


# ---- contacts --------------------------------------------------------------------------------------------------------


@wp.func
def way_out(one: Box, two: Box) -> wp.vec3:
    """The direction along an axis in which one box leaves another by the shortest way, or is furthest from it."""
    best = float(1.0e30)
    out = wp.vec3(0.0, 0.0, 0.0)
    for a in range(3):
        up = two.high[a] - one.low[a]
        down = one.high[a] - two.low[a]
        if wp.min(up, down) < best:
            best = wp.min(up, down)
            out = wp.vec3(0.0, 0.0, 0.0)
            out[a] = 1.0
            if down < up:
                out[a] = -1.0
    return out


@wp.func
def nearest_face(box: Box, n: wp.vec3) -> float:
    """Height of the box's lowest point along a direction of an axis [m]."""
    return wp.dot(wp.max(n, wp.vec3(0.0, 0.0, 0.0)), box.low) + wp.dot(wp.min(n, wp.vec3(0.0, 0.0, 0.0)), box.high)


@wp.func
def plane_between(one: Box, two: Box, n: wp.vec3) -> float:
    """Height along n of the plane in the middle between the lowest of one box and the highest of another [m]."""
    return 0.5 * (nearest_face(one, n) - nearest_face(two, -n))


@wp.func
def box_of(low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), b: int) -> Box:
    out = Box()
    out.low = low[b]
    out.high = high[b]
    return out


@wp.kernel
def write_rows(
    start: int,
    crowd: Crowd,
    touched: wp.array(dtype=int),
    friction: wp.array(dtype=float),
    restitution: wp.array(dtype=float),
    low_before: wp.array(dtype=wp.vec3),
    high_before: wp.array(dtype=wp.vec3),
    low: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    of: Whole,
    gain: float,
    rest_speed: float,
    dt: float,
    touches: wp.array(dtype=int),
    rows_out: BoxRows,
):
    """The contacts of each particle with the boxes it touches."""
    k = start + wp.tid()
    i = crowd.particle[k]
    mine = crowd.body[k]
    radius = crowd.radius[i]
    found = int(0)
    for j in range(wp.min(touches[k], rows_out.room)):
        other = touched[k * rows_out.room + j]
        # the two bodies of a pair must agree on the direction, also where several are as good
        one = wp.min(mine, other)
        two = wp.max(mine, other)
        n = way_out(box_of(low_before, high_before, one), box_of(low_before, high_before, two))
        if mine > other:
            n = -n
        plane = plane_between(box_of(low, high, mine), box_of(low, high, other), n)
        before = plane_between(box_of(low_before, high_before, mine), box_of(low_before, high_before, other), n)
        gap = wp.dot(n, x_next[i]) - radius - plane
        if gap <= SLACK * radius:
            row = k * rows_out.room + found
            found += 1
            # what was too deep before the step is let out slowly, what came too deep in it is put back
            allowed = wp.min(wp.dot(n, x[i]) - radius - before + gain, 0.0)
            rows_out.other[row] = other
            rows_out.normal[row] = n
            rows_out.carried[row] = dt * of.v[other]
            rows_out.target[row] = plane + radius + allowed
            rows_out.depth[row] = -gap
            rows_out.friction[row] = wp.sqrt(friction[mine] * friction[other])
            approach = wp.dot(v_next[i] - of.v[other], n)
            bounce = float(0.0)
            if -approach > rest_speed:
                bounce = -wp.max(restitution[mine], restitution[other]) * approach
            rows_out.bounce[row] = bounce
            rows_out.push[row] = 0.0
            rows_out.impulse[row] = 0.0
            rows_out.grip[row] = wp.vec3(0.0, 0.0, 0.0)
            rows_out.rub[row] = wp.vec3(0.0, 0.0, 0.0)
    rows_out.count[k] = found


# On the CPU sums are not atomic: the next two kernels are launched there with a stride of one thread, which walks
# through everything by itself.


@wp.kernel
def count_rows(stride: int, rows: BoxRows, whole_inout: Whole):
    """How many particles push against each body's box."""
    for k in range(wp.tid(), rows.things, stride):
        for j in range(rows.count[k]):
            wp.atomic_add(whole_inout.contacts, rows.other[k * rows.room + j], 1)


@wp.kernel
def push_rows(
    stride: int,
    crowd: Crowd,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    rows_inout: BoxRows,
    whole_inout: Whole,
):
    """One pass over all contacts: each sees a share of the particle's mass and of the other body's, and does to one the
    opposite of what it does to the other."""
    for k in range(wp.tid(), rows_inout.things, stride):
        i = crowd.particle[k]
        count = rows_inout.count[k]
        own_push = wp.vec3(0.0, 0.0, 0.0)
        own_kick = wp.vec3(0.0, 0.0, 0.0)
        for j in range(count):
            row = k * rows_inout.room + j
            b = rows_inout.other[row]
            n = rows_inout.normal[row]
            mu = rows_inout.friction[row]
            easy = float(count) * inv_mass[i] + float(whole_inout.contacts[b]) * whole_inout.lightness[b]
            if easy > 0.0:
                gone = whole_inout.shift[b]
                push = rows_inout.push[row]
                more = wp.max(push + (rows_inout.target[row] - wp.dot(x_next[i] - gone, n)) / easy, 0.0)
                slid = x_next[i] - x[i] - gone - rows_inout.carried[row]
                slid = slid - wp.dot(slid, n) * n
                grip = rows_inout.grip[row]
                held = held_back(grip - slid / easy, mu * more)
                change = (more - push) * n + (held - grip)
                rows_inout.push[row] = more
                rows_inout.grip[row] = held
                gain = wp.vec3(0.0, 0.0, 0.0)
                impulse = rows_inout.impulse[row]
                if more > 0.0 or impulse > 0.0:
                    speed = v_next[i] - whole_inout.v[b]
                    leaving = wp.dot(speed, n)
                    harder = wp.max(impulse + (rows_inout.bounce[row] - leaving) / easy, 0.0)
                    rub = rows_inout.rub[row]
                    rubs = held_back(rub - (speed - leaving * n) / easy, mu * harder)
                    gain = (harder - impulse) * n + (rubs - rub)
                    rows_inout.impulse[row] = harder
                    rows_inout.rub[row] = rubs
                own_push += change
                own_kick += gain
                for a in range(3):
                    wp.atomic_add(whole_inout.sums, b, a, whole(-change[a], whole_inout.scale))
                    wp.atomic_add(whole_inout.sums, b, 3 + a, whole(-gain[a], whole_inout.scale))
        rows_inout.own_push[k] = own_push
        rows_inout.own_kick[k] = own_kick


@wp.func
def sum_of(of: Whole, b: int, first: int) -> wp.vec3:
    """Three sums of whole numbers as they are meant; they are zero after that."""
    out = wp.vec3(0.0, 0.0, 0.0)
    for a in range(3):
        out[a] = float(wp.float64(of.sums[b, first + a]) / of.scale)
        of.sums[b, first + a] = wp.int64(0)
    return out


@wp.kernel
def settle_bodies(start: int, whole_inout: Whole):
    """What a pass did to each body as a whole."""
    b = start + wp.tid()
    d_shift = whole_inout.lightness[b] * sum_of(whole_inout, b, 0)
    d_v = whole_inout.lightness[b] * sum_of(whole_inout, b, 3)
    whole_inout.d_shift[b] = d_shift
    whole_inout.d_v[b] = d_v
    whole_inout.shift[b] = whole_inout.shift[b] + d_shift
    whole_inout.v[b] = whole_inout.v[b] + d_v


@wp.kernel
def move_particles(
    start: int,
    crowd: Crowd,
    inv_mass: wp.array(dtype=float),
    rows: BoxRows,
    of: Whole,
    x_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Move each particle by what its own contacts did, and with its body."""
    k = start + wp.tid()
    i = crowd.particle[k]
    b = crowd.body[k]
    light = inv_mass[i]
    if light > 0.0 and (rows.count[k] > 0 or of.contacts[b] > 0):
        x_inout[i] = x_inout[i] + light * rows.own_push[k] + of.d_shift[b]
        v_inout[i] = v_inout[i] + light * rows.own_kick[k] + of.d_v[b]
