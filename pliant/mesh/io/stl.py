"""STL, text and binary: loose triangles, whose equal corners are made one vertex."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh.io import source
from pliant.mesh.io.lines import Text
from pliant.mesh.io.pieces import look_of, sewn
from pliant.mesh.io.source import STL_HEADER, STL_RECORD
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

WHAT = "STL triangles"
RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read(path: Path) -> SurfaceMesh:
    """Read a surface; corners at the very same place become one vertex, which the notes tell.

    The normals in the file are read over: the order of the corners says which side is outside. The solids of a
    text file become parts.
    """
    data = source.load(path, WHAT)
    source.check_content(path, data, "STL", (".stl",))
    announced = int.from_bytes(data[80:84], "little") if len(data) >= STL_HEADER else -1
    parts: tuple[str, ...] = ()
    part_of = None
    if announced >= 0 and len(data) == STL_HEADER + STL_RECORD * announced:
        corners = _binary(data, announced, path)
    elif data[:256].lstrip().lower().startswith(b"solid") and b"\0" not in data[:256]:
        corners, parts, part_of = _text(Text(data, path, WHAT))
    else:
        raise _broken_binary(path, len(data), announced)
    triangles = np.arange(3 * len(corners), dtype=np.int32).reshape(-1, 3)
    look = look_of(None, (), None, parts, part_of, None)
    return sewn(SurfaceMesh(corners.reshape(-1, 3), triangles, source.stem(path), (), look))


def _binary(data: bytes, count: int, path: Path) -> np.ndarray:
    """Corners (k, 3, 3) [m]."""
    if not count:
        raise InputError("announces 0 triangles", f"{path}, byte 80", "Give at least one triangle")
    corners = np.frombuffer(data, RECORD, count, STL_HEADER)["corners"].astype(np.float64)
    bad = ~np.isfinite(corners).all(axis=(1, 2))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"triangle {row} has the corners {corners[row].tolist()}",
            f"{path}, byte {STL_HEADER + STL_RECORD * row}",
            "Give finite coordinates",
        )
    return corners


def _broken_binary(path: Path, size: int, announced: int) -> InputError:
    if announced < 0:
        return InputError(
            f"has {size} bytes and does not start with 'solid': it is neither a text nor a binary STL file",
            f"{path}, byte {size}",
            "Give an STL file; a binary one has at least 84 bytes",
        )
    wanted = STL_HEADER + STL_RECORD * announced
    problem = "was cut short" if size < wanted else "has more bytes than that"
    return InputError(
        f"announces {announced} triangles, so {wanted} bytes, and has {size}: the file {problem}, or is no STL file",
        f"{path}, byte {min(size, wanted)}",
        "Write or fetch it again",
    )


def _text(text: Text) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
    """Corners (k, 3, 3) [m], names of the solids, and the solid of each triangle (k,)."""
    # The format's words may be written in capitals.
    is_vertex = text.starting(b"vertex") | text.starting(b"VERTEX") | text.starting(b"Vertex")
    is_facet = text.starting(b"facet") | text.starting(b"FACET") | text.starting(b"Facet")
    facets = np.flatnonzero(is_facet)
    if not len(facets):
        raise InputError("holds no triangle (no line that starts with 'facet')", str(text.path), f"Give {WHAT}")
    rows = text.numbers(is_vertex, 6, "vertex x y z")
    text.need(rows, 3, "vertex x y z")
    points = rows.columns(0, 3)
    text.need_finite(rows, points)
    corners = np.diff(np.append(np.searchsorted(rows.lines, facets), len(rows.lines)))
    if (corners != 3).any():
        facet = int(np.argmax(corners != 3))
        cut = "; the file seems to be cut short here" if facet == len(facets) - 1 and corners[facet] < 3 else ""
        raise InputError(
            f"the facet has {int(corners[facet])} vertices", text.at(int(facets[facet])), f"Give three{cut}"
        )
    if len(rows.lines) > 3 * len(facets):
        raise InputError("a vertex stands before any facet", text.at(int(rows.lines[0])), "Give 'facet' before it")
    if not (text.starting(b"endsolid") | text.starting(b"ENDSOLID") | text.starting(b"EndSolid")).any():
        raise InputError("has no line 'endsolid'", text.at(len(text) - 1), "The file was cut short: fetch it again")
    solids = np.flatnonzero(text.starting(b"solid") | text.starting(b"SOLID") | text.starting(b"Solid"))
    names: dict[str, int] = {}
    of_solid = np.full(len(solids) + 1, -1, dtype=np.int32)
    for number, line in enumerate(solids, 1):
        name = text.line(int(line))[5:].strip()
        if name:
            of_solid[number] = names.setdefault(name, len(names))
    return points.reshape(-1, 3, 3), tuple(names), of_solid[np.searchsorted(solids, facets)]


def write(mesh: SurfaceMesh | TetMesh, path: Path) -> None:
    """Write binary STL, coordinates in float32; of a tet mesh the boundary. Look and names are left out."""
    surface = mesh.surface_mesh() if isinstance(mesh, TetMesh) else mesh
    records = np.zeros(len(surface.triangles), dtype=RECORD)
    records["normal"] = surface.normals()
    records["corners"] = surface.vertices[surface.triangles]
    with replace_file(path) as file:
        # The header must not start with 'solid', or some readers take the file for text.
        file.write(b"binary STL".ljust(80, b"\0") + len(records).to_bytes(4, "little"))
        file.write(records.tobytes())
