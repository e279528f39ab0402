"""The ways of keeping bodies out of each other, by name."""

from __future__ import annotations

from pliant.collide.soft.body_contacts import BodyContacts
from pliant.collide.soft.cube_maps import CubeMapContacts
from pliant.collide.soft.settings import ContactSettings
from pliant.model.model import Model


def make_body_contacts(model: Model, settings: ContactSettings, device: str) -> BodyContacts | CubeMapContacts:
    """What keeps the bodies of a model out of each other, as `settings.method` says."""
    if settings.method == "cube_maps":
        return CubeMapContacts(model, settings, device)
    return BodyContacts(model, settings, device)
