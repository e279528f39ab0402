"""A running simulation: owns the state, runs the stages in their fixed order, captures them, watches for blow-ups."""

from __future__ import annotations

import dataclasses
import importlib
import math
import time as clock
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant import hands
from pliant.blow_up import Moment, describe
from pliant.collide.collider import Collider
from pliant.collide.contacts import ContactList, Contacts
from pliant.collide.pipeline import Pipeline
from pliant.contact_forces import trial_forces
from pliant.diagnostics import Diagnostics, measure
from pliant.errors import BlowUpError, InputError
from pliant.forces.inside import clear_forces, inside_forces
from pliant.forces.pull import Pulls
from pliant.forces.wind import Wind
from pliant.guard import Guard, GuardReport
from pliant.launch import Recording, copy, record
from pliant.model.model import Body, Model
from pliant.model.state import State
from pliant.pins import PinPath, Pins
from pliant.quantities import Quantities
from pliant.skin.bodies import BodySkins
from pliant.skin.pieces import PartingSkins
from pliant.solvers.protocol import Solver, World
from pliant.solvers.shape_matching.cut import Wedge, crossed_links
from pliant.solvers.shape_matching.fracture_links import ClusterLinks
from pliant.vectors import FARTHEST, FASTEST, as_bounded, as_count, as_vector

# The step that is used by default, over the largest that is stable at rest: a compressed body is stiffer.
SAFETY = 0.7


class Simulation:
    """Made by `Scene.build`. Call `frame()` to advance by one frame.

    Attributes:
        model: what is simulated.
        state: positions and velocities on the device, in the model's order; use `positions()` for yours.
        frame_dt: duration of a frame [s].
        frame_number: frames done.
        notes: what the user should know about how the scene was built.
        scene: what it was built from; None where it was put together by hand.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        world: World,
        pipeline: Pipeline,
        solvers: Sequence[Solver],
        frame_dt: float,
        substeps: int,
        stretch_limit: float,
        device: str,
        wind: tuple[float, float, float] = (0.0, 0.0, 0.0),
        air_density: float = 1.2,
    ):
        self.model = model
        self.state = state
        self.world = world
        self.pipeline = pipeline
        self.solvers = list(solvers)
        self.device = device
        self.frame_dt = frame_dt
        self.substeps = substeps
        self.frame_number = 0
        self.notes: list[str] = []
        self.scene: Any = None
        self.contacts = Contacts(state.count, pipeline.slots, device)
        self.pins = Pins(model.particles.mass, device)
        self.pulls = Pulls(device)
        self.forces = inside_forces(model, device)
        self.wind = Wind(model, device, wind, air_density)
        self.built_in = (world.gravity, wind, air_density)
        self.skins = BodySkins(model.bodies, device, model.particles)
        self._parting = PartingSkins(model.bodies, self.skins)
        self._told_of_break = False
        self._skins_stale = True
        self.guard = Guard(model, device, stretch_limit)
        self.quantities = Quantities(model, device)
        self.stable_dt = math.inf
        self._programs: dict[Any, Recording | wp.Graph] = {}
        self._good = {name: wp.clone(array) for name, array in self.arrays().items()}
        self._good_frame = 0
        self._unchecked = False

    # ---- advancing ----------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.frame_number * self.frame_dt

    @property
    def substeps(self) -> int:
        """Steps per frame."""
        return self._substeps

    @substeps.setter
    def substeps(self, count: int) -> None:
        self._substeps = as_count(count, "substeps", high=100_000)

    @property
    def dt(self) -> float:
        """Time step [s]."""
        return self.frame_dt / self.substeps

    def frame(self, count: int = 1, *, check: bool = True) -> None:
        """Advance by `count` frames.

        Args:
            count: number of frames.
            check: look for a blow-up after each frame, and let bodies break; on CUDA this waits for the frame to
                finish. What goes wrong in frames that are not checked is found when the next one is, and what was
                stretched too far in them breaks after it.

        Raises:
            BlowUpError: a value is not finite or absurd; the state is put back to the last frame known to be good.
        """
        for _ in range(as_count(count, "frame(count)", low=0)):
            if check:
                self._look_before_change()
            keep = not self._unchecked
            if keep:
                self._good_frame = self.frame_number
            self.pins.aim(self.time + self.frame_dt)
            program = self._program(keep)
            if isinstance(program, Recording):
                program.replay()
            else:
                wp.capture_launch(program)
            self.frame_number += 1
            self._skins_stale = False
            if check:
                self._stop_if_bad()
                self._break_bodies()
            else:
                self._unchecked = True

    def _stop_if_bad(self) -> None:
        report = self.guard.read()
        if report.bad:
            self._explain_blow_up(report)

    def _break_bodies(self) -> None:
        """Break what was stretched too far, and let what is seen follow."""
        if any([solver.between_frames(self.frame_dt) for solver in self.solvers]):
            self._follow_breaks()
            if not self._told_of_break:
                broken = [b.name for b in self.model.bodies if len(self.broken_links(b.name))]
                self.notes.append(f"Body '{broken[0]}' began to break in frame {self.frame_number}.")
                self._told_of_break = True

    def _follow_breaks(self) -> None:
        """Let the seen surfaces follow what hangs together now."""
        for body in self.model.bodies:
            links = self._links(body.name)
            if links is not None:
                self._parting.follow(body.name, links)

    def follow_restored(self) -> None:
        """Follow the arrays of `arrays`, which were set from outside."""
        if any([solver.restored() for solver in self.solvers]):
            self._follow_breaks()
        self._skins_stale = True

    def _program(self, keep: bool = True) -> Recording | wp.Graph:
        """The frame as one recording or one CUDA graph; made again when what takes part in it changes."""
        forced = (self.pulls.active, self.wind.active)
        key = (keep, forced, self.pins.count, id(self.pins.particle), self.substeps, self.frame_dt)
        if key not in self._programs:
            if len(self._programs) > 8:
                self._programs.clear()
            if self.device == "cpu":
                with record() as recording:
                    self._issue_frame(keep=keep)
                self._programs[key] = recording
            else:
                self._load_kernels()
                with wp.ScopedCapture(device=self.device) as capture:
                    self._issue_frame(keep=keep)
                self._programs[key] = capture.graph
        return self._programs[key]

    def _load_kernels(self) -> None:
        """Run a frame eagerly and undo it, so that every kernel is compiled and loaded before the capture."""
        saved = {name: wp.clone(array) for name, array in self.arrays().items()}
        self._issue_frame(substeps=min(self.substeps, 2), keep=False)
        for name, array in self.arrays().items():
            wp.copy(array, saved[name])

    def can_fuse(self) -> bool:
        """Whether a substep is a single launch: one method, no forces besides, and the method knows how."""
        return len(self.solvers) == 1 and self.solvers[0].can_fuse() and not self.is_forced()

    def is_forced(self) -> bool:
        """Whether forces besides those of the methods act: pulls, wind, or what fills a closed surface."""
        return self.pulls.active or self.wind.active or any(force.active for force in self.forces)

    def apply_forces(self) -> None:
        """Write state.f_ext: every force adds its own."""
        if self.forces or self.wind.active:
            clear_forces(self.state, self.device)
        if self.pulls.active:
            self.pulls.apply(self.state)
        for force in self.forces:
            force.apply(self.state, self.dt)
        if self.wind.active:
            self.wind.apply(self.state, self.dt)

    def _issue_frame(self, substeps: int | None = None, *, keep: bool = True) -> None:
        """Launch everything a frame consists of, in order. Nothing here allocates or reads back.

        Args:
            substeps: how many; those of a whole frame if not given.
            keep: remember the state before it as the last good one.
        """
        if keep:
            for name, array in self.arrays().items():
                copy(self._good[name], array)
        self.pins.lead(self.state, self.frame_dt)
        self.world.has_f_ext = self.is_forced()
        count = self.substeps if substeps is None else substeps
        if self.can_fuse():
            self.solvers[0].fused(self.state, self.dt, count)
            self.pipeline.detect(self.state.x, self.contacts, margin=1e-6)
        else:
            for _ in range(count):
                self.issue_substep()
        if self.skins.active:
            self.skins.update(self.state.x)
        self.guard.look(self.state)

    def issue_substep(self) -> None:
        if self.is_forced():
            self.apply_forces()
        for solver in self.solvers:
            solver.predict(self.state, self.dt)
        self.pipeline.detect(self.state.x_next, self.contacts, before=self.state.x)
        for solver in self.solvers:
            solver.resolve(self.state, self.contacts, self.dt)

    def stage_times(self, frames: int = 2) -> dict[str, float]:
        """Time of each stage per frame [ms], measured stage by stage outside the capture; the state is put back."""
        saved = {name: wp.clone(array) for name, array in self.arrays().items()}
        times: dict[str, float] = {}

        def timed(name: str, action: Any) -> None:
            wp.synchronize_device(self.device)
            begin = clock.perf_counter()
            action()
            wp.synchronize_device(self.device)
            times[name] = times.get(name, 0.0) + (clock.perf_counter() - begin) * 1e3 / frames

        for _ in range(frames):
            timed("pins", lambda: self.pins.lead(self.state, self.frame_dt))
            if self.can_fuse():
                timed("fused step", lambda: self.solvers[0].fused(self.state, self.dt, self.substeps))
                timed("detect", lambda: self.pipeline.detect(self.state.x, self.contacts, margin=1e-6))
            else:
                for _ in range(self.substeps):
                    if self.is_forced():
                        timed("forces", self.apply_forces)
                    for solver in self.solvers:
                        timed(f"predict {solver.name}", lambda s=solver: s.predict(self.state, self.dt))
                    timed("detect", lambda: self.pipeline.detect(self.state.x_next, self.contacts, before=self.state.x))
                    for solver in self.solvers:
                        timed(f"resolve {solver.name}", lambda s=solver: s.resolve(self.state, self.contacts, self.dt))
            if self.skins.active:
                timed("skin", lambda: self.skins.update(self.state.x))
            timed("guard", lambda: self.guard.look(self.state))
        for name, array in self.arrays().items():
            wp.copy(array, saved[name])
        self._skins_stale = True
        return times

    # ---- blow-ups -----------------------------------------------------------------------------------------------

    def _explain_blow_up(self, found: GuardReport) -> None:
        """Go back to the last good frame, find the substep and the element that went wrong, and say so."""
        last = self.frame_number
        self._restore_good()
        self.world.has_f_ext = self.is_forced()
        report, substep = found, 0
        calm = self.state.x.numpy().astype(np.float64)
        while self.frame_number < last and not substep:
            self.pins.aim(self.time + self.frame_dt)
            self.pins.lead(self.state, self.frame_dt)
            for k in range(1, self.substeps + 1):
                self.issue_substep()
                self.guard.look(self.state)
                seen = self.guard.read()
                if seen.bad:
                    report, substep = seen, k
                    break
                calm = self.state.x.numpy().astype(np.float64)
            self.frame_number += 1
        x, v = self.state.x.numpy(), self.state.v.numpy()
        moment = Moment(
            self.frame_number, substep, self.substeps, self.frame_dt, self.stable_dt, SAFETY, self._good_frame
        )
        details = describe(self.model, report, x, v, calm, moment)
        self._restore_good()
        self._unchecked = False
        raise BlowUpError(details.pop("message"), details)

    def _look_before_change(self) -> None:
        """Check the frames that were not checked, while it can still be told what went wrong in them."""
        if self._unchecked:
            self._stop_if_bad()
            self._unchecked = False

    def _restore_good(self) -> None:
        self.frame_number = self._good_frame
        for name, array in self.arrays().items():
            wp.copy(array, self._good[name])
        self.follow_restored()

    # ---- looking ------------------------------------------------------------------------------------------------

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

    def pieces(self, body: str | int) -> int:
        """Number of pieces that a body has come apart into; 1 for a body that cannot break."""
        links = self._links(self.body(body).name)
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
        """A number for each vertex (n,) float32, like `positions`: 'strain', 'stress' [Pa] or 'speed' [m/s].

        Strain is the largest change of length in any direction over the length at rest, from the vertex's neighbours,
        and stress the von Mises stress of the material's linear elasticity: the same for every method.
        """
        return self._in_user_order(self.quantities.measure(name, self.state), body)

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
        return measure(self.model, x, v, np.array(self.world.gravity), elastic, self.piece_of_particles())

    def piece_of_particles(self) -> np.ndarray | None:
        """The piece of its body that each particle belongs to (n,); None where nothing can break."""
        piece = None
        for body in self.model.bodies:
            links = self._links(body.name)
            if links is not None:
                piece = np.zeros(self.state.count, np.int64) if piece is None else piece
                piece[slice(*body.particles)] = links.particle_pieces()
        return piece

    def contact_list(self) -> ContactList:
        """The contacts at the end of the last frame, with the bodies and vertices that touch."""
        return self._named(self.contacts.read())

    def _named(self, found: ContactList) -> ContactList:
        """Contacts with the bodies and vertices that touch."""
        vertex = np.zeros(self.state.count, np.int64)
        for body in self.model.bodies:
            vertex[body.particle_of] = np.arange(len(body.rank))
        body_of = self.model.particles.body[found.particle]
        return dataclasses.replace(found, body=body_of, vertex=vertex[found.particle])

    def contact_forces(self) -> tuple[ContactList, np.ndarray]:
        """Contacts now and the force of each on its particle [N] (c, 3), measured by a step that is then undone.

        The forces are those of one step: a body that trembles on a floor is carried on average only.
        """
        state = self.state
        touched = [*self.arrays().values(), state.x_next, state.v_next, state.f_ext]
        touched += [self.contacts.surface, self.contacts.depth]
        saved = [wp.clone(array) for array in touched]
        self.world.has_f_ext = self.is_forced()
        if self.is_forced():
            self.apply_forces()
        mass = self.model.particles.mass
        found, forces = trial_forces(state, self.solvers, self.pipeline, self.contacts, mass, self.dt)
        for array, values in zip(touched, saved, strict=True):
            wp.copy(array, values)
        return self._named(found), forces

    def collider(self, name: str) -> Collider:
        """A collider by name, as it is now: where `move_collider` has brought it."""
        return self.pipeline.now(name)

    # ---- touching -----------------------------------------------------------------------------------------------

    def _vertex(self, body: str | int, vertices: Any) -> np.ndarray:
        which = self.body(body)
        count = len(which.rank)
        index = np.atleast_1d(np.asarray(vertices))
        if index.dtype == bool and index.shape == (count,):
            index = np.flatnonzero(index)
        if index.size == 0 or index.dtype.kind not in "iu" or index.min() < 0 or index.max() >= count:
            raise InputError(
                f"{vertices!r} does not name vertices", f"body '{which.name}'", f"Give numbers from 0 to {count - 1}"
            )
        return which.particle_of[index]

    def pin(self, body: str | int, vertices: Any, path: PinPath | Sequence[Sequence[Any]] | None = None) -> None:
        """Hold vertices where they are now, or lead them along a path.

        Keys are ``(time [s], offset [m])`` and count from now; the times of a `PinPath` are those of the simulation.
        """
        self._look_before_change()
        particles = self._vertex(body, vertices)
        lead: PinPath | None = None
        if isinstance(path, PinPath):
            lead = path
        elif path is not None:
            lead = PinPath.make(path, f"pin of body '{self.body(body).name}'").later(self.time)
        self.pins.add(particles, self.state.x.numpy()[particles], lead, self.state)
        self.forget_programs()

    def unpin(self, body: str | int, vertices: Any) -> None:
        """Let pinned vertices go."""
        self._look_before_change()
        self.pins.remove(self._vertex(body, vertices), self.state)
        self.forget_programs()

    def pull(
        self,
        body: str | int,
        vertex: int,
        target: Sequence[float],
        stiffness: float = 100.0,
        damping: float | None = None,
        *,
        spread: int | None = None,
    ) -> int:
        """Pull a vertex towards a point with a spring [N/m]; returns a handle for `move_pull` and `release`.

        A light vertex alone can only be pulled weakly: the step allows 0.25 m / dt^2. What is pulled therefore is a
        weighted point of the body, x_p = sum of w_i x_i over the vertex and its neighbours, and w_i of the force goes
        to each. A pull that is too strong even so is weakened, with a note.

        Args:
            body: name or number.
            vertex: of the mesh that was added.
            target: where the vertex goes [m].
            stiffness: [N/m].
            damping: [N s/m]; that of a critically damped spring on the mass that is held, if not given.
            spread: number of particles that are held, at most 256, by their distance now; as few as let the step
                allow stiffness and damping if not given, 1 for the vertex alone.
        """
        particle = hands.one_vertex(self._vertex(body, vertex), vertex)
        return hands.pull_particle(self, self.body(body), particle, target, stiffness, damping, spread)

    def pull_seen(
        self,
        body: str | int,
        seen_vertex: int,
        target: Sequence[float],
        stiffness: float = 100.0,
        damping: float | None = None,
        spread: int | None = None,
    ) -> int:
        """Pull a vertex of `surface_positions` of a body, as `pull` does, through the particles that carry it.

        The damping [N s/m] defaults to half of what is critical for the whole body: one that hangs on a hand comes to
        rest. A `spread` of 1 holds those particles alone that carry the vertex.
        """
        return hands.pull_seen(self, self.body(body), seen_vertex, target, stiffness, damping, spread)

    def move_pull(self, handle: int, target: Sequence[float]) -> None:
        """Move the point a pull leads to."""
        self.pulls.held(handle)
        self.pulls.move(handle, as_bounded(target, FARTHEST, "pull.target", "m"))

    def pull_point(self, handle: int) -> np.ndarray:
        """Where the point that a pull holds is now [m] (3,): the vertex at first; it keeps its place to the patch."""
        return self.pulls.measure(handle, self.state)[0]

    def pull_force(self, handle: int) -> float:
        """How strongly a pull pulls now [N]."""
        return float(np.linalg.norm(self.pulls.measure(handle, self.state)[1]))

    def release(self, handle: int) -> None:
        """End a pull."""
        self.pulls.release(handle, self.state)

    def set_gravity(self, gravity: Sequence[float]) -> None:
        """Change gravity [m/s^2], between frames."""
        chosen = as_vector(gravity, "gravity")
        self._look_before_change()
        self.world.gravity = chosen
        self.forget_programs()

    def set_wind(self, velocity: Sequence[float]) -> None:
        """Change the velocity of the air [m/s], between frames; zero is no wind and no air, see `Wind`."""
        chosen = as_bounded(velocity, FASTEST, "wind", "m/s")
        self._look_before_change()
        self.wind.set(chosen)
        self.state.f_ext.zero_()  # every force writes its own again at the next substep

    def set_state(
        self, body: str | int, positions: np.ndarray | None = None, velocities: np.ndarray | None = None
    ) -> None:
        """Set a body's positions [m] or velocities [m/s] (n, 3), in the order of its mesh."""
        self._look_before_change()
        which = self.body(body)
        for name, values, array in (("positions", positions, self.state.x), ("velocities", velocities, self.state.v)):
            if values is None:
                continue
            values = _as_rows(values, f"body '{which.name}'.{name}")
            if values.shape != (len(which.rank), 3) or not np.isfinite(values).all():
                raise InputError(
                    f"the {name} have the shape {values.shape} or are not finite",
                    f"body '{which.name}'",
                    f"Give {len(which.rank)} rows of three finite numbers",
                )
            all_values = array.numpy()
            all_values[which.particle_of] = values
            array.assign(all_values)
        for solver in self.solvers:
            solver.reset(self.state, which.particles)
        self._skins_stale = True

    def move_collider(
        self,
        name: str,
        position: Sequence[float],
        velocity: Sequence[float] | None = None,
        *,
        radius: float | None = None,
    ) -> None:
        """Move a sphere; during the next frame it glides to its new place and pushes what is in its way.

        A way of more than ten radii is a jump: the sphere is there at once and sweeps nothing along.

        Args:
            name: of the collider.
            position: its new centre [m].
            velocity: what its surface does [m/s] until it is moved again; it then is at its new place at once.
            radius: its new radius [m], if it changes; at once.
        """
        self._look_before_change()
        slot, mover = self.pipeline.mover(name)
        place = as_bounded(position, FARTHEST, "move_collider.position", "m")
        speed = None if velocity is None else as_bounded(velocity, FASTEST, "move_collider.velocity", "m/s")
        mover.move(slot, place, speed, radius, self.substeps, self.frame_dt)

    def can_cut(self, body: str | int) -> bool:
        """Whether a body can be cut: it is shape-matched, its material has a fracture_strain, and it has clusters."""
        return self._links(self.body(body).name) is not None

    def cut(
        self, first: Sequence[float], last: Sequence[float], eye: Sequence[float], body: str | int | None = None
    ) -> int:
        """Cut bodies along the wedge between the rays from the eye through two points, as far as they go.

        Args:
            first, last: where the stroke begins and ends [m].
            eye: where it is seen from [m].
            body: the one to cut; all that can be cut if not given.

        Returns:
            number of links between clusters that broke; each body falls apart where none is left.
        """
        self._look_before_change()
        wedge = Wedge.between(first, last, eye)
        if body is not None and not self.can_cut(body):
            raise InputError(
                f"body '{self.body(body).name}' cannot be cut",
                "cut",
                "Give its material a fracture_strain, and the body method 'shape_matching' with several clusters",
            )
        x, done = self.state.x.numpy(), 0
        for which in self.model.bodies if body is None else [self.body(body)]:
            links, own = self._links(which.name), slice(*which.particles)
            if links is not None:
                crossed = crossed_links(links, x[own], self.model.particles.mass[own], wedge)
                done += sum(solver.break_links(which.name, crossed) for solver in self.solvers)
        if done:
            self._follow_breaks()
            self._skins_stale = True
        return done

    def reset_shape(self, body: str | int) -> None:
        """Give a body that has yielded its original rest shape back; its particles stay where they are."""
        self._look_before_change()
        which = self.body(body)
        solver = next(s for s in self.solvers if s.name == which.method)
        if not solver.reset_shape(which.name):
            raise InputError(
                f"{which.method} keeps no permanent change of shape",
                f"body '{which.name}'",
                "Use method 'shape_matching' for bodies that yield",
            )

    def adopt(self, other: Simulation) -> None:
        """Become another simulation in place, for those who hold a reference to this one."""
        self.__dict__ = dict(other.__dict__)

    def view(self, **options: Any) -> Any:
        """Show it in a page, where it can be dragged and changed, and go on at once; see `pliant.show`.

        In a notebook the view that is returned shows itself.
        """
        # the studio is built on simulations, and not the other way round: it is looked up when it is wanted
        return importlib.import_module("pliant.studio.show").show(self, block=False, **options)

    def forget_programs(self) -> None:
        """Record the frame again before it runs next: what takes part in it has changed."""
        self._programs.clear()
        self._unchecked = False
        self._skins_stale = True

    def arrays(self) -> dict[str, wp.array]:
        """Every device array a checkpoint must hold, by name."""
        arrays = {f"state.{k}": a for k, a in self.state.checkpointed().items()}
        for solver in self.solvers:
            arrays |= {f"{solver.name}.{k}": a for k, a in solver.scratch().items()}
        arrays |= {f"colliders.{k}": a for k, a in self.pipeline.arrays().items()}
        for force in self.forces:
            arrays |= {f"forces.{k}": a for k, a in force.arrays().items()}
        return arrays


def _as_rows(values: Any, where: str) -> np.ndarray:
    try:
        return np.asarray(values, np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"the values are not numbers ({error})", where, "Give rows of three numbers") from error
