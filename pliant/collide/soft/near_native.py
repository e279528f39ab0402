"""The hot loops of detection in C++: walks through trees, and the quick first look at candidates.

What they compute is plain; generated code spends several times as long on handing tables around, and on the CPU one
vector register holds a whole point.
"""

import warp as wp

from pliant.collide.soft.points_native import POINTS
from pliant.collide.soft.tree_kernels import Course, TreeData

_TREE = """
const float* nodes = (const float*)(tree.nodes.data);
const float* boxes = (const float*)(tree.boxes.data);
const int* corners = (const int*)(tree.corners.data);
struct Record { vec low, high; int skip, leaf; };
auto read = [](const float* table, int i) {
    Record r;
#if defined(__CUDA_ARCH__)
    const float4* four = (const float4*)table + 2 * (size_t)i;
    const float4 a = four[0], b = four[1];
    r.low = vec{a.x, a.y, a.z};
    r.high = vec{b.x, b.y, b.z};
    r.skip = __float_as_int(a.w);
    r.leaf = __float_as_int(b.w);
#else
    table += 8 * (size_t)i;
    r.low = *(const vec*)table;
    r.high = *(const vec*)(table + 4);
    r.skip = ((const int*)table)[3];
    r.leaf = ((const int*)table)[7];
#endif
    return r;
};
"""

_SWEPT = """
const float* p0 = (const float*)(x.data);
const float* p1 = (const float*)(x_next.data);
const int* list = (const int*)(candidate.data);
const int* table = (const int*)(corners.data);
const float* size = (const float*)(radius.data);
"""


_TOO_FAR = """
const float* p0 = (const float*)(course.x.data);
const float* speed = (const float*)(course.v.data);
const float* astray = (const float*)(course.astray.data);
const float* size = (const float*)(course.radius.data);
const float ahead = ((const float*)(course.ahead.data))[0];
const int mine[2] = {one, two};
const int own = one == two ? 1 : 2;
// whether a pair whose boxes touch is too far apart all the same: by its distance now, less what it may come closer
auto too_far = [&](const int* c) {
    float faster = 0.0f, further = 0.0f;
    const int theirs = c[2] != c[1] ? 3 : (c[1] != c[0] ? 2 : 1);
    for (int i = 0; i < own; ++i) for (int j = 0; j < theirs; ++j) {
        const vec d = at(speed, mine[i]) - at(speed, c[j]), e = at(astray, mine[i]) - at(astray, c[j]);
        const float dd = dot(d, d), ee = dot(e, e);
        faster = dd > faster ? dd : faster;
        further = ee > further ? ee : further;
    }
    const float wide = ahead * wp::sqrt(faster) + wp::sqrt(further) + course.reach + size[one] + size[c[0]];
    const vec p = at(p0, one), a = at(p0, c[0]), b = at(p0, c[1]);
    if (own == 2) return between(p, at(p0, two), a, b) > wide * wide;
    return to_triangle(p, a, b, at(p0, c[2]), wide * wide).near > wide * wide;
};
auto is_joined = [&](const int* c) {
    return c[0] == one || c[1] == one || c[2] == one || c[0] == two || c[1] == two || c[2] == two;
};
"""


@wp.func_native(
    POINTS
    + _TREE
    + _TOO_FAR
    + """
int* out = (int*)(found_out.data) + base;
vec bottom = all(low[0]), top = all(high[0]);
bottom.y = low[1];
bottom.z = low[2];
top.y = high[1];
top.z = high[2];
auto touches = [&](int i) {
    const Record item = read(boxes, i);
    return i >= behind && !beyond(item.low, item.high, bottom, top);
};
#if defined(__CUDA_ARCH__)
// eight lanes walk together, and look at the items of two leaves at once
const int lane = threadIdx.x & 7, shift = threadIdx.x & 24;
auto look = [&](int first_leaf, int second_leaf) {
    const int leaf = lane < 4 ? first_leaf : second_leaf, i = (leaf >> 3) + (lane & 3);
    const bool is = (lane & 3) < (leaf & 7) && touches(i);
    const unsigned all_near = (__ballot_sync(0xffu << shift, is) >> shift) & 0xffu;
    const int place = found + __popc(all_near & ((1u << lane) - 1u));
    if (is && place < room) out[place] = i;
    found += __popc(all_near);
};
int waiting = 0;
#endif
while (node < end) {
    const Record box = read(nodes, node);
    if (beyond(box.low, box.high, bottom, top)) {
        node = box.skip;
        continue;
    }
#if defined(__CUDA_ARCH__)
    if (box.leaf && waiting) look(waiting, box.leaf);
    if (box.leaf) waiting = waiting ? 0 : box.leaf;
#else
    const int start = box.leaf >> 3, stop = start + (box.leaf & 7);
    for (int i = start; i < stop; ++i) {
        const int* c = corners + 3 * (size_t)i;
        if (!touches(i) || is_joined(c) || too_far(c)) continue;
        if (found < room) out[found] = i;
        ++found;
    }
#endif
    ++node;
}
#if defined(__CUDA_ARCH__)
if (waiting) look(waiting, 0);
#endif
return found;
"""
)
def find_overlaps(
    tree: TreeData,
    node: int,
    end: int,
    low: wp.vec3,
    high: wp.vec3,
    one: int,
    two: int,
    behind: int,
    course: Course,
    found: int,
    room: int,
    base: int,
    found_out: wp.array(dtype=int),
) -> int:
    """List the items below a run of nodes that may come near a vertex or an edge; how many are listed then, also where
    they do not fit. On CUDA eight lanes do this together, and `keep_near` is to follow.

    An item is left out whose distance now, less what it may come closer in the time ahead, is more than the reach.

    Args:
        node, end: the run; nodes of one body.
        low, high: the box of the vertex or edge, which those of items must touch [m].
        one, two: its particles, the same twice for a vertex; items that have one of them as a corner do not count.
        behind: items before this place do not count.
        found: how many are listed already. room: how many fit. base: where the list begins.
    """
    ...


@wp.func_native(
    POINTS
    + _TOO_FAR
    + """
#if defined(__CUDA_ARCH__)
const int* corners = (const int*)(tree.corners.data);
int* list = (int*)(found_out.data) + base;
const int lane = threadIdx.x & 7, shift = threadIdx.x & 24;
int kept = 0;
for (int first = 0; first < found; first += 8) {
    const int item = first + lane < found ? list[first + lane] : -1;
    bool is = item >= 0;
    if (is) {
        const int* c = corners + 3 * (size_t)item;
        is = !is_joined(c) && !too_far(c);
    }
    const unsigned all_near = (__ballot_sync(0xffu << shift, is) >> shift) & 0xffu;
    if (is) list[kept + __popc(all_near & ((1u << lane) - 1u))] = item;
    __syncwarp(0xffu << shift);
    kept += __popc(all_near);
}
return kept;
#else
return found;
#endif
"""
)
def keep_near(
    tree: TreeData, one: int, two: int, course: Course, found: int, base: int, found_out: wp.array(dtype=int)
) -> int:
    """Of the items that were listed for a vertex or an edge keep those that may come near it, in their order; how many
    they are. By eight lanes on CUDA, where a walk looks at boxes alone: what it would have to wait for is read by all
    at once here."""
    ...


@wp.func_native(
    POINTS
    + _TREE
    + """
const float* p = (const float*)(x.data);
const vec here = at(p, one);
const int end = ((const int*)(tree.roots.data))[body + 1];
int node = ((const int*)(tree.roots.data))[body];
// squared distance from a box
auto from_box = [&](const Record& r) {
    const vec off = most(most(r.low - here, here - r.high), all(0.0f));
    return dot(off, off);
};
if (node >= end || from_box(read(nodes, node)) > 0.0f) return -1;
int best = -1;
float best_near = 1e30f, best_faces = -1.0f, best_side = 1.0f;
while (node < end) {
    const Record box = read(nodes, node);
    if (from_box(box) > 1.001f * best_near) {
        node = box.skip;
        continue;
    }
    const int start = box.leaf >> 3, stop = start + (box.leaf & 7);
    for (int i = start; i < stop; ++i) {
        if (from_box(read(boxes, i)) > 1.001f * best_near) continue;
        const int* t = corners + 3 * (size_t)i;
        const Foot foot = to_triangle(here, at(p, t[0]), at(p, t[1]), at(p, t[2]), 1e30f);
        if (foot.size <= 0.0f) continue;
        const float near = foot.near, faces = near > 0.0f ? foot.height * foot.height / (foot.size * near) : 1.0f;
        if (near < 0.9998f * best_near || (near < 1.0002f * best_near && faces > best_faces)) {
            best = i;
            best_near = near;
            best_faces = faces;
            best_side = foot.height;
        }
    }
    ++node;
}
return best_side < 0.0f && best_near > least_depth * least_depth ? best : -1;
"""
)
def inside_of(tree: TreeData, body: int, one: int, least_depth: float, x: wp.array(dtype=wp.vec3)) -> int:
    """The triangle of a solid, as its place in the tree, that is nearest to a vertex which is at least so deep inside
    [m]; -1 for others."""
    ...


@wp.func_native(
    POINTS
    + _SWEPT
    + """
// the height of a vertex over the plane of a triangle, times the length of its normal
auto height = [&](const float* p, const int* t, float* size) {
    const vec a = at(p, t[0]), u = at(p, t[1]) - a, v = at(p, t[2]) - a, n = cross(u, v);
    *size = dot(n, n);
    // corners on a line span nothing but rounding
    if (*size <= 1e-10f * dot(u, u) * dot(v, v)) *size = 0.0f;
    return dot(n, at(p, one) - a);
};
const vec from = at(p0, one), to = at(p1, one), low = least(from, to), high = most(from, to);
for (int j = first; j < end; ++j) {
    const int* two = table + 3 * (size_t)list[j];
    const vec a = at(p0, two[0]), b = at(p0, two[1]), c = at(p0, two[2]);
    const vec d = at(p1, two[0]), e = at(p1, two[1]), f = at(p1, two[2]);
    const vec wide = all(factor * (size[one] + size[two[0]]));
    const vec l = least(least(least(a, b), c), least(least(d, e), f)) - wide;
    const vec h = most(most(most(a, b), c), most(most(d, e), f)) + wide;
    if (beyond(l, h, low, high)) continue;
    float s0, s1;
    const float before = height(p0, two, &s0), after = height(p1, two, &s1);
    // on one side all the time, and too far from the plane at the end
    if (s0 > 0.0f && s1 > 0.0f && before * after > 0.0f && after * after > wide.x * wide.x * s1) continue;
    return j;
}
return end;
"""
)
def next_triangle(
    one: int,
    first: int,
    end: int,
    candidate: wp.array(dtype=int),
    corners: wp.array(dtype=wp.vec3i),
    radius: wp.array(dtype=float),
    factor: float,
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
) -> int:
    """The first triangle of a run of candidates, from `first` to before `end`, that a vertex may come near to on its
    way from x to x_next, within a factor of what is kept free; `end` if there is none."""
    ...


@wp.func_native(
    POINTS
    + _SWEPT
    + """
const vec a0 = at(p0, one[0]), b0 = at(p0, one[1]), a1 = at(p1, one[0]), b1 = at(p1, one[1]);
const vec low = least(least(a0, b0), least(a1, b1)), high = most(most(a0, b0), most(a1, b1));
for (int j = first; j < end; ++j) {
    const int* two = table + 3 * (size_t)list[j];
    const vec c0 = at(p0, two[0]), d0 = at(p0, two[1]), c1 = at(p1, two[0]), d1 = at(p1, two[1]);
    const vec wide = all(factor * (size[one[0]] + size[two[0]]));
    const vec l = least(least(c0, d0), least(c1, d1)) - wide, h = most(most(c0, d0), most(c1, d1)) + wide;
    if (beyond(l, h, low, high)) continue;
    // the sides of the two lines on which they are, before and after
    const float before = dot(cross(b0 - a0, d0 - c0), c0 - a0), after = dot(cross(b1 - a1, d1 - c1), c1 - a1);
    // on one side all the time, and too far at the end
    if (before * after > 0.0f && between(a1, b1, c1, d1) > wide.x * wide.x) continue;
    return j;
}
return end;
"""
)
def next_edge(
    one: wp.vec2i,
    first: int,
    end: int,
    candidate: wp.array(dtype=int),
    corners: wp.array(dtype=wp.vec3i),
    radius: wp.array(dtype=float),
    factor: float,
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
) -> int:
    """The same for an edge among candidate edges."""
    ...
