"""What a scene is given, checked: names, skins, shares, vertices."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.materials import Material
from pliant.mesh.embed import Embedding
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.weave import has_texture
from pliant.motion import turned_by
from pliant.solvers import solver_class, solver_classes
from pliant.vectors import as_vector

CALIBRATE = ("off", "auto", "on")


def new_name(name: str | None, kind: str, taken: list[str], what: str = "") -> str:
    """The name, or the next free number if none is given."""
    if name is None or name == "":
        number = len(taken)
        while f"{kind}{number}" in taken:
            number += 1
        return f"{kind}{number}"
    if not isinstance(name, str):
        raise InputError(f"{name!r} is not a name", f"{what or kind}.name", "Give a text")
    if name in taken:
        raise InputError("the name is taken", f"{what or kind} '{name}'", "Give each a name of its own")
    return name


def as_skin(skin: Any, where: str) -> tuple[SurfaceMesh | None, Embedding | None]:
    """A surface and its embedding, or None in its place; two of None where there is no skin."""
    if skin is None:
        return None, None
    if not isinstance(skin, tuple) or len(skin) != 2 or not isinstance(skin[1], Embedding | None):
        raise InputError(
            f"{type(skin).__name__} is no skin",
            where,
            "Give (surface, embedding), or (surface, None) to follow clusters",
        )
    return skin


def check_skin(seen: SurfaceMesh, embedding: Embedding | None, count: int, where: str) -> None:
    """Refuse a skin without triangles, or whose embedding is not in a mesh of so many vertices."""
    if not isinstance(seen, SurfaceMesh) or not len(seen.triangles):
        raise InputError(f"{type(seen).__name__} has no triangles to be seen", where, "Give a SurfaceMesh")
    if embedding is None:
        return
    embedding.check(count)
    if len(embedding) != len(seen.vertices):
        raise InputError(
            f"{len(embedding)} vertices are embedded, and the skin has {len(seen.vertices)}",
            where,
            "Embed the vertices of this skin in this mesh",
        )


def check_method(method: str, mesh: Any, where: str) -> None:
    """Refuse a method that does not exist, or that cannot simulate such a mesh."""
    if isinstance(mesh, solver_class(method, f"{where}.method").takes):
        return
    able = [name for name, cls in solver_classes().items() if isinstance(mesh, cls.takes)]
    raise InputError(
        f"the method '{method}' cannot simulate a {type(mesh).__name__}",
        f"{where}.method",
        f"Use {' or '.join(map(repr, able))}" if able else "Give another mesh",
    )


def as_warp(warp: Any, mesh: Any, turn: np.ndarray, where: str) -> tuple[float, float, float] | None:
    """The direction of a sheet's warp in the world, from that in its mesh and the mesh's turn (degrees).

    None where none is given and the sheet has texture coordinates, which tell it; x of the mesh where it has none.
    """
    if warp is None:
        if not isinstance(mesh, SurfaceMesh) or has_texture(mesh) or not np.any(turn):
            return None
        warp = (1.0, 0.0, 0.0)
    if not isinstance(mesh, SurfaceMesh):
        raise InputError("only a sheet has a warp", where, "Leave it out, or give a SurfaceMesh")
    direction = np.array(as_vector(warp, where))
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        raise InputError(f"{list(direction)} is no direction", where, "Give a vector of a length above 0")
    x, y, z = turned_by(np.radians(turn)) @ direction / length
    return float(x), float(y), float(z)


def as_bends(bends: Any, mesh: Any, where: str) -> bool:
    """Whether rods resist bending; other bodies always say so."""
    if not isinstance(bends, bool):
        raise InputError(f"{bends!r} is neither true nor false", where, "Give true for rods, or false for chains")
    if not bends and not isinstance(mesh, RodMesh):
        raise InputError("only rods can be chains", where, "Leave it out, or give a RodMesh")
    return bends


def filled(material: Material, fill: float, where: str) -> Material:
    """The material of a mesh of which only a part is filled."""
    if isinstance(fill, bool) or not isinstance(fill, (int, float)) or not 0.0 < fill <= 1.0:
        raise InputError(f"{fill!r} is not a part of the whole", where, "Give a number above 0, at most 1")
    if fill == 1.0:
        return material
    scaled = {key: getattr(material, key) for key in ("density", "young", "yield_stress", "tear_strength")}
    return dataclasses.replace(material, **{k: fill * value for k, value in scaled.items() if value is not None})


def as_calibrate(value: Any, where: str) -> str | None:
    """How a body is calibrated; None where the scene says it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None or value in CALIBRATE:
        return value
    raise InputError(f"{value!r} is not known", where, "Give true, false, 'on', 'auto' or 'off'")


def as_capacity(value: Any, where: str) -> float:
    """Vertices set aside for a sheet that tears, over the number it has."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 10.0:
        raise InputError(f"{value!r} is no share of the vertices", where, "Give a number from 0 to 10, such as 0.5")
    return float(value)


def as_share(value: Any, where: str) -> float:
    """A part of the whole, at most half."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 0.5:
        raise InputError(f"{value!r} is not a part of the whole", where, "Give a number from 0 to 0.5, such as 0.05")
    return float(value)


def picked_vertices(mesh: Any, where: Any, label: str) -> np.ndarray:
    """Vertex numbers of a mesh from numbers, a mask, a function of its positions, or 'roots' of a `RodMesh`."""
    vertices = mesh.vertices
    if isinstance(where, str) and where == "roots":
        if not isinstance(mesh, RodMesh):
            raise InputError("only rods have roots", label, "Give vertex numbers, or a RodMesh")
        # the first segment of each strand, so that its direction is held as well
        is_root = mesh.parents < 0
        return np.flatnonzero(is_root | is_root[mesh.parents])
    chosen = np.asarray(where(vertices) if callable(where) else where)
    index = chosen_vertices(chosen, len(vertices), label)
    if index.size == 0 or index.min() < 0 or index.max() >= len(vertices):
        least, most = vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()
        raise InputError(
            "no vertex is chosen, or one that does not exist",
            label,
            f"The body has {len(vertices)} vertices, between {least} and {most} m",
        )
    return index


def chosen_vertices(chosen: np.ndarray, count: int, where: str) -> np.ndarray:
    """Vertex numbers from numbers or a mask."""
    if chosen.dtype == bool:
        if chosen.shape != (count,):
            raise InputError(
                f"the mask has the shape {chosen.shape}",
                where,
                f"Give one truth value for each of the {count} vertices",
            )
        return np.flatnonzero(chosen)
    if chosen.size and chosen.dtype.kind not in "iu":
        raise InputError(
            f"{chosen.reshape(-1)[0]!r} is not a vertex number", where, "Give whole numbers, a mask, or a function"
        )
    return chosen.astype(np.int64).reshape(-1)
