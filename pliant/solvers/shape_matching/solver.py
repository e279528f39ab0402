"""The shape-matching method: rigid, linear and quadratic goals, one cluster or many, elastic or plastic."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.collide.soft.backing import WHOLE
from pliant.launch import launch
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.points import PointCloud
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Elements, Model
from pliant.model.state import State
from pliant.solvers.common.contact_response import resolve_contacts, resolve_penalty
from pliant.solvers.protocol import BodySpec, World
from pliant.solvers.shape_matching.cluster_group import ClusterGroup
from pliant.solvers.shape_matching.constants import BodyMatch, Stiffness, body_stiffness, step_constants
from pliant.solvers.shape_matching.elements import shape_matching_elements
from pliant.solvers.shape_matching.fracture import Fracture, can_break
from pliant.solvers.shape_matching.fracture_links import ClusterLinks
from pliant.solvers.shape_matching.group import MatchGroup
from pliant.solvers.shape_matching.lattice_group import LatticeGroup
from pliant.solvers.shape_matching.rest import RestClusters
from pliant.solvers.shape_matching.settings import Matching, ShapeMatchingSettings
from pliant.solvers.shape_matching.step_kernels import MidStep

LATTICE_RANK = 1
"""Rank of bodies whose lattice regions are summed axis by axis; that of the others is the order of their goals."""
STEEPEST = 0.5
"""Frequency times step beyond which a penalty is held: an explicit push that is harder makes bodies hop."""
CALIBRATED_SUBSTEPS = 24
"""Substeps that are spent on resolving the frequency of a calibrated body: it is as stiff as the fit says, or not."""
COST = 4e-8
"""About what a member of a cluster takes one core [s]."""
RESOLVED = 1.0
"""Frequency times step up to which a swing is followed well."""


class ShapeMatching:
    """Moves the particles of the shape-matched bodies of a model."""

    name: ClassVar[str] = "shape_matching"
    Settings: ClassVar[type] = ShapeMatchingSettings
    shares_rest: ClassVar[bool] = True
    takes: ClassVar[tuple[type, ...]] = (TetMesh, SurfaceMesh, VoxelLattice, PointCloud)

    def __init__(self, model: Model, state: State, world: World, settings: ShapeMatchingSettings, device: str) -> None:
        self.settings = settings
        self.device = device
        self.world = world
        self.model = model.part(self.name)
        bodies = self.model.bodies
        self.first = bodies[0].particles[0]
        self.count = bodies[-1].particles[1] - self.first
        self.awake = state.awake_of(self.model.body_numbers)
        self.matchings: list[Matching] = [body.options["matching"] for body in bodies]
        self.groups: list[MatchGroup] = []
        for rank in sorted({_rank(m) for m in self.matchings}):
            numbers = [k for k, m in enumerate(self.matchings) if _rank(m) == rank]
            members, rest = [bodies[k] for k in numbers], model.particles.rest
            if rank == LATTICE_RANK:
                self.groups.append(LatticeGroup(members, numbers, rest, device))
            else:
                self.groups.append(ClusterGroup(members, numbers, rank, rest, device))
        self.fractures = {
            g: Fracture(group)
            for g, group in enumerate(self.groups)
            if isinstance(group, ClusterGroup) and any(map(can_break, group.bodies))
        }
        self._places = {k: (group, place) for group in self.groups for place, k in enumerate(group.numbers)}
        self.stiffness: list[Stiffness] = []
        for k, body in enumerate(bodies):
            group, place = self._group_of(k)
            volume = float(model.particles.mass[slice(*body.particles)].sum()) / body.material.density
            moment = group.rests[place].moment
            self.stiffness.append(
                body_stiffness(self.matchings[k], body.material, volume, moment, body.options["calibration"])
            )
            group.set_goals(place, self.stiffness[k].goals)
        # asked for by name when substeps are chosen; others are left to the usual number
        if any(body.options["calibration"] is not None for body in bodies):
            self.most_substeps = CALIBRATED_SUBSTEPS
        rests = [rest for group in self.groups for rest in group.rests]
        count = sum(len(rest.member) if isinstance(rest, RestClusters) else 4 * rest.count for rest in rests)
        # sheets and loose points are left to the usual number
        solids = all(body.tets[1] > body.tets[0] for body in bodies)
        self.substep_cost = COST * count if solids else None
        self.body_index = wp.array(model.particles.body - model.particles.body[self.first], dtype=int, device=device)
        materials = [body.material for body in bodies]
        self.friction = wp.array([(m.friction, m.holding) for m in materials], dtype=wp.vec2, device=device)
        self.restitution = wp.array([b.material.restitution for b in bodies], dtype=float, device=device)
        # the constants of a body depend on the step: an array for each length of step in use, so that a frame that
        # was recorded with one stays good
        self._constants: dict[float, wp.array] = {}
        self._last_dt: float | None = None

    def _group_of(self, k: int) -> tuple[MatchGroup, int]:
        """The group of a body, and the body's place in it."""
        return self._places[k]

    @staticmethod
    def elements(spec: BodySpec) -> Elements:
        return shape_matching_elements(spec)

    @staticmethod
    def rank(spec: BodySpec) -> int:
        return _rank(spec.matching)

    # ---- the step -----------------------------------------------------------------------------------------------

    def _bodies(self, dt: float) -> wp.array:
        """The bodies' constants for steps of dt [s]."""
        self._last_dt = dt
        if dt not in self._constants:
            rows: list[BodyMatch] = []
            for k, body in enumerate(self.model.bodies):
                constants = step_constants(self.matchings[k], body.material, self.stiffness[k], dt)
                constants.radius = float(body.options.get("radius", 0.0))
                group, place = self._group_of(k)
                group.place(place, constants)
                rows.append(constants)
            self._constants[dt] = wp.array(rows, dtype=BodyMatch, device=self.device)
        return self._constants[dt]

    def _step(self, dt: float, planes: int) -> MidStep:
        step = MidStep()
        step.dt = dt
        step.gravity = wp.vec3(*self.world.gravity)
        step.has_f_ext = int(self.world.has_f_ext)
        step.plane_count = planes
        step.rest_speed = self.settings.rest_speed
        step.awake = self.awake
        return step

    def _advance(self, state: State, dt: float, planes: int, target: tuple[wp.array, wp.array]) -> None:
        bodies, step = self._bodies(dt), self._step(dt, planes)
        for g, group in enumerate(self.groups):
            group.fit(state, bodies, step)
            if g in self.fractures:
                self.fractures[g].look()
            group.move(state, self.body_index, bodies, self.world.planes, step, target)

    def predict(self, state: State, dt: float) -> None:
        self._advance(state, dt, 0, (state.x_next, state.v_next))

    def resolve(self, state: State, contacts: Contacts, dt: float) -> None:
        found = [contacts.surface, contacts.depth, contacts.slots, self.body_index, self.friction]
        if self.settings.contact == "penalty":
            kernel, there = resolve_penalty, [state.x, state.v]
            rate = min(self.settings.penalty_rate, STEEPEST / dt)
            inputs = [*found, state.inv_mass, state.x_next, state.v_next, rate * rate, rate, dt]
        else:
            kernel, there = resolve_contacts, [state.x, None, state.v, None]
            moved = [state.inv_mass, state.x_next, None, state.v_next, None]
            inputs = [*found, self.restitution, *moved, self.settings.rest_speed, dt]
        launch(kernel, self.count, inputs, there, device=self.device, first=self.first)

    def can_fuse(self) -> bool:
        return self.settings.contact == "projection" and self.world.only_planes

    def fused(self, state: State, dt: float, substeps: int) -> bool:
        """All substeps in place: a particle's step reads no other particle once the clusters are fitted."""
        if not self.can_fuse():
            return False
        for _ in range(substeps):
            self._advance(state, dt, self.world.plane_count, (state.x, state.v))
        return True

    # ---- around the step ----------------------------------------------------------------------------------------

    def reset(self, state: State, particles: tuple[int, int]) -> None:
        """Nothing is remembered of the motion; rotations and centres are only where a search starts."""

    def pins_changed(self, state: State, pinned: np.ndarray) -> None:
        """Nothing hangs on which particles are pinned, besides their inverse mass."""

    def reset_shape(self, body: str) -> bool:
        group, place = self._group_of([b.name for b in self.model.bodies].index(body))
        group.reset_shape(place)
        return True

    def scratch(self) -> dict[str, wp.array]:
        parts: list[tuple[int, MatchGroup | Fracture]] = [*enumerate(self.groups), *self.fractures.items()]
        return {f"{key}{k}": array for k, part in parts for key, array in part.scratch().items()}

    @property
    def takes_from_colliders(self) -> int:
        """See `Solver`; a penalty does not stop what is fast."""
        return 0 if self.settings.contact == "penalty" else WHOLE

    def between_frames(self, frame_dt: float) -> bool:
        return any([fracture.between_frames(frame_dt) for fracture in self.fractures.values()])

    def restored(self) -> bool:
        return any([fracture.restored() for fracture in self.fractures.values()])

    def links(self, body: str) -> ClusterLinks | None:
        for fracture in self.fractures.values():
            for k, found in fracture.links.items():
                if fracture.group.bodies[k].name == body:
                    return found
        return None

    def break_links(self, body: str, links: np.ndarray) -> int:
        for fracture in self.fractures.values():
            for k in fracture.links:
                if fracture.group.bodies[k].name == body:
                    return fracture.break_now(k, links)
        return 0

    def held_impulses(self) -> tuple[np.ndarray, np.ndarray] | None:
        return None

    def stable_step(self, state: State) -> float:
        return math.inf

    def softness(self, dt: float) -> float:
        """By which share the softest body gives in too far at steps of dt [s]."""
        return max(stiffness.softness(dt) for stiffness in self.stiffness)

    def is_held(self, dt: float) -> bool:
        return any(stiffness.is_held(dt) for stiffness in self.stiffness)

    def wanted_step(self) -> float:
        highest = max((s.frequency for s in self.stiffness if s.alpha is None), default=0.0)
        return RESOLVED / highest if highest > 0.0 else math.inf

    def energy(self, x: np.ndarray) -> float:
        total = 0.0
        for k, body in enumerate(self.model.bodies):
            group, place = self._group_of(k)
            unit = group.energy(place, x[slice(*body.particles)], self.stiffness[k].goals)
            total += self.stiffness[k].squared_frequency(self._last_dt) * unit
        return total


def _rank(matching: Matching) -> int:
    """Bodies with goals of one order are simulated together, and those with lattice regions summed axis by axis."""
    return LATTICE_RANK if matching.sums_along_axes else matching.order
