"""A sphere: a ball that particles stay out of, or a round room that they stay in; it can be moved between frames."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from pliant.collide.collider import DEFAULT_SURFACE, Surface, numbers
from pliant.collide.movable import Movable
from pliant.collide.movable_detector import MovableDetector
from pliant.collide.poses import Poses
from pliant.collide.sphere_kernels import SphereData, detect_spheres
from pliant.settings import check_value, setting
from pliant.vectors import FARTHEST, FASTEST, as_bounded

SMALLEST = 1e-6
LONGEST_GLIDE = 10.0
"""The longest way of a frame, in radii, that a sphere glides; a longer one is a jump, which sweeps nothing along."""
AROUND, DOWN = 32, 16
BOWL = -0.3
"""Height, in radii about the centre, up to which pictures show a round room."""


@dataclasses.dataclass(frozen=True)
class Sphere(Movable):
    """A sphere about `position`.

    A particle that went in is put back along the radius; one that went in deeply or passed through the whole sphere in
    a step is put back to where it went in.

    Args:
        radius: [m].
        position: its centre at the start [m].
        velocity: velocity of the surface [m/s], as of a conveyor belt; only its part along the surface counts.
        inside: it is a round room: particles stay inside it, and all around is solid.
        surface: friction and restitution.
        path: keys of its motion; see `MotionPath`.
    """

    kind: ClassVar[str] = "sphere"
    plural: ClassVar[str] = "spheres"
    meaning: ClassVar[str] = "a ball that bodies stay out of, or a round room that they stay in"

    radius: float = setting(0.5, "its radius", unit="m", low=SMALLEST, high=FARTHEST)
    position: tuple[float, float, float] = numbers((0.0, 0.0, 0.0), 3, "its centre [m]")
    velocity: tuple[float, float, float] = numbers(
        (0.0, 0.0, 0.0), 3, "of the surface, along itself, as of a conveyor belt [m/s]"
    )
    inside: bool = setting(False, "bodies stay inside it, as in a room")
    surface: Surface = DEFAULT_SURFACE
    name: str = ""
    path: Any = dataclasses.field(default=None, repr=False, compare=False)
    # stands for the path where colliders are compared or fingerprinted
    path_digest: str = dataclasses.field(init=False, default="")

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.name in ("radius", "inside"):
                value = check_value(field, getattr(self, field.name), self.where(field.name))
                object.__setattr__(self, field.name, value)
        object.__setattr__(self, "position", as_bounded(self.position, FARTHEST, self.where("position"), "m"))
        object.__setattr__(self, "velocity", as_bounded(self.velocity, FASTEST, self.where("velocity"), "m/s"))
        self.settle_path()

    @property
    def reach(self) -> float:
        return LONGEST_GLIDE * self.radius

    @property
    def own_radius(self) -> float:
        return self.radius

    def posed(self, turn: np.ndarray, center: np.ndarray, radius: float) -> Sphere:
        # what float32 makes of the smallest radius is smaller
        if isinstance(radius, float) and SMALLEST > radius > 0.999 * SMALLEST:
            radius = SMALLEST
        return dataclasses.replace(self, position=tuple(center.tolist()), radius=radius)

    def distance(self, points: np.ndarray) -> np.ndarray:
        found = np.linalg.norm(np.asarray(points, np.float64) - np.array(self.position), axis=-1) - self.radius
        return -found if self.inside else found

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Rings of triangles; of a round room, seen from outside, only the bowl at its bottom."""
        height, angle = np.pi * np.arange(1, DOWN) / DOWN, 2.0 * np.pi * np.arange(AROUND) / AROUND
        y, across = np.repeat(np.cos(height), AROUND), np.repeat(np.sin(height), AROUND)
        turn = np.tile(angle, DOWN - 1)
        rings = np.stack([across * np.sin(turn), y, across * np.cos(turn)], axis=1)
        unit = np.concatenate([[[0.0, 1.0, 0.0]], rings, [[0.0, -1.0, 0.0]]])
        a = np.arange(AROUND)
        b = (a + 1) % AROUND
        last = len(unit) - 1
        top, end = np.stack([0 * a, 1 + a, 1 + b], axis=1), last - AROUND
        bottom = np.stack([0 * a + last, end + b, end + a], axis=1)
        first = 1 + AROUND * np.arange(DOWN - 2)[:, None]
        here, next = (first + a).ravel(), (first + b).ravel()
        middle = [[here, here + AROUND, next + AROUND], [here, next + AROUND, next]]
        faces = np.concatenate([top, *(np.stack(corners, axis=1) for corners in middle), bottom])
        if self.inside:
            faces = faces[unit[faces, 1].max(axis=1) < BOWL][:, ::-1]
        return np.array(self.position) + self.radius * unit, faces.astype(np.int32)

    def data(self) -> SphereData:
        """What of the sphere does not change, as the kernels see it."""
        data = SphereData()
        data.slide = self.velocity
        data.inside = int(self.inside)
        data.friction = self.surface.friction
        data.static_friction = self.surface.holding
        data.restitution = self.surface.restitution
        data.margin = self.surface.margin
        return data

    @classmethod
    def detector(cls, colliders: Sequence[Self], slots: Sequence[int], poses: Poses, device: str) -> MovableDetector:
        return MovableDetector(detect_spheres, [c.data() for c in colliders], SphereData, slots, poses, device)


COLLIDER = Sphere
