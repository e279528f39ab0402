"""What contacts between bodies do to positions and velocities.

All contacts are solved at once, again and again, and each sees only its share of a particle's mass: the mass over the
number of contacts that touch it (Tonge, Benevolenski and Voroshilov 2012, Mass splitting for jitter-free parallel rigid
body simulation). What a contact does to one side it does to the other, so momentum is kept. Sums are taken in whole
numbers, whose order does not matter: results are the same from run to run though threads add in any order.
"""

import warp as wp

from pliant.collide.soft.backing_kernels import ALONE, Backing, keep_out
from pliant.collide.soft.contact_rows import CONTACT, GOES_ON, Rounds, Rows, Sums, comes_again, finds_again
from pliant.collide.soft.points_native import POINTS

wp.set_module_options({"enable_backward": False})


RESPONSE = """
struct Whole { wp::int64 x, y, z; };
const double scale = sums.scale;
auto put = [](float* p, vec v) {
    p[0] = v.x;
    p[1] = v.y;
    p[2] = v.z;
};
auto whole = [&](vec v, float w) {
    return Whole{(wp::int64)((double)(w * v.x) * scale), (wp::int64)((double)(w * v.y) * scale),
                 (wp::int64)((double)(w * v.z) * scale)};
};
auto add = [](Whole& sum, Whole w) {
#if defined(__CUDA_ARCH__)
    typedef unsigned long long number;
    if (w.x) atomicAdd((number*)&sum.x, (number)w.x);
    if (w.y) atomicAdd((number*)&sum.y, (number)w.y);
    if (w.z) atomicAdd((number*)&sum.z, (number)w.z);
#else
    sum.x += w.x;
    sum.y += w.y;
    sum.z += w.z;
#endif
};
#if defined(__CUDA_ARCH__)
// four neighbouring threads have a contact together, one for each of its particles
const int lane = threadIdx.x & 3;
const unsigned four = 0xfu << (threadIdx.x & 28);
auto of_all = [&](float v) {
    v += __shfl_xor_sync(four, v, 1);
    return v + __shfl_xor_sync(four, v, 2);
};
auto of_all_three = [&](vec v) { return vec{of_all(v.x), of_all(v.y), of_all(v.z)}; };
// what the first particle gets, and the others lose, to the last bit
auto add_all = [&](Whole& sum, vec v, float w) {
    Whole mine = whole(v, lane == 0 ? 0.0f : w);
    auto back = [&](wp::int64 a) {
        a += __shfl_xor_sync(four, a, 1);
        return -(a + __shfl_xor_sync(four, a, 2));
    };
    const Whole other = {back(mine.x), back(mine.y), back(mine.z)};
    if (lane == 0) mine = other;
    add(sum, mine);
};
#endif
// what friction does against a press: all that is wanted while that holds, and else what sliding gives
auto rubbed = [&](vec rub, const float* mu, float press) {
    const float size = wp::sqrt(dot(rub, rub)), most = mu[0] * press;
    return size <= mu[1] * press || size <= most ? rub : rub * (most / size);
};
// what a contact does, all told
struct Done { float push; vec grip; float impulse; vec rub; };
// what it does after a pass: of the ways between its surfaces before and after the step, the speed between them, and
// the share of the masses that it sees
auto answer = [&](const Contact& c, const Done& was, float share, vec before, vec way, vec speed) {
    const vec n = at(c.normal, 0), moved = way - before, slid = moved - n * dot(moved, n);
    const float more = was.push + share * (c.target - dot(way, n));
    Done now = was;
    now.push = more > 0.0f ? more : 0.0f;
    now.grip = rubbed(was.grip - slid * share, c.friction, now.push);
    if (now.push > 0.0f || was.impulse > 0.0f) {
        const float leaving = dot(speed, n), wanted = was.impulse + share * (c.bounce - leaving);
        now.impulse = wanted > 0.0f ? wanted : 0.0f;
        now.rub = rubbed(was.rub - (speed - n * leaving) * share, c.friction, now.impulse);
    }
    return now;
};
auto done_by = [&](const Contact& c) { return Done{c.push, at(c.grip, 0), c.impulse, at(c.rub, 0)}; };
auto keep = [&](Contact& c, const Done& now) {
    c.push = now.push;
    put(c.grip, now.grip);
    c.impulse = now.impulse;
    put(c.rub, now.rub);
};
"""
"""What a contact does, in C++; wants `POINTS`, `CONTACT` and `sums`."""


@wp.func_native(
    POINTS
    + CONTACT
    + RESPONSE
    + """
const float* light = (const float*)(inv_mass.data);
const float* p0 = (const float*)(x.data);
const float* p1 = (const float*)(x_next.data);
const float* v1 = (const float*)(v_next.data);
const int* contacts = (const int*)(sums.contacts.data);
auto pushes = (Whole*)(sums.push.data) + part;
auto kicks = (Whole*)(sums.kick.data) + part;
auto push_row = [&](int row) {
    Contact& c = ((Contact*)(rows.contact.data))[row];
    const vec n = at(c.normal, 0);
    float total = 0.0f;
    vec before = all(0.0f), way = before, speed = before;
    // what a particle has to do with it
    auto gather = [&](int k) {
        const int i = c.id[k], sharing = contacts[i] & 0xffff;
        const float w = c.weight[k];
        // what a collider stands behind does not give way
        const float gives = c.held & (1 << k) ? 0.0f : w * w * light[i];
        total += gives * (sharing > 1 ? (float)sharing : 1.0f);
        way = way + at(p1, i) * w;
        before = before + at(p0, i) * w;
        speed = speed + at(v1, i) * w;
    };
#if defined(__CUDA_ARCH__)
    gather(lane);
    total = of_all(total);
    way = of_all_three(way);
    before = of_all_three(before);
    speed = of_all_three(speed);
#else
    for (int k = 0; k < 4; ++k) gather(k);
#endif
    if (!(total > 0.0f)) return;
    const float short_of = c.target - dot(way, n);
    if (last && short_of > c.slack) ((int*)(rows.missed.data))[short_of > far ? 1 : 0] = 1;
    const Done was = done_by(c), now = answer(c, was, 1.0f / total, before, way, speed);
    const vec change = n * (now.push - was.push) + (now.grip - was.grip);
    const vec gain = n * (now.impulse - was.impulse) + (now.rub - was.rub);
#if defined(__CUDA_ARCH__)
    // all four have read what changes
    __syncwarp(four);
    if (lane == 0) keep(c, now);
    add_all(pushes[c.id[lane]], change, c.weight[lane]);
    add_all(kicks[c.id[lane]], gain, c.weight[lane]);
#else
    keep(c, now);
    // the first particle gets what the others lose, to the last bit
    Whole push_back = {0, 0, 0}, kick_back = {0, 0, 0};
    for (int k = 1; k < 4; ++k) {
        const float w = c.weight[k];
        if (w == 0.0f) continue;
        const Whole a = whole(change, w), b = whole(gain, w);
        push_back = {push_back.x - a.x, push_back.y - a.y, push_back.z - a.z};
        kick_back = {kick_back.x - b.x, kick_back.y - b.y, kick_back.z - b.z};
        add(pushes[c.id[k]], a);
        add(kicks[c.id[k]], b);
    }
    add(pushes[c.id[0]], push_back);
    add(kicks[c.id[0]], kick_back);
#endif
};
#if defined(__CUDA_ARCH__)
push_row(first);
#else
const int* count = (const int*)(rows.count.data);
for (int f = first; f < end; ++f)
    for (int j = 0; j < count[f]; ++j) push_row(f * rows.room + j);
#endif
"""
)
def push_rows(
    first: int,
    end: int,
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
    """What contacts do to the positions and velocities of their particles, added to one part of the sums: on the CPU
    all of a run of vertices or edges, on CUDA the row `first` alone, by four neighbouring threads, one for each of its
    particles."""
    ...


@wp.func(inline=True)
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
    push_rows(first, end, last, far, inv_mass, x, x_next, v_next, thread * sums.particles, rows, sums)


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
    many, which stride through those that are listed, four for each.
    """
    thread = start + wp.tid()
    if is_listed == 0:
        push_run(thread, threads, last, far, inv_mass, x, x_next, v_next, vertices_inout, sums_inout)
        push_run(thread, threads, last, far, inv_mass, x, x_next, v_next, edges_inout, sums_inout)
        return
    vertices = vertices_inout.actives[0]
    edges = edges_inout.actives[0]
    for a in range(thread // 4, vertices + edges, threads // 4):
        if a < vertices:
            row = vertices_inout.active[a]
            push_rows(row, 0, last, far, inv_mass, x, x_next, v_next, 0, vertices_inout, sums_inout)
        else:
            row = edges_inout.active[a - vertices]
            push_rows(row, 0, last, far, inv_mass, x, x_next, v_next, 0, edges_inout, sums_inout)


@wp.kernel
def begin_rounds(rounds_out: Rounds):
    """The first round comes."""
    rounds_out.round[0] = 0
    rounds_out.finds[0] = wp.where(rounds_out.begins[0] != 0, 1, GOES_ON)
    rounds_out.begins[0] = 0
    rounds_out.going[0] = 1


@wp.kernel
def begin_round(rounds_inout: Rounds):
    """Another round comes, in which nothing is missed yet."""
    rounds_inout.round[0] = rounds_inout.round[0] + 1
    rounds_inout.missed[0] = 0
    rounds_inout.missed[1] = 0
    rounds_inout.deep[0] = 0


@wp.func_native("""
wp::int64* mine = (wp::int64*)(sums.data) + 3 * (size_t)i;
const size_t next = 3 * (size_t)of.particles;
for (int part = 1; part < of.parts; ++part) {
    wp::int64* other = mine + part * next;
    for (int a = 0; a < 3; ++a) {
        mine[a] += other[a];
        other[a] = 0;
    }
}
const wp::vec_t<3, float> out((float)(factor * (double)mine[0]), (float)(factor * (double)mine[1]),
                              (float)(factor * (double)mine[2]));
mine[0] = mine[1] = mine[2] = 0;
return out;
""")
def taken_of_all(sums: wp.array2d(dtype=wp.int64), i: int, of: Sums, factor: wp.float64) -> wp.vec3:
    """The sum of all parts as it is meant; they are zero after that."""
    ...


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
