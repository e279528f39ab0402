"""Two text files, one of vertices and one of tets, each a count and then one line per item (Lesmes section 5.1)."""

from __future__ import annotations

import os
from pathlib import Path

from pliant.errors import InputError
from pliant.mesh.io.table import Table, read_table, write_table
from pliant.mesh.tets import TetMesh

VERTEX_COLUMNS = ["x", "y", "z"]
TET_COLUMNS = ["vertex 1", "vertex 2", "vertex 3", "vertex 4"]


def pair_paths(path: str | os.PathLike) -> tuple[Path, Path]:
    """Vertex file and tet file that belong together, from the name of either.

    ``bunny.vert`` and ``bunny.tet``; ``bunny_vertices.txt`` and ``bunny_tets.txt``, also from ``bunny.txt``.
    """
    path = Path(path)
    if path.suffix.lower() in (".vert", ".tet"):
        upper = path.suffix.isupper()
        return path.with_suffix(".VERT" if upper else ".vert"), path.with_suffix(".TET" if upper else ".tet")
    stem = path.stem.removesuffix("_vertices").removesuffix("_tets")
    return path.with_name(f"{stem}_vertices{path.suffix}"), path.with_name(f"{stem}_tets{path.suffix}")


def read_text_pair(vertex_path: str | os.PathLike, tet_path: str | os.PathLike) -> TetMesh:
    """Read the two files; vertex numbers may start at 0 or at 1.

    They are taken to start at 1 when none is 0 and the largest equals the number of vertices; the mesh's notes
    say so.
    """
    table = read_table(vertex_path, "the number of vertices and then x y z on each line")
    count = _announced(table, "vertices")
    vertices = table.numbers(count, VERTEX_COLUMNS, "vertices")

    table = read_table(tet_path, "the number of tets and then four vertex numbers on each line")
    rows = table.numbers(_announced(table, "tets"), TET_COLUMNS, "tets")
    base = 1 if rows.min() >= 1 and rows.max() == count else 0
    remedy = f"{vertex_path} lists {count} vertices: use the numbers 0 to {count - 1}, or 1 to {count} throughout"
    tets = table.corner_numbers(rows, TET_COLUMNS, base, count, remedy)
    notes = (f"vertex numbers in {tet_path} start at 1",) if base else ()
    return TetMesh(vertices, tets, _name(vertex_path), notes)


def _announced(table: Table, what: str) -> int:
    """The count on the first line, which must stand alone."""
    if len(table.header) > 1:
        raise InputError(
            f"the first line {' '.join(table.header)[:60]!r} has {len(table.header)} words",
            table.at(table.header_line),
            f"Put the number of {what} alone on the first line",
        )
    return table.header_count(0, f"number of {what}")


def _name(vertex_path: str | os.PathLike) -> str:
    return Path(vertex_path).stem.removesuffix("_vertices")


def write_text_pair(mesh: TetMesh, vertex_path: str | os.PathLike, tet_path: str | os.PathLike) -> None:
    """Write the two files, vertex numbers from 0."""
    write_table(vertex_path, str(len(mesh.vertices)), mesh.vertices)
    write_table(tet_path, str(len(mesh.tets)), mesh.tets)
