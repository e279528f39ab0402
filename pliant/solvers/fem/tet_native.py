"""The loop over corotated tets on the CPU in C++: sixteen tets at a time, a lane of a vector register for each.

The formulas are those of `corotated_tets`. Rotations are found by Newton's method of `physics/polar.py` without its
safeguards; a tet whose search would need them is marked, and left to the kernel.
"""

import warp as wp

_TETS = """
typedef float lanes __attribute__((ext_vector_type(16)));
typedef int masks __attribute__((ext_vector_type(16)));
const float* X = (const float*)x.data;
const float* C = (const float*)carry.data;
const float* I = (const float*)rest_inv.data;
const float* M = (const float*)moduli.data;
float* Q = (float*)turn.data;
float* G = (float*)gradient.data;
float* F = (float*)force.data;
int marked = 0;
const lanes zero = (lanes)(0.0f), unit = (lanes)(1.0f);
auto root = [](lanes a) { return __builtin_elementwise_sqrt(a); };
auto most = [](lanes a, lanes b) { return __builtin_elementwise_max(a, b); };
for (int t0 = first; t0 < end; t0 += 16) {
    alignas(64) float e[9][16], b[9][16], q[4][16], m[3][16], v[16];
    for (int l = 0; l < 16; ++l) {
        const long t = t0 + l < end ? t0 + l : end - 1;
        const int* c = (const int*)corners.data + 4 * t;
        const float *x0 = X + 3 * (long)c[0], *c0 = C + 3 * (long)c[0];
        for (int k = 0; k < 3; ++k) {
            const float *xk = X + 3 * (long)c[k + 1], *ck = C + 3 * (long)c[k + 1];
            for (int a = 0; a < 3; ++a) e[3 * a + k][l] = (xk[a] - x0[a]) + (ck[a] - c0[a]);
        }
        for (int k = 0; k < 9; ++k) b[k][l] = I[9 * t + k];
        for (int k = 0; k < 4; ++k) q[k][l] = Q[4 * t + k];
        const float* mod = M + 4 * (long)tet_body.data[t];
        for (int k = 0; k < 3; ++k) m[k][l] = mod[k];
        v[l] = volume.data[t];
    }
    lanes B[9], f[9], r[9];
    for (int k = 0; k < 9; ++k) B[k] = *(const lanes*)b[k];
    for (int a = 0; a < 3; ++a)
        for (int k = 0; k < 3; ++k) {
            lanes sum = *(const lanes*)e[3 * a] * B[k];
            sum += *(const lanes*)e[3 * a + 1] * B[3 + k];
            f[3 * a + k] = sum + *(const lanes*)e[3 * a + 2] * B[6 + k];
        }
    lanes squares = zero;
    for (int k = 0; k < 9; ++k) squares += f[k] * f[k];
    const lanes size = root(squares);
    const lanes scale = unit / most(size, (lanes)(1e-30f));
    lanes qx = *(const lanes*)q[0], qy = *(const lanes*)q[1], qz = *(const lanes*)q[2], qw = *(const lanes*)q[3];
    auto matrix = [&]() {
        const lanes x2 = 2.0f * qx, y2 = 2.0f * qy, z2 = 2.0f * qz;
        r[0] = unit - (y2 * qy + z2 * qz);
        r[1] = x2 * qy - z2 * qw;
        r[2] = x2 * qz + y2 * qw;
        r[3] = x2 * qy + z2 * qw;
        r[4] = unit - (x2 * qx + z2 * qz);
        r[5] = y2 * qz - x2 * qw;
        r[6] = x2 * qz - y2 * qw;
        r[7] = y2 * qz + x2 * qw;
        r[8] = unit - (x2 * qx + y2 * qy);
    };
    masks bad = !(size > 1e-15f && size < 1e15f), moving = bad;
    for (int k = 0; k < 4; ++k) {
        matrix();
        lanes s[9];
        for (int a = 0; a < 3; ++a)
            for (int c = 0; c < 3; ++c)
                s[3 * a + c] = (r[a] * f[c] + r[3 + a] * f[3 + c] + r[6 + a] * f[6 + c]) * scale;
        const lanes g0 = s[7] - s[5], g1 = s[2] - s[6], g2 = s[3] - s[1];
        const lanes tr = s[0] + s[4] + s[8] + 1e-5f;
        const lanes h00 = tr - s[0], h11 = tr - s[4], h22 = tr - s[8];
        const lanes h10 = -0.5f * (s[1] + s[3]), h20 = -0.5f * (s[2] + s[6]), h21 = -0.5f * (s[5] + s[7]);
        const lanes l10 = h10 / h00, l20 = h20 / h00;
        const lanes d1 = h11 - l10 * h10;
        const lanes p21 = h21 - l20 * h10;
        const lanes l21 = p21 / d1;
        const lanes d2 = h22 - l20 * h20 - l21 * p21;
        bad |= !(h00 > 1e-3f && d1 > 1e-3f && d2 > 1e-3f);
        const lanes y1 = g1 - l10 * g0;
        const lanes y2 = g2 - l20 * g0 - l21 * y1;
        const lanes w2 = y2 / d2;
        const lanes w1 = y1 / d1 - l21 * w2;
        const lanes w0 = g0 / h00 - l10 * w1 - l20 * w2;
        const lanes ax = 0.5f * w0, ay = 0.5f * w1, az = 0.5f * w2;
        const lanes nx = qw * ax + qx + qy * az - qz * ay;
        const lanes ny = qw * ay + qy + qz * ax - qx * az;
        const lanes nz = qw * az + qz + qx * ay - qy * ax;
        const lanes nw = qw - qx * ax - qy * ay - qz * az;
        const lanes inv = unit / root(nx * nx + ny * ny + nz * nz + nw * nw);
        qx = nx * inv;
        qy = ny * inv;
        qz = nz * inv;
        qw = nw * inv;
        const lanes step = w0 * w0 + w1 * w1 + w2 * w2;
        // steps shrink quadratically: after one this small there is none left that float32 knows
        moving = !(step < 1e-7f);
        int still = 0;
        for (int l = 0; l < 16; ++l) still |= moving[l] & ~bad[l];
        if (!still) break;
    }
    bad |= moving;
    matrix();
    lanes trace = zero;
    for (int k = 0; k < 9; ++k) trace += r[k] * f[k];
    const lanes la = *(const lanes*)m[0], mu = *(const lanes*)m[1], damping = *(const lanes*)m[2];
    const lanes V = *(const lanes*)v;
    const lanes press = la * (trace - 3.0f);
    lanes P[9], T[9], H[9];
    for (int k = 0; k < 9; ++k) P[k] = (-V) * (2.0f * mu * (f[k] - r[k]) + press * r[k]);
    for (int a = 0; a < 3; ++a)
        for (int c = 0; c < 3; ++c) {
            H[3 * a + c] = B[3 * a] * P[3 * c] + B[3 * a + 1] * P[3 * c + 1] + B[3 * a + 2] * P[3 * c + 2];
            T[3 * a + c] = B[3 * a] * r[3 * c] + B[3 * a + 1] * r[3 * c + 1] + B[3 * a + 2] * r[3 * c + 2];
        }
    const lanes mean = trace * (1.0f / 3.0f);
    const lanes spread = root(most(squares - trace * mean, zero) * (1.0f / 6.0f));
    const lanes k = press - 2.0f * mu;
    const lanes sum = 2.0f * (mean + (k > 0.0f ? spread : -spread));
    lanes half = most(mu + k / most(sum, (lanes)(0.1f)), zero);
    half = sum > 0.1f ? half : zero;
    const lanes weight = V * (dt * (dt + damping));
    const lanes c0 = weight * la, c1 = weight * (mu + half), c2 = weight * (mu - half);
    alignas(64) float out[25][16], rot[4][16];
    for (int a = 0; a < 9; ++a) *(lanes*)out[a] = T[a];
    for (int a = 0; a < 9; ++a) *(lanes*)out[9 + a] = H[a];
    *(lanes*)out[18] = -(T[0] + T[3] + T[6]);
    *(lanes*)out[19] = -(T[1] + T[4] + T[7]);
    *(lanes*)out[20] = -(T[2] + T[5] + T[8]);
    *(lanes*)out[21] = c0;
    *(lanes*)out[22] = c1;
    *(lanes*)out[23] = c2;
    *(lanes*)rot[0] = qx;
    *(lanes*)rot[1] = qy;
    *(lanes*)rot[2] = qz;
    *(lanes*)rot[3] = qw;
    for (int l = 0; l < 16 && t0 + l < end; ++l) {
        const long t = t0 + l;
        if (awake.data[tet_body.data[t]] == 0) {
            mark.data[t] = 0;
            continue;
        }
        mark.data[t] = bad[l] ? 1 : 0;
        if (bad[l]) {
            marked += 1;
            continue;
        }
        float* g = G + 16 * t;
        for (int a = 0; a < 3; ++a) {
            g[a] = out[18 + a][l];
            g[4 * a + 3] = out[21 + a][l];
            for (int c = 0; c < 3; ++c) g[4 * a + 4 + c] = out[3 * a + c][l];
        }
        for (int a = 0; a < 9; ++a) F[9 * t + a] = out[9 + a][l];
        for (int a = 0; a < 4; ++a) Q[4 * t + a] = rot[a][l];
    }
}
return marked;
"""


@wp.func_native(_TETS)
def turn_tets(
    first: int,
    end: int,
    corners: wp.array(dtype=wp.vec4i),
    tet_body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    volume: wp.array(dtype=float),
    rest_inv: wp.array(dtype=wp.mat33),
    moduli: wp.array(dtype=wp.vec4),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    dt: float,
    turn: wp.array(dtype=wp.quat),
    gradient: wp.array(dtype=wp.mat44),
    force: wp.array(dtype=wp.mat33),
    mark: wp.array(dtype=wp.uint8),
) -> int:
    """Forces and turned gradients of the tets first to end - 1; returns how many are marked."""
    ...
