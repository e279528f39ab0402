"""Tearing: sheets whose triangles come apart at their vertices, on the device, with spare particles set aside."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.mesh.surface import SurfaceMesh
from pliant.model.patches import incidence
from pliant.model.state import State
from pliant.solvers.common import tear_kernels as kernels

GRAIN = 2048


@dataclasses.dataclass
class Sheet:
    """A sheet that can tear, in the model's particle numbers.

    Attributes:
        name: of the body.
        corners: of its triangles (t, 3).
        rest_inv: inverse of [edge 1, edge 2] of each triangle at rest, in axes of its plane [1/m] (t, 2, 2).
        corner_mass: mass that each triangle gives to its corners [kg] (t,) or (t, 3).
        particles: its first particle, that of its spares, and the end.
        limit: strain at which it tears.
    """

    name: str
    corners: np.ndarray
    rest_inv: np.ndarray
    corner_mass: np.ndarray
    particles: tuple[int, int, int]
    limit: float


class Tearing:
    """Splits vertices of sheets where they are stretched too far.

    Attributes:
        corners: particle of each corner slot of the triangles of all sheets, 3 t + c (3 T,) int; it changes.
        fan_start, fan_count: the slots of each particle of the state are `fan[fan_start : fan_start + fan_count]`.
        home: the particle that each one was split from, over all splits; its own number at first.
        dirty: particles whose triangles may hang together at nothing else.
        used: spare particles that each sheet has used. spent: whether it wanted more than it had.
    """

    def __init__(self, sheets: Sequence[Sheet], count: int, device: str):
        self.sheets = list(sheets)
        self.device = device

        def put(values: np.ndarray, dtype: type = int) -> wp.array:
            kind = np.int32 if dtype is int else np.float32
            return wp.array(np.ascontiguousarray(values, kind), dtype=dtype, device=device)

        corners = np.concatenate([sheet.corners for sheet in sheets]).astype(np.int64)
        self.triangles = len(corners)
        self.triangle_starts = np.cumsum([0, *(len(sheet.corners) for sheet in sheets)])
        starts, element, corner = incidence(corners, count)
        self.corners = put(corners.reshape(-1))
        self.fan = put(3 * element + corner)
        self.fan_start, self.fan_count = put(starts[:-1]), put(np.diff(starts))
        self.home = put(np.arange(count))
        self.dirty = wp.zeros(count, dtype=int, device=device)
        self.rest_inv = put(np.concatenate([sheet.rest_inv for sheet in sheets]), wp.mat22)
        shares = [np.broadcast_to(s.corner_mass.reshape(len(s.corners), -1), s.corners.shape) for s in sheets]
        self._corner_mass = put(np.concatenate(shares).reshape(-1), float)
        members = [np.arange(sheet.particles[0], sheet.particles[2]) for sheet in sheets]
        self._member = put(np.concatenate(members))
        self.host_members = np.concatenate(members)
        self._limit = put(
            np.concatenate([np.full(len(m), 1.0 + s.limit) for m, s in zip(members, sheets, strict=True)]), float
        )
        self._spare_first = put(np.array([sheet.particles[1] for sheet in sheets]))
        self._spares = put(np.array([sheet.particles[2] - sheet.particles[1] for sheet in sheets]))
        self.used, self.spent = (wp.zeros(len(sheets), dtype=int, device=device) for _ in range(2))
        ends, owner, first = [], [], 0
        for b, m in enumerate(members):
            last = first + len(m)
            cuts = np.append(np.arange(first + kernels.CHUNK, last, kernels.CHUNK), last)
            ends.append(cuts)
            owner += [b] * len(cuts)
            first = last
        self._chunk_end, self._chunk_body = put(np.concatenate(ends)), put(np.array(owner))
        self._body_chunks = put(np.searchsorted(owner, np.arange(len(sheets) + 1)))
        self.stretch = wp.zeros(self.triangles, dtype=float, device=device)
        self._direction = wp.zeros(self.triangles, dtype=wp.vec3, device=device)
        self._score = wp.zeros(count, dtype=float, device=device)
        self._worst = wp.zeros(count, dtype=int, device=device)
        self._side = wp.zeros(len(element), dtype=int, device=device)
        self._splits = wp.zeros(len(self._member), dtype=int, device=device)
        self._count, self._chunk_first = (wp.zeros(len(owner), dtype=int, device=device) for _ in range(2))
        self._seen_used = np.zeros(len(sheets), np.int64)
        self._seen_spent = np.zeros(len(sheets), bool)

    def apply(self, state: State, carry: wp.array) -> None:
        """Split what is stretched too far in state.x; `carry` is the remainder of float32 positions (n,) vec3."""
        device = self.device
        fans = [self.fan_start, self.fan_count, self.fan]
        launch(
            kernels.measure_triangles,
            self.triangles,
            [self.corners, self.rest_inv, state.x],
            [self.stretch, self._direction],
            device=device,
            grain=GRAIN,
        )
        launch(
            kernels.score_members,
            len(self._member),
            [self._member, self._limit, *fans, self.corners, state.inv_mass, state.x, self.stretch, self._direction],
            [self._score, self._worst],
            device=device,
            grain=GRAIN,
        )
        launch(
            kernels.decide,
            len(self._member),
            [
                self._member, self.corners, *fans, state.inv_mass, state.x, self._direction, self._score, self._worst
            ],
            [self.dirty, self._side, self._splits],
            device=device,
            grain=GRAIN,
        )  # fmt: skip
        chunks = len(self._chunk_end)
        launch(kernels.count_chunks, chunks, [self._splits, self._chunk_end], [self._count], device=device)
        launch(
            kernels.reserve,
            len(self.sheets),
            [self._body_chunks, self._spares, self._count],
            [self.used, self.spent, self._chunk_first],
            device=device,
        )
        launch(
            kernels.split,
            chunks,
            [
                self._chunk_end, self._chunk_body, self._chunk_first, self._spare_first, self._spares, self._member,
                self._splits, self._corner_mass,
            ],
            [
                self._side, self.fan, self.fan_start, self.fan_count, self.corners, self.home, state.inv_mass,
                state.x, state.v, carry, self.dirty,
            ],
            device=device,
        )  # fmt: skip

    def scratch(self) -> dict[str, wp.array]:
        """What a checkpoint must hold; the inverse masses of the state are told by the fans."""
        names = ("corners", "fan", "fan_start", "fan_count", "home", "dirty", "used", "spent")
        return {f"tear_{name}": getattr(self, name) for name in names}

    def masses(self) -> np.ndarray:
        """Mass of every particle of the state that has triangles [kg] (n,), zero for the others."""
        starts, counts = self.fan_start.numpy(), self.fan_count.numpy()
        slots, each = self.fan.numpy(), self._corner_mass.numpy().astype(np.float64)
        mass = np.zeros(len(starts))
        owner = np.repeat(np.arange(len(starts)), counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        np.add.at(mass, owner, each[slots[starts[owner] + place]])
        return mass

    def owns(self, body: str) -> bool:
        """Whether a body is one of the sheets."""
        return any(sheet.name == body for sheet in self.sheets)

    def slots(self, body: str) -> slice:
        """The corner slots of the triangles of a sheet."""
        b = [sheet.name for sheet in self.sheets].index(body)
        return slice(3 * int(self.triangle_starts[b]), 3 * int(self.triangle_starts[b + 1]))

    def corners_of(self, body: str) -> np.ndarray:
        """The particles of the corners of a sheet's triangles now (t, 3); reads them back."""
        return self.corners.numpy()[self.slots(body)].reshape(-1, 3).astype(np.int64)

    def fans(self) -> list[wp.array]:
        """Particles of the sheets and the triangles around them: members, corners, fan_start, fan_count, fan."""
        return [self._member, self.corners, self.fan_start, self.fan_count, self.fan]

    def pieces(self) -> np.ndarray:
        """The lowest particle that each one hangs together with (n,) int64; itself where it has no triangle."""
        corners = self.corners.numpy().reshape(-1, 3).astype(np.int64)
        label = np.arange(len(self.home))
        while True:
            low = label[corners].min(axis=1)
            found = label.copy()
            for c in range(3):
                np.minimum.at(found, corners[:, c], low)
            found = found[found]
            if np.array_equal(found, label):
                return label
            label = found

    def remember(self) -> None:
        """Count what is in the arrays, which were set from outside, as told."""
        self._seen_used, self._seen_spent = self.used.numpy().astype(np.int64), self.spent.numpy() != 0

    def right_masses(self, state: State) -> None:
        """Give particles the mass of their triangles, where they were let go by hand with that of before a split."""
        inv_mass, mass = state.inv_mass.numpy(), self.masses()
        loose = (inv_mass > 0.0) & (mass > 0.0)
        # what the device has added up differs in the last digits alone, and stays
        wrong = np.flatnonzero(loose)[np.abs(inv_mass[loose] * mass[loose] - 1.0) > 1e-3]
        if len(wrong):
            inv_mass = inv_mass.copy()
            inv_mass[wrong] = 1.0 / mass[wrong]
            state.inv_mass.assign(inv_mass)

    def carry(self, other: Tearing, before: str, now: str) -> tuple[slice, slice] | None:
        """Take over how a sheet has come apart from another simulation, where it is the same sheet.

        Returns:
            its particles there and here, spares and all, whose state is to be taken over; None if nothing was.
        """
        if not (other.owns(before) and self.owns(now)):
            return None
        theirs = other.sheets[[sheet.name for sheet in other.sheets].index(before)]
        ours = self.sheets[[sheet.name for sheet in self.sheets].index(now)]
        shift = ours.particles[0] - theirs.particles[0]
        same = np.array_equal(theirs.corners + shift, ours.corners)
        if not same or tuple(p + shift for p in theirs.particles) != ours.particles:
            return None
        there, here = other.slots(before), self.slots(now)
        rows = slice(theirs.particles[0], theirs.particles[2]), slice(ours.particles[0], ours.particles[2])
        one = slice(other.sheets.index(theirs), other.sheets.index(theirs) + 1)
        two = slice(self.sheets.index(ours), self.sheets.index(ours) + 1)
        moved = here.start - there.start
        for name, source, target, by in (
            ("corners", there, here, shift), ("fan", there, here, moved), ("fan_start", *rows, moved),
            ("fan_count", *rows, 0), ("home", *rows, shift), ("dirty", *rows, 0), ("used", one, two, 0),
            ("spent", one, two, 0),
        ):  # fmt: skip
            values = getattr(self, name).numpy().copy()
            values[target] = getattr(other, name).numpy()[source] + by
            getattr(self, name).assign(values)
        self.remember()
        return rows

    def news(self) -> list[tuple[str, bool]]:
        """What has happened since the last call that the user should be told, and whether loudly.

        Reads a few numbers back.
        """
        used, spent = self.used.numpy().astype(np.int64), self.spent.numpy() != 0
        told = []
        for b, sheet in enumerate(self.sheets):
            spares = sheet.particles[2] - sheet.particles[1]
            if used[b] > 0 and self._seen_used[b] == 0:
                told.append((f"Body '{sheet.name}' began to tear", False))
            if spent[b] and not self._seen_spent[b]:
                what = f"Body '{sheet.name}' has used all of its {spares} spare vertices and tears no further"
                told.append((f"{what} (a larger tear_capacity sets more aside)", True))
        self._seen_used, self._seen_spent = used, spent
        return told


def rest_inverse(mesh: SurfaceMesh) -> np.ndarray:
    """Inverse of the edges from each triangle's first corner, in axes of its plane [1/m] (t, 2, 2)."""
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    first, second = b - a, c - a
    length = np.linalg.norm(first, axis=1)
    along = (first * second).sum(axis=1) / length
    height = np.linalg.norm(np.cross(first, second), axis=1) / length
    edges = np.zeros((len(a), 2, 2))
    edges[:, 0, 0], edges[:, 0, 1], edges[:, 1, 1] = length, along, height
    return np.linalg.inv(edges)
