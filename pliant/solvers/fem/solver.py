"""The finite-element method: tets of a material, moved by large implicit steps."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.collide.soft.body_contacts import BodyContactList, Found
from pliant.collide.soft.contact_rows import Rows
from pliant.launch import launch
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.tets import TetMesh
from pliant.model.model import Elements, Model
from pliant.model.state import State
from pliant.solvers.fem import hold_kernels
from pliant.solvers.fem.elements import fem_elements
from pliant.solvers.fem.energy import TetFields, elastic_energy, tet_fields
from pliant.solvers.fem.implicit import FINDS, ImplicitStep, make_holds
from pliant.solvers.fem.pairs import Pairs
from pliant.solvers.fem.settings import FemSettings
from pliant.solvers.fem.tables import device_mesh, lame, make_tables
from pliant.solvers.protocol import BodySpec, World

# Fewest substeps of a frame in which bodies meet in the equations.
MET = 3
# Fewest and most substeps of a frame in which they do not.
TOUCHING = (16, 60)


def substeps_touching(model: Model) -> int:
    """Substeps of a frame of 1/60 s in which sound goes no farther than a short edge.

    Contacts between bodies push single particles, and the rest of a body feels it in the next solve: in a longer step
    the tets at a contact would be turned inside out before the body could give way.
    """
    most = 0.0
    for body in model.bodies:
        springs = slice(*(k - model.bodies[0].springs[0] for k in body.springs))
        first, second = lame(body.material)
        speed = math.sqrt((first + 2.0 * second) / body.material.density)
        most = max(most, speed / float(np.quantile(model.springs.rest_length[springs], 0.1)))
    return int(np.clip(math.ceil(most / 60.0), *TOUCHING))


class Fem:
    """Moves the particles of the finite-element bodies of a model."""

    name: ClassVar[str] = "fem"
    Settings: ClassVar[type] = FemSettings
    shares_rest: ClassVar[bool] = False
    takes: ClassVar[tuple[type, ...]] = (TetMesh, VoxelLattice)
    fewest_substeps: ClassVar[int] = 1

    def __init__(self, model: Model, state: State, world: World, settings: FemSettings, device: str) -> None:
        self.settings = settings
        self.device = device
        self.world = world
        self.model = model.part(self.name)
        self.every_body = model.particles.body
        self.first = self.model.bodies[0].particles[0]
        self.count = self.model.bodies[-1].particles[1] - self.first
        n = state.count
        self.carry, self.carry_next, self.v_carry, self.v_carry_next = (
            wp.zeros(n, dtype=wp.vec3, device=device) for _ in range(4)
        )
        self.tables = make_tables(self.model)
        self.mesh = device_mesh(self.model, self.tables, state.awake_of(self.model.body_numbers), device)
        self.implicit = ImplicitStep(self.model, self.mesh, self.tables, world, settings, device)
        self.holds = make_holds(n, device)
        self._settling = False
        self.fewest_substeps_touching = substeps_touching(self.model)
        self.carry.assign((self.model.particles.rest - state.x.numpy().astype(np.float64)).astype(np.float32))
        self._forget_motion(slice(self.first, self.first + self.count))

    @staticmethod
    def elements(spec: BodySpec) -> Elements:
        return fem_elements(spec)

    @staticmethod
    def rank(spec: BodySpec) -> int:
        return 0

    # ---- the step -----------------------------------------------------------------------------------------------

    def _now(self, state: State) -> tuple[wp.array, ...]:
        return state.x, self.carry, state.v, self.v_carry

    def _next(self, state: State) -> tuple[wp.array, ...]:
        return state.x_next, self.carry_next, state.v_next, self.v_carry_next

    def predict(self, state: State, dt: float) -> None:
        self.implicit.advance(state, self.holds, self._now(state), self._next(state), dt, at_rest=self._settling)

    def let_join(self, rows: list[Rows]) -> bool:
        """Whether contacts between bodies act in the equations; they are found in such tables."""
        if not self.implicit.can_meet():
            return False
        if self.implicit.pairs is None:
            self.implicit.let_meet(self.every_body)
            self.fewest_substeps_touching = MET
        self._pairs().make_room(rows)
        return True

    def _pairs(self) -> Pairs:
        assert self.implicit.pairs is not None
        return self.implicit.pairs

    def joins(self) -> bool:
        """Whether contacts are to act in the equations of the present step."""
        return self.implicit.pairs is not None and not self._settling

    def begin_joining(self, state: State) -> int:
        """How often contacts are found for the equations of a step, which `predict` has begun."""
        self._pairs().begin(state)
        return FINDS

    def join_contacts(self, state: State, found: Found, turn: int, dt: float) -> None:
        """Go on with the contacts that were found where the step leads to so far."""
        self.implicit.meet_bodies(state, found, turn, self._now(state), self._next(state), dt)

    def joined_contacts(self, x: np.ndarray, dt: float) -> BodyContactList:
        """The contacts that acted in the equations of the last step."""
        return self._pairs().read(x, dt)

    def joined_arrays(self) -> list[wp.array]:
        """What a step that is only tried overwrites of them."""
        table = self._pairs().table
        return [table.pairs, table.springs]

    def settle(self, on: bool) -> None:
        """From now on a step is one towards equilibrium, or again one of motion; see `pliant.settle`."""
        self._settling = on
        self.implicit.allocate_search()
        self.implicit.a.zero_()
        self.v_carry.zero_()

    def step_taken(self) -> float:
        """Share of the last step towards equilibrium that was taken; reads back from the device."""
        return float(self.implicit.fraction.numpy()[0])

    def resolve(self, state: State, contacts: Contacts, dt: float) -> None:
        launch(
            hold_kernels.resolve_holds,
            self.count,
            [
                self.mesh,
                contacts.surface,
                contacts.depth,
                contacts.slots,
                state.inv_mass,
                *self._next(state),
                self.implicit.now,
                self.settings.rest_speed,
                dt,
            ],
            [*self._now(state), self.holds],
            device=self.device,
            first=self.first,
        )

    def can_fuse(self) -> bool:
        return False

    def fused(self, state: State, dt: float, substeps: int) -> bool:
        return False

    def last_iterations(self) -> int:
        """Iterations of the last linear solve; reads back from the device."""
        return self.implicit.solve.iterations()

    def held_impulses(self) -> tuple[np.ndarray, np.ndarray] | None:
        count = len(self.carry)
        impulse = self.implicit.impulse.numpy()[:count].astype(np.float64)
        normal = self.implicit.now.normal.numpy().astype(np.float64)
        normal[(impulse == 0.0).all(axis=1)] = 0.0
        return normal, impulse

    # ---- around the step ----------------------------------------------------------------------------------------

    def _forget_motion(self, chosen: slice) -> None:
        """Nothing holds these particles, and they fall freely."""
        for array, value in (
            (self.holds.how, 0),
            (self.holds.normal, 0.0),
            (self.holds.rub, 0.0),
            (self.implicit.a, self.world.gravity),
        ):
            values = array.numpy()
            values[chosen] = value
            array.assign(values)

    def reset(self, state: State, particles: tuple[int, int]) -> None:
        chosen = slice(*particles)
        self._forget_motion(chosen)
        pairs = self.implicit.pairs
        eased = [] if pairs is None else [(pairs.table.ease, 1.0)]
        for array, value in ((self.carry, 0.0), (self.v_carry, 0.0), *eased):
            values = array.numpy()
            values[chosen] = value
            array.assign(values)

    def rates(self) -> list[wp.array]:
        """What a body that falls asleep forgets besides its velocity."""
        return [self.v_carry, self.implicit.a]

    def scratch(self) -> dict[str, wp.array]:
        holds = self.holds
        plastic = {} if self.implicit.first_inv is None else {"rest_inv": self.implicit.rest_inv}
        pairs = self.implicit.pairs
        return {
            **plastic,
            **({} if pairs is None else {"ease": pairs.table.ease}),
            "carry": self.carry,
            "v_carry": self.v_carry,
            "hold": holds.how,
            "normal": holds.normal,
            "grip": holds.grip,
            "mu": holds.mu,
            "rub": holds.rub,
            "a": self.implicit.a,
            "turn": self.implicit.turn,
        }

    def pins_changed(self, state: State, pinned: np.ndarray) -> None:
        """Nothing hangs on which particles are pinned, besides their inverse mass."""

    def reset_shape(self, body: str) -> bool:
        found = next((k for k, b in enumerate(self.model.bodies) if b.name == body), None)
        first = self.implicit.first_inv
        if found is None or first is None:
            return False
        values = self.implicit.rest_inv.numpy()
        own = self.tables.tet_body == found
        values[own] = first.numpy()[own]
        self.implicit.rest_inv.assign(values)
        return True

    def tet_fields(self, body: str, x: np.ndarray) -> TetFields:
        """Strain and stress of the tets of a body in positions x [m] (n, 3) of all particles."""
        rest_inv = self.implicit.rest_inv.numpy().astype(np.float64)
        return tet_fields(self.model, self.tables, rest_inv, x, self.settings.energy, body)

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
        rest_inv = self.implicit.rest_inv.numpy().astype(np.float64)
        return elastic_energy(self.model, self.tables, rest_inv, x, self.settings.energy)
