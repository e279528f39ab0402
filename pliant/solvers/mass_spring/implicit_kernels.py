"""The linear system of implicit Euler: its matrix in 3 x 3 blocks, and the move of its solve.

Every edge of a tet or triangle is a spring, so a row of the matrix has one block for the particle and one for each of
its springs. Rows are gathered by their particle, so the solve is deterministic.
"""

import warp as wp

from pliant.physics.spring import spring_hessian
from pliant.physics.volume import pressure_scale
from pliant.solvers.mass_spring.constants import RATE, BodyConstants

wp.set_module_options({"enable_backward": False})


@wp.struct
class Around:
    """The elements around each particle.

    A tet or triangle is seen from each corner: `*_others` are its other corners, in upright order, and `*_blocks` the
    springs of this particle that lead to them.
    """

    body: wp.array(dtype=int)
    spring_starts: wp.array(dtype=int)
    spring_other: wp.array(dtype=int)
    spring_constants: wp.array(dtype=wp.vec3)
    tet_starts: wp.array(dtype=int)
    tet_number: wp.array(dtype=int)
    tet_others: wp.array(dtype=wp.vec3i)
    tet_blocks: wp.array(dtype=wp.vec3i)
    tet_corners: wp.array(dtype=wp.vec4i)
    tet_inv_six_volume: wp.array(dtype=float)
    tet_body: wp.array(dtype=int)
    triangle_starts: wp.array(dtype=int)
    triangle_others: wp.array(dtype=wp.vec2i)
    triangle_blocks: wp.array(dtype=wp.vec2i)
    triangle_inv_double_area: wp.array(dtype=float)


@wp.kernel
def assemble_rows(
    start: int,
    around: Around,
    bodies: wp.array(dtype=BodyConstants),
    awake: wp.array(dtype=int),
    mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    dt: float,
    diagonal_out: wp.array(dtype=wp.mat33),
    block_out: wp.array(dtype=wp.mat33),
    inverse_out: wp.array(dtype=wp.mat33),
):
    """One row of M + dt D + dt^2 K at positions x, made positive semi-definite, and the inverse of its diagonal block.

    A spring gives its exact projection, a volume or an area the part of its Hessian that is the square of its
    gradient (Gauss-Newton).
    """
    i = start + wp.tid()
    if awake[around.body[i]] == 0:
        return
    body = bodies[around.body[i]]
    xi = x[i]
    row = (mass[i] * (1.0 + dt * body.drag)) * wp.identity(n=3, dtype=float)
    along_factor = 1.0 + body.spring_damping_time / dt
    for s in range(around.spring_starts[i], around.spring_starts[i + 1]):
        constants = around.spring_constants[s]
        k = dt * dt * constants[0]
        spring = spring_hessian(x[around.spring_other[s]] - xi, constants[1], k, k * along_factor, constants[2])
        row += spring
        block_out[s] = -spring
    damping = float(1.0)
    if body.volume_damping_form == RATE:
        damping = 1.0 + body.volume_damping / dt
    for s in range(around.tet_starts[i], around.tet_starts[i + 1]):
        others = around.tet_others[s]
        blocks = around.tet_blocks[s]
        e1 = x[others[0]] - xi
        e2 = x[others[1]] - xi
        e3 = x[others[2]] - xi
        # gradients of 6 V at the corners
        g1 = wp.cross(e2, e3)
        g2 = wp.cross(e3, e1)
        g3 = wp.cross(e1, e2)
        inv = around.tet_inv_six_volume[around.tet_number[s]]
        scale = pressure_scale(inv, body.volume_stiffness, body.volume_form)
        mine = (-dt * dt * scale * damping * inv / 6.0) * (g1 + g2 + g3)
        row -= wp.outer(mine, g1 + g2 + g3)
        block_out[blocks[0]] = block_out[blocks[0]] + wp.outer(mine, g1)
        block_out[blocks[1]] = block_out[blocks[1]] + wp.outer(mine, g2)
        block_out[blocks[2]] = block_out[blocks[2]] + wp.outer(mine, g3)
    for s in range(around.triangle_starts[i], around.triangle_starts[i + 1]):
        ends = around.triangle_others[s]
        slots = around.triangle_blocks[s]
        e1 = x[ends[0]] - xi
        e2 = x[ends[1]] - xi
        normal = wp.cross(e1, e2)
        double_area = wp.length(normal)
        if double_area > 0.0:
            unit = normal / double_area
            # gradients of 2 A at the other corners
            g1 = wp.cross(e2, unit)
            g2 = wp.cross(unit, e1)
            stiffness = dt * dt * body.area_stiffness * (1.0 + body.area_damping_time / dt)
            mine = (-0.5 * stiffness * around.triangle_inv_double_area[s]) * (g1 + g2)
            row -= wp.outer(mine, g1 + g2)
            block_out[slots[0]] = block_out[slots[0]] + wp.outer(mine, g1)
            block_out[slots[1]] = block_out[slots[1]] + wp.outer(mine, g2)
    diagonal_out[i] = row
    inverse_out[i] = wp.inverse(row)


@wp.func
def filtered(value: wp.vec3, inv_mass: float, normal: wp.vec3) -> wp.vec3:
    """The part of a vector that a pin (nothing) or a contact (the tangent plane) leaves free (Baraff-Witkin's S)."""
    if inv_mass == 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    return value - wp.dot(value, normal) * normal


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
