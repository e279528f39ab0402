"""A compliant distance between two particles, as XPBD moves it; damping that every constraint has in common."""

import warp as wp


@wp.func
def damping_share(damping: float, compliance: float, weight: float) -> float:
    """What a damper takes of a rate: minus the change of its multiplier over the rate [kg].

    A damper of the constant damping / compliance, in an implicit step of its own, takes damping / (compliance + damping
    weight). Here damping is the damping time over the step, compliance that of the constraint over the square of the
    step [1/kg], and weight the sum of w |grad C|^2 [1/kg]. Of that only the part counts which belongs to the stiffness
    that a step resolves, 1 / (compliance + weight): or what a pass cannot yet take up would creep back with the damping
    time only. It is all of it as the step goes to zero, and nothing where a constraint is rigid for the step.

    The rate is that of the velocities with which the step begins. So a body at rest has no part in it, and hangs as its
    springs say whatever the damping; the dampers of equation 26 of Macklin et al. 2016 see what other constraints do in
    the same pass, and make it sag.
    """
    if damping <= 0.0:
        return 0.0
    return damping * compliance / ((compliance + damping * weight) * (compliance + weight))


@wp.func
def multiplier_change(value: float, weight: float, compliance: float, multiplier: float) -> float:
    """Change of the Lagrange multiplier of a constraint C = value.

    Macklin, Mueller, Chentanez 2016 (XPBD), equation 18; compliance is that over the square of the step.

    Args:
        weight: sum of w |grad C|^2.
        multiplier: what earlier iterations of this step have summed.
    """
    return -(value + compliance * multiplier) / (weight + compliance)
