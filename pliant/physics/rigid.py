"""Rigid bodies in float64: small dense systems, rotations, and the 6 x 6 form of what pushes at a point do to them."""

from typing import Any

import warp as wp

vec6d = wp.types.vector(length=6, dtype=wp.float64)
mat66d = wp.types.matrix(shape=(6, 6), dtype=wp.float64)


@wp.func
def solve6(a: Any, b: Any) -> vec6d:
    """a^-1 b for a symmetric positive definite matrix, by Cholesky; a pivot that is not positive gives zero there."""
    low = mat66d()
    y = vec6d()
    for i in range(6):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= low[i, k] * low[j, k]
            if i == j:
                root = wp.float64(0.0)
                if s > wp.float64(0.0):
                    root = wp.sqrt(s)
                low[i, j] = root
            else:
                q = wp.float64(0.0)
                if low[j, j] > wp.float64(0.0):
                    q = s / low[j, j]
                low[i, j] = q
    for i in range(6):
        s = b[i]
        for k in range(i):
            s -= low[i, k] * y[k]
        q = wp.float64(0.0)
        if low[i, i] > wp.float64(0.0):
            q = s / low[i, i]
        y[i] = q
    x = vec6d()
    for r in range(6):
        i = 5 - r
        s = y[i]
        for k in range(i + 1, 6):
            s -= low[k, i] * x[k]
        q = wp.float64(0.0)
        if low[i, i] > wp.float64(0.0):
            q = s / low[i, i]
        x[i] = q
    return x


@wp.func
def joined(a: wp.vec3d, b: wp.vec3d) -> vec6d:
    return vec6d(a[0], a[1], a[2], b[0], b[1], b[2])


@wp.func
def first_half(a: Any) -> wp.vec3d:
    return wp.vec3d(a[0], a[1], a[2])


@wp.func
def second_half(a: Any) -> wp.vec3d:
    return wp.vec3d(a[3], a[4], a[5])


@wp.func
def turned_by(turn: wp.mat33d, angle: wp.vec3d) -> wp.mat33d:
    """A rotation followed by one about a vector [rad] in its own frame, made orthonormal again."""
    squared = wp.dot(angle, angle)
    a = wp.float64(1.0) - squared / wp.float64(6.0)
    b = wp.float64(0.5) - squared / wp.float64(24.0)
    if squared > wp.float64(1.0e-6):
        size = wp.sqrt(squared)
        a = wp.sin(size) / size
        b = (wp.float64(1.0) - wp.cos(size)) / squared
    cross = wp.skew(angle)
    next = turn * (wp.identity(n=3, dtype=wp.float64) + a * cross + b * cross * cross)
    # one step towards the nearest rotation: what is left of the error is its square
    return wp.float64(1.5) * next - wp.float64(0.5) * next * (wp.transpose(next) * next)


@wp.func
def single(a: wp.mat33d) -> wp.mat33:
    """A matrix in float32."""
    return wp.mat33(
        float(a[0, 0]), float(a[0, 1]), float(a[0, 2]),
        float(a[1, 0]), float(a[1, 1]), float(a[1, 2]),
        float(a[2, 0]), float(a[2, 1]), float(a[2, 2]),
    )  # fmt: skip


@wp.func
def single3(a: wp.vec3d) -> wp.vec3:
    return wp.vec3(float(a[0]), float(a[1]), float(a[2]))


@wp.func
def double3(a: wp.vec3) -> wp.vec3d:
    return wp.vec3d(wp.float64(a[0]), wp.float64(a[1]), wp.float64(a[2]))


@wp.func
def unpack_symmetric(values: wp.array2d(dtype=wp.float64), row: int, at: int) -> wp.mat33d:
    """A symmetric matrix from six numbers: xx, yy, zz, xy, xz, yz."""
    xy = values[row, at + 3]
    xz = values[row, at + 4]
    yz = values[row, at + 5]
    return wp.mat33d(values[row, at], xy, xz, xy, values[row, at + 1], yz, xz, yz, values[row, at + 2])


@wp.func
def unpack_vector(values: wp.array2d(dtype=wp.float64), row: int, at: int) -> wp.vec3d:
    return wp.vec3d(values[row, at], values[row, at + 1], values[row, at + 2])


@wp.func
def unpack6(values: wp.array2d(dtype=wp.float64), row: int, at: int) -> vec6d:
    return joined(unpack_vector(values, row, at), unpack_vector(values, row, at + 3))


@wp.func
def put_vector(values: wp.array2d(dtype=wp.float64), row: int, at: int, v: wp.vec3d):
    for k in range(3):
        values[row, at + k] = v[k]


@wp.func
def put6(values: wp.array2d(dtype=wp.float64), row: int, at: int, v: Any):
    for k in range(6):
        values[row, at + k] = v[k]


@wp.func
def put_upper(values: wp.array2d(dtype=wp.float64), row: int, at: int, m: Any):
    """The 21 numbers of a symmetric 6 x 6 matrix."""
    k = int(at)
    for i in range(6):
        for j in range(i, 6):
            values[row, k] = m[i, j]
            k += 1


@wp.func
def unpack_upper(values: wp.array2d(dtype=wp.float64), row: int, at: int) -> mat66d:
    m = mat66d()
    k = int(at)
    for i in range(6):
        for j in range(i, 6):
            m[i, j] = values[row, k]
            m[j, i] = values[row, k]
            k += 1
    return m


@wp.func
def put_symmetric(values: wp.array2d(dtype=wp.float64), row: int, at: int, m: wp.mat33d):
    values[row, at] = m[0, 0]
    values[row, at + 1] = m[1, 1]
    values[row, at + 2] = m[2, 2]
    values[row, at + 3] = m[0, 1]
    values[row, at + 4] = m[0, 2]
    values[row, at + 5] = m[1, 2]


@wp.func
def rigid_mass(mass: wp.float64, inertia: wp.mat33d, first: wp.vec3d) -> mat66d:
    """Mass matrix of a rigid velocity (of a point, and angular): total mass, inertia about the point, and the first
    moment of the mass about it; M_VW = -[first]."""
    m = mat66d()
    cross = wp.skew(first)
    for i in range(3):
        m[i, i] = mass
        for j in range(3):
            m[3 + i, 3 + j] = inertia[i, j]
            m[i, 3 + j] = -cross[i, j]
            m[3 + j, i] = -cross[i, j]
    return m


@wp.func
def about(second: wp.mat33d) -> wp.mat33d:
    """Inertia from second moments of mass: tr(J) 1 - J."""
    return wp.trace(second) * wp.identity(n=3, dtype=wp.float64) - second


@wp.func
def at_point(s: wp.mat33d, r: wp.vec3d) -> mat66d:
    """B^T s B with B = [1, -[r]], the velocity at r of a rigid motion."""
    cross = wp.skew(r)
    sr = s * cross
    rs = cross * s
    rr = cross * sr
    m = mat66d()
    for i in range(3):
        for j in range(3):
            m[i, j] = s[i, j]
            m[i, 3 + j] = -sr[i, j]
            m[3 + i, j] = rs[i, j]
            m[3 + i, 3 + j] = -rr[i, j]
    return m


@wp.func
def push_at(r: wp.vec3d, f: wp.vec3d) -> vec6d:
    """B^T f: a push at r as a push and a torque about the origin."""
    return joined(f, wp.cross(r, f))
