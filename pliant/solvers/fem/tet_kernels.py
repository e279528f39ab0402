"""The tets of a step: deformation, rotation, stress, and what the rows of the matrix are made of."""

import warp as wp

from pliant.physics.corotated import corotated_energy, corotated_stress, corotated_twist
from pliant.physics.neo_hookean import neo_hookean_curvature, neo_hookean_energy, neo_hookean_stress
from pliant.physics.polar import nearest_rotation
from pliant.solvers.fem.data import Mesh, Pieces

wp.set_module_options({"enable_backward": False})


@wp.func
def edges_of(corners: wp.vec4i, x: wp.array(dtype=wp.vec3), carry: wp.array(dtype=wp.vec3)) -> wp.mat33:
    """The edges from corner 0, as columns [m]; remainders of float32 count."""
    x0 = x[corners[0]]
    c0 = carry[corners[0]]
    return wp.matrix_from_cols(
        (x[corners[1]] - x0) + (carry[corners[1]] - c0),
        (x[corners[2]] - x0) + (carry[corners[2]] - c0),
        (x[corners[3]] - x0) + (carry[corners[3]] - c0),
    )


@wp.func
def with_coefficients(c: wp.mat33, first: float, second: float, third: float) -> wp.mat44:
    """The gradients of corners 1 to 3 (rows of c) and that of corner 0, with three coefficients beside them."""
    return wp.mat44(
        -c[0, 0] - c[1, 0] - c[2, 0], -c[0, 1] - c[1, 1] - c[2, 1], -c[0, 2] - c[1, 2] - c[2, 2], first,
        c[0, 0], c[0, 1], c[0, 2], second,
        c[1, 0], c[1, 1], c[1, 2], third,
        c[2, 0], c[2, 1], c[2, 2], 0.0,
    )  # fmt: skip


@wp.func
def corotated_tet(
    t: int,
    mesh: Mesh,
    rest_inv: wp.array(dtype=wp.mat33),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    dt: float,
    turn_inout: wp.array(dtype=wp.quat),
    pieces: Pieces,
):
    """Forces and turned gradients of a tet; the rotation is found from that of the last step. A step's factor is dt^2 +
    dt times the damping: the matrix is M + (dt^2 + dt damping) K."""
    body = mesh.bodies[mesh.tet_body[t]]
    inv = rest_inv[t]
    f = edges_of(mesh.corners[t], x, carry) * inv
    turn = nearest_rotation(f, turn_inout[t])
    turn_inout[t] = turn
    r = wp.quat_to_matrix(turn)
    volume = mesh.volume[t]
    stress = corotated_stress(f, r, body.lame, body.shear)
    # row k of inv is the rest gradient of corner k + 1
    pieces.force[t] = (-volume) * inv * wp.transpose(stress)
    half = 0.5 * corotated_twist(f, r, body.lame, body.shear)
    w = volume * dt * (dt + body.damping)
    turned = inv * wp.transpose(r)
    pieces.gradient[t] = with_coefficients(turned, w * body.lame, w * (body.shear + half), w * (body.shear - half))


@wp.kernel
def corotated_tets(
    start: int,
    mesh: Mesh,
    rest_inv: wp.array(dtype=wp.mat33),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    dt: float,
    turn_inout: wp.array(dtype=wp.quat),
    pieces: Pieces,
):
    """Forces and turned gradients of all tets that are awake."""
    t = start + wp.tid()
    if mesh.awake[mesh.tet_body[t]] != 0:
        corotated_tet(t, mesh, rest_inv, x, carry, dt, turn_inout, pieces)


@wp.kernel
def neo_hookean_tets(
    start: int,
    mesh: Mesh,
    rest_inv: wp.array(dtype=wp.mat33),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    dt: float,
    turn_inout: wp.array(dtype=wp.quat),
    pieces: Pieces,
):
    """Forces, and the curvature of the energy without its negative part."""
    t = start + wp.tid()
    b = mesh.tet_body[t]
    if mesh.awake[b] == 0:
        return
    body = mesh.bodies[b]
    inv = rest_inv[t]
    f = edges_of(mesh.corners[t], x, carry) * inv
    volume = mesh.volume[t]
    pieces.force[t] = (-volume) * inv * wp.transpose(neo_hookean_stress(f, body.lame, body.shear))
    found = neo_hookean_curvature(f, body.lame, body.shear)
    w = volume * dt * (dt + body.damping)
    pieces.gradient[t] = with_coefficients(inv * found.right, w, w, w)
    pieces.left[t] = found.left
    pieces.stretch[t] = found.stretch
    pieces.straight[t] = found.straight
    pieces.crossed[t] = found.crossed


@wp.func
def precise_edge(a: int, b: int, x: wp.array(dtype=wp.vec3), carry: wp.array(dtype=wp.vec3)) -> wp.vec3d:
    """From particle a to particle b [m], in float64."""
    return (wp.vec3d(x[b]) - wp.vec3d(x[a])) + (wp.vec3d(carry[b]) - wp.vec3d(carry[a]))


@wp.func
def tet_energy(
    t: int,
    mesh: Mesh,
    rest_inv: wp.array(dtype=wp.mat33),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    turn: wp.array(dtype=wp.quat),
    neo_hookean: int,
) -> wp.float64:
    """Elastic energy of a tet [J], in float64."""
    body = mesh.bodies[mesh.tet_body[t]]
    c = mesh.corners[t]
    edges = wp.matrix_from_cols(
        precise_edge(c[0], c[1], x, carry), precise_edge(c[0], c[2], x, carry), precise_edge(c[0], c[3], x, carry)
    )
    f = edges * wp.mat33d(rest_inv[t])
    lame = wp.float64(body.lame)
    shear = wp.float64(body.shear)
    density = wp.float64(0.0)
    if neo_hookean != 0:
        density = neo_hookean_energy(f, lame, shear)
    else:
        near = nearest_rotation(wp.mat33(f), turn[t])
        exact = wp.normalize(
            wp.quatd(wp.float64(near[0]), wp.float64(near[1]), wp.float64(near[2]), wp.float64(near[3]))
        )
        density = corotated_energy(f, wp.quat_to_matrix(exact), lame, shear)
    return wp.float64(mesh.volume[t]) * density
