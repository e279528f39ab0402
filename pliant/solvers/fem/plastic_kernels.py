"""Plastic flow: tets beyond their yield strain take another rest shape."""

import warp as wp

from pliant.physics.plastic import permanent_strain, plastic_factor
from pliant.physics.polar import nearest_rotation
from pliant.solvers.fem.data import Mesh
from pliant.solvers.fem.tet_kernels import edges_of

wp.set_module_options({"enable_backward": False})


@wp.kernel
def flow(
    start: int,
    mesh: Mesh,
    first_inv: wp.array(dtype=wp.mat33),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    dt: float,
    turn: wp.array(dtype=wp.quat),
    rest_inv_inout: wp.array(dtype=wp.mat33),
):
    """With F = F_e F_p the elastic part is edges times B0 F_p^-1: the inverse edges at rest carry the flow. A tet that
    is inside out does not flow, nor one that would go beyond its plastic limit."""
    t = start + wp.tid()
    b = mesh.tet_body[t]
    body = mesh.bodies[b]
    if mesh.awake[b] == 0 or body.yield_strain < 0.0:
        return
    inv = rest_inv_inout[t]
    f = edges_of(mesh.corners[t], x, carry) * inv
    if wp.determinant(f) > 0.05:
        r = wp.quat_to_matrix(nearest_rotation(f, turn[t]))
        factor = plastic_factor(wp.transpose(r) * f, body.yield_strain, wp.min(body.creep * dt, 1.0))
        after = inv * factor
        if permanent_strain(wp.inverse(after) * first_inv[t]) <= body.plastic_limit:
            rest_inv_inout[t] = after
