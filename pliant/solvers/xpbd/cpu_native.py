"""The two hot loops of the CPU in C++: one vector register holds a whole point, which Warp's own code does not do.

The formulas are those of physics/distance.py and physics/bending.py.
"""

import warp as wp

_TYPES = """
typedef double point __attribute__((ext_vector_type(4), aligned(8)));
typedef float vec __attribute__((ext_vector_type(4), aligned(4)));
const double* X = (const double*)base.data;
float* M = (float*)move.data;
float* V = (float*)pace.data;
const float inv_dt2 = inv_dt * inv_dt;
auto place = [&](int i) { return *(const point*)(X + 4 * (long)i); };
auto moved = [&](int i) { return *(const vec*)(M + 4 * (long)i); };
auto put = [&](int i, vec p) { *(vec*)(M + 4 * (long)i) = p; };
auto inverse_mass = [&](int i) { return (float)X[4 * (long)i + 3]; };
auto paced = [&](int i) { return *(const vec*)(V + 4 * (long)i); };
auto slow = [&](int i, vec p) { *(vec*)(V + 4 * (long)i) = p; };
auto sum = [](vec a) { return a.x + a.y + a.z; };
"""

_DISTANCE = """
const int* P = (const int*)pairs.data;
const float* L = (const float*)law.data;
for (int c = first; c < end; ++c) {
    const int i = P[2 * (long)c], j = P[2 * (long)c + 1];
    const float rest = L[3 * (long)c], compliance = L[3 * (long)c + 1] * inv_dt2, damping = L[3 * (long)c + 2] * inv_dt;
    const point a = place(i), b = place(j);
    const vec p = moved(i), q = moved(j);
    const float wi = (float)a.w, wj = (float)b.w, w = wi + wj;
    vec d = __builtin_convertvector(b - a, vec) + (q - p);
    d.w = 0.0f;
    const float squared = sum(d * d);
    if (!(squared > 0.0f) || !(w > 0.0f)) continue;
    const float length = __builtin_sqrtf(squared);
    // multipliers are divided by the length, so that they push along d; one division serves damper and spring
    const float soft = damping > 0.0f ? compliance + damping * w : 1.0f;
    const float inverse = 1.0f / (soft * (compliance + w) * squared);
    float push = 0.0f, before = 0.0f;
    if (reads) before = sums.data[c];
    else if (damping > 0.0f) {
        const vec x = paced(i), y = paced(j);
        push = -(damping * compliance * inverse) * sum(d * (y - x));
        slow(i, x - (wi * push) * d);
        slow(j, y + (wj * push) * d);
    }
    const float change = -(length - rest + w * push * length + compliance * before) * soft * inverse * length;
    if (keeps) sums.data[c] = before + change * length;
    const vec both = (push + change) * d;
    put(i, p - wi * both);
    put(j, q + wj * both);
}
"""

_BEND = """
const int* P = (const int*)corners.data;
const float* L = (const float*)law.data;
float* S = (float*)sums.data;
for (int c = first; c < end; ++c) {
    const int* at = P + 4 * (long)c;
    if (at[0] < 0) continue;
    const float* k = L + 4 * (long)c;
    const float k1 = k[0], k2 = k[1], k3 = k[2], k0 = -(k1 + k2 + k3);
    const float compliance = k[3] * inv_dt2, damping = times.data[c] * inv_dt;
    const point x0 = place(at[0]), x1 = place(at[1]), x2 = place(at[2]), x3 = place(at[3]);
    const vec m0 = moved(at[0]), m1 = moved(at[1]), m2 = moved(at[2]), m3 = moved(at[3]);
    const float w0 = (float)x0.w * k0, w1 = (float)x1.w * k1, w2 = (float)x2.w * k2, w3 = (float)x3.w * k3;
    const vec jump = k1 * (__builtin_convertvector(x1 - x0, vec) + (m1 - m0))
                   + k2 * (__builtin_convertvector(x2 - x0, vec) + (m2 - m0))
                   + k3 * (__builtin_convertvector(x3 - x0, vec) + (m3 - m0));
    const float w = w0 * k0 + w1 * k1 + w2 * k2 + w3 * k3;
    if (!(w > 0.0f)) continue;
    const float soft = damping > 0.0f ? compliance + damping * w : 1.0f;
    const float inverse = 1.0f / (soft * (compliance + w));
    vec before = (vec)(0.0f), damped = (vec)(0.0f);
    if (reads) { before.x = S[3 * (long)c]; before.y = S[3 * (long)c + 1]; before.z = S[3 * (long)c + 2]; }
    else if (damping > 0.0f) {
        const vec v0 = paced(at[0]), v1 = paced(at[1]), v2 = paced(at[2]), v3 = paced(at[3]);
        damped = -(damping * compliance * inverse) * (k1 * (v1 - v0) + k2 * (v2 - v0) + k3 * (v3 - v0));
        slow(at[0], v0 + w0 * damped);
        slow(at[1], v1 + w1 * damped);
        slow(at[2], v2 + w2 * damped);
        slow(at[3], v3 + w3 * damped);
    }
    vec more = (-soft * inverse) * (jump + w * damped + compliance * before);
    more.w = 0.0f;
    if (keeps) {
        S[3 * (long)c] = before.x + more.x;
        S[3 * (long)c + 1] = before.y + more.y;
        S[3 * (long)c + 2] = before.z + more.z;
    }
    more += damped;
    put(at[0], m0 + w0 * more);
    put(at[1], m1 + w1 * more);
    put(at[2], m2 + w2 * more);
    put(at[3], m3 + w3 * more);
}
"""


@wp.func_native(_TYPES + _DISTANCE)
def distance_run(
    first: int,
    end: int,
    pairs: wp.array(dtype=wp.vec2i),
    law: wp.array(dtype=wp.vec3),
    base: wp.array(dtype=wp.vec4d),
    inv_dt: float,
    reads: int,
    keeps: int,
    sums: wp.array(dtype=float),
    pace: wp.array(dtype=wp.vec4),
    move: wp.array(dtype=wp.vec4),
):
    """Solve the distances first to end - 1."""
    ...


@wp.func_native(_TYPES + _BEND)
def bend_run(
    first: int,
    end: int,
    corners: wp.array(dtype=wp.vec4i),
    law: wp.array(dtype=wp.vec4),
    times: wp.array(dtype=float),
    base: wp.array(dtype=wp.vec4d),
    inv_dt: float,
    reads: int,
    keeps: int,
    sums: wp.array(dtype=wp.vec3),
    pace: wp.array(dtype=wp.vec4),
    move: wp.array(dtype=wp.vec4),
):
    """Solve the flat hinges first to end - 1."""
    ...
