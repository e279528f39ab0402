"""What every method offers, so that scenes, checkpoints, the command line and tests need to know no more."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.materials import Material, RawConstants
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.points import PointCloud
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Elements, Model
from pliant.model.state import State

if TYPE_CHECKING:
    from pliant.solvers.shape_matching.fracture_links import ClusterLinks


@dataclasses.dataclass
class World:
    """What surrounds the bodies: gravity [m/s^2] and the planes as the kernels see them.

    `only_planes` says that there are no colliders besides them, `bodies_meet` that bodies are kept apart,
    `bodies_sleep` that they may sleep.
    """

    gravity: tuple[float, float, float]
    planes: wp.array
    plane_count: int
    has_f_ext: bool = False
    only_planes: bool = True
    bodies_meet: bool = False
    bodies_sleep: bool = False


@dataclasses.dataclass(frozen=True)
class Calibration:
    """What a fit to finite elements gives a method; see pliant/calibration.

    Attributes:
        numbers: of a mass-spring body a factor of its spring constants, and the bulk modulus of its volumes over
            Young's modulus; of a shape-matched one the squared frequency over that of the material.
        rate: of a shape-matched body: damping rate per damping, over the squared frequency of the material.
        clusters: of each cluster of a shape-matched body its pull, over that of the body, and the shares beta, bend and
            volume of its goals.
    """

    numbers: tuple[float, ...]
    rate: float = 1.0
    clusters: tuple[tuple[float, ...], ...] = ()


@dataclasses.dataclass
class BodySpec:
    """What a scene says of one body before it has particles in a model.

    `warp` is the direction of a cloth's warp at rest, in the world; None where the user gave none. `bends` says whether
    rods resist bending and twist; a chain does not. `tear_capacity` is the number of vertices that are set aside for a
    sheet that tears, over the number it has.
    """

    mesh: TetMesh | SurfaceMesh | VoxelLattice | PointCloud | RodMesh | LayeredMesh
    material: Material
    raw: RawConstants | None
    mass_distribution: str
    largest_inverse_mass: float | None
    springs: str = "one_ring"
    mass_shift: float = 0.0
    matching: Any = None
    warp: tuple[float, float, float] | None = None
    bends: bool = True
    tear_capacity: float = 0.5
    calibration: Calibration | None = None


class Solver(Protocol):
    """One method: moves the particles of its bodies.

    Class attributes:
        name: as in scene files.
        Settings: a frozen dataclass of `setting` fields.
        shares_rest: whether bodies made of one mesh share their rest data (`Body.rest_shape`); their elements are then
            those of the mesh before it was turned and moved.
        takes: the kinds of mesh it can simulate.

    A method may have more, which is asked for by name: `watched_by(guard)`, told once of the guard; `news()`, asked
    after each checked frame for what the user should be told, as pairs of a text and whether it is a warning;
    `rates()`, particle-sized vectors besides the velocities that a body which falls asleep forgets; `tearing`, a
    `Tearing` or None; `broken_springs(body)` and `torn_triangles(body)`, masks or None; `rigid_parts()`, what moves
    besides particles: mass, centre, velocity, inertia and angular velocity of each, in the world;
    `begin_contacts(state, contacts, light)` and `follow_contacts(state, light)`, see `Follower` of
    collide/soft/body_contacts.py; `takes_from_colliders`, what of the momentum that bodies press into colliders is left
    to its `resolve`, see collide/soft/backing.py, all of it if it does not say; `fewest_substeps` and
    `fewest_substeps_touching`, the latter where bodies meet; `keeps_apart`, whether it keeps its bodies off each other
    itself, and then `met(state, dt)`, their contacts; `settle(on)` and `step_taken()`, by which `pliant.settle` finds
    equilibrium; `tet_fields(body, x)`, their stress; `substep_cost`, about what a substep takes one core [s], None
    where it is not known; `softness(dt)`, about by which share the softest body gives in too far at such steps;
    `most_substeps`, what is spent on stiffness whatever it costs, and `rough_step()`, the step that is wanted then.
    """

    name: ClassVar[str]
    Settings: ClassVar[type]
    shares_rest: ClassVar[bool]
    takes: ClassVar[tuple[type, ...]]
    settings: Any

    def __init__(self, model: Model, state: State, world: World, settings: Any, device: str) -> None: ...

    @staticmethod
    def elements(spec: BodySpec) -> Elements:
        """The springs, triangles, tets, clusters and masses of one body."""
        ...

    @staticmethod
    def rank(spec: BodySpec) -> int:
        """Bodies of one method are put in a row by this number: those that are simulated alike stand together."""
        ...

    def predict(self, state: State, dt: float) -> None:
        """Read state.x, v, f_ext; write state.x_next, v_next.

        Bodies that sleep have `state.awake` of zero and particles that are all held (`inv_mass` of zero) at a velocity
        of zero: they stay where they are without any care, and a method looks at `awake` to save the work.
        """
        ...

    def resolve(self, state: State, contacts: Contacts, dt: float) -> None:
        """Read state.x_next, v_next and the contacts; write state.x, v."""
        ...

    def fused(self, state: State, dt: float, substeps: int) -> bool:
        """Do all substeps against the planes in fewer launches, if the method can; False if it cannot."""
        ...

    def can_fuse(self) -> bool:
        """Whether `fused` would do anything with the present settings."""
        ...

    def reset(self, state: State, particles: tuple[int, int]) -> None:
        """Forget what was remembered of earlier steps of a run of particles; their state was set from outside."""
        ...

    def pins_changed(self, state: State, pinned: np.ndarray) -> None:
        """Particles (k,) are the pinned ones from now on; their inverse mass is zero already."""
        ...

    def scratch(self) -> dict[str, wp.array]:
        """What a checkpoint must hold besides the state."""
        ...

    def between_frames(self, frame_dt: float) -> bool:
        """Do what can be done between frames [s] only, such as breaking bodies; True if some came apart."""
        ...

    def restored(self) -> bool:
        """Follow the arrays of `scratch`, which were set from outside; True if bodies hang together in other ways."""
        ...

    def links(self, body: str) -> ClusterLinks | None:
        """What holds a body together that can break; None for one that cannot."""
        ...

    def break_links(self, body: str, links: np.ndarray) -> int:
        """Break some of `links`, by number, between frames; how many did, none of a body that cannot break."""
        ...

    def held_impulses(self) -> tuple[np.ndarray, np.ndarray] | None:
        """What planes did in the last `predict`: the normal of the plane that holds each particle (n, 3), zero for
        none, and its impulse [N s] (n, 3); None if `predict` leaves contacts to `resolve`."""
        ...

    def stable_step(self, state: State) -> float:
        """Largest time step that does not blow up [s]; infinity if there is no limit."""
        ...

    def reset_shape(self, body: str) -> bool:
        """Give a body that has yielded its original rest shape back; False if the method knows no other."""
        ...

    def is_held(self, dt: float) -> bool:
        """Whether a step of dt [s] is too long for a stiffness, so that a body is softer than was asked for."""
        ...

    def wanted_step(self) -> float:
        """Longest time step that resolves what was asked for [s]; infinity if the method has no opinion."""
        ...

    def energy(self, x: np.ndarray) -> float:
        """Elastic energy of positions x [m] (n, 3) [J]."""
        ...
