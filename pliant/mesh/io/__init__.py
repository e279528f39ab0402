"""Read and write meshes: the table of formats, and the functions that choose one by the file's suffix."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.io import source, tetgen, text_pair
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh


@dataclasses.dataclass(frozen=True)
class Format:
    """A row of the table of formats.

    Attributes:
        name: of the format.
        suffixes: of its files, in small letters.
        module: in pliant.mesh.io, with read(path) and write(mesh, path); imported when used.
        surface, tets: whether it holds surfaces, tet meshes.
        extra: the optional extra it needs, or "".
        pair: whether a mesh is two files.
        packed: whether a gzip-compressed file (bunny.obj.gz) is read too.
        read_only: suffixes that are read but not written.
        refused: suffixes of its kin that are neither: its reader says what to do with such a file.
    """

    name: str
    suffixes: tuple[str, ...]
    module: str
    surface: bool
    tets: bool
    extra: str = ""
    pair: bool = False
    packed: bool = False
    read_only: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


FORMATS: tuple[Format, ...] = (
    Format("Wavefront OBJ", (".obj",), "obj", surface=True, tets=False, packed=True),
    Format("PLY", (".ply",), "ply", surface=True, tets=False, packed=True),
    Format("STL", (".stl",), "stl", surface=True, tets=False, packed=True),
    Format("OFF", (".off",), "off", surface=True, tets=False, packed=True),
    Format("glTF", (".gltf", ".glb"), "gltf", surface=True, tets=False, extra="mesh"),
    Format("DirectX", (".x",), "directx", surface=True, tets=False, extra="mesh"),
    Format(
        "USD",
        (".usd", ".usda", ".usdc", ".usdz"),
        "usd",
        surface=True,
        tets=True,
        extra="mesh",
        read_only=(".usdz",),
    ),
    Format("TetGen", (".node", ".ele"), "tetgen", surface=False, tets=True, pair=True),
    Format("text pair", (".vert", ".tet", ".txt"), "text_pair", surface=False, tets=True, pair=True),
    Format("NETGEN", (".vol",), "netgen", surface=True, tets=True, packed=True),
    Format(
        "Medit or NETGEN neutral",
        (".mesh",),
        "medit",
        surface=True,
        tets=True,
        packed=True,
        refused=(".meshb",),
    ),
    Format("Gmsh or VTK", (".msh", ".vtk", ".vtu"), "through_meshio", surface=True, tets=True, extra="mesh"),
)
"""Every format that is read and written."""


POINT_SUFFIXES = (".xyz", ".txt", ".csv", ".npy")
"""Files of points without a mesh, which are not read here."""
ROD_SUFFIXES = (".swc", ".hair")
"""Files of ropes, hair and trees, which are not read here."""


def known_formats(surface: bool = True, tets: bool = True) -> str:
    """The formats that hold surfaces or tets in words, for messages: "Known are .obj (Wavefront OBJ), ..."."""
    rows = [row for row in FORMATS if (surface and row.surface) or (tets and row.tets)]
    return "Known are " + ", ".join(f"{_suffixes_in_words(row)} ({row.name})" for row in rows)


def _suffixes_in_words(row: Format) -> str:
    if row.module == "tetgen":
        return ".node with .ele"
    if row.module == "text_pair":
        return ".vert with .tet, *_vertices.txt with *_tets.txt"
    return " ".join(row.suffixes)


def format_of(path: str | os.PathLike) -> Format:
    """The row of `FORMATS` that a file's suffix names; a ``.gz`` behind it is looked past where it may be."""
    row = _row_of(path)
    if row is None:
        points = " Loose points are read by PointCloud.load." if _suffix(path) in POINT_SUFFIXES else ""
        points = ". Rods are read by RodMesh.load." if _suffix(path) in ROD_SUFFIXES else points
        raise InputError(f"unknown suffix {_suffix(path)!r}", str(path), known_formats() + points)
    return row


def _suffix(path: str | os.PathLike) -> str:
    """The suffix in small letters, that before a ``.gz``."""
    return Path(source.plain_name(Path(path))).suffix.lower()


def _row_of(path: str | os.PathLike) -> Format | None:
    """The row that a file's suffix names, if any; an `InputError` when its kind is not read compressed and this is."""
    suffix = _suffix(path)
    row = next((row for row in FORMATS if suffix in row.suffixes + row.refused), None)
    if row is not None and Path(path).suffix.lower() == ".gz" and not row.packed:
        names = ", ".join(f"{row.suffixes[0]}.gz" for row in FORMATS if row.packed)
        raise InputError(
            f"a compressed {row.name} file is not read", str(path), f"Unpack it first; as .gz are read {names}"
        )
    return row


def read_mesh(path: str | os.PathLike, path2: str | os.PathLike | None = None) -> SurfaceMesh | TetMesh:
    """Read whatever a file holds, as it is: numbers are finite and vertex numbers in range, nothing is repaired.

    Args:
        path: the file; of a pair, one of the two.
        path2: the other file of a pair, when its name does not follow from the first.
    """
    row = format_of(path)
    if row.pair:
        mesh: SurfaceMesh | TetMesh = _read_pair(row, path, path2)[0]
    else:
        if path2 is not None:
            raise InputError(f"cannot be paired with {path2}", str(path), f"{row.name} is one file: give it alone")
        path = Path(path)
        source.check(path, row.name, row.suffixes)
        mesh = _module(row).read(path)
    where = str(path)
    arrays.check_finite(mesh.vertices, where)
    if isinstance(mesh, TetMesh):
        _check_range(mesh.tets, len(mesh.vertices), "tet", where)
    else:
        _check_range(mesh.triangles, len(mesh.vertices), "triangle", where)
    return mesh


def read_surface(path: str | os.PathLike) -> SurfaceMesh:
    """Read a surface, as it is; a file of tets gives its boundary, which the notes tell."""
    mesh = read_mesh(path)
    if isinstance(mesh, SurfaceMesh):
        return mesh
    notes = (*mesh.notes, f"the boundary of {len(mesh.tets)} tets")
    return dataclasses.replace(mesh.surface_mesh(), notes=notes)


def read_tets(path: str | os.PathLike, path2: str | os.PathLike | None = None, *, drop_unused: bool = False) -> TetMesh:
    """Read a tet mesh, check it and turn tets that are inside out; ``notes`` of the mesh tell what was done.

    Args:
        path: the file; of a pair, one of the two: the other is found beside it.
        path2: the other file, when its name does not follow from the first; for ``.txt`` the vertices come first.
        drop_unused: leave out vertices that belong to no tet instead of refusing them.
    """
    row = _tet_format(path)
    vertex_path = tet_path = Path(path)
    if row.pair:
        mesh, vertex_path, tet_path = _read_pair(row, path, path2)
    else:
        found = read_mesh(path, path2)
        if isinstance(found, SurfaceMesh):
            raise InputError(
                f"holds a surface of {len(found.triangles)} triangles and no tets",
                str(path),
                "Hand the file to Scene.add, which makes a body of it, or fill it with tets first: pliant prep",
            )
        mesh = found

    arrays.check_finite(mesh.vertices, str(vertex_path))
    if drop_unused:
        mesh = mesh.drop_unused()
    remedy = "Read the mesh with drop_unused=True to leave them out (this renumbers the others)"
    arrays.check_indices(mesh.tets, len(mesh.vertices), "tet", str(tet_path))
    arrays.check_used(mesh.tets, len(mesh.vertices), "tet", str(vertex_path), remedy)
    mesh, _ = mesh.oriented()
    return dataclasses.replace(mesh, notes=(*mesh.notes, *mesh.check(str(tet_path))))


def write_mesh(mesh: SurfaceMesh | TetMesh, path: str | os.PathLike) -> None:
    """Write a mesh in the format that the suffix names; a format for surfaces gets the boundary of a tet mesh.

    What a format cannot hold of the look (paints, parts, texture coordinates) is left out of the file.
    """
    if not isinstance(mesh, SurfaceMesh | TetMesh):
        raise InputError(f"{type(mesh).__name__} is no mesh", "write_mesh", "Give a SurfaceMesh or a TetMesh")
    row = format_of(path)
    path = Path(path)
    if path.suffix.lower() == ".gz":
        raise InputError("compressed files are read but not written", str(path), "Leave '.gz' out of the name")
    if path.suffix.lower() in row.refused:
        raise InputError(f"{path.suffix} files are not written", str(path), f"Write {row.suffixes[0]} instead")
    if path.suffix.lower() in row.read_only:
        raise InputError(f"{path.suffix} files are read but not written", str(path), f"Write {row.suffixes[0]} instead")
    if isinstance(mesh, SurfaceMesh) and not row.surface:
        raise InputError(f"{row.name} holds tets and this is a surface", str(path), known_formats(tets=False))
    where = mesh.name or str(path)
    arrays.check_finite(mesh.vertices, where)
    elements, kind = (mesh.tets, "tet") if isinstance(mesh, TetMesh) else (mesh.triangles, "triangle")
    _check_range(elements, len(mesh.vertices), kind, where)
    if not len(elements):
        raise InputError(f"there is no {kind} to write", str(path), "Give at least one")
    if row.pair and isinstance(mesh, TetMesh):
        _write_pair(mesh, row, path)
    else:
        _module(row).write(mesh, path)


def write_tets(mesh: TetMesh, path: str | os.PathLike) -> tuple[Path, ...]:
    """Write a tet mesh in the format that the suffix names; returns the names of the files written, one or two."""
    if not isinstance(mesh, TetMesh):
        raise InputError(f"{type(mesh).__name__} is no TetMesh", "write_tets", "Use write_mesh for surfaces")
    row = _tet_format(path)
    if row.pair:
        return _write_pair(mesh, row, path)
    write_mesh(mesh, path)
    return (Path(path),)


def _module(row: Format) -> Any:
    return importlib.import_module(f"pliant.mesh.io.{row.module}")


def _tet_format(path: str | os.PathLike) -> Format:
    """The row of a format that holds tets, or an `InputError`."""
    suffix = _suffix(path)
    row = _row_of(path)
    if row is None:
        raise InputError(f"the suffix {suffix!r} is not that of a tet mesh", str(path), known_formats(surface=False))
    if not row.tets:
        raise InputError(
            f"the suffix {suffix!r} is that of a surface ({row.name}), which holds no tets",
            str(path),
            f"{known_formats(surface=False)}. Hand a surface to Scene.add, or fill it with tets first: pliant prep",
        )
    return row


def _check_range(elements: Any, count: int, kind: str, where: str) -> None:
    """Raise for the first row with a vertex number outside 0..count-1; collapsed rows are left to repair."""
    if elements.size and (elements.min() < 0 or elements.max() >= count):
        arrays.check_indices(elements, count, kind, where)


def _read_pair(row: Format, path: str | os.PathLike, path2: str | os.PathLike | None) -> tuple[TetMesh, Path, Path]:
    """The mesh of two files, and their names: vertices first."""
    if path2 is not None and Path(path2).suffix.lower() not in row.suffixes:
        raise InputError(f"cannot be paired with {path2}", str(path), known_formats(surface=False))
    if row.module == "tetgen":
        vertex_path, tet_path = _pair(path, path2, tetgen.pair_paths)
        return tetgen.read_tetgen(vertex_path, tet_path), vertex_path, tet_path
    vertex_path, tet_path = _pair(path, path2, text_pair.pair_paths)
    return text_pair.read_text_pair(vertex_path, tet_path), vertex_path, tet_path


def _write_pair(mesh: TetMesh, row: Format, path: str | os.PathLike) -> tuple[Path, Path]:
    if row.module == "tetgen":
        paths = tetgen.pair_paths(path)
        tetgen.write_tetgen(mesh, *paths)
    else:
        paths = text_pair.pair_paths(path)
        text_pair.write_text_pair(mesh, *paths)
    return paths


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
