"""Where a vertex touches a solid, or enters it, in C++."""

import warp as wp

from pliant.collide.soft.points_native import POINTS

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
    for (int j = first + lane; j < end; j += lanes) {
        const int* t = table + 3 * (size_t)list[j];
        const Foot foot = to_triangle(here, at(p, t[0]), at(p, t[1]), at(p, t[2]), 1.001f * best_near);
        look(j, foot.near, foot.height, foot.size);
    }
    // the best of all lanes; of two that are alike the first one
    for (int step = 1; step < lanes; step <<= 1) {
        const unsigned group = 0xffu << (threadIdx.x & 24);
        const int other = __shfl_xor_sync(group, best, step);
        const float near = __shfl_xor_sync(group, best_near, step);
        const float squarely = __shfl_xor_sync(group, best_faces, step);
        const float height = __shfl_xor_sync(group, distance, step);
        bool is_better = other >= 0;
        if (is_better && best >= 0) {
            if (near < 0.9998f * best_near) is_better = true;
            else if (best_near < 0.9998f * near) is_better = false;
            else is_better = squarely > best_faces || (squarely == best_faces && other < best);
        }
        if (is_better) {
            best = other;
            best_near = near;
            best_faces = squarely;
            distance = height;
        }
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
    const Share share = share_of(dot(u, u), dot(v, v), dot(u, v), dot(u, r), dot(v, r));
    Place out;
    out.s = share.s;
    out.t = share.t;
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
    lane: int,
    lanes: int,
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
        lane, lanes: which of how many CUDA threads that do this together; all of them are told.
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
