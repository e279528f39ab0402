"""A rigid or growing motion over time, given by keys: what leads pins and colliders."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.vectors import FARTHEST, as_bounded, as_float, as_vector

EXAMPLE = (
    "Give keys such as [0, [0, 0, 0]] and [2, [1, 0, 0]], or {time = 2, offset = [1, 0, 0], rotation = [0, 90, 0]}"
)
KEYS = ("time", "offset", "rotation", "scale")


@dataclasses.dataclass(frozen=True, eq=False)
class MotionPath:
    """A motion over time: straight between keys, at rest before the first and after the last.

    A point p goes to ``center + R S (p - center) + offset``. Rotations are taken the short way between keys that are
    less than half a turn apart.

    Attributes:
        times: [s], rising (k,).
        offsets: translation from the place at build [m] (k, 3).
        rotations: axis times angle [rad] (k, 3).
        scales: factors along x, y and z (k, 3).
        center: what is turned and scaled about [m] (3,).
    """

    times: np.ndarray
    offsets: np.ndarray
    rotations: Any = None
    scales: Any = None
    center: Any = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        count = len(self.times)
        for key, value, default in (
            ("times", self.times, None),
            ("offsets", self.offsets, None),
            ("rotations", self.rotations, np.zeros((count, 3))),
            ("scales", self.scales, np.ones((count, 3))),
            ("center", self.center, None),
        ):
            array = np.asarray(default if value is None else value, np.float64)
            wanted = {"times": (count,), "center": (3,)}.get(key, (count, 3))
            if array.shape != wanted:
                raise InputError(
                    f"{key} has the shape {array.shape}", "MotionPath", f"Give {wanted}, one row for each time"
                )
            object.__setattr__(self, key, array)

    @staticmethod
    def make(keys: Sequence[Any], where: str, center: Sequence[float] = (0.0, 0.0, 0.0)) -> MotionPath:
        """From keys: pairs ``(time, offset)``, or tables of time, offset, rotation (degrees) and scale."""
        if isinstance(keys, (str, Mapping)) or not hasattr(keys, "__iter__"):
            raise InputError(f"{keys!r} is not a path", where, EXAMPLE)
        rows = [_key(key, k, where) for k, key in enumerate(keys)]
        times = [row[0] for row in rows]
        if not times:
            raise InputError("the path has no keys", where, "Give at least one key")
        if any(b <= a for a, b in itertools.pairwise(times)):
            raise InputError(f"the times {times} do not rise", where, "Sort the keys by time")
        offsets, rotations, scales = (np.array([row[c] for row in rows], float) for c in (1, 2, 3))
        return MotionPath(np.array(times), offsets, rotations, scales, as_bounded(center, FARTHEST, where, "m"))

    @property
    def is_translation(self) -> bool:
        """Whether it neither turns nor scales."""
        return not self.rotations.any() and bool((self.scales == 1.0).all())

    @property
    def is_rigid(self) -> bool:
        """Whether it keeps lengths."""
        return bool((self.scales == 1.0).all())

    def later(self, by: float) -> MotionPath:
        """The same motion, begun later by a time [s]."""
        return dataclasses.replace(self, times=self.times + by)

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """The motion at a time as a matrix A (3, 3) and a vector b (3,) [m]: a point p is at ``A p + b``."""
        offset, scale = (_between(time, self.times, rows) for rows in (self.offsets, self.scales))
        turn = self._turn(time)
        matrix = turn * scale
        return matrix, self.center + offset - matrix @ self.center

    def moved(self, points: np.ndarray, time: float) -> np.ndarray:
        """Points (n, 3) [m] at a time."""
        matrix, shift = self.at(time)
        return points @ matrix.T + shift

    def _turn(self, time: float) -> np.ndarray:
        """Rotation at a time (3, 3): from one key to the next about a fixed axis."""
        if not self.rotations.any():
            return np.eye(3)
        last = len(self.times) - 1
        k = int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, last))
        here = turned_by(self.rotations[k])
        if k == last or time <= self.times[k]:
            return here
        share = (time - self.times[k]) / (self.times[k + 1] - self.times[k])
        if _is_multiple(self.rotations[k], self.rotations[k + 1]):
            # about one axis: whole turns are kept
            return turned_by((1.0 - share) * self.rotations[k] + share * self.rotations[k + 1])
        return turned_by(share * axis_angle(turned_by(self.rotations[k + 1]) @ here.T)) @ here

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a file must hold."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def _between(time: float, times: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.array([np.interp(time, times, rows[:, axis]) for axis in range(3)])


def _is_multiple(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.linalg.norm(np.cross(a, b)) <= 1e-12 * max(1.0, float(np.linalg.norm(a) * np.linalg.norm(b))))


def turned_by(rotation: np.ndarray) -> np.ndarray:
    """The matrix (3, 3) of a rotation given as axis times angle [rad] (Rodrigues)."""
    angle = float(np.linalg.norm(rotation))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = rotation / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)


def axis_angle(matrix: np.ndarray) -> np.ndarray:
    """Axis times angle [rad] (3,) of a rotation matrix, the angle from 0 to pi."""
    skew = 0.5 * np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    sine, cosine = float(np.linalg.norm(skew)), 0.5 * (float(np.trace(matrix)) - 1.0)
    angle = math.atan2(sine, cosine)
    if sine > 1e-9:
        return skew * (angle / sine)
    if cosine > 0.0:
        return skew
    # half a turn: the axis is what the matrix keeps
    column = int(np.argmax(np.diag(matrix)))
    axis = (matrix + np.eye(3))[:, column]
    return axis * (angle / float(np.linalg.norm(axis)))


def _key(key: Any, k: int, where: str) -> tuple[float, Any, Any, Any]:
    """Time, offset, rotation [rad] and scale of a key."""
    if isinstance(key, Mapping):
        unknown = [name for name in key if name not in KEYS]
        if unknown or "time" not in key:
            raise InputError(f"key {k} is {dict(key)!r}", where, EXAMPLE)
        table = dict(key)
    elif not isinstance(key, str) and hasattr(key, "__len__") and len(key) == 2:
        table = {"time": key[0], "offset": key[1]}
    else:
        raise InputError(f"key {k} is {key!r}", where, EXAMPLE)
    time = as_float(table["time"])
    if time is None or not math.isfinite(time):
        raise InputError(f"the time of key {k} is {table['time']!r}", where, "Give a finite number of seconds")
    offset = as_bounded(table.get("offset", (0.0, 0.0, 0.0)), FARTHEST, f"{where}[{k}].offset", "m")
    rotation = np.radians(as_bounded(table.get("rotation", (0.0, 0.0, 0.0)), 1e6, f"{where}[{k}].rotation", "degrees"))
    scale = table.get("scale", 1.0)
    one = as_float(scale)
    scales = as_vector([one] * 3 if one is not None else scale, f"{where}[{k}].scale")
    if min(scales) <= 0.0 or max(scales) > 1e3:
        raise InputError(f"{scale!r} is out of range", f"{where}[{k}].scale", "Give factors above 0, at most 1000")
    return time, offset, rotation, scales
