"""What a simulation's state says about physics: energy, momentum, volume, stretch; in float64 on the host."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from pliant.forces.enclosed import enclosed_volume
from pliant.model.model import Body, Model
from pliant.model.tets import signed_volumes

RigidPart = tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Mass [kg], centre [m], velocity [m/s], inertia [kg m^2] and angular velocity [rad/s] of something rigid."""


@dataclasses.dataclass(frozen=True)
class Diagnostics:
    """One moment of a simulation.

    Attributes:
        kinetic, elastic, potential: energies [J]; potential is that of gravity.
        momentum: linear [kg m/s] (3,).
        angular_momentum: about the world's origin [kg m^2/s] (3,).
        mass: of all that moves [kg].
        mass_centre: [m] (3,).
        volume_ratio: volume of all tets over that at rest; 1 if there are none.
        body_volume_ratio: the same for each body.
        max_stretch: longest spring over its length in the rest shape; 1 if there are none.
        min_stretch: shortest.
        mean_stretch: mean of |length / rest length - 1|.
        inverted: number of tets turned inside out.
        max_speed: [m/s].
        finite: whether all numbers are.
    """

    kinetic: float
    elastic: float
    potential: float
    momentum: np.ndarray
    angular_momentum: np.ndarray
    mass: float
    mass_centre: np.ndarray
    volume_ratio: float
    body_volume_ratio: list[float]
    max_stretch: float
    min_stretch: float
    mean_stretch: float
    inverted: int
    max_speed: float
    finite: bool

    @property
    def energy(self) -> float:
        """Kinetic, elastic and potential energy together [J]."""
        return self.kinetic + self.elastic + self.potential


def measure(
    model: Model,
    x: np.ndarray,
    v: np.ndarray,
    gravity: np.ndarray,
    elastic: float,
    piece: np.ndarray | None = None,
    broken: np.ndarray | None = None,
    masses: np.ndarray | None = None,
    rigid: Sequence[RigidPart] = (),
) -> Diagnostics:
    """Diagnostics of positions x [m] and velocities v [m/s], both (n, 3) float64.

    Tets whose corners belong to different pieces (n,) of a body that has broken count no more, nor do springs
    that are broken (e,). The particles have the model's masses if none (n,) are given [kg]. Parts that move besides
    the particles add to energy, momenta and mass.
    """
    mass = (model.particles.mass if masses is None else masses)[:, None]
    stretch = np.ones(1)
    if model.springs.count:
        pairs = model.springs.pairs
        # against the rest shape: springs that hold each other under stress have rest lengths of their own
        length = lambda at: np.linalg.norm(at[pairs[:, 1]] - at[pairs[:, 0]], axis=1)
        stretch = length(x) / length(model.particles.rest)
        if broken is not None and broken.any():
            stretch = stretch[~broken] if not broken.all() else np.ones(1)
    volumes = signed_volumes(x, model.tets.corners)
    rest = model.tets.rest_volume
    if piece is not None and len(volumes):
        of_corner = piece[model.tets.corners]
        whole = (of_corner == of_corner[:, :1]).all(axis=1)
        volumes, rest = np.where(whole, volumes, 0.0), np.where(whole, rest, 0.0)
    held = [_held_volumes(body, model, x, volumes, rest) for body in model.bodies]
    now, before = float(sum(pair[0] for pair in held)), float(sum(pair[1] for pair in held))
    more = _rigid_sums(rigid, gravity)
    return Diagnostics(
        kinetic=0.5 * float(np.sum(mass * v * v)) + more.kinetic,
        elastic=elastic,
        potential=-float(np.sum(mass * x * gravity)) + more.potential,
        momentum=np.sum(mass * v, axis=0) + more.momentum,
        angular_momentum=np.sum(mass * np.cross(x, v), axis=0) + more.angular_momentum,
        mass=float(mass.sum()) + more.mass,
        mass_centre=(np.sum(mass * x, axis=0) + more.moment) / (float(mass.sum()) + more.mass),
        volume_ratio=now / before if before else 1.0,
        body_volume_ratio=[pair[0] / pair[1] if pair[1] else 1.0 for pair in held],
        max_stretch=float(stretch.max()),
        min_stretch=float(stretch.min()),
        mean_stretch=float(np.abs(stretch - 1.0).mean()),
        inverted=int((volumes < 0).sum()),
        max_speed=float(np.linalg.norm(v, axis=1).max(initial=0.0)),
        finite=bool(np.isfinite(x).all() and np.isfinite(v).all()),
    )


@dataclasses.dataclass
class _RigidSums:
    mass: float
    moment: np.ndarray
    kinetic: float
    potential: float
    momentum: np.ndarray
    angular_momentum: np.ndarray


def _rigid_sums(parts: Sequence[RigidPart], gravity: np.ndarray) -> _RigidSums:
    """What rigid parts add up to."""
    sums = _RigidSums(0.0, np.zeros(3), 0.0, 0.0, np.zeros(3), np.zeros(3))
    for mass, centre, velocity, inertia, spin in parts:
        sums.mass += mass
        sums.moment += mass * centre
        sums.kinetic += 0.5 * float(mass * velocity @ velocity + spin @ inertia @ spin)
        sums.potential -= float(mass * centre @ gravity)
        sums.momentum += mass * velocity
        sums.angular_momentum += mass * np.cross(centre, velocity) + inertia @ spin
    return sums


def _held_volumes(
    body: Body, model: Model, x: np.ndarray, volumes: np.ndarray, rest: np.ndarray
) -> tuple[float, float]:
    """Volume of a body now and at rest [m^3]: of its tets, or of the closed surface that is filled; zero without."""
    tets = slice(*body.tets)
    if body.tets[1] > body.tets[0]:
        return float(volumes[tets].sum()), float(rest[tets].sum())
    if body.options.get("volume") is None:
        return 0.0, 0.0
    return enclosed_volume(x, body.surface), enclosed_volume(model.particles.rest, body.surface)
