"""Points, boxes and distances for loops in C++.

Generated code spends several times as long on handing tables around, and on the CPU one vector register holds a whole
point.
"""

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
// The nearest corner, side or inner point of a triangle, by the signs of areas and of ways along the sides: how much of
// its first and of its second side leads there. Given are products of the sides, and of them with the way to a point.
struct Share { float s, t; bool is_inner; };
auto share_of = [&](float uu, float vv, float uv, float ua, float va) {
    const float ub = ua - uu, vb = va - uv, uc = ua - uv, vc = va - vv;
    const float over_c = ua * vb - ub * va, over_b = uc * va - ua * vc, over_a = ub * vc - uc * vb;
    if (over_a > 0.0f && over_b > 0.0f && over_c > 0.0f) {
        const float whole = 1.0f / (over_a + over_b + over_c);
        return Share{over_b * whole, over_c * whole, true};
    }
    if (ua <= 0.0f && va <= 0.0f) return Share{0.0f, 0.0f, false};
    if (ub >= 0.0f && vb <= ub) return Share{1.0f, 0.0f, false};
    if (over_c <= 0.0f && ua >= 0.0f && ub <= 0.0f) return Share{ua / uu, 0.0f, false};
    if (vc >= 0.0f && uc <= vc) return Share{0.0f, 1.0f, false};
    if (over_b <= 0.0f && va >= 0.0f && vc <= 0.0f) return Share{0.0f, va / vv, false};
    const float t = clamp((vb - ub) / (uu - 2.0f * uv + vv));
    return Share{1.0f - t, t, false};
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
    const Share share = share_of(uu, vv, dot(u, v), dot(u, r), dot(v, r));
    if (share.is_inner) {
        foot.near = foot.height * foot.height / foot.size;
        return foot;
    }
    const vec off = r - u * share.s - v * share.t;
    foot.near = dot(off, off);
    return foot;
};
"""
