"""The rotation that fits one set of points to another best, found from the last one."""

import warp as wp

MOST_ITERATIONS = wp.constant(100)


@wp.func
def _solved(h: wp.mat33d, g: wp.vec3d, least: wp.float64) -> wp.vec4d:
    """h^-1 g by Cholesky and 1, or zeros if a pivot is below `least`: h is not safely positive definite."""
    bad = wp.vec4d(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0), wp.float64(0.0))
    if h[0, 0] <= least:
        return bad
    l10 = h[1, 0] / h[0, 0]
    l20 = h[2, 0] / h[0, 0]
    d1 = h[1, 1] - l10 * h[1, 0]
    if d1 <= least:
        return bad
    h21 = h[2, 1] - l20 * h[1, 0]
    l21 = h21 / d1
    d2 = h[2, 2] - l20 * h[2, 0] - l21 * h21
    if d2 <= least:
        return bad
    y1 = g[1] - l10 * g[0]
    y2 = g[2] - l20 * g[0] - l21 * y1
    z = y2 / d2
    y = y1 / d1 - l21 * z
    x = g[0] / h[0, 0] - l10 * y - l20 * z
    return wp.vec4d(x, y, z, wp.float64(1.0))


@wp.func
def solve_symmetric(h: wp.mat33d, g: wp.vec3d) -> wp.vec3d:
    """h^-1 g of a positive semi-definite h, zero where h has next to nothing (points on a line)."""
    small = wp.float64(1e-9) * wp.trace(h)
    found = _solved(h + small * wp.identity(n=3, dtype=wp.float64), g, wp.float64(0.1) * small)
    return wp.vec3d(found[0], found[1], found[2])


@wp.func
def turned(r: wp.mat33d, w: wp.vec3d) -> wp.mat33d:
    """r exp([w]), made orthogonal to rounding: the columns of r turned about w in r's own frame."""
    half = wp.float64(0.5)
    angle = wp.length(w)
    q = wp.quatd(half * w[0], half * w[1], half * w[2], wp.float64(1.0))
    if angle > wp.float64(1e-6):
        s = wp.sin(half * angle) / angle
        q = wp.quatd(s * w[0], s * w[1], s * w[2], wp.cos(half * angle))
    m = r * wp.quat_to_matrix(wp.normalize(q))
    a = wp.normalize(wp.vec3d(m[0, 0], m[1, 0], m[2, 0]))
    b = wp.vec3d(m[0, 1], m[1, 1], m[2, 1])
    b = wp.normalize(b - wp.dot(a, b) * a)
    c = wp.cross(a, b)
    return wp.mat33d(a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])


@wp.func
def best_rotation(moment: wp.mat33d, last: wp.mat33d, scale: wp.float64) -> wp.mat33d:
    """The rotation R with the largest tr(R^T A), A = sum of w_i x_i q_i^T, starting from the last one.

    It makes sum w_i |x_i - R q_i|^2 least, and R^T A symmetric, so that springs to R q_i exert no torque. Newton on
    the rotation, R <- R exp([w]), with the gradient g = axial part of B = R^T A and the curvature H = tr(B) - sym(B);
    where H is not positive definite it is shifted, which climbs still, and a point that only looks like a maximum (a
    half turn off) is left by a fixed turn. Rank loss and inversion are no special cases; points all in one place keep
    the last rotation. `scale` is the moment at rest, sum of w_i |q_i|^2.
    """
    r = last
    one = wp.identity(n=3, dtype=wp.float64)
    k = int(0)
    while k < MOST_ITERATIONS:
        k += 1
        b = wp.transpose(r) * moment
        size = wp.sqrt(wp.ddot(b, b))
        if size <= wp.float64(1e-12) * scale:
            k = MOST_ITERATIONS
        else:
            g = wp.vec3d(b[2, 1] - b[1, 2], b[0, 2] - b[2, 0], b[1, 0] - b[0, 1])
            h = wp.trace(b) * one - wp.float64(0.5) * (b + wp.transpose(b))
            found = _solved(h, g, wp.float64(1e-7) * size)
            w = wp.vec3d(found[0], found[1], found[2])
            if found[3] == wp.float64(0.0):
                shifted = _solved(h + wp.float64(2.1) * size * one, g, wp.float64(0.0))
                w = wp.vec3d(shifted[0], shifted[1], shifted[2])
                # singular is well (points on a line); truly indefinite and without slope is a saddle
                slack = _solved(h + wp.float64(1e-5) * size * one, g, wp.float64(0.0))
                if slack[3] == wp.float64(0.0) and wp.length(w) < wp.float64(1e-6):
                    w = wp.vec3d(wp.float64(0.36), wp.float64(0.48), wp.float64(0.8))
            length = wp.length(w)
            if length > wp.float64(1.0):
                w = w / length
            r = turned(r, w)
            if length < wp.float64(1e-9):
                k = MOST_ITERATIONS
    return r
