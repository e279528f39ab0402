"""All passes of a round over all contacts, and all rounds that go on with them, in one launch on CUDA.

There are few contacts beside the threads of a GPU, and a pass takes about as long as a launch. Here blocks of threads
wait for each other instead, as many as there are contacts for, once in each pass. A contact adds all that it has done
so far to a sum of the next pass; so nothing is moved before the end, and what a contact has to know of its particles
stays where it is computed, but for these sums.

All blocks that wait must run at once. They do while no other kernel of this kind runs beside this one: what is launched
in one stream, as Warp does unless it is told otherwise, runs one after the other, and processes take turns.
"""

import warp as wp

from pliant.collide.soft.contact_rows import CONTACT, Meeting, Rounds, Rows, Sums
from pliant.collide.soft.narrow_kernels import Moves, Surfaces, finish_row
from pliant.collide.soft.points_native import POINTS
from pliant.collide.soft.response_kernels import RESPONSE

wp.set_module_options({"enable_backward": False})

BLOCK = wp.constant(256)
"""Threads of a block."""
BLOCKS = 2
"""Blocks that run on a multiprocessor at once."""
PARTS = 3
"""Sums that take turns: one that is read in a pass, one that is added to, and one that becomes zero."""


@wp.func(inline=True)
def finish_listed(a: int, vertices: int, of: Surfaces, m: Moves, vertex_rows: Rows, edge_rows: Rows, sums: Sums):
    """Finish a row of the lists of vertices, and behind them of edges; by four threads."""
    if a < vertices:
        finish_row(vertex_rows.active[a], vertex_rows, of, m, sums)
    else:
        finish_row(edge_rows.active[a - vertices], edge_rows, of, m, sums)


@wp.kernel
def finish_contacts(
    start: int,
    threads: int,
    of: Surfaces,
    m: Moves,
    rounds: Rounds,
    vertices_inout: Rows,
    edges_inout: Rows,
    sums_inout: Sums,
    hots_out: wp.array(dtype=int),
):
    """All that follows from what was found of contacts, if they were found anew."""
    thread = start + wp.tid()
    if thread == 0:
        hots_out[0] = 0
    if rounds.finds[0] == 0:
        return
    vertices = vertices_inout.actives[0]
    for a in range(thread // 4, vertices + edges_inout.actives[0], threads // 4):
        finish_listed(a, vertices, of, m, vertices_inout, edges_inout, sums_inout)


@wp.func_native(
    POINTS
    + CONTACT
    + RESPONSE
    + """
#if defined(__CUDA_ARCH__)
typedef const float* floats;
floats light = (floats)(inv_mass.data), p0 = (floats)(m.x.data);
float* p1 = (float*)(x_inout.data);
float* v1 = (float*)(v_inout.data);
int* contacts = (int*)(sums.contacts.data);
const int* touched = (const int*)(sums.touched.data);
const int vertices = ((const int*)(vertex_rows.actives.data))[0];
const int total = vertices + ((const int*)(edge_rows.actives.data))[0];
const int first = thread >> 2, stride = threads >> 2;
unsigned phase = 0;
// what others wrote before is seen after this
auto wait = [&]() {
    __syncthreads();
    if (threadIdx.x == 0 && blocks > 1) {
        phase += blocks;
        unsigned now;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(meeting.arrived.data) : "memory");
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(meeting.arrived.data) : "memory");
        } while (now < phase);
    }
    __syncthreads();
};
auto pushes = [&](int part, int i) { return (Whole*)(sums.push.data) + ((size_t)part * sums.particles + i); };
auto kicks = [&](int part, int i) { return (Whole*)(sums.kick.data) + ((size_t)part * sums.particles + i); };
auto meant = [](const Whole* sum, double factor) {
    const long long* s = (const long long*)sum;
    return vec{(float)(factor * (double)__ldcg(s)), (float)(factor * (double)__ldcg(s + 1)),
               (float)(factor * (double)__ldcg(s + 2))};
};
// a contact, and what a lane knows of its particle
struct Mine {
    Contact* c;
    int i;
    float weight, share;
    double factor;
    vec here, fast, before;
    Done done;
};
auto take = [&](int a) {
    Mine o;
    o.c = a < vertices ? (Contact*)(vertex_rows.contact.data) + ((const int*)(vertex_rows.active.data))[a]
                       : (Contact*)(edge_rows.contact.data) + ((const int*)(edge_rows.active.data))[a - vertices];
    o.i = o.c->id[lane];
    o.weight = o.c->weight[lane];
    const int sharing = __ldcg(contacts + o.i) & 0xffff;
    const float own = light[o.i];
    const float gives = of_all(o.weight * o.weight * own * (sharing > 1 ? (float)sharing : 1.0f));
    o.share = gives > 0.0f ? 1.0f / gives : 0.0f;
    o.factor = (double)own / scale;
    o.here = at(p1, o.i);
    o.fast = at(v1, o.i);
    o.before = of_all_three(at(p0, o.i) * o.weight);
    o.done = done_by(*o.c);
    return o;
};
int passed = 0, round = 0;
auto pass = [&](Mine& o, bool last) {
    if (o.share == 0.0f) return;
    const int from = (passed - 1) % 3, to = passed % 3;
    const Contact& c = *o.c;
    const vec way = of_all_three((o.here + meant(pushes(from, o.i), o.factor)) * o.weight);
    const vec speed = of_all_three((o.fast + meant(kicks(from, o.i), o.factor)) * o.weight);
    const vec n = at(c.normal, 0);
    const float short_of = c.target - dot(way, n);
    if (last && short_of > c.slack) ((int*)(meeting.missed.data))[2 * round + (short_of > far ? 1 : 0)] = 1;
    o.done = answer(c, o.done, o.share, o.before, way, speed);
    add_all(*pushes(to, o.i), n * o.done.push + o.done.grip, o.weight);
    add_all(*kicks(to, o.i), n * o.done.impulse + o.done.rub, o.weight);
};
auto give_back = [&](Mine& o) {
    __syncwarp(four);
    if (lane == 0) keep(*o.c, o.done);
    __syncwarp(four);
};
auto clear = [&](int part, int i) {
    *pushes(part, i) = Whole{0, 0, 0};
    *kicks(part, i) = Whole{0, 0, 0};
};
wait();
const int touches = __ldcg((const int*)(sums.touches.data));
const int found_in = ((const int*)(rounds.round.data))[0];
const bool is_deep = __ldcg((const int*)(rounds.deep.data)) != 0;
const bool has_one = first < total;
// mostly four threads have one contact, and know all of it from here on
Mine mine;
if (has_one) mine = take(first);
bool finds = false, goes_on = true;
while (goes_on) {
    ++passed;
    const bool last = passed % passes == 0;
    if (has_one) pass(mine, last);
    for (int a = first + stride; a < total; a += stride) {
        Mine other = take(a);
        pass(other, last);
        give_back(other);
    }
    // the next pass adds to what the last one has read
    if (passed > 1)
        for (int t = thread; t < touches; t += threads) clear((passed + 1) % 3, __ldcg(touched + t));
    wait();
    if (!last) continue;
    const int* missed = (const int*)(meeting.missed.data) + 2 * round;
    const bool is_far = __ldcg(missed + 1) != 0, is_missed = is_far || __ldcg(missed) != 0;
    goes_on = is_missed && found_in + round < rounds.most;
    finds = is_far || is_deep;
    if (thread == 0) {
        ((int*)(rounds.going.data))[0] = goes_on ? 1 : 0;
        ((int*)(rounds.finds.data))[0] = finds ? 1 : 0;
    }
    goes_on = goes_on && !finds;
    if (goes_on) ++round;
}
if (has_one) give_back(mine);
for (int t = thread; t < touches; t += threads) {
    const int i = __ldcg(touched + t);
    const double factor = (double)light[i] / scale;
    const vec moved = at(p1, i) + meant(pushes(passed % 3, i), factor);
    const vec kicked = at(v1, i) + meant(kicks(passed % 3, i), factor);
    put(p1 + 3 * (size_t)i, moved);
    put(v1 + 3 * (size_t)i, kicked);
    clear(passed % 3, i);
    clear((passed + 2) % 3, i);
    contacts[i] = 0;
}
if (thread == 0) ((int*)(rounds.round.data))[0] = found_in + round;
#endif
"""
)
def pass_over(
    thread: int,
    blocks: int,
    threads: int,
    passes: int,
    far: float,
    inv_mass: wp.array(dtype=float),
    m: Moves,
    vertex_rows: Rows,
    edge_rows: Rows,
    rounds: Rounds,
    sums: Sums,
    meeting: Meeting,
    x_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Rounds of passes over the contacts that are listed, by all threads of so many blocks, and what that does to
    positions and velocities."""
    ...


@wp.kernel(launch_bounds=(256, BLOCKS))
def resolve_rounds(
    start: int,
    most_blocks: int,
    passes: int,
    far: float,
    inv_mass: wp.array(dtype=float),
    of: Surfaces,
    m: Moves,
    vertices_inout: Rows,
    edges_inout: Rows,
    rounds_inout: Rounds,
    sums_inout: Sums,
    meeting_inout: Meeting,
    hots_out: wp.array(dtype=int),
    x_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Resolve the contacts that were found: rounds of passes until none is short of what it wants, or one is so far
    from it that contacts are to be found anew."""
    thread = start + wp.tid()
    vertices = vertices_inout.actives[0]
    total = vertices + edges_inout.actives[0]
    # a block for as many contacts as it has fours of threads
    blocks = wp.clamp((4 * total + BLOCK - 1) // BLOCK, 1, most_blocks)
    if thread // BLOCK >= blocks:
        return
    threads = blocks * BLOCK
    for a in range(thread // 4, total, threads // 4):
        finish_listed(a, vertices, of, m, vertices_inout, edges_inout, sums_inout)
    pass_over(
        thread,
        blocks,
        threads,
        passes,
        far,
        inv_mass,
        m,
        vertices_inout,
        edges_inout,
        rounds_inout,
        sums_inout,
        meeting_inout,
        x_inout,
        v_inout,
    )
    # all blocks that have work have read these before they met the first time
    if thread == 0:
        vertices_inout.actives[0] = 0
        edges_inout.actives[0] = 0
        hots_out[0] = 0
