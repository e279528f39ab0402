"""What people do to the bodies by hand: grab, drag, pin, poke, throw and cut, in all lanes alike."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.errors import InputError, PliantError
from pliant.forces.pull_kernels import MEMBERS
from pliant.mesh.rods import RodMesh
from pliant.model.model import Body
from pliant.simulation import Simulation
from pliant.studio.lane import POKE, Ball, Lane

Point = tuple[float, float, float]

# Stiffness of a pull per mass of the body, at the strength 1 [1/s^2]: a body hangs 4 cm below the hand that holds it.
PULL_RATE = 225.0
# Largest force of a pull per mass of the body and strength [m/s^2]: a hand that is far away does not tear.
MOST_PULL = 120.0
# Speed at which the poking ball follows the hand at most [m/s]: soft bodies do not survive a bullet.
FASTEST_BALL = 4.0
# Reach of a pin, over the size of the body: a single vertex of a soft body holds little.
PIN_REACH = 0.03


@dataclasses.dataclass
class Grab:
    """A client's hold of a body.

    Attributes:
        vertex: of what is seen, by its number in the body.
        handles: pull of each lane.
        seq: number of the newest drag.
    """

    body: str
    vertex: int
    target: Point
    strength: float
    handles: list[int | None] = dataclasses.field(default_factory=list)
    seq: int = 0


class Hands:
    """All grabs, and the poking ball. Works on the lanes it is given; they change when the scene is built anew."""

    def __init__(self) -> None:
        self.grabs: dict[str, Grab] = {}
        self.ball: Ball | None = None
        self._ball_target: Point | None = None

    # ---- dragging -----------------------------------------------------------------------------------------------

    def grab(self, lanes: list[Lane], client: str, body: str, vertex: int, at: Point, strength: float) -> None:
        self.release(lanes, client)
        grab = Grab(body, vertex, at, strength)
        number = lanes[0].body_number(body)
        if vertex >= lanes[0].bodies[number].seen_vertices:
            raise InputError(f"no vertex {vertex}", f"body '{body}'", "Give one of what is seen")
        self._hold(lanes, grab)
        self.grabs[client] = grab

    def _hold(self, lanes: list[Lane], grab: Grab) -> None:
        grab.handles = []
        for lane in lanes:
            grab.handles.append(None if lane.sim is None else _pull(lane, lane.sim, grab))

    def drag(self, lanes: list[Lane], client: str, target: Point, seq: int) -> None:
        grab = self.grabs.get(client)
        if grab is None:
            raise InputError("nothing is held", "drag", "Grab a body first")
        grab.target, grab.seq = target, max(seq, grab.seq)
        self._lead(lanes, grab)

    def _lead_all(self, lanes: list[Lane]) -> None:
        """Let all pulls act towards their targets during the next frame, with no more force than they should have."""
        for grab in self.grabs.values():
            self._lead(lanes, grab)

    def _lead(self, lanes: list[Lane], grab: Grab) -> None:
        for lane, handle in zip(lanes, grab.handles, strict=True):
            if lane.sim is None or handle is None:
                continue
            here = lane.sim.pull_point(handle)
            way = np.array(grab.target) - here
            length = float(np.linalg.norm(way))
            reach = MOST_PULL / PULL_RATE
            goal = here + way * (reach / length) if length > reach else np.array(grab.target)
            lane.sim.move_pull(handle, goal.tolist())

    def release(self, lanes: list[Lane], client: str) -> None:
        grab = self.grabs.pop(client, None)
        if grab is not None:
            for lane, handle in zip(lanes, grab.handles, strict=False):
                if lane.sim is not None and handle is not None:
                    lane.sim.release(handle)

    def release_all(self, lanes: list[Lane]) -> None:
        for client in list(self.grabs):
            self.release(lanes, client)

    def hold_again(self, lanes: list[Lane]) -> None:
        """Take hold in lanes that were built anew; what is gone is let go."""
        for client, grab in list(self.grabs.items()):
            try:
                self._hold(lanes, grab)
            except PliantError:
                del self.grabs[client]

    def describe(self, lanes: list[Lane]) -> list[dict[str, Any]]:
        """The pulls as frames show them."""
        shown = []
        for client, grab in self.grabs.items():
            for k, (lane, handle) in enumerate(zip(lanes, grab.handles, strict=False)):
                if lane.sim is None or handle is None:
                    continue
                at, force = lane.sim.pull_point(handle), lane.sim.pull_force(handle)
                if not np.isfinite([*at, force]).all():
                    continue
                shown.append(
                    {
                        "lane": k,
                        "body": lane.body_number(grab.body),
                        "vertex": grab.vertex,
                        "at": [float(c) for c in at],
                        "target": list(grab.target),
                        "client": client,
                        "force": float(force),
                    }
                )
        return shown

    # ---- the other tools ----------------------------------------------------------------------------------------

    def pin(self, lanes: list[Lane], body: str, vertex: int, radius: float) -> bool:
        """Pin a body around a vertex of what is seen, or unpin it if that place is pinned; True if it is pinned now."""
        lead = lanes[0].sim
        if lead is None:
            raise InputError("there is no body", "pin", "Add one first")
        near = _near(lead, body, _seen_point(lead, body, vertex), radius)
        held = set(pinned_vertices(lead, body))
        free = not held & set(near.tolist())
        for lane in lanes:
            if lane.sim is None:
                continue
            own = _near(lane.sim, body, _seen_point(lane.sim, body, vertex), radius)
            if free:
                lane.sim.pin(body, own)
            else:
                lane.sim.unpin(body, own)
        return free

    def unpin(self, lanes: list[Lane], body: str) -> None:
        for lane in lanes:
            if lane.sim is not None:
                held = pinned_vertices(lane.sim, body)
                if held:
                    lane.sim.unpin(body, held)

    def throw(self, lanes: list[Lane], body: str, velocity: Point) -> None:
        """Add a velocity to all of a body [m/s]."""
        for lane in lanes:
            if lane.sim is not None:
                lane.sim.set_state(body, velocities=lane.sim.velocities(body) + np.array(velocity, np.float32))

    def cut(self, lanes: list[Lane], eye: Point, first: Point, last: Point) -> int:
        """Cut what can be cut; the number of links that were broken in the first lane."""
        lead = lanes[0].sim
        if lead is None or not any(lead.can_cut(body.name) for body in lead.model.bodies):
            raise InputError(
                "no body here can be cut",
                "cut",
                "Give one the method 'shape_matching', several clusters, and a material with a fracture_strain; "
                "cloth and ropes tear where they are pulled beyond it",
            )
        broken = [lane.sim.cut(first, last, eye) for lane in lanes if lane.sim is not None]
        return broken[0] if broken else 0

    def poke(self, lanes: list[Lane], ball: Ball) -> bool:
        """Say where the ball is wanted; False if the lanes must be built anew, with a ball in them."""
        self._ball_target = ball.position
        if self.ball is None:
            self.ball = ball
            return False
        if ball.radius != self.ball.radius:
            self.ball = dataclasses.replace(self.ball, radius=ball.radius)
            for lane in lanes:
                if lane.sim is not None:
                    lane.sim.move_collider(POKE, self.ball.position, radius=ball.radius)
        return True

    def put_ball_away(self) -> None:
        self.ball = self._ball_target = None

    def before_frame(self, lanes: list[Lane], dt: float) -> None:
        """Move what hands hold towards where it is wanted, for the next frame of a duration [s]."""
        self._lead_all(lanes)
        self._move_ball(lanes, dt)

    def _move_ball(self, lanes: list[Lane], dt: float) -> None:
        """Let the ball follow the hand during the next frame."""
        if self.ball is None or self._ball_target is None:
            return
        here = np.array(self.ball.position)
        way = np.array(self._ball_target) - here
        length = float(np.linalg.norm(way))
        if length == 0.0:
            return
        here = here + way * min(1.0, FASTEST_BALL * dt / length)
        self.ball = dataclasses.replace(self.ball, position=(float(here[0]), float(here[1]), float(here[2])))
        for lane in lanes:
            if lane.sim is not None:
                lane.sim.move_collider(POKE, self.ball.position)


def pinned_vertices(sim: Simulation, body: str) -> list[int]:
    """Vertices of a body that are pinned, by their numbers in its mesh."""
    which = sim.body(body)
    particle_of = which.particle_of
    return [int(k) for k in np.flatnonzero(np.isin(particle_of, list(sim.pins.home)))]


def _pull(lane: Lane, sim: Simulation, grab: Grab) -> int:
    which = sim.body(grab.body)
    mass = float(sim.model.particles.mass[slice(*which.particles)].sum())
    vertex = grab.vertex
    if vertex >= which.seen_vertices:
        # another method may show the body in another way: the nearest vertex is taken
        distance = np.linalg.norm(sim.surface_positions(grab.body) - np.array(grab.target), axis=1)
        vertex = int(distance.argmin())
    lock = _lock(sim, which, vertex)
    if lock is None:
        return sim.pull_seen(grab.body, vertex, grab.target, PULL_RATE * grab.strength * mass)
    # a hand takes some strands of many, and is as strong as they are heavy
    mass, count = lock
    stiffness = PULL_RATE * grab.strength * mass
    return sim.pull_seen(grab.body, vertex, grab.target, stiffness, (stiffness * mass) ** 0.5, count)


def _lock(sim: Simulation, body: Body, vertex: int) -> tuple[float, int] | None:
    """Mass [kg] of the strands that a hand takes at a seen vertex of rods, and how many of their particles it holds.

    None of a body that hangs together.
    """
    entry = next((entry for entry in sim.scene.bodies if entry.name == body.name), None)
    mesh = None if entry is None else entry.mesh
    if not isinstance(mesh, RodMesh) or np.count_nonzero(mesh.parents < 0) < 2:
        return None
    root = np.where(mesh.parents < 0, np.arange(len(mesh.parents)), mesh.parents)
    while not np.array_equal(root, root[root]):
        root = root[root]
    near = _near(sim, body.name, _seen_point(sim, body.name, vertex), 0.0)
    taken = np.isin(root, np.unique(root[near]))
    mass = sim.model.particles.mass[body.particle_of]
    return float(mass[taken].sum()), min(len(near), MEMBERS)


def _seen_point(sim: Simulation, body: str, vertex: int) -> np.ndarray:
    seen = sim.surface_positions(body)
    if vertex >= len(seen):
        raise InputError(f"no vertex {vertex}", f"body '{body}'", f"Give a number below {len(seen)}")
    return seen[vertex]


def _near(sim: Simulation, body: str, point: np.ndarray, radius: float) -> np.ndarray:
    """Vertices of a body within a distance of a point [m], the nearest at least."""
    x = sim.positions(body)
    distance = np.linalg.norm(x - point, axis=1)
    reach = radius if radius > 0 else PIN_REACH * float(np.linalg.norm(np.ptp(x, axis=0)))
    return np.flatnonzero(distance <= max(reach, float(distance.min())))
