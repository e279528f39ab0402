"""What usd-core finds in a scene; run by `child_reader` in a process of its own, since usd-core may loop or crash."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh.io.polygons import to_triangles
from pliant.mesh.io.usd import library
from pliant.mesh.io.usd_look import PaintBox, colors_of, texture_coordinates

WHAT = "a USD scene with a mesh"
MOST_THREADS = "4"
"""Threads of usd-core: each asks for address space, of which the child has not much."""
Z_UP_TO_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Turns z up into y up: (x, y, z) becomes (x, z, -y)."""


def read(path: str) -> dict[str, Any]:
    """The scene's notes, tets, triangles and paints, in metres and y up; the first frame of an animation."""
    os.environ.setdefault("PXR_WORK_THREAD_LIMIT", MOST_THREADS)
    pxr = library()
    try:
        return _read(pxr, path)
    except InputError:
        raise
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise _cannot_read(path, error) from None


def _read(pxr: Any, path: str) -> dict[str, Any]:
    stage = pxr.Usd.Stage.Open(path)
    time = pxr.Usd.TimeCode.EarliestTime()
    places = pxr.UsdGeom.XformCache(time)
    notes: list[str] = []
    frame = _frame(pxr, stage, notes)
    solids: list[tuple[np.ndarray, np.ndarray]] = []
    pieces: list[dict[str, Any]] = []
    paints = PaintBox(pxr)
    for prim in pxr.Usd.PrimRange(stage.GetPseudoRoot(), pxr.Usd.TraverseInstanceProxies()):
        is_mesh, is_tets = prim.IsA(pxr.UsdGeom.Mesh), prim.IsA(pxr.UsdGeom.TetMesh)
        if not (is_mesh or is_tets) or not _shown(pxr, prim, time, notes):
            continue
        where = f"{path}, {prim.GetPath()}"
        matrix = np.array(places.GetLocalToWorldTransform(prim), dtype=np.float64)
        points = _array(prim, "points", time, np.float64, where).reshape(-1, 3)
        # Gf matrices multiply a row from the right.
        vertices = (points @ matrix[:3, :3] + matrix[3, :3]) @ frame.T
        mirrored = bool(np.linalg.det(matrix[:3, :3]) < 0.0)
        mirrored ^= prim.GetAttribute("orientation").Get() == "leftHanded"
        attribute = "tetVertexIndices" if is_tets else "tetraIndices"
        if prim.HasAttribute(attribute) and prim.GetAttribute(attribute).HasValue():
            tets = _tets(_array(prim, attribute, time, np.int64, where), mirrored, len(vertices), where)
            solids.append((vertices, tets))
            if is_mesh:
                notes.append(f"the tets are those of the attribute tetraIndices of {prim.GetPath()}")
        elif is_mesh:
            pieces.append(_piece(pxr, prim, vertices, mirrored, time, paints, where, notes))
    if not solids and not pieces:
        raise InputError("holds no mesh", path, f"Give {WHAT}; spheres, cubes and curves are not read")
    paint_rows = [(paint.name, paint.color, paint.texture) for paint in paints.paints()]
    return {"notes": notes, "solids": solids, "pieces": pieces, "paints": paint_rows}


def _cannot_read(path: str, error: Exception) -> InputError:
    """The error for what USD, or a damaged scene, raised."""
    try:
        text = str(error)
    except UnicodeDecodeError:
        text = "it holds bytes that are no text"
    # The reason stands between quotes, after the place in USD's own source.
    found = re.search(r"' at line \d+ in file \S+ : '(.*?)'?\s*(\n|$)", text, re.S)
    reason = " ".join((found[1] if found else text).split())
    line = re.search(rf"{re.escape(path)}:(\d+):", reason)
    where = f"{path}, line {line[1]}" if line else path
    return InputError(f"USD cannot read it ({reason[:200]})", where, "Write or fetch it again")


def _frame(pxr: Any, stage: Any, notes: list[str]) -> np.ndarray:
    """The matrix (3, 3) from the scene's units and axes to metres and y up."""
    frame = np.eye(3)
    metres = float(pxr.UsdGeom.GetStageMetersPerUnit(stage))
    if metres != 1.0:
        stated = stage.HasAuthoredMetadata("metersPerUnit")
        notes.append(f"lengths were multiplied by {metres:g}: the scene's unit{'' if stated else ', by default'}")
        frame *= metres
    if pxr.UsdGeom.GetStageUpAxis(stage) == "Z":
        notes.append("the scene is z up and was turned to y up")
        frame = Z_UP_TO_Y_UP @ frame
    return frame


def _shown(pxr: Any, prim: Any, time: Any, notes: list[str]) -> bool:
    image = pxr.UsdGeom.Imageable(prim)
    if image.ComputeVisibility(time) == "invisible" or image.ComputePurpose() in ("guide", "proxy"):
        notes.append("meshes that are invisible, guides or proxies were left out")
        return False
    return True


def _array(prim: Any, name: str, time: Any, dtype: type, where: str) -> np.ndarray:
    value = prim.GetAttribute(name).Get(time)
    if value is None or not len(value):
        raise InputError(f"has no {name}", where, "Give the mesh points, face counts and face corners, or leave it out")
    return np.array(value, dtype=dtype)


def _tets(numbers: np.ndarray, mirrored: bool, count: int, where: str) -> np.ndarray:
    if numbers.size % 4 or numbers.min() < 0 or numbers.max() >= count:
        raise InputError(
            f"its tets name vertices {numbers.min()} to {numbers.max()} in {numbers.size} corners",
            where,
            f"Give four corners for each tet, numbered 0 to {count - 1}",
        )
    tets = numbers.reshape(-1, 4)
    return tets[:, [0, 1, 3, 2]] if mirrored else tets


def _piece(
    pxr: Any,
    prim: Any,
    vertices: np.ndarray,
    mirrored: bool,
    time: Any,
    paints: PaintBox,
    where: str,
    notes: list[str],
) -> dict[str, Any]:
    """The triangles of one mesh; it shares no vertices with others."""
    counts = _array(prim, "faceVertexCounts", time, np.int64, where)
    corners = _array(prim, "faceVertexIndices", time, np.int64, where)
    if counts.min() < 0 or counts.sum() != len(corners) or corners.min() < 0 or corners.max() >= len(vertices):
        raise InputError(
            f"its faces have {counts.sum()} corners, {len(corners)} are given, naming vertices {corners.min()} to "
            f"{corners.max()} of {len(vertices)}",
            where,
            "faceVertexCounts must add up to the length of faceVertexIndices, and those be in range",
        )
    if prim.GetAttribute("subdivisionScheme").HasAuthoredValue():
        scheme = prim.GetAttribute("subdivisionScheme").Get()
        if scheme != "none":
            notes.append(f"the control mesh was read, not the smooth surface it stands for ({scheme})")
    places, face_of = to_triangles(counts, corners, vertices)
    holes = prim.GetAttribute("holeIndices").Get(time)
    if holes is not None and len(holes):
        kept = ~np.isin(face_of, np.array(holes))
        places, face_of = places[kept], face_of[kept]
    if mirrored:
        places = places[:, [0, 2, 1]]
    uv = texture_coordinates(pxr, prim, time, corners, places, len(vertices))
    colors = colors_of(pxr, prim, time, corners, counts, len(vertices))
    paint_of = paints.of_faces(prim, len(counts), time, colors.of_faces)[face_of]
    part_of, names = _parts(pxr, prim, len(counts), time)
    triangles = corners[places]
    whole = prim.GetDisplayName() or prim.GetName()
    return {
        "vertices": vertices,
        "triangles": triangles,
        "parts": (*names, whole),
        "part_of": part_of[face_of],
        "paint_of": paint_of,
        "uv": uv,
        "colors": colors.of_vertices,
    }


def _parts(pxr: Any, prim: Any, faces: int, time: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """The part of each face (f,) and their names, from subsets that bind no material; the last is the rest."""
    part_of = np.full(faces, -1, dtype=np.int32)
    names: list[str] = []
    for subset in pxr.UsdGeom.Subset.GetAllGeomSubsets(pxr.UsdGeom.Imageable(prim)):
        if subset.GetFamilyNameAttr().Get() == "materialBind" or subset.GetElementTypeAttr().Get() != "face":
            continue
        rows = np.array(subset.GetIndicesAttr().Get(time) or [], dtype=np.int64)
        part_of[rows[(rows >= 0) & (rows < faces)]] = len(names)
        names.append(subset.GetPrim().GetDisplayName() or subset.GetPrim().GetName())
    part_of[part_of < 0] = len(names)
    return part_of, tuple(names)
