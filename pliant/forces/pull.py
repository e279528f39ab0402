"""Springs that pull weighted points of bodies towards targets: a hand that drags a body."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.forces import pull_kernels as kernels
from pliant.forces.pull_kernels import LANES, MEMBERS, SLOTS
from pliant.launch import launch
from pliant.model.state import State

Point = tuple[float, float, float]
CAPACITY = SLOTS
# Columns of a saved pull before the members: anchor, target, stiffness, damping, offset, give.
_HEAD = 10
# Columns of files in which a pull held one particle.
_OLD_WIDTH = 6


@dataclasses.dataclass(frozen=True)
class Pull:
    """One pull: a spring between x_p + offset, x_p = sum of weight * x_member, and the target.

    Attributes:
        members: particles in the model's numbers, the nearest first; none where the slot is free.
        weights: as many, which add up to 1.
        target: [m]. stiffness: [N/m]. damping: [N s/m].
        offset: from x_p to the point that is said to be held [m].
        give: part of the force that its damping takes back again at rest, for methods whose velocities at rest are not
            zero under a force: they are -f h / 2 m. The pull is weaker by 1 + give, so that k is what is seen at rest.
    """

    members: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))
    weights: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0))
    target: Point = (0.0, 0.0, 0.0)
    stiffness: float = 0.0
    damping: float = 0.0
    offset: Point = (0.0, 0.0, 0.0)
    give: float = 0.0

    @property
    def particle(self) -> int:
        """The first particle that is held; -1 where the slot is free."""
        return int(self.members[0]) if len(self.members) else -1


class Pulls:
    """Up to 16 pulls of up to 256 particles each; active ones are applied at every substep.

    What a frame reads lies in arrays of fixed size, so that pulls can change between frames without a new recording.
    """

    def __init__(self, device: str):
        self.device = device
        self.host = [Pull() for _ in range(SLOTS)]
        ints = lambda count: wp.zeros(count, dtype=int, device=device)
        floats = lambda count: wp.zeros(count, dtype=float, device=device)
        vectors = lambda count: wp.zeros(count, dtype=wp.vec3, device=device)
        self.data = wp.zeros(SLOTS, dtype=kernels.PullData, device=device)
        self._member, self._weight = ints(SLOTS * MEMBERS), floats(SLOTS * MEMBERS)
        self._rows, self._row_particle, self._row_starts = ints(1), ints(SLOTS * MEMBERS), ints(SLOTS * MEMBERS + 1)
        self._entry_slot, self._entry_weight = ints(SLOTS * MEMBERS), floats(SLOTS * MEMBERS)
        self._way, self._speed = vectors(SLOTS * LANES), vectors(SLOTS * LANES)
        self._slot_way, self._slot_force = vectors(SLOTS), vectors(SLOTS)

    @property
    def active(self) -> bool:
        return any(len(p.members) for p in self.host)

    def set(
        self,
        slot: int,
        members: int | Sequence[int] | np.ndarray,
        target: Point,
        stiffness: float,
        damping: float,
        weights: Sequence[float] | np.ndarray | None = None,
        offset: Point = (0.0, 0.0, 0.0),
        give: float = 0.0,
    ) -> None:
        """Fill a slot: particles in the model's numbers, and weights that add up to 1 (alike if not given)."""
        held = np.atleast_1d(np.asarray(members, np.int64))
        share = np.full(len(held), 1.0 / len(held)) if weights is None else np.asarray(weights, np.float64)
        self.host[slot] = Pull(held, share, target, float(stiffness), float(damping), offset, give)
        self._upload_members()
        self._upload_data()

    def move(self, slot: int, target: Point) -> None:
        """Move the target of a slot."""
        self.host[slot] = dataclasses.replace(self.get(slot), target=target)
        self._upload_data()

    def free_slot(self) -> int:
        for slot, pull in enumerate(self.host):
            if not len(pull.members):
                return slot
        raise InputError(f"{CAPACITY} pulls are active already", "pull", "Release one first")

    def get(self, slot: int) -> Pull:
        """What a slot holds."""
        if not isinstance(slot, int) or not 0 <= slot < CAPACITY:
            raise InputError(f"pull {slot!r} is not active", "pull", "Give a handle that pull() returned")
        return self.host[slot]

    def held(self, slot: int) -> Pull:
        """What a slot holds that must not be free."""
        pull = self.get(slot)
        if not len(pull.members):
            raise InputError(f"pull {slot} is not active", "pull", "Start it with pull()")
        return pull

    def release(self, slot: int, state: State) -> None:
        was_held = len(self.get(slot).members) > 0
        self.host[slot] = Pull()
        if was_held:
            self._upload_members()
            self._upload_data()
            state.f_ext.zero_()  # every force writes its own again at the next substep

    def apply(self, state: State) -> None:
        """Write the forces to state.f_ext, before other forces add theirs."""
        self._sum(state)
        launch(
            kernels.apply_pulls,
            SLOTS * MEMBERS,
            [self.data, self._rows, self._row_particle, self._row_starts, self._entry_slot, self._entry_weight,
             self._way, self._speed],
            [state.f_ext],
            device=self.device,
        )  # fmt: skip

    def measure(self, slot: int, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Where the held point of a slot is now [m] (3,), and the force [N] (3,) on it; reads back."""
        pull = self.held(slot)
        self._sum(state)
        sums = [self.data, self._way, self._speed]
        launch(kernels.measure_pulls, SLOTS, sums, [self._slot_way, self._slot_force], device=self.device)
        way, force = self._slot_way.numpy()[slot], self._slot_force.numpy()[slot]
        return np.array(pull.target) - way.astype(np.float64), force.astype(np.float64)

    def _sum(self, state: State) -> None:
        held = [self.data, self._member, self._weight, state.x, state.v]
        launch(kernels.sum_members, SLOTS * LANES, held, [self._way, self._speed], device=self.device)

    def _upload_data(self) -> None:
        rows = []
        for pull in self.host:
            data = kernels.PullData()
            data.count = len(pull.members)
            data.stiffness, data.damping = pull.stiffness / (1.0 + pull.give), pull.damping / (1.0 + pull.give)
            data.target = wp.vec3(*(t - o for t, o in zip(pull.target, pull.offset, strict=True)))
            rows.append(data)
        self.data.assign(wp.array(rows, dtype=kernels.PullData, device="cpu"))

    def _upload_members(self) -> None:
        member, weight = np.zeros((SLOTS, MEMBERS), np.int32), np.zeros((SLOTS, MEMBERS), np.float32)
        for slot, pull in enumerate(self.host):
            member[slot, : len(pull.members)] = pull.members
            weight[slot, : len(pull.weights)] = pull.weights
        self._member.assign(member.reshape(-1))
        self._weight.assign(weight.reshape(-1))
        slots = np.repeat(np.arange(SLOTS), [len(pull.members) for pull in self.host])
        particles = np.concatenate([pull.members for pull in self.host])
        weights = np.concatenate([pull.weights for pull in self.host])
        order = np.lexsort((slots, particles))
        held, first = np.unique(particles[order], return_index=True)
        padded = lambda values, size: np.concatenate([values, np.zeros(size - len(values))])
        most = SLOTS * MEMBERS
        self._row_particle.assign(padded(held, most).astype(np.int32))
        self._row_starts.assign(padded([*first, len(order)], most + 1).astype(np.int32))
        self._entry_slot.assign(padded(slots[order], most).astype(np.int32))
        self._entry_weight.assign(padded(weights[order], most).astype(np.float32))
        self._rows.assign(np.array([len(held)], np.int32))

    def saved(self) -> np.ndarray:
        """The pulls as numbers, for a checkpoint (16, 522): see `_HEAD`, then 256 members (-1: none) and weights."""
        table = np.zeros((SLOTS, _HEAD + 2 * MEMBERS))
        table[:, 0] = -1.0
        table[:, _HEAD : _HEAD + MEMBERS] = -1.0
        for row, pull in zip(table, self.host, strict=True):
            row[:_HEAD] = [pull.particle, *pull.target, pull.stiffness, pull.damping, *pull.offset, pull.give]
            row[_HEAD : _HEAD + len(pull.members)] = pull.members
            row[_HEAD + MEMBERS : _HEAD + MEMBERS + len(pull.members)] = pull.weights
        return table

    @staticmethod
    def fits(saved: np.ndarray, particles: int) -> str:
        """What is wrong with saved pulls of a model with so many particles; empty if nothing is."""
        if saved.shape not in ((SLOTS, _OLD_WIDTH), (SLOTS, _HEAD + 2 * MEMBERS)) or saved.dtype.kind != "f":
            return "the array 'pulls' is missing or has the wrong shape or type"
        named = saved[:, [0, *range(_HEAD, min(_HEAD + MEMBERS, saved.shape[1]))]]
        if not (np.isfinite(saved).all() and (named >= -1).all() and (named < particles).all()):
            return "a particle is pulled that does not exist"
        return ""

    def load(self, saved: np.ndarray) -> None:
        """Take over what `saved` returned, or the (16, 6) numbers of pulls on single particles."""
        for slot, row in enumerate(saved):
            target, offset, give = _point(row[1:4]), (0.0, 0.0, 0.0), 0.0
            if row[0] < 0:
                self.host[slot] = Pull()
                continue
            members, weights = row[:1].astype(np.int64), np.ones(1)
            if len(row) > _OLD_WIDTH:
                offset, give = _point(row[6:9]), float(row[9])
                named = row[_HEAD : _HEAD + MEMBERS]
                members, weights = named[named >= 0].astype(np.int64), row[_HEAD + MEMBERS :][named >= 0].copy()
            self.host[slot] = Pull(members, weights, target, float(row[4]), float(row[5]), offset, give)
        self._upload_members()
        self._upload_data()


def _point(row: np.ndarray) -> Point:
    return float(row[0]), float(row[1]), float(row[2])
