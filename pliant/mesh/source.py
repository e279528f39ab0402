"""The mesh a body is made from: found, read, placed, and what of it a body depends on."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.assets import asset_names, asset_path
from pliant.mesh.io import read_mesh
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

Mesh = TetMesh | VoxelLattice | SurfaceMesh
FAR = 1000.0
"""Distance from the origin, in lengths of the mesh's longest side, beyond which it is moved there."""


def load_mesh(source: str | os.PathLike | Mesh) -> Mesh:
    """A mesh from a file, a sample mesh's name, or itself."""
    if isinstance(source, (TetMesh, VoxelLattice, SurfaceMesh)):
        return source
    if not isinstance(source, (str, os.PathLike)):
        remedy = "Give a file, a sample mesh's name or a mesh"
        if type(source).__name__ in ("RodMesh", "PointCloud"):
            remedy = "It needs no preparation: hand it to Scene.add or Scene.add_body"
        raise InputError(f"{type(source).__name__} is no mesh that is prepared", "prepare", remedy)
    text = os.fspath(source)
    if isinstance(text, str) and text in asset_names() and not os.path.exists(text):
        return dataclasses.replace(read_mesh(asset_path(text)), name=text)
    if not os.path.exists(text) and not Path(str(text)).suffix:
        raise InputError(
            "there is no such file, and no sample mesh of this name",
            str(text),
            f"Give a mesh file, or one of: {', '.join(asset_names())}",
        )
    return read_mesh(text)


def as_surface(mesh: Mesh) -> SurfaceMesh:
    if isinstance(mesh, SurfaceMesh):
        return mesh
    if isinstance(mesh, VoxelLattice):
        mesh = mesh.tets()
    return mesh.oriented()[0].surface_mesh()


def as_cover(mesh: Mesh) -> SurfaceMesh:
    """A surface that is carried besides: it may be broken, but its triangles must be there."""
    surface = as_surface(mesh)
    if not len(surface.triangles):
        raise InputError("has no triangles", surface.name or "skin", "Give a skin with at least one triangle")
    surface = surface.drop_unused()
    arrays.check_finite(surface.vertices, surface.name or "skin")
    return surface


def contents(mesh: Mesh | None) -> list[Any]:
    """What of a mesh its body depends on."""
    if mesh is None:
        return [None]
    parts: list[Any] = [type(mesh).__name__, mesh.name, list(mesh.notes), mesh.vertices]
    if isinstance(mesh, SurfaceMesh):
        parts.append(mesh.triangles)
        if mesh.look is not None:
            parts += [[dataclasses.asdict(paint) for paint in mesh.look.paints], list(mesh.look.parts)]
            arrays = (mesh.look.uv, mesh.look.paint_of, mesh.look.part_of, mesh.look.vertex_colors)
            parts += [a if a is not None else "" for a in arrays]
    else:
        parts += [mesh.tets] if isinstance(mesh, TetMesh) else [mesh.cubes, mesh.cells]
    return parts


def size_factor(mesh: Mesh, size: float | None) -> float:
    """What the mesh must be scaled by to have its longest side of `size` [m]."""
    if size is None:
        return 1.0
    low, high = _box(mesh)
    longest = float((high - low).max())
    if longest <= 0.0 or not np.isfinite(size / longest):
        raise InputError(
            f"the mesh has no extent ({longest:g}) that could be scaled to {size:g} m",
            mesh.name or "mesh",
            "Check its vertices: all of them lie at one place",
        )
    return size / longest


def way_home(mesh: Mesh) -> np.ndarray:
    """How to move a mesh that lies so far from the origin that single precision would spoil it [m] (3,); else zero."""
    low, high = _box(mesh)
    centre = 0.5 * (low + high)
    far = float(np.linalg.norm(centre)) > FAR * float((high - low).max())
    return -centre if far and (high > low).any() else np.zeros(3)


def _box(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner of the vertices in use that are finite [m]; zero if there are none."""
    used = mesh.vertices
    if isinstance(mesh, SurfaceMesh) and len(mesh.triangles):
        named = np.unique(mesh.triangles)
        used = used[named[(named >= 0) & (named < len(used))]]
    used = used[np.isfinite(used).all(axis=1)]
    return (used.min(axis=0), used.max(axis=0)) if len(used) else (np.zeros(3), np.zeros(3))


def placed_surface(mesh: Mesh, settings: PrepareSettings) -> SurfaceMesh:
    """The surface of a mesh with y up and in the wanted size."""
    return as_surface(placed(mesh, settings.up, size_factor(mesh, settings.size)))


def placed(mesh: Any, up: str, factor: float) -> Any:
    """The mesh with y up, scaled about its origin."""
    vertices = mesh.vertices
    if up == "z":
        vertices = np.stack([vertices[:, 0], vertices[:, 2], -vertices[:, 1]], axis=1)
    if factor != 1.0:
        vertices = vertices * factor
    return mesh if vertices is mesh.vertices else dataclasses.replace(mesh, vertices=vertices)
