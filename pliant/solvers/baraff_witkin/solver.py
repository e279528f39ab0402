"""The Baraff-Witkin method: cloth of stretch, shear and bend conditions, moved by large implicit steps."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.collide.soft.backing import ALONG_NORMAL
from pliant.launch import launch
from pliant.mesh.surface import SurfaceMesh
from pliant.model.model import Elements, Model
from pliant.model.state import State
from pliant.solvers.baraff_witkin import step_kernels
from pliant.solvers.baraff_witkin.implicit import ImplicitStep
from pliant.solvers.baraff_witkin.rest import baraff_witkin_elements, sheet_energy
from pliant.solvers.baraff_witkin.settings import BaraffWitkinSettings
from pliant.solvers.protocol import BodySpec, World


@dataclasses.dataclass(frozen=True)
class InnerSteps:
    """How the steps were cut since the start.

    Attributes:
        taken: steps that were kept.
        thrown_away: steps that were too violent, or whose solve did not end.
        forced: steps that were kept all the same, because they were the shortest.
        smallest: the shortest step that was tried, over the one that was asked for.
    """

    taken: int
    thrown_away: int
    forced: int
    smallest: float


class BaraffWitkin:
    """Moves the particles of the cloth of a model."""

    name: ClassVar[str] = "baraff_witkin"
    # friction of what is held is part of the solve
    takes_from_colliders: ClassVar[int] = ALONG_NORMAL
    Settings: ClassVar[type] = BaraffWitkinSettings
    shares_rest: ClassVar[bool] = False
    takes: ClassVar[tuple[type, ...]] = (SurfaceMesh,)
    fewest_substeps: ClassVar[int] = 1

    def __init__(self, model: Model, state: State, world: World, settings: BaraffWitkinSettings, device: str) -> None:
        self.settings = settings
        self.device = device
        self.world = world
        self.model = model.part(self.name)
        self.first = self.model.bodies[0].particles[0]
        self.count = self.model.bodies[-1].particles[1] - self.first
        self.implicit = ImplicitStep(self.model, state, world, settings, device)
        n = state.count
        self.hold = wp.zeros(n, dtype=int, device=device)
        self.normal = wp.zeros(n, dtype=wp.vec3, device=device)
        self.grip = wp.zeros(n, dtype=wp.vec3, device=device)
        self.mu = wp.zeros(n, dtype=wp.vec2, device=device)
        self.rub = wp.zeros(n, dtype=wp.vec3, device=device)
        materials = [body.material for body in self.model.bodies]
        self.friction = wp.array([(m.friction, m.holding) for m in materials], dtype=wp.vec2, device=device)
        self.restitution = wp.array([m.restitution for m in materials], dtype=float, device=device)
        self.body_index = wp.array(model.particles.body - model.particles.body[self.first], dtype=int, device=device)
        self.reset(state, (self.first, self.first + self.count))

    @staticmethod
    def elements(spec: BodySpec) -> Elements:
        return baraff_witkin_elements(spec)

    @staticmethod
    def rank(spec: BodySpec) -> int:
        return 0

    def predict(self, state: State, dt: float) -> None:
        self.implicit.advance(state, (self.hold, self.normal, self.grip, self.mu, self.rub), dt)

    def resolve(self, state: State, contacts: Contacts, dt: float) -> None:
        launch(
            step_kernels.resolve_holds,
            self.count,
            [
                contacts.surface,
                contacts.depth,
                contacts.slots,
                self.body_index,
                self.implicit.cloth.awake,
                self.friction,
                self.restitution,
                state.inv_mass,
                state.x_next,
                state.v_next,
                self.implicit.hold,
                self.implicit.normal,
                self.implicit.rub,
                self.settings.rest_speed,
                dt,
            ],
            [state.x, state.v, self.hold, self.normal, self.grip, self.mu, self.rub],
            device=self.device,
            first=self.first,
        )

    def inner_steps(self) -> InnerSteps:
        """How many steps were taken and thrown away since the start; reads back from the device."""
        tally = self.implicit.tally.numpy()
        return InnerSteps(
            int(tally[step_kernels.TAKEN]),
            int(tally[step_kernels.THROWN]),
            int(tally[step_kernels.FORCED]),
            0.5 ** int(tally[step_kernels.DEEPEST]),
        )

    def last_iterations(self) -> int:
        """CG iterations of the last inner step; reads back from the device."""
        return self.implicit.cg.iterations()

    def held_impulses(self) -> tuple[np.ndarray, np.ndarray] | None:
        impulse = self.implicit.impulse.numpy().astype(np.float64)
        normal = self.implicit.normal.numpy().astype(np.float64)
        normal[(impulse == 0.0).all(axis=1)] = 0.0
        return normal, impulse

    def fused(self, state: State, dt: float, substeps: int) -> bool:
        return False

    def can_fuse(self) -> bool:
        return False

    def reset(self, state: State, particles: tuple[int, int]) -> None:
        chosen = slice(*particles)
        for array, value in (
            (self.hold, 0),
            (self.normal, 0.0),
            (self.rub, 0.0),
            (self.implicit.a, self.world.gravity),
        ):
            values = array.numpy()
            values[chosen] = value
            array.assign(values)

    def scratch(self) -> dict[str, wp.array]:
        return {
            "hold": self.hold,
            "normal": self.normal,
            "grip": self.grip,
            "mu": self.mu,
            "rub": self.rub,
            "a": self.implicit.a,
            "tally": self.implicit.tally,
        }

    def pins_changed(self, state: State, pinned: np.ndarray) -> None:
        """Nothing hangs on which particles are pinned, besides their inverse mass."""

    def reset_shape(self, body: str) -> bool:
        return False

    def between_frames(self, frame_dt: float) -> bool:
        return False

    def restored(self) -> bool:
        return False

    def links(self, body: str) -> None:
        return None

    def break_links(self, body: str, links: np.ndarray) -> int:
        return 0

    def stable_step(self, state: State) -> float:
        return math.inf

    def wanted_step(self) -> float:
        return math.inf

    def is_held(self, dt: float) -> bool:
        return False

    def energy(self, x: np.ndarray) -> float:
        poisson = self.settings.poisson
        parts = [(body.own, body.material, x[slice(*body.particles)]) for body in self.model.bodies]
        return sum(sheet_energy(rest, material, place, poisson=poisson) for rest, material, place in parts)
