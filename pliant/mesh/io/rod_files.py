"""Rods from files and to files: the table of formats, and what is cleaned on the way."""

from __future__ import annotations

import dataclasses
import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.io import source
from pliant.mesh.rods import SHORT_SEGMENT, RodMesh
from pliant.vectors import as_positive

DEFAULT_RADIUS = 0.005
"""Of rods whose file has none [m]."""
SAME_PLACE = 1e-9
"""Distance over the extent of the file below which two points are the same."""


@dataclasses.dataclass(frozen=True)
class RodFormat:
    """A row of the table of formats.

    Attributes:
        name: of the format.
        suffixes: of its files, in small letters.
        module: in pliant.mesh.io, with read_rods(path) and, if `written`, write_rods(mesh, path); imported when used.
        written: whether it is written.
        packed: whether a gzip-compressed file (rope.obj.gz) is read too.
        sewn: whether points at the same place are one: in files whose lines cannot say otherwise that they meet.
    """

    name: str
    suffixes: tuple[str, ...]
    module: str
    written: bool = False
    packed: bool = True
    sewn: bool = True


ROD_FORMATS: tuple[RodFormat, ...] = (
    RodFormat("SWC", (".swc",), "rod_swc", written=True, sewn=False),
    RodFormat("polylines of Wavefront OBJ", (".obj",), "rod_obj", written=True),
    RodFormat("edges of PLY", (".ply",), "rod_ply", written=True),
    RodFormat("HAIR", (".hair",), "rod_hair", sewn=False),
    RodFormat("lines of glTF", (".gltf", ".glb"), "rod_gltf", packed=False),
)


@dataclasses.dataclass(frozen=True)
class FoundRods:
    """What a file holds, before it is cleaned.

    Attributes:
        vertices: (n, 3) float64 [m].
        segments: (m, 2) int64, in range.
        radius: of each segment [m] (m,); None where the file has none.
        notes: what was left out.
    """

    vertices: np.ndarray
    segments: np.ndarray
    radius: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def known_rod_formats() -> str:
    """The formats in words, for messages."""
    return "Known are " + ", ".join(f"{' '.join(row.suffixes)} ({row.name})" for row in ROD_FORMATS)


def read(path: Any, radius: float | None = None) -> RodMesh:
    """Read rods, clean and check them; see `RodMesh.load`."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"{path!r} is no path", "RodMesh.load(path)", "Give the name of a file of rods")
    path = Path(path)
    row = _row(path)
    if radius is not None:
        radius = as_positive(radius, "RodMesh.load(radius)", "m")
    if path.suffix.lower() == ".gz" and not row.packed:
        raise InputError(f"compressed files of {row.name} are not read", str(path), "Unpack it first")
    found = importlib.import_module(f"pliant.mesh.io.{row.module}").read_rods(path)
    where = str(path)
    arrays.check_finite(found.vertices, where)
    if not len(found.segments):
        raise InputError("holds no segments", where, "Give a file with at least one line of two points")
    mesh = _cleaned(found, row, radius, path)
    mesh.check(where)
    return mesh


def write(mesh: RodMesh, path: str | os.PathLike) -> None:
    """Write rods; see `RodMesh.save`."""
    path = Path(path)
    row = _row(path)
    if path.suffix.lower() == ".gz" or not row.written:
        names = ", ".join(row.suffixes[0] for row in ROD_FORMATS if row.written)
        raise InputError(f"{path.suffix} files of rods are read but not written", str(path), f"Write {names}")
    mesh.check(mesh.name or str(path))
    importlib.import_module(f"pliant.mesh.io.{row.module}").write_rods(mesh, path)


def _row(path: Path) -> RodFormat:
    suffix = Path(source.plain_name(path)).suffix.lower()
    row = next((row for row in ROD_FORMATS if suffix in row.suffixes), None)
    if row is None:
        raise InputError(f"{suffix!r} is no suffix of a file of rods", str(path), known_rod_formats())
    return row


def _cleaned(found: FoundRods, row: RodFormat, radius: float | None, path: Path) -> RodMesh:
    """Rods without doubled points, segments without a length and points that belong to none."""
    notes = list(found.notes)
    vertices, segments = found.vertices, found.segments
    each = np.full(len(segments), DEFAULT_RADIUS) if found.radius is None else found.radius
    if radius is not None:
        each = np.full(len(segments), radius, np.float64)
    elif found.radius is None:
        notes.append(f"the file has no radii: {DEFAULT_RADIUS:g} m was taken; give one to RodMesh.load")

    short = _short(vertices, segments)
    same = segments[short & (segments[:, 0] != segments[:, 1])]
    if row.sewn:
        used = np.unique(segments)
        same = np.concatenate([same, used[arrays.coincident_pairs(vertices[used], SAME_PLACE)]])
    if len(same):
        count, part = arrays.connected_parts(same, len(vertices))
        first = np.full(count, len(vertices), np.int64)
        np.minimum.at(first, part, np.arange(len(vertices)))
        segments = first[part][segments]
        notes.append(f"{len(vertices) - count} points at the place of another were merged with it")
    ends = np.sort(segments, axis=1)
    _, rows = np.unique(ends[:, 0] * len(vertices) + ends[:, 1], return_index=True)
    rows = np.sort(rows)
    rows = rows[ends[rows, 0] != ends[rows, 1]]
    if len(rows) < len(segments):
        notes.append(f"{len(segments) - len(rows)} segments without a length, or given twice, were left out")
    segments, each = segments[rows], each[rows]
    if not len(segments):
        raise InputError("all its segments have no length", str(path), "Give lines of points at different places")
    used_vertices = arrays.used_vertices(segments, len(vertices))
    loose = len(vertices) - int(used_vertices.sum()) - (len(same) and len(vertices) - count)
    if loose > 0:
        notes.append(f"{loose} points that belong to no line were left out")
    vertices, segments = arrays.without_unused(vertices, segments)
    return RodMesh(vertices, segments, each, source.stem(path), tuple(dict.fromkeys(notes)))


def _short(vertices: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """Which segments have no length to speak of (m,)."""
    used = vertices[np.unique(segments)]
    return arrays.edge_lengths(vertices, segments) <= SHORT_SEGMENT * float(np.ptp(used, axis=0).max())
