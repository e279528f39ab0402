"""Detection: which particles are inside which colliders after a predicted move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.collide.collider import Collider, Detector
from pliant.collide.contacts import Contacts
from pliant.collide.movable import Movable
from pliant.collide.poses import Poses, Triple
from pliant.collide.shapes.mesh import Mesh, MeshDetector
from pliant.collide.shapes.plane import Plane
from pliant.errors import InputError
from pliant.physics.contact import PlaneData


class Pipeline:
    """Finds contacts of all particles with all colliders.

    Args:
        colliders: of the scene.
        particles: how many there are.
        device: where they are.
        radius: of each particle [m] (n,), which is a ball to colliders; zero if not given.

    Attributes:
        colliders: in the order of the scene; collider k has slot k of the contacts.
        planes: those that are planes, as the kernels see them, for methods that meet planes inside their own step.
        plane_count: how many there are.
        poses: where those are that can move.
        radius: of the particles [m] (n,), on the device.
    """

    def __init__(self, colliders: Sequence[Collider], particles: int, device: str, radius: np.ndarray | None = None):
        self.device = device
        self.particles = particles
        self.colliders = list(colliders)
        self.poses = Poses(self.colliders, device)
        given = np.zeros(max(particles, 1)) if radius is None else radius
        self.radius = wp.array(given.astype(np.float32), dtype=float, device=device)
        planes = [c.data() for c in colliders if isinstance(c, Plane)]
        self.plane_count = len(planes)
        self.planes = wp.array(planes or [PlaneData()], dtype=PlaneData, device=device)
        self._stirred: set[int] = set()
        self._detectors: list[Detector] = []
        self._meshes: MeshDetector | None = None
        for kind in dict.fromkeys(type(c) for c in colliders):
            slots = [k for k, c in enumerate(colliders) if type(c) is kind]
            detector = kind.detector([colliders[k] for k in slots], slots, self.poses, device)
            self._detectors.append(detector)
            if isinstance(detector, MeshDetector):
                self._meshes = detector

    @property
    def slots(self) -> int:
        return len(self.colliders)

    @property
    def only_planes(self) -> bool:
        """Whether a method that knows planes knows all there is."""
        return self.plane_count == len(self.colliders)

    @property
    def moves(self) -> bool:
        """Whether colliders move: a recording of the frame holds for one answer only."""
        return self.poses.moves

    @property
    def deforms(self) -> bool:
        """Whether meshes can be given other shapes."""
        return self._meshes is not None and any(own.deforms for own in self._meshes.own.values())

    def moving(self, begin: float, end: float) -> set[int]:
        """The colliders, by slot, that move between two times [s]: along a path, or as they were told since the last
        frame."""
        return self._stirred | self.poses.moving(begin, end)

    def end_frame(self) -> None:
        """A frame is done: what was moved before it is there."""
        self._stirred.clear()

    def detect(
        self,
        x: wp.array,
        contacts: Contacts,
        margin: float = 0.0,
        before: wp.array | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Write the contacts of positions x [m]; where it is known where particles come from, colliders do one step.

        Args:
            x: positions (n,).
            contacts: where they are written.
            margin: near misses up to this count as touching [m].
            before: where the particles come from [m] (n,), which tells through which side they went in.
            again: colliders have done this step already.
        """
        if before is not None and not again:
            self.poses.advance()
            if self._meshes is not None:
                self._meshes.advance()
        for detector in self._detectors:
            detector.detect(x if before is None else before, x, self.radius, margin, contacts)

    def aim(self, begin: float, end: float, steps: int) -> None:
        """Lead colliders that have a path from one time [s] to another in so many steps."""
        self.poses.aim(begin, end, steps, end - begin)

    def arrays(self) -> dict[str, wp.array]:
        """What a checkpoint must hold of the colliders that can be moved, by name."""
        arrays = {"poses": self.poses.motion} if self.poses.count else {}
        return arrays | (self._meshes.arrays() if self._meshes is not None else {})

    def restored(self) -> None:
        """Follow the arrays of `arrays`, which were set from outside."""
        self.poses.restored()
        self._stirred |= self.poses.gliding()
        if self._meshes is not None:
            self._meshes.restored()

    def slot(self, name: str) -> int:
        """The number of a collider."""
        names = [collider.name for collider in self.colliders]
        if name not in names:
            raise InputError(f"no collider {name!r}", "collider", f"The colliders are: {', '.join(names) or 'none'}")
        return names.index(name)

    def now(self, name: str) -> Collider:
        """A collider as it is now, by name; its path, if it has one, is that of the collider that was built."""
        slot = self.slot(name)
        return self.collider_now(slot)

    def collider_now(self, slot: int) -> Collider:
        """A collider as it is now, by number."""
        collider = self.colliders[slot]
        if not isinstance(collider, Movable):
            return collider
        found = self.poses.collider(slot)
        vertices = self._vertices(slot)
        if isinstance(found, Mesh) and vertices is not None:
            return found.shaped(vertices @ self.poses.now(slot)[0].T)
        return found

    def _vertices(self, slot: int) -> np.ndarray | None:
        return self._meshes.vertices(slot) if self._meshes is not None and slot in self._meshes.own else None

    def pose(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A matrix A (3, 3) and a vector b (3,) [m]: what was at p when it was built is at ``A p + b`` now."""
        return self._pose(self.slot(name), ahead=False)

    def pose_ahead(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """The same where a collider will be at the end of its glide, by number."""
        return self._pose(slot, ahead=True)

    def _pose(self, slot: int, ahead: bool) -> tuple[np.ndarray, np.ndarray]:
        collider = self.colliders[slot]
        if not isinstance(collider, Movable):
            return np.eye(3), np.zeros(3)
        turn, center, radius = self.poses.now(slot, ahead=ahead)
        if collider.own_radius > 0.0:
            turn = turn * (radius / collider.own_radius)
        return turn, center - turn @ collider.center

    def pose_at(self, name: str, time: float) -> tuple[np.ndarray, np.ndarray]:
        """The same at a time [s] for a collider on a path; of others where they are now."""
        collider = self.colliders[self.slot(name)]
        path = collider.motion if isinstance(collider, Movable) else None
        return self.pose(name) if path is None else path.at(time)

    def move(
        self,
        name: str,
        position: Triple,
        velocity: Triple | None = None,
        radius: float | None = None,
        rotation: Triple | None = None,
        *,
        steps: int,
        duration: float,
    ) -> None:
        """Move a collider.

        Args:
            name: of the collider.
            position: where its center goes [m].
            velocity: what contacts see [m/s], and it is there at once; if not given it glides there.
            radius: the new radius of a sphere [m], if it changes.
            rotation: axis times angle in degrees since it was built; as it is turned now if not given.
            steps: detections that a glide takes.
            duration: time that a glide takes [s].
        """
        slot = self.slot(name)
        if slot not in self.poses.rows:
            raise InputError(
                f"a {self.colliders[slot].kind} cannot be moved",
                f"collider '{name}'",
                "Use a sphere, a capsule, a box or a mesh, which can",
            )
        self.poses.move(slot, position, velocity, radius, rotation, steps, duration)
        self._stirred.add(slot)

    def set_vertices(self, name: str, vertices: Any, steps: int, duration: float) -> None:
        """Let the vertices of a mesh glide to other places [m] (n, 3), in the world as it was built."""
        slot = self.slot(name)
        if self._meshes is None or slot not in self._meshes.own:
            raise InputError(f"a {self.colliders[slot].kind} has no vertices", f"collider '{name}'", "Use a mesh")
        self._meshes.set_vertices(slot, vertices, steps, duration)
        self._stirred.add(slot)
