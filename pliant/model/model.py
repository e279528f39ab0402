"""What is simulated: the bodies, their particles and their elements, in the order the machine likes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.materials import Material, RawConstants
from pliant.model.particles import Particles
from pliant.model.springs import Springs
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles


@dataclasses.dataclass
class Elements:
    """What one body contributes, in its own particle numbers."""

    springs: Springs
    triangles: Triangles
    tets: Tets
    mass: np.ndarray
    notes: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Body:
    """One body of a model; ranges are (start, stop) into the model's arrays.

    Attributes:
        rank: place of each of the user's vertices inside the body's run of particles (n,) int64.
        blocks: first particle of each spatial block of the body, and the end, in the model's numbers.
        surface: triangles to draw, in the model's particle numbers (k, 3) int32.
    """

    name: str
    method: str
    material: Material
    raw: RawConstants | None
    color: tuple[float, float, float]
    particles: tuple[int, int]
    springs: tuple[int, int]
    triangles: tuple[int, int]
    tets: tuple[int, int]
    rank: np.ndarray
    blocks: np.ndarray
    surface: np.ndarray
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def particle_of(self) -> np.ndarray:
        """The model's particle number of each of the user's vertices (n,)."""
        return self.particles[0] + self.rank


@dataclasses.dataclass
class Model:
    """Everything that does not change while a simulation runs; host arrays, float64."""

    bodies: list[Body]
    particles: Particles
    springs: Springs
    triangles: Triangles
    tets: Tets
    notes: list[str] = dataclasses.field(default_factory=list)

    def check(self) -> None:
        self.particles.check()
        self.springs.check()
        self.triangles.check()
        self.tets.check()

    def part(self, method: str) -> Model:
        """The bodies of one method with their elements; particle numbers stay the same.

        Bodies of one method stand together, so their elements do too.
        """
        bodies = [b for b in self.bodies if b.method == method]
        spring, triangle, tet = (
            slice(getattr(bodies[0], kind)[0], getattr(bodies[-1], kind)[1])
            for kind in ("springs", "triangles", "tets")
        )
        s, r, t = self.springs, self.triangles, self.tets
        return Model(
            bodies,
            self.particles,
            Springs(s.pairs[spring], s.rest_length[spring], s.stiffness[spring]),
            Triangles(r.corners[triangle], r.rest_area[triangle]),
            Tets(t.corners[tet], t.rest_volume[tet]),
        )

    def body_of_spring(self, i: int) -> Body:
        return next(b for b in self.bodies if b.springs[0] <= i < b.springs[1])

    def body_of_particle(self, i: int) -> Body:
        return self.bodies[int(self.particles.body[i])]

    def surface(self) -> np.ndarray:
        """Triangles to draw of all bodies (k, 3) int32."""
        return np.concatenate([b.surface for b in self.bodies]).astype(np.int32).reshape(-1, 3)
