"""Where bodies touch something: a struct of arrays of fixed capacity, filled by the pipeline."""

from __future__ import annotations

import dataclasses

import numpy as np
import warp as wp

from pliant.physics.contact import PlaneData


@dataclasses.dataclass(frozen=True)
class ContactList:
    """Contacts read back to the host; row k describes one contact.

    Attributes:
        particle: particle number (c,).
        collider: collider number (c,).
        normal: out of the collider (c, 3).
        depth: penetration before it was resolved [m] (c,); zero where a frame was done in fused substeps, which look
            for contacts once at its end.
        body: number of the body (c,), where a simulation was asked.
        vertex: number of the vertex in that body's mesh (c,), likewise.
    """

    particle: np.ndarray
    collider: np.ndarray
    normal: np.ndarray
    depth: np.ndarray
    body: np.ndarray | None = None
    vertex: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.particle)


class Contacts:
    """One slot for every particle and collider, so that no contact can be lost and no thread races for a slot.

    Attributes:
        slots: colliders a particle can touch at once.
        surface: the local plane of each contact (n * slots,).
        depth: penetration [m], negative where there is no contact (n * slots,).
    """

    def __init__(self, particles: int, slots: int, device: str):
        self.particles = particles
        self.slots = slots
        size = max(particles * slots, 1)
        self.surface = wp.zeros(size, dtype=PlaneData, device=device)
        self.depth = wp.full(size, -1.0, dtype=float, device=device)

    def read(self) -> ContactList:
        """The contacts of the last detection, on the host, ordered by particle."""
        if self.slots == 0:
            empty = np.zeros(0, np.int64)
            return ContactList(empty, empty, np.zeros((0, 3)), np.zeros(0))
        depth = self.depth.numpy()
        index = np.flatnonzero(depth >= 0.0)
        normal = self.surface.numpy()["normal"][index]
        return ContactList(index // self.slots, index % self.slots, np.asarray(normal).reshape(-1, 3), depth[index])
