"""The mass-spring method: springs on edges, volumes of tets, areas of triangles; seven integrators."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.launch import copy, launch
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Body, Elements, Model
from pliant.model.state import State
from pliant.solvers.common.contact_response import resolve_contacts
from pliant.solvers.mass_spring import constants, stage_kernels
from pliant.solvers.mass_spring import stable_step as stability
from pliant.solvers.mass_spring.bodies import body_constants, elastic_energy
from pliant.solvers.mass_spring.breaking import Breaking, Remains, can_tear
from pliant.solvers.mass_spring.constants import BodyConstants, StepConstants
from pliant.solvers.mass_spring.cpu_kernels import step_patches
from pliant.solvers.mass_spring.elements import mass_spring_elements
from pliant.solvers.mass_spring.settings import DAMPING_FORMS, MassSpringSettings
from pliant.solvers.mass_spring.tables import CpuLayout, CudaLayout, cpu_layout, cuda_layout
from pliant.solvers.protocol import BodySpec, World

if TYPE_CHECKING:
    from pliant.solvers.mass_spring.hybrid import Hybrid
    from pliant.solvers.mass_spring.implicit import ImplicitEuler
    from pliant.solvers.mass_spring.strain_limit import StrainLimit

ACTIONS = {"euler": constants.EULER, "symplectic": constants.SYMPLECTIC, "verlet": constants.VERLET}
COST = 1.7e-8
"""About what a spring takes one core in a step, with its share of all else [s]."""


class MassSpring:
    """Moves the particles of the mass-spring bodies of a model."""

    name: ClassVar[str] = "mass_spring"
    Settings: ClassVar[type] = MassSpringSettings
    shares_rest: ClassVar[bool] = False
    takes: ClassVar[tuple[type, ...]] = (TetMesh, SurfaceMesh, VoxelLattice, RodMesh)

    def __init__(self, model: Model, state: State, world: World, settings: MassSpringSettings, device: str) -> None:
        self.settings = settings
        self.device = device
        self.world = world
        self.model = model.part(self.name)
        self.first = self.model.bodies[0].particles[0]
        self.count = self.model.bodies[-1].particles[1] - self.first
        explicit = settings.integrator not in ("implicit", "hybrid")
        self.substep_cost = COST * len(self.model.springs.pairs) if explicit else None
        self.awake = state.awake_of(self.model.body_numbers)
        n = state.count
        self.carry = wp.zeros(n, dtype=wp.vec3, device=device)
        self.carry_next = wp.zeros(n, dtype=wp.vec3, device=device)
        self.v_carry = wp.zeros(n, dtype=wp.vec3, device=device)
        self.v_carry_next = wp.zeros(n, dtype=wp.vec3, device=device)
        self.a = wp.zeros(n, dtype=wp.vec3, device=device)
        self.layout: CpuLayout | CudaLayout
        if device == "cpu":
            self.layout = cpu_layout(self.model)
            extents = [1.0] * len(self.model.bodies)
        else:
            self.layout = cuda_layout(self.model, device)
            extents = self.layout.extent
        self.body_constants = [
            body_constants(body, settings, extent) for body, extent in zip(self.model.bodies, extents, strict=True)
        ]
        self.bodies = wp.array(self.body_constants, dtype=BodyConstants, device=device)
        materials = [body.material for body in self.model.bodies]
        self.friction = wp.array([(m.friction, m.holding) for m in materials], dtype=wp.vec2, device=device)
        self.restitution = wp.array([m.restitution for m in materials], dtype=float, device=device)
        self.body_index = wp.array(model.particles.body - model.particles.body[self.first], dtype=int, device=device)
        self._kernel: Any = None if device == "cpu" else self._cuda_kernel()
        self._allocate_stages(n)
        self._state = state
        self.live = self.model
        self.remains: Remains | None = None
        self.breaking = Breaking(self.model, device) if any(can_tear(body) for body in self.model.bodies) else None
        carry = self.model.particles.rest - state.x.numpy().astype(np.float64)
        self.carry.assign(carry.astype(np.float32))
        self._prime(state)

    @staticmethod
    def elements(spec: BodySpec) -> Elements:
        return mass_spring_elements(spec)

    @staticmethod
    def rank(spec: BodySpec) -> int:
        return 0

    def wanted_step(self) -> float:
        return math.inf

    def is_held(self, dt: float) -> bool:
        return False

    def pins_changed(self, state: State, pinned: np.ndarray) -> None:
        """Nothing hangs on which particles are pinned, besides their inverse mass."""

    def reset_shape(self, body: str) -> bool:
        return False

    def between_frames(self, frame_dt: float) -> bool:
        if self.breaking is None or not self.breaking.look(self._state):
            return False
        self._follow_breaks()
        return True

    def restored(self) -> bool:
        if self.breaking is None:
            return False
        self._follow_breaks()
        return True

    def _follow_breaks(self) -> None:
        """Let every table follow the flags of what is broken."""
        assert self.breaking is not None
        remains = self.breaking.remains()
        self.remains = remains if remains.gone.any() else None
        self.live = dataclasses.replace(self.model, springs=remains.springs)
        self.layout.set_springs(remains.springs)
        self.layout.set_torn(remains.torn)
        if self.implicit is not None:
            self.implicit.set_remains(remains.springs, remains.torn)
        if self.hybrid is not None:
            self.hybrid.set_weights(remains.springs.stiffness, ~remains.torn)
        if self.limit is not None:
            self.limit.forget(remains.gone)

    def broken_springs(self, body: str) -> np.ndarray | None:
        """Which springs of a body are no more (e,) bool, those that broke and those that went with them; None while it
        is whole, or cannot tear."""
        found = next((b for b in self.model.bodies if b.name == body), None)
        if self.remains is None or found is None or not can_tear(found):
            return None
        first = self.model.bodies[0].springs[0]
        gone = self.remains.gone[found.springs[0] - first : found.springs[1] - first]
        return gone if gone.any() else None

    def torn_triangles(self, body: str) -> np.ndarray | None:
        """Which triangles of a sheet are no more (t,) bool, as they stand in `surface`; None while it is whole."""
        found = next((b for b in self.model.bodies if b.name == body), None)
        if self.remains is None or found is None or found.triangles[0] == found.triangles[1]:
            return None
        first = self.model.bodies[0].triangles[0]
        rows = slice(found.triangles[0] - first, found.triangles[1] - first)
        torn = self.remains.torn[rows]
        # the elements' triangles are in another order than those that are seen
        key = lambda corners: np.sort(corners, axis=1).astype(np.int64) @ [2**42, 2**21, 1]
        keys = key(self.model.triangles.corners[rows] - found.particles[0])
        order = np.argsort(keys, kind="stable")
        seen = key(found.surface - found.particles[0])
        return torn[order[np.searchsorted(keys[order], seen)]] if torn.any() else None

    def links(self, body: str) -> None:
        return None

    def break_links(self, body: str, links: np.ndarray) -> int:
        return 0

    def held_impulses(self) -> tuple[np.ndarray, np.ndarray] | None:
        return None if self.implicit is None else self.implicit.held_impulses()

    def _cuda_kernel(self) -> Any:
        from pliant.solvers.mass_spring.cuda_kernels import step_kernel

        layout = self.layout
        assert isinstance(layout, CudaLayout)
        damped = any(c.volume_damping > 0 for c in self.body_constants)
        form = DAMPING_FORMS[self.settings.volume_damping_form] if damped else constants.UNDAMPED
        volume_forms = {c.volume_form for c in self.body_constants}
        return step_kernel(
            layout.block,
            layout.lanes,
            layout.capacity,
            volume_forms.pop() if len(volume_forms) == 1 else -1,
            form,
            self.model.triangles.count > 0,
        )

    def _allocate_stages(self, n: int) -> None:
        """Scratch of the integrators and of the strain limit that are in use."""
        vectors = lambda k: [wp.zeros(n, dtype=wp.vec3, device=self.device) for _ in range(k)]
        kind = self.settings.integrator
        self.implicit: ImplicitEuler | None = None
        if kind in ("midpoint", "rk4"):
            self.x_stage, self.carry_stage, self.v2, self.v3, self.v4, self.a2, self.a3, self.a4 = vectors(8)
        if kind == "implicit":
            # imported where it is used: its kernels would cost every start
            from pliant.solvers.mass_spring.implicit import ImplicitEuler

            self.implicit = ImplicitEuler(
                self.model,
                self.bodies,
                self.awake,
                self.world,
                self.settings.newton_steps,
                self.settings.cg_iterations,
                self.settings.cg_tolerance,
                self.settings.rest_speed,
                self.device,
            )
        self.hybrid: Hybrid | None = None
        if kind == "hybrid":
            from pliant.solvers.mass_spring.hybrid import Hybrid

            self.hybrid = Hybrid(
                self.model,
                self.bodies,
                self.body_constants,
                self.world,
                self.settings.cg_iterations,
                self.settings.cg_tolerance,
                self.device,
            )
        self.limit: StrainLimit | None = None
        if self.settings.strain_limit > 0 or self.settings.compression_limit > 0:
            from pliant.solvers.mass_spring.strain_limit import StrainLimit

            self.limit = StrainLimit(self.model, self.settings, self.device)

    # ---- the step -----------------------------------------------------------------------------------------------

    def _step_constants(self, dt: float, action: int, planes: int, *, forces: bool = True) -> StepConstants:
        step = StepConstants()
        step.dt = dt
        step.gravity = wp.vec3(*self.world.gravity) if forces else wp.vec3(0.0, 0.0, 0.0)
        step.action = action
        step.has_f_ext = 1 if forces and self.world.has_f_ext else 0
        step.plane_count = planes
        step.rest_speed = self.settings.rest_speed
        step.awake = self.awake
        return step

    def _launch_step(
        self,
        state: State,
        source: tuple[wp.array, ...],
        target: tuple[wp.array, ...],
        a: wp.array,
        step: StepConstants,
    ) -> None:
        """Run the step kernel from one (x, carry, v, v_carry) to another, with accelerations in a."""
        arrays = [self.layout.patches, self.bodies, self.world.planes, state.inv_mass, state.f_ext, *source, step]
        if isinstance(self.layout, CpuLayout):
            launch(step_patches, self.layout.count, arrays, [a, *target], device=self.device, grain=1)
        else:
            launch(
                self._kernel,
                self.layout.count * self.layout.block,
                arrays,
                [a, *target],
                device=self.device,
                block_dim=self.layout.block,
            )

    def _now(self, state: State) -> tuple[wp.array, ...]:
        return state.x, self.carry, state.v, self.v_carry

    def _next(self, state: State) -> tuple[wp.array, ...]:
        return state.x_next, self.carry_next, state.v_next, self.v_carry_next

    def _accelerate(self, state: State, x: wp.array, carry: wp.array, v: wp.array, a_out: wp.array) -> None:
        """Write the acceleration in positions x and velocities v."""
        step = self._step_constants(0.0, constants.ACCELERATION, 0)
        self._launch_step(state, (x, carry, v, self.v_carry), self._next(state), a_out, step)

    def _each(self, kernel: Any, inputs: list, outputs: list) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first)

    def predict(self, state: State, dt: float) -> None:
        kind = self.settings.integrator
        if kind in ACTIONS:
            step = self._step_constants(dt, ACTIONS[kind], 0)
            self._launch_step(state, self._now(state), self._next(state), self.a, step)
        elif kind == "midpoint":
            self._predict_midpoint(state, dt)
        elif kind == "rk4":
            self._predict_rk4(state, dt)
        elif self.hybrid is not None:
            self._accelerate(state, state.x, self.carry, state.v, self.a)
            self.hybrid.step(state, self.a, self._now(state), self._next(state), dt)
        else:
            assert self.implicit is not None

            def accelerate(x: wp.array, v: wp.array) -> wp.array:
                self._accelerate(state, x, self.carry, v, self.a)
                return self.a

            self.implicit.step(state, accelerate, self._now(state), self._next(state), dt)
        if self.limit is not None:
            self.limit.apply(state.inv_mass, state.x_next, state.v_next, dt)

    def _stage(self, state: State, rate_x: wp.array, rate_v: wp.array, dt: float, v_out: wp.array) -> None:
        self._each(
            stage_kernels.look_ahead,
            [state.x, self.carry, state.v, rate_x, rate_v, dt],
            [self.x_stage, self.carry_stage, v_out],
        )

    def _predict_midpoint(self, state: State, dt: float) -> None:
        """Lesmes 3.16, with the mass that its last line forgets."""
        self._accelerate(state, state.x, self.carry, state.v, self.a)
        self._stage(state, state.v, self.a, 0.5 * dt, self.v2)
        self._accelerate(state, self.x_stage, self.carry_stage, self.v2, self.a2)
        self._commit(state, self.v2, self.a2, dt)

    def _commit(self, state: State, rate_x: wp.array, rate_v: wp.array, dt: float) -> None:
        self._each(stage_kernels.commit, [*self._now(state), rate_x, rate_v, dt], list(self._next(state)))

    def _predict_rk4(self, state: State, dt: float) -> None:
        """The classical fourth-order Runge-Kutta method."""
        self._accelerate(state, state.x, self.carry, state.v, self.a)
        self._stage(state, state.v, self.a, 0.5 * dt, self.v2)
        self._accelerate(state, self.x_stage, self.carry_stage, self.v2, self.a2)
        self._stage(state, self.v2, self.a2, 0.5 * dt, self.v3)
        self._accelerate(state, self.x_stage, self.carry_stage, self.v3, self.a3)
        self._stage(state, self.v3, self.a3, dt, self.v4)
        self._accelerate(state, self.x_stage, self.carry_stage, self.v4, self.a4)
        self._each(stage_kernels.mean_rk4, [state.v, self.v2, self.v3, self.v4], [self.v2])
        self._each(stage_kernels.mean_rk4, [self.a, self.a2, self.a3, self.a4], [self.a2])
        self._commit(state, self.v2, self.a2, dt)

    def resolve(self, state: State, contacts: Contacts, dt: float) -> None:
        self._each(
            resolve_contacts,
            [
                contacts.surface,
                contacts.depth,
                contacts.slots,
                self.body_index,
                self.friction,
                self.restitution,
                state.inv_mass,
                *self._next(state),
                self.settings.rest_speed,
                dt,
            ],
            list(self._now(state)),
        )

    def can_fuse(self) -> bool:
        return self.settings.integrator in ACTIONS and self.limit is None and self.world.only_planes

    def fused(self, state: State, dt: float, substeps: int) -> bool:
        """All substeps with one launch each (forces, integration, planes), to and fro between two buffers."""
        if not self.can_fuse():
            return False
        step = self._step_constants(dt, ACTIONS[self.settings.integrator], self.world.plane_count)
        source, target = self._now(state), self._next(state)
        for _ in range(substeps):
            self._launch_step(state, source, target, self.a, step)
            source, target = target, source
        if substeps % 2:
            for here, there in zip(self._now(state), self._next(state), strict=True):
                copy(here, there, self.first, self.count)
        return True

    # ---- around the step ----------------------------------------------------------------------------------------

    def reset(self, state: State, particles: tuple[int, int]) -> None:
        # an acceleration of zero tells Verlet that there is no step before this one
        for array in (self.carry, self.v_carry, self.a):
            values = array.numpy()
            values[slice(*particles)] = 0.0
            array.assign(values)

    def _prime(self, state: State) -> None:
        """Verlet corrects its velocity with the acceleration before: start from the present one."""
        if self.settings.integrator == "verlet":
            self._accelerate(state, state.x, self.carry, state.v, self.a)

    def rates(self) -> list[wp.array]:
        """What a body that falls asleep forgets besides its velocity."""
        return [self.v_carry]

    def scratch(self) -> dict[str, wp.array]:
        arrays = {"carry": self.carry, "v_carry": self.v_carry, "a": self.a}
        return arrays if self.breaking is None else {**arrays, "broken": self.breaking.broken}

    def stable_step(self, state: State) -> float:
        if self.settings.integrator in ("implicit", "hybrid"):
            return math.inf
        pairs = list(zip(self.model.bodies, self.body_constants, strict=True))
        times = [t for body, c in pairs for t in self._damping_times(body, c)]
        drags = [c.drag for c in self.body_constants]
        proportional = len(set(times)) <= 1 and len(set(drags)) == 1 and self.settings.volume_damping_form == "rate"
        modes = self.hardest_modes(state, proportional)
        least = None
        if modes and times:
            omega = modes[0].omega
            least = stability.Mode(omega, min(times) * omega**2 + min(drags))
        return stability.largest_step(self.settings.integrator, modes, least)

    def _damping_times(self, body: Body, c: BodyConstants) -> list[float]:
        """Damping over stiffness of each kind of force of a body that is stiffness-proportional [s]."""
        rate = self.settings.volume_damping_form == "rate"
        kinds = (
            (body.raw is None or body.raw.spring > 0, c.spring_damping_time),
            (body.tets[1] > body.tets[0] and c.volume_stiffness > 0 and rate, c.volume_damping),
            (body.triangles[1] > body.triangles[0] and c.area_stiffness > 0, c.area_damping_time),
        )
        return [time for present, time in kinds if present]

    def hardest_modes(self, state: State, proportional: bool) -> list[stability.Mode]:
        """The stiffest and the most damped mode about the present positions."""
        n = state.count
        mass = self.model.particles.mass
        free = np.zeros(n, bool)
        free[self.first : self.first + self.count] = True
        free &= state.inv_mass.numpy() > 0
        x0 = state.x.numpy().astype(np.float64) + self.carry.numpy()
        x, carry, v, zero, a = (wp.zeros(n, dtype=wp.vec3, device=self.device) for _ in range(5))
        lengths = self.model.springs.rest_length
        small = 2e-3 * float(np.median(lengths)) if len(lengths) else 1e-3
        step = self._step_constants(0.0, constants.ACCELERATION, 0, forces=False)

        def accelerate(positions: np.ndarray, velocities: np.ndarray) -> np.ndarray:
            high = positions.astype(np.float32)
            x.assign(high)
            carry.assign((positions - high).astype(np.float32))
            v.assign(velocities.astype(np.float32))
            self._launch_step(state, (x, carry, v, zero), self._next(state), a, step)
            return a.numpy().astype(np.float64)

        def stiffness(p: np.ndarray) -> np.ndarray:
            scale = small / max(float(np.abs(p).max()), 1e-300)
            still = np.zeros_like(p)
            return (accelerate(x0 - scale * p, still) - accelerate(x0 + scale * p, still)) / (2.0 * scale)

        at_rest = accelerate(x0, np.zeros_like(x0))

        def damping(p: np.ndarray) -> np.ndarray:
            scale = 1.0 / max(float(np.abs(p).max()), 1e-300)
            return (at_rest - accelerate(x0, scale * p)) / scale

        return stability.hardest_modes(stiffness, damping, mass, free, proportional=proportional)

    def energy(self, x: np.ndarray) -> float:
        torn = None if self.remains is None else self.remains.torn
        return elastic_energy(self.live, self.body_constants, x, torn)
