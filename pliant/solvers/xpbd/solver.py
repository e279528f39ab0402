"""XPBD: particles move freely, and compliant constraints bring them back, in many small steps."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.launch import launch
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Elements, Model
from pliant.model.state import State
from pliant.solvers.common.contact_response import resolve_contacts
from pliant.solvers.common.tearing import Tearing
from pliant.solvers.protocol import BodySpec, World
from pliant.solvers.xpbd.elements import Shape, xpbd_elements
from pliant.solvers.xpbd.mesh_part import MeshPart
from pliant.solvers.xpbd.settings import XpbdSettings
from pliant.solvers.xpbd.step_kernels import Free, commit_and_go_on, commit_moves, move_freely, predict_moves
from pliant.solvers.xpbd.torn import parted_springs
from pliant.solvers.xpbd.wanted import excess, resolving_step, wanted_step

COST = 2e-7
"""About what a pass over a tet takes one core [s]."""
HELD = 1.5
"""Step over the one that resolves a solid's stiffness beyond which the user is told."""
ROD_RANK = 1
"""Rank of rods, which stand after sheets and solids."""


class Xpbd:
    """Moves the particles of the XPBD bodies of a model."""

    name: ClassVar[str] = "xpbd"
    Settings: ClassVar[type] = XpbdSettings
    shares_rest: ClassVar[bool] = False
    takes: ClassVar[tuple[type, ...]] = (SurfaceMesh, TetMesh, VoxelLattice, RodMesh)
    most_substeps: ClassVar[int] = 30
    """Substeps of a frame that are spent on stiffness, where the user leaves their number open."""

    def __init__(self, model: Model, state: State, world: World, settings: XpbdSettings, device: str) -> None:
        self.settings = settings
        self.device = device
        self.world = world
        self.model = model.part(self.name)
        bodies = self.model.bodies
        self.first = bodies[0].particles[0]
        self.count = bodies[-1].particles[1] - self.first
        self.awake = state.awake_of(self.model.body_numbers)
        n = state.count
        vectors = lambda: wp.zeros(n, dtype=wp.vec3, device=device)
        self.carry, self.carry_next = vectors(), vectors()
        self.base = wp.zeros(n, dtype=wp.vec4d, device=device)
        self.move = wp.zeros(n, dtype=wp.vec4, device=device)
        self.pace = wp.zeros(n, dtype=wp.vec4, device=device)
        # the same numbers as vectors of three, for the rods
        self.move_view = wp.array(ptr=self.move.ptr, dtype=wp.vec3, shape=(n,), strides=(16,), device=device)
        materials = [body.material for body in bodies]
        of_bodies = lambda key: wp.array([getattr(m, key) for m in materials], dtype=float, device=device)
        self.drag, self.restitution = map(of_bodies, ("drag", "restitution"))
        self.friction = wp.array([(m.friction, m.holding) for m in materials], dtype=wp.vec2, device=device)
        self._paces = int(any(m.damping > 0.0 for m in materials) or any(b.raw is not None for b in bodies))
        self.radius = wp.array(model.particles.radius.astype(np.float32), dtype=float, device=device)
        self.body_index = wp.array(model.particles.body - model.particles.body[self.first], dtype=int, device=device)
        rods = [k for k, body in enumerate(bodies) if not isinstance(body.own, Shape)]
        others = [body for k, body in enumerate(bodies) if k not in rods]
        self.meshes = MeshPart(self.model, others, state, settings, self.base, self.pace, device) if others else None
        self.rods: Any = None
        if rods:
            from pliant.solvers.xpbd.rod_part import RodPart

            self.rods = RodPart(self.model, [bodies[k] for k in rods], rods, settings, device, self.base, self.awake)
        gravity = float(np.linalg.norm(world.gravity))
        self._wanted = min([wanted_step(body, gravity, settings.iterations) for body in others], default=math.inf)
        # rods are solved directly, as stiff at any step as their material
        self._softened = 2.0 * self._wanted
        self._excess = max([excess(body, settings.iterations) for body in others], default=0.0)
        self._resolving = min([resolving_step(body, gravity, settings.iterations) for body in others], default=math.inf)
        if len(self.model.tets.corners) and self.rods is None and not len(self.model.triangles.corners):
            self.substep_cost = COST * settings.iterations * len(self.model.tets.corners)
        if self.rods is not None:
            self._wanted = min(self._wanted, self.rods.wanted_step())
        self.carry.assign((self.model.particles.rest - state.x.numpy().astype(np.float64)).astype(np.float32))

    @staticmethod
    def elements(spec: BodySpec) -> Elements:
        return xpbd_elements(spec)

    @staticmethod
    def rank(spec: BodySpec) -> int:
        return ROD_RANK if isinstance(spec.mesh, RodMesh) else 0

    # ---- the step -----------------------------------------------------------------------------------------------

    def _free(self, dt: float, planes: int) -> Free:
        step = Free()
        step.dt = dt
        step.gravity = wp.vec3(*self.world.gravity)
        step.has_f_ext = int(self.world.has_f_ext)
        step.plane_count = planes
        step.rest_speed = self.settings.rest_speed
        step.paces = self._paces
        return step

    def _each(self, kernel: Any, inputs: list, outputs: list) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first)

    def _advance(self, state: State, dt: float, step: Free) -> None:
        """Write what every particle moves by in a step, constraints and all."""
        self._begin(state, step)
        self._constrain(state, dt)

    def _begin(self, state: State, step: Free) -> None:
        here = [self.body_index, self.drag, state.inv_mass, state.f_ext, state.x, self.carry, state.v]
        self._each(move_freely, [*here, step], [self.base, self.pace, self.move])

    def _constrain(self, state: State, dt: float) -> None:
        """Let all constraints change what the particles move by."""
        if self.rods is not None:
            self.rods.begin(state, self.move_view, dt)
        for k in range(self.settings.iterations):
            if self.meshes is not None:
                self.meshes.solve(self.move, dt, k)
            if self.rods is not None:
                self.rods.solve(state, self.move_view, dt)
        if self.rods is not None:
            self.rods.finish(state, self.move_view, dt)

    def predict(self, state: State, dt: float) -> None:
        step = self._free(dt, 0)
        self._advance(state, dt, step)
        self._each(
            predict_moves,
            [self.body_index, self.drag, state.inv_mass, state.f_ext, state.x, self.carry, state.v, self.move, step],
            [state.x_next, self.carry_next, state.v_next],
        )

    def resolve(self, state: State, contacts: Contacts, dt: float) -> None:
        found = [contacts.surface, contacts.depth, contacts.slots, self.body_index, self.friction, self.restitution]
        moved = [state.inv_mass, state.x_next, self.carry_next, state.v_next, None]
        there = [state.x, self.carry, state.v, None]
        self._each(resolve_contacts, [*found, *moved, self.settings.rest_speed, dt], there)
        if self.meshes is not None:
            self.meshes.tear(state, self.carry)

    def can_fuse(self) -> bool:
        return self.world.only_planes

    def fused(self, state: State, dt: float, substeps: int) -> bool:
        """All substeps in place: the constraints read the positions of the start of the step from a copy."""
        if not self.can_fuse():
            return False
        step = self._free(dt, self.world.plane_count)
        tears = self.tearing is not None
        touch = [self.friction, self.restitution, self.world.planes, self.radius, state.inv_mass, state.f_ext]
        after = [self.body_index, self.drag, *touch]
        for k in range(substeps):
            if k == 0 or tears:
                self._begin(state, step)
            self._constrain(state, dt)
            here = [state.x, self.carry, state.v]
            if k + 1 < substeps and not tears:
                self._each(commit_and_go_on, [*after, step], [*here, self.base, self.pace, self.move])
            else:
                self._each(commit_moves, [*after, self.move, step], here)
            if self.meshes is not None:
                self.meshes.tear(state, self.carry)
        return True

    # ---- around the step ----------------------------------------------------------------------------------------

    def reset(self, state: State, particles: tuple[int, int]) -> None:
        values = self.carry.numpy()
        values[slice(*particles)] = 0.0
        self.carry.assign(values)
        if self.rods is not None:
            self.rods.reset(state, particles)

    def pins_changed(self, state: State, pinned: np.ndarray) -> None:
        if self.tearing is not None:
            self.tearing.right_masses(state)
        if self.meshes is not None:
            self.meshes.pins_changed(state, pinned)
        if self.rods is not None:
            self.rods.pins_changed(state, pinned)

    def scratch(self) -> dict[str, wp.array]:
        found = {"carry": self.carry}
        for part in (self.meshes, self.rods):
            if part is not None:
                found |= part.scratch()
        return found

    def stable_step(self, state: State) -> float:
        return math.inf

    def rough_step(self) -> float:
        """Longest step at which bodies stretch little more than their material under their own weight [s]."""
        return self._wanted

    def wanted_step(self) -> float:
        return min(self._wanted, self._resolving)

    def softness(self, dt: float) -> float:
        """About by which share the softest solid gives in too far at steps of dt [s]."""
        return self._excess * dt * dt

    def is_held(self, dt: float) -> bool:
        # a frame that asks for as many steps as are ever chosen is as stiff as a program should make it
        return dt > self._softened or dt > HELD * self._resolving

    def energy(self, x: np.ndarray) -> float:
        return sum(part.energy(x) for part in (self.meshes, self.rods) if part is not None)

    def between_frames(self, frame_dt: float) -> bool:
        return self.rods is not None and self.rods.newly_broken()

    def restored(self) -> bool:
        if self.rods is not None:
            self.rods.restored()
        if self.tearing is not None:
            self.tearing.remember()
        return self.rods is not None and self.rods.breaks

    def watched_by(self, guard: Any) -> None:
        """Let the guard know which springs break: of sheets that tear it watches none."""
        torn = [body for body in self.model.bodies if body.splits]
        guard.forget([(body.springs[0], np.ones(body.springs[1] - body.springs[0], bool)) for body in torn])
        if self.rods is not None:
            self.rods.watched_by(guard)

    @property
    def tearing(self) -> Tearing | None:
        """How sheets come apart; None where none can."""
        return None if self.meshes is None else self.meshes.tearing

    def broken_springs(self, body: str) -> np.ndarray | None:
        """Which edges of a sheet join no vertices of one triangle any more, and which segments of rods are broken."""
        found = next((b for b in self.model.bodies if b.name == body), None)
        if found is None:
            return None
        if self.tearing is not None and self.tearing.owns(body):
            first = self.model.bodies[0].springs[0]
            return parted_springs(self.model, found, self.tearing, first)
        if self.rods is not None and self.rods.has(body):
            mask = np.zeros(found.springs[1] - found.springs[0], bool)
            mask[self.rods.broken(body)] = True
            return mask
        return None

    def news(self) -> list[tuple[str, bool]]:
        """What the user should be told after a frame, and whether as a warning."""
        return [] if self.tearing is None else self.tearing.news()

    def links(self, body: str) -> None:
        return None

    def break_links(self, body: str, links: np.ndarray) -> int:
        return 0

    def held_impulses(self) -> tuple[np.ndarray, np.ndarray] | None:
        return None

    def reset_shape(self, body: str) -> bool:
        return False
