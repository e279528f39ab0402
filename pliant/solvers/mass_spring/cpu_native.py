"""The two hot loops of the CPU step in C++: one vector register holds a whole point, which Warp's own code does not do.

The formulas are those of physics/spring.py and physics/volume.py; on one core this takes half the time. Positions
are float64 (position and carry added), so that differences are exact; everything after the difference is float32.
"""

import warp as wp

_TYPES = """
typedef double point __attribute__((ext_vector_type(4), aligned(8)));
typedef float vec __attribute__((ext_vector_type(4), aligned(4)));
const double* X = (const double*)x.data;
const float* V = (const float*)v.data;
float* F = (float*)force.data;
auto position = [&](int i) { return *(const point*)(X + 4 * (long)i); };
auto velocity = [&](int i) { return *(const vec*)(V + 4 * (long)i); };
auto from = [&](point a, int i) { return __builtin_convertvector(position(i) - a, vec); };
auto sum = [](vec a) { return a.x + a.y + a.z; };
auto add = [&](int i, vec f) { *(vec*)(F + 4 * (long)i) += f; };
"""

_TETS = """
const int* C = (const int*)corners.data;
auto yzx = [](vec a) { return __builtin_shufflevector(a, a, 1, 2, 0, 3); };
auto cross = [&](vec a, vec b) { return yzx(a * yzx(b) - yzx(a) * b); };
auto corner_damping = [&](vec g, vec d) {
    float squared = sum(g * g);
    return squared > 0.0f ? (damping * sum(d * g) / squared) * g : (vec)(0.0f);
};
for (int t = first; t < end; ++t) {
    const int* c = C + 4 * (long)t;
    const float inv = inv_six_volume.data[t];
    const point x0 = position(c[0]);
    const vec e1 = from(x0, c[1]), e2 = from(x0, c[2]), e3 = from(x0, c[3]);
    // gradients of 6 V at the corners
    const vec g1 = cross(e2, e3), g2 = cross(e3, e1), g3 = cross(e1, e2), g0 = -(g1 + g2 + g3);
    float strain = sum(e1 * g1) * inv - 1.0f;
    vec d1, d2, d3;
    if (damping_form != 0) {
        const vec v0 = velocity(c[0]);
        d1 = velocity(c[1]) - v0;
        d2 = velocity(c[2]) - v0;
        d3 = velocity(c[3]) - v0;
        if (damping_form == 1) strain += damping * inv * sum(d1 * g1 + d2 * g2 + d3 * g3);
    }
    const float scale = form == 0 ? stiffness : (form == 1 ? 6.0f * inv * stiffness : stiffness / inv);
    const float p = scale * strain * (-1.0f / 6.0f);
    vec f0 = p * g0, f1 = p * g1, f2 = p * g2, f3 = p * g3;
    if (damping_form == 2) {
        const vec all = d1 + d2 + d3;
        f0 += corner_damping(g0, all);
        f1 += corner_damping(g1, all - 4.0f * d1);
        f2 += corner_damping(g2, all - 4.0f * d2);
        f3 += corner_damping(g3, all - 4.0f * d3);
    }
    add(c[0], f0);
    add(c[1], f1);
    add(c[2], f2);
    add(c[3], f3);
}
"""

_SPRINGS = """
const int* P = (const int*)pairs.data;
const float* K = (const float*)stiffness_length.data;
for (int s = first; s < end; ++s) {
    const int i = P[2 * (long)s], j = P[2 * (long)s + 1];
    const vec d = from(position(i), j);
    const vec dv = velocity(j) - velocity(i);
    const float squared = sum(d * d);
    const float inverse = squared > 0.0f ? 1.0f / __builtin_sqrtf(squared) : 0.0f;
    const float stretch = squared * inverse - K[2 * (long)s + 1];
    const vec f = (K[2 * (long)s] * inverse * (stretch + damping_time * inverse * sum(d * dv))) * d;
    add(i, f);
    add(j, -f);
}
"""


@wp.func_native(_TYPES + _TETS)
def add_tet_forces(
    first: int,
    end: int,
    corners: wp.array(dtype=wp.vec4i),
    inv_six_volume: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec4d),
    v: wp.array(dtype=wp.vec4),
    stiffness: float,
    form: int,
    damping_form: int,
    damping: float,
    force: wp.array(dtype=wp.vec4),
):
    """Add the volume forces of tets first to end - 1 to the particles' forces [N]."""
    ...


@wp.func_native(_TYPES + _SPRINGS)
def add_spring_forces(
    first: int,
    end: int,
    pairs: wp.array(dtype=wp.vec2i),
    stiffness_length: wp.array(dtype=wp.vec2),
    x: wp.array(dtype=wp.vec4d),
    v: wp.array(dtype=wp.vec4),
    damping_time: float,
    force: wp.array(dtype=wp.vec4),
):
    """Add the forces of springs first to end - 1 to the particles' forces [N]."""
    ...
