"""The hot loops of detection in C++: walks through trees, and the quick first look at candidates.

What they compute is plain; generated code spends several times as long on handing tables around, and on the CPU one
vector register holds a whole point.
"""

import warp as wp

from pliant.collide.soft.tree_kernels import Course, TreeData

POINTS = """
#if defined(__CUDA_ARCH__)
struct vec {
    float x, y, z;
    __device__ vec operator+(vec o) const { return {x + o.x, y + o.y, z + o.z}; }
    __device__ vec operator-(vec o) const { return {x - o.x, y - o.y, z - o.z}; }
    __device__ vec operator*(float f) const { return {x * f, y * f, z * f}; }
};
auto least = [](vec a, vec b) { return vec{fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z)}; };
auto most = [](vec a, vec b) { return vec{fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z)}; };
// whether a box is apart from another along some axis
auto beyond = [](vec l, vec h, vec low, vec high) {
    return l.x > high.x || h.x < low.x || l.y > high.y || h.y < low.y || l.z > high.z || h.z < low.z;
};
auto at = [](const float* p, int i) {
    p += 3 * (size_t)i;
    return vec{p[0], p[1], p[2]};
};
auto all = [](float f) { return vec{f, f, f}; };
#else
typedef float vec __attribute__((ext_vector_type(4), aligned(4)));
typedef int ints __attribute__((ext_vector_type(4)));
auto least = [](vec a, vec b) { return a < b ? a : b; };
auto most = [](vec a, vec b) { return a < b ? b : a; };
auto beyond = [](vec l, vec h, vec low, vec high) {
    const ints is = (l > high) | (h < low);
    return (is.x | is.y | is.z) != 0;
};
auto at = [](const float* p, int i) {
    p += 3 * (size_t)i;
    return vec{p[0], p[1], p[2], 0.0f};
};
auto all = [](float f) { return vec{f, f, f, f}; };
#endif
auto dot = [](vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; };
auto cross = [](vec a, vec b) {
    vec c = a;
    c.x = a.y * b.z - a.z * b.y;
    c.y = a.z * b.x - a.x * b.z;
    c.z = a.x * b.y - a.y * b.x;
    return c;
};
auto clamp = [](float w) { return w < 0.0f ? 0.0f : (w > 1.0f ? 1.0f : w); };
// squared distances: from a segment, between two segments, and from a triangle with the height over its plane
auto to_segment = [&](vec p, vec a, vec b) {
    const vec e = b - a, q = p - a;
    const float ee = dot(e, e);
    const vec r = q - e * clamp(ee > 1e-20f ? dot(q, e) / ee : 0.0f);
    return dot(r, r);
};
auto between = [&](vec p, vec q, vec a, vec b) {
    const vec u = q - p, w = b - a, r = p - a;
    const float uu = dot(u, u), ww = dot(w, w), uw = dot(u, w), ur = dot(u, r), wr = dot(w, r);
    const float across = uu * ww - uw * uw;
    if (across > 1e-6f * uu * ww) {
        const float s = (uw * wr - ur * ww) / across, t = (uu * wr - uw * ur) / across;
        if (s >= 0.0f && s <= 1.0f && t >= 0.0f && t <= 1.0f) {
            const vec d = r + u * s - w * t;
            return dot(d, d);
        }
    }
    const float k = to_segment(p, a, b), l = to_segment(q, a, b), m = to_segment(a, p, q), n = to_segment(b, p, q);
    const float first = k < l ? k : l, second = m < n ? m : n;
    return first < second ? first : second;
};
struct Foot { float near, height, size; };
auto to_triangle = [&](vec p, vec a, vec b, vec c, float farthest) {
    const vec u = b - a, v = c - a, r = p - a, n = cross(u, v);
    const float uu = dot(u, u), vv = dot(v, v);
    Foot foot;
    foot.size = dot(n, n);
    foot.height = dot(n, r);
    foot.near = 1e30f;
    // corners on a line span nothing but rounding
    if (foot.size <= 1e-10f * uu * vv) {
        const float k = to_segment(p, a, b), l = to_segment(p, b, c), m = to_segment(p, c, a);
        foot.near = k < l ? (k < m ? k : m) : (l < m ? l : m);
        foot.size = 0.0f;
        return foot;
    }
    if (foot.height * foot.height > farthest * foot.size) return foot;
    // the nearest corner, side or inner point, by the signs of areas and of ways along the sides
    const float uv = dot(u, v), ua = dot(u, r), va = dot(v, r);
    const float ub = ua - uu, vb = va - uv, uc = ua - uv, vc = va - vv;
    const float over_c = ua * vb - ub * va, over_b = uc * va - ua * vc, over_a = ub * vc - uc * vb;
    float s, t;
    if (over_a > 0.0f && over_b > 0.0f && over_c > 0.0f) {
        foot.near = foot.height * foot.height / foot.size;
        return foot;
    }
    if (ua <= 0.0f && va <= 0.0f) s = 0.0f, t = 0.0f;
    else if (ub >= 0.0f && vb <= ub) s = 1.0f, t = 0.0f;
    else if (over_c <= 0.0f && ua >= 0.0f && ub <= 0.0f) s = ua / uu, t = 0.0f;
    else if (vc >= 0.0f && uc <= vc) s = 0.0f, t = 1.0f;
    else if (over_b <= 0.0f && va >= 0.0f && vc <= 0.0f) s = 0.0f, t = va / vv;
    else t = clamp((vb - ub) / (uu - 2.0f * uv + vv)), s = 1.0f - t;
    const vec off = r - u * s - v * t;
    foot.near = dot(off, off);
    return foot;
};
"""

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


@wp.func_native(
    POINTS
    + _TREE
    + """
int* out = (int*)(found_out.data) + base;
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
vec bottom = all(low[0]), top = all(high[0]);
bottom.y = low[1];
bottom.z = low[2];
top.y = high[1];
top.z = high[2];
auto is_near = [&](int i) {
    const Record item = read(boxes, i);
    if (i < behind || beyond(item.low, item.high, bottom, top)) return false;
    const int* c = corners + 3 * (size_t)i;
    if (c[0] == one || c[1] == one || c[2] == one || c[0] == two || c[1] == two || c[2] == two) return false;
    return !too_far(c);
};
#if defined(__CUDA_ARCH__)
// eight lanes walk together, and look at the items of two leaves at once
const int lane = threadIdx.x & 7, shift = threadIdx.x & 24;
auto look = [&](int first_leaf, int second_leaf) {
    const int leaf = lane < 4 ? first_leaf : second_leaf, i = (leaf >> 3) + (lane & 3);
    const bool is = (lane & 3) < (leaf & 7) && is_near(i);
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
        if (!is_near(i)) continue;
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
    they do not fit.

    An item is left out whose distance now, less what it may come closer in the time ahead, is more than the reach. On
    CUDA eight lanes do this together.

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


TEN = wp.types.vector(length=10, dtype=float)


@wp.func_native(
    POINTS
    + """
const int* list = (const int*)(candidate.data);
const int* table = (const int*)(corners.data);
const float farthest = apart + watched, touching = 1.2f * apart;
wp::vec_t<10, float> out;
// The nearest triangle of the run. Of those at one distance, where the nearest point is on an edge, the one that faces
// the vertex more squarely: it tells the side.
auto nearest = [&](const float* p, float& distance, float& faces) {
    const vec here = at(p, one);
    int best = -1;
    float best_near = farthest * farthest, best_faces = -1.0f;
    auto look = [&](int j, float near, float height, float size) {
        if (size <= 0.0f) return;
        const float squarely = near > 0.0f ? height * height / (size * near) : 1.0f;
        if (near < 0.9998f * best_near || (near < 1.0002f * best_near && squarely > best_faces)) {
            best = j;
            best_near = near;
            best_faces = squarely;
            distance = height;
        }
    };
#if defined(__CUDA_ARCH__)
    for (int j = first; j < end; ++j) {
        const int* t = table + 3 * (size_t)list[j];
        const Foot foot = to_triangle(here, at(p, t[0]), at(p, t[1]), at(p, t[2]), 1.001f * best_near);
        look(j, foot.near, foot.height, foot.size);
    }
#else
    // eight triangles at once
    typedef float many __attribute__((ext_vector_type(8)));
    typedef int which __attribute__((ext_vector_type(8)));
    struct Points { many x, y, z; };
    auto less = [](Points a, Points b) { return Points{a.x - b.x, a.y - b.y, a.z - b.z}; };
    auto dots = [](Points a, Points b) { return a.x * b.x + a.y * b.y + a.z * b.z; };
    auto to_side = [&](Points q, Points side, many along, many length) {
        many share = along / (length > 1e-20f ? length : many(1.0f));
        share = share < 0.0f ? many(0.0f) : (share > 1.0f ? many(1.0f) : share);
        const Points off = {q.x - side.x * share, q.y - side.y * share, q.z - side.z * share};
        return dots(off, off);
    };
    for (int begin = first; begin < end; begin += 8) {
        Points corner[3];
        for (int l = 0; l < 8; ++l) {
            const int* t = table + 3 * (size_t)list[begin + l < end ? begin + l : end - 1];
            for (int k = 0; k < 3; ++k) {
                const float* q = p + 3 * (size_t)t[k];
                corner[k].x[l] = q[0];
                corner[k].y[l] = q[1];
                corner[k].z[l] = q[2];
            }
        }
        const Points from = {many(here.x), many(here.y), many(here.z)};
        const Points u = less(corner[1], corner[0]), v = less(corner[2], corner[0]), w = less(corner[2], corner[1]);
        const Points r = less(from, corner[0]), q = less(from, corner[1]);
        const Points n = {u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x};
        const many uu = dots(u, u), vv = dots(v, v), uv = dots(u, v), ua = dots(u, r), va = dots(v, r);
        const many ub = ua - uu, vb = va - uv, uc = ua - uv, vc = va - vv;
        const many over_c = ua * vb - ub * va, over_b = uc * va - ua * vc, over_a = ub * vc - uc * vb;
        const many height = dots(n, r);
        many size = dots(n, n);
        size = size > 1e-10f * uu * vv ? size : many(0.0f);
        const which is_inner = (over_a > 0.0f) & (over_b > 0.0f) & (over_c > 0.0f) & (size > 0.0f);
        const many k = to_side(r, u, ua, uu), l = to_side(r, v, va, vv), m = to_side(q, w, dots(q, w), dots(w, w));
        many near = k < l ? k : l;
        near = near < m ? near : m;
        near = is_inner ? height * height / size : near;
        for (int j = begin; j < end && j < begin + 8; ++j) look(j, near[j - begin], height[j - begin], size[j - begin]);
    }
#endif
    faces = best_faces;
    distance = distance < 0.0f ? -wp::sqrt(best_near) : wp::sqrt(best_near);
    return best;
};
// the nearest point of a triangle
struct Place { float s, t; vec off, normal; };
auto place_on = [&](const float* p, int j) {
    const int* corner = table + 3 * (size_t)list[j];
    const vec a = at(p, corner[0]), u = at(p, corner[1]) - a, v = at(p, corner[2]) - a, r = at(p, one) - a;
    const float uu = dot(u, u), vv = dot(v, v), uv = dot(u, v), ua = dot(u, r), va = dot(v, r);
    const float ub = ua - uu, vb = va - uv, uc = ua - uv, vc = va - vv;
    const float over_c = ua * vb - ub * va, over_b = uc * va - ua * vc, over_a = ub * vc - uc * vb;
    Place out;
    if (over_a > 0.0f && over_b > 0.0f && over_c > 0.0f) {
        const float whole = 1.0f / (over_a + over_b + over_c);
        out.s = over_b * whole, out.t = over_c * whole;
    } else if (ua <= 0.0f && va <= 0.0f) out.s = 0.0f, out.t = 0.0f;
    else if (ub >= 0.0f && vb <= ub) out.s = 1.0f, out.t = 0.0f;
    else if (over_c <= 0.0f && ua >= 0.0f && ub <= 0.0f) out.s = ua / uu, out.t = 0.0f;
    else if (vc >= 0.0f && uc <= vc) out.s = 0.0f, out.t = 1.0f;
    else if (over_b <= 0.0f && va >= 0.0f && vc <= 0.0f) out.s = 0.0f, out.t = va / vv;
    else out.t = clamp((vb - ub) / (uu - 2.0f * uv + vv)), out.s = 1.0f - out.t;
    out.off = r - u * out.s - v * out.t;
    const vec n = cross(u, v);
    out.normal = n * (1.0f / wp::sqrt(dot(n, n)));
    return out;
};
// from the nearest point outwards
auto outward = [&](const Place& at_it) {
    const float length = wp::sqrt(dot(at_it.off, at_it.off));
    if (length <= 1e-9f) return at_it.normal;
    return at_it.off * (dot(at_it.off, at_it.normal) < 0.0f ? -1.0f / length : 1.0f / length);
};
auto tell = [&](int j, const Place& where, vec n, float distance, bool was_inside) {
    const float values[10] = {1.0f, was_inside ? 1.0f : 0.0f, (float)(j - first), 1.0f - where.s - where.t, where.s,
                              where.t, n.x, n.y, n.z, distance};
    for (int k = 0; k < 10; ++k) out[k] = values[k];
};
out[0] = 0.0f;
const float* p0 = (const float*)(x.data);
const float* p1 = (const float*)(x_next.data);
float after = 0.0f, before = 0.0f, faces = 0.0f;
const int now = nearest(p1, after, faces);
if (now < 0 || after >= touching) return out;
const int then = nearest(p0, before, faces);
if (then >= 0 && before > 0.0f) {
    // one that was outside is put back through the face that was nearest then
    const Place here = place_on(p1, then);
    vec n = here.normal;
    if (faces <= 0.9801f) n = outward(place_on(p0, then));
    const float distance = dot(n, here.off);
    if (distance < touching) {
        tell(then, here, n, distance, false);
        return out;
    }
}
const Place here = place_on(p1, now);
tell(now, here, outward(here), after, then >= 0 && before <= 0.0f);
return out;
"""
)
def touch_solid(
    one: int,
    first: int,
    end: int,
    candidate: wp.array(dtype=int),
    corners: wp.array(dtype=wp.vec3i),
    apart: float,
    watched: float,
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
) -> TEN:
    """Where a vertex touches a solid at the end of a step, of which a run of candidates is given.

    A vertex that was outside before the step is put back through the face that was nearest then: near an edge another
    face may be nearer once it is inside. One that was inside before leaves by the nearest way.

    Args:
        apart: what is kept free [m]; a fifth more counts as touching. watched: how far candidates were looked for [m].

    Returns:
        whether it does; whether it was inside before; which candidate after `first`; the weights of its corners, the
        normal, the distance along it [m].
    """
    ...


@wp.func_native(
    POINTS
    + """
const int* list = (const int*)(candidate.data);
const int* table = (const int*)(corners.data);
auto height = [&](const float* p, const int* t) {
    const vec a = at(p, t[0]);
    return dot(cross(at(p, t[1]) - a, at(p, t[2]) - a), at(p, one) - a);
};
for (int j = first; j < end; ++j) {
    const int* t = table + 3 * (size_t)list[j];
    if (height((const float*)(x.data), t) > 0.0f && height((const float*)(x_next.data), t) < 0.0f) return j;
}
return end;
"""
)
def next_entered(
    one: int,
    first: int,
    end: int,
    candidate: wp.array(dtype=int),
    corners: wp.array(dtype=wp.vec3i),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
) -> int:
    """The first candidate of a run through whose plane a vertex goes in, from x to x_next; `end` if there is none."""
    ...
