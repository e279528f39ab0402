"""The poses of all colliders that can move: set from the host between frames, followed step by step on the device."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.collide.collider import Collider
from pliant.collide.movable import Movable
from pliant.collide.pose_kernels import COLUMNS, Pose, advance_poses
from pliant.errors import InputError
from pliant.launch import launch
from pliant.motion import MotionPath, axis_angle, turned_by
from pliant.vectors import FARTHEST

Triple = tuple[float, float, float]


class Poses:
    """One row for each collider that can move, those on paths first.

    Attributes:
        rows: row of each slot of the contacts.
        motion: see `pose_kernels` (m, 20) float32; all that a checkpoint must hold.
        pose: where each is now (m,), as the detectors read it.
        moves: whether any has moved or has a path: only then each step advances them.
    """

    def __init__(self, colliders: Sequence[Collider], device: str):
        self.device = device
        movable = [k for k, collider in enumerate(colliders) if isinstance(collider, Movable)]
        movable.sort(key=lambda k: _path(colliders[k]) is None)
        self.rows = {slot: row for row, slot in enumerate(movable)}
        self.colliders: list[Movable] = [colliders[slot] for slot in movable]  # type: ignore[misc]
        self.paths = [path for c in self.colliders if (path := _path(c)) is not None]
        self.count = len(movable)
        self.moves = bool(self.paths)
        self._driven: set[int] = set()
        self.motion = wp.zeros((max(self.count, 1), COLUMNS), dtype=float, device=device)
        self.pose = wp.zeros(max(self.count, 1), dtype=Pose, device=device)
        values = np.zeros(self.motion.shape, np.float32)
        values[:, 11] = 1.0
        for row, collider in enumerate(self.colliders):
            values[row, :3], values[row, 3] = collider.center, collider.own_radius
        self.motion.assign(values)
        if self.paths:
            self.aim(0.0, 0.0, 1, 1.0)
        self.refresh()

    def refresh(self) -> None:
        """Write the poses of motions that were set from the host; a step is not done by it."""
        if self.count:
            saved = self.motion.numpy().copy()
            held = saved.copy()
            held[:, 7] += 1.0
            self.motion.assign(held)
            wp.launch(advance_poses, self.count, [0], [self.motion, self.pose], device=self.device)
            self.motion.assign(saved)

    def restored(self) -> None:
        """Follow motions that were set from outside."""
        if self.count:
            home = np.array([collider.center for collider in self.colliders]).astype(np.float32)
            values = self.motion.numpy()
            self.moves = self.moves or bool((values[:, :3] != home).any() or values[:, 12:19].any())
            self.moves = self.moves or bool((values[:, 8:11] != 0.0).any() or values[:, 4:7].any())
            self._driven = {slot for slot, row in self.rows.items() if values[row, 16:19].any()}
            self.refresh()

    def advance(self) -> None:
        """One step of all that moves."""
        if self.moves:
            launch(advance_poses, self.count, [], [self.motion, self.pose], device=self.device)

    def moving(self, begin: float, end: float) -> set[int]:
        """The slots whose paths lead them on between two times [s], and those whose surfaces have a velocity."""
        found = set(self._driven)
        for slot, row in self.rows.items():
            if row < len(self.paths):
                first, last = (self.paths[row].at(time) for time in (begin, end))
                if any((one != two).any() for one, two in zip(first, last, strict=True)):
                    found.add(slot)
        return found

    def gliding(self) -> set[int]:
        """The slots that are still on their way to where they were moved; reads back from the device."""
        values = self.motion.numpy()
        return {slot for slot, row in self.rows.items() if values[row, 7] > 0.0 and row >= len(self.paths)}

    def aim(self, begin: float, end: float, steps: int, duration: float) -> None:
        """Lead what has a path from where it is at one time [s] to where it is at another, in so many steps."""
        if not self.paths:
            return
        values = np.zeros((len(self.paths), COLUMNS), np.float32)
        for row, path in enumerate(self.paths):
            center = self.colliders[row].center
            (first, shift), (last, last_shift) = path.at(begin), path.at(end)
            values[row, 0:3], values[row, 3] = last @ center + last_shift, self.colliders[row].own_radius
            values[row, 4:7], values[row, 7] = ((last - first) @ center + last_shift - shift) / steps, steps
            values[row, 8:12] = quaternion(last)
            values[row, 12:15], values[row, 15] = axis_angle(last @ first.T) / steps, 1.0
            values[row, 19] = steps / duration
        if end == begin:
            values[:, 7] = 0.0
        self.motion[: len(self.paths)].assign(values)

    def now(self, slot: int, *, ahead: bool = False) -> tuple[np.ndarray, np.ndarray, float]:
        """Rotation since the build (3, 3), place of the center [m] (3,) and radius [m] of the collider in a slot.

        Args:
            slot: of the contacts.
            ahead: at the end of its glide, not now.
        """
        values = self.motion.numpy()[self.rows[slot]].astype(np.float64)
        left = 0.0 if ahead else values[7]
        center = np.clip(values[0:3] - left * values[4:7], -FARTHEST, FARTHEST)
        turn = turned_by(-left * values[12:15]) @ _turn_of(values[8:12])
        # what has not moved is where it was built, to the last digit
        collider = self.colliders[self.rows[slot]]
        center = np.where(center == collider.center.astype(np.float32), collider.center, center)
        still = values[3] == np.float32(collider.own_radius)
        return turn, center, collider.own_radius if still else float(values[3])

    def collider(self, slot: int) -> Collider:
        """The collider in a slot as it is now."""
        turn, center, radius = self.now(slot)
        return self.colliders[self.rows[slot]].posed(turn, center, radius)

    def move(
        self,
        slot: int,
        position: Triple,
        velocity: Triple | None,
        radius: float | None,
        rotation: Triple | None,
        steps: int,
        duration: float,
    ) -> None:
        """Move the collider in a slot; see `Pipeline.move`."""
        row = self.rows[slot]
        collider = self.colliders[row]
        if row < len(self.paths):
            raise InputError("it follows a path", f"collider '{collider.name}'", "Move only what has no path")
        turn, center, size = self.now(slot)
        facing = turn if rotation is None else turned_by(np.radians(rotation))
        if radius is not None:
            if collider.own_radius == 0.0:
                raise InputError(
                    f"the radius of a {collider.kind} cannot change",
                    f"collider '{collider.name}'.radius",
                    "Leave it out",
                )
            size = radius
        # the new values are checked like those of a new collider
        after = collider.posed(facing, np.array(position), size)
        row_now = np.zeros(COLUMNS)
        row_now[0:3], row_now[3], row_now[8:12] = after.center, after.own_radius, quaternion(facing)
        way, spin = after.center - center, axis_angle(facing @ turn.T)
        if velocity is not None:
            row_now[16:19] = velocity
        elif (way.any() or spin.any()) and float(np.linalg.norm(way)) <= max(collider.reach, after.reach):
            row_now[4:7], row_now[7] = way / steps, steps
            row_now[12:15], row_now[19] = spin / steps, steps / duration
        self.motion[row : row + 1].assign(row_now[None].astype(np.float32))
        self._driven = (self._driven | {slot}) if row_now[16:19].any() else (self._driven - {slot})
        self.moves = True
        self.refresh()


def _path(collider: Collider) -> MotionPath | None:
    return collider.motion if isinstance(collider, Movable) else None


def quaternion(matrix: np.ndarray) -> np.ndarray:
    """A rotation matrix (3, 3) as a quaternion x, y, z, w."""
    turn = axis_angle(matrix)
    angle = float(np.linalg.norm(turn))
    if angle == 0.0:
        return np.array([0.0, 0.0, 0.0, 1.0])
    return np.append(turn * (math.sin(0.5 * angle) / angle), math.cos(0.5 * angle))


def _turn_of(q: np.ndarray) -> np.ndarray:
    """The matrix of a quaternion x, y, z, w, which need not be of length one."""
    if not q[:3].any():
        return np.eye(3)
    length = float(np.linalg.norm(q))
    sine = float(np.linalg.norm(q[:3])) / length
    return turned_by(q[:3] / (sine * length) * (2.0 * math.atan2(sine, q[3] / length)))
