"""Wavefront OBJ: vertices, texture coordinates, polygons, objects and groups, materials (Wavefront's appendix B1)."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh.io import material_library, source
from pliant.mesh.io.lines import NEWLINE, Text, parse, word_starts
from pliant.mesh.io.pieces import as_colors, as_uv, look_of
from pliant.mesh.io.polygons import to_triangles
from pliant.mesh.io.rows_of_text import BLOCK, float_rows
from pliant.mesh.look import Look, Paint
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

WHAT = "vertices (v x y z) and faces (f 1 2 3)"
SLASH = 47
CORNER = re.compile(r"[+-]?\d+(/([+-]?\d+)?(/([+-]?\d+)?)?)?")


def read(path: Path) -> SurfaceMesh:
    """Read a surface; vertices are not split at the seams of the texture, since texture coordinates are per corner.

    Normals, curves and unknown statements are read over. A material library that is not found costs its colours
    and gives a note.
    """
    data = source.load(path, WHAT)
    source.check_content(path, data, "Wavefront OBJ", (".obj",))
    text = Text(data, path, WHAT, continued=True)
    is_v, is_f = text.starting(b"v"), text.starting(b"f")
    if not is_v.any():
        raise InputError("holds no vertex (no line that starts with 'v')", str(path), f"Give a file with {WHAT}")
    if not is_f.any():
        rods = ". Its lines are read by RodMesh.load" if text.starting(b"l").any() else ""
        raise InputError("holds no face (no line that starts with 'f')", str(path), f"Give a file with {WHAT}{rods}")
    vertices, colors = read_vertices(text, is_v)
    is_vt = text.starting(b"vt")
    counts, corner, uv_corner, face_lines = _read_faces(text, is_f, is_v, is_vt)
    places, face_of = to_triangles(counts, corner, vertices)
    uv = None
    if is_vt.any() and (uv_corner >= 0).any():
        table = _read_texture_coordinates(text, is_vt)
        uv = as_uv(np.where((uv_corner >= 0)[:, None], table[np.maximum(uv_corner, 0)], 0.0))[places]

    notes: list[str] = []
    parts, part_of = _named(text, face_lines, (b"o", b"g"))
    names, paint_of = _named(text, face_lines, (b"usemtl",))
    paints = _paints(text, path, names, notes)
    look = look_of(uv, paints, paint_of[face_of], parts, part_of[face_of], colors)
    return SurfaceMesh(vertices, corner[places].astype(np.int32), source.stem(path), tuple(notes), look)


def read_vertices(text: Text, is_v: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Positions (n, 3) [m] and colours (n, 4) from 0 to 1, if there are any."""
    rows = text.numbers(is_v, 1, "v x y z")
    text.need(rows, 3, "v x y z")
    vertices = rows.columns(0, 3)
    text.need_finite(rows, vertices)
    colored = rows.count >= 6
    if not colored.any():
        return vertices, None
    # The colour is the last three numbers: a weight may stand before it.
    at = (rows.first + rows.count - 3)[colored]
    colors = np.ones((len(vertices), 4), dtype=np.float32)
    colors[colored] = as_colors(rows.values[at[:, None] + np.arange(3)])
    return vertices, colors


def _read_texture_coordinates(text: Text, is_vt: np.ndarray) -> np.ndarray:
    """Texture coordinates (t, 2)."""
    rows = text.numbers(is_vt, 2, "vt u v")
    text.need(rows, 1, "vt u v")
    if (rows.count == 1).any():
        values = np.zeros((len(rows.count), 2))
        values[:, 0] = rows.values[rows.first]
        two = rows.count > 1
        values[two, 1] = rows.values[rows.first[two] + 1]
    else:
        values = rows.columns(0, 2)
    text.need_finite(rows, values)
    return values


def _read_faces(
    text: Text, is_f: np.ndarray, is_v: np.ndarray, is_vt: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Corners of the polygons.

    Returns:
        counts: corners of each polygon (p,).
        vertex: vertex number of each corner (c,) int64 from 0.
        texture: number of its texture coordinate (c,), -1 for none.
        lines: the line of each polygon (p,).
    """
    lines = np.flatnonzero(is_f)
    data = text.cut(is_f, 1)
    starts = word_starts(data)
    slash = data == SLASH
    spaced = np.where(slash, np.uint8(32), data)
    number_at = word_starts(spaced)
    numbers = parse(spaced, len(number_at), np.int64)
    if numbers is None:
        raise _bad_corner(text, lines)
    ends = np.flatnonzero(data == NEWLINE)
    first = np.searchsorted(starts, np.concatenate([[0], ends])[:-1])
    counts = np.diff(np.append(first, len(starts)))
    face_of = np.repeat(np.arange(len(lines)), counts)

    # The field of a number is how many slashes stand between it and the start of its word: v/vt/vn.
    texture_at = np.full(len(starts), -1, dtype=np.int64)
    if slash.any():
        passed = np.cumsum(slash, dtype=np.int32)
        word = np.searchsorted(starts, number_at, side="right") - 1
        field = passed[number_at] - (passed[starts] - slash[starts])[word]
        vertex_at = np.flatnonzero(field == 0)
        leads = np.zeros(len(starts), dtype=bool)
        leads[word[vertex_at]] = True
        if len(vertex_at) != len(starts) or not leads.all() or field.max() > 2:
            raise _bad_corner(text, lines)
        vertex = numbers[vertex_at]
        has = np.flatnonzero(field == 1)
        texture_at[word[has]] = has
    else:
        vertex = numbers
    if (counts < 3).any():
        line = int(lines[np.argmax(counts < 3)])
        raise InputError(f"{text.line(line)[:60]!r} has fewer than three corners", text.at(line), "Give f 1 2 3")

    vertex = resolve(text, vertex, lines[face_of], is_v, "vertex")
    texture = np.full(len(starts), -1, dtype=np.int64)
    textured = np.flatnonzero(texture_at >= 0)
    if len(textured):
        wanted = numbers[texture_at[textured]]
        texture[textured] = resolve(text, wanted, lines[face_of[textured]], is_vt, "texture coordinate")
    return counts, vertex, texture, lines


def resolve(text: Text, numbers: np.ndarray, lines: np.ndarray, is_item: np.ndarray, what: str) -> np.ndarray:
    """Numbers from 0, of those counted from 1, or backwards from the line they stand on."""
    total = int(is_item.sum())
    negative = numbers < 0
    found = numbers - 1
    if negative.any():
        before = np.cumsum(is_item)
        found[negative] = before[lines[negative]] + numbers[negative]
    bad = (found < 0) | (found >= total)
    if bad.any():
        row = int(np.argmax(bad))
        line = int(lines[row])
        raise InputError(
            f"{text.line(line)[:60]!r} names {what} {int(numbers[row])}, out of range",
            text.at(line),
            f"The file has {total} of them: give 1 to {total}, or count backwards from -1",
        )
    return found


def _bad_corner(text: Text, lines: np.ndarray) -> InputError:
    """The error for the first face with a corner that is not one to three whole numbers."""
    for line in lines:
        for word in text.line(int(line)).partition("#")[0].split()[1:]:
            if not CORNER.fullmatch(word):
                return InputError(
                    f"{word[:40]!r} is not a corner of a face",
                    text.at(int(line)),
                    "Give whole numbers: v, v/vt, v//vn or v/vt/vn",
                )
    return InputError("a face holds something that is not a corner", str(text.path), "Give whole numbers")


def _named(text: Text, face_lines: np.ndarray, words: tuple[bytes, ...]) -> tuple[tuple[str, ...], np.ndarray]:
    """Names that statements give to the faces after them, those used in order; and the name of each face (p,)."""
    is_name = np.logical_or.reduce([text.starting(word) for word in words])
    statements = np.flatnonzero(is_name)
    numbers: dict[str, int] = {}
    of_statement = np.full(len(statements) + 1, -1, dtype=np.int32)
    place = np.searchsorted(statements, face_lines)
    for statement in np.unique(place[place > 0]):
        line = text.line(int(statements[statement - 1])).split(None, 1)
        name = line[1].strip() if len(line) > 1 else ""
        if name:
            of_statement[statement] = numbers.setdefault(name, len(numbers))
    return tuple(numbers), of_statement[place]


def _paints(text: Text, path: Path, names: tuple[str, ...], notes: list[str]) -> tuple[Paint, ...]:
    """The paints of these names, from the material libraries that the file names; grey where there is none."""
    known: dict[str, Paint] = {}
    for line in np.flatnonzero(text.starting(b"mtllib")):
        found = text.line(int(line)).split(None, 1)
        known |= material_library.read(path, found[1].strip() if len(found) > 1 else "", notes)
    missing = [name for name in names if name not in known]
    if missing and known:
        notes.append(f"the material {missing[0]!r} is in no material library: it is shown grey")
    return tuple(known.get(name, Paint(name)) for name in names)


def write(mesh: SurfaceMesh | TetMesh, path: Path, library: Path | None = None) -> None:
    """Write a surface, and its paints to a ``.mtl`` file beside it; of a tet mesh the boundary.

    Args:
        mesh: what to write.
        path: where to.
        library: a ``.mtl`` file in the same folder that holds the paints already, as for the frames of a sequence.
    """
    surface = mesh.surface_mesh() if isinstance(mesh, TetMesh) else mesh
    look = surface.look or Look()
    if look.paints and library is None:
        library = path.with_suffix(".mtl")
        material_library.write(look.paints, library)
    with replace_file(path) as file:
        if library is not None:
            file.write(f"mtllib {library.name}\n".encode())
        points = surface.vertices
        if look.vertex_colors is not None:
            points = np.concatenate([points, look.vertex_colors[:, :3].astype(np.float64)], axis=1)
        for block in float_rows(points, "v "):
            file.write(block)
        corners = surface.triangles.astype(np.int64)[:, :, None] + 1
        if look.uv is not None:
            table, number = np.unique(look.uv.reshape(-1, 2), axis=0, return_inverse=True)
            for block in float_rows(table, "vt "):
                file.write(block)
            corners = np.concatenate([corners, number.reshape(-1, 3, 1) + 1], axis=2)
        for part, paint, start, stop in _runs(look, len(corners)):
            if part is not None:
                file.write(f"g {part}\n".encode())
            if paint is not None:
                file.write(f"usemtl {paint}\n".encode())
            for first in range(start, stop, BLOCK):
                rows = corners[first : min(first + BLOCK, stop)].reshape(-1, 3 * corners.shape[2]).tolist()
                form = "f %d %d %d\n" if corners.shape[2] == 1 else "f %d/%d %d/%d %d/%d\n"
                file.write("".join(form % tuple(row) for row in rows).encode())


def _runs(look: Look, count: int) -> list[tuple[str | None, str | None, int, int]]:
    """Stretches of triangles of one part and paint: part and paint (None when as before), first and last + 1."""
    none = np.full(count, -1, dtype=np.int32)
    part_of = none if look.part_of is None else look.part_of
    paint_of = none if look.paint_of is None else look.paint_of
    change = np.flatnonzero((np.diff(part_of) != 0) | (np.diff(paint_of) != 0)) + 1
    bounds = [0, *change.tolist(), count]
    runs, part, paint = [], -1, -1
    for start, stop in itertools.pairwise(bounds):
        if start == stop:
            continue
        new_part, new_paint = int(part_of[start]), int(paint_of[start])
        runs.append((
            None if new_part == part else _one_line(look.parts[new_part]) if new_part >= 0 else "",
            None if new_paint == paint else _one_line(look.paints[new_paint].name) if new_paint >= 0 else "",
            start,
            stop,
        ))  # fmt: skip
        part, paint = new_part, new_paint
    return runs


def _one_line(name: str) -> str:
    return " ".join(name.split())
