"""The hot loops of detection in C++: walks through trees, and the quick first look at candidates.

What they compute is plain; generated code spends several times as long on handing tables around.
"""

import warp as wp

from pliant.collide.soft.tree_kernels import TreeData


@wp.func_native("""
const float* node_low = (const float*)(tree.low.data);
const float* node_high = (const float*)(tree.high.data);
const float* item_low = (const float*)(tree.item_low.data);
const float* item_high = (const float*)(tree.item_high.data);
const int* skip = (const int*)(tree.skip.data);
const int* first = (const int*)(tree.first.data);
const int* items = (const int*)(tree.items.data);
const int* last = (const int*)(tree.last.data);
const int* corners = (const int*)(tree.corners.data);
int* out = (int*)(found_out.data) + base;
const int end = ((const int*)(tree.roots.data))[body + 1];
int node = ((const int*)(tree.roots.data))[body];
const float* p0 = (const float*)(x.data);
const float* p1 = (const float*)(x_next.data);
const float* speed = (const float*)(v.data);
const float* size = (const float*)(radius.data);
const int mine[2] = {one, two};
const int own = one == two ? 1 : 2;
auto dot = [](const float* a, const float* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
auto to_segment = [&](const float* P, const float* A, const float* B) {
    float e[3], q[3];
    for (int k = 0; k < 3; ++k) { e[k] = B[k] - A[k]; q[k] = P[k] - A[k]; }
    float ee = dot(e, e), w = ee > 1e-20f ? dot(q, e) / ee : 0.0f;
    w = w < 0.0f ? 0.0f : (w > 1.0f ? 1.0f : w);
    for (int k = 0; k < 3; ++k) q[k] -= w * e[k];
    return dot(q, q);
};
// whether a pair whose boxes touch is too far apart all the same: by its distance now, less what it may come closer
auto too_far = [&](const int* c) {
    float closer = 0.0f;
    const int theirs = c[2] != c[1] ? 3 : (c[1] != c[0] ? 2 : 1);
    for (int i = 0; i < own; ++i) for (int j = 0; j < theirs; ++j) {
        const size_t a = 3 * (size_t)mine[i], b = 3 * (size_t)c[j];
        float d[3], e[3];
        for (int k = 0; k < 3; ++k) {
            d[k] = speed[a + k] - speed[b + k];
            e[k] = (p1[a + k] - p0[a + k]) - (p1[b + k] - p0[b + k]);
        }
        float dd = dot(d, d) * ahead * ahead, ee = dot(e, e);
        closer = dd > closer ? dd : closer;
        closer = ee > closer ? ee : closer;
    }
    const float wide = wp::sqrt(closer) + reach + size[one] + size[c[0]];
    const float *P = p0 + 3 * (size_t)one, *A = p0 + 3 * (size_t)c[0], *B = p0 + 3 * (size_t)c[1];
    const float* C = p0 + 3 * (size_t)c[2];
    float near = 1e30f;
    if (own == 2) {
        const float* Q = p0 + 3 * (size_t)two;
        float uu = 0, vv = 0, uv = 0, ur = 0, vr = 0;
        for (int k = 0; k < 3; ++k) {
            float u = Q[k] - P[k], w = B[k] - A[k], r = P[k] - A[k];
            uu += u * u; vv += w * w; uv += u * w; ur += u * r; vr += w * r;
        }
        float across = uu * vv - uv * uv;
        if (across > 1e-6f * uu * vv) {
            float s = (uv * vr - ur * vv) / across, t = (uu * vr - uv * ur) / across;
            if (s >= 0.0f && s <= 1.0f && t >= 0.0f && t <= 1.0f) {
                near = 0.0f;
                for (int k = 0; k < 3; ++k) {
                    float d = P[k] + s * (Q[k] - P[k]) - A[k] - t * (B[k] - A[k]);
                    near += d * d;
                }
            }
        }
        if (near > 1e29f) {
            float a = to_segment(P, A, B), b = to_segment(Q, A, B), c1 = to_segment(A, P, Q), d = to_segment(B, P, Q);
            a = a < b ? a : b;
            c1 = c1 < d ? c1 : d;
            near = a < c1 ? a : c1;
        }
    } else {
        float u[3], w[3], r[3];
        for (int k = 0; k < 3; ++k) { u[k] = B[k] - A[k]; w[k] = C[k] - A[k]; r[k] = P[k] - A[k]; }
        float n[3] = {u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]};
        float nn = dot(n, n), h = dot(n, r);
        // corners on a line span nothing but rounding
        if (nn > 1e-10f * dot(u, u) * dot(w, w)) {
            if (h * h > wide * wide * nn) return true;
            float c0[3] = {r[1] * w[2] - r[2] * w[1], r[2] * w[0] - r[0] * w[2], r[0] * w[1] - r[1] * w[0]};
            float c1[3] = {u[1] * r[2] - u[2] * r[1], u[2] * r[0] - u[0] * r[2], u[0] * r[1] - u[1] * r[0]};
            float beta = dot(c0, n), gamma = dot(c1, n);
            if (beta >= 0.0f && gamma >= 0.0f && beta + gamma <= nn) return false;
        }
        float a = to_segment(P, A, B), b = to_segment(P, B, C), c1 = to_segment(P, C, A);
        near = a < b ? a : b;
        near = near < c1 ? near : c1;
    }
    return near > wide * wide;
};
const float l0 = low[0], l1 = low[1], l2 = low[2], h0 = high[0], h1 = high[1], h2 = high[2];
auto far = [&](const float* l, const float* h) {
    return l[0] > h0 || h[0] < l0 || l[1] > h1 || h[1] < l1 || l[2] > h2 || h[2] < l2;
};
while (node < end) {
    if (last[node] <= behind || far(node_low + 3 * (size_t)node, node_high + 3 * (size_t)node)) {
        node = skip[node];
        continue;
    }
    const int stop = first[node] + items[node];
    for (int i = first[node]; i < stop; ++i) {
        if (i < behind || far(item_low + 3 * (size_t)i, item_high + 3 * (size_t)i)) continue;
        const int* c = corners + 3 * (size_t)i;
        if (c[0] == one || c[1] == one || c[2] == one || c[0] == two || c[1] == two || c[2] == two) continue;
        if (too_far(c)) continue;
        if (found < room) out[found] = i;
        ++found;
    }
    ++node;
}
return found;
""")
def find_overlaps(
    tree: TreeData,
    body: int,
    low: wp.vec3,
    high: wp.vec3,
    one: int,
    two: int,
    behind: int,
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    ahead: float,
    reach: float,
    found: int,
    room: int,
    base: int,
    found_out: wp.array(dtype=int),
) -> int:
    """List the items of a body's tree that may come near a vertex or an edge; how many are listed then, also where they
    do not fit.

    Args:
        low, high: its box, which those of items must touch [m].
        one, two: its particles, the same twice for a vertex; items that have one of them as a corner do not count.
        x, x_next, v, radius, ahead, reach: an item is left out whose distance at x, less what it may come closer in
            the step to x_next or in the time ahead [s], is more than the reach [m].
        behind: items before this place do not count.
        found: how many are listed already. room: how many fit. base: where the list begins.
    """
    ...


@wp.func_native("""
const float* p = (const float*)(x.data);
const float* P = p + 3 * (size_t)one;
const float* node_low = (const float*)(tree.low.data);
const float* node_high = (const float*)(tree.high.data);
const float* item_low = (const float*)(tree.item_low.data);
const float* item_high = (const float*)(tree.item_high.data);
const int* skip = (const int*)(tree.skip.data);
const int* first = (const int*)(tree.first.data);
const int* items = (const int*)(tree.items.data);
const int* corners = (const int*)(tree.corners.data);
const int end = ((const int*)(tree.roots.data))[body + 1];
int node = ((const int*)(tree.roots.data))[body];
auto dot = [](const float* a, const float* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
// squared distance from a box
auto from_box = [&](const float* l, const float* h) {
    float sum = 0.0f;
    for (int k = 0; k < 3; ++k) {
        float d = P[k] < l[k] ? l[k] - P[k] : (P[k] > h[k] ? P[k] - h[k] : 0.0f);
        sum += d * d;
    }
    return sum;
};
auto to_segment = [&](const float* A, const float* B) {
    float e[3], q[3];
    for (int k = 0; k < 3; ++k) { e[k] = B[k] - A[k]; q[k] = P[k] - A[k]; }
    float ee = dot(e, e), w = ee > 1e-20f ? dot(q, e) / ee : 0.0f;
    w = w < 0.0f ? 0.0f : (w > 1.0f ? 1.0f : w);
    for (int k = 0; k < 3; ++k) q[k] -= w * e[k];
    return dot(q, q);
};
if (node >= end || from_box(node_low + 3 * (size_t)node, node_high + 3 * (size_t)node) > 0.0f) return -1;
int best = -1;
float best_near = 1e30f, best_faces = -1.0f, best_side = 1.0f;
while (node < end) {
    if (from_box(node_low + 3 * (size_t)node, node_high + 3 * (size_t)node) > 1.001f * best_near) {
        node = skip[node];
        continue;
    }
    const int stop = first[node] + items[node];
    for (int i = first[node]; i < stop; ++i) {
        if (from_box(item_low + 3 * (size_t)i, item_high + 3 * (size_t)i) > 1.001f * best_near) continue;
        const int* t = corners + 3 * (size_t)i;
        const float *A = p + 3 * (size_t)t[0], *B = p + 3 * (size_t)t[1], *C = p + 3 * (size_t)t[2];
        float u[3], v[3], r[3];
        for (int k = 0; k < 3; ++k) { u[k] = B[k] - A[k]; v[k] = C[k] - A[k]; r[k] = P[k] - A[k]; }
        float n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
        float nn = dot(n, n), h = dot(n, r);
        if (nn <= 0.0f) continue;
        float c0[3] = {r[1] * v[2] - r[2] * v[1], r[2] * v[0] - r[0] * v[2], r[0] * v[1] - r[1] * v[0]};
        float c1[3] = {u[1] * r[2] - u[2] * r[1], u[2] * r[0] - u[0] * r[2], u[0] * r[1] - u[1] * r[0]};
        float beta = dot(c0, n), gamma = dot(c1, n), near;
        if (beta >= 0.0f && gamma >= 0.0f && beta + gamma <= nn) {
            near = h * h / nn;
        } else {
            float a = to_segment(A, B), b = to_segment(B, C), c = to_segment(C, A);
            near = a < b ? a : b;
            near = near < c ? near : c;
        }
        float faces = near > 0.0f ? h * h / (nn * near) : 1.0f;
        if (near < 0.9998f * best_near || (near < 1.0002f * best_near && faces > best_faces)) {
            best = i;
            best_near = near;
            best_faces = faces;
            best_side = h;
        }
    }
    ++node;
}
return best_side < 0.0f ? best : -1;
""")
def inside_of(tree: TreeData, body: int, one: int, x: wp.array(dtype=wp.vec3)) -> int:
    """The triangle of a solid, as its place in the tree, that is nearest to a vertex inside; -1 for one outside."""
    ...


@wp.func_native("""
const float* p0 = (const float*)(x.data);
const float* p1 = (const float*)(x_next.data);
auto grow = [&](int i, float* low, float* high) {
    const float* a = p0 + 3 * (size_t)i;
    const float* b = p1 + 3 * (size_t)i;
    for (int k = 0; k < 3; ++k) {
        float least = a[k] < b[k] ? a[k] : b[k];
        float most = a[k] < b[k] ? b[k] : a[k];
        low[k] = low[k] < least ? low[k] : least;
        high[k] = high[k] > most ? high[k] : most;
    }
};
// the height of a vertex over the plane of a triangle, times the length of its normal
auto height = [&](const float* p, const int* t, float* size) {
    const float *P = p + 3 * (size_t)one, *A = p + 3 * (size_t)t[0], *B = p + 3 * (size_t)t[1];
    const float* C = p + 3 * (size_t)t[2];
    float u0 = B[0] - A[0], u1 = B[1] - A[1], u2 = B[2] - A[2], v0 = C[0] - A[0], v1 = C[1] - A[1], v2 = C[2] - A[2];
    float n0 = u1 * v2 - u2 * v1, n1 = u2 * v0 - u0 * v2, n2 = u0 * v1 - u1 * v0;
    *size = n0 * n0 + n1 * n1 + n2 * n2;
    // corners on a line span nothing but rounding
    if (*size <= 1e-10f * (u0 * u0 + u1 * u1 + u2 * u2) * (v0 * v0 + v1 * v1 + v2 * v2)) *size = 0.0f;
    return n0 * (P[0] - A[0]) + n1 * (P[1] - A[1]) + n2 * (P[2] - A[2]);
};
float low[3] = {1e30f, 1e30f, 1e30f}, high[3] = {-1e30f, -1e30f, -1e30f};
grow(one, low, high);
const int* list = (const int*)(candidate.data);
const int* table = (const int*)(corners.data);
const float* size = (const float*)(radius.data);
for (int j = first; j < end; ++j) {
    const int* two = table + 3 * (size_t)list[j];
    float l[3] = {1e30f, 1e30f, 1e30f}, h[3] = {-1e30f, -1e30f, -1e30f};
    grow(two[0], l, h);
    grow(two[1], l, h);
    grow(two[2], l, h);
    float wide = factor * (size[one] + size[two[0]]);
    bool far = false;
    for (int k = 0; k < 3; ++k) far = far || l[k] - high[k] > wide || low[k] - h[k] > wide;
    if (far) continue;
    float s0, s1;
    float before = height(p0, two, &s0), after = height(p1, two, &s1);
    // on one side all the time, and too far from the plane at the end
    if (s0 > 0.0f && s1 > 0.0f && before * after > 0.0f && after * after > wide * wide * s1) continue;
    return j;
}
return end;
""")
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


@wp.func_native("""
const float* p0 = (const float*)(x.data);
const float* p1 = (const float*)(x_next.data);
auto grow = [&](int i, float* low, float* high) {
    const float* a = p0 + 3 * (size_t)i;
    const float* b = p1 + 3 * (size_t)i;
    for (int k = 0; k < 3; ++k) {
        float least = a[k] < b[k] ? a[k] : b[k];
        float most = a[k] < b[k] ? b[k] : a[k];
        low[k] = low[k] < least ? low[k] : least;
        high[k] = high[k] > most ? high[k] : most;
    }
};
// the distance between the lines of two edges, times the length of their cross product
auto between = [&](const float* p, const int* t, float* size) {
    const float *A = p + 3 * (size_t)one[0], *B = p + 3 * (size_t)one[1], *C = p + 3 * (size_t)t[0];
    const float* D = p + 3 * (size_t)t[1];
    float u0 = B[0] - A[0], u1 = B[1] - A[1], u2 = B[2] - A[2], v0 = D[0] - C[0], v1 = D[1] - C[1], v2 = D[2] - C[2];
    float n0 = u1 * v2 - u2 * v1, n1 = u2 * v0 - u0 * v2, n2 = u0 * v1 - u1 * v0;
    *size = n0 * n0 + n1 * n1 + n2 * n2;
    return n0 * (C[0] - A[0]) + n1 * (C[1] - A[1]) + n2 * (C[2] - A[2]);
};
// the squared distance of two edges
auto apart = [&](const float* p, const int* t) {
    const float *A = p + 3 * (size_t)one[0], *B = p + 3 * (size_t)one[1], *C = p + 3 * (size_t)t[0];
    const float* D = p + 3 * (size_t)t[1];
    float uu = 0, vv = 0, uv = 0, ur = 0, vr = 0;
    for (int k = 0; k < 3; ++k) {
        float u = B[k] - A[k], v = D[k] - C[k], r = A[k] - C[k];
        uu += u * u; vv += v * v; uv += u * v; ur += u * r; vr += v * r;
    }
    if (uu < 1e-20f || vv < 1e-20f) return 0.0f;
    float across = uu * vv - uv * uv, s = 0.5f;
    if (across > 1e-6f * uu * vv) s = (uv * vr - ur * vv) / across;
    s = s < 0 ? 0 : (s > 1 ? 1 : s);
    float t1 = (uv * s + vr) / vv;
    if (t1 < 0) { t1 = 0; s = -ur / uu; }
    else if (t1 > 1) { t1 = 1; s = (uv - ur) / uu; }
    s = s < 0 ? 0 : (s > 1 ? 1 : s);
    float sum = 0;
    for (int k = 0; k < 3; ++k) {
        float d = A[k] + s * (B[k] - A[k]) - C[k] - t1 * (D[k] - C[k]);
        sum += d * d;
    }
    return sum;
};
float low[3] = {1e30f, 1e30f, 1e30f}, high[3] = {-1e30f, -1e30f, -1e30f};
grow(one[0], low, high);
grow(one[1], low, high);
const int* list = (const int*)(candidate.data);
const int* table = (const int*)(corners.data);
const float* size = (const float*)(radius.data);
for (int j = first; j < end; ++j) {
    const int* two = table + 3 * (size_t)list[j];
    float l[3] = {1e30f, 1e30f, 1e30f}, h[3] = {-1e30f, -1e30f, -1e30f};
    grow(two[0], l, h);
    grow(two[1], l, h);
    float wide = factor * (size[one[0]] + size[two[0]]);
    bool far = false;
    for (int k = 0; k < 3; ++k) far = far || l[k] - high[k] > wide || low[k] - h[k] > wide;
    if (far) continue;
    float s0, s1;
    float before = between(p0, two, &s0), after = between(p1, two, &s1);
    // on one side all the time, and too far at the end
    if (before * after > 0.0f && apart(p1, two) > wide * wide) continue;
    return j;
}
return end;
""")
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


@wp.func_native("""
const float* p = (const float*)(x.data);
const float* P = p + 3 * (size_t)one;
const int* list = (const int*)(candidate.data);
const int* table = (const int*)(corners.data);
auto dot = [](const float* a, const float* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
int best = -1;
float best_near = farthest * farthest, best_faces = -1.0f;
for (int j = first; j < end; ++j) {
    const int* t = table + 3 * (size_t)list[j];
    const float *A = p + 3 * (size_t)t[0], *B = p + 3 * (size_t)t[1], *C = p + 3 * (size_t)t[2];
    float u[3], v[3], r[3];
    for (int k = 0; k < 3; ++k) { u[k] = B[k] - A[k]; v[k] = C[k] - A[k]; r[k] = P[k] - A[k]; }
    float n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    float nn = dot(n, n), h = dot(n, r);
    if (nn <= 0.0f || h * h > 1.001f * best_near * nn) continue;
    // weights of the foot on the plane, and the nearest of three sides where it is outside
    float c0[3] = {r[1] * v[2] - r[2] * v[1], r[2] * v[0] - r[0] * v[2], r[0] * v[1] - r[1] * v[0]};
    float c1[3] = {u[1] * r[2] - u[2] * r[1], u[2] * r[0] - u[0] * r[2], u[0] * r[1] - u[1] * r[0]};
    float beta = dot(c0, n) / nn, gamma = dot(c1, n) / nn, near;
    if (beta >= 0.0f && gamma >= 0.0f && beta + gamma <= 1.0f) {
        near = h * h / nn;
    } else {
        near = 1e30f;
        const float* from[3] = {A, B, C};
        const float* to[3] = {B, C, A};
        for (int k = 0; k < 3; ++k) {
            float e[3], q[3];
            for (int a = 0; a < 3; ++a) { e[a] = to[k][a] - from[k][a]; q[a] = P[a] - from[k][a]; }
            float w = dot(q, e) / dot(e, e);
            w = w < 0.0f ? 0.0f : (w > 1.0f ? 1.0f : w);
            float s = 0.0f;
            for (int a = 0; a < 3; ++a) { float d = q[a] - w * e[a]; s += d * d; }
            near = s < near ? s : near;
        }
    }
    float faces = near > 0.0f ? h * h / (nn * near) : 1.0f;
    if (near < 0.9998f * best_near || (near < 1.0002f * best_near && faces > best_faces)) {
        best = j;
        best_near = near;
        best_faces = faces;
    }
}
return best;
""")
def nearest_triangle(
    one: int,
    first: int,
    end: int,
    candidate: wp.array(dtype=int),
    corners: wp.array(dtype=wp.vec3i),
    farthest: float,
    x: wp.array(dtype=wp.vec3),
) -> int:
    """The candidate of a run whose triangle is nearest to a vertex, within so much [m]; -1 if there is none.

    Of triangles at one distance, where the nearest point is on an edge, the one that faces the vertex more squarely: it
    tells the side.
    """
    ...


@wp.func_native("""
const int* list = (const int*)(candidate.data);
const int* table = (const int*)(corners.data);
auto height = [&](const float* p, const int* t) {
    const float *P = p + 3 * (size_t)one, *A = p + 3 * (size_t)t[0], *B = p + 3 * (size_t)t[1];
    const float* C = p + 3 * (size_t)t[2];
    float u0 = B[0] - A[0], u1 = B[1] - A[1], u2 = B[2] - A[2], v0 = C[0] - A[0], v1 = C[1] - A[1], v2 = C[2] - A[2];
    return (u1 * v2 - u2 * v1) * (P[0] - A[0]) + (u2 * v0 - u0 * v2) * (P[1] - A[1])
        + (u0 * v1 - u1 * v0) * (P[2] - A[2]);
};
for (int j = first; j < end; ++j) {
    const int* t = table + 3 * (size_t)list[j];
    if (height((const float*)(x.data), t) > 0.0f && height((const float*)(x_next.data), t) < 0.0f) return j;
}
return end;
""")
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
