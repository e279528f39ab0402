"""What the kernels know of a body, and how a body's stiffness becomes the numbers of one step."""

from __future__ import annotations

import dataclasses
import math

import warp as wp

from pliant.materials import Material
from pliant.solvers.protocol import Calibration
from pliant.solvers.shape_matching.settings import Matching


@wp.struct
class BodyMatch:
    """A body's constants for one length of step.

    pull [1/s] and damp are what a step adds to a velocity for each metre from the goal and for each m/s besides the
    rigid motion; friction is the kinetic and the static coefficient; radius [m] is how far planes are kept off; creep
    is the share of the strain that stays after one step.
    """

    pull: float
    damp: float
    plastic: int
    yield_strain: float
    creep: float
    plastic_limit: float
    drag: float
    friction: wp.vec2
    restitution: float
    radius: float
    first_particle: int
    first_cluster: int
    first_start: int


@dataclasses.dataclass(frozen=True)
class Goals:
    """What goals follow of a deformation, and how clusters pull.

    Attributes:
        pull: of a cluster, over that of the body.
        beta: share of stretch and shear. bend: share of bend and twist, of quadratic goals.
        volume: how strongly the volume is kept, over the pull.
    """

    pull: float
    beta: float
    bend: float
    volume: float


@dataclasses.dataclass(frozen=True)
class Stiffness:
    """How strongly a body is pulled to its goals.

    Attributes:
        frequency: angular frequency of the pull [1/s]; ignored where alpha is given.
        damping_rate: rate at which other than rigid motion dies out [1/s]; None where it follows from alpha.
        alpha: share of the way done in one step, whatever its length; None where the frequency holds.
        goals: of each cluster, or one of all.
    """

    frequency: float
    damping_rate: float | None
    alpha: float | None = None
    goals: tuple[Goals, ...] = ()

    def per_step(self, dt: float) -> tuple[float, float]:
        """What a step of dt [s] does: a = (frequency dt / 2)^2, and b = (1 - exp(-damping_rate dt)) / 2.

        A swing about a goal that stays is multiplied by the eigenvalues of a matrix of trace 2 - 4a - 2b and
        determinant 1 - 2b, one about goals that follow it has less of either: a step is stable for a + b <= 1. a is
        held at (1 - b) / 2, halfway to that; then b is raised, up to 1/2 for a step that is far too long, since what
        a step does not resolve should not ring either. A published alpha is taken for what it does in the sources, an
        implicit Euler step towards the goal, trace 2 (1 - alpha) and determinant 1 - alpha: a = alpha / 4, b =
        alpha / 2.
        """
        rate = self.damping_rate
        b = 0.0 if rate is None else -0.5 * math.expm1(-rate * dt)
        if self.alpha is not None:
            return 0.25 * self.alpha, 0.5 * self.alpha if rate is None else b
        a = (0.5 * self.frequency * dt) ** 2
        most = 0.5 * (1.0 - b)
        if a <= most:
            return a, b
        b = max(b, 0.5 * (1.0 - most / a))
        return 0.5 * (1.0 - b), b

    def squared_frequency(self, dt: float | None) -> float:
        """That of the pull in use at steps of dt [1/s^2]; that which was asked for where there was no step yet."""
        return self.frequency**2 if dt is None else 4.0 * self.per_step(dt)[0] / dt**2

    def softness(self, dt: float) -> float:
        """By which share a body gives in too far since a step of dt [s] is too long for its frequency."""
        a, _ = self.per_step(dt)
        return 0.0 if self.alpha is not None or a <= 0.0 else max((0.5 * self.frequency * dt) ** 2 / a - 1.0, 0.0)

    def is_held(self, dt: float) -> bool:
        """Whether a step of dt [s] is too long for the frequency, so that the body is softer than was asked for."""
        a, _ = self.per_step(dt)
        return self.alpha is None and a < (0.5 * self.frequency * dt) ** 2 * (1.0 - 1e-6)


def body_stiffness(
    matching: Matching, material: Material, volume: float, moment: float, calibration: Calibration | None = None
) -> Stiffness:
    """The stiffness of a body from its settings, or from its material.

    A uniform strain E of the body costs 1/2 w^2 (1 - beta) M |E|^2, with the frequency w and the second moment M =
    (1/3) sum of m |q|^2 over all clusters [kg m^2]; in a material with the shear modulus mu it costs mu V |E|^2. So
    w^2 (1 - beta) = 2 mu V / M: finer clusters are stiffer, and the body is as stiff as before. Damping follows as
    stiffness-proportional damping does: the rate of a mode is damping * frequency^2. A calibration says instead what
    the frequency and the goals are, and at what frequency the body swings.
    """
    plain = plain_goals(matching)
    goals: tuple[Goals, ...] = (plain,)
    free = max(1.0 - plain.beta, 0.05)
    squared = 2.0 * material.shear_modulus * volume / max(moment, 1e-30)
    frequency = math.sqrt(squared / free) if matching.frequency is None else matching.frequency
    rate = matching.damping_rate
    if calibration is not None:
        frequency = math.sqrt(squared * calibration.numbers[0])
        goals = tuple(Goals(*row) for row in calibration.clusters)
        rate = material.damping * calibration.rate * squared if rate is None else rate
    if rate is None and matching.alpha is None:
        rate = material.damping * frequency**2 * free
    return Stiffness(frequency, rate, matching.alpha, goals)


def plain_goals(matching: Matching) -> Goals:
    """The goals of a body that is not calibrated."""
    beta = 0.0 if matching.mode == "rigid" else matching.follows
    return Goals(1.0, beta, beta, beta if matching.keep_volume else 0.0)


def step_constants(matching: Matching, material: Material, stiffness: Stiffness, dt: float) -> BodyMatch:
    """A body's constants for steps of dt [s]."""
    a, b = stiffness.per_step(dt)
    body = BodyMatch()
    body.pull = 4.0 * a / dt
    body.damp = 2.0 * b
    body.plastic = int(material.yields_at is not None and matching.mode != "rigid")
    body.yield_strain = material.yields_at or 0.0
    body.creep = min(material.creep * dt, 1.0)
    body.plastic_limit = material.plastic_limit
    body.drag = material.drag / (1.0 + 0.5 * material.drag * dt)
    body.friction = wp.vec2(material.friction, material.holding)
    body.restitution = material.restitution
    return body
