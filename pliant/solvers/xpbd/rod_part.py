"""Rods, chains, hair and trees within the method: each tree of segments is solved directly, as one constraint."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from pliant.model.model import Body, Model
from pliant.model.state import State
from pliant.solvers.xpbd.rod_group import RodGroup

if TYPE_CHECKING:
    from pliant.guard import Guard

CALM_STEP = 1.0 / 240.0
"""Longest step that a fast whip is followed well with, and that does not swallow a slow swing within seconds [s]."""


LEAST_NEWTON_STEPS = 2
"""Newton steps within a step of time: a rope that snaps taut needs a second one."""


class RodPart:
    """All bodies of the method that are made of rods.

    A step is `begin`, any number of `solve`, and `finish`. `move` is the displacement of every particle within the step
    [m], numbered as in the model; `state.x` stays where the step began. One `solve` is one Newton step on all
    conditions of a tree together, so a rod needs few of them whatever its length.
    """

    def __init__(
        self,
        model: Model,
        bodies: list[Body],
        numbers: list[int],
        settings: Any,
        device: str,
        base: wp.array | None = None,
        awake: wp.array | None = None,
    ) -> None:
        self.bodies, self.numbers, self.settings, self.device = bodies, numbers, settings, device
        x, v = model.particles.rest, model.particles.velocity
        self.groups: list[RodGroup] = []
        self._known_broken = 0
        # with all iterations of a step together at least two: the first finds the pull, the second its direction
        self._turns = -(-LEAST_NEWTON_STEPS // getattr(settings, "iterations", LEAST_NEWTON_STEPS))
        for bends in (True, False):
            members = [body for body in bodies if body.own.bends == bends]
            places = [k for k, body in zip(numbers, bodies, strict=True) if body.own.bends == bends]
            if members:
                self.groups.append(RodGroup(members, x, v, device, base, None if awake is None else (awake, places)))

    # ---- the step -----------------------------------------------------------------------------------------------

    def begin(self, state: State, move: wp.array, dt: float) -> None:
        """Before the first `solve`: the segments turn on as they did, or are led by their pinned ends."""
        for group in self.groups:
            group.begin(state, move, dt)

    def solve(self, state: State, move: wp.array, dt: float) -> None:
        """Newton steps of every tree: changes `move` and the orientations."""
        for _ in range(self._turns):
            for group in self.groups:
                group.solve(state, move, dt)

    def finish(self, state: State, move: wp.array, dt: float) -> None:
        """After the last `solve`: spins from turns, and segments that are stretched too far break."""
        for group in self.groups:
            group.finish(state, move, dt)

    # ---- around the step ----------------------------------------------------------------------------------------

    def reset(self, state: State, particles: tuple[int, int]) -> None:
        """Orientations that fit the positions of a run of particles, which were set from outside."""
        for group in self.groups:
            group.reset(state, particles)

    def pins_changed(self, state: State, pinned: np.ndarray) -> None:
        """Pinned particles are told by their inverse mass; only the energy asks which ones they are."""
        for group in self.groups:
            group.pins_changed(pinned)

    def scratch(self) -> dict[str, wp.array]:
        """What a checkpoint must hold."""
        names = {True: "rods", False: "chains"}
        return {f"{names[g.bends]}_{key}": array for g in self.groups for key, array in g.scratch().items()}

    def watched_by(self, guard: Guard) -> None:
        """Let the guard of a simulation know which springs break: broken ones are as long as they like."""
        for group in self.groups:
            group.watched_by(guard)

    def restored(self) -> None:
        """Follow the arrays of `scratch`, which were set from outside."""
        for group in self.groups:
            group.restored()
        self._known_broken = self._count_broken()

    @property
    def breaks(self) -> bool:
        """Whether segments can break."""
        return any(group.breaks for group in self.groups)

    def newly_broken(self) -> bool:
        """Whether more segments are broken than at the last call; reads their flags back where some can break."""
        before, self._known_broken = self._known_broken, self._count_broken()
        return self._known_broken != before

    def _count_broken(self) -> int:
        return sum(int((group.broken.numpy() != 0.0).sum()) for group in self.groups if group.breaks)

    def broken(self, body: str) -> np.ndarray:
        """Springs (segments) of a body that have broken, counted within the body (k,)."""
        group, place = self._find(body)
        first, end = group.nodes[place]
        return np.sort(group.owns[place].row[group.broken.numpy()[first:end] != 0.0])

    def carry(self, other: RodPart, before: str, now: str) -> None:
        """Take over how a body's segments stand, spin and pull, and which are broken, from another simulation."""
        if not (other.has(before) and self.has(now)):
            return
        (source, k), (target, m) = other._find(before), self._find(now)
        if source.bends != target.bends or source.owns[k].count != target.owns[m].count:
            return
        theirs, ours = source.scratch(), target.scratch()
        for key in theirs.keys() & ours.keys():
            values = ours[key].numpy()
            values[slice(*target.nodes[m])] = theirs[key].numpy()[slice(*source.nodes[k])]
            ours[key].assign(values)
        target.restored()

    def has(self, body: str) -> bool:
        """Whether a body is one of these."""
        return any(member.name == body for member in self.bodies)

    def frames(self, body: str) -> np.ndarray:
        """Orientation of the segment at each particle of a body that bends (n, 4) as (x, y, z, w).

        The third axis runs along the segment from the root of its tree; a root has that of the first segment.
        """
        group, place = self._find(body)
        first, end = group.nodes[place]
        own = group.owns[place]
        q = group.q.numpy()[first:end]
        roots = np.flatnonzero(own.is_root)
        q[roots] = q[roots + 1]
        found = np.empty_like(q)
        found[own.vertex] = q
        return found

    def _find(self, body: str) -> tuple[RodGroup, int]:
        """The group of a body, and the body's place in it."""
        for group in self.groups:
            for place, member in enumerate(group.bodies):
                if member.name == body:
                    return group, place
        raise KeyError(body)

    def wanted_step(self) -> float:
        """Longest time step that resolves what was asked for [s]."""
        return CALM_STEP if self.groups else math.inf

    def energy(self, x: np.ndarray) -> float:
        """Elastic energy of positions x [m] of all particles (n, 3) [J]."""
        return sum(group.energy(x) for group in self.groups)
