"""The bytes of a mesh file: opened with clear errors, unpacked when compressed, and recognised by what they hold."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from pathlib import Path

from pliant.errors import InputError
from pliant.mesh.io.table import similar

HEAD = 4096
"""Bytes looked at to tell what a file holds."""
STL_HEADER = 84
STL_RECORD = 50
"""Bytes of a binary STL file before its triangles, and of each triangle."""


def stem(path: Path) -> str:
    """The file's name without its suffix, and without ``.gz``."""
    return Path(plain_name(path)).stem


def plain_name(path: Path) -> str:
    """The file's name without a ``.gz`` at its end."""
    return path.name[:-3] if path.suffix.lower() == ".gz" else path.name


def load(path: Path, what: str) -> bytes:
    """The bytes of a file, unpacked when its name ends in ``.gz``; ``what`` says what it should hold, for messages."""
    data = _open(path, what, None)
    if path.suffix.lower() != ".gz":
        return data
    try:
        data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"cannot be unpacked as gzip ({error})",
            str(path),
            "The file was cut short or is not compressed: fetch it again, or drop '.gz' from its name",
        ) from None
    if not data.strip():
        raise InputError("the file is empty once unpacked", str(path), f"Give a file with {what}")
    return data


def check(path: Path, name: str, suffixes: tuple[str, ...]) -> None:
    """Raise when a file is missing, unreadable, empty, or plainly of another kind than its suffix says.

    Args:
        path: the file.
        name: of the format that its suffix promises.
        suffixes: of that format.
    """
    data = _open(path, name, HEAD)
    if path.suffix.lower() == ".gz":
        return
    found = recognise(data, path.stat().st_size)
    if found and found[1] not in suffixes:
        raise wrong_content(path, name, *found)


def check_content(path: Path, data: bytes, name: str, suffixes: tuple[str, ...]) -> None:
    """Raise when bytes already read (and unpacked) are plainly of another kind than ``name``."""
    found = recognise(data[:HEAD], len(data))
    if found and found[1] not in suffixes:
        raise wrong_content(path, name, *found)


def wrong_content(path: Path, name: str, looks_like: str, suffix: str) -> InputError:
    """The error for a file whose bytes belong to another kind of file than its name says."""
    remedy = f"Name it with the suffix {suffix} to have it read as that" if suffix.startswith(".") else suffix
    return InputError(f"this is not a file of the kind {name}: it looks like {looks_like}", str(path), remedy)


def _open(path: Path, what: str, most: int | None) -> bytes:
    """The first ``most`` bytes of a file, or all of them."""
    if path.is_dir():
        raise InputError("this is a folder", str(path), f"Give the file with {what}")
    try:
        with open(path, "rb") as file:
            data = file.read() if most is None else file.read(most)
    except FileNotFoundError:
        raise InputError("there is no such file", str(path), f"Give the file with {what}{similar(path)}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read ({reason})", str(path), f"Give a file you may read, with {what}") from None
    if not data.strip():
        raise InputError("the file is empty", str(path), f"Give a file with {what}")
    return data


FETCH = "Fetch the file itself: this is what a download gives when it fails"
MAGIC = (
    (b"version https://git-lfs", "a Git LFS pointer", "Fetch the file itself with: git lfs pull"),
    (b"ply\n", "a PLY file", ".ply"),
    (b"ply\r", "a PLY file", ".ply"),
    (b"glTF", "a binary glTF file", ".glb"),
    (b"xof 0", "a DirectX file", ".x"),
    (b"PXR-USDC", "a binary USD file", ".usdc"),
    (b"#usda", "a USD text file", ".usda"),
    (b"mesh3d", "a NETGEN volume mesh", ".vol"),
    (b"MeshVersionFormatted", "a Medit mesh", ".mesh"),
    (b"$MeshFormat", "a Gmsh mesh", ".msh"),
    (b"# vtk DataFile", "a VTK file", ".vtk"),
    (b"<VTKFile", "a VTK XML file", ".vtu"),
    (b"\x1f\x8b", "a gzip-compressed file", "Add '.gz' to its name, as in bunny.obj.gz"),
    (b"PK\x03\x04", "a zip archive (or USD packed as .usdz)", ".usdz"),
    (b"\x89PNG", "a PNG picture", "Give the mesh, not its picture"),
    (b"\xff\xd8\xff", "a JPEG picture", "Give the mesh, not its picture"),
    (b"%PDF", "a PDF document", "Give the mesh itself"),
    (b"Kaydara FBX", "an FBX file", "Convert it first, for example with Blender, to .glb or .obj"),
    (b"BLENDER", "a Blender file", "Export it from Blender as .glb or .obj"),
)
TEXT_MAGIC = (
    (re.compile(rb"\s*(<!doctype html|<html|<head)", re.I), "a web page (HTML)", FETCH),
    (re.compile(rb"\s*<\?xml.*<VTKFile", re.S), "a VTK XML file", ".vtu"),
    (re.compile(rb"\s*<\?xml"), "an XML document", "Give a mesh in one of the known formats"),
    (re.compile(rb"\s*solid\b[^\n]*\n\s*facet\b", re.I), "an STL text file", ".stl"),
    (re.compile(rb"\s*(#[^\n]*\n\s*)*(ST)?C?N?OFF\b"), "an OFF file", ".off"),
    (re.compile(rb'\s*\{\s*"'), "a JSON document, perhaps glTF", ".gltf"),
)


def recognise(head: bytes, size: int) -> tuple[str, str] | None:
    """What a file looks like by its first bytes, and the suffix it should have or what to do; None if unknown."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    for start, kind, remedy in MAGIC:
        if head.startswith(start):
            return kind, remedy
    for pattern, kind, remedy in TEXT_MAGIC:
        if pattern.match(head):
            return kind, remedy
    if size > STL_HEADER and len(head) >= STL_HEADER:
        if size == STL_HEADER + STL_RECORD * int.from_bytes(head[80:84], "little"):
            return "a binary STL file", ".stl"
    return None


def beside(path: Path, name: str) -> Path | None:
    """A file named inside another, looked for in the same folder; None when it is not there.

    Args:
        path: the file that names it.
        name: as written there, with either kind of slash.
    """
    name = name.replace("\\", "/")
    for candidate in (path.parent / name, path.parent / name.rsplit("/", 1)[-1]):
        try:
            if candidate.is_file() and os.access(candidate, os.R_OK):
                return candidate
        except (OSError, ValueError):
            continue
    return None
