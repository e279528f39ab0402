"""Volume preservation of a tetrahedron: energy, force, damping.

Seen from corner i the other three corners j, k, l come in the order that makes
e1 . (e2 x e3) = 6 V positive for an upright tet, with e1 = x_j - x_i, e2 = x_k - x_i, e3 = x_l - x_i.
"""

import warp as wp

# How the volume constant is to be read: the energy is scale/2 * (V/V0 - 1)^2 with this scale.
VOLUME_PER_VOLUME = wp.constant(0)  # scale = K V0: K is a modulus [Pa]; the same at every resolution
VOLUME_RELATIVE = wp.constant(1)  # scale = K: K is an energy [J] (Lesmes 3.5)
VOLUME_ABSOLUTE = wp.constant(2)  # scale = 6 K V0^2: the force constant of Lesmes 3.8 as printed [N/m^5]


@wp.func
def opposite_normal(e1: wp.vec3, e2: wp.vec3, e3: wp.vec3) -> wp.vec3:
    """Normal of the face opposite corner i, twice its area long [m^2]; the gradient of 6 V there is its negative."""
    return wp.cross(e2 - e1, e3 - e1)


@wp.func
def pressure_scale(inv_six_volume: float, stiffness: float, form: int) -> float:
    """The factor K' in dE/dV = K' (V/V0 - 1) [Pa], for the three readings of the volume constant."""
    if form == VOLUME_PER_VOLUME:
        return stiffness
    if inv_six_volume <= 0.0:
        return 0.0
    if form == VOLUME_RELATIVE:
        return stiffness * 6.0 * inv_six_volume
    return stiffness / inv_six_volume


@wp.func
def tet_pressure(
    six_volume: float, six_rate: float, inv_six_volume: float, stiffness: float, form: int, damping_time: float
) -> float:
    """dE/dV of scale/2 (V/V0 - 1)^2 with signed V (Lesmes 3.5, corrected), and the damping of its rate (3.9) [Pa].

    Signed, so that an inverted tet is pushed back through itself. This damping keeps linear and angular momentum
    and does not slow a rigid motion. `six_rate` is the rate of 6 V [m^3/s].
    """
    strain = six_volume * inv_six_volume - 1.0
    rate = damping_time * six_rate * inv_six_volume
    return pressure_scale(inv_six_volume, stiffness, form) * (strain + rate)


@wp.func
def six_volume_rate(e1: wp.vec3, e2: wp.vec3, e3: wp.vec3, de1: wp.vec3, de2: wp.vec3, de3: wp.vec3) -> float:
    """Rate of 6 V [m^3/s]."""
    return wp.dot(de1, wp.cross(e2, e3)) + wp.dot(de2, wp.cross(e3, e1)) + wp.dot(de3, wp.cross(e1, e2))


@wp.func
def corner_damping(normal: wp.vec3, de1: wp.vec3, de2: wp.vec3, de3: wp.vec3, damping: float) -> wp.vec3:
    """Damping of corner i against the other three along its own face normal (Lesmes 3.11) [N].

    As the source prints it: the four forces do not sum to zero and rigid rotation is slowed.
    """
    squared = wp.dot(normal, normal)
    if squared <= 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    return (damping * wp.dot(de1 + de2 + de3, normal) / squared) * normal
