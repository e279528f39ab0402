"""What can be done to a simulation between frames: pin, pull, move, cut, and set its state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant import hands
from pliant.errors import InputError
from pliant.forces.pull import Pulls
from pliant.forces.wind import Wind
from pliant.looking import Looking
from pliant.pins import PinPath, Pins
from pliant.solvers.shape_matching.cut import Wedge, crossed_links
from pliant.vectors import FARTHEST, FASTEST, as_bounded, as_vector


class Touching(Looking):
    """The part of a `Simulation` that is touched."""

    device: str
    frame_dt: float
    notes: list[str]
    pins: Pins
    pulls: Pulls
    wind: Wind

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


def _as_rows(values: Any, where: str) -> np.ndarray:
    try:
        return np.asarray(values, np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"the values are not numbers ({error})", where, "Give rows of three numbers") from error
