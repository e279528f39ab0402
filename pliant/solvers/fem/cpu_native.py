"""The hot loops of the CPU in C++: one vector register holds a whole block of the matrix, which Warp's own code does
not do. The formulas are those of `row_kernels.py` and `solve_kernels.py`, and tests compare both.

Arrays that are read four or sixteen floats at a time have room behind their last item.
"""

import warp as wp

_TYPES = """
typedef float four __attribute__((ext_vector_type(4), aligned(4)));
typedef float sixteen __attribute__((ext_vector_type(16), aligned(4)));
auto rows_of = [](four a) { return __builtin_shufflevector(a, a, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3); };
auto columns_of = [](four a) { return __builtin_shufflevector(a, a, 0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 3, 3, 3, 3, 3, 3); };
"""

_PRODUCT = """
const float* B = (const float*)block.data;
const float* D = (const float*)diagonal.data;
const float* Z = (const float*)z.data;
const float* R = (const float*)r.data;
float* W = (float*)w.data;
const int* starts = (const int*)row_starts.data;
const int* other = (const int*)row_other.data;
double rz = 0.0, wz = 0.0;
for (int i = first; i < end; ++i) {
    float* wi = W + 3 * (long)i;
    if (awake.data[body.data[i]] == 0) {
        wi[0] = wi[1] = wi[2] = 0.0f;
        continue;
    }
    const four zi = *(const four*)(Z + 3 * (long)i);
    sixteen one = *(const sixteen*)(D + 9 * (long)i) * columns_of(zi), two = (sixteen)(0.0f);
    int s = starts[i];
    const int last = starts[i + 1];
    for (; s + 1 < last; s += 2) {
        one += *(const sixteen*)(B + 9 * (long)s) * columns_of(*(const four*)(Z + 3 * (long)other[s]));
        two += *(const sixteen*)(B + 9 * (long)s + 9) * columns_of(*(const four*)(Z + 3 * (long)other[s + 1]));
    }
    if (s < last) one += *(const sixteen*)(B + 9 * (long)s) * columns_of(*(const four*)(Z + 3 * (long)other[s]));
    one += two;
    const float x = one[0] + one[1] + one[2], y = one[3] + one[4] + one[5], t = one[6] + one[7] + one[8];
    wi[0] = x;
    wi[1] = y;
    wi[2] = t;
    const float* ri = R + 3 * (long)i;
    rz += (double)(ri[0] * zi[0] + ri[1] * zi[1] + ri[2] * zi[2]);
    wz += (double)(x * zi[0] + y * zi[1] + t * zi[2]);
}
((double*)parts.data)[3 * (long)part] = rz;
((double*)parts.data)[3 * (long)part + 1] = wz;
"""

_ADVANCE = """
if (going.data[0] == 0) return;
const float alpha = (float)scalars.data[1], beta = (float)scalars.data[2];
const float* M = (const float*)inverse.data;
const float* W = (const float*)w.data;
const float* N = (const float*)normal.data;
float *Z = (float*)z.data, *D = (float*)d.data, *Q = (float*)q.data, *G = (float*)gain.data, *R = (float*)r.data;
float* F = (float*)free.data;
double size = 0.0;
for (long k = 3 * (long)first; k < 3 * (long)end; ++k) {
    const float dk = Z[k] + (beta > 0.0f ? beta * D[k] : 0.0f);
    const float qk = W[k] + (beta > 0.0f ? beta * Q[k] : 0.0f);
    D[k] = dk;
    Q[k] = qk;
    G[k] += alpha * dk;
    R[k] -= alpha * qk;
}
for (int i = first; i < end; ++i) {
    const long k = 3 * (long)i;
    const int h = how.data[i];
    float a = R[k], b = R[k + 1], c = R[k + 2];
    const float* m = M + 9 * (long)i;
    const bool slides = h == 1 || h == 3;
    if (slides) {
        const float t = a * N[k] + b * N[k + 1] + c * N[k + 2];
        a -= t * N[k];
        b -= t * N[k + 1];
        c -= t * N[k + 2];
    }
    float x = m[0] * a + m[1] * b + m[2] * c;
    float y = m[3] * a + m[4] * b + m[5] * c;
    float u = m[6] * a + m[7] * b + m[8] * c;
    if (slides) {
        const float t = x * N[k] + y * N[k + 1] + u * N[k + 2];
        x -= t * N[k];
        y -= t * N[k + 1];
        u -= t * N[k + 2];
    }
    const bool moves = inv_mass.data[i] > 0.0f && h != 2;
    if (!moves) a = b = c = x = y = u = 0.0f;
    F[k] = a;
    F[k + 1] = b;
    F[k + 2] = c;
    Z[k] = x;
    Z[k + 1] = y;
    Z[k + 2] = u;
    size += (double)(a * x + b * y + c * u);
}
((double*)parts.data)[3 * (long)part + 2] = size;
"""

_RESTRICT = """
const float* S = (const float*)source.data;
const int* from = (const int*)items.data;
for (int j = first; j < end; ++j) {
    four total = (four)(0.0f);
    for (int s = starts.data[j]; s < starts.data[j + 1]; ++s)
        total += weight.data[s] * *(const four*)(S + 3 * (long)from[s]);
    float* r = (float*)r_out.data + 3 * (long)j;
    float* z = (float*)z_out.data + 3 * (long)j;
    for (int k = 0; k < 3; ++k) {
        r[k] = total[k];
        z[k] = inverse.data[j] * total[k];
    }
}
"""

_CORRECT = """
if (going.data[0] == 0) return;
const float* C = (const float*)corrections.data;
const float* N = (const float*)normal.data;
for (int i = first; i < end; ++i) {
    float* zi = (float*)z.data + 3 * (long)i;
    const int h = how.data[i];
    if (!(inv_mass.data[i] > 0.0f) || h == 2) continue;
    four total = {zi[0], zi[1], zi[2], 0.0f};
    for (int s = starts.data[i - shift]; s < starts.data[i - shift + 1]; ++s)
        total += weight.data[s] * *(const four*)(C + 3 * (long)nodes.data[s]);
    if (h == 1 || h == 3) {
        const float* n = N + 3 * (long)i;
        const float t = total[0] * n[0] + total[1] * n[1] + total[2] * n[2];
        for (int k = 0; k < 3; ++k) total[k] -= t * n[k];
    }
    for (int k = 0; k < 3; ++k) zi[k] = total[k];
}
"""

_EDGES = """
const float* T = (const float*)gradient.data;
const int* starts = (const int*)edge_starts.data;
const int* codes = (const int*)edge_tets.data;
const int* slots = (const int*)edge_slots.data;
float* B = (float*)block.data;
const sixteen one = {1.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 1.0f};
for (int e = first; e < end; ++e) {
    if (awake.data[body.data[edge_rows.data[e]]] == 0) continue;
    sixteen sum = (sixteen)(0.0f);
    float middle = 0.0f;
    for (int s = starts[e]; s < starts[e + 1]; ++s) {
        const int code = codes[s];
        const float* t = T + (long)(code & ~15);
        const four a = *(const four*)(t + (code & 12)), b = *(const four*)(t + 4 * (code & 3));
        const float lame = t[3], straight = t[7], crossed = t[11];
        sum += (lame * rows_of(a)) * columns_of(b) + (crossed * rows_of(b)) * columns_of(a);
        middle += straight * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
    }
    sum += middle * one;
    float* ij = B + 9 * (long)slots[2 * (long)e];
    float* ji = B + 9 * (long)slots[2 * (long)e + 1];
    const sixteen turned = __builtin_shufflevector(sum, sum, 0, 3, 6, 1, 4, 7, 2, 5, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int k = 0; k < 9; ++k) {
        ij[k] = sum[k];
        ji[k] = turned[k];
    }
}
"""


@wp.func_native(_TYPES + _PRODUCT)
def product_and_dots(
    part: int,
    first: int,
    end: int,
    row_starts: wp.array(dtype=int),
    row_other: wp.array(dtype=int),
    body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    diagonal: wp.array(dtype=wp.mat33),
    block: wp.array(dtype=wp.mat33),
    r: wp.array(dtype=wp.vec3),
    z: wp.array(dtype=wp.vec3),
    w: wp.array(dtype=wp.vec3),
    parts: wp.array(dtype=wp.vec3d),
):
    """w = A z of the rows first to end - 1, and their part of r.z and w.z."""
    ...


@wp.func_native(_ADVANCE)
def advance_rows(
    part: int,
    first: int,
    end: int,
    inv_mass: wp.array(dtype=float),
    how: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
    inverse: wp.array(dtype=wp.mat33),
    w: wp.array(dtype=wp.vec3),
    scalars: wp.array(dtype=wp.float64),
    going: wp.array(dtype=int),
    z: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec3),
    q: wp.array(dtype=wp.vec3),
    gain: wp.array(dtype=wp.vec3),
    r: wp.array(dtype=wp.vec3),
    free: wp.array(dtype=wp.vec3),
    parts: wp.array(dtype=wp.vec3d),
):
    """The move of conjugate gradients for the particles first to end - 1."""
    ...


@wp.func_native(_TYPES + _EDGES)
def gather_edges(
    first: int,
    end: int,
    edge_starts: wp.array(dtype=int),
    edge_tets: wp.array(dtype=int),
    edge_slots: wp.array(dtype=wp.vec2i),
    edge_rows: wp.array(dtype=int),
    body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    gradient: wp.array(dtype=wp.mat44),
    block: wp.array(dtype=wp.mat33),
):
    """The blocks of the edges first to end - 1 of corotated tets."""
    ...


@wp.func_native(_TYPES + _RESTRICT)
def restrict_nodes(
    first: int,
    end: int,
    starts: wp.array(dtype=int),
    items: wp.array(dtype=int),
    weight: wp.array(dtype=float),
    source: wp.array(dtype=wp.vec3),
    inverse: wp.array(dtype=float),
    r_out: wp.array(dtype=wp.vec3),
    z_out: wp.array(dtype=wp.vec3),
):
    """Residuals and own corrections of the nodes first to end - 1 of a lattice."""
    ...


@wp.func_native(_TYPES + _CORRECT)
def correct_rows(
    first: int,
    end: int,
    shift: int,
    starts: wp.array(dtype=int),
    nodes: wp.array(dtype=int),
    weight: wp.array(dtype=float),
    corrections: wp.array(dtype=wp.vec3),
    inv_mass: wp.array(dtype=float),
    how: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
    going: wp.array(dtype=int),
    z: wp.array(dtype=wp.vec3),
):
    """Add what the first lattice corrects to the particles first to end - 1."""
    ...
