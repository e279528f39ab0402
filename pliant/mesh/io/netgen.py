"""NETGEN's ``.vol`` files (NETGEN 6, ``Mesh::Save``): sections of counts and rows, ``mesh3d`` to ``endmesh``.

NETGEN orders the corners of a tet the other way round than `TetMesh` does: its volume is
-(x1 - x0) x (x2 - x0) . (x3 - x0) / 6. Reading and writing swap the last two corners.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh.io.elements import check_writable, mesh_of
from pliant.mesh.io.sections import Numbers, Section, Source, lines_of, read_source
from pliant.mesh.io.source import stem
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

WHAT = "a NETGEN mesh: 'mesh3d', the sections surfaceelements, volumeelements and points, then 'endmesh'"
KEYWORD = re.compile(r"(?:\A|\n)[ \t]*([A-Za-z_]\w*)")
SURFACES = {"surfaceelements": 0, "surfaceelementsgi": 1, "surfaceelementsuv": 2}
"""Numbers for each corner that follow the corners."""
SURFACE_KINDS = {3: "triangle", 4: "quad", 6: "triangle6", 8: "quad8"}
VOLUME_KINDS = {4: "tetra", 5: "pyramid", 6: "wedge", 8: "hexahedron", 10: "tetra10", 13: "pyramid13"} | {
    15: "wedge15",
    20: "hexahedron20",
}
DECORATION = {
    "mesh3d",
    "dimension",
    "geomtype",
    "surf1",
    "pointelements",
    "edgesegments",
    "edgesegmentsgi",
    "edgesegmentsgi2",
    "identifications",
    "identificationtypes",
    "identificationnames",
    "materials",
    "bcnames",
    "cd2names",
    "cd3names",
    "singular_points",
    "singular_edge_left",
    "singular_edge_right",
    "singular_face_inside",
    "singular_face_outside",
    "face_colours",
    "face_transparencies",
}
"""Sections whose absence changes nothing for a simulation: passed over without a word."""


def read(path: Path) -> SurfaceMesh | TetMesh:
    """Read a file: its tets, or its triangles when it has no volume elements.

    When most tets have a negative volume, as in every file that NETGEN writes, the last two corners of all are
    swapped. Tets that are inside out after this stay so; `read_tets` turns them.
    """
    source = read_source(Path(path), WHAT, "NETGEN", (".vol",))
    sections = source.sections(KEYWORD)
    names = [section.keyword for section in sections]
    if not names or names[0] != "mesh3d" or source.text[: sections[0].keyword_at].strip():
        first = source.text.split(maxsplit=1)[:1]
        found = f"begins with {first[0][:40]!r}" if first else "is empty"
        start = len(source.text) - len(source.text.lstrip())
        raise InputError(f"{found}, not with 'mesh3d'", source.at(start), f"Give {WHAT}")
    if "endmesh" not in names:
        raise InputError(
            "the file does not come to 'endmesh': it was cut short",
            source.at(len(source.text.rstrip())),
            "Write it again; if nothing is missing, add a line with endmesh",
        )
    # Geometry may follow.
    sections = sections[: names.index("endmesh")]
    _check_dimension(sections)
    points = _points(source, sections)
    blocks: list[tuple[str, np.ndarray]] = []
    unknown = []
    for section in sections:
        if section.keyword == "volumeelements":
            blocks += _elements(section, len(points), ["material", "np"], VOLUME_KINDS, 0, "volume element")
        elif section.keyword in SURFACES:
            head = ["surface", "bc", "domain inside", "domain outside", "np"]
            extra = SURFACES[section.keyword]
            blocks += _elements(section, len(points), head, SURFACE_KINDS, extra, "surface element")
        elif section.keyword not in DECORATION and section.keyword != "points":
            unknown.append(section.keyword)
    notes = ["sections passed over: " + ", ".join(sorted(set(unknown)))] if unknown else []
    mesh = dataclasses.replace(mesh_of(source.path, points, blocks, notes), name=stem(source.path))
    return from_netgen_order(mesh) if isinstance(mesh, TetMesh) else mesh


def from_netgen_order(mesh: TetMesh) -> TetMesh:
    """A copy with the last two corners of all tets swapped, when most have a negative volume; else the mesh itself."""
    if 2 * int((mesh.volumes() < 0.0).sum()) <= len(mesh.tets):
        return mesh
    return dataclasses.replace(mesh, tets=mesh.tets[:, [0, 1, 3, 2]])


def _check_dimension(sections: list[Section]) -> None:
    for section in sections:
        if section.keyword == "dimension":
            numbers = section.numbers()
            dimension = numbers.count("dimensions")
            numbers.done()
            if dimension != 3:
                raise InputError(f"the dimension is {dimension}", numbers.where(0), "Give a mesh in three dimensions")


def _points(source: Source, sections: list[Section]) -> np.ndarray:
    """Positions (n, 3) [m]."""
    found = [section for section in sections if section.keyword == "points"]
    if len(found) != 1:
        where = found[1].where if found else source.where
        raise InputError(f"has {len(found)} sections 'points'", where, "Give the points in one section")
    numbers = found[0].numbers()
    rows = numbers.rows(numbers.count("points"), ["x", "y", "z"], "point")
    numbers.done()
    return rows.values


def _elements(
    section: Section, count: int, head: list[str], kinds: dict[int, str], extra: int, what: str
) -> list[tuple[str, np.ndarray]]:
    """Kind and vertex numbers (m, k) int64 from 0, one block for each run of rows of one kind.

    Args:
        section: rows of ``head``, whose last column says how many points follow, the points, and what goes with them.
        count: how many points the file has.
        head: names of the columns before the points.
        kinds: the kind of element for each number of points.
        extra: how many numbers for each point follow the points.
        what: what a row describes, for messages.
    """
    numbers = section.numbers()
    total = numbers.count(section.keyword)
    blocks = []
    try:
        starts, sizes = _starts(numbers, total, len(head), kinds, extra, what)
        for points in np.unique(sizes).tolist():
            columns = [*head, *(f"point {i + 1}" for i in range(points))]
            columns += [f"datum {i + 1}" for i in range(extra * points)]
            mine = np.flatnonzero(sizes == points)
            rows = numbers.rows_at(starts[mine], columns, what, mine + 1)
            distinct = 4 if kinds[points].startswith("tetra") else 0
            corners = slice(len(head), len(head) + points)
            blocks.append((kinds[points], numbers.corners(rows, corners, count, distinct)))
        numbers.done()
    except InputError:
        # A number too few or too many shifts all that follow: tell the line where it happened.
        _find_odd_row(numbers, total, head, kinds, extra)
        raise
    return blocks


def _find_odd_row(numbers: Numbers, total: int, head: list[str], kinds: dict[int, str], extra: int) -> None:
    """Raise for the first line whose length does not fit the number of points that it tells."""
    for (where, words), _ in zip(numbers.lines_after(0), range(total)):
        said = float(words[len(head) - 1]) if len(words) >= len(head) else 0
        points = int(said) if said in kinds else min(kinds)
        expected = len(head) + points * (1 + extra)
        if len(words) != expected:
            raise InputError(
                f"{' '.join(words)[:60]!r} has {len(words)} numbers",
                where,
                f"There must be {expected} on this line: {' '.join(head)} and {points} points"
                + (f" with {extra} more numbers for each" if extra else ""),
            )


def _starts(
    numbers: Numbers, total: int, head: int, kinds: dict[int, str], extra: int, what: str
) -> tuple[np.ndarray, np.ndarray]:
    """Where each of the next rows begins, and how many points it has: (total,) int64 each; the rows are taken."""
    at, values = numbers.taken, numbers.values
    least = min(kinds)
    if total and at + head <= len(values):
        points = values[at + head - 1]
        width = head + int(points) * (1 + extra) if points in kinds else 0
        if width and at + total * width <= len(values) and (values[at + head - 1 :: width][:total] == points).all():
            numbers.taken += total * width
            return at + width * np.arange(total), np.full(total, int(points))
    # Elements of several kinds: each tells where the next begins, so this cannot be done for all at once.
    said = values.tolist()
    starts, sizes = [], []
    for row in range(total):
        # For 0 points NETGEN takes the least.
        size = (said[at + head - 1] or least) if at + head <= len(said) else least
        if size not in kinds:
            raise InputError(
                f"{what} {row + 1} has {size:.17g} points",
                numbers.where(at + head - 1),
                f"Known are those with {', '.join(map(str, kinds))}; a number may be missing on this line or before it",
            )
        starts.append(at)
        sizes.append(int(size))
        at += head + int(size) * (1 + extra)
        if at > len(said):
            raise InputError(
                f"the section ends after {row} of the {total} {what}s that it announces",
                numbers.where(len(said)),
                "The file was cut short, or the count is wrong",
            )
    numbers.taken = at
    return np.array(starts, dtype=np.int64), np.array(sizes, dtype=np.int64)


def write(mesh: SurfaceMesh | TetMesh, path: Path) -> None:
    """Write a file of one domain and one boundary; of tets their outer triangles are written as well.

    Names, paints and texture coordinates are not kept.
    """
    elements = check_writable(mesh, Path(path))
    solid = isinstance(mesh, TetMesh)
    triangles = mesh.surface() if isinstance(mesh, TetMesh) else mesh.triangles
    tets = elements[:, [0, 1, 3, 2]] if solid else np.zeros((0, 4), np.int32)
    with replace_file(path) as file:
        file.write(b"mesh3d\ndimension\n3\ngeomtype\n0\n\n")
        file.write(f"# surfnr bcnr domin domout np p1 p2 p3\nsurfaceelements\n{len(triangles)}\n".encode())
        file.writelines(lines_of(triangles.astype(np.int64) + 1, before="1 1 1 0 3 "))
        file.write(f"\n# matnr np p1 p2 p3 p4\nvolumeelements\n{len(tets)}\n".encode())
        file.writelines(lines_of(tets.astype(np.int64) + 1, before="1 4 "))
        file.write(f"\nedgesegmentsgi2\n0\n\n# X Y Z\npoints\n{len(mesh.vertices)}\n".encode())
        file.writelines(lines_of(mesh.vertices))
        file.write(b"\nendmesh\n")
