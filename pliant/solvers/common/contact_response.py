"""Projection, restitution and friction of particles at the contacts the pipeline found."""

import warp as wp

from pliant.physics.contact import PlaneData, contact_velocity

wp.set_module_options({"enable_backward": False})


@wp.kernel
def resolve_contacts(
    start: int,
    surface: wp.array(dtype=PlaneData),
    depth: wp.array(dtype=float),
    slots: int,
    body: wp.array(dtype=int),
    friction: wp.array(dtype=float),
    restitution: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    x_next: wp.array(dtype=wp.vec3),
    carry_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    v_carry_next: wp.array(dtype=wp.vec3),
    rest_speed: float,
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    v_carry_out: wp.array(dtype=wp.vec3),
):
    """Commit the prediction, put back on the surfaces what went through them."""
    i = start + wp.tid()
    x = x_next[i]
    v = v_next[i]
    carry = carry_next[i]
    v_carry = v_carry_next[i]
    if inv_mass[i] > 0.0:
        b = body[i]
        for k in range(slots):
            if depth[i * slots + k] >= 0.0:
                plane = surface[i * slots + k]
                inside = plane.offset - wp.dot(plane.normal, x)
                if inside > 0.0:
                    x = x + inside * plane.normal
                    carry = wp.vec3(0.0, 0.0, 0.0)
                    v_carry = wp.vec3(0.0, 0.0, 0.0)
                    v = contact_velocity(
                        v,
                        plane.velocity,
                        plane.normal,
                        wp.sqrt(friction[b] * plane.friction),
                        wp.max(restitution[b], plane.restitution),
                        rest_speed,
                    )
    x_out[i] = x
    carry_out[i] = carry
    v_out[i] = v
    v_carry_out[i] = v_carry
