"""Device code for strain, stress and speed of particles, and for the search of neighbours."""

import warp as wp

wp.set_module_options({"enable_backward": False})

ROOT_3 = wp.constant(1.7320508)
ROD = wp.constant(-1.0)
"""Stands for the rank of a neighbourhood where the particle belongs to a rod."""


@wp.kernel
def find_nearest(
    start: int,
    bvh: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    queries: wp.array(dtype=wp.vec3),
    count: int,
    reach: float,
    skip_own: int,
    rows_out: wp.array2d(dtype=int),
    distances_out: wp.array2d(dtype=float),
):
    """The nearest points of each place, nearest first, the lowest of several; the reach grows until it holds them."""
    i = start + wp.tid()
    p = queries[i]
    far = reach
    going = bool(True)
    while going:
        for k in range(count):
            rows_out[i, k] = -1
            distances_out[i, k] = 3.0e38
        half = wp.vec3(far, far, far)
        query = wp.bvh_query_aabb(bvh, p - half, p + half)
        j = int(0)
        while wp.bvh_query_next(query, j):
            if skip_own == 0 or j != i:
                d = wp.length(points[j] - p)
                last = count - 1
                if d < distances_out[i, last] or (d == distances_out[i, last] and j < rows_out[i, last]):
                    k = int(last)
                    while k > 0 and (
                        d < distances_out[i, k - 1] or (d == distances_out[i, k - 1] and j < rows_out[i, k - 1])
                    ):
                        rows_out[i, k] = rows_out[i, k - 1]
                        distances_out[i, k] = distances_out[i, k - 1]
                        k -= 1
                    rows_out[i, k] = j
                    distances_out[i, k] = d
        if distances_out[i, count - 1] <= far or far > 1.0e18:
            going = False
        far = 2.0 * far


@wp.func
def gradient_at(
    i: int,
    starts: wp.array(dtype=int),
    neighbours: wp.array(dtype=int),
    slopes: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
) -> wp.mat33:
    """The deformation gradient at a particle, zero along directions in which it has no neighbours."""
    base = x[i]
    f = wp.mat33(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(starts[i], starts[i + 1]):
        f += wp.outer(x[neighbours[k]] - base, slopes[k])
    return f


@wp.kernel
def find_gradients(
    start: int,
    starts: wp.array(dtype=int),
    neighbours: wp.array(dtype=int),
    slopes: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    gradients_out: wp.array(dtype=wp.mat33),
):
    i = start + wp.tid()
    gradients_out[i] = gradient_at(i, starts, neighbours, slopes, x)


@wp.func
def stretches_less_one(f: wp.mat33, axis: wp.vec4) -> wp.vec3:
    """Principal stretches less 1, the largest first, the last negative beyond -1 where the shape is inside out.

    Directions without neighbours count as undeformed: with C = F^T F, which is zero along them, their eigenvalue is
    made 1. `axis` holds the rank of the neighbourhood last; before it the missing direction of a sheet, or the only one
    of a rod. Eigenvalues by the trigonometric solution of the characteristic equation of C less its mean.
    """
    one = wp.identity(n=3, dtype=float)
    c = wp.transpose(f) * f
    n = wp.vec3(axis[0], axis[1], axis[2])
    if axis[3] == 2.0:
        c += wp.outer(n, n)
    elif axis[3] == 1.0:
        c += one - wp.outer(n, n)
    elif axis[3] == 0.0:
        c = one
    mean = wp.trace(c) / 3.0
    d = c - mean * one
    spread = wp.sqrt(wp.ddot(d, d) / 6.0)
    big = float(mean)
    small = float(mean)
    if spread > 1.0e-30 * mean:
        turn = wp.cos(wp.acos(wp.clamp(0.5 * wp.determinant((1.0 / spread) * d), -1.0, 1.0)) / 3.0)
        big = mean + 2.0 * spread * turn
        # the cosine a third of a turn on
        small = mean - spread * (turn + ROOT_3 * wp.sqrt(wp.max(1.0 - turn * turn, 0.0)))
    middle = 3.0 * mean - big - small
    least = wp.sqrt(wp.max(small, 0.0))
    if axis[3] == 3.0 and wp.determinant(f) < 0.0:
        least = -least
    return wp.vec3(wp.sqrt(wp.max(big, 0.0)) - 1.0, wp.sqrt(wp.max(middle, 0.0)) - 1.0, least - 1.0)


@wp.func
def strains_at(
    i: int,
    starts: wp.array(dtype=int),
    neighbours: wp.array(dtype=int),
    slopes: wp.array(dtype=wp.vec3),
    rest: wp.array(dtype=float),
    axis: wp.vec4,
    x: wp.array(dtype=wp.vec3),
) -> wp.vec3:
    """Principal strains at a particle; of a rod, that of its segment which has changed its length most, and zeros.

    Segments with a negative rest length are broken.
    """
    if axis[3] == ROD:
        most = float(0.0)
        for k in range(starts[i], starts[i + 1]):
            change = wp.length(x[neighbours[k]] - x[i]) / rest[k] - 1.0
            if rest[k] > 0.0 and wp.abs(change) > wp.abs(most):
                most = change
        return wp.vec3(most, 0.0, 0.0)
    return stretches_less_one(gradient_at(i, starts, neighbours, slopes, x), axis)


@wp.kernel
def find_strain(
    start: int,
    starts: wp.array(dtype=int),
    neighbours: wp.array(dtype=int),
    slopes: wp.array(dtype=wp.vec3),
    rest: wp.array(dtype=float),
    axes: wp.array(dtype=wp.vec4),
    x: wp.array(dtype=wp.vec3),
    strain_out: wp.array(dtype=float),
):
    """The largest |principal stretch - 1| at each particle."""
    i = start + wp.tid()
    e = strains_at(i, starts, neighbours, slopes, rest, axes[i], x)
    strain_out[i] = wp.max(wp.abs(e[0]), wp.max(wp.abs(e[1]), wp.abs(e[2])))


@wp.kernel
def find_stress(
    start: int,
    starts: wp.array(dtype=int),
    neighbours: wp.array(dtype=int),
    slopes: wp.array(dtype=wp.vec3),
    rest: wp.array(dtype=float),
    axes: wp.array(dtype=wp.vec4),
    bodies: wp.array(dtype=int),
    elastic: wp.array(dtype=wp.vec2),
    x: wp.array(dtype=wp.vec3),
    stress_out: wp.array(dtype=float),
):
    """Von Mises stress [Pa] of corotated linear elasticity at each particle.

    With the principal strains e_i it is 2 mu sqrt(3/2 sum e_i^2 - 1/2 (sum e_i)^2); the part of the bulk modulus is a
    pressure, which it does not see. A sheet is free across its plane and a rod across its line: they narrow there as
    Poisson's ratio says, e = -nu / (1 - nu) (sum of e in the plane), or -nu times that along the line.
    """
    i = start + wp.tid()
    e = strains_at(i, starts, neighbours, slopes, rest, axes[i], x)
    constants = elastic[bodies[i]]
    total = e[0] + e[1] + e[2]
    squares = wp.dot(e, e)
    across = float(0.0)
    if axes[i][3] == 2.0:
        across = -constants[1] / (1.0 - constants[1]) * total
        squares += across * across
        total += across
    elif axes[i][3] == 1.0 or axes[i][3] == ROD:
        across = -constants[1] * total
        squares += 2.0 * across * across
        total += 2.0 * across
    stress_out[i] = 2.0 * constants[0] * wp.sqrt(wp.max(1.5 * squares - 0.5 * total * total, 0.0))


@wp.kernel
def find_speed(start: int, v: wp.array(dtype=wp.vec3), speed_out: wp.array(dtype=float)):
    i = start + wp.tid()
    speed_out[i] = wp.length(v[i])
