"""From the elements of a volume file to a mesh: what is taken, cut into triangles, left out or refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.io.polygons import to_triangles
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

TET = ("tetra", "VTK_LAGRANGE_TETRAHEDRON")
TRIANGLE = ("triangle", "VTK_LAGRANGE_TRIANGLE")
QUAD = ("quad", "VTK_LAGRANGE_QUADRILATERAL")
POLYGON = ("polygon",)
THIN = ("vertex", "line", "empty", "VTK_LAGRANGE_CURVE", "VTK_BEZIER_CURVE")
"""Of no use to a mesh of tets or triangles: passed over without a word."""
PLURAL = {
    "hexahedron": "hexahedra",
    "wedge": "prisms (wedges)",
    "pyramid": "pyramids",
    "line": "edges",
    "polygon": "polygons",
}

Blocks = Sequence[tuple[str, np.ndarray]]
"""Kind of element (meshio's names: ``tetra``, ``tetra10``, ``triangle``, ``quad``, ``hexahedron``...) and its vertex
numbers (m, k) from 0, corners first."""


def mesh_of(path: Path, vertices: np.ndarray, blocks: Blocks, notes: Sequence[str] = ()) -> SurfaceMesh | TetMesh:
    """The tets of a file, or its triangles when it has no tets; the mesh's notes tell what else it holds.

    Of second-order elements the corners are taken. Quads and polygons are cut into triangles. Vertices that only
    belong to what was left out are left out as well.

    Args:
        path: for the name and for messages.
        vertices: (n, 3) [m].
        blocks: the elements; several blocks of one kind are joined.
        notes: what was found on the way here.
    """
    where = str(path)
    arrays.check_finite(vertices, where)
    blocks = [(kind, np.asarray(cells)) for kind, cells in blocks if len(cells)]
    tets = _corners(_of(blocks, TET), 4, "tet", len(vertices), where)
    triangles = _corners(_of(blocks, TRIANGLE), 3, "triangle", len(vertices), where)
    quads = _corners(_of(blocks, QUAD), 4, "quad", len(vertices), where)
    polygons = _of(blocks, POLYGON)
    known = TET + TRIANGLE + QUAD + POLYGON + THIN
    others = [block for block in blocks if not block[0].startswith(known)]
    told = list(notes)

    mesh: SurfaceMesh | TetMesh
    if len(tets):
        second = any(cells.shape[1] > 4 for _, cells in _of(blocks, TET))
        if second:
            told.append(f"{path} holds second-order tets: their four corners were taken")
        if others:
            told.append(f"{_kinds(others)} were left out: only tets are simulated")
        if passed := len(triangles) + len(quads) + sum(len(cells) for _, cells in polygons):
            told.append(f"the file's {passed} triangles and other surface elements were passed over")
        mesh = TetMesh(vertices, tets, path.stem, tuple(told))
        return mesh.drop_unused() if second or others else mesh
    if others:
        raise InputError(
            f"holds {_kinds(others)} and no tets",
            where,
            "Cut the elements into tets, or mesh the solid again with tets, or give its surface as triangles",
        )
    many = [_corners([block], block[1].shape[1], "polygon", len(vertices), where) for block in polygons]
    if not len(triangles) and not len(quads) and not many:
        found = f"{_kinds(blocks)} and " if blocks else ""
        raise InputError(f"holds {found}no tets or triangles", where, "Give a mesh of tets or of triangles")
    second = any(cells.shape[1] > 3 for _, cells in _of(blocks, TRIANGLE))
    second |= any(cells.shape[1] > 4 for _, cells in _of(blocks, QUAD))
    if second:
        told.append(f"{path} holds second-order surface elements: their corners were taken")
    if len(quads):
        told.append(f"{len(quads)} quads were cut into two triangles each")
    if many:
        told.append(f"{_kinds(polygons)} were cut into triangles")
    pieces = [triangles, *(_cut(rows, vertices) for rows in (quads, *many) if len(rows))]
    mesh = SurfaceMesh(vertices, np.concatenate(pieces), path.stem, tuple(told))
    return mesh.drop_unused() if second else mesh


def _of(blocks: Blocks, kinds: tuple[str, ...]) -> list[tuple[str, np.ndarray]]:
    """The blocks whose kind begins like one of ``kinds``."""
    return [block for block in blocks if block[0].startswith(kinds)]


def _corners(blocks: Blocks, corners: int, kind: str, count: int, where: str) -> np.ndarray:
    """The corners (m, corners) int64 of all blocks, each in range."""
    if not blocks:
        return np.zeros((0, corners), np.int64)
    rows = np.concatenate([cells[:, :corners] for _, cells in blocks]).astype(np.int64)
    outside = (rows < 0) | (rows >= count)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise InputError(
            f"{kind} {row} is {rows[row].tolist()}: vertex number {rows[row, column]} is out of range",
            where,
            f"There are {count} vertices; the file is damaged, or names vertices that it does not hold",
        )
    return rows


def _cut(polygons: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """Triangles (t, 3) int64 of polygons (m, k) with k corners each, wound as they are."""
    counts = np.full(len(polygons), polygons.shape[1])
    places, _ = to_triangles(counts, polygons.ravel(), vertices)
    return polygons.ravel()[places]


def _kinds(blocks: Blocks) -> str:
    """The kinds of element and how many there are of each, for a message."""
    totals: dict[str, int] = {}
    for kind, cells in blocks:
        name = next((plural for start, plural in PLURAL.items() if kind.startswith(start)), f"{kind} elements")
        totals[name] = totals.get(name, 0) + len(cells)
    return ", ".join(f"{count} {name}" for name, count in totals.items())


def check_writable(mesh: SurfaceMesh | TetMesh, path: Path) -> np.ndarray:
    """The tets or triangles of a mesh that a file can hold, or an `InputError`."""
    if isinstance(mesh, TetMesh):
        kind, elements = "tet", mesh.tets
    elif isinstance(mesh, SurfaceMesh):
        kind, elements = "triangle", mesh.triangles
    else:
        raise InputError(f"{type(mesh).__name__} is no mesh", str(path), "Give a TetMesh or a SurfaceMesh")
    if not len(elements):
        raise InputError(f"the mesh has no {kind}s", str(path), f"Give at least one {kind}")
    arrays.check_finite(mesh.vertices, str(path))
    if elements.min() < 0 or elements.max() >= len(mesh.vertices):
        arrays.check_indices(elements, len(mesh.vertices), kind, str(path))
    return elements
