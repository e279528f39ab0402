"""The kinds of collider, one file each; a file with a `COLLIDER` is found without being listed."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from pliant.collide.collider import Collider


@functools.cache
def collider_classes() -> dict[str, type[Collider]]:
    """Every kind by the name of its table in scene files."""
    found: dict[str, type[Collider]] = {}
    for info in pkgutil.iter_modules(__path__):
        cls: type[Collider] = importlib.import_module(f"{__name__}.{info.name}").COLLIDER
        found[cls.kind] = cls
    return found
