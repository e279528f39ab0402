"""Contacts as the kernels see them: rows of what touches, and what they add up to for each particle."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.struct
class Contact:
    """A contact, in two lines of the cache: the first is read in every pass, the second changes.

    Attributes:
        ids, weights: four particles, and what of their positions makes the way from one surface to the other.
        normal: the direction of that way. target: its least length at the end of the step [m].
        slack: how much it may be short of that after all passes [m].
        friction: coefficients of what slides and of what does not. bounce: speed at which the two should part [m/s].
        push, grip: what was done to positions so far, along the normal and across [kg m].
        impulse, rub: the same for velocities [N s].
        depth: how much the way was short of what is kept free before it was resolved [m].
        apart: what is kept free [m]. found: the normal as it was found; `finish_rows` takes it over.
        held: of which particles a collider takes what the contact does to them: 1 for the first, 2, 4, 8.
    """

    ids: wp.vec4i
    weights: wp.vec4
    normal: wp.vec3
    target: float
    slack: float
    friction: wp.vec2
    bounce: float
    push: float
    grip: wp.vec3
    impulse: float
    rub: wp.vec3
    depth: float
    apart: float
    found: wp.vec3
    held: int
    spare: wp.vec2


CONTACT = """
struct Contact {
    int id[4];
    float weight[4], normal[3], target, slack, friction[2], bounce, push, grip[3], impulse, rub[3], depth, apart;
    float found[3];
    int held;
    float spare[2];
};
"""
"""The same for C++."""


@wp.struct
class Rows:
    """Contacts: `room` rows for each of several vertices or edges, of which the first `count` are in use.

    Attributes:
        contact: the rows.
        deep: set where a contact with something thin is deep. missed: two numbers, of which the first is set where a
            contact was not resolved in all passes, the second where it is far from it.
        active: the rows in use, where they are listed, in any order. actives: how many those are.
        before: how many were in use when contacts were found the last time; the same array as `count` where that is
            not written before its rows are.
    """

    room: int
    things: int
    contact: wp.array(dtype=Contact)
    count: wp.array(dtype=int)
    before: wp.array(dtype=int)
    deep: wp.array(dtype=int)
    missed: wp.array(dtype=int)
    active: wp.array(dtype=int)
    actives: wp.array(dtype=int)


NEAR_ONLY = wp.constant(1 << 16)
"""What a contact counts that does not press when it is found: it takes part, but takes no share of the masses."""


@wp.struct
class Sums:
    """What contacts add up for each particle: their number, those that only are near times `NEAR_ONLY`; what they do to
    its position and velocity, in whole multiples of 1 / scale. On the CPU, where sums are not atomic, there are `parts`
    of them, one after the other for all particles: each thread has its own. On CUDA the particles that have contacts
    are listed, `touched` of which there are `touches`, in any order."""

    contacts: wp.array(dtype=int)
    push: wp.array2d(dtype=wp.int64)
    kick: wp.array2d(dtype=wp.int64)
    scale: wp.float64
    particles: int
    parts: int
    touched: wp.array(dtype=int)
    touches: wp.array(dtype=int)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
atomicAdd((int*)(counts.data) + i, more);
#else
__atomic_fetch_add((int*)(counts.data) + i, more, __ATOMIC_RELAXED);
#endif
""")
def add_count(counts: wp.array(dtype=int), i: int, more: int):
    """Count so many more. Warp's own atomics are none on the CPU; these are."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
atomicMin((int*)(values.data) + i, value);
#else
int* place = (int*)(values.data) + i;
int old = __atomic_load_n(place, __ATOMIC_RELAXED);
while (value < old && !__atomic_compare_exchange_n(place, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
#endif
""")
def take_least(values: wp.array(dtype=int), i: int, value: int):
    """Put the smaller of two numbers where one is, on any device."""
    ...


@wp.func_native("""
const wp::int64 more = (wp::int64)((double)value * scale);
#if defined(__CUDA_ARCH__)
atomicAdd((unsigned long long*)(sums.data) + 3 * (size_t)i + axis, (unsigned long long)more);
#else
__atomic_fetch_add((wp::int64*)(sums.data) + 3 * (size_t)i + axis, more, __ATOMIC_RELAXED);
#endif
""")
def add_whole(sums: wp.array2d(dtype=wp.int64), i: int, axis: int, value: float, scale: wp.float64):
    """Add a number in whole multiples of 1 / scale, on any device."""
    ...


@wp.func_native("""
return (wp::int64)((double)value * scale);
""")
def whole(value: float, scale: wp.float64) -> wp.int64:
    """A number in whole multiples of 1 / scale."""
    ...


@wp.func
def taken(sums: wp.array2d(dtype=wp.int64), i: int, factor: wp.float64) -> wp.vec3:
    """A sum of whole numbers as it is meant; it is zero after that."""
    out = wp.vec3(0.0, 0.0, 0.0)
    for a in range(3):
        out[a] = float(factor * wp.float64(sums[i, a]))
        sums[i, a] = wp.int64(0)
    return out


@wp.func
def held_back(rub: wp.vec3, most: float) -> wp.vec3:
    """What friction does, cut to the most it can."""
    size = wp.length(rub)
    if size > most:
        return rub * (most / size)
    return rub


@wp.func(inline=True)
def list_rows(f: int, found: int, is_listed: int, rows: Rows, full: wp.array(dtype=int)):
    """Take note of how many contacts a vertex or edge has, and list them, where there are lists; `full` is set where
    they do not fit."""
    count = wp.min(found, rows.room)
    rows.count[f] = count
    if found > rows.room:
        full[0] = 1
    if is_listed != 0 and count > 0:
        place = wp.atomic_add(rows.actives, 0, count)
        for j in range(count):
            rows.active[place + j] = f * rows.room + j


GOES_ON = wp.constant(2)


@wp.struct
class Rounds:
    """Rounds of passes over all contacts, `most` of them.

    Attributes:
        deep, missed: see `Rows`.
        round: which one it is.
        finds: whether contacts are found anew in it; `GOES_ON` where they go on from those of the last step.
        begins: set before a frame's first step, which does not go on from the last one: a frame that is done again, or
            after a checkpoint, is to be the same.
        going: whether another one comes.
    """

    most: int
    deep: wp.array(dtype=int)
    missed: wp.array(dtype=int)
    round: wp.array(dtype=int)
    finds: wp.array(dtype=int)
    begins: wp.array(dtype=int)
    going: wp.array(dtype=int)


@wp.func
def comes_again(rounds: Rounds) -> bool:
    """Whether another round comes: while some contacts are not resolved."""
    more = rounds.round[0] < rounds.most
    is_missed = rounds.missed[0] != 0 or rounds.missed[1] != 0
    return more and is_missed


@wp.func
def finds_again(rounds: Rounds) -> bool:
    """Whether contacts are found anew in the next round: what is moved far meets others, and otherwise."""
    return rounds.missed[1] != 0 or rounds.deep[0] != 0


@wp.struct
class Meeting:
    """Where blocks of threads wait for each other, and what they tell each other.

    Attributes:
        arrived: how many times one has arrived; zero at the start.
        missed: two numbers for each round, as `missed` of `Rounds`; zero at the start.
    """

    arrived: wp.array(dtype=int)
    missed: wp.array(dtype=int)


@wp.func(inline=True)
def clear_meeting(thread: int, meeting: Meeting):
    """Make all zero, with many threads."""
    if thread == 0:
        meeting.arrived[0] = 0
    if thread < meeting.missed.shape[0]:
        meeting.missed[thread] = 0
