"""Springs that break: sheets and rods of springs tear where they are stretched too far."""

from __future__ import annotations

import dataclasses

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Body, Model
from pliant.model.patches import incidence
from pliant.model.springs import SHEAR, STRUCTURAL, Springs
from pliant.model.state import State
from pliant.solvers.mass_spring import break_kernels as kernels
from pliant.solvers.mass_spring.line_springs import BendGroups

# Springs around that a broken one relieves within a frame: they wait, so that a body tears and does not shatter.
REACH = 3


@dataclasses.dataclass
class Remains:
    """What is left of the bodies.

    Attributes:
        gone: springs that are no more (e,) bool: those that broke, and those that went with them.
        torn: triangles that are no more (t,) bool.
        springs: all springs, with a stiffness of zero for those that are gone, and the rest lengths of what is left.
    """

    gone: np.ndarray
    torn: np.ndarray
    springs: Springs


def can_tear(body: Body) -> bool:
    """Whether springs of a body can break: it is a sheet or rods, and its material has a fracture strain."""
    return body.material.breaks_at is not None and body.tets[0] == body.tets[1]


class Breaking:
    """Flags on springs that were stretched too far, and what follows from them.

    A structural or shear spring that is longer than 1 + fracture_strain of its length in the rest shape breaks for good
    at the end of the frame, if none within `REACH` springs is worse: those wait for the next frame, when it has
    relieved them. With it go the triangles it is a side of, the edges that are left without a triangle, and the bend
    springs over it with the stress by which they held the springs around.

    Args:
        model: the bodies of the method. device: where they live.
    """

    def __init__(self, model: Model, device: str):
        self.model, self.device = model, device
        springs = model.springs
        ends = model.particles.rest[springs.pairs]
        self.length = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        self.first = model.bodies[0].springs[0], model.bodies[0].triangles[0]
        longest = np.zeros(springs.count)
        groups = []
        for body in model.bodies:
            rows = slice(body.springs[0] - self.first[0], body.springs[1] - self.first[0])
            limit = body.material.breaks_at
            if can_tear(body) and limit is not None:
                edge = np.isin(springs.kind[rows], (STRUCTURAL, SHEAR))
                longest[rows] = np.where(edge, (1.0 + limit) * self.length[rows], 0.0)
            own = getattr(body.own, "groups", None)
            if own is not None:
                shift = lambda a, by=rows.start: np.where(a >= 0, a + by, -1)
                groups.append(BendGroups(shift(own.members), own.tension, shift(own.dependent)))
        self.groups = BendGroups.join(groups)
        n = np.int64(model.particles.count)
        pairs = springs.pairs.astype(np.int64)
        keys = pairs.min(axis=1) * n + pairs.max(axis=1)
        order = np.argsort(keys, kind="stable")
        corners = model.triangles.corners.astype(np.int64)
        sides = np.stack([corners, np.roll(corners, -1, axis=1)], axis=2)
        wanted = sides.min(axis=2) * n + sides.max(axis=2)
        self.sides = order[np.searchsorted(keys[order], wanted)] if len(corners) else np.zeros((0, 3), np.int64)
        make = lambda a, t: wp.array(np.ascontiguousarray(a), dtype=t, device=device)
        self._pairs, self._longest = make(springs.pairs, wp.vec2i), make(longest.astype(np.float32), float)
        # numbers, as all that checkpoints hold
        self.broken = wp.zeros(springs.count, dtype=float, device=device)
        self._changed = wp.zeros(1, dtype=int, device=device)
        count = model.particles.count
        starts, spring, corner = incidence(springs.pairs, count)
        self._starts, self._spring = make(starts.astype(np.int32), int), make(spring.astype(np.int32), int)
        self._other = make(springs.pairs[spring, 1 - corner], int)
        self._over = wp.zeros(springs.count, dtype=float, device=device)
        self._worst = [wp.zeros(count, dtype=int, device=device) for _ in range(2)]

    def look(self, state: State) -> bool:
        """Flag what is stretched too far in state.x; whether anything is. Reads one number back."""
        self._changed.zero_()
        springs, particles = self.model.springs.count, self.model.particles.count
        run = lambda kernel, count, inputs, outputs: launch(
            kernel, count, inputs, outputs, device=self.device, grain=32768
        )
        run(kernels.measure_springs, springs, [self._pairs, self._longest, self.broken, state.x], [self._over])
        here, there = self._worst
        run(kernels.worst_around, particles, [self._starts, self._spring, self._over], [here])
        for _ in range(REACH):
            run(kernels.spread_worst, particles, [self._starts, self._other, self._over, here], [there])
            here, there = there, here
        run(kernels.flag_springs, springs, [self._pairs, self._over, here], [self.broken, self._changed])
        return bool(self._changed.numpy()[0])

    def remains(self) -> Remains:
        """What follows from the flags; reads them back."""
        springs = self.model.springs
        gone = self.broken.numpy() != 0
        torn = gone[self.sides].any(axis=1)
        # an edge whose triangles are all gone is a loose thread
        has = np.bincount(self.sides.ravel(), minlength=springs.count)
        lost = np.bincount(self.sides[torn].ravel(), minlength=springs.count)
        gone = gone | ((has > 0) & (lost == has))
        held = self.groups.members >= 0
        members = np.where(held, self.groups.members, 0)
        while True:
            dead = (gone[members] & held).any(axis=1)
            falls = self.groups.dependent[dead]
            falls = falls[falls >= 0]
            if gone[falls].all():
                break
            gone[falls] = True
        stress = self.groups.stress(springs.count, ~dead)
        stiffness = np.where(gone, 0.0, springs.stiffness)
        # springs that nothing has happened to keep every bit of their rest length
        touched = np.zeros(springs.count, bool)
        touched[members[dead][held[dead]]] = True
        rest = np.where(
            touched, self.length * (1.0 - stress / np.maximum(springs.stiffness, 1e-300)), springs.rest_length
        )
        return Remains(gone, torn, Springs(springs.pairs, rest, stiffness, springs.kind))
