"""Pliant: any mesh becomes a deformable body, simulated in real time on a plain CPU or on CUDA."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant import lab
    from pliant.checkpoint import load_checkpoint, save_checkpoint
    from pliant.collide.soft.settings import ContactSettings
    from pliant.errors import BlowUpError, InputError, PliantError
    from pliant.forces.global_volume import GlobalVolume
    from pliant.forces.pressure import Pressure
    from pliant.forces.support import SupportSprings
    from pliant.forces.wind_settings import Gusts, Wind
    from pliant.materials import PRESETS, Material, RawConstants
    from pliant.mesh import shapes
    from pliant.mesh.assets import asset
    from pliant.mesh.io import read_mesh, read_surface, read_tets, write_mesh, write_tets
    from pliant.mesh.lattice import VoxelLattice
    from pliant.mesh.points import PointCloud
    from pliant.mesh.prepare import prepare
    from pliant.mesh.prepare_settings import PrepareSettings
    from pliant.mesh.prepared import read_body, write_body
    from pliant.mesh.repair.diagnose import diagnose
    from pliant.mesh.repair.repair import repair
    from pliant.mesh.rods import RodMesh
    from pliant.mesh.surface import SurfaceMesh
    from pliant.mesh.tets import TetMesh
    from pliant.mesh.wrinkles import Wrinkles
    from pliant.motion import MotionPath
    from pliant.scene import Scene
    from pliant.simulation import Simulation
    from pliant.sleep.settings import SleepSettings
    from pliant.studio.show import show

__version__ = "0.1.0"

# Where each public name lives; it is imported when it is first used, so that the command line starts at once.
_HOMES = {
    "PRESETS": "pliant.materials",
    "BlowUpError": "pliant.errors",
    "ContactSettings": "pliant.collide.soft.settings",
    "GlobalVolume": "pliant.forces.global_volume",
    "Gusts": "pliant.forces.wind_settings",
    "InputError": "pliant.errors",
    "Material": "pliant.materials",
    "MotionPath": "pliant.motion",
    "PliantError": "pliant.errors",
    "PointCloud": "pliant.mesh.points",
    "PrepareSettings": "pliant.mesh.prepare_settings",
    "Pressure": "pliant.forces.pressure",
    "RawConstants": "pliant.materials",
    "RodMesh": "pliant.mesh.rods",
    "Scene": "pliant.scene",
    "Simulation": "pliant.simulation",
    "SleepSettings": "pliant.sleep.settings",
    "SupportSprings": "pliant.forces.support",
    "SurfaceMesh": "pliant.mesh.surface",
    "TetMesh": "pliant.mesh.tets",
    "VoxelLattice": "pliant.mesh.lattice",
    "Wind": "pliant.forces.wind_settings",
    "Wrinkles": "pliant.mesh.wrinkles",
    "asset": "pliant.mesh.assets",
    "diagnose": "pliant.mesh.repair.diagnose",
    "load_checkpoint": "pliant.checkpoint",
    "prepare": "pliant.mesh.prepare",
    "read_body": "pliant.mesh.prepared",
    "read_mesh": "pliant.mesh.io",
    "read_surface": "pliant.mesh.io",
    "read_tets": "pliant.mesh.io",
    "repair": "pliant.mesh.repair.repair",
    "save_checkpoint": "pliant.checkpoint",
    "lab": "pliant",
    "shapes": "pliant.mesh",
    "show": "pliant.studio.show",
    "write_body": "pliant.mesh.prepared",
    "write_mesh": "pliant.mesh.io",
    "write_tets": "pliant.mesh.io",
}

__all__ = [
    "PRESETS",
    "BlowUpError",
    "ContactSettings",
    "GlobalVolume",
    "Gusts",
    "InputError",
    "Material",
    "MotionPath",
    "PliantError",
    "PointCloud",
    "PrepareSettings",
    "Pressure",
    "RawConstants",
    "RodMesh",
    "Scene",
    "Simulation",
    "SleepSettings",
    "SupportSprings",
    "SurfaceMesh",
    "TetMesh",
    "VoxelLattice",
    "Wind",
    "Wrinkles",
    "__version__",
    "asset",
    "diagnose",
    "lab",
    "load_checkpoint",
    "prepare",
    "read_body",
    "read_mesh",
    "read_surface",
    "read_tets",
    "repair",
    "save_checkpoint",
    "shapes",
    "show",
    "write_body",
    "write_mesh",
    "write_tets",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pliant' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    value = importlib.import_module(f"{_HOMES[name]}.{name}") if name in ("lab", "shapes") else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
