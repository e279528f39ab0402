"""Detection: which particles are inside which colliders after a predicted move."""

from __future__ import annotations

from collections.abc import Sequence

import warp as wp

from pliant.collide.contacts import Contacts
from pliant.collide.shapes.plane import Plane
from pliant.launch import launch
from pliant.physics.contact import PlaneData

wp.set_module_options({"enable_backward": False})


@wp.kernel
def detect_planes(
    start: int,
    planes: wp.array(dtype=PlaneData),
    x: wp.array(dtype=wp.vec3),
    slots: int,
    first_slot: int,
    count: int,
    margin: float,
    surface_out: wp.array(dtype=PlaneData),
    depth_out: wp.array(dtype=float),
):
    i = start + wp.tid()
    for k in range(count):
        plane = planes[k]
        depth = plane.offset - wp.dot(plane.normal, x[i])
        slot = i * slots + first_slot + k
        if depth >= -margin:
            surface_out[slot] = plane
            depth_out[slot] = wp.max(depth, 0.0)
        else:
            depth_out[slot] = -1.0


class Pipeline:
    """Finds contacts of all particles with all colliders."""

    def __init__(self, colliders: Sequence[Plane], particles: int, device: str):
        self.device = device
        self.particles = particles
        self.colliders = list(colliders)
        self.planes = wp.array([c.data() for c in colliders] or [PlaneData()], dtype=PlaneData, device=device)

    @property
    def slots(self) -> int:
        return len(self.colliders)

    def detect(self, x: wp.array, contacts: Contacts, margin: float = 0.0) -> None:
        """Write the contacts of positions x [m]; `margin` [m] counts near misses as touching."""
        if not self.colliders:
            return
        launch(
            detect_planes,
            self.particles,
            [self.planes, x, self.slots, 0, len(self.colliders), margin],
            [contacts.surface, contacts.depth],
            device=self.device,
        )
