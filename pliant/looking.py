"""What can be asked of a simulation: positions, surfaces, quantities, contacts, diagnostics."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import warp as wp

from pliant.collide.collider import Collider
from pliant.collide.contacts import ContactList, Contacts
from pliant.collide.pipeline import Pipeline
from pliant.collide.soft.body_contacts import BodyContactList, BodyContacts
from pliant.collide.soft.methods import ContactMethod
from pliant.contact_forces import TouchList, last_step_arrays, trial_forces
from pliant.diagnostics import Diagnostics, measure
from pliant.errors import InputError
from pliant.forces.inside import Force
from pliant.model.model import Body, Model
from pliant.model.state import State
from pliant.quantities import Quantities
from pliant.skin.bodies import BodySkins
from pliant.sleep.sleeping import Sleeping
from pliant.solvers.common.tearing import Tearing
from pliant.solvers.protocol import Solver, World
from pliant.solvers.shape_matching.fracture_links import ClusterLinks


class Looking:
    """The part of a `Simulation` that is looked at; nothing here changes what happens next."""

    model: Model
    state: State
    world: World
    pipeline: Pipeline
    solvers: list[Solver]
    contacts: Contacts
    body_contacts: ContactMethod
    frame_dt: float
    forces: list[Force]
    skins: BodySkins
    quantities: Quantities
    tearing: Tearing | None
    sleeping: Sleeping
    _skins_stale: bool

    @property
    def dt(self) -> float:
        """Time step [s]."""
        raise NotImplementedError

    def arrays(self) -> dict[str, wp.array]:
        """Every device array a checkpoint must hold, by name."""
        raise NotImplementedError

    def is_forced(self) -> bool:
        """Whether forces besides those of the methods act."""
        raise NotImplementedError

    def apply_forces(self) -> None:
        """Write state.f_ext: every force adds its own."""
        raise NotImplementedError

    def make_room_for_contacts(self) -> bool:
        """Make room where contacts between bodies did not fit into their tables; whether they did not."""
        raise NotImplementedError

    def _tell_of_lost_contacts(self) -> None:
        """Tell of contacts that did not fit in frames which were not checked, and make room for more."""
        raise NotImplementedError

    def body(self, name: str | int) -> Body:
        """A body by name or number."""
        names = [b.name for b in self.model.bodies]
        if isinstance(name, int) and 0 <= name < len(names):
            return self.model.bodies[name]
        if name in names:
            return self.model.bodies[names.index(str(name))]
        raise InputError(f"no body {name!r}", "body", f"The bodies are: {', '.join(names)}")

    def _links(self, name: str) -> ClusterLinks | None:
        found = [solver.links(name) for solver in self.solvers]
        return next((links for links in found if links is not None), None)

    def broken_links(self, body: str | int) -> np.ndarray:
        """Pairs of clusters of a body whose link is broken (k, 2); none for a body that cannot break."""
        links = self._links(self.body(body).name)
        return np.zeros((0, 2), np.int64) if links is None else links.pairs[links.broken]

    def broken_springs(self, body: str | int) -> np.ndarray:
        """Which springs of a body are broken (e,) bool, in the order of the model; none where it cannot tear.

        Of a sheet whose vertices split, the edges between vertices that no triangle joins any more.
        """
        which = self.body(body)
        asked = [getattr(solver, "broken_springs", lambda _: None)(which.name) for solver in self.solvers]
        found = next((mask for mask in asked if mask is not None), None)
        return np.zeros(which.springs[1] - which.springs[0], bool) if found is None else found

    def torn_triangles(self, body: str | int) -> np.ndarray:
        """Which triangles of a sheet of springs are torn (k,) bool, in the order of `surface`."""
        which = self.body(body)
        asked = [getattr(solver, "torn_triangles", lambda _: None)(which.name) for solver in self.solvers]
        found = next((mask for mask in asked if mask is not None), None)
        return np.zeros(len(which.surface), bool) if found is None else found

    def broken_segments(self, body: str | int) -> np.ndarray:
        """Which segments of rods are broken (m,) bool, in the order of `Body.segments`."""
        which = self.body(body)
        if which.segments is None:
            return np.zeros(0, bool)
        first, count = which.particles[0], np.int64(which.particles[1] - which.particles[0])
        pairs = self.model.springs.pairs[slice(*which.springs)].astype(np.int64)
        pairs = pairs[self.broken_springs(which.name)] - first
        key = lambda ends: ends.min(axis=1) * count + ends.max(axis=1)
        return np.isin(key(which.segments.astype(np.int64)), key(pairs))

    def pieces(self, body: str | int) -> int:
        """Number of pieces that a body has come apart into; 1 for a body that cannot break."""
        which = self.body(body)
        if self.tearing is not None and self.tearing.owns(which.name):
            return len(np.unique(self.tearing.pieces()[self.tearing.corners_of(which.name)[:, 0]]))
        links = self._links(which.name)
        return 1 if links is None else links.pieces()[0]

    def positions(self, body: str | int | None = None) -> np.ndarray:
        """Positions [m] (n, 3) float32, in the order of the mesh that was added; of all bodies if none is named."""
        return self._in_user_order(self.state.x, body)

    def surface(self, body: str | int | None = None) -> np.ndarray:
        """Triangles to draw (k, 3) int32, whose corners are rows of `surface_positions` of the same body or bodies."""
        bodies = self.model.bodies if body is None else [self.body(body)]
        first = np.cumsum([0, *(b.seen_vertices for b in bodies)])
        return np.concatenate([b.seen_triangles() + start for b, start in zip(bodies, first, strict=False)])

    def surface_positions(self, body: str | int | None = None) -> np.ndarray:
        """Vertices of what is seen [m] (n, 3) float32: of the skin where a body has one, else as `positions`.

        Loose points are seen as small balls, whose vertices follow each other point by point.
        """
        bodies = self.model.bodies if body is None else [self.body(body)]
        self.update_skins()
        x = self.state.x.numpy()
        return np.concatenate(
            [b.seen_of(x[b.particle_of]) if b.skin is None else self.skins.positions(b.name) for b in bodies]
        )

    def surface_colors(self, body: str | int | None = None) -> np.ndarray:
        """Red, green and blue of each triangle of `surface` (k, 3) float32, from 0 to 1."""
        bodies = self.model.bodies if body is None else [self.body(body)]
        return np.concatenate([b.seen_colors() for b in bodies])

    def update_skins(self) -> None:
        """Move the skins if the state was changed outside a frame."""
        if (self._skins_stale or self.skins.stale) and self.skins.active:
            self.skins.update(self.state.x)
        self._skins_stale = False

    def velocities(self, body: str | int | None = None) -> np.ndarray:
        """Velocities [m/s] (n, 3) float32, like `positions`."""
        return self._in_user_order(self.state.v, body)

    def quantity(self, name: str, body: str | int | None = None) -> np.ndarray:
        """A number for each vertex (n,) float32, like `positions`: 'strain', 'stress' [Pa], 'speed' [m/s] or 'contact'
        [N].

        Strain is the largest change of length in any direction over the length at rest, from the vertex's neighbours,
        and stress the von Mises stress of the material's linear elasticity: the same for every method. 'contact' is how
        hard other bodies and colliders press: the sizes of their forces on the vertex, added up.
        """
        return self._in_user_order(self.quantities.measure(name, self.state), body)

    def tet_fields(self, body: str | int) -> Any:
        """Strain, stress and volume of each tet of a finite-element body, see `TetFields` of solvers/fem/energy.py.

        Unlike `quantity`, which is the same for every method, this is what the method itself computes with.
        """
        which = self.body(body)
        solver = next(s for s in self.solvers if s.name == which.method)
        if not hasattr(solver, "tet_fields"):
            raise InputError(
                f"a body of the method '{which.method}' has no stress in its tets",
                f"body '{which.name}'",
                "Use quantity('stress', body), or method='fem'",
            )
        return solver.tet_fields(which.name, self.state.x.numpy().astype(np.float64))

    def _in_user_order(self, array: wp.array, body: str | int | None) -> np.ndarray:
        values = array.numpy()
        bodies = self.model.bodies if body is None else [self.body(body)]
        return np.concatenate([values[b.particle_of] for b in bodies])

    def diagnostics(self) -> Diagnostics:
        """Energy, momentum, volume and stretch now."""
        x, v = self.state.x.numpy().astype(np.float64), self.state.v.numpy().astype(np.float64)
        for solver in self.solvers:
            carry = solver.scratch().get("carry")
            if carry is not None:
                x = x + carry.numpy()
        elastic = sum(solver.energy(x) for solver in self.solvers) + sum(force.energy(x) for force in self.forces)
        broken = np.concatenate([self.broken_springs(body.name) for body in self.model.bodies])
        gravity = np.array(self.world.gravity)
        rigid = [part for solver in self.solvers for part in getattr(solver, "rigid_parts", list)()]
        return measure(self.model, x, v, gravity, elastic, self.piece_of_particles(), broken, self.masses(), rigid)

    def masses(self) -> np.ndarray:
        """Mass of each particle [kg] (n,) in the model's order; where a vertex has split, that of its triangles."""
        mass = self.model.particles.mass
        if self.tearing is None:
            return mass
        split = self.tearing.host_members
        mass = mass.copy()
        mass[split] = self.tearing.masses()[split]
        return mass

    def piece_of_particles(self) -> np.ndarray | None:
        """The piece of its body that each particle belongs to (n,); None where nothing can break."""
        piece = None
        for body in self.model.bodies:
            links = self._links(body.name)
            if links is not None:
                piece = np.zeros(self.state.count, np.int64) if piece is None else piece
                piece[slice(*body.particles)] = links.particle_pieces()
        if self.tearing is not None:
            piece = np.zeros(self.state.count, np.int64) if piece is None else piece
            piece[self.tearing.host_members] = self.tearing.pieces()[self.tearing.host_members]
        return piece

    def contact_list(self) -> ContactList:
        """The contacts at the end of the last frame, with the bodies and vertices that touch."""
        return self._named(self.contacts.read())

    def _vertices(self) -> np.ndarray:
        """The vertex of its body's mesh that each particle is (n,)."""
        vertex = np.zeros(self.state.count, np.int64)
        for body in self.model.bodies:
            vertex[body.particle_of] = np.arange(len(body.rank))
        return vertex if self.tearing is None else vertex[self.tearing.home.numpy()]

    def _named(self, found: ContactList) -> ContactList:
        """Contacts with the bodies and vertices that touch."""
        body_of = self.model.particles.body[found.particle]
        return dataclasses.replace(found, body=body_of, vertex=self._vertices()[found.particle])

    def body_contact_list(self) -> TouchList:
        """Contacts of bodies with each other and themselves now, with their forces, measured as by `contact_forces`.

        Some are near only, and have no force.
        """
        if not self._bodies_meet():
            return self._named_bodies(self.body_contacts.read(self.state, self.dt))
        return self._trial()[2]

    def _bodies_meet(self) -> bool:
        """Whether bodies are kept apart, by what does so for all, or by a method for its own."""
        return self.body_contacts.active or any(getattr(solver, "keeps_apart", False) for solver in self.solvers)

    def _named_bodies(self, found: BodyContactList) -> TouchList:
        """Contacts between bodies with their names, and the vertices that touch."""
        names = tuple(body.name for body in self.model.bodies)
        columns = {field.name: getattr(found, field.name) for field in dataclasses.fields(BodyContactList)}
        return TouchList(**columns, names=names, vertices=self._vertices()[found.particles])

    def contact_force_between(self, body: str | int, other: str | int) -> np.ndarray:
        """The force of a body or a collider on a body [N] (3,).

        Args:
            body: on which it acts; name or number.
            other: which exerts it: name or number of a body, or the name of a collider that no body has.
        """
        which = self.body(body)
        colliders = [collider.name for collider in self.pipeline.colliders]
        bodies = [b.name for b in self.model.bodies]
        if isinstance(other, str) and other in colliders and other not in bodies:
            found, forces = self.contact_forces()
            mine = (found.body == bodies.index(which.name)) & (found.collider == colliders.index(other))
            return forces[mine].sum(axis=0)
        if isinstance(other, str) and other not in bodies:
            raise InputError(
                f"no body or collider {other!r}",
                "contact_force_between",
                f"The bodies are: {', '.join(bodies)}; the colliders: {', '.join(colliders) or 'none'}",
            )
        return self.body_contact_list().force_on(which.name, self.body(other).name)

    def vertex_contact_forces(self, body: str | int | None = None) -> np.ndarray:
        """The force of all bodies and colliders on each vertex [N] (n, 3), like `positions`."""
        between, colliders = self._particle_contact_forces()
        bodies = self.model.bodies if body is None else [self.body(body)]
        return np.concatenate([(between + colliders)[b.particle_of] for b in bodies])

    def _particle_contact_forces(self) -> tuple[np.ndarray, np.ndarray]:
        """Forces of bodies and of colliders on each particle, in the model's order [N] (n, 3)."""
        count = self.state.count
        colliders = np.zeros((count, 3))
        if not self._bodies_meet() and not self.pipeline.slots:
            return np.zeros((count, 3)), colliders
        found, forces, met = self._trial()
        np.add.at(colliders, found.particle, forces)
        return met.particle_forces(count), colliders

    def is_asleep(self, body: str | int) -> bool:
        """Whether a body sleeps, as `Scene(sleep=...)` allows."""
        return bool(self.sleeping.asleep()[self.model.bodies.index(self.body(body))])

    def sleeping_bodies(self) -> list[str]:
        """Names of the bodies that sleep."""
        return [body.name for body, rests in zip(self.model.bodies, self.sleeping.asleep(), strict=True) if rests]

    def contact_pressures(self) -> np.ndarray:
        """What `quantity` calls 'contact' of each particle [N] (n,), in the model's order."""
        return sum(np.linalg.norm(forces, axis=1) for forces in self._particle_contact_forces())

    def contact_forces(self) -> tuple[ContactList, np.ndarray]:
        """Contacts now and the force of each on its particle [N] (c, 3), measured by a step that is then undone.

        The forces are those of one step: a body that trembles on a floor is carried on average only.
        """
        if not self.pipeline.slots:
            return self._named(self.contacts.read()), np.zeros((0, 3))
        return self._trial()[:2]

    def _trial(self) -> tuple[ContactList, np.ndarray, TouchList]:
        """Contacts with colliders now, their forces [N] (c, 3) and those between bodies, by a step that is undone."""
        self._tell_of_lost_contacts()
        state = self.state
        touched = [*self.arrays().values(), state.x_next, state.v_next, state.f_ext]
        touched += [self.contacts.surface, self.contacts.depth, *last_step_arrays(self.body_contacts)]
        saved = [wp.clone(array) for array in touched]
        self.world.has_f_ext = self.is_forced()
        mass = self.masses()
        done = False
        while not done:
            # what sleeps is carried too
            self.sleeping.rouse()
            self.body_contacts.begin_frame(self.frame_dt)
            if isinstance(self.body_contacts, BodyContacts):
                self.body_contacts.go_on()
            if self.is_forced():
                self.apply_forces()
            found, forces, met = trial_forces(
                state, self.solvers, self.pipeline, self.contacts, self.body_contacts, mass, self.dt
            )
            for array, values in zip(touched, saved, strict=True):
                wp.copy(array, values)
            done = not self.make_room_for_contacts()
        return self._named(found), forces, self._named_bodies(met)

    def collider(self, name: str) -> Collider:
        """A collider by name, as it is now: where `move_collider` has brought it."""
        return self.pipeline.now(name)
