"""The particles of all bodies: mass, rest position, body, surface properties."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.errors import InputError

# Where particles are that are set aside [m].
ASIDE = np.array([0.0, 1e5, 0.0])


@dataclasses.dataclass
class Particles:
    """Particle-sized arrays.

    Attributes:
        rest: rest positions in the world at build [m] (n, 3) float64.
        velocity: velocities at build [m/s] (n, 3) float64.
        mass: [kg] (n,) float64; zero for those that are set aside.
        body: body number (n,) int32.
        radius: how far colliders are kept off [m] (n,) float64: half the thickness of a sheet, the radius of a rod;
            zeros if not given.
    """

    rest: np.ndarray
    velocity: np.ndarray
    mass: np.ndarray
    body: np.ndarray
    radius: Any = None

    def __post_init__(self) -> None:
        if self.radius is None:
            self.radius = np.zeros(len(self.mass))

    @property
    def count(self) -> int:
        return len(self.mass)

    def with_spares(self, count: int) -> Particles:
        """These, and so many without mass that are set aside, far away."""
        if count == 0:
            return self
        return dataclasses.replace(
            self,
            rest=np.concatenate([self.rest, np.tile(ASIDE, (count, 1))]),
            velocity=np.concatenate([self.velocity, np.zeros((count, 3))]),
            mass=np.concatenate([self.mass, np.zeros(count)]),
            body=np.concatenate([self.body, np.zeros(count, np.int32)]),
            # copies of particles of the body, which all have about the same
            radius=np.concatenate([self.radius, np.full(count, self.radius.max(initial=0.0))]),
        )

    @staticmethod
    def concat(groups: Sequence[Particles]) -> Particles:
        """One group after the other; the body number is the group's number."""
        return Particles(
            np.concatenate([g.rest for g in groups]),
            np.concatenate([g.velocity for g in groups]),
            np.concatenate([g.mass for g in groups]),
            np.concatenate([np.full(g.count, b, np.int32) for b, g in enumerate(groups)]),
            np.concatenate([g.radius for g in groups]),
        )

    def check(self, where: str = "particles") -> None:
        for name, array in (("position", self.rest), ("velocity", self.velocity), ("mass", self.mass)):
            bad = ~np.isfinite(array.reshape(self.count, -1)).all(axis=1)
            if bad.any():
                i = int(np.argmax(bad))
                raise InputError(f"the {name} of particle {i} is {array[i]}", where, "Give finite numbers")
        bad = (self.mass <= 0) & (self.rest != ASIDE).any(axis=1)
        if bad.any():
            i = int(np.argmax(bad))
            raise InputError(
                f"particle {i} has the mass {self.mass[i]:g} kg",
                where,
                "Every particle needs a positive mass: check that it belongs to an element, or pin it instead",
            )


def lumped_mass(elements: np.ndarray, element_mass: np.ndarray, count: int) -> np.ndarray:
    """Each element's mass in equal shares to its corners [kg] (count,)."""
    share = element_mass / elements.shape[1]
    mass = np.zeros(count)
    for corner in range(elements.shape[1]):
        mass += np.bincount(elements[:, corner], share, count)
    return mass


def average_volume_mass(tets: np.ndarray, volumes: np.ndarray, total: float, count: int) -> np.ndarray:
    """The total mass shared out by the mean volume of the tets around each particle (Lesmes 3.13) [kg] (count,)."""
    around = np.zeros(count)
    number = np.zeros(count)
    for corner in range(4):
        around += np.bincount(tets[:, corner], volumes, count)
        number += np.bincount(tets[:, corner], minlength=count)
    mean = around / np.maximum(number, 1)
    return mean / mean.sum() * total


def truncate_inverse_mass(mass: np.ndarray, largest_inverse: float) -> tuple[np.ndarray, int]:
    """Raise masses whose inverse exceeds a limit (Lesmes table 5.2); also how many there were."""
    over = 1.0 / mass > largest_inverse
    return np.where(over, 1.0 / largest_inverse, mass), int(over.sum())


def raise_light_masses(mass: np.ndarray, share: float) -> tuple[np.ndarray, int]:
    """Move a share of the total mass to the lightest particles, which then allow a longer step; also how many.

    The lightest are raised to one level, as water fills a basin, and all are scaled so that the total stays.
    """
    if share <= 0.0:
        return mass, 0
    rising = np.sort(mass)
    count = np.arange(1, len(mass) + 1)
    # what it takes to raise the k lightest to the level of the next one
    needed = count[:-1] * rising[1:] - np.cumsum(rising)[:-1]
    k = int(np.searchsorted(needed, share * mass.sum(), side="right")) + 1
    level = (share * mass.sum() + rising[:k].sum()) / k
    return np.maximum(mass, level) * (mass.sum() / np.maximum(mass, level).sum()), k
