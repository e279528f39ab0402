"""A capsule: all points within a radius of the line between two ends, as a limb or a bar."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from pliant.collide.capsule_kernels import CapsuleData, detect_capsules
from pliant.collide.collider import DEFAULT_SURFACE, Surface, numbers
from pliant.collide.movable import Movable
from pliant.collide.movable_detector import MovableDetector
from pliant.collide.poses import Poses
from pliant.settings import check_value, setting
from pliant.vectors import FARTHEST, as_bounded

SMALLEST = 1e-6
LONGEST_GLIDE = 5.0
"""The longest way of a frame, in lengths, that a capsule glides."""
AROUND, DOWN = 24, 6


@dataclasses.dataclass(frozen=True)
class Capsule(Movable):
    """A line from `start` to `end` with a radius; where both ends are one it is a sphere.

    A particle that went in is put back straight away from the line; one that went in deeply or passed through in a
    step, to where it went in.

    Args:
        radius: [m].
        start, end: middles of its round ends [m].
        surface: friction and restitution.
        path: keys of its motion, about the middle between the ends; see `MotionPath`.
    """

    kind: ClassVar[str] = "capsule"
    plural: ClassVar[str] = "capsules"
    meaning: ClassVar[str] = "a round bar with round ends that bodies stay out of"

    radius: float = setting(0.1, "its radius", unit="m", low=SMALLEST, high=FARTHEST)
    start: tuple[float, float, float] = numbers((-0.5, 0.0, 0.0), 3, "middle of one round end [m]")
    end: tuple[float, float, float] = numbers((0.5, 0.0, 0.0), 3, "middle of the other round end [m]")
    surface: Surface = DEFAULT_SURFACE
    name: str = ""
    path: Any = dataclasses.field(default=None, repr=False, compare=False)
    # stands for the path where colliders are compared or fingerprinted
    path_digest: str = dataclasses.field(init=False, default="")

    def __post_init__(self) -> None:
        radius = check_value(Capsule.__dataclass_fields__["radius"], self.radius, self.where("radius"))
        object.__setattr__(self, "radius", radius)
        for key in ("start", "end"):
            object.__setattr__(self, key, as_bounded(getattr(self, key), FARTHEST, self.where(key), "m"))
        self.settle_path()

    @property
    def center(self) -> np.ndarray:
        return 0.5 * (np.array(self.start) + np.array(self.end))

    @property
    def half(self) -> np.ndarray:
        """From the middle to the end [m] (3,)."""
        return 0.5 * (np.array(self.end) - np.array(self.start))

    @property
    def reach(self) -> float:
        return LONGEST_GLIDE * 2.0 * (self.radius + float(np.linalg.norm(self.half)))

    def posed(self, turn: np.ndarray, center: np.ndarray, radius: float) -> Capsule:
        half = turn @ self.half
        return dataclasses.replace(self, start=tuple((center - half).tolist()), end=tuple((center + half).tolist()))

    def distance(self, points: np.ndarray) -> np.ndarray:
        p, half = np.asarray(points, np.float64) - self.center, self.half
        share = np.clip(p @ half / max(float(half @ half), 1e-300), -1.0, 1.0)
        return np.linalg.norm(p - share[..., None] * half, axis=-1) - self.radius

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Rings of triangles about the line, closed by the round ends."""
        half = self.half
        length = float(np.linalg.norm(half))
        axis = half / length if length > 0.0 else np.array([0.0, 1.0, 0.0])
        across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
        across /= np.linalg.norm(across)
        other = np.cross(axis, across)
        height = 0.5 * np.pi * np.arange(DOWN) / DOWN
        # from the tip of the end to the tip of the start: the rings of one round end, then those of the other
        rise = np.concatenate([np.cos(height[1:]), [0.0, 0.0], -np.cos(height[1:])[::-1]]) * self.radius
        rise[:DOWN] += length
        rise[DOWN:] -= length
        wide = np.concatenate([np.sin(height[1:]), [1.0, 1.0], np.sin(height[1:])[::-1]]) * self.radius
        angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
        circle = np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * other
        rings = (rise[:, None, None] * axis + wide[:, None, None] * circle).reshape(-1, 3)
        tip = (length + self.radius) * axis
        points = np.concatenate([[tip], rings, [-tip]])
        a = np.arange(AROUND)
        b = (a + 1) % AROUND
        last, final = len(points) - 1, len(points) - 1 - AROUND
        first = 1 + AROUND * np.arange(len(rise) - 1)[:, None]
        here, next = (first + a).ravel(), (first + b).ravel()
        faces = np.concatenate(
            [
                np.stack([0 * a, 1 + a, 1 + b], axis=1),
                np.stack([here, here + AROUND, next + AROUND], axis=1),
                np.stack([here, next + AROUND, next], axis=1),
                np.stack([0 * a + last, final + b, final + a], axis=1),
            ]
        )
        return self.center + points, faces.astype(np.int32)

    def data(self) -> CapsuleData:
        """What of the capsule does not change, as the kernels see it."""
        data = CapsuleData()
        data.half = tuple(self.half.tolist())
        data.radius = self.radius
        data.friction = self.surface.friction
        data.static_friction = self.surface.holding
        data.restitution = self.surface.restitution
        data.margin = self.surface.margin
        return data

    @classmethod
    def detector(cls, colliders: Sequence[Self], slots: Sequence[int], poses: Poses, device: str) -> MovableDetector:
        return MovableDetector(detect_capsules, [c.data() for c in colliders], CapsuleData, slots, poses, device)


COLLIDER = Capsule
