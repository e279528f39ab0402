"""Pliant: any mesh becomes a deformable body, simulated in real time on a plain CPU or on CUDA."""

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
