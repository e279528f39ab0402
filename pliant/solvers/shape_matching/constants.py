"""What the kernels know of a body, and how a body's stiffness becomes the numbers of one step."""

from __future__ import annotations

import dataclasses
import math

import warp as wp

from pliant.materials import Material
from pliant.solvers.shape_matching.settings import Matching

# (frequency * step / 2)^2 beyond which a pull is held: there a step with full damping reaches the goal at once.
STIFFEST = 1.0


@wp.struct
class BodyMatch:
    """A body's constants for one length of step.

    pull [1/s] and damp are what a step adds to a velocity for each metre from the goal and for each m/s besides the
    rigid motion; creep is the share of the strain that stays after one step.
    """

    pull: float
    damp: float
    beta: float
    keep_volume: int
    plastic: int
    yield_strain: float
    creep: float
    plastic_limit: float
    drag: float
    friction: float
    restitution: float
    first_particle: int
    first_cluster: int
    first_start: int


@dataclasses.dataclass(frozen=True)
class Stiffness:
    """How strongly a body is pulled to its goals.

    Attributes:
        frequency: angular frequency of the pull [1/s]; ignored where alpha is given.
        damping_rate: rate at which other than rigid motion dies out [1/s]; None where it follows from alpha.
        alpha: share of the way done in one step, whatever its length; None where the frequency holds.
    """

    frequency: float
    damping_rate: float | None
    alpha: float | None = None

    def per_step(self, dt: float) -> tuple[float, float]:
        """kappa = (frequency * dt / 2)^2 and gamma = damping_rate * dt / 2 of a step [s].

        A published alpha is taken for an implicit Euler step: (frequency * dt)^2 = alpha / (1 - alpha), and the
        damping is that of the same step, which leaves 1 - alpha of a swing. alpha = 1 reaches the goal at once.
        """
        if self.alpha is None:
            kappa = min((0.5 * self.frequency * dt) ** 2, STIFFEST)
            return kappa, 0.5 * (self.damping_rate or 0.0) * dt
        kappa = STIFFEST if self.alpha >= 1.0 else min(0.25 * self.alpha / (1.0 - self.alpha), STIFFEST)
        gamma = (1.0 + kappa) * self.alpha / (2.0 - self.alpha)
        if self.damping_rate is not None:
            gamma = 0.5 * self.damping_rate * dt
        return kappa, gamma


def body_stiffness(matching: Matching, material: Material, volume: float, moment: float) -> Stiffness:
    """The stiffness of a body from its settings, or from its material.

    A uniform strain E of the body costs 1/2 w^2 (1 - beta) M |E|^2, with the frequency w and the second moment M =
    (1/3) sum of m |q|^2 over all clusters [kg m^2]; in a material with the shear modulus mu it costs mu V |E|^2. So
    w^2 (1 - beta) = 2 mu V / M: finer clusters are stiffer, and the body is as stiff as before. Damping follows as
    stiffness-proportional damping does: the rate of a mode is damping * frequency^2.
    """
    free = 1.0 if matching.mode == "rigid" else max(1.0 - matching.beta, 0.05)
    squared = 2.0 * material.shear_modulus * volume / max(moment, 1e-30)
    frequency = math.sqrt(squared / free) if matching.frequency is None else matching.frequency
    rate = matching.damping_rate
    if rate is None and matching.alpha is None:
        rate = material.damping * frequency**2 * free
    return Stiffness(frequency, rate, matching.alpha)


def step_constants(matching: Matching, material: Material, stiffness: Stiffness, dt: float) -> BodyMatch:
    """A body's constants for steps of dt [s]: an implicit midpoint step, solved for the velocity.

    Of a swing about the goal the pull is kappa; of a deformation that the goal follows by beta it is kappa (1 - beta).
    Both are taken implicitly, which makes the goal that is aimed at a little stiffer than beta says.
    """
    kappa, gamma = stiffness.per_step(dt)
    whole = 1.0 + gamma + kappa
    beta = 0.0 if matching.mode == "rigid" else matching.beta
    body = BodyMatch()
    body.pull = 4.0 * kappa / (dt * whole)
    body.damp = 2.0 * gamma / whole
    body.beta = 1.0 - (1.0 - beta) * whole / (1.0 + gamma + kappa * (1.0 - beta))
    body.keep_volume = int(matching.keep_volume)
    body.plastic = int(material.yield_strain is not None and matching.mode != "rigid")
    body.yield_strain = material.yield_strain or 0.0
    body.creep = min(material.creep * dt, 1.0)
    body.plastic_limit = material.plastic_limit
    body.drag = material.drag / (1.0 + 0.5 * material.drag * dt)
    body.friction = material.friction
    body.restitution = material.restitution
    return body
