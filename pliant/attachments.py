"""Attachments: vertices held to points of other bodies, rigidly or by springs, until they are let go or break."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant import attachment_kernels as kernels
from pliant.collide.pipeline import Pipeline
from pliant.errors import InputError
from pliant.launch import launch
from pliant.mesh.closest import closest_points, nearest_of
from pliant.mesh.coloring import color
from pliant.model.model import Body, Model
from pliant.model.state import State
from pliant.pins import Pose

ITERATIONS = 4
"""Times that attachments which share particles are gone over in each substep."""
CLOSING_TIME = 0.5
"""Time in which a gap is closed, where another distance is asked for than there is [s]."""
SAME_PLACE = 1e-6
"""Distance over the bodies' size below which two points are one."""
LENT = 0.5
"""Part of the mass on the other side of a joint that a particle of `BORROWING` methods feels: below 1 it is stable."""
BORROWING = ("baraff_witkin", "xpbd")
"""Methods that put constraints right by masses alone: a light particle would not feel the load that hangs on it."""
SERIAL = 256
"""Attachments up to which one CUDA thread is as fast as many launches."""
SPLIT = 16384
"""Attachments from which colours are worth CPU threads."""
UNBREAKABLE = 3.0e38


@dataclasses.dataclass(eq=False)
class AttachmentEntry:
    """What a scene says of one attachment.

    Attributes:
        name: for `Simulation.detach`.
        body, vertices: what is attached.
        to: the name of the other body, or of a collider.
        is_collider: whether it is one.
        at: vertices of the other body; the nearest point of it if not given.
        is_paired: whether the vertices go with those of `at` one by one; to the nearest of them otherwise.
        stiffness: [N/m]; rigid if not given.
        distance: that is kept [m]; as at the start if not given.
        strength: force at which a vertex comes off [N]; never if not given.
    """

    name: str
    body: str
    vertices: np.ndarray
    to: str
    is_collider: bool = False
    at: np.ndarray | None = None
    is_paired: bool = False
    stiffness: float | None = None
    distance: float | None = None
    strength: float | None = None


@dataclasses.dataclass(eq=False)
class Tie:
    """An attachment between bodies with its points found; numbers are those of the user's vertices and of particles."""

    entry: AttachmentEntry
    hosts: np.ndarray
    particles: np.ndarray
    host_particles: np.ndarray
    weights: np.ndarray
    length: np.ndarray
    target: np.ndarray


def find_tie(entry: AttachmentEntry, meshes: Mapping[str, Any], bodies: Mapping[str, Body]) -> Tie:
    """Find the point of the other body that each vertex is attached to, from the positions at rest."""
    where = f"attachment '{entry.name}'"
    own, other = meshes[entry.body], meshes[entry.to]
    points = own.vertices[entry.vertices]
    if entry.at is None:
        hosts, weights = closest_points(points, other)
    else:
        chosen = entry.at if entry.is_paired else entry.at[nearest_of(points, other.vertices[entry.at])]
        hosts = np.repeat(chosen[:, None], 4, axis=1)
        weights = np.tile([1.0, 0.0, 0.0, 0.0], (len(chosen), 1))
    particles, host_particles = bodies[entry.body].particle_of[entry.vertices], bodies[entry.to].particle_of[hosts]
    itself = ((host_particles == particles[:, None]) & (weights > 0.0)).any(axis=1)
    if itself.any():
        raise InputError(
            f"vertex {int(entry.vertices[np.argmax(itself)])} is attached to itself",
            where,
            "Give other vertices in 'at'",
        )
    gap = np.linalg.norm(points - np.einsum("nk,nkd->nd", weights, other.vertices[hosts]), axis=1)
    size = max(float(np.ptp(mesh.vertices, axis=0).max()) for mesh in (own, other))
    gap[gap <= SAME_PLACE * size] = 0.0
    target = gap if entry.distance is None else np.full(len(gap), entry.distance)
    return Tie(entry, hosts, particles, host_particles, weights, gap, target)


class Attachments:
    """All attachments of a simulation between bodies, solved at the end of every substep.

    Those that share no particle have one colour and are solved at once; colours follow each other, so that the same
    input gives the same bits on any number of threads. What a frame reads lies in arrays of fixed size.
    """

    def __init__(self, ties: Sequence[Tie], particles: int, device: str, model: Model | None = None):
        self.device = device
        self._borrowers = 0
        self.host = list(ties)
        self.led: dict[str, np.ndarray] = {}  # particles that follow a collider, by the name of their attachment
        self.count = sum(len(tie.particles) for tie in ties)
        self._told: set[str] = set()
        self._ties, self._now = kernels.Ties(), kernels.TieState()
        if not self.count:
            return
        join = lambda key: np.concatenate([getattr(tie, key) for tie in ties])
        each = lambda values: np.repeat(np.array(values, np.float64), [len(tie.particles) for tie in ties])
        particle, host, weight = join("particles"), join("host_particles"), join("weights")
        # places without a host get numbers of their own, which nothing shares
        alone = particles + np.arange(host.size).reshape(host.shape)
        touched = np.concatenate([particle[:, None], np.where(weight > 0.0, host, alone)], axis=1)
        colors = color(touched.astype(np.int32), particles + host.size)
        self.iterations = 1 if colors.count == 1 else ITERATIONS
        order = colors.order.astype(np.int64)
        self._starts = colors.starts.tolist()
        place = np.empty(self.count, np.int64)
        place[order] = np.arange(self.count)
        ends = np.cumsum([0, *(len(tie.particles) for tie in ties)])
        self.rows = {tie.entry.name: place[ends[k] : ends[k + 1]] for k, tie in enumerate(ties)}
        self._can_break = any(tie.entry.strength is not None for tie in ties)
        array = lambda values, kind: wp.array(np.ascontiguousarray(values[order]), dtype=kind, device=device)
        real = lambda values: array(values.astype(np.float32), float)
        made = self._ties
        made.particle = array(particle.astype(np.int32), int)
        made.host = array(host.astype(np.int32), wp.vec4i)
        made.weight = array(weight.astype(np.float32), wp.vec4)
        made.compliance = real(each([0.0 if t.entry.stiffness is None else 1.0 / t.entry.stiffness for t in ties]))
        made.target = real(join("target"))
        made.strength = real(each([UNBREAKABLE if t.entry.strength is None else t.entry.strength for t in ties]))
        now = self._now
        now.intact = wp.full(self.count, 1.0, dtype=float, device=device)
        # a spring has its length from the start: what pulls it there is its stiffness
        soft = each([tie.entry.stiffness is not None for tie in ties]) > 0.0
        length = np.where(soft, join("target"), join("length"))
        now.length = real(length)
        now.rate = real(np.abs(join("target") - length) / CLOSING_TIME)
        now.axis, now.impulse, now.force = (wp.zeros(self.count, dtype=wp.vec3, device=device) for _ in range(3))
        now.pace, now.sum = (wp.zeros(self.count, dtype=float, device=device) for _ in range(2))
        if model is not None:
            rigid = ~soft & (join("target") == 0.0)
            self._lend(particle, host, weight, rigid, place, model)

    def _lend(
        self,
        particle: np.ndarray,
        host: np.ndarray,
        weight: np.ndarray,
        rigid: np.ndarray,
        place: np.ndarray,
        model: Model,
    ) -> None:
        """Which particles feel which mass at joints; what several attachments share is shared out."""
        mass = model.particles.mass
        used = (weight > 0.0) & rigid[:, None]
        uses = np.bincount(particle[rigid], minlength=len(mass)) + np.bincount(host[used], minlength=len(mass))
        point = 1.0 / (weight**2 / mass[host]).sum(axis=1)
        crowd = np.where(weight > 0.0, uses[host], 0).max(axis=1)
        k, j = np.nonzero(used)
        who = np.concatenate([particle[rigid], host[k, j]])
        lent = np.concatenate([(point / np.maximum(crowd, 1))[rigid],
                               weight[k, j] ** 2 * mass[particle[k]] / uses[particle[k]]])  # fmt: skip
        tie = np.concatenate([place[rigid], place[k]])
        methods = np.array([body.method in BORROWING for body in model.bodies])
        kept = methods[model.particles.body[who]]
        who, lent, tie = who[kept], LENT * lent[kept], tie[kept]
        order = np.lexsort((tie, who))
        each, first = np.unique(who[order], return_index=True)
        self._borrowers = len(each)
        if not len(each):
            return
        self._loans = made = kernels.Loans()
        array = lambda values, kind, of: wp.array(np.ascontiguousarray(values, of), dtype=kind, device=self.device)
        drag = np.array([body.material.drag for body in model.bodies])
        made.particle, made.drag = (
            array(each, int, np.int32),
            array(drag[model.particles.body[each]], float, np.float32),
        )
        made.starts = array([*first, len(order)], int, np.int32)
        made.tie, made.mass = array(tie[order], int, np.int32), array(lent[order], float, np.float32)
        made.ratio, made.inv_mass = (wp.zeros(len(each), dtype=float, device=self.device) for _ in range(2))
        made.x, made.v = (wp.zeros(len(each), dtype=wp.vec3, device=self.device) for _ in range(2))

    # ---- the step -----------------------------------------------------------------------------------------------

    def begin_frame(self) -> None:
        if self.count:
            launch(kernels.begin_frame, self.count, [], [self._now], device=self.device)

    def begin_step(self, state: State, dt: float, gravity: tuple[float, float, float]) -> None:
        """Remember where attachments point, before the methods move their particles."""
        if self.count:
            launch(kernels.begin_step, self.count, [self._ties, state.x, dt], [self._now], device=self.device)
        if self._borrowers:
            inputs, outputs = [self._now, state.x, state.v, wp.vec3(*gravity), dt], [self._loans, state.inv_mass]
            launch(kernels.lend_mass, self._borrowers, inputs, outputs, device=self.device)

    def apply(self, state: State, dt: float) -> None:
        """Correct positions and velocities of what the methods have made of the substep."""
        if not self.count:
            return
        if self._borrowers:
            outputs = [state.inv_mass, state.x, state.v]
            launch(kernels.return_mass, self._borrowers, [self._loans], outputs, device=self.device)
        inputs, outputs = [self._ties, state.inv_mass, dt], [self._now, state.x, state.v]
        if self.count < (SPLIT if self.device == "cpu" else SERIAL):
            launch(kernels.solve_all, 1, [*inputs, self.count, self.iterations], outputs, device=self.device)
            return
        for _ in range(self.iterations):
            for first, end in zip(self._starts[:-1], self._starts[1:], strict=True):
                launch(kernels.solve_batch, end - first, inputs, outputs, device=self.device, first=first)

    def end_frame(self, duration: float, state: State) -> None:
        """Forces as the mean over the frame; those between bodies that sleep stay as they were."""
        if self.count:
            inputs = [self._ties, state.inv_mass, duration]
            launch(kernels.end_frame, self.count, inputs, [self._now], device=self.device)

    def tables(self) -> tuple[kernels.Ties, kernels.TieState]:
        """All attachments, and what changes of them, as kernels take them."""
        return self._ties, self._now

    # ---- between frames -----------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, wp.array]:
        """What a checkpoint must hold, by name."""
        return {key: getattr(self._now, key) for key in _KEPT} if self.count else {}

    def named(self, name: str) -> np.ndarray:
        """The rows of an attachment between bodies."""
        if not self.count or name not in self.rows:
            known = [tie.entry.name for tie in self.host] + list(self.led)
            raise InputError(f"no attachment {name!r}", "attachment", f"They are: {', '.join(known) or 'none'}")
        return self.rows[name]

    def intact(self, name: str) -> np.ndarray:
        """Which vertices of an attachment still hold (n,) bool."""
        return self._now.intact.numpy()[self.named(name)] > 0.0

    def forces(self, name: str) -> np.ndarray:
        """Force on each attached vertex [N] (n, 3), the mean of the last frame."""
        return self._now.force.numpy()[self.named(name)].astype(np.float64)

    def detach(self, name: str) -> None:
        """Let the vertices of an attachment between bodies go."""
        self._set("intact", self.named(name), 0.0)
        self._told.add(name)

    def newly_broken(self) -> list[str]:
        """What has broken since this was asked last: each attachment once, in words."""
        if not self.count or not self._can_break:
            return []
        intact = self._now.intact.numpy()
        told = []
        for tie in self.host:
            rows = self.rows[tie.entry.name]
            broken = int((intact[rows] == 0.0).sum())
            if broken and tie.entry.name not in self._told:
                self._told.add(tie.entry.name)
                told.append(f"Attachment '{tie.entry.name}' {'broke' if broken == len(rows) else 'began to break'}")
        return told

    def restored(self) -> None:
        """Follow `arrays`, which were set from outside."""
        if self.count:
            intact = self._now.intact.numpy()
            self._told = {name for name, rows in self.rows.items() if (intact[rows] == 0.0).any()}

    def relax(self, x: np.ndarray, particles: tuple[int, int] | None = None) -> None:
        """Let rigid attachments of a run of particles, or all, come to their distance from where they are now.

        For bodies that were put elsewhere (positions x [m] (n, 3)): what would jump closes its gap in a while.
        """
        for tie in self.host:
            if tie.entry.stiffness is not None:
                continue
            rows = self.rows[tie.entry.name]
            sides = np.concatenate([tie.particles[:, None], tie.host_particles], axis=1)
            first, end = (0, len(x)) if particles is None else particles
            moved = np.any((sides >= first) & (sides < end), axis=1)
            point = np.einsum("nk,nkd->nd", tie.weights, x[tie.host_particles].astype(np.float64))
            gap = np.linalg.norm(x[tie.particles] - point, axis=1)
            near = np.abs(gap - tie.target) <= 1e-4 * np.maximum(tie.target, float(np.abs(x).max(initial=1e-3)))
            gap = np.where(near, tie.target, gap)
            self._set("length", rows[moved], gap[moved])
            self._set("rate", rows[moved], (np.abs(gap - tie.target) / CLOSING_TIME)[moved])

    def carry(self, old: Attachments, carried: set[str], x: np.ndarray) -> None:
        """Go on as the attachments of a simulation of the scene before it was changed; x are the positions now.

        Args:
            old: those of the simulation before.
            carried: the bodies that go on.
        """
        before = {tie.entry.name: tie for tie in old.host}
        self.relax(x)
        for tie in self.host:
            name, was = tie.entry.name, before.get(tie.entry.name)
            if was is None or not {tie.entry.body, tie.entry.to} <= carried or not _same(tie, was):
                continue
            for key in _KEPT:
                values = getattr(old._now, key).numpy()[old.rows[name]]
                if key not in ("length", "rate") or np.array_equal(tie.target, was.target):
                    self._set(key, self.rows[name], values)
        self.restored()

    def _set(self, key: str, rows: np.ndarray, values: Any) -> None:
        array = getattr(self._now, key)
        all_values = array.numpy().copy()
        all_values[rows] = values
        array.assign(all_values)


_KEPT = ("intact", "length", "rate", "force")


def _same(one: Tie, two: Tie) -> bool:
    a, b = one.entry, two.entry
    if (a.body, a.to, a.is_collider) != (b.body, b.to, b.is_collider):
        return False
    return all(np.array_equal(u, v) for u, v in ((a.vertices, b.vertices), (one.hosts, two.hosts)))


def check_free(ties: Sequence[Tie], inv_mass: np.ndarray) -> list[str]:
    """Refuse attachments between particles that are all pinned; returns notes where that holds for some only."""
    notes = []
    for tie in ties:
        hosts = np.where(tie.weights > 0.0, inv_mass[tie.host_particles], 0.0)
        stuck = (inv_mass[tie.particles] == 0.0) & (hosts == 0.0).all(axis=1)
        if stuck.all():
            raise InputError(
                f"both sides are pinned: body '{tie.entry.body}' and '{tie.entry.to}'",
                f"attachment '{tie.entry.name}'",
                "Pin one of them, or leave the attachment out",
            )
        if stuck.any():
            notes.append(f"Attachment '{tie.entry.name}': {int(stuck.sum())} vertices are pinned on both sides.")
        far = float(tie.target.max())
        if tie.entry.distance is None and far > 0.0:
            notes.append(f"Attachment '{tie.entry.name}' keeps distances of up to {far:.3g} m, as at the start.")
    return notes


def collider_pose(pipeline: Pipeline) -> Pose:
    """What tells where a collider is: where it will be at the end of the frame that ends at a time."""

    def pose(slot: int, time: float) -> tuple[np.ndarray, np.ndarray]:
        collider: Any = pipeline.colliders[slot]
        motion = getattr(collider, "motion", None)
        if motion is not None:
            return motion.at(time)
        return pipeline.pose_ahead(slot)

    return pose


def as_limit(value: Any, where: str, unit: str, *, zero: bool = False) -> float | None:
    """A number above zero (or zero itself), None where none is given."""
    if value is None or (zero and isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0):
        return None if value is None else 0.0
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number) or number <= 0.0 or number > 1e30:
        raise InputError(f"{value!r} is out of range", where, f"Give a finite number above 0, in {unit}")
    return float(number)
