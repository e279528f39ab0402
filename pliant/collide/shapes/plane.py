"""An infinite plane: the half-space behind it is solid."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import warp as wp

from pliant.collide.collider import Collider, Surface, numbers
from pliant.collide.contacts import Contacts
from pliant.collide.poses import Poses
from pliant.errors import InputError
from pliant.launch import launch
from pliant.physics.contact import PlaneData
from pliant.vectors import FARTHEST, FASTEST, as_bounded, as_vector

wp.set_module_options({"enable_backward": False})


@dataclasses.dataclass(frozen=True)
class PlaneSurface(Surface):
    """How a plane's surface behaves."""


@dataclasses.dataclass(frozen=True)
class Plane(Collider):
    """A plane through `point` [m] whose solid side is behind `normal`; it may slide along itself.

    Args:
        point: any point of the plane [m].
        normal: direction out of the solid; need not be of length one.
        velocity: velocity of the surface [m/s], in the plane, as of a conveyor belt.
        surface: friction and restitution.
    """

    kind: ClassVar[str] = "plane"
    plural: ClassVar[str] = "planes"
    meaning: ClassVar[str] = "an infinite plane; without keys a floor at height zero"

    point: tuple[float, float, float] = numbers((0.0, 0.0, 0.0), 3, "any point of the plane [m]")
    normal: tuple[float, float, float] = numbers((0.0, 1.0, 0.0), 3, "direction out of the solid")
    velocity: tuple[float, float, float] = numbers(
        (0.0, 0.0, 0.0), 3, "of the surface, along itself, as of a conveyor belt [m/s]"
    )
    surface: Surface = PlaneSurface()
    name: str = "plane"

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", as_bounded(self.point, FARTHEST, self.where("point"), "m"))
        normal = np.array(as_vector(self.normal, self.where("normal")))
        length = float(np.linalg.norm(normal))
        if length < 1e-12:
            raise InputError("the normal has no length", self.where("normal"), "Give a direction such as [0, 1, 0]")
        object.__setattr__(self, "normal", tuple((normal / length).tolist()))
        velocity = np.array(as_bounded(self.velocity, FASTEST, self.where("velocity"), "m/s"))
        if abs(float(velocity @ normal) / length) > 1e-9 * (1.0 + float(np.linalg.norm(velocity))):
            raise InputError(
                f"the velocity {velocity.tolist()} is not along the plane",
                self.where("velocity"),
                "Give a velocity at right angles to the normal",
            )
        object.__setattr__(self, "velocity", tuple(velocity.tolist()))

    def distance(self, points: np.ndarray) -> np.ndarray:
        return (np.asarray(points) - np.array(self.point)) @ np.array(self.normal)

    def data(self) -> PlaneData:
        """The plane as the kernels see it, moved out by its margin."""
        data = PlaneData()
        data.normal = self.normal
        data.offset = float(np.dot(self.normal, self.point)) + self.surface.margin
        data.velocity = self.velocity
        data.friction = self.surface.friction
        data.static_friction = self.surface.holding
        data.restitution = self.surface.restitution
        return data

    @classmethod
    def detector(cls, colliders: Sequence[Self], slots: Sequence[int], poses: Poses, device: str) -> PlaneDetector:
        return PlaneDetector(colliders, slots, device)


class PlaneDetector:
    """Planes on a device."""

    def __init__(self, planes: Sequence[Plane], slots: Sequence[int], device: str):
        self.device = device
        self.planes = wp.array([plane.data() for plane in planes], dtype=PlaneData, device=device)
        self.slots = wp.array(list(slots), dtype=int, device=device)

    def detect(self, before: wp.array, x: wp.array, radius: wp.array, margin: float, contacts: Contacts) -> None:
        launch(
            detect_planes,
            contacts.particles,
            [self.planes, self.slots, radius, x, len(self.planes), contacts.slots, margin],
            [contacts.surface, contacts.depth],
            device=self.device,
        )


@wp.kernel
def detect_planes(
    start: int,
    planes: wp.array(dtype=PlaneData),
    slot_of: wp.array(dtype=int),
    radius: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    count: int,
    slots: int,
    margin: float,
    surface_out: wp.array(dtype=PlaneData),
    depth_out: wp.array(dtype=float),
):
    i = start + wp.tid()
    for k in range(count):
        plane = planes[k]
        plane.offset = plane.offset + radius[i]
        depth = plane.offset - wp.dot(plane.normal, x[i])
        slot = i * slots + slot_of[k]
        if depth >= -margin:
            surface_out[slot] = plane
            depth_out[slot] = wp.max(depth, 0.0)
        else:
            depth_out[slot] = -1.0


COLLIDER = Plane
