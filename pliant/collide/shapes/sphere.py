"""A sphere: a ball that particles stay out of, or a round room that they stay in; it can be moved between frames."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import warp as wp

from pliant.collide.collider import DEFAULT_SURFACE, Collider, Surface, numbers
from pliant.collide.contacts import Contacts
from pliant.collide.sphere_kernels import SphereData, detect_spheres, glide_spheres
from pliant.launch import launch
from pliant.settings import check_value, setting
from pliant.vectors import FARTHEST, FASTEST, as_bounded

SMALLEST = 1e-6
LONGEST_GLIDE = 10.0
"""The longest way of a frame, in radii, that a sphere glides; a longer one is a jump, which sweeps nothing along."""
AROUND, DOWN = 32, 16
BOWL = -0.3
"""Height, in radii about the centre, up to which pictures show a round room."""


@dataclasses.dataclass(frozen=True)
class Sphere(Collider):
    """A sphere about `position`.

    A particle that went in is put back along the radius; one that went in deeply or passed through the whole sphere in
    a step is put back to where it went in.

    Args:
        radius: [m].
        position: its centre at the start [m].
        velocity: velocity of the surface [m/s], as of a conveyor belt; only its part along the surface counts.
        inside: it is a round room: particles stay inside it, and all around is solid.
        surface: friction and restitution.
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

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.name in ("radius", "inside"):
                value = check_value(field, getattr(self, field.name), self.where(field.name))
                object.__setattr__(self, field.name, value)
        object.__setattr__(self, "position", as_bounded(self.position, FARTHEST, self.where("position"), "m"))
        object.__setattr__(self, "velocity", as_bounded(self.velocity, FASTEST, self.where("velocity"), "m/s"))

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
        data.restitution = self.surface.restitution
        return data

    @classmethod
    def detector(cls, colliders: Sequence[Self], slots: Sequence[int], device: str) -> SphereDetector:
        return SphereDetector(colliders, slots, device)


class SphereDetector:
    """Spheres on a device. Each detection that knows where particles come from is one step of their glides.

    Attributes:
        place: where each sphere glides to [m], and its radius [m] (k,).
        glide: displacement per step [m], and the steps that are left (k,); the centre is as much before the place.
        rate: velocity that contacts see besides that of the surface along itself [m/s] (k,).
    """

    def __init__(self, spheres: Sequence[Sphere], slots: Sequence[int], device: str):
        self.device = device
        self.spheres = list(spheres)
        self.data = wp.array([sphere.data() for sphere in spheres], dtype=SphereData, device=device)
        self.numbers = {slot: k for k, slot in enumerate(slots)}
        self.slots = wp.array(list(slots), dtype=int, device=device)
        self.place = wp.array([[*s.position, s.radius] for s in spheres], dtype=wp.vec4, device=device)
        self.glide = wp.zeros(len(spheres), dtype=wp.vec4, device=device)
        self.rate = wp.zeros(len(spheres), dtype=wp.vec3, device=device)

    def arrays(self) -> dict[str, wp.array]:
        return {"sphere.place": self.place, "sphere.glide": self.glide, "sphere.rate": self.rate}

    def now(self, slot: int) -> Sphere:
        k = self.numbers[slot]
        place, glide = (array.numpy()[k].astype(np.float64) for array in (self.place, self.glide))
        center = np.clip(place[:3] - glide[3] * glide[:3], -FARTHEST, FARTHEST)
        # what float32 makes of the smallest radius is smaller
        radius = max(float(place[3]), SMALLEST)
        return dataclasses.replace(self.spheres[k], position=tuple(center.tolist()), radius=radius)

    def move(
        self,
        slot: int,
        position: tuple[float, float, float],
        velocity: tuple[float, float, float] | None,
        radius: float | None,
        steps: int,
        duration: float,
    ) -> None:
        before = self.now(slot)
        # the new values are checked like those of a new sphere
        after = dataclasses.replace(before, position=position, radius=before.radius if radius is None else radius)
        way = np.array(after.position) - np.array(before.position)
        reach = LONGEST_GLIDE * max(before.radius, after.radius)
        glide, rate = np.zeros(4), np.zeros(3)
        if velocity is not None:
            rate[:] = velocity
        elif way.any() and float(np.linalg.norm(way)) <= reach:
            glide[:], rate[:] = [*(way / steps), steps], way / duration
        k = self.numbers[slot]
        for array, row in ((self.place, [*after.position, after.radius]), (self.glide, glide), (self.rate, rate)):
            values = array.numpy().copy()
            values[k] = row
            array.assign(values)

    def detect(self, before: wp.array, x: wp.array, margin: float, contacts: Contacts) -> None:
        count = len(self.spheres)
        if before is not x:
            launch(glide_spheres, count, [], [self.glide, self.rate], device=self.device)
        launch(
            detect_spheres,
            contacts.particles,
            [self.data, self.slots, self.place, self.glide, self.rate, before, x, count, contacts.slots, margin],
            [contacts.surface, contacts.depth],
            device=self.device,
        )


COLLIDER = Sphere
