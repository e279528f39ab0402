"""Polylines of Wavefront OBJ: records that start with l (Wavefront's appendix B1)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh.io import source
from pliant.mesh.io.lines import NEWLINE, Text, parse, word_starts
from pliant.mesh.io.obj import read_vertices, resolve
from pliant.mesh.io.rod_files import FoundRods
from pliant.mesh.io.rows_of_text import float_rows
from pliant.mesh.rods import RodMesh

WHAT = "vertices (v x y z) and polylines (l 1 2 3)"


def read_rods(path: Path) -> FoundRods:
    """Read the polylines; faces are left out, which the notes tell."""
    data = source.load(path, WHAT)
    source.check_content(path, data, "Wavefront OBJ", (".obj",))
    text = Text(data, path, WHAT, continued=True)
    is_v, is_l, is_f = text.starting(b"v"), text.starting(b"l"), text.starting(b"f")
    if not is_v.any():
        raise InputError("holds no vertex (no line that starts with 'v')", str(path), f"Give a file with {WHAT}")
    if not is_l.any():
        surface = ". It holds a surface: Scene.add makes a body of it" if is_f.any() else ""
        raise InputError(
            "holds no polyline (no line that starts with 'l')", str(path), f"Give a file with {WHAT}{surface}"
        )
    vertices, _ = read_vertices(text, is_v)
    lines = np.flatnonzero(is_l)
    # numbers of texture coordinates stand after a slash
    cut = text.cut(is_l, 1).tobytes()
    plain = np.frombuffer(re.sub(rb"/[^\s]*", lambda found: b" " * len(found[0]), cut), np.uint8)
    starts = word_starts(plain)
    numbers = parse(plain, len(starts), np.int64)
    if numbers is None:
        raise _bad_line(text, lines)
    ends = np.flatnonzero(plain == NEWLINE)
    first = np.searchsorted(starts, np.concatenate([[0], ends])[:-1])
    counts = np.diff(np.append(first, len(starts)))
    if (counts < 2).any():
        line = int(lines[np.argmax(counts < 2)])
        raise InputError(f"{text.line(line)[:60]!r} has fewer than two points", text.at(line), "Give l 1 2")
    line_of = np.repeat(np.arange(len(lines)), counts)
    points = resolve(text, numbers, lines[line_of], is_v, "vertex")
    inside = line_of[1:] == line_of[:-1]
    segments = np.stack([points[:-1], points[1:]], axis=1)[inside]
    faces = int(is_f.sum())
    return FoundRods(vertices, segments, None, (f"the file's {faces} faces were left out",) if faces else ())


def _bad_line(text: Text, lines: np.ndarray) -> InputError:
    for line in lines:
        for word in text.line(int(line)).partition("#")[0].split()[1:]:
            if not re.fullmatch(r"[+-]?\d+(/[+-]?\d*)?", word):
                return InputError(
                    f"{word[:40]!r} is not a point of a polyline", text.at(int(line)), "Give whole numbers: v or v/vt"
                )
    return InputError("a polyline holds something that is not a point", str(text.path), "Give whole numbers")


def write_rods(mesh: RodMesh, path: Path) -> None:
    """Write the vertices in their order and a line for each segment; radii are left out."""
    with replace_file(path) as file:
        file.writelines(float_rows(mesh.vertices, "v "))
        file.write("".join(f"l {a + 1} {b + 1}\n" for a, b in mesh.segments.tolist()).encode())
