"""The linear system of a step: forces and stiffness of triangles and hinges, gathered into the rows of particles.

A row has one 3 x 3 block for the particle itself and one for each particle that shares a triangle or a hinge with it.
"""

import warp as wp

from pliant.physics.cloth_conditions import Weave, folded, stretched, turned_by
from pliant.solvers.baraff_witkin.solve_kernels import SLIDES, filtered

wp.set_module_options({"enable_backward": False})


@wp.struct
class Cloth:
    """All sheets of the method.

    Attributes:
        corners, along, across, weave, damping: of triangles; the weights of the corners [1/m], moduli [J], damping [s].
        hinges, hinge: ends and far corners; moment per angle [N m], angle at rest, damping time, least squared area.
        row_starts, row_other: the particles that a particle's row has blocks for.
        triangle_*: triangles around a particle: number, its corner there, places in the row of the corners after it.
        hinge_*: the same for hinges.
        mass, drag: of particles. body: which body of the method they belong to; awake: 1 for bodies that move.
    """

    corners: wp.array(dtype=wp.vec3i)
    along: wp.array(dtype=wp.vec3)
    across: wp.array(dtype=wp.vec3)
    weave: wp.array(dtype=Weave)
    damping: wp.array(dtype=float)
    hinges: wp.array(dtype=wp.vec4i)
    hinge: wp.array(dtype=wp.vec4)
    row_starts: wp.array(dtype=int)
    row_other: wp.array(dtype=int)
    triangle_starts: wp.array(dtype=int)
    triangle_number: wp.array(dtype=int)
    triangle_corner: wp.array(dtype=int)
    triangle_slots: wp.array(dtype=wp.vec2i)
    hinge_starts: wp.array(dtype=int)
    hinge_number: wp.array(dtype=int)
    hinge_corner: wp.array(dtype=int)
    hinge_slots: wp.array(dtype=wp.vec3i)
    mass: wp.array(dtype=float)
    drag: wp.array(dtype=float)
    body: wp.array(dtype=int)
    awake: wp.array(dtype=int)


@wp.struct
class Pieces:
    """What triangles and hinges give to the rows.

    Attributes:
        force_u, force_v, uu, vv, uv: of triangles, as in `cloth_conditions`, the stiffness times h (h + damping).
        moment: of hinges [N m]. stiffness: moment per angle times h (h + damping).
        fold: gradients of a hinge's angle at its four corners (4 h,) [1/m].
    """

    force_u: wp.array(dtype=wp.vec3)
    force_v: wp.array(dtype=wp.vec3)
    uu: wp.array(dtype=wp.mat33)
    vv: wp.array(dtype=wp.mat33)
    uv: wp.array(dtype=wp.mat33)
    moment: wp.array(dtype=float)
    stiffness: wp.array(dtype=float)
    fold: wp.array(dtype=wp.vec3)


@wp.func
def weighted(weights: wp.vec3, x: wp.array(dtype=wp.vec3), corners: wp.vec3i) -> wp.vec3:
    """w_u or w_v: the weights sum to zero, so differences from the first corner lose nothing to a far origin."""
    here = x[corners[0]]
    return weights[1] * (x[corners[1]] - here) + weights[2] * (x[corners[2]] - here)


@wp.kernel
def stretch_triangles(
    start: int,
    cloth: Cloth,
    x: wp.array(dtype=wp.vec3),
    step: wp.array(dtype=float),
    pieces_out: Pieces,
):
    """Forces and stiffness of a triangle."""
    t = start + wp.tid()
    h = step[0]
    corners = cloth.corners[t]
    if cloth.awake[cloth.body[corners[0]]] == 0:
        return
    wu = weighted(cloth.along[t], x, corners)
    wv = weighted(cloth.across[t], x, corners)
    found = stretched(wu, wv, cloth.weave[t], h * (h + cloth.damping[t]), h * h)
    pieces_out.force_u[t] = found.force_u
    pieces_out.force_v[t] = found.force_v
    pieces_out.uu[t] = found.uu
    pieces_out.vv[t] = found.vv
    pieces_out.uv[t] = found.uv


@wp.kernel
def fold_hinges(
    start: int,
    cloth: Cloth,
    x: wp.array(dtype=wp.vec3),
    step: wp.array(dtype=float),
    pieces_out: Pieces,
):
    """Moment and gradients of a hinge."""
    k = start + wp.tid()
    h = step[0]
    corners = cloth.hinges[k]
    if cloth.awake[cloth.body[corners[0]]] == 0:
        return
    constants = cloth.hinge[k]
    found = folded(x[corners[0]], x[corners[1]], x[corners[2]], x[corners[3]], constants[3])
    pieces_out.moment[k] = constants[0] * turned_by(found.angle, constants[1])
    pieces_out.stiffness[k] = constants[0] * h * (h + constants[2])
    pieces_out.fold[4 * k] = found.at_start
    pieces_out.fold[4 * k + 1] = found.at_end
    pieces_out.fold[4 * k + 2] = found.at_first
    pieces_out.fold[4 * k + 3] = found.at_second


@wp.kernel
def assemble_rows(
    start: int,
    cloth: Cloth,
    pieces: Pieces,
    inv_mass: wp.array(dtype=float),
    f_ext: wp.array(dtype=wp.vec3),
    has_f_ext: int,
    v: wp.array(dtype=wp.vec3),
    hold: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
    rub: wp.array(dtype=wp.vec3),
    z: wp.array(dtype=wp.vec3),
    guess: wp.array(dtype=wp.vec3),
    gravity: wp.vec3,
    grain: float,
    step: wp.array(dtype=float),
    diagonal_out: wp.array(dtype=wp.mat33),
    block_out: wp.array(dtype=wp.mat33),
    inverse_out: wp.array(dtype=wp.mat33),
    b_out: wp.array(dtype=wp.vec3),
    b_scaled_out: wp.array(dtype=wp.vec3),
    r_out: wp.array(dtype=wp.vec3),
    d_out: wp.array(dtype=wp.vec3),
    noise_out: wp.array(dtype=wp.vec3),
):
    """One row of A = M + h D + h^2 K, and what A dv = h f - (A - M) v leaves at dv = z and at the guess.

    Damping forces are -D v, and so are a part of (A - M) v. The residual r is not filtered: where a particle is held it
    is minus the impulse of what holds it. `grain` [m] is what positions are rounded to, and `noise` its share of r.z,
    as a length to be squared.
    """
    i = start + wp.tid()
    if cloth.awake[cloth.body[i]] == 0:
        zero = wp.vec3(0.0, 0.0, 0.0)
        inverse_out[i] = wp.identity(n=3, dtype=float)
        b_out[i] = zero
        b_scaled_out[i] = zero
        r_out[i] = zero
        d_out[i] = zero
        noise_out[i] = zero
        return
    h = step[0]
    m = cloth.mass[i]
    # at a rigid joint a particle counts as heavier while its method solves
    if inv_mass[i] > 0.0 and m * inv_mass[i] < 0.999:
        m = 1.0 / inv_mass[i]
    row = (m * (1.0 + h * cloth.drag[i])) * wp.identity(n=3, dtype=float)
    force = m * gravity
    if has_f_ext != 0:
        force += f_ext[i]
    if hold[i] == SLIDES:
        force += rub[i]
    first = cloth.row_starts[i]
    last = cloth.row_starts[i + 1]
    for s in range(first, last):
        block_out[s] = wp.mat33()
    for s in range(cloth.triangle_starts[i], cloth.triangle_starts[i + 1]):
        t = cloth.triangle_number[s]
        c = cloth.triangle_corner[s]
        slots = cloth.triangle_slots[s]
        bu = cloth.along[t]
        bv = cloth.across[t]
        u = bu[c]
        w = bv[c]
        force -= u * pieces.force_u[t] + w * pieces.force_v[t]
        by_u = u * pieces.uu[t] + w * wp.transpose(pieces.uv[t])
        by_v = u * pieces.uv[t] + w * pieces.vv[t]
        row += u * by_u + w * by_v
        c1 = (c + 1) % 3
        c2 = (c + 2) % 3
        block_out[slots[0]] = block_out[slots[0]] + (bu[c1] * by_u + bv[c1] * by_v)
        block_out[slots[1]] = block_out[slots[1]] + (bu[c2] * by_u + bv[c2] * by_v)
    for s in range(cloth.hinge_starts[i], cloth.hinge_starts[i + 1]):
        k = cloth.hinge_number[s]
        e = cloth.hinge_corner[s]
        places = cloth.hinge_slots[s]
        mine = pieces.fold[4 * k + e]
        force -= pieces.moment[k] * mine
        scaled = pieces.stiffness[k] * mine
        row += wp.outer(scaled, mine)
        for a in range(3):
            slot = places[a]
            block_out[slot] = block_out[slot] + wp.outer(scaled, pieces.fold[4 * k + (e + 1 + a) % 4])
    inertia = m * (1.0 + h * cloth.drag[i])
    # a motion of all has no stiffness: differences of velocities keep the rounding small, and so the momentum
    b = h * force - (m * h * cloth.drag[i]) * v[i] - inertia * z[i]
    r = -inertia * guess[i]
    for s in range(first, last):
        j = cloth.row_other[s]
        b -= block_out[s] * ((v[j] - v[i]) + (z[j] - z[i]))
        r -= block_out[s] * (guess[j] - guess[i])
    r += b
    inverse = wp.inverse(row)
    diagonal_out[i] = row
    inverse_out[i] = inverse
    mean = wp.trace(row) / 3.0
    noise_out[i] = wp.vec3((mean - m) * grain / (h * wp.sqrt(mean)), 0.0, 0.0)
    free_b = filtered(b, inv_mass[i], hold[i], normal[i])
    free_r = filtered(r, inv_mass[i], hold[i], normal[i])
    b_out[i] = free_b
    b_scaled_out[i] = filtered(inverse * free_b, inv_mass[i], hold[i], normal[i])
    r_out[i] = r
    d_out[i] = filtered(inverse * free_r, inv_mass[i], hold[i], normal[i])
