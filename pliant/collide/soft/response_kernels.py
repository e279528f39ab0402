"""What contacts between bodies do to positions and velocities.

All contacts are solved at once, again and again, and each sees only its share of a particle's mass: the mass over the
number of contacts that touch it (Tonge, Benevolenski and Voroshilov 2012, Mass splitting for jitter-free parallel rigid
body simulation). What a contact does to one side it does to the other, so momentum is kept. Sums are taken in whole
numbers, whose order does not matter: results are the same from run to run though threads add in any order.
"""

import warp as wp

from pliant.collide.soft.backing_kernels import ALONE, Backing, keep_out
from pliant.collide.soft.contact_rows import GOES_ON, NEAR_ONLY, Rounds, Rows, Sums, comes_again, finds_again

wp.set_module_options({"enable_backward": False})


@wp.func_native("""
return (wp::int64)((double)value * scale);
""")
def whole(value: float, scale: wp.float64) -> wp.int64:
    """A number in whole multiples of 1 / scale."""
    ...


@wp.func
def held_back(rub: wp.vec3, most: float) -> wp.vec3:
    """What friction does, cut to the most it can."""
    size = wp.length(rub)
    if size > most:
        return rub * (most / size)
    return rub


@wp.func
def rubbed(rub: wp.vec3, friction: wp.vec2, press: float) -> wp.vec3:
    """What friction does against a press: all that is wanted while that holds, and else what sliding gives."""
    if wp.length(rub) <= friction[1] * press:
        return rub
    return held_back(rub, friction[0] * press)


@wp.func
def push_row(
    row: int,
    last: int,
    far: float,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    part: int,
    rows: Rows,
    sums: Sums,
):
    """What a contact does to the positions and velocities of its particles, added to one part of the sums."""
    ids = rows.ids[row]
    weights = rows.weights[row]
    n = rows.normal[row]
    total = float(0.0)
    way = wp.vec3(0.0, 0.0, 0.0)
    moved = wp.vec3(0.0, 0.0, 0.0)
    speed = wp.vec3(0.0, 0.0, 0.0)
    backed = rows.held[row]
    for k in range(4):
        i = ids[k]
        w = weights[k]
        # what a collider stands behind does not give way
        if backed & (1 << k) == 0:
            total += w * w * inv_mass[i] * float(wp.max(sums.contacts[i] % NEAR_ONLY, 1))
        way += w * x_next[i]
        moved += w * (x_next[i] - x[i])
        speed += w * v_next[i]
    if total > 0.0:
        share = 1.0 / total
        mu = rows.friction[row]
        short = rows.target[row] - wp.dot(way, n)
        if last != 0 and short > rows.slack[row]:
            rows.missed[wp.where(short > far, 1, 0)] = 1
        push = rows.push[row]
        more = wp.max(push + share * short, 0.0)
        grip = rows.grip[row]
        slid = moved - wp.dot(moved, n) * n
        held = rubbed(grip - share * slid, mu, more)
        change = (more - push) * n + (held - grip)
        rows.push[row] = more
        rows.grip[row] = held
        impulse = rows.impulse[row]
        rub = rows.rub[row]
        gain = wp.vec3(0.0, 0.0, 0.0)
        if more > 0.0 or impulse > 0.0:
            leaving = wp.dot(speed, n)
            harder = wp.max(impulse + share * (rows.bounce[row] - leaving), 0.0)
            slip = speed - leaving * n
            rubs = rubbed(rub - share * slip, mu, harder)
            gain = (harder - impulse) * n + (rubs - rub)
            rows.impulse[row] = harder
            rows.rub[row] = rubs
        for a in range(3):
            # the first particle gets what the others lose, to the last bit
            pushed = wp.int64(0)
            kicked = wp.int64(0)
            for k in range(1, 4):
                if weights[k] != 0.0:
                    one = whole(weights[k] * change[a], sums.scale)
                    two = whole(weights[k] * gain[a], sums.scale)
                    pushed += one
                    kicked += two
                    if one != wp.int64(0):
                        wp.atomic_add(sums.push, part + ids[k], a, one)
                    if two != wp.int64(0):
                        wp.atomic_add(sums.kick, part + ids[k], a, two)
            if pushed != wp.int64(0):
                wp.atomic_add(sums.push, part + ids[0], a, -pushed)
            if kicked != wp.int64(0):
                wp.atomic_add(sums.kick, part + ids[0], a, -kicked)


@wp.func
def push_run(
    thread: int,
    threads: int,
    last: int,
    far: float,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    rows: Rows,
    sums: Sums,
):
    """What contacts of one kind do, of the run of vertices or edges that a thread takes."""
    first = rows.things // threads * thread
    end = rows.things // threads * (thread + 1)
    if thread + 1 == threads:
        end = rows.things
    for f in range(first, end):
        for j in range(rows.count[f]):
            push_row(f * rows.room + j, last, far, inv_mass, x, x_next, v_next, thread * sums.particles, rows, sums)


@wp.kernel
def push_contacts(
    start: int,
    threads: int,
    is_listed: int,
    last: int,
    far: float,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    vertices_inout: Rows,
    edges_inout: Rows,
    sums_inout: Sums,
):
    """One pass over all contacts; the last one takes note of what is short still, and of what is far too short [m].

    On the CPU there are as many threads as parts of the sums, each of which takes a run of vertices and edges; on CUDA
    many, which stride through those that are listed.
    """
    thread = start + wp.tid()
    if is_listed == 0:
        push_run(thread, threads, last, far, inv_mass, x, x_next, v_next, vertices_inout, sums_inout)
        push_run(thread, threads, last, far, inv_mass, x, x_next, v_next, edges_inout, sums_inout)
        return
    vertices = vertices_inout.actives[0]
    edges = edges_inout.actives[0]
    for a in range(thread, vertices + edges, threads):
        if a < vertices:
            push_row(vertices_inout.active[a], last, far, inv_mass, x, x_next, v_next, 0, vertices_inout, sums_inout)
        else:
            push_row(
                edges_inout.active[a - vertices], last, far, inv_mass, x, x_next, v_next, 0, edges_inout, sums_inout
            )


@wp.kernel
def begin_rounds(rounds_out: Rounds):
    """The first round comes."""
    rounds_out.round[0] = 0
    rounds_out.finds[0] = wp.where(rounds_out.begins[0] != 0, 1, GOES_ON)
    rounds_out.begins[0] = 0
    rounds_out.going[0] = 1
    rounds_out.deep[0] = 0


@wp.func
def taken(sums: wp.array2d(dtype=wp.int64), i: int, factor: wp.float64) -> wp.vec3:
    """A sum of whole numbers as it is meant; it is zero after that."""
    out = wp.vec3(0.0, 0.0, 0.0)
    for a in range(3):
        out[a] = float(factor * wp.float64(sums[i, a]))
        sums[i, a] = wp.int64(0)
    return out


@wp.func
def taken_of_all(sums: wp.array2d(dtype=wp.int64), i: int, of: Sums, factor: wp.float64) -> wp.vec3:
    """The sum of all parts as it is meant; they are zero after that."""
    for part in range(1, of.parts):
        j = part * of.particles + i
        for a in range(3):
            sums[i, a] = sums[i, a] + sums[j, a]
            sums[j, a] = wp.int64(0)
    return taken(sums, i, factor)


@wp.kernel
def move_particles(
    start: int,
    vertex: wp.array(dtype=int),
    inv_mass: wp.array(dtype=float),
    last: int,
    sums_inout: Sums,
    vertices_out: Rows,
    edges_out: Rows,
    rounds_out: Rounds,
    backing_inout: Backing,
    x_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Move each particle by what its contacts did together, as far as colliders let it, and forget that; after the last
    pass of a round also their number and the lists of contacts, unless the next round goes on with them."""
    k = start + wp.tid()
    i = vertex[k]
    ends = last != 0 and not (comes_again(rounds_out) and not finds_again(rounds_out))
    if sums_inout.contacts[i] > 0:
        factor = wp.float64(inv_mass[i]) / sums_inout.scale
        pushed = taken_of_all(sums_inout.push, i, sums_inout, factor)
        kicked = taken_of_all(sums_inout.kick, i, sums_inout, factor)
        x_inout[i] = x_inout[i] + pushed
        v_inout[i] = v_inout[i] + kicked
        if backing_inout.slots > 0:
            if backing_inout.near[i] != ALONE:
                keep_out(i, pushed, kicked, x_inout, v_inout, backing_inout)
        if ends:
            sums_inout.contacts[i] = 0
    if last != 0 and k == 0:
        if ends:
            vertices_out.actives[0] = 0
            edges_out.actives[0] = 0
        rounds_out.going[0] = wp.where(comes_again(rounds_out), 1, 0)
        rounds_out.finds[0] = wp.where(finds_again(rounds_out), 1, 0)
