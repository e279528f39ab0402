"""Pressure inside a closed surface: the gradient of its volume, and two laws that give a pressure from the volume."""

import warp as wp

# Which law a body's pressure follows.
GAS = wp.constant(0)
BULK = wp.constant(1)
# A gas squeezed below this share of its rest volume is taken to have this share: its pressure stays finite.
LEAST_SHARE = wp.constant(wp.float64(0.02))
# An explicit step stands 4 of (omega h)^2 + 2 c h, of which the volume may take up this much; steps that were chosen
# give it 2.8 at rest.
MOST_OF_STEP = wp.constant(wp.float64(3.0))


@wp.func
def six_gradient(b: wp.vec3, c: wp.vec3) -> wp.vec3:
    """One triangle's part of the gradient of 6 V at a corner i [m^2], with b = x_j - x_i and c = x_k - x_i.

    The exact gradient has x_j x x_k for this; the difference sums to zero around a closed fan. It is twice the
    triangle's area along its outward normal, so all corners of the surface together get nothing.
    """
    return wp.cross(b, c)


@wp.func
def gas_pressure(share: wp.float64, ambient: wp.float64, overpressure: wp.float64) -> wp.float64:
    """Overpressure of an ideal gas at constant temperature [Pa]; `share` is V / V0 (Matyka & Ollila 2003, P = nRT/V).

    p = (ambient + overpressure) V0 / V - ambient, which is -dE/dV of
    E = ambient (V - V0) - (ambient + overpressure) V0 ln(V / V0).
    """
    return (ambient + overpressure) / wp.max(share, LEAST_SHARE) - ambient


@wp.func
def bulk_pressure(share: wp.float64, rate: wp.float64, stiffness: wp.float64, damping_time: wp.float64) -> wp.float64:
    """Pressure that brings a volume back [Pa]: -dE/dV of E = K V0/2 (V/V0 - 1)^2, and its damping.

    `share` is V / V0 and `rate` its rate [1/s]. Signed, so that a surface turned inside out is pushed back.
    """
    return -stiffness * (share - wp.float64(1.0) + damping_time * rate)


@wp.func
def gas_slope(share: wp.float64, ambient: wp.float64, overpressure: wp.float64) -> wp.float64:
    """Pressure per relative change of volume, -V0 dp/dV of `gas_pressure` [Pa]."""
    held = wp.max(share, LEAST_SHARE)
    return (ambient + overpressure) / (held * held)


@wp.func
def stable_part(square: wp.float64, damping_time: wp.float64, dt: wp.float64) -> wp.float64:
    """The share of a stiff force that a step stands, 1 unless its omega^2 [1/s^2] has outgrown the step.

    A body spread flat has a larger surface on the same mass, and its volume answers faster than at rest.
    """
    used = square * dt * (dt + wp.float64(2.0) * damping_time)
    return wp.min(wp.float64(1.0), MOST_OF_STEP / wp.max(used, wp.float64(1e-30)))
