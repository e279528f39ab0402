"""Read and write meshes, the format chosen by the file's suffix."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.io import tetgen, text_pair
from pliant.mesh.tets import TetMesh

TETGEN_SUFFIXES = (".node", ".ele")
PAIR_SUFFIXES = (".vert", ".tet", ".txt")
KNOWN = "Known are .node with .ele (TetGen), .vert with .tet, and *_vertices.txt with *_tets.txt"


def read_tets(path: str | os.PathLike, path2: str | os.PathLike | None = None, *, drop_unused: bool = False) -> TetMesh:
    """Read a tet mesh, check it and turn tets that are inside out; ``notes`` of the mesh tell what was done.

    Args:
        path: one file of the pair; the other is found beside it.
        path2: the other file, when its name does not follow from the first; for ``.txt`` the vertices come first.
        drop_unused: leave out vertices that belong to no tet instead of refusing them.
    """
    suffix = _suffix(path)
    if path2 is not None and _family(_suffix(path2)) != _family(suffix):
        raise InputError(f"cannot be paired with {path2}", str(path), KNOWN)
    if suffix in TETGEN_SUFFIXES:
        vertex_path, tet_path = _pair(path, path2, tetgen.pair_paths)
        mesh = tetgen.read_tetgen(vertex_path, tet_path)
    else:
        vertex_path, tet_path = _pair(path, path2, text_pair.pair_paths)
        mesh = text_pair.read_text_pair(vertex_path, tet_path)

    arrays.check_finite(mesh.vertices, str(vertex_path))
    if drop_unused:
        mesh = mesh.drop_unused()
    remedy = "Read the mesh with drop_unused=True to leave them out (this renumbers the others)"
    arrays.check_used(mesh.tets, len(mesh.vertices), "tet", str(vertex_path), remedy)
    mesh, _ = mesh.oriented()
    return dataclasses.replace(mesh, notes=(*mesh.notes, *mesh.check(str(tet_path))))


def write_tets(mesh: TetMesh, path: str | os.PathLike) -> tuple[Path, Path]:
    """Write a tet mesh as the two files that ``path`` names one of; returns both names."""
    if not isinstance(mesh, TetMesh):
        raise InputError(f"{type(mesh).__name__} is no TetMesh", "write_tets", "These formats hold tets only")
    if _suffix(path) in TETGEN_SUFFIXES:
        paths = tetgen.pair_paths(path)
        tetgen.write_tetgen(mesh, *paths)
    else:
        paths = text_pair.pair_paths(path)
        text_pair.write_text_pair(mesh, *paths)
    return paths


def _suffix(path: str | os.PathLike) -> str:
    """The suffix in small letters, or an `InputError` when no format has it."""
    suffix = Path(path).suffix.lower()
    if suffix not in TETGEN_SUFFIXES + PAIR_SUFFIXES:
        raise InputError(f"the suffix {suffix!r} is not that of a tet mesh", str(path), KNOWN)
    return suffix


def _family(suffix: str) -> bool:
    return suffix in TETGEN_SUFFIXES


def _pair(
    path: str | os.PathLike,
    path2: str | os.PathLike | None,
    pair_paths: Callable[[str | os.PathLike], tuple[Path, Path]],
) -> tuple[Path, Path]:
    """Vertex file first, tet file second, whichever way round they were given."""
    if path2 is None:
        pair = pair_paths(path)
        if Path(path) not in pair and Path(path).is_file():
            raise InputError(
                "this is one file of two, and its name does not tell the other",
                str(path),
                f"Give both, vertices first: read_tets(vertices, tets); or name them {pair[0].name} and {pair[1].name}",
            )
        return pair
    first, second = Path(path), Path(path2)
    swapped = first.suffix.lower() in (".ele", ".tet") or second.suffix.lower() in (".node", ".vert")
    return (second, first) if swapped else (first, second)
