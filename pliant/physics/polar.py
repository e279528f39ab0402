"""The rotation nearest to a 3x3 matrix, in float32, found from the last one; and the spectral norm of a matrix."""

import warp as wp

MOST_TURNS = wp.constant(60)


@wp.func
def solve_spd(h: wp.mat33, g: wp.vec3, least: float) -> wp.vec4:
    """h^-1 g by elimination and 1, or zeros if a pivot is not above `least`: h is not safely positive definite."""
    bad = wp.vec4(0.0, 0.0, 0.0, 0.0)
    if not (h[0, 0] > least):
        return bad
    l10 = h[1, 0] / h[0, 0]
    l20 = h[2, 0] / h[0, 0]
    d1 = h[1, 1] - l10 * h[1, 0]
    if not (d1 > least):
        return bad
    h21 = h[2, 1] - l20 * h[1, 0]
    l21 = h21 / d1
    d2 = h[2, 2] - l20 * h[2, 0] - l21 * h21
    if not (d2 > least):
        return bad
    y1 = g[1] - l10 * g[0]
    y2 = g[2] - l20 * g[0] - l21 * y1
    z = y2 / d2
    y = y1 / d1 - l21 * z
    x = g[0] / h[0, 0] - l10 * y - l20 * z
    return wp.vec4(x, y, z, 1.0)


@wp.func
def turn_by(w: wp.vec3) -> wp.quat:
    """A rotation about w by 2 atan(|w| / 2), which is |w| for small ones [rad]."""
    return wp.normalize(wp.quat(0.5 * w[0], 0.5 * w[1], 0.5 * w[2], 1.0))


@wp.func
def softest(h: wp.mat33) -> wp.vec3:
    """About the direction in which a symmetric matrix of norm at most 2 is least: a column of a power of 2.1 - h."""
    m = 2.1 * wp.identity(n=3, dtype=float) - h
    for _ in range(12):
        m = m * m
        m = m / wp.trace(m)
    best = wp.vec3(m[0, 0], m[1, 0], m[2, 0])
    if m[1, 1] > m[0, 0] and m[1, 1] >= m[2, 2]:
        best = wp.vec3(m[0, 1], m[1, 1], m[2, 1])
    elif m[2, 2] > m[0, 0]:
        best = wp.vec3(m[0, 2], m[1, 2], m[2, 2])
    return best


@wp.func
def nearest_rotation(moment: wp.mat33, last: wp.quat) -> wp.quat:
    """The rotation R with the largest tr(R^T A), starting from the last one.

    R^T A is then symmetric: for A = sum of w_i p_i q_i^T a pull towards R q_i exerts no torque. For an invertible A
    with a positive determinant R is its polar factor. Newton on the rotation, R <- R exp([w]), with the gradient g =
    axial part of B = R^T A and the curvature H = tr(B) - sym(B), a little of the identity added, so that points on a
    line, which leave a turn about it open, are no special case. Where H is not positive definite it is shifted, which
    climbs still, and a point that only looks like a maximum (half a turn off) is left by a fixed turn. Points in a
    plane and inversion are no special cases; a matrix of zeros, or one that is not finite, keeps the last rotation.
    (Mueller et al. 2016, A robust method to extract the rotational part of deformations, start from the last rotation
    too, and climb by the gradient.)
    """
    r = last
    size = wp.sqrt(wp.ddot(moment, moment))
    if not (size > 1.0e-30 and size < 1.0e30):
        return r
    a = moment / size
    one = wp.identity(n=3, dtype=float)
    k = int(0)
    while k < MOST_TURNS:
        k += 1
        b = wp.transpose(wp.quat_to_matrix(r)) * a
        g = wp.vec3(b[2, 1] - b[1, 2], b[0, 2] - b[2, 0], b[1, 0] - b[0, 1])
        h = wp.trace(b) * one - 0.5 * (b + wp.transpose(b))
        found = solve_spd(h + 1.0e-5 * one, g, 1.0e-6)
        w = wp.vec3(found[0], found[1], found[2])
        # float32 leaves about this much of a slope at the top
        there = found[3] != 0.0 and wp.length(g) < 4.0e-7
        far = float(1.0)
        if found[3] == 0.0:
            # the least shift that will do climbs fastest; 2 is always enough for a matrix of norm 1
            shifted = solve_spd(h + 4.0e-4 * one, g, 1.0e-5)
            saddle = shifted[3] == 0.0
            if shifted[3] == 0.0:
                shifted = solve_spd(h + 0.1 * one, g, 0.01)
            if shifted[3] == 0.0:
                shifted = solve_spd(h + 0.5 * one, g, 0.01)
            if shifted[3] == 0.0:
                shifted = solve_spd(h + 2.1 * one, g, 0.0)
            w = wp.vec3(shifted[0], shifted[1], shifted[2])
            if saddle:
                if wp.length(w) < 0.02:
                    w = softest(h)
                # about an axis n the trace is f + g.n sin - n.Hn (1 - cos): go to its very top, so that nothing circles
                n = wp.normalize(w)
                angle = wp.atan2(wp.dot(g, n), wp.dot(n, h * n))
                w = 2.0 * wp.tan(0.5 * wp.clamp(angle, -3.1, 3.1)) * n
                far = float(200.0)
        length = wp.length(w)
        if length > far:
            w = (far / length) * w
        if there:
            k = MOST_TURNS
        else:
            r = wp.normalize(r * turn_by(w))
            if length < 2.0e-6:
                k = MOST_TURNS
    return r


@wp.func
def spectral_norm(m: wp.mat33) -> float:
    """The largest factor by which a matrix stretches a vector: the root of the largest eigenvalue of m^T m, by the
    trigonometric solution of its characteristic equation."""
    s = wp.transpose(m) * m
    mean = wp.trace(s) / 3.0
    if not (mean > 1.0e-30):
        return 0.0
    s = s / mean
    d = s - wp.identity(n=3, dtype=float)
    spread = wp.sqrt(wp.ddot(d, d) / 6.0)
    if spread < 1.0e-4:
        return wp.sqrt(mean * (1.0 + 2.0 * spread))
    half = wp.clamp(0.5 * wp.determinant(d / spread), -1.0, 1.0)
    return wp.sqrt(mean * (1.0 + 2.0 * spread * wp.cos(wp.acos(half) / 3.0)))
