"""Movable colliders of one kind on a device, in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import warp as wp

from pliant.collide.contacts import Contacts
from pliant.collide.poses import Poses
from pliant.launch import launch


class MovableDetector:
    """Finds the contacts of all colliders of a kind that is described by a struct and a pose.

    Args:
        kernel: takes the structs, slots, rows of poses, poses, radii, positions before and now, how many colliders
            there are, slots per particle, and the margin within which a contact is found [m].
        data: a struct for each collider; slots: its slot among the contacts.
        dtype: the struct.
    """

    def __init__(
        self, kernel: Any, data: Sequence[Any], dtype: Any, slots: Sequence[int], poses: Poses, device: str
    ) -> None:
        self.kernel = kernel
        self.device = device
        self.poses = poses
        self.rows = wp.array([poses.rows[slot] for slot in slots], dtype=int, device=device)
        self.data = wp.array(list(data), dtype=dtype, device=device)
        self.slots = wp.array(list(slots), dtype=int, device=device)

    def detect(self, before: wp.array, x: wp.array, radius: wp.array, margin: float, contacts: Contacts) -> None:
        count = len(self.data)
        launch(
            self.kernel,
            contacts.particles,
            [self.data, self.slots, self.rows, self.poses.pose, radius, before, x, count, contacts.slots, margin],
            [contacts.surface, contacts.depth],
            device=self.device,
        )
