"""Contacts between bodies as terms of the implicit step: stiff springs between the particles that meet.

A contact presses with the impulse s (wanted - u.n) along its normal n, where u is the velocity of one surface to the
other at the end of the step and s a stiffness times dt^2 [kg]. Which of them press is found in turns; those that would
have to pull let go. Across it takes a part of the slip: with s where it grips, and else with so much less that this is
what friction allows at the slip that was found last. So friction never adds energy, and it is right when the slip does
not change any more; contacts begin with how their particles gripped in the step before. A particle of another method
that takes part moves by its own mass alone: its way is eliminated, which makes the spring softer.

The contacts of a particle are a list, sorted by their numbers, so that sums have a fixed order.
"""

import warp as wp

from pliant.collide.soft.contact_rows import NEAR_ONLY, Rows, Sums
from pliant.collide.soft.narrow_kernels import Surfaces
from pliant.physics.contact import SLOW
from pliant.solvers.fem.cpu_kernels import RUN
from pliant.solvers.fem.hold_kernels import Holds, filtered

wp.set_module_options({"enable_backward": False})

NONE = wp.constant(0)
APART = wp.constant(1)
"""A contact that does not press."""
PRESSES = wp.constant(2)

NEARLY = wp.constant(0.1)
"""Share of what is kept free by which a contact may be open that is taken as one that presses at first."""


@wp.struct
class Spring:
    """What every product with the matrix reads of a contact.

    Attributes:
        ids, weights: four particles, and what of their velocities makes u.
        normal: from the second surface to the first.
        along, across: stiffnesses times dt^2 [kg]; zero where it does not press.
    """

    ids: wp.vec4i
    weights: wp.vec4
    normal: wp.vec3
    along: float
    across: float


@wp.struct
class Pair:
    """What else there is of a contact.

    Attributes:
        how: `NONE`, `APART` or `PRESSES`.
        stiff: s [kg]. grip: the same across, where it is s or less. slid: slip at the start of the step [m/s].
        wanted: least speed along the normal [m/s]. hair: a speed that hardly makes a difference [m/s].
        friction: kinetic and static coefficient.
        beside: what particles of other methods add to u without the contact [m/s].
        push: the impulse on the first surface [N s].
        depth: how much nearer than is kept free [m].
    """

    how: int
    stiff: float
    grip: float
    slid: float
    wanted: float
    friction: wp.vec2
    beside: wp.vec3
    push: wp.vec3
    depth: float
    hair: float


@wp.struct
class PairTable:
    """All contacts of a step, and of each particle: the first entry of its list, 4 contact + place among the four; -1
    for none. After each entry the next one. `ease` is
    how each particle gripped in the last step, over the most that it can. Own particles are `count` from `first` on."""

    pairs: wp.array(dtype=Pair)
    springs: wp.array(dtype=Spring)
    head: wp.array(dtype=int)
    next: wp.array(dtype=int)
    ease: wp.array(dtype=float)
    first: int
    count: int


@wp.func
def is_own(table: PairTable, i: int) -> bool:
    """Whether a particle is one of this method."""
    return i >= table.first and i < table.first + table.count


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return atomicExch((int*)(values.data) + i, value);
#else
return __atomic_exchange_n((int*)(values.data) + i, value, __ATOMIC_RELAXED);
#endif
""")
def put_in(values: wp.array(dtype=int), i: int, value: int) -> int:
    """Put a number where another one is, which is returned, on any device."""
    ...


@wp.kernel
def begin_lists(start: int, head_out: wp.array(dtype=int)):
    """No particle has contacts."""
    head_out[start + wp.tid()] = -1


@wp.kernel
def take_contacts(
    start: int,
    offset: int,
    inverse: wp.array(dtype=wp.mat33),
    sums: Sums,
    inv_mass: wp.array(dtype=float),
    light: wp.array(dtype=float),
    of: Surfaces,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    v_free: wp.array(dtype=wp.vec3),
    dt: float,
    stiffness: float,
    rest_speed: float,
    rows: Rows,
    table: PairTable,
):
    """The contacts of a vertex or an edge that act in the equations.

    The stiffness is so many times that with which the blocks of the particles resist, each shared by its contacts.
    Particles of other methods have the velocities `v_free` without contacts. A contact bounces if the surfaces came
    faster than `rest_speed`, and would table in the step.
    """
    f = start + wp.tid()
    for j in range(rows.room):
        row = f * rows.room + j
        p = offset + row
        how = int(NONE)
        if j < rows.count[f]:
            ids = rows.contact[row].ids
            weights = rows.contact[row].weights
            n = rows.contact[row].normal
            gives = float(0.0)
            others = float(0.0)
            length = float(0.0)
            start_speed = wp.vec3(0.0, 0.0, 0.0)
            beside = wp.vec3(0.0, 0.0, 0.0)
            for k in range(4):
                w = weights[k]
                i = ids[k]
                if w != 0.0:
                    counted = sums.contacts[i]
                    many = float(counted % NEAR_ONLY + counted // NEAR_ONLY)
                    length += w * wp.dot(n, x[i])
                    start_speed += w * v[i]
                    if is_own(table, i):
                        if inv_mass[i] > 0.0:
                            gives += w * w * many * wp.dot(n, inverse[i] * n)
                    else:
                        others += w * w * many * light[i]
                        beside += w * v_free[i]
            came = wp.dot(n, start_speed)
            if gives > 0.0:
                stiff = stiffness / gives
                stiff = stiff / (1.0 + stiff * others)
                wanted = (rows.contact[row].target - length) / dt
                if came < wanted and came < -rest_speed:
                    one = of.body[ids[0]]
                    two = of.body[ids[3]]
                    bounce = wp.max(of.restitution[one], of.restitution[two])
                    # what does not bounce may come as near as it can
                    if bounce > 0.0:
                        wanted = wp.max(wanted, -bounce * came)
                mu = rows.contact[row].friction
                # what overlaps is let out without rubbing
                if length < 0.0:
                    mu = wp.vec2(0.0, 0.0)
                how = APART
                table.springs[p].ids = ids
                table.springs[p].weights = weights
                table.springs[p].normal = n
                table.springs[p].along = 0.0
                table.springs[p].across = 0.0
                table.pairs[p].stiff = stiff
                table.pairs[p].wanted = wanted
                table.pairs[p].friction = mu
                table.pairs[p].beside = beside
                table.pairs[p].push = wp.vec3(0.0, 0.0, 0.0)
                table.pairs[p].slid = wp.length(start_speed - came * n)
                ease = table.ease[ids[0]]
                if weights[1] > 0.0:
                    ease = wp.min(ease, table.ease[ids[1]])
                table.pairs[p].grip = wp.where(mu[1] > 0.0, ease * stiff, 0.0)
                table.pairs[p].depth = rows.contact[row].depth
                table.pairs[p].hair = NEARLY * rows.contact[row].apart / dt
                # the passes over contacts begin with nothing
                rows.contact[row].push = 0.0
                for k in range(4):
                    if weights[k] != 0.0:
                        entry = 4 * p + k
                        table.next[entry] = put_in(table.head, ids[k], entry)
        table.pairs[p].how = how


@wp.kernel
def sort_lists(start: int, table: PairTable):
    """Sort the contacts of each particle by number."""
    i = start + wp.tid()
    entry = table.head[i]
    sorted = int(-1)
    while entry >= 0:
        after = table.next[entry]
        if sorted < 0 or entry < sorted:
            table.next[entry] = sorted
            sorted = entry
        else:
            at = int(sorted)
            while table.next[at] >= 0 and table.next[at] < entry:
                at = table.next[at]
            table.next[entry] = table.next[at]
            table.next[at] = entry
        entry = after
    table.head[i] = sorted


@wp.func(inline=True)
def relative(p: int, table: PairTable, v: wp.array(dtype=wp.vec3), gain: wp.array(dtype=wp.vec3)) -> wp.vec3:
    """Velocity of the first surface to the second, if particles of other methods went on as they do."""
    u = table.pairs[p].beside
    weights = table.springs[p].weights
    ids = table.springs[p].ids
    for k in range(4):
        if weights[k] != 0.0 and is_own(table, ids[k]):
            u += weights[k] * (v[ids[k]] + gain[ids[k]])
    return u


@wp.func
def gripping(stiff: float, along: float, speed: float, friction: wp.vec2) -> float:
    """How a contact grips that presses with an impulse and slips with a speed: as it can, within its friction."""
    press = wp.max(along, 0.0)
    if stiff * speed <= friction[1] * press:
        return stiff
    most = friction[0]
    if speed <= SLOW:
        most = friction[1]
    return wp.min(stiff, most * press / speed)


@wp.kernel
def press(
    start: int,
    v: wp.array(dtype=wp.vec3),
    gain: wp.array(dtype=wp.vec3),
    is_new: int,
    is_guess: int,
    is_last: int,
    table: PairTable,
):
    """Which contacts press, how they grip, and their impulses for the present gain of velocity.

    New ones grip as their particles did in the last step, until a solve has shown how hard they press. Where the gain
    is guessed only, what nearly touches is to press.
    """
    p = start + wp.tid()
    how = table.pairs[p].how
    if how == NONE:
        return
    n = table.springs[p].normal
    stiff = table.pairs[p].stiff
    u = relative(p, table, v, gain)
    leaving = wp.dot(u, n)
    along = stiff * (table.pairs[p].wanted - leaving)
    least = float(0.0)
    if is_guess != 0:
        least = -stiff * table.pairs[p].hair
    # contacts may take turns: the last solve adds none
    if along <= least or (is_last != 0 and how == APART):
        table.pairs[p].how = APART
        table.pairs[p].push = wp.vec3(0.0, 0.0, 0.0)
        table.springs[p].along = 0.0
        table.springs[p].across = 0.0
        return
    slip = u - leaving * n
    if is_new == 0 and how == PRESSES:
        table.pairs[p].grip = gripping(stiff, along, wp.length(slip), table.pairs[p].friction)
    else:
        before = gripping(stiff, along, table.pairs[p].slid, table.pairs[p].friction)
        table.pairs[p].grip = wp.min(table.pairs[p].grip, before)
    table.pairs[p].how = PRESSES
    table.pairs[p].push = along * n - table.pairs[p].grip * slip
    table.springs[p].along = stiff
    table.springs[p].across = table.pairs[p].grip


@wp.kernel
def finish_pairs(start: int, v: wp.array(dtype=wp.vec3), gain: wp.array(dtype=wp.vec3), table: PairTable):
    """The impulses at the end, as they were solved for, and how contacts would grip next."""
    p = start + wp.tid()
    if table.pairs[p].how != PRESSES:
        return
    n = table.springs[p].normal
    stiff = table.pairs[p].stiff
    u = relative(p, table, v, gain)
    leaving = wp.dot(u, n)
    along = stiff * (table.pairs[p].wanted - leaving)
    slip = u - leaving * n
    table.pairs[p].push = along * n - table.pairs[p].grip * slip
    table.pairs[p].grip = gripping(stiff, along, wp.length(slip), table.pairs[p].friction)


@wp.kernel
def note_ease(start: int, table: PairTable):
    """How the contacts of each particle grip, for the next step: the loosest of those in which it is first."""
    i = start + wp.tid()
    entry = table.head[i]
    ease = float(1.0)
    while entry >= 0:
        p = entry >> 2
        if table.pairs[p].how == PRESSES and table.springs[p].weights[entry & 3] > 0.0:
            ease = wp.min(ease, table.pairs[p].grip / table.pairs[p].stiff)
        entry = table.next[entry]
    table.ease[i] = ease


@wp.kernel
def load_rows(
    start: int,
    table: PairTable,
    diagonal: wp.array(dtype=wp.mat33),
    inverse: wp.array(dtype=wp.mat33),
    inv_mass: wp.array(dtype=float),
    holds: Holds,
    inverse_out: wp.array(dtype=wp.mat33),
    r_inout: wp.array(dtype=wp.vec3),
    free_inout: wp.array(dtype=wp.vec3),
    z_inout: wp.array(dtype=wp.vec3),
    size_inout: wp.array(dtype=wp.vec2),
):
    """The residual with what contacts do, and the inverse of the blocks with their springs."""
    i = start + wp.tid()
    entry = table.head[i]
    # what does not move may have no matrix
    if entry < 0 or inv_mass[i] == 0.0:
        inverse_out[i] = inverse[i]
        return
    r = r_inout[i]
    d = diagonal[i]
    while entry >= 0:
        p = entry >> 2
        w = table.springs[p].weights[entry & 3]
        if table.pairs[p].how == PRESSES:
            n = table.springs[p].normal
            across = w * w * table.springs[p].across
            d = d + (w * w * table.springs[p].along - across) * wp.outer(n, n)
            d = d + across * wp.identity(n=3, dtype=float)
            r += w * table.pairs[p].push
        entry = table.next[entry]
    inv = wp.inverse(d)
    free = filtered(r, inv_mass[i], holds.how[i], holds.normal[i])
    z = filtered(inv * free, inv_mass[i], holds.how[i], holds.normal[i])
    inverse_out[i] = inv
    r_inout[i] = r
    free_inout[i] = free
    z_inout[i] = z
    size_inout[i] = wp.vec2(wp.dot(free, z), size_inout[i][1])


@wp.kernel
def add_measures(start: int, table: PairTable, own_inout: wp.array(dtype=float)):
    """What contacts add to the diagonals of the lattices' nodes."""
    i = start + wp.tid()
    entry = table.head[i]
    total = float(0.0)
    while entry >= 0:
        p = entry >> 2
        w = wp.abs(table.springs[p].weights[entry & 3])
        total += w * (table.springs[p].along + 2.0 * table.springs[p].across) / 3.0
        entry = table.next[entry]
    own_inout[i] = own_inout[i] + total


@wp.func(inline=True)
def product_of(i: int, table: PairTable, z: wp.array(dtype=wp.vec3)) -> wp.vec3:
    """What the contacts of a particle make of z."""
    entry = table.head[i]
    total = wp.vec3(0.0, 0.0, 0.0)
    while entry >= 0:
        spring = table.springs[entry >> 2]
        if spring.along > 0.0:
            u = wp.vec3(0.0, 0.0, 0.0)
            for k in range(4):
                j = spring.ids[k]
                if is_own(table, j):
                    u += spring.weights[k] * z[j]
            along = wp.dot(spring.normal, u)
            pressed = (spring.along - spring.across) * along * spring.normal + spring.across * u
            total += spring.weights[entry & 3] * pressed
        entry = table.next[entry]
    return total


@wp.kernel
def add_products(start: int, table: PairTable, z: wp.array(dtype=wp.vec3), w_inout: wp.array(dtype=wp.vec3)):
    """Add what contacts do to the product with the matrix."""
    i = start + wp.tid()
    if table.head[i] >= 0:
        w_inout[i] = w_inout[i] + product_of(i, table, z)


@wp.kernel
def add_product_runs(
    start: int,
    table: PairTable,
    z: wp.array(dtype=wp.vec3),
    w_inout: wp.array(dtype=wp.vec3),
    parts_inout: wp.array(dtype=wp.vec3d),
):
    """The same run by run on the CPU, with its part of w.z."""
    c = start + wp.tid()
    extra = wp.float64(0.0)
    for i in range(table.first + c * RUN, table.first + wp.min(table.count, (c + 1) * RUN)):
        if table.head[i] >= 0:
            more = product_of(i, table, z)
            w_inout[i] = w_inout[i] + more
            extra += wp.float64(wp.dot(more, z[i]))
    parts = parts_inout[c]
    parts_inout[c] = wp.vec3d(parts[0], parts[1] + extra, parts[2])


@wp.kernel
def push_others(
    start: int,
    table: PairTable,
    light: wp.array(dtype=float),
    x_free: wp.array(dtype=wp.vec3),
    v_free: wp.array(dtype=wp.vec3),
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Where particles of other methods go, and would go without contacts."""
    i = start + wp.tid()
    if is_own(table, i):
        return
    entry = table.head[i]
    push = wp.vec3(0.0, 0.0, 0.0)
    while entry >= 0:
        p = entry >> 2
        push += table.springs[p].weights[entry & 3] * table.pairs[p].push
        entry = table.next[entry]
    kick = light[i] * push
    v_out[i] = v_free[i] + kick
    x_out[i] = x_free[i] + dt * kick


@wp.kernel
def show_ahead(
    start: int,
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    gain: wp.array(dtype=wp.vec3),
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    """Where particles go so far."""
    i = start + wp.tid()
    u = v[i] + gain[i]
    x_out[i] = x[i] + (carry[i] + dt * u)
    v_out[i] = u
