"""Forces of contacts, measured by a trial step: what each surface does to the velocity of each particle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.collide.contacts import ContactList, Contacts
from pliant.collide.pipeline import Pipeline
from pliant.collide.soft.body_contacts import BodyContactList, BodyContacts
from pliant.collide.soft.methods import ContactMethod
from pliant.model.state import State
from pliant.solvers.protocol import Solver

# Cosine between the normals of a surface before and after a step: a particle may slide around it.
SAME_SURFACE = 0.9


@dataclasses.dataclass(frozen=True, repr=False)
class TouchList(BodyContactList):
    """Contacts between bodies with what a user knows them by.

    Attributes:
        names: of all bodies, by the numbers in `bodies`.
        vertices: the four particles as vertices of the meshes that were added (c, 4).
    """

    names: tuple[str, ...] = ()
    vertices: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros((0, 4), np.int64))

    def between(self, one: str, other: str) -> np.ndarray:
        """Which contacts are between two bodies (c,) bool; those of a body with itself where both are the same."""
        first, second = self.names.index(one), self.names.index(other)
        return (np.sort(self.bodies, axis=1) == sorted((first, second))).all(axis=1)

    def force_on(self, one: str, other: str) -> np.ndarray:
        """Sum of the forces of a body on another one [N] (3,)."""
        sign = np.where(self.bodies[:, 0] == self.names.index(one), 1.0, -1.0)
        sign[self.bodies[:, 0] == self.bodies[:, 1]] = 0.0
        return (sign * self.between(one, other)) @ self.force

    def particle_forces(self, count: int) -> np.ndarray:
        """Force on each of so many particles, in the model's order [N] (n, 3)."""
        shares = self.weights[:, :, None] * self.force[:, None, :]
        out = np.zeros((count, 3))
        np.add.at(out, self.particles.reshape(-1), shares.reshape(-1, 3))
        return out


def is_backed(between: ContactMethod) -> bool:
    """Whether contacts between bodies have looked at colliders first."""
    return getattr(between, "backed", None) is not None


def resolve_and_read(between: ContactMethod, state: State, dt: float) -> BodyContactList:
    """The contacts between bodies of a step that is predicted, which changes x_next and v_next as they do.

    Where they are found several times, forces are added up.
    """
    if not isinstance(between, BodyContacts) or not between.active:
        if between.active:
            between.resolve(state, dt)
        return between.read(state, dt)
    parts = between.resolve_and_read(state, dt)
    names = [field.name for field in dataclasses.fields(BodyContactList)]
    columns = {name: getattr(joined_lists(parts), name) for name in names}
    keys = np.column_stack([columns["particles"], columns["kind"] == "edge"])
    _, first, row = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    force = np.zeros((len(first), 3))
    np.add.at(force, row.reshape(-1), columns["force"])
    return BodyContactList(**{name: columns[name][first] for name in names if name != "force"}, force=force)


def joined_lists(parts: Sequence[BodyContactList]) -> BodyContactList:
    """Several lists as one."""
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in dataclasses.fields(BodyContactList)]
    return BodyContactList(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def last_step_arrays(between: ContactMethod) -> list[wp.array]:
    """The arrays of the contacts between bodies of the last step, which a trial step overwrites."""
    tables = [getattr(between, name, None) for name in ("vertex_rows", "edge_rows", "rows")]
    found = [vars(table).values() for table in tables if table is not None]
    return [value for values in found for value in values if isinstance(value, wp.array)]


def trial_forces(
    state: State,
    solvers: Sequence[Solver],
    pipeline: Pipeline,
    contacts: Contacts,
    between: ContactMethod,
    mass: np.ndarray,
    dt: float,
) -> tuple[ContactList, np.ndarray, BodyContactList]:
    """Contacts of one step with colliders, the force of each [N] (c, 3), and those between bodies; the caller puts all
    arrays back.

    The step is resolved again and again, each time with one more collider: what that changes of the momentum, over the
    step, is the force of that collider. So it does not matter how a method answers contacts, nor what else it does when
    it resolves. What a method has let planes do already while it predicted, it tells itself.

    Args:
        state: forces that act besides those of the methods are in it already.
        solvers: all methods of the simulation.
        pipeline: all colliders.
        contacts: where the contacts are written.
        between: what keeps bodies out of each other: it presses what is below onto what carries it.
        mass: [kg] (n,).
        dt: length of the step [s].
    """
    start = wp.clone(state.x)
    for solver in solvers:
        solver.predict(state, dt)
    met = resolve_and_read(between, state, dt)
    own: list[Any] = [solver for solver in solvers if getattr(solver, "keeps_apart", False)]
    if pipeline.slots == 0:
        if own:
            for solver in solvers:
                solver.resolve(state, contacts, dt)
        return contacts.read(), np.zeros((0, 3)), joined_lists([met, *(solver.met(state, dt) for solver in own)])
    pipeline.detect(state.x_next, contacts, before=start, again=is_backed(between))
    depth = contacts.depth.numpy().reshape(-1, pipeline.slots).copy()
    normal = np.array(contacts.surface.numpy()["normal"]).reshape(*depth.shape, 3)
    impulse = np.zeros((*depth.shape, 3))

    def resolved(slots: int) -> np.ndarray:
        """Velocities after a step that meets only the first of the colliders."""
        shown = np.where(np.arange(pipeline.slots) < slots, depth, np.float32(-1.0))
        contacts.depth.assign(shown.reshape(-1))
        wp.copy(state.x, start)
        for solver in solvers:
            solver.resolve(state, contacts, dt)
        return state.v.numpy().astype(np.float64)

    before = resolved(0)
    for k in np.flatnonzero((depth >= 0.0).any(axis=0)).tolist():
        after = resolved(k + 1)
        impulse[:, k] = mass[:, None] * (after - before)
        before = after
    for solver in solvers:
        held = solver.held_impulses()
        if held is not None:
            _add_held(held, state.x_next.numpy(), pipeline, depth, normal, impulse)
    met = joined_lists([met, *(solver.met(state, dt) for solver in own)])
    particle, collider = np.nonzero(depth >= 0.0)
    found = ContactList(particle, collider, normal[particle, collider], depth[particle, collider])
    return found, impulse[particle, collider] / dt, met


def _add_held(
    held: tuple[np.ndarray, np.ndarray],
    x: np.ndarray,
    pipeline: Pipeline,
    depth: np.ndarray,
    normal: np.ndarray,
    impulse: np.ndarray,
) -> None:
    """Add impulses that surfaces gave while a method predicted: each to the contact with that normal, or else to the
    plane with it that is nearest.

    Args:
        held: normal of the surface that holds each particle, zero for none, and its impulse [N s] (n, 3).
        x: predicted positions [m] (n, 3).
        pipeline: all colliders.
        depth: of contacts [m] (n, slots), set to zero where a held particle is not among them yet.
        normal: of contacts (n, slots, 3), likewise.
        impulse: of contacts [N s] (n, slots, 3), added to.
    """
    particles = np.flatnonzero((held[0] ** 2).sum(axis=1) > 0.0)
    alike = np.where(depth[particles] >= 0.0, np.einsum("pki,pi->pk", normal[particles], held[0][particles]), -1.0)
    found = alike.max(axis=1, initial=-1.0) > SAME_SURFACE
    touching = particles[found]
    impulse[touching, alike[found].argmax(axis=1)] += held[1][touching]
    particles = particles[~found]
    planes = [k for k, collider in enumerate(pipeline.colliders) if collider.kind == "plane"]
    if not len(particles) or not planes:
        return
    facing = pipeline.planes.numpy()["normal"].reshape(-1, 3)
    away = np.abs(x[particles] @ facing.T - pipeline.planes.numpy()["offset"])
    away[held[0][particles] @ facing.T < 1.0 - 1e-4] = np.inf
    known = np.isfinite(away).any(axis=1)
    particles, away = particles[known], away[known]
    nearest = away.argmin(axis=1)
    slot = np.array(planes)[nearest]
    depth[particles, slot] = np.maximum(depth[particles, slot], 0.0)
    normal[particles, slot] = facing[nearest]
    impulse[particles, slot] += held[1][particles]
