"""What can be done to a simulation between frames: pin, pull, move, cut, and set its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from pliant import hands
from pliant.attachments import Attachments
from pliant.errors import InputError
from pliant.forces.inside import gas_of, surround
from pliant.forces.pressure import Pressure
from pliant.forces.pull import Pulls
from pliant.forces.wind import WindForce
from pliant.forces.wind_settings import Gusts, Wind, changed_wind
from pliant.looking import Looking
from pliant.motion import MotionPath
from pliant.physics.pressure import LEAST_SHARE
from pliant.pins import Pins, as_motion
from pliant.solvers.shape_matching.cut import Wedge, crossed_links
from pliant.vectors import FARTHEST, FASTEST, as_bounded, as_float, as_vector


class Touching(Looking):
    """The part of a `Simulation` that is touched."""

    device: str
    frame_dt: float
    notes: list[str]
    pins: Pins
    attachments: Attachments
    pulls: Pulls
    wind: WindForce

    @property
    def substeps(self) -> int:
        """Steps per frame."""
        raise NotImplementedError

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        raise NotImplementedError

    def forget_programs(self) -> None:
        """Record the frame again before it runs next: what takes part in it has changed."""
        raise NotImplementedError

    def _look_before_change(self) -> None:
        """Check the frames that were not checked, while it can still be told what went wrong in them."""
        raise NotImplementedError

    def _follow_breaks(self) -> None:
        """Let the seen surfaces follow what hangs together now."""
        raise NotImplementedError

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

    def pin(
        self,
        body: str | int,
        vertices: Any,
        path: MotionPath | Sequence[Any] | None = None,
        *,
        center: Sequence[float] | None = None,
    ) -> None:
        """Hold vertices where they are now, or lead them along a path, as `Scene.pin` does.

        The times of keys count from now, those of a `MotionPath` are times of the simulation.
        """
        self._look_before_change()
        particles = self._vertex(body, vertices)
        places = self.state.x.numpy()[particles].astype(np.float64)
        lead = as_motion(path, center, places, f"pin of body '{self.body(body).name}'")
        if lead is not None and not isinstance(path, MotionPath):
            lead = lead.later(self.time)
        self.sleeping.wake()
        self.pins.add(particles, places, lead, self.state)
        self.forget_programs()

    def move_pins(self, body: str | int, vertices: Any, positions: Any) -> None:
        """Lead pinned vertices to places [m] (n, 3) during the next frame, where they stay; they leave their paths."""
        which = self.body(body)
        particles = self._vertex(body, vertices)
        where = f"move_pins of body '{which.name}'"
        places = _as_rows(positions, where)
        if places.ndim == 1:
            places = places[None]
        if places.shape != (len(particles), 3) or not (np.abs(places) <= FARTHEST).all():
            raise InputError(
                f"the positions have the shape {places.shape}, or are not finite",
                where,
                f"Give {len(particles)} rows of three finite numbers",
            )
        pinned = self.pins.is_pinned(particles)
        if not pinned.all():
            loose = int(np.flatnonzero(which.particle_of == particles[np.argmin(pinned)])[0])
            raise InputError(f"vertex {loose} is not pinned", where, "Pin it first, with pin()")
        self._look_before_change()
        self.sleeping.wake()
        self.pins.move(particles, places)

    def detach(self, name: str) -> None:
        """Let go what `Scene.attach` attached."""
        self._look_before_change()
        self.sleeping.wake()
        if name in self.attachments.led:
            self.pins.remove(self.attachments.led[name], self.state)
            self.forget_programs()
        else:
            self.attachments.detach(name)

    def attachment_forces(self) -> dict[str, np.ndarray]:
        """Force on each attached vertex [N] (n, 3), the mean of the last frame, by the attachment between bodies."""
        return {tie.entry.name: self.attachments.forces(tie.entry.name) for tie in self.attachments.host}

    def attachments_intact(self) -> dict[str, np.ndarray]:
        """Which vertices still hold (n,) bool, by the attachment between bodies."""
        return {tie.entry.name: self.attachments.intact(tie.entry.name) for tie in self.attachments.host}

    def unpin(self, body: str | int, vertices: Any) -> None:
        """Let pinned vertices go."""
        self._look_before_change()
        self.sleeping.wake()
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
        self.wake(body)
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
        self.wake(body)
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

    def wake(self, body: str | int | None = None) -> None:
        """Wake a body that sleeps, or all; it falls asleep again when it has been at rest for the time."""
        self._look_before_change()
        self.sleeping.wake(None if body is None else [self.model.bodies.index(self.body(body))])

    def set_gravity(self, gravity: Sequence[float]) -> None:
        """Change gravity [m/s^2], between frames."""
        chosen = as_vector(gravity, "gravity")
        self._look_before_change()
        self.sleeping.wake()
        self.world.gravity = chosen
        surround(self.forces, chosen, self.wind.density)
        self.forget_programs()

    def set_pressure(self, body: str | int, overpressure: float, over: float = 0.0) -> None:
        """Let gas into a body or out of it, between frames.

        Args:
            body: one with ``volume=Pressure(...)``.
            overpressure: pressure above that outside which the gas would have at the rest volume [Pa].
            over: time that it takes [s]; at once if not given.
        """
        name = self.body(body).name
        gas = gas_of(self.forces, name)
        goal, seconds = as_float(overpressure), as_float(over)
        if goal is None or not 0.0 <= goal <= 1e12 or seconds is None or not 0.0 <= seconds <= 1e9:
            raise InputError(
                f"{overpressure!r} Pa over {over!r} s makes no sense",
                "set_pressure",
                "Give a pressure from 0 to 1e12 and a time from 0 to 1e9",
            )
        self._look_before_change()
        self.sleeping.wake()
        gas.set_pressure(name, goal, seconds)

    def gas_state(self, body: str | int) -> tuple[float, float]:
        """Overpressure [Pa] and volume [m^3] of the gas in a body now, by its law."""
        name = self.body(body).name
        gas = gas_of(self.forces, name)
        b = gas.names.index(name)
        settings, volume = gas.settings[b], gas.volume(name, self.state.x.numpy().astype(np.float64))
        assert isinstance(settings, Pressure)
        share = max(volume / gas.rest_volume[b], float(LEAST_SHARE))
        return (settings.ambient + float(gas.gas.numpy()[b][0])) / share - settings.ambient, volume

    def set_wind(
        self,
        velocity: Sequence[float] | Wind | Mapping[str, Any] | None = None,
        *,
        gusts: Gusts | Mapping[str, Any] | EllipsisType | None = ...,
        **air: Any,
    ) -> None:
        """Change the air between frames; a velocity of zero is no wind and, unless there is still air, no air.

        Args:
            velocity: mean velocity [m/s], the same as before if not given; or all of it, as a `Wind` or a table.
            gusts: a `Gusts`, a table of its settings, or None for a steady wind; as before if not given.
            air: other settings of `Wind`, such as ``still_air=True`` or ``lift=0.5``.
        """
        chosen = changed_wind(self.wind.settings, velocity, gusts, air)
        self._look_before_change()
        self.sleeping.wake()
        self.wind.set(chosen)
        self.state.f_ext.zero_()  # every force writes its own again at the next substep

    def set_state(
        self, body: str | int, positions: np.ndarray | None = None, velocities: np.ndarray | None = None
    ) -> None:
        """Set a body's positions [m] or velocities [m/s] (n, 3), in the order of its mesh."""
        self._look_before_change()
        which = self.body(body)
        self.sleeping.wake()
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
        self.attachments.relax(self.state.x.numpy(), which.particles)
        self._skins_stale = True

    def move_collider(
        self,
        name: str,
        position: Sequence[float],
        velocity: Sequence[float] | None = None,
        *,
        radius: float | None = None,
        rotation: Sequence[float] | None = None,
    ) -> None:
        """Move a sphere, capsule, box or mesh; in the next frame it glides there and pushes what is in its way.

        A way of more than ten radii of a sphere, or five times the size of another, is a jump: it is there at once and
        sweeps nothing along. What follows a path cannot be moved.

        Args:
            name: of the collider.
            position: its new centre [m]; of a mesh, where its origin goes.
            velocity: what its surface does [m/s] until it is moved again; it then is at its new place at once.
            radius: the new radius of a sphere [m], if it changes; at once.
            rotation: axis times angle in degrees since it was built; as it is turned now if not given.
        """
        self._look_before_change()
        place = as_bounded(position, FARTHEST, "move_collider.position", "m")
        speed = None if velocity is None else as_bounded(velocity, FASTEST, "move_collider.velocity", "m/s")
        turn = None if rotation is None else as_bounded(rotation, 1e6, "move_collider.rotation", "degrees")
        self.pipeline.move(name, place, speed, radius, turn, steps=self.substeps, duration=self.frame_dt)

    def set_collider_vertices(self, name: str, vertices: Any) -> None:
        """Lead the vertices of a mesh collider built with ``deforms=True`` to places [m] (n, 3) in the next frame.

        The places are those in the world as the collider was built; where it has a path, or was moved, they go with
        it. Its surface has the velocity of its vertices, and stands still after the frame until they are set again.
        """
        self._look_before_change()
        self.pipeline.set_vertices(name, vertices, self.substeps, self.frame_dt)

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
            self.sleeping.wake()
            self._follow_breaks()
            self._skins_stale = True
        return done

    def reset_shape(self, body: str | int) -> None:
        """Give a body that has yielded its original rest shape back; its particles stay where they are."""
        self._look_before_change()
        which = self.body(body)
        self.sleeping.wake()
        solver = next(s for s in self.solvers if s.name == which.method)
        if not solver.reset_shape(which.name):
            raise InputError(
                f"{which.method} keeps no permanent change of shape",
                f"body '{which.name}'",
                "Use method 'shape_matching' for bodies that yield",
            )


def _as_rows(values: Any, where: str) -> np.ndarray:
    try:
        return np.asarray(values, np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"the values are not numbers ({error})", where, "Give rows of three numbers") from error
