"""USD scenes (``.usd``, ``.usda``, ``.usdc``, ``.usdz``): meshes and tet meshes, through usd-core.

Lengths are converted to metres and the axis that points up to y, which the notes tell.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import MissingExtraError
from pliant.mesh.io import source
from pliant.mesh.io.child_reader import read_in_child
from pliant.mesh.io.pieces import Piece, join
from pliant.mesh.look import Paint
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

MOST_WARNINGS = 3
"""How many different warnings of USD become notes."""
ADDRESS = re.compile(r" *\(\w+ stage on stage [^\n]*\)| *<0x[0-9a-f]+>")
"""What a warning tells of the stage in memory, which is another each time."""


def library() -> Any:
    """The package pxr, or the error that says how to get it."""
    try:
        import pxr.Sdf
        import pxr.Tf
        import pxr.Usd
        import pxr.UsdGeom
        import pxr.UsdShade
    except ImportError:
        raise MissingExtraError("usd-core", "mesh", "Reading and writing USD") from None
    return pxr


def read(path: Path) -> SurfaceMesh | TetMesh:
    """Read all meshes of a scene as one, each moved to its place; the first frame of an animation.

    Where the scene holds tets (a TetMesh, or a mesh with the attribute ``tetraIndices``), these are what is read.
    Prims, and their subsets that bind no material, become parts; materials become paints. What USD warns of, such as
    another file that it cannot find, the notes tell.
    """
    missing = MissingExtraError("usd-core", "mesh", "Reading and writing USD")
    try:
        # The package alone, which is empty: only the child needs the rest.
        import pxr  # noqa: F401
    except ImportError:
        raise missing from None
    scene, said = read_in_child("usd_child.py", path, "USD", missing)
    notes = [*dict.fromkeys(scene["notes"]), *_warnings(said)]
    pieces = [
        Piece(
            piece["vertices"],
            piece["triangles"],
            tuple(piece["parts"]),
            piece["part_of"],
            piece["paint_of"],
            piece["uv"],
            piece["colors"],
        )
        for piece in scene["pieces"]
    ]
    if scene["solids"]:
        if pieces:
            notes.append(f"{len(pieces)} surfaces beside the tets were left out")
        return _joined_tets(scene["solids"], source.stem(path), notes)
    paints = tuple(Paint(name, tuple(color), texture) for name, color, texture in scene["paints"])
    return join(pieces, paints, source.stem(path), notes, sew=False)


def _warnings(said: str) -> list[str]:
    """Notes for what USD wrote, ``Warning: in FUNCTION at line N of FILE -- MESSAGE``: sorted, so always the same."""
    said = ADDRESS.sub("", said)
    found = sorted({" ".join(line.partition(" -- ")[2].split()) for line in said.splitlines() if " -- " in line})
    more = [f"USD warns of {len(found) - MOST_WARNINGS} things more"] if len(found) > MOST_WARNINGS else []
    return [f"USD warns: {text[:200]}" for text in found[:MOST_WARNINGS]] + more


def _joined_tets(solids: list[tuple[np.ndarray, np.ndarray]], name: str, notes: list[str]) -> TetMesh:
    sizes = np.cumsum([0, *(len(vertices) for vertices, _ in solids)])
    tets = np.concatenate([tets + offset for (_, tets), offset in zip(solids, sizes)])
    return TetMesh(np.concatenate([vertices for vertices, _ in solids]), tets.astype(np.int32), name, tuple(notes))


def write(mesh: SurfaceMesh | TetMesh, path: Path) -> None:
    """Write a scene in metres, y up, positions in float32: a Mesh with a subset for each part and paint, or a TetMesh.

    ``.usda`` is text, ``.usdc`` and ``.usd`` are binary.
    """
    from pliant.mesh.io import usd_writer

    usd_writer.write(mesh, path)
