"""Pliant: any mesh becomes a deformable body, simulated in real time on a plain CPU or on CUDA."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.checkpoint import load_checkpoint, save_checkpoint
    from pliant.errors import BlowUpError, InputError, PliantError
    from pliant.materials import PRESETS, Material, RawConstants
    from pliant.mesh import shapes
    from pliant.mesh.io import read_tets, write_tets
    from pliant.mesh.surface import SurfaceMesh
    from pliant.mesh.tets import TetMesh
    from pliant.scene import Scene
    from pliant.simulation import Simulation

__version__ = "0.1.0"

# Where each public name lives; it is imported when it is first used, so that the command line starts at once.
_HOMES = {
    "PRESETS": "pliant.materials",
    "BlowUpError": "pliant.errors",
    "InputError": "pliant.errors",
    "Material": "pliant.materials",
    "PliantError": "pliant.errors",
    "RawConstants": "pliant.materials",
    "Scene": "pliant.scene",
    "Simulation": "pliant.simulation",
    "SurfaceMesh": "pliant.mesh.surface",
    "TetMesh": "pliant.mesh.tets",
    "load_checkpoint": "pliant.checkpoint",
    "read_tets": "pliant.mesh.io",
    "save_checkpoint": "pliant.checkpoint",
    "shapes": "pliant.mesh",
    "write_tets": "pliant.mesh.io",
}

__all__ = [
    "PRESETS",
    "BlowUpError",
    "InputError",
    "Material",
    "PliantError",
    "RawConstants",
    "Scene",
    "Simulation",
    "SurfaceMesh",
    "TetMesh",
    "__version__",
    "load_checkpoint",
    "read_tets",
    "save_checkpoint",
    "shapes",
    "write_tets",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pliant' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    value = importlib.import_module(f"{_HOMES[name]}.{name}") if name == "shapes" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
