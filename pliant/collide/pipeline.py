"""Detection: which particles are inside which colliders after a predicted move."""

from __future__ import annotations

from collections.abc import Sequence

import warp as wp

from pliant.collide.collider import Collider, Detector, MovingDetector
from pliant.collide.contacts import Contacts
from pliant.collide.shapes.plane import Plane
from pliant.errors import InputError
from pliant.physics.contact import PlaneData


class Pipeline:
    """Finds contacts of all particles with all colliders.

    Attributes:
        colliders: in the order of the scene; collider k has slot k of the contacts.
        planes: those that are planes, as the kernels see them, for methods that meet planes inside their own step.
        plane_count: how many there are.
    """

    def __init__(self, colliders: Sequence[Collider], particles: int, device: str):
        self.device = device
        self.particles = particles
        self.colliders = list(colliders)
        planes = [c.data() for c in colliders if isinstance(c, Plane)]
        self.plane_count = len(planes)
        self.planes = wp.array(planes or [PlaneData()], dtype=PlaneData, device=device)
        self._detectors: list[Detector] = []
        self._movers: dict[int, MovingDetector] = {}
        for kind in dict.fromkeys(type(c) for c in colliders):
            slots = [k for k, c in enumerate(colliders) if type(c) is kind]
            detector = kind.detector([colliders[k] for k in slots], slots, device)
            self._detectors.append(detector)
            if isinstance(detector, MovingDetector):
                self._movers |= dict.fromkeys(slots, detector)

    @property
    def slots(self) -> int:
        return len(self.colliders)

    @property
    def only_planes(self) -> bool:
        """Whether a method that knows planes knows all there is."""
        return self.plane_count == len(self.colliders)

    def detect(self, x: wp.array, contacts: Contacts, margin: float = 0.0, before: wp.array | None = None) -> None:
        """Write the contacts of positions x [m].

        Args:
            x: positions (n,).
            contacts: where they are written.
            margin: near misses up to this count as touching [m].
            before: where the particles come from [m] (n,), which tells through which side they went in.
        """
        for detector in self._detectors:
            detector.detect(x if before is None else before, x, margin, contacts)

    def arrays(self) -> dict[str, wp.array]:
        """What a checkpoint must hold of the colliders that can be moved, by name."""
        movers = {id(mover): mover for mover in self._movers.values()}
        return {name: array for mover in movers.values() for name, array in mover.arrays().items()}

    def slot(self, name: str) -> int:
        """The number of a collider."""
        names = [collider.name for collider in self.colliders]
        if name not in names:
            raise InputError(f"no collider {name!r}", "collider", f"The colliders are: {', '.join(names) or 'none'}")
        return names.index(name)

    def now(self, name: str) -> Collider:
        """A collider as it is now, by name."""
        slot = self.slot(name)
        return self._movers[slot].now(slot) if slot in self._movers else self.colliders[slot]

    def mover(self, name: str) -> tuple[int, MovingDetector]:
        """The number of a collider and what moves it; an `InputError` if it cannot be moved."""
        slot = self.slot(name)
        if slot not in self._movers:
            raise InputError(
                f"a {self.colliders[slot].kind} cannot be moved", f"collider '{name}'", "Use a sphere, which can"
            )
        return slot, self._movers[slot]
