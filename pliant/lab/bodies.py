"""Bodies for tests: sample meshes and mesh files as tets of a wanted number."""

from __future__ import annotations

from typing import Any

from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings


def body_of(source: Any, tets: int = 1500) -> Any:
    """A `PreparedBody` of a mesh file, of a sample mesh by name, or of a surface; a mesh of tets is taken as it is."""
    return prepare(source, PrepareSettings(tets=tets, skin=False))
