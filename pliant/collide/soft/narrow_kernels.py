"""Which candidates touch: the nearest points, the normal, and how far they should be kept apart."""

import warp as wp

from pliant.collide.soft.contact_rows import CONTACT, Rows, Sums
from pliant.collide.soft.solid_native import next_entered, touch_solid
from pliant.physics.closest import segments_weights, triangle_weights
from pliant.physics.crossing import NEVER, time_of_edges, time_of_meeting

wp.set_module_options({"enable_backward": False})

SLACK = wp.constant(0.2)
"""Share of the distance kept by which what is further away counts too, since others may push it there."""
ALIKE = wp.constant(0.5)
"""Cosine between normals above which contacts of a vertex with a sheet are one."""
OF_REST = wp.constant(0.8)
"""Share of its distance at rest to which a part is let come near another of the same body."""
INNER = wp.constant(1.0e-3)
"""Edges that are nearest at an end, to within this share of their length, are left to vertices and triangles."""


@wp.struct
class Surfaces:
    """What is known of the bodies: whether any has an inside, and which, their friction and restitution, the search in
    which they were last deep inside of each other, and which search it is now; of their particles how much is kept free
    around them and where they are at rest [m]."""

    solids: int
    kind: wp.array(dtype=int)
    friction: wp.array(dtype=wp.vec2)
    restitution: wp.array(dtype=float)
    entangled: wp.array(dtype=int)
    search: wp.array(dtype=int)
    body: wp.array(dtype=int)
    radius: wp.array(dtype=float)
    rest: wp.array(dtype=wp.vec3)


@wp.struct
class Moves:
    """A step: positions before and after it [m], velocities after it [m/s], its length [s]; `gain` [m] is how far what
    overlaps is pushed apart in it, `watched` [m] how far candidates were looked for, and an approach slower than
    `rest_speed` [m/s] does not bounce. Contacts are those of the last step where `goes_on` says so, see `Rounds`."""

    x: wp.array(dtype=wp.vec3)
    x_next: wp.array(dtype=wp.vec3)
    v_next: wp.array(dtype=wp.vec3)
    gain: float
    watched: float
    rest_speed: float
    goes_on: wp.array(dtype=int)


@wp.struct
class Touch:
    """Two surfaces that are near: weights of the second one's corners, the normal towards the first, the distance
    along it [m], negative where they overlap; `near` is the length of the shortest way [m], `faces` how squarely it
    stands on the surface, `corner` the triangle; `was_inside` tells that they did overlap before the step."""

    found: int
    was_inside: int
    weights: wp.vec3
    normal: wp.vec3
    distance: float
    near: float
    faces: float
    corner: wp.vec3i


@wp.func
def weighted(a: wp.vec3, b: wp.vec3, c: wp.vec3, w: wp.vec3) -> wp.vec3:
    return w[0] * a + w[1] * b + w[2] * c


@wp.func(inline=True)
def write_row(rows: Rows, row: int, ids: wp.vec4i, weights: wp.vec4, touch: Touch, apart: float, of: Surfaces):
    """Write what was found of a contact; `apart` is the distance that is kept [m]. `finish_rows` does the rest."""
    # what a contact did in the last step is of use to the same one only
    f = row // rows.room
    if row - f * rows.room >= rows.before[f] or of.body[rows.contact[row].ids[3]] != of.body[ids[3]]:
        rows.contact[row].push = 0.0
    rows.contact[row].ids = ids
    rows.contact[row].weights = weights
    rows.contact[row].found = touch.normal
    rows.contact[row].apart = apart
    rows.contact[row].depth = apart - touch.distance


_FINISH = (
    CONTACT
    + """
typedef const float* floats;
const int* body = (const int*)(of.body.data);
const int* entangled = (const int*)(of.entangled.data);
const int* kind = (const int*)(of.kind.data);
const int search = ((const int*)(of.search.data))[0];
const bool goes_on = ((const int*)(m.goes_on.data))[0] == 2;
floats before = (floats)(m.x.data), speeds = (floats)(m.v_next.data);
floats bounces = (floats)(of.restitution.data);
auto finish = [&](Contact& c) {
    const int one = body[c.id[0]], two = body[c.id[3]];
    floats n = c.found;
    float length = 0.0f, approach = 0.0f;
    auto gather = [&](int k) {
        const floats x = before + 3 * (size_t)c.id[k], v = speeds + 3 * (size_t)c.id[k];
        length += c.weight[k] * (x[0] * n[0] + x[1] * n[1] + x[2] * n[2]);
        approach += c.weight[k] * (v[0] * n[0] + v[1] * n[1] + v[2] * n[2]);
    };
#if defined(__CUDA_ARCH__)
    const unsigned four = 0xfu << (threadIdx.x & 28);
    gather(threadIdx.x & 3);
    length += __shfl_xor_sync(four, length, 1);
    length += __shfl_xor_sync(four, length, 2);
    approach += __shfl_xor_sync(four, approach, 1);
    approach += __shfl_xor_sync(four, approach, 2);
#else
    for (int k = 0; k < 4; ++k) gather(k);
#endif
    // on its way out there is time; and where others are deep inside, contacts contradict each other
    const bool is_slow = length < 0.0f || entangled[one] == search || entangled[two] == search;
    // a contact that there was in the last step begins with what it did to positions then
    const bool is_same = c.normal[0] * n[0] + c.normal[1] * n[1] + c.normal[2] * n[2] > 0.9f;
    const floats mine = (floats)(of.friction.data) + 2 * one, theirs = (floats)(of.friction.data) + 2 * two;
    const bool is_thin = kind[one] != 0 || kind[two] != 0;
#if defined(__CUDA_ARCH__)
    // all four have read what changes; the first writes it, and the others see that
    __syncwarp(four);
    if ((threadIdx.x & 3) == 0) {
#endif
    // what was too near before the step is let out slowly, what came too near in it is put back
    c.target = wp::min(c.apart, length + m.gain);
    c.slack = is_slow ? 1.0e10f : (is_thin ? 0.85f : 0.6f) * c.apart;
    c.friction[0] = wp::sqrt(mine[0] * theirs[0]);
    c.friction[1] = wp::sqrt(mine[1] * theirs[1]);
    c.bounce = -approach > m.rest_speed ? -wp::max(bounces[one], bounces[two]) * approach : 0.0f;
    c.push = goes_on && is_same && !is_slow ? c.push : 0.0f;
    c.impulse = 0.0f;
    for (int a = 0; a < 3; ++a) {
        c.normal[a] = n[a];
        c.grip[a] = 0.0f;
        c.rub[a] = 0.0f;
    }
    if (c.apart < 0.0f) {
        // far inside: let out without rubbing
        c.friction[0] = c.friction[1] = c.bounce = c.push = 0.0f;
        c.apart = -c.apart;
        c.target = wp::min(c.apart, length + m.gain);
        c.slack = 1.0e10f;
    }
    if (is_thin && c.target + c.depth > 1.3f * c.apart) ((int*)(rows.deep.data))[0] = 1;
#if defined(__CUDA_ARCH__)
    }
    __syncwarp(four);
#endif
};
// count the contact for each of its particles, and add what it begins with
auto begin = [&](const Contact& c) {
    const int more = c.depth > 0.0f ? 1 : (1 << 16);
#if defined(__CUDA_ARCH__)
    const int first_k = threadIdx.x & 3, end_k = first_k + 1;
#else
    const int first_k = 0, end_k = 4;
#endif
    for (int k = first_k; k < end_k; ++k) {
        if (c.weight[k] == 0.0f) continue;
        int* contacts = (int*)(sums.contacts.data) + c.id[k];
#if defined(__CUDA_ARCH__)
        if (atomicAdd(contacts, more) == 0)
            ((int*)(sums.touched.data))[atomicAdd((int*)(sums.touches.data), 1)] = c.id[k];
#else
        __atomic_fetch_add(contacts, more, __ATOMIC_RELAXED);
#endif
        if (!(c.push > 0.0f)) continue;
        for (int a = 0; a < 3; ++a) {
            wp::int64* sum = (wp::int64*)(sums.push.data) + 3 * (size_t)c.id[k] + a;
            const wp::int64 push = (wp::int64)((double)(c.weight[k] * (c.push * c.normal[a])) * sums.scale);
#if defined(__CUDA_ARCH__)
            atomicAdd((unsigned long long*)sum, (unsigned long long)push);
#else
            __atomic_fetch_add(sum, push, __ATOMIC_RELAXED);
#endif
        }
    }
};
auto finish_and_begin = [&](int row) {
    Contact& c = ((Contact*)(rows.contact.data))[row];
    finish(c);
    begin(c);
};
"""
)


@wp.func_native(_FINISH + "finish_and_begin(row);")
def finish_row(row: int, rows: Rows, of: Surfaces, m: Moves, sums: Sums):
    """The same for a single contact, on CUDA by four neighbouring threads."""
    ...


@wp.func_native(
    _FINISH
    + """
const int* count = (const int*)(rows.count.data);
for (int f = first; f < end; ++f)
    for (int j = 0; j < count[f]; ++j) finish_and_begin(f * rows.room + j);
"""
)
def finish_rows(first: int, end: int, rows: Rows, of: Surfaces, m: Moves, sums: Sums):
    """All that follows from what was found of the contacts of a run of vertices or edges.

    Contacts with something thin that want to be pushed by more than 0.3 of what is kept free are deep: what they push
    may meet others. After all passes a contact may be short of what it wants by 0.6 of that, or by 0.85 where something
    thin takes part: `careful` looks after those. One of the last step, with a normal whose cosine with the new one is
    above 0.9, goes on.
    """
    ...


@wp.func
def is_line(u: wp.vec3, v: wp.vec3) -> bool:
    """Whether two sides of a triangle span nothing but rounding: a segment of a rod, or a loose point."""
    n = wp.cross(u, v)
    return wp.dot(n, n) <= 1.0e-10 * wp.dot(u, u) * wp.dot(v, v)


@wp.func(inline=True)
def meet_triangle(i: int, corner: wp.vec3i, farthest: float, one_sided: int, x: wp.array(dtype=wp.vec3)) -> Touch:
    """A vertex and a triangle at positions x, if they are no further apart than so much [m]; `one_sided` ones have an
    inside."""
    touch = Touch()
    touch.found = 0
    p = x[i]
    a = x[corner[0]]
    b = x[corner[1]]
    c = x[corner[2]]
    n = wp.cross(b - a, c - a)
    length = wp.length(n)
    height = float(0.0)
    if not is_line(b - a, c - a):
        n = n / length
        height = wp.dot(n, p - a)
        # the plane is no further than the triangle
        if wp.abs(height) > farthest:
            return touch
    w = triangle_weights(p, a, b, c)
    away = p - weighted(a, b, c, w)
    touch.near = wp.length(away)
    touch.weights = w
    touch.faces = 0.0
    touch.normal = n
    if touch.near > 1.0e-9:
        touch.normal = away / touch.near
        touch.faces = wp.abs(height) / touch.near
    touch.distance = touch.near
    if one_sided != 0 and height < 0.0:
        touch.distance = -touch.near
        touch.normal = -touch.normal
        if touch.near <= 1.0e-9:
            touch.normal = n
    touch.found = wp.where(touch.near < farthest, 1, 0)
    return touch


@wp.func(inline=True)
def pass_triangle(i: int, corner: wp.vec3i, apart: float, from_front: int, m: Moves) -> Touch:
    """A vertex that goes through a triangle within the step: held by where it does, on the side it came from.

    Where `from_front` is set only what comes from the front counts.
    """
    touch = Touch()
    touch.found = 0
    p = m.x[i]
    a = m.x[corner[0]]
    b = m.x[corner[1]]
    c = m.x[corner[2]]
    before = wp.dot(wp.cross(b - a, c - a), p - a)
    dp = m.x_next[i] - p
    da = m.x_next[corner[0]] - a
    db = m.x_next[corner[1]] - b
    dc = m.x_next[corner[2]] - c
    ab = (b + db) - (a + da)
    ac = (c + dc) - (a + da)
    after = wp.dot(wp.cross(ab, ac), p + dp - a - da)
    if before * after >= 0.0 or (from_front != 0 and before < 0.0) or is_line(b - a, c - a) or is_line(ab, ac):
        return touch
    t = time_of_meeting(p, a, b, c, dp, da, db, dc, 0.01 * apart)
    if t >= NEVER:
        return touch
    w = triangle_weights(p + t * dp, a + t * da, b + t * db, c + t * dc)
    n = wp.normalize(wp.cross(ab, ac))
    if before < 0.0:
        n = -n
    touch.found = 1
    touch.weights = w
    touch.normal = n
    touch.distance = wp.dot(n, p + dp - weighted(a + da, b + db, c + dc, w))
    touch.near = wp.abs(touch.distance)
    touch.faces = 1.0
    return touch


@wp.func
def triangle_ids(i: int, corner: wp.vec3i) -> wp.vec4i:
    return wp.vec4i(i, corner[0], corner[1], corner[2])


@wp.func
def triangle_signs(w: wp.vec3) -> wp.vec4:
    return wp.vec4(1.0, -w[0], -w[1], -w[2])


@wp.func(inline=True)
def add_apart(
    k: int, found: int, rows: Rows, ids: wp.vec4i, weights: wp.vec4, touch: Touch, apart: float, of: Surfaces
) -> int:
    """Add a contact with something thin, unless there is a deeper one in about the same direction; how many there are
    now, also where there is no room for it."""
    for j in range(wp.min(found, rows.room)):
        row = k * rows.room + j
        if wp.dot(rows.contact[row].found, touch.normal) > ALIKE:
            if apart - touch.distance > rows.contact[row].depth:
                write_row(rows, row, ids, weights, touch, apart, of)
            return found
    if found < rows.room:
        write_row(rows, k * rows.room + found, ids, weights, touch, apart, of)
    return found + 1


@wp.func(inline=True)
def kept_apart(i: int, corner: wp.vec3i, w: wp.vec3, of: Surfaces, same: int) -> float:
    """What is kept free between a vertex and a triangle [m]: less where they are nearer at rest."""
    out = of.radius[i] + of.radius[corner[0]]
    if same != 0:
        there = weighted(of.rest[corner[0]], of.rest[corner[1]], of.rest[corner[2]], w)
        out = wp.min(out, OF_REST * wp.length(of.rest[i] - there))
    return out


@wp.func(inline=True)
def first_passed(
    i: int,
    first: int,
    end: int,
    candidate: wp.array(dtype=int),
    corners: wp.array(dtype=wp.vec3i),
    apart: float,
    m: Moves,
) -> Touch:
    """The triangle of a run through which a vertex went in first."""
    best = Touch()
    best.found = 0
    j = next_entered(i, first, end, candidate, corners, m.x, m.x_next)
    while j < end:
        corner = corners[candidate[j]]
        touch = pass_triangle(i, corner, apart, 1, m)
        if touch.found != 0 and (best.found == 0 or touch.distance < best.distance):
            best = touch
            best.corner = corner
        j = next_entered(i, j + 1, end, candidate, corners, m.x, m.x_next)
    return best


@wp.func(inline=True)
def meet_solid(
    i: int,
    lane: int,
    lanes: int,
    first: int,
    end: int,
    candidate: wp.array(dtype=int),
    corners: wp.array(dtype=wp.vec3i),
    apart: float,
    m: Moves,
) -> Touch:
    """A vertex and a solid, of which a run of candidates is given; see `touch_solid`. Lanes share the work."""
    told = touch_solid(i, lane, lanes, first, end, candidate, corners, apart, m.watched, m.x, m.x_next)
    if told[0] == 0.0:
        return first_passed(i, first, end, candidate, corners, apart, m)
    touch = Touch()
    touch.found = 1
    touch.was_inside = int(told[1])
    touch.corner = corners[candidate[first + int(told[2])]]
    touch.weights = wp.vec3(told[3], told[4], told[5])
    touch.normal = wp.vec3(told[6], told[7], told[8])
    touch.distance = told[9]
    return touch


@wp.func(inline=True)
def meet_thin(i: int, corner: wp.vec3i, solid: int, same: int, of: Surfaces, m: Moves) -> Touch:
    """A vertex and a triangle of something thin, or of its own solid, which it meets from outside only."""
    apart = of.radius[i] + of.radius[corner[0]]
    touch = pass_triangle(i, corner, apart, solid, m)
    if touch.found == 0:
        touch = meet_triangle(i, corner, (1.0 + SLACK) * apart, 0, m.x_next)
        if touch.found != 0 and solid != 0:
            a = m.x_next[corner[0]]
            n = wp.cross(m.x_next[corner[1]] - a, m.x_next[corner[2]] - a)
            if wp.dot(n, touch.normal) <= 0.0:
                touch.found = 0
    if touch.found != 0 and touch.distance >= (1.0 + SLACK) * kept_apart(i, corner, touch.weights, of, same):
        touch.found = 0
    return touch


@wp.func
def outward(edge: wp.vec3i, out: wp.vec2i, x: wp.array(dtype=wp.vec3)) -> wp.vec3:
    """A direction out of a solid at an edge: away from the corners opposite it; zero for an edge without any."""
    way = wp.vec3(0.0, 0.0, 0.0)
    middle = 0.5 * (x[edge[0]] + x[edge[1]])
    along = wp.normalize(x[edge[1]] - x[edge[0]])
    for k in range(2):
        if out[k] >= 0:
            off = middle - x[out[k]]
            way += wp.normalize(off - wp.dot(off, along) * along)
    return way


@wp.func(inline=True)
def meet_edges(
    one: wp.vec3i, two: wp.vec3i, solid: int, same: int, one_out: wp.vec2i, two_out: wp.vec2i, of: Surfaces, m: Moves
) -> Touch:
    """Two edges that come near each other within their length, or pass through each other.

    Weights are those of the second ends, of the first edge and of the second; the third number is what is kept free.
    """
    touch = Touch()
    touch.found = 0
    a = m.x_next[one[0]]
    b = m.x_next[one[1]]
    c = m.x_next[two[0]]
    d = m.x_next[two[1]]
    apart = of.radius[one[0]] + of.radius[two[0]]
    w = segments_weights(a, b, c, d)
    way = a + w[0] * (b - a) - c - w[1] * (d - c)
    near = wp.length(way)
    inner = w[0] > INNER and w[0] < 1.0 - INNER and w[1] > INNER and w[1] < 1.0 - INNER
    a0 = m.x[one[0]]
    b0 = m.x[one[1]]
    c0 = m.x[two[0]]
    d0 = m.x[two[1]]
    before = wp.dot(wp.cross(b0 - a0, d0 - c0), c0 - a0)
    after = wp.dot(wp.cross(b - a, d - c), c - a)
    if before * after < 0.0:
        t = time_of_edges(a0, b0, c0, d0, a - a0, b - b0, c - c0, d - d0, 0.01 * apart)
        if t < NEVER:
            at = a0 + t * (a - a0)
            bt = b0 + t * (b - b0)
            ct = c0 + t * (c - c0)
            dt = d0 + t * (d - d0)
            w = segments_weights(at, bt, ct, dt)
            n = wp.cross(b - a, d - c)
            size = wp.length(n)
            if size > 1.0e-18:
                n = n / size
                # the sign of the spat is that of c - a along the cross product: the first edge is on the other side
                if before > 0.0:
                    n = -n
                # edges of solids that overlap already are let out
                goes_in = bool(True)
                if solid != 0 and same == 0:
                    goes_in = wp.dot(n, outward(two, two_out, m.x) - outward(one, one_out, m.x)) >= 0.0
                if goes_in:
                    touch.found = 1
                    touch.normal = n
                    touch.distance = wp.dot(n, a + w[0] * (b - a) - c - w[1] * (d - c))
                    touch.weights = wp.vec3(w[0], w[1], apart)
                    return touch
                w = segments_weights(a, b, c, d)
    if same != 0:
        r1 = of.rest[one[0]] + w[0] * (of.rest[one[1]] - of.rest[one[0]])
        r2 = of.rest[two[0]] + w[1] * (of.rest[two[1]] - of.rest[two[0]])
        apart = wp.min(apart, OF_REST * wp.length(r1 - r2))
    if not inner or near > (1.0 + SLACK) * apart or near < 1.0e-9:
        return touch
    touch.normal = way / near
    touch.distance = near
    if solid != 0 and same == 0:
        # which of the two is outside is told by their bodies
        if wp.dot(touch.normal, outward(two, two_out, m.x_next) - outward(one, one_out, m.x_next)) < 0.0:
            touch.normal = -touch.normal
            touch.distance = -near
    touch.weights = wp.vec3(w[0], w[1], apart)
    touch.found = 1
    return touch
