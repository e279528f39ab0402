"""OFF, the Object File Format of Geomview: OFF, COFF (colours), NOFF (normals), STOFF (texture), as text."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh.io import source
from pliant.mesh.io.lines import Rows, Text
from pliant.mesh.io.pieces import as_colors, as_uv, look_of
from pliant.mesh.io.polygons import to_triangles
from pliant.mesh.io.rows_of_text import float_rows
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

WHAT = "the word OFF, three counts, vertices and faces"
KEYWORD = re.compile(r"(ST)?(C)?(N)?(4)?(n)?OFF(\s+BINARY)?(?=\s|$)")


def read(path: Path) -> SurfaceMesh:
    """Read a surface; polygons are cut into triangles, colours of faces are left out."""
    data = source.load(path, WHAT)
    source.check_content(path, data, "OFF", (".off",))
    text = Text(data, path, WHAT)
    lines = np.flatnonzero(text.filled())
    if not len(lines):
        raise InputError("holds nothing but comments", str(path), f"Give a file with {WHAT}")
    has_uv, has_colors, has_normals, counts_at, lines = _header(text, lines)
    vertex_count, face_count = _counts(text, counts_at)
    if len(lines) < vertex_count + face_count:
        raise InputError(
            f"the file ends after {min(len(lines), vertex_count)} vertices and {max(len(lines) - vertex_count, 0)} "
            f"faces, line {_number(text, counts_at)} announces {vertex_count} and {face_count}",
            text.at(int(lines[-1]) if len(lines) else counts_at),
            "The file was cut short, or its counts are wrong: write it again, or correct them",
        )
    expected = "x y z of each vertex"
    rows = text.numbers(lines[:vertex_count], 0, expected)
    text.need(rows, 3, expected)
    vertices = rows.columns(0, 3)
    text.need_finite(rows, vertices)
    counts, corners = _faces(text, lines[vertex_count : vertex_count + face_count], vertex_count)
    places, _ = to_triangles(counts, corners, vertices)
    colors = _colors(rows, 6 if has_normals else 3) if has_colors else None
    uv = None
    if has_uv and (rows.count >= 5).all():
        per_vertex = rows.values[(rows.first + rows.count)[:, None] + np.array([-2, -1])]
        uv = as_uv(per_vertex)[corners[places]]
    look = look_of(uv, (), None, (), None, colors)
    return SurfaceMesh(vertices, corners[places].astype(np.int32), source.stem(path), (), look)


def _number(text: Text, line: int) -> str:
    return text.at(line).rsplit(" ", 1)[-1]


def _header(text: Text, lines: np.ndarray) -> tuple[bool, bool, bool, int, np.ndarray]:
    """What vertices carry (texture, colour, normal), the line of the counts, and the lines after it."""
    first = text.line(int(lines[0]))
    found = KEYWORD.match(first)
    if not found:
        raise InputError(
            f"the first line is {first[:40]!r}, not the word OFF", text.at(int(lines[0])), f"Give a file with {WHAT}"
        )
    if found[4] or found[5] or found[6]:
        raise InputError(
            f"{first[:40]!r} is of a kind that is not read: four dimensions, n dimensions or binary",
            text.at(int(lines[0])),
            "Save it as a plain OFF text file",
        )
    # The counts may stand behind the word.
    behind = first[found.end() :].partition("#")[0].strip()
    at = 0 if behind else 1
    if at >= len(lines):
        raise InputError("the file ends after its first line", text.at(int(lines[0])), f"Give a file with {WHAT}")
    return bool(found[1]), bool(found[2]), bool(found[3]), int(lines[at]), lines[at + 1 :]


def _counts(text: Text, line: int) -> tuple[int, int]:
    words = text.line(line).partition("#")[0].split()
    words = words[1:] if words and words[0].endswith("OFF") else words
    if len(words) < 2 or not all(re.fullmatch(r"\+?\d{1,18}", word) for word in words[:2]):
        raise InputError(
            f"{text.line(line)[:60]!r} does not give the counts",
            text.at(line),
            "Write the number of vertices, of faces and of edges there",
        )
    counts = int(words[0]), int(words[1])
    if not counts[0] or not counts[1]:
        raise InputError(
            f"announces {counts[0]} vertices and {counts[1]} faces", text.at(line), "Give at least one of each"
        )
    return counts


def _faces(text: Text, lines: np.ndarray, vertex_count: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners of each polygon (p,) and their vertex numbers (c,) int64."""
    expected = "the number of corners and then as many vertex numbers, from 0"
    rows = text.numbers(lines, 0, expected)
    text.need(rows, 1, expected)
    counts = rows.values[rows.first]
    bad = (counts != np.rint(counts)) | (counts < 1) | (counts > rows.count - 1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{text.line(int(lines[row]))[:60]!r} announces {counts[row]:g} corners and has {rows.count[row] - 1} "
            "numbers behind that",
            text.at(int(lines[row])),
            f"Give {expected}",
        )
    counts = counts.astype(np.int64)
    face_of = np.repeat(np.arange(len(counts)), counts)
    step = np.arange(len(face_of)) - np.repeat(np.cumsum(counts) - counts, counts)
    corners = rows.values[rows.first[face_of] + 1 + step]
    bad = (corners != np.rint(corners)) | (corners < 0) | (corners >= vertex_count)
    if bad.any():
        at = int(np.argmax(bad))
        line = int(lines[face_of[at]])
        raise InputError(
            f"{text.line(line)[:60]!r} names vertex {corners[at]:g}, out of range",
            text.at(line),
            f"The file has {vertex_count} vertices: give 0 to {vertex_count - 1}",
        )
    return counts, corners.astype(np.int64)


def _colors(rows: Rows, start: int) -> np.ndarray | None:
    """Colours (n, 4) from 0 to 1 that stand behind each vertex."""
    width = int(rows.count.min()) - start
    if width < 3:
        return None
    return as_colors(rows.columns(start, min(width, 4)))


def write(mesh: SurfaceMesh | TetMesh, path: Path) -> None:
    """Write a surface, with its vertex colours as COFF; of a tet mesh the boundary. Paints and parts are left out."""
    surface = mesh.surface_mesh() if isinstance(mesh, TetMesh) else mesh
    colors = surface.look.vertex_colors if surface.look else None
    points = surface.vertices
    if colors is not None:
        points = np.concatenate([points, colors.astype(np.float64)], axis=1)
    with replace_file(path) as file:
        file.write(f"{'OFF' if colors is None else 'COFF'}\n{len(points)} {len(surface.triangles)} 0\n".encode())
        for block in float_rows(points):
            file.write(block)
        for block in float_rows(surface.triangles, "3 "):
            file.write(block)
