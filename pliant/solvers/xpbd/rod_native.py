"""The direct solves of rods and chains in C++, for the CPU and for CUDA: one tree of segments after the other.

The unknowns of a node are the move of its particle and the turn of the segment that leads to it, both in the world. A
node is tied to the one before it by two conditions, whose Jacobian with respect to that one is minus the identity:

    stretch and shear    e - L d,  e = x_child - x_parent, d = the segment's third axis; Jacobian [1, [e]x]
    bending and twist    phi = turn from where the joint at rest would hold the segment to where it is; Jacobian [0, 1]

From tips to the root each node hands what hangs on it to the one before, as a 6 x 6 mass matrix and an impulse; from
the root to the tips the moves follow. Both conditions have compliance, so nothing is singular. Float64 throughout: the
masses of a long rope and the inertia of a short segment meet in one matrix.
"""

import warp as wp

ROD_WORK = 64
"""Float64 numbers that a node of a rod takes during the solve."""
CHAIN_WORK = 24
"""The same for a node of a chain."""

ROOT = wp.constant(1)
LEAF = wp.constant(2)
LAST_CHILD = wp.constant(4)
JOINT = wp.constant(8)

_COMMON = """
const int* LINK = (const int*)link.data;
const float* SEG = (const float*)segment.data;
const double* X = (const double*)base.data;
char* U_DATA = (char*)move.data;
const long long U_STRIDE = move.strides[0];
auto moved = [&](int i) { return (float*)(U_DATA + U_STRIDE * i); };
const float* IM = (const float*)inv_mass.data;
const float* GONE = (const float*)broken.data;
const float* PULL = (const float*)pull.data;
const double per_square = 1.0 / ((double)dt * (double)dt);
auto dot = [](const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
// symmetric 3 x 3: 00 01 02 11 12 22
auto inverse3 = [](const double* s, double* o) {
    const double c00 = s[3] * s[5] - s[4] * s[4], c01 = s[2] * s[4] - s[1] * s[5], c02 = s[1] * s[4] - s[2] * s[3];
    const double r = 1.0 / (s[0] * c00 + s[1] * c01 + s[2] * c02);
    o[0] = c00 * r;
    o[1] = c01 * r;
    o[2] = c02 * r;
    o[3] = (s[0] * s[5] - s[2] * s[2]) * r;
    o[4] = (s[1] * s[2] - s[0] * s[4]) * r;
    o[5] = (s[0] * s[3] - s[1] * s[1]) * r;
};
auto times3 = [](const double* s, const double* v, double* o) {
    o[0] = s[0] * v[0] + s[1] * v[1] + s[2] * v[2];
    o[1] = s[1] * v[0] + s[3] * v[1] + s[4] * v[2];
    o[2] = s[2] * v[0] + s[4] * v[1] + s[5] * v[2];
};
"""

_ROD = """
const float* COMP = (const float*)compliance.data;
const float* REST = (const float*)joint.data;
const float* Q0 = (const float*)q_start.data;
float* Q = (float*)q.data;
float* LF = (float*)force.data;
float* LT = (float*)torque.data;
auto cross = [](const double* a, const double* b, double* o) {
    o[0] = a[1] * b[2] - a[2] * b[1];
    o[1] = a[2] * b[0] - a[0] * b[2];
    o[2] = a[0] * b[1] - a[1] * b[0];
};
auto load_quat = [](const float* p, double* o) { o[0] = p[0]; o[1] = p[1]; o[2] = p[2]; o[3] = p[3]; };
auto multiply = [](const double* a, const double* b, double* o) {
    o[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    o[1] = a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2];
    o[2] = a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0];
    o[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
};
// a times the conjugate of b
auto from_to = [](const double* b, const double* a, double* o) {
    o[0] = -a[3] * b[0] + a[0] * b[3] - a[1] * b[2] + a[2] * b[1];
    o[1] = -a[3] * b[1] + a[1] * b[3] - a[2] * b[0] + a[0] * b[2];
    o[2] = -a[3] * b[2] + a[2] * b[3] - a[0] * b[1] + a[1] * b[0];
    o[3] = a[3] * b[3] + a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
};
auto third = [](const double* q, double* o) {
    o[0] = 2.0 * (q[0] * q[2] + q[3] * q[1]);
    o[1] = 2.0 * (q[1] * q[2] - q[3] * q[0]);
    o[2] = 1.0 - 2.0 * (q[0] * q[0] + q[1] * q[1]);
};
auto rotate = [&](const double* q, const double* v, double* o) {
    double t[3], c[3];
    cross(q, v, t);
    cross(q, t, c);
    for (int k = 0; k < 3; ++k) o[k] = v[k] + 2.0 * (q[3] * t[k] + c[k]);
};
auto turn_vector = [](const double* q, double* o) {
    const double s = q[3] < 0.0 ? -4.0 / (1.0 - q[3]) : 4.0 / (1.0 + q[3]);
    for (int k = 0; k < 3; ++k) o[k] = s * q[k];
};
// inverse of [[A, B], [B^T, D]]
auto inverse6 = [&](const double* A, const double* B, const double* D, double* Ai, double* Bi, double* Di) {
    double G[9], S[6], T[6];
    inverse3(D, T);
    for (int r = 0; r < 3; ++r) times3(T, B + 3 * r, G + 3 * r);
    S[0] = A[0] - dot(G, B);
    S[1] = A[1] - dot(G, B + 3);
    S[2] = A[2] - dot(G, B + 6);
    S[3] = A[3] - dot(G + 3, B + 3);
    S[4] = A[4] - dot(G + 3, B + 6);
    S[5] = A[5] - dot(G + 6, B + 6);
    inverse3(S, Ai);
    for (int c = 0; c < 3; ++c) {
        Bi[c] = -(Ai[0] * G[c] + Ai[1] * G[3 + c] + Ai[2] * G[6 + c]);
        Bi[3 + c] = -(Ai[1] * G[c] + Ai[3] * G[3 + c] + Ai[4] * G[6 + c]);
        Bi[6 + c] = -(Ai[2] * G[c] + Ai[4] * G[3 + c] + Ai[5] * G[6 + c]);
    }
    auto down = [&](int i, int j) { return G[i] * Bi[j] + G[3 + i] * Bi[3 + j] + G[6 + i] * Bi[6 + j]; };
    Di[0] = T[0] - down(0, 0);
    Di[1] = T[1] - down(0, 1);
    Di[2] = T[2] - down(0, 2);
    Di[3] = T[3] - down(1, 1);
    Di[4] = T[4] - down(1, 2);
    Di[5] = T[5] - down(2, 2);
};
// the product of a 6 x 6 in 21 numbers with (u, v)
auto times6 = [&](const double* M, const double* u, const double* v, double* ou, double* ov) {
    const double *B = M + 6, *D = M + 15;
    times3(M, u, ou);
    times3(D, v, ov);
    for (int k = 0; k < 3; ++k) {
        ou[k] += dot(B + 3 * k, v);
        ov[k] += B[k] * u[0] + B[3 + k] * u[1] + B[6 + k] * u[2];
    }
};
const int WORK = 64;
double* const all = (double*)work.data + (long long)first_work * WORK;
for (int tree = first_tree; tree < end_tree; ++tree) {
    const int first = tree_starts.data[tree], end = tree_starts.data[tree + 1];
    for (int n = end - 1; n >= first; --n) {
        const int* l = LINK + 4 * (long long)n;
        const int b = l[0], p = l[1], flags = l[2], a = l[3];
        double* w = all + (long long)WORK * (n - first);
        const bool leaf = flags & 2, fixed = IM[b] == 0.0f;
        const double mass = fixed ? 1.0 : 1.0 / (double)IM[b];
        double M[21], f[6];
        for (int k = 0; k < 21; ++k) M[k] = leaf ? 0.0 : w[k];
        for (int k = 0; k < 6; ++k) f[k] = leaf ? 0.0 : w[21 + k];
        M[0] += mass;
        M[3] += mass;
        M[5] += mass;
        double* delta = w + 57;
        if (flags & 1) {
            double P[6];
            inverse3(M, P);
            times3(P, f, delta);
            for (int k = 0; k < 6; ++k) delta[k] = fixed || k > 2 ? 0.0 : delta[k];
            continue;
        }
        const float* seg = SEG + 4 * (long long)n;
        const float* comp = COMP + 4 * (long long)n;
        const bool led = fixed && IM[a] == 0.0f;
        double e[3], e0[3], qs[4], d[3];
        for (int k = 0; k < 3; ++k) {
            e0[k] = X[4 * (long long)b + k] - X[4 * (long long)a + k];
            e[k] = e0[k] + ((double)moved(b)[k] - (double)moved(a)[k]);
        }
        load_quat(Q + 4 * (long long)n, qs);
        third(qs, d);
        const float *lf = LF + 3 * (long long)n, *lt = LT + 3 * (long long)n;
        // a pull turns with its segment, which stiffens it against turns: without this a taut rope whips itself
        const double now = -(d[0] * lf[0] + d[1] * lf[1] + d[2] * lf[2]), last = PULL[n] / per_square;
        const double taut = (now > last ? now : last) * seg[0], inertia = seg[1] + taut;
        M[15] += inertia - taut * d[0] * d[0];
        M[16] -= taut * d[0] * d[1];
        M[17] -= taut * d[0] * d[2];
        M[18] += inertia - taut * d[1] * d[1];
        M[19] -= taut * d[1] * d[2];
        M[20] += inertia - taut * d[2] * d[2];
        double P[21];
        if (!fixed) {
            inverse6(M, M + 6, M + 15, P, P + 6, P + 15);
        } else {
            for (int k = 0; k < 21; ++k) P[k] = 0.0;
            if (!led) inverse3(M + 15, P + 15);
        }
        // carried to the other end of the segment: P <- J P J^T, f <- J^-T f with J = [[1, [e]x], [0, 1]]
        {
            double EB[9], ED[9];
            const double *B = P + 6, *D = P + 15;
            const double full[9] = {D[0], D[1], D[2], D[1], D[3], D[4], D[2], D[4], D[5]};
            for (int c = 0; c < 3; ++c) {
                // columns of [e]x D, and of [e]x B^T
                ED[c] = e[1] * full[6 + c] - e[2] * full[3 + c];
                ED[3 + c] = e[2] * full[c] - e[0] * full[6 + c];
                ED[6 + c] = e[0] * full[3 + c] - e[1] * full[c];
                EB[c] = e[1] * B[3 * c + 2] - e[2] * B[3 * c + 1];
                EB[3 + c] = e[2] * B[3 * c] - e[0] * B[3 * c + 2];
                EB[6 + c] = e[0] * B[3 * c + 1] - e[1] * B[3 * c];
            }
            for (int k = 0; k < 9; ++k) P[6 + k] += ED[k];
            // rows of B times [e]x^T are their cross products with e, from the left
            auto turned = [&](int r, int c) {
                const double* row = P + 6 + 3 * r;
                return c == 0 ? e[1] * row[2] - e[2] * row[1]
                              : (c == 1 ? e[2] * row[0] - e[0] * row[2] : e[0] * row[1] - e[1] * row[0]);
            };
            P[0] += EB[0] + turned(0, 0);
            P[1] += EB[1] + turned(0, 1);
            P[2] += EB[2] + turned(0, 2);
            P[3] += EB[4] + turned(1, 1);
            P[4] += EB[5] + turned(1, 2);
            P[5] += EB[8] + turned(2, 2);
            double t[3];
            cross(e, f, t);
            for (int k = 0; k < 3; ++k) f[3 + k] += t[k];
        }
        double S[21], g[6];
        if (GONE[n] != 0.0f) {
            for (int k = 0; k < 21; ++k) S[k] = 0.0;
            for (int k = 0; k < 6; ++k) g[k] = 0.0;
        } else {
            // the conditions with their damping: stress = (C + damping dC/dt) / compliance, by implicit Euler
            const double rate = (double)seg[2] / (double)dt, share = rate / (1.0 + rate);
            const double soft = per_square / (1.0 + rate);
            double qs0[4], spin[4], c[6];
            load_quat(Q0 + 4 * (long long)n, qs0);
            for (int k = 0; k < 3; ++k) c[k] = e[k] - seg[0] * d[k];
            if (rate > 0.0) {
                double back[3];
                from_to(qs0, qs, spin);
                rotate(spin, e0, back);
                for (int k = 0; k < 3; ++k) c[k] -= share * (back[k] - seg[0] * d[k]);
            }
            const double across = comp[1] * soft, along = comp[0] * soft - across;
            double A[21], lam[3] = {lf[0], lf[1], lf[2]};
            const double d_lam = along * dot(d, lam);
            for (int k = 0; k < 3; ++k) c[k] += across * lam[k] + d_lam * d[k];
            for (int k = 0; k < 21; ++k) A[k] = P[k];
            A[0] += across + along * d[0] * d[0];
            A[1] += along * d[0] * d[1];
            A[2] += along * d[0] * d[2];
            A[3] += across + along * d[1] * d[1];
            A[4] += along * d[1] * d[2];
            A[5] += across + along * d[2] * d[2];
            // a joint needs two segments that are whole, one of them free to turn; a clamp does not bend
            bool jointed = (flags & 8) && GONE[p] == 0.0f;
            const bool before_led = jointed && IM[a] == 0.0f && IM[LINK[4 * (long long)p + 3]] == 0.0f;
            if (led && before_led) jointed = false;
            for (int k = 3; k < 6; ++k) c[k] = 0.0;
            if (jointed) {
                const float* comp_p = COMP + 4 * (long long)p;
                double qp[4], rest[4], held[4], off[4], t[3], dt3[3];
                load_quat(Q + 4 * (long long)p, qp);
                load_quat(REST + 4 * (long long)n, rest);
                multiply(qp, rest, held);
                from_to(held, qs, off);
                turn_vector(off, c + 3);
                third(held, dt3);
                for (int k = 0; k < 3; ++k) t[k] = d[k] + dt3[k];
                const double size = dot(t, t);
                const double unit = size > 1e-12 ? 1.0 / size : 0.0;
                if (rate > 0.0) {
                    double held0[4], off0[4], turn0[3], back[3];
                    load_quat(Q0 + 4 * (long long)p, qp);
                    multiply(qp, rest, held0);
                    from_to(held0, qs0, off0);
                    turn_vector(off0, turn0);
                    rotate(spin, turn0, back);
                    for (int k = 0; k < 3; ++k) c[3 + k] -= share * back[k];
                }
                double bend = (led ? 0.0 : comp[2]) + (before_led ? 0.0 : comp_p[2]);
                double twist = (led ? 0.0 : comp[3]) + (before_led ? 0.0 : comp_p[3]);
                bend *= soft;
                twist = (twist * soft - bend) * unit;
                for (int k = 0; k < 3; ++k) lam[k] = lt[k];
                const double t_lam = twist * dot(t, lam);
                for (int k = 0; k < 3; ++k) c[3 + k] += bend * lam[k] + t_lam * t[k];
                A[15] += bend + twist * t[0] * t[0];
                A[16] += twist * t[0] * t[1];
                A[17] += twist * t[0] * t[2];
                A[18] += bend + twist * t[1] * t[1];
                A[19] += twist * t[1] * t[2];
                A[20] += bend + twist * t[2] * t[2];
                inverse6(A, A + 6, A + 15, S, S + 6, S + 15);
            } else {
                for (int k = 6; k < 21; ++k) S[k] = 0.0;
                inverse3(A, S);
            }
            double pu[3], pv[3];
            times6(P, f, f + 3, pu, pv);
            for (int k = 0; k < 3; ++k) {
                c[k] += pu[k];
                if (jointed) c[3 + k] += pv[k];
            }
            times6(S, c, c + 3, g, g + 3);
        }
        double* before = all + (long long)WORK * (p - first);
        if (flags & 4) {
            for (int k = 0; k < 21; ++k) before[k] = S[k];
            for (int k = 0; k < 6; ++k) before[21 + k] = g[k];
        } else {
            for (int k = 0; k < 21; ++k) before[k] += S[k];
            for (int k = 0; k < 6; ++k) before[21 + k] += g[k];
        }
        for (int k = 0; k < 21; ++k) w[k] = P[k];
        for (int k = 0; k < 6; ++k) w[21 + k] = f[k];
        for (int k = 0; k < 21; ++k) w[27 + k] = S[k];
        for (int k = 0; k < 6; ++k) w[48 + k] = g[k];
        for (int k = 0; k < 3; ++k) w[54 + k] = e[k];
    }
    for (int n = first; n < end; ++n) {
        const int* l = LINK + 4 * (long long)n;
        const int b = l[0];
        double* w = all + (long long)WORK * (n - first);
        double* delta = w + 57;
        const bool fixed = IM[b] == 0.0f;
        if (!(l[2] & 1)) {
            const double* above = all + (long long)WORK * (l[1] - first) + 57;
            double u[3], v[3], y[3], lever[3];
            times6(w + 27, above, above + 3, u, v);
            for (int k = 0; k < 3; ++k) {
                u[k] -= w[48 + k];
                v[k] -= w[51 + k];
                LF[3 * (long long)n + k] += (float)u[k];
                LT[3 * (long long)n + k] += (float)v[k];
                u[k] += w[21 + k];
                v[k] += w[24 + k];
            }
            times6(w, u, v, y, delta + 3);
            cross(w + 54, delta + 3, lever);
            for (int k = 0; k < 3; ++k) delta[k] = fixed ? 0.0 : y[k] - lever[k];
            // a quarter of the turn is a modified Rodrigues vector
            const double s[3] = {0.25 * delta[3], 0.25 * delta[4], 0.25 * delta[5]};
            const double squared = dot(s, s);
            const double turn[4] = {2.0 * s[0], 2.0 * s[1], 2.0 * s[2], 1.0 - squared};
            double qs[4], r[4];
            float* stored = Q + 4 * (long long)n;
            load_quat(stored, qs);
            multiply(turn, qs, r);
            const double size = 1.0 / sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
            for (int k = 0; k < 4; ++k) stored[k] = (float)(size * r[k]);
        }
        if (!fixed)
            for (int k = 0; k < 3; ++k) moved(b)[k] += (float)delta[k];
    }
}
"""

_CHAIN = """
float* LF = (float*)tension.data;
auto mass_of = [&](int i, int j) {
    const double w = IM[i] > IM[j] ? IM[i] : IM[j];
    return w > 0.0 ? 1.0 / w : 1.0;
};
const int WORK = 24;
double* const all = (double*)work.data + (long long)first_work * WORK;
for (int tree = first_tree; tree < end_tree; ++tree) {
    const int first = tree_starts.data[tree], end = tree_starts.data[tree + 1];
    for (int n = end - 1; n >= first; --n) {
        const int* l = LINK + 4 * (long long)n;
        const int b = l[0], flags = l[2], a = l[3];
        double* w = all + (long long)WORK * (n - first);
        const bool leaf = flags & 2, fixed = IM[b] == 0.0f;
        double P[6], f[3], z[3] = {0.0, 0.0, 0.0}, g_out[3];
        for (int k = 0; k < 3; ++k) f[k] = leaf ? 0.0 : w[6 + k];
        if (fixed) {
            for (int k = 0; k < 6; ++k) P[k] = 0.0;
        } else if (leaf) {
            for (int k = 0; k < 6; ++k) P[k] = 0.0;
            P[0] = P[3] = P[5] = IM[b];
        } else {
            const double mass = 1.0 / (double)IM[b];
            double M[6];
            for (int k = 0; k < 6; ++k) M[k] = w[k];
            M[0] += mass;
            M[3] += mass;
            M[5] += mass;
            inverse3(M, P);
            times3(P, f, z);
        }
        if (flags & 1) {
            for (int k = 0; k < 3; ++k) w[21 + k] = z[k];
            continue;
        }
        const float* seg = SEG + 4 * (long long)n;
        double e[3], e0[3];
        for (int k = 0; k < 3; ++k) {
            e0[k] = X[4 * (long long)b + k] - X[4 * (long long)a + k];
            e[k] = e0[k] + ((double)moved(b)[k] - (double)moved(a)[k]);
        }
        const double rate = (double)seg[2] / (double)dt, soft = (double)seg[1] * per_square / (1.0 + rate);
        const double size = sqrt(dot(e, e));
        double c = size - seg[0];
        if (rate > 0.0) c -= rate / (1.0 + rate) * (sqrt(dot(e0, e0)) - seg[0]);
        // a link without length has no direction: it opens downwards
        double d[3] = {0.0, -1.0, 0.0};
        if (size > 1e-6 * seg[0])
            for (int k = 0; k < 3; ++k) d[k] = e[k] / size;
        c += soft * LF[n];
        // a pull turns with its link, which is a spring across it: without this a taut chain whips itself
        const double now = -(double)LF[n], last = PULL[n] / per_square, slack = 1e-6 * mass_of(b, a);
        const double taut = now > last ? now : last, loose = seg[0] / (taut > slack * seg[0] ? taut : slack * seg[0]);
        const double along = soft - loose;
        double S[6], g[3] = {c * d[0] + z[0], c * d[1] + z[1], c * d[2] + z[2]};
        const double A[6] = {P[0] + loose + along * d[0] * d[0], P[1] + along * d[0] * d[1],
                             P[2] + along * d[0] * d[2],         P[3] + loose + along * d[1] * d[1],
                             P[4] + along * d[1] * d[2],         P[5] + loose + along * d[2] * d[2]};
        inverse3(A, S);
        // a link between two pins holds nothing
        if (GONE[n] != 0.0f || (fixed && IM[a] == 0.0f))
            for (int k = 0; k < 6; ++k) S[k] = 0.0;
        times3(S, g, g_out);
        double* before = all + (long long)WORK * (l[1] - first);
        if (flags & 4) {
            for (int k = 0; k < 6; ++k) before[k] = S[k];
            for (int k = 0; k < 3; ++k) before[6 + k] = g_out[k];
        } else {
            for (int k = 0; k < 6; ++k) before[k] += S[k];
            for (int k = 0; k < 3; ++k) before[6 + k] += g_out[k];
        }
        for (int k = 0; k < 6; ++k) {
            w[k] = P[k];
            w[12 + k] = S[k];
        }
        for (int k = 0; k < 3; ++k) {
            w[6 + k] = z[k];
            w[9 + k] = d[k];
            w[18 + k] = g_out[k];
        }
    }
    for (int n = first; n < end; ++n) {
        const int* l = LINK + 4 * (long long)n;
        double* w = all + (long long)WORK * (n - first);
        double* delta = w + 21;
        if (!(l[2] & 1)) {
            double h[3], y[3];
            times3(w + 12, all + (long long)WORK * (l[1] - first) + 21, h);
            for (int k = 0; k < 3; ++k) h[k] -= w[18 + k];
            LF[n] += (float)dot(w + 9, h);
            times3(w, h, y);
            for (int k = 0; k < 3; ++k) delta[k] = w[6 + k] + y[k];
        }
        for (int k = 0; k < 3; ++k) moved(l[0])[k] += (float)delta[k];
    }
}
"""


@wp.func_native(_COMMON + _ROD)
def solve_rod_trees(
    first_tree: int,
    end_tree: int,
    first_work: int,
    tree_starts: wp.array(dtype=int),
    link: wp.array(dtype=wp.vec4i),
    segment: wp.array(dtype=wp.vec4),
    compliance: wp.array(dtype=wp.vec4),
    joint: wp.array(dtype=wp.quat),
    broken: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    base: wp.array(dtype=wp.vec4d),
    q_start: wp.array(dtype=wp.quat),
    pull: wp.array(dtype=float),
    dt: float,
    work: wp.array(dtype=wp.float64),
    move: wp.array(dtype=wp.vec3),
    q: wp.array(dtype=wp.quat),
    force: wp.array(dtype=wp.vec3),
    torque: wp.array(dtype=wp.vec3),
):
    """One Newton step of trees first_tree to end_tree - 1: moves, orientations and multipliers are changed in place."""
    ...


@wp.func_native(_COMMON + _CHAIN)
def solve_chain_trees(
    first_tree: int,
    end_tree: int,
    first_work: int,
    tree_starts: wp.array(dtype=int),
    link: wp.array(dtype=wp.vec4i),
    segment: wp.array(dtype=wp.vec4),
    broken: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    base: wp.array(dtype=wp.vec4d),
    pull: wp.array(dtype=float),
    dt: float,
    work: wp.array(dtype=wp.float64),
    move: wp.array(dtype=wp.vec3),
    tension: wp.array(dtype=float),
):
    """The same for links that only keep their length: one condition each."""
    ...
