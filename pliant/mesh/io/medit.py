"""``.mesh`` files: INRIA's Medit format as text, and NETGEN's neutral format, told apart by their content.

Medit: P. J. Frey, "MEDIT: an interactive mesh visualization software", INRIA report RT-0253 (2001), section 7.
NETGEN neutral: NETGEN 4 user's guide, "The neutral format".
"""

from __future__ import annotations

import dataclasses
import gzip
import re
import zlib
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh.io.elements import check_writable, mesh_of
from pliant.mesh.io.netgen import from_netgen_order
from pliant.mesh.io.sections import Numbers, Rows, Section, Source, lines_of, read_source
from pliant.mesh.io.source import plain_name, stem
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

WHAT = "a mesh in Medit's text format ('MeshVersionFormatted') or in NETGEN's neutral format (counts and numbers alone)"
KEYWORD = re.compile(r"(?:\A|\s)([A-Za-z_]\w*)")
ELEMENTS = {
    "triangles": ("triangle", 3),
    "quadrilaterals": ("quad", 4),
    "tetrahedra": ("tetra", 4),
    "hexahedra": ("hexahedron", 8),
    "hexaedra": ("hexahedron", 8),
    "prisms": ("wedge", 6),
    "pyramids": ("pyramid", 5),
    "trianglesp2": ("triangle6", 6),
    "quadrilateralsq2": ("quad9", 9),
    "tetrahedrap2": ("tetra10", 10),
    "hexahedraq2": ("hexahedron27", 27),
    "prismsp2": ("wedge18", 18),
    "pyramidsp2": ("pyramid14", 14),
}
NEUTRAL_SOLIDS = {5: "tetra", 6: "pyramid", 7: "wedge", 9: "hexahedron", 11: "tetra10"}
NEUTRAL_SURFACES = {4: "triangle", 5: "quad", 7: "triangle6"}
BINARY_STARTS = (b"\x01\x00\x00\x00", b"\x00\x00\x00\x01")


def read(path: Path) -> SurfaceMesh | TetMesh:
    """Read a file of either format: its tets, or its triangles when it has no tets.

    Quads are cut into triangles. Other Medit sections are skipped, and the mesh's notes name them. A Medit file ends
    with ``End``; without it one that holds tets is still read, since nothing that matters can follow.
    """
    path = Path(path)
    _refuse_binary(path)
    source = read_source(path, WHAT, "Medit or NETGEN neutral", (".mesh",))
    first = source.text.split(maxsplit=1)[:1]
    if first and first[0].lower() == "meshversionformatted":
        return dataclasses.replace(_read_medit(source), name=stem(path))
    if first and re.fullmatch(r"\+?\d+", first[0]):
        return dataclasses.replace(_read_neutral(source), name=stem(path))
    found = f"begins with {first[0][:40]!r}" if first else "is empty"
    start = len(source.text) - len(source.text.lstrip())
    raise InputError(f"{found}, which neither of the two formats of this suffix does", source.at(start), f"Give {WHAT}")


def _refuse_binary(path: Path) -> None:
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as file:
            start = file.read(4)
    except (OSError, EOFError, zlib.error):
        # Said by what reads it next.
        return
    if start in BINARY_STARTS or plain_name(path).lower().endswith(".meshb"):
        raise InputError(
            "this is Medit's binary format (.meshb)",
            str(path),
            "Save it as text (.mesh), for example with: meshio convert old.meshb new.mesh",
        )


def _read_medit(source: Source) -> SurfaceMesh | TetMesh:
    sections = source.sections(KEYWORD)
    names = [section.keyword.lower() for section in sections]
    ended = "end" in names
    if ended:
        sections = sections[: names.index("end")]
        names = names[: names.index("end")]
    dimension = _dimension(source, sections, names)
    vertices = _vertices(source, sections, names, dimension)
    blocks = []
    notes = ["the file is flat: z is 0 everywhere"] if dimension == 2 else []
    skipped: dict[str, int] = {}
    for section, name in zip(sections, names):
        if name in ELEMENTS:
            kind, corners = ELEMENTS[name]
            blocks.append((kind, _elements(section, kind, corners, len(vertices))))
        elif name not in ("meshversionformatted", "dimension", "vertices"):
            _check_skipped(section, ended or section is not sections[-1])
            if count := section.announced():
                skipped[section.keyword] = skipped.get(section.keyword, 0) + count
    if skipped:
        notes.append("sections passed over: " + ", ".join(f"{name} ({count})" for name, count in skipped.items()))
    if not ended:
        if names[-1] == "vertices" or not any(kind.startswith("tetra") for kind, _ in blocks):
            raise InputError(
                "the file does not end with 'End': it seems to be cut short",
                source.at(len(source.text.rstrip())),
                "Write it again; if nothing is missing, add a line with End",
            )
        notes.append("the file does not end with 'End'; its vertices and tets are whole")
    return mesh_of(source.path, vertices, blocks, notes)


def _dimension(source: Source, sections: list[Section], names: list[str]) -> int:
    if "dimension" not in names:
        raise InputError("has no section Dimension", source.where, "Write 'Dimension 3' below the first line")
    numbers = sections[names.index("dimension")].numbers()
    dimension = numbers.count("coordinates")
    numbers.done()
    if dimension not in (2, 3):
        raise InputError(f"the dimension is {dimension}", numbers.where(0), "Give a mesh in three dimensions")
    return dimension


def _vertices(source: Source, sections: list[Section], names: list[str], dimension: int) -> np.ndarray:
    """Positions (n, 3) [m]."""
    found = [section for section, name in zip(sections, names) if name == "vertices"]
    if len(found) != 1:
        where = found[1].where if found else source.where
        raise InputError(f"has {len(found)} sections Vertices", where, "Give the vertices in one section")
    numbers = found[0].numbers()
    count = numbers.count("vertices")
    rows = numbers.rows(count, [*"xyz"[:dimension], "reference"], "vertex")
    numbers.done()
    vertices = np.zeros((count, 3))
    vertices[:, :dimension] = rows.values[:, :dimension]
    return vertices


def _elements(section: Section, kind: str, corners: int, count: int) -> np.ndarray:
    """Vertex numbers (m, corners) int64 from 0."""
    numbers = section.numbers()
    columns = [*(f"vertex {i + 1}" for i in range(corners)), "reference"]
    name = "tet" if kind.startswith("tetra") else kind.rstrip("0123456789")
    rows = numbers.rows(numbers.count(section.keyword), columns, name)
    numbers.done()
    return numbers.corners(rows, slice(0, corners), count, distinct=4 if kind.startswith("tetra") else 0)


def _check_skipped(section: Section, followed: bool) -> None:
    """Raise for the last section of a file without ``End`` when it says nothing: its keyword may be cut short."""
    if not followed and not section.source.text[section.start : section.end].strip():
        raise InputError(
            f"the file ends with the keyword {section.keyword[:40]!r}: it seems to be cut short",
            section.where,
            "Write it again; if nothing is missing, let it end with a line End",
        )


def _read_neutral(source: Source) -> SurfaceMesh | TetMesh:
    numbers = Numbers(source, "the file", 0, len(source.text))
    count = numbers.count("points")
    points = numbers.rows(count, ["x", "y", "z"], "point", by_line=True).values
    kind, rows = _neutral_rows(numbers, "subdomain", NEUTRAL_SOLIDS, "volume element")
    solids = numbers.corners(rows, slice(1, None), count, distinct=4 if kind.startswith("tetra") else 0)
    blocks = [(kind, solids)]
    kind, rows = _neutral_rows(numbers, "bc", NEUTRAL_SURFACES, "surface element")
    blocks.append((kind, numbers.corners(rows, slice(1, None), count)))
    numbers.done()
    if not len(solids) and not source.text[-1].isspace():
        raise InputError(
            "the last line does not end: the file seems to be cut short",
            source.at(len(source.text)),
            "Write it again; if nothing is missing, add a line end",
        )
    mesh = mesh_of(source.path, points, blocks)
    return from_netgen_order(mesh) if isinstance(mesh, TetMesh) else mesh


def _neutral_rows(numbers: Numbers, first: str, kinds: dict[int, str], what: str) -> tuple[str, Rows]:
    """Kind and rows of the elements that follow; the line of the first one tells how many numbers each has."""
    count = numbers.count(f"{what}s")
    width = numbers.words_on_line(numbers.taken) if count else 0
    if width not in kinds:
        # Nothing to read, or an error that the reading of rows of the usual width explains.
        width = min(kinds)
    columns = [first, *(f"point {i + 1}" for i in range(width - 1))]
    return kinds[width], numbers.rows(count, columns, what, by_line=True)


def write(mesh: SurfaceMesh | TetMesh, path: Path) -> None:
    """Write Medit text, numbers from 1, every reference 0; names, paints and texture coordinates are not kept."""
    elements = check_writable(mesh, Path(path))
    with replace_file(path) as file:
        file.write(f"MeshVersionFormatted 2\nDimension 3\n\nVertices\n{len(mesh.vertices)}\n".encode())
        file.writelines(lines_of(mesh.vertices, after=" 0"))
        keyword = "Tetrahedra" if isinstance(mesh, TetMesh) else "Triangles"
        file.write(f"\n{keyword}\n{len(elements)}\n".encode())
        file.writelines(lines_of(elements.astype(np.int64) + 1, after=" 0"))
        file.write(b"\nEnd\n")
