"""The linear system of implicit Euler, matrix-free: products with its matrix, the inverse of its diagonal, and a
preconditioned CG that keeps its scalars on the device.

Sums over the elements around a particle are gathered, and dot products are added in a fixed order in float64, so the
solve is deterministic.
"""

import warp as wp

from pliant.physics.spring import spring_hessian_product
from pliant.physics.volume import opposite_normal, pressure_scale, six_volume_rate
from pliant.solvers.mass_spring.constants import BodyConstants

wp.set_module_options({"enable_backward": False})


@wp.struct
class Around:
    """The elements around each particle: springs, tets (other corners in upright order), and triangles' springs."""

    body: wp.array(dtype=int)
    spring_starts: wp.array(dtype=int)
    spring_other: wp.array(dtype=int)
    spring_constants: wp.array(dtype=wp.vec2)
    tet_starts: wp.array(dtype=int)
    tet_number: wp.array(dtype=int)
    tet_others: wp.array(dtype=wp.vec3i)
    tet_corners: wp.array(dtype=wp.vec4i)
    tet_inv_six_volume: wp.array(dtype=float)
    tet_body: wp.array(dtype=int)
    triangle_starts: wp.array(dtype=int)
    triangle_others: wp.array(dtype=wp.vec2i)
    triangle_inv_double_area: wp.array(dtype=float)


@wp.kernel
def tet_products(
    start: int,
    around: Around,
    bodies: wp.array(dtype=BodyConstants),
    x: wp.array(dtype=wp.vec3),
    p: wp.array(dtype=wp.vec3),
    factor: float,
    inv_dt: float,
    product_out: wp.array(dtype=float),
):
    """For each tet: factor K' (1 + damping time / dt) times the rate of V/V0 along p, the positive (Gauss-Newton) part
    of the volume energy's Hessian."""
    t = start + wp.tid()
    corners = around.tet_corners[t]
    body = bodies[around.tet_body[t]]
    i = corners[0]
    e1 = x[corners[1]] - x[i]
    e2 = x[corners[2]] - x[i]
    e3 = x[corners[3]] - x[i]
    rate = six_volume_rate(e1, e2, e3, p[corners[1]] - p[i], p[corners[2]] - p[i], p[corners[3]] - p[i])
    inv = around.tet_inv_six_volume[t]
    damping = float(0.0)
    if body.volume_damping_form == 1:
        damping = body.volume_damping * inv_dt
    scale = pressure_scale(inv, body.volume_stiffness, body.volume_form)
    product_out[t] = factor * scale * (1.0 + damping) * inv * rate


@wp.kernel
def system_product(
    start: int,
    around: Around,
    bodies: wp.array(dtype=BodyConstants),
    mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    p: wp.array(dtype=wp.vec3),
    tet_product: wp.array(dtype=float),
    mass_factor: float,
    factor: float,
    inv_dt: float,
    q_out: wp.array(dtype=wp.vec3),
):
    """q = (mass_factor M + factor (K + D / dt)) p."""
    i = start + wp.tid()
    body = bodies[around.body[i]]
    xi = x[i]
    pi = p[i]
    q = (mass_factor * mass[i] * (1.0 + body.drag * factor * inv_dt)) * pi
    for s in range(around.spring_starts[i], around.spring_starts[i + 1]):
        j = around.spring_other[s]
        constants = around.spring_constants[s]
        k = constants[0]
        q += factor * spring_hessian_product(
            x[j] - xi, pi - p[j], constants[1], k, k * body.spring_damping_time * inv_dt
        )
    for s in range(around.tet_starts[i], around.tet_starts[i + 1]):
        others = around.tet_others[s]
        normal = opposite_normal(x[others[0]] - xi, x[others[1]] - xi, x[others[2]] - xi)
        q -= (tet_product[around.tet_number[s]] / 6.0) * normal
    for s in range(around.triangle_starts[i], around.triangle_starts[i + 1]):
        ends = around.triangle_others[s]
        e1 = x[ends[0]] - xi
        e2 = x[ends[1]] - xi
        normal = wp.cross(e1, e2)
        double_area = wp.length(normal)
        if double_area > 0.0:
            unit = normal / double_area
            rate = wp.dot(unit, wp.cross(p[ends[0]] - pi, e2) + wp.cross(e1, p[ends[1]] - pi))
            tension = body.area_stiffness * (1.0 + body.area_damping_time * inv_dt) * rate
            tension *= around.triangle_inv_double_area[s]
            q -= factor * 0.5 * tension * wp.cross(unit, e1 - e2)
    q_out[i] = q


@wp.kernel
def inverse_diagonal(
    start: int,
    around: Around,
    bodies: wp.array(dtype=BodyConstants),
    mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    factor: float,
    inv_dt: float,
    inverse_out: wp.array(dtype=wp.mat33),
):
    """The inverse of each particle's 3 x 3 block of M + factor (K + D / dt): the preconditioner."""
    i = start + wp.tid()
    body = bodies[around.body[i]]
    xi = x[i]
    block = mass[i] * (1.0 + body.drag * factor * inv_dt) * wp.identity(n=3, dtype=float)
    for s in range(around.spring_starts[i], around.spring_starts[i + 1]):
        constants = around.spring_constants[s]
        k = constants[0]
        extra = k * body.spring_damping_time * inv_dt
        d = x[around.spring_other[s]] - xi
        squared = wp.dot(d, d)
        if squared > 0.0:
            across = k * wp.max(0.0, 1.0 - constants[1] / wp.sqrt(squared))
            block += factor * (
                across * wp.identity(n=3, dtype=float) + ((k + extra - across) / squared) * wp.outer(d, d)
            )
    for s in range(around.tet_starts[i], around.tet_starts[i + 1]):
        t = around.tet_number[s]
        others = around.tet_others[s]
        normal = opposite_normal(x[others[0]] - xi, x[others[1]] - xi, x[others[2]] - xi)
        inv = around.tet_inv_six_volume[t]
        damping = float(0.0)
        if body.volume_damping_form == 1:
            damping = body.volume_damping * inv_dt
        scale = pressure_scale(inv, body.volume_stiffness, body.volume_form) * (1.0 + damping)
        block += (factor * scale * inv / 6.0) * wp.outer(normal, normal)
    inverse_out[i] = wp.inverse(block)


@wp.func
def filtered(value: wp.vec3, inv_mass: float, normal: wp.vec3) -> wp.vec3:
    """The part of a vector that a pin (nothing) or a contact (the tangent plane) leaves free (Baraff-Witkin's S)."""
    if inv_mass == 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    return value - wp.dot(value, normal) * normal


@wp.kernel
def dot_parts(
    start: int,
    a: wp.array(dtype=wp.vec3),
    b: wp.array(dtype=wp.vec3),
    first: int,
    count: int,
    chunks: int,
    parts_out: wp.array(dtype=wp.float64),
):
    """One part of a dot product: items c, c + chunks, c + 2 chunks, ... in this order, in float64."""
    c = start + wp.tid()
    total = wp.float64(0.0)
    for i in range(c, count, chunks):
        total += wp.float64(wp.dot(a[first + i], b[first + i]))
    parts_out[c] = total


@wp.func
def total_of(parts: wp.array(dtype=wp.float64)) -> wp.float64:
    total = wp.float64(0.0)
    for c in range(parts.shape[0]):
        total += parts[c]
    return total


@wp.kernel
def begin_solve(
    parts: wp.array(dtype=wp.float64),
    tolerance: float,
    scalars_out: wp.array(dtype=wp.float64),
    going_out: wp.array(dtype=int),
):
    """Scalars: [r.z, alpha, beta, the r.z at which to stop, iterations done]."""
    total = total_of(parts)
    scalars_out[0] = total
    scalars_out[3] = total * wp.float64(tolerance) * wp.float64(tolerance)
    scalars_out[4] = wp.float64(0.0)
    going_out[0] = 0
    if total > wp.float64(0.0):
        going_out[0] = 1


@wp.kernel
def find_alpha(parts: wp.array(dtype=wp.float64), scalars_inout: wp.array(dtype=wp.float64)):
    """Length of the move along d."""
    total = total_of(parts)
    alpha = wp.float64(0.0)
    if total > wp.float64(0.0):
        alpha = scalars_inout[0] / total
    scalars_inout[1] = alpha


@wp.kernel
def find_beta(
    parts: wp.array(dtype=wp.float64),
    most: int,
    scalars_inout: wp.array(dtype=wp.float64),
    going_out: wp.array(dtype=int),
):
    """How much of the old direction stays in the new one, and whether to go on."""
    total = total_of(parts)
    scalars_inout[2] = total / scalars_inout[0]
    scalars_inout[0] = total
    scalars_inout[4] = scalars_inout[4] + wp.float64(1.0)
    going_out[0] = 0
    if total > scalars_inout[3] and scalars_inout[4] < wp.float64(most):
        going_out[0] = 1


@wp.kernel
def descend(
    start: int,
    inv_mass: wp.array(dtype=float),
    normal: wp.array(dtype=wp.vec3),
    inverse: wp.array(dtype=wp.mat33),
    d: wp.array(dtype=wp.vec3),
    q: wp.array(dtype=wp.vec3),
    scalars: wp.array(dtype=wp.float64),
    dv_inout: wp.array(dtype=wp.vec3),
    r_inout: wp.array(dtype=wp.vec3),
    z_out: wp.array(dtype=wp.vec3),
):
    """Move along d, update the residual and precondition it."""
    i = start + wp.tid()
    alpha = float(scalars[1])
    dv_inout[i] = dv_inout[i] + alpha * d[i]
    r = r_inout[i] - alpha * filtered(q[i], inv_mass[i], normal[i])
    r_inout[i] = r
    z_out[i] = filtered(inverse[i] * r, inv_mass[i], normal[i])


@wp.kernel
def turn(
    start: int,
    z: wp.array(dtype=wp.vec3),
    scalars: wp.array(dtype=wp.float64),
    d_inout: wp.array(dtype=wp.vec3),
):
    """Next search direction."""
    i = start + wp.tid()
    d_inout[i] = z[i] + float(scalars[2]) * d_inout[i]
