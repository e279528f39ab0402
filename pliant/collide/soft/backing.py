"""Colliders behind what bodies press against them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.collide.soft import backing_kernels as kernels
from pliant.collide.soft.narrow_kernels import Surfaces
from pliant.launch import launch
from pliant.model.state import State

WHOLE, ALONG_NORMAL = 1, 2
"""What a method takes of the momentum that colliders are to take, see `backing_kernels`."""


class Colliders(Protocol):
    """What finds contacts with colliders."""

    @property
    def slots(self) -> int:
        """How many there are."""
        ...

    def detect(self, x: wp.array, contacts: Contacts, margin: float = 0.0, before: wp.array | None = None) -> None:
        """Write the contacts of positions x [m]; colliders do one step."""
        ...


class Backed:
    """Lets contacts between bodies know the colliders.

    Args:
        colliders: which find contacts with them.
        contacts: where these are written.
        takes: what the method of each particle takes of what is held back, see `backing_kernels`; zero for none (n,).
        surfaces: of the bodies.
        margin: how near to a collider a particle is looked after [m].
        device: where all that is.
    """

    def __init__(
        self,
        colliders: Colliders,
        contacts: Contacts,
        takes: np.ndarray,
        surfaces: Surfaces,
        margin: float,
        device: str,
    ):
        self.colliders, self.contacts, self.margin, self.device = colliders, contacts, margin, device
        self.data = data = kernels.Backing()
        count = len(takes)
        data.slots = contacts.slots
        data.surface, data.depth = contacts.surface, contacts.depth
        data.takes = wp.array(np.ascontiguousarray(takes, np.int32), dtype=int, device=device)
        data.near = wp.zeros(count, dtype=int, device=device)
        data.held_x, data.held_v = (wp.zeros(count, dtype=wp.vec3, device=device) for _ in range(2))
        data.body, data.friction, data.radius = surfaces.body, surfaces.friction, surfaces.radius

    def begin(self, vertex: wp.array, state: State, dt: float) -> None:
        """Find the colliders near particles where the step was predicted, before contacts between bodies."""
        self.data.x, self.data.dt = state.x, dt
        self.colliders.detect(state.x_next, self.contacts, margin=self.margin, before=state.x)
        launch(
            kernels.see_colliders, len(vertex), [vertex, state.inv_mass], [self.data, state.x_next], device=self.device
        )

    def end(self, vertex: wp.array, state: State) -> None:
        """Leave the rest to the colliders."""
        launch(kernels.give_back, len(vertex), [vertex], [self.data, state.x_next, state.v_next], device=self.device)
