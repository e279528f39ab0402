"""The methods by which bodies meet: which one a scene asks for."""

from __future__ import annotations

from typing import Protocol

import warp as wp

from pliant.collide.soft.body_contacts import BodyContactList, BodyContacts
from pliant.collide.soft.settings import ContactSettings
from pliant.model.model import Model
from pliant.model.state import State


class ContactMethod(Protocol):
    """What keeps bodies apart; see `BodyContacts` for what each does."""

    settings: ContactSettings
    active: bool

    def begin_frame(self, ahead: float) -> None: ...

    def resolve(self, state: State, dt: float) -> None: ...

    def finish(self, state: State, dt: float) -> None: ...

    def grow(self) -> bool: ...

    def arrays(self) -> dict[str, wp.array]: ...

    def read(self, state: State, dt: float) -> BodyContactList: ...


def contact_method(
    model: Model, settings: ContactSettings, device: str, apart: frozenset[str] = frozenset()
) -> ContactMethod:
    """What keeps the bodies of a model apart, by the method that the settings name; bodies of methods that are `apart`
    are kept off each other by these."""
    if settings.method == "boxes":
        from pliant.collide.soft.boxes import BoxContacts

        return BoxContacts(model, settings, device)
    if settings.method == "cube_maps":
        from pliant.collide.soft.cube_maps import CubeMapContacts

        return CubeMapContacts(model, settings, device)
    return BodyContacts(model, settings, device, apart)
