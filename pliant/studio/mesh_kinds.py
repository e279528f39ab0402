"""What kind of mesh a body has, which methods can take it, and which fields of a material it then has no use for."""

from __future__ import annotations

from typing import Any

from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.points import PointCloud
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.solvers import general_methods, solver_class

KINDS: dict[str, tuple[type, ...]] = {
    "sheets": (SurfaceMesh,),
    "rods": (RodMesh,),
    "solids": (TetMesh, VoxelLattice),
    "points": (PointCloud,),
    "layered bodies": (LayeredMesh,),
}
"""Kinds of bodies as people call them, and their meshes."""
PLASTIC = ("yield_strain", "yield_stress", "creep", "plastic_limit")
# Methods whose bodies yield, besides those that share rest shapes.
YIELDS = ("layered", "fem")
WOVEN = ("young_weft", "shear", "bending")
# Kinds of bodies that come apart at the fracture strain, by method; the other methods know of none.
BREAKS = {
    "shape_matching": ("sheets", "solids", "points"),
    "mass_spring": ("sheets", "rods"),
    "xpbd": ("sheets", "rods"),
}


def mesh_kind(mesh: Any) -> str:
    """The kind of a mesh; an empty text for one that is not known."""
    return next((kind for kind, types in KINDS.items() if isinstance(mesh, types)), "")


def methods_for(kind: str) -> list[str]:
    """The methods that can simulate a kind of body; all of them if the kind is not known."""
    if not kind:
        return general_methods()
    return [name for name in general_methods() if set(KINDS[kind]) & set(solver_class(name).takes)]


def takes_text(method: str) -> str:
    """The kinds of bodies that a method takes, in words."""
    found = [kind for kind in KINDS if method in methods_for(kind)]
    return " and ".join([", ".join(found[:-1]), found[-1]]) if len(found) > 1 else found[0]


def idle_fields(method: str, kind: str) -> tuple[str, ...]:
    """Fields of a material that change nothing for a kind of body and a method; few if the kind is not known."""
    idle: list[str] = []
    if not solver_class(method).shares_rest and method not in YIELDS:
        idle += PLASTIC
    if kind not in ("sheets", ""):
        idle.append("thickness")
    if kind not in ("sheets", "") or solver_class(method).shares_rest:
        idle += WOVEN
    breaks = BREAKS.get(method, ())
    if not breaks or (kind and kind not in breaks):
        idle += ["fracture_strain", "tear_strength"]
    return tuple(idle)
