"""Gmsh's ``.msh`` (2 and 4, text and binary) and VTK's ``.vtk`` and ``.vtu``, through the package meshio."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError, MissingExtraError
from pliant.files import replace_path
from pliant.mesh.io.elements import check_writable, mesh_of
from pliant.mesh.io.gmsh_nodes import check_node_numbers
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

READ_AS = {".msh": "gmsh", ".vtk": "vtk", ".vtu": "vtu"}
WRITE_AS: dict[str, tuple[str, dict[str, Any]]] = {
    ".msh": ("gmsh22", {"binary": False}),
    ".vtk": ("vtk42", {"binary": True}),
    ".vtu": ("vtu", {"binary": True}),
}
"""The variant that most programs read."""
TITLES = {".msh": "a Gmsh mesh", ".vtk": "a legacy VTK file with an unstructured grid", ".vtu": "a VTK XML grid"}
GMSH_ENDS = (b"$EndMeshFormat", b"$EndNodes", b"$EndElements")


def read(path: Path) -> SurfaceMesh | TetMesh:
    """Read a file: its tets, or its triangles and quads when it has no tets; all blocks of elements are joined."""
    path = Path(path)
    suffix = _suffix(path, READ_AS)
    meshio = _meshio()
    data = _bytes(path, suffix)
    _check_ends(path, suffix, data)
    with _contained(path, f"cannot be read as {TITLES[suffix]}", "Write it again: it may be damaged or cut short"):
        found = meshio.read(path, file_format=READ_AS[suffix])
        points = np.asarray(found.points, dtype=np.float64).reshape(len(found.points), -1)
        blocks = [(block.type, _rectangular(block.data)) for block in found.cells]
    if not 2 <= points.shape[1] <= 3 or not len(points):
        raise InputError(f"holds points of shape {points.shape}", str(path), f"Give {TITLES[suffix]} with vertices")
    _check_cell_count(path, suffix, data, sum(len(cells) for _, cells in blocks))
    vertices = np.zeros((len(points), 3))
    vertices[:, : points.shape[1]] = points
    return mesh_of(path, vertices, blocks)


def write(mesh: SurfaceMesh | TetMesh, path: Path) -> None:
    """Write Gmsh 2.2 text, VTK 4.2 binary, or VTU binary; names, paints and texture coordinates are not kept."""
    path = Path(path)
    suffix = _suffix(path, WRITE_AS)
    meshio = _meshio()
    elements = check_writable(mesh, path)
    kind = "tetra" if isinstance(mesh, TetMesh) else "triangle"
    file_format, options = WRITE_AS[suffix]
    with replace_path(path) as temporary, _contained(path, f"cannot be written as {TITLES[suffix]}", writing=True):
        meshio.Mesh(mesh.vertices, [(kind, elements)]).write(temporary, file_format=file_format, **options)


def _suffix(path: Path, known: dict) -> str:
    suffix = path.suffix.lower()
    if suffix not in known:
        raise InputError(
            f"the suffix {suffix!r} is not one of these formats", str(path), f"Known are {', '.join(known)}"
        )
    return suffix


def _meshio() -> Any:
    try:
        import meshio
    except ImportError as error:
        raise MissingExtraError("meshio", "mesh", "Reading or writing .msh, .vtk and .vtu files") from error
    return meshio


@contextlib.contextmanager
def _contained(path: Path, what: str, remedy: str = "", writing: bool = False) -> Iterator[None]:
    """Keep meshio's console output back and turn whatever it raises, or its call to exit, into an `InputError`.

    While writing, errors of the system pass: `replace_path` explains those.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (Exception, SystemExit) as error:
        if isinstance(error, OSError) and writing:
            raise
        reason = " ".join(said.getvalue().split()) if isinstance(error, SystemExit) else ""
        # The last thing it says is that it could not read the file, which is no news.
        reason = re.sub(r"\s*Error: Couldn't read file.*", "", reason)
        if not reason and not isinstance(error, SystemExit):
            reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise InputError(what + (f" ({reason[:200]})" if reason else ""), str(path), remedy) from None


def _bytes(path: Path, suffix: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", str(path), f"Give {TITLES[suffix]}") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", str(path), f"Give {TITLES[suffix]}") from None


def _check_ends(path: Path, suffix: str, data: bytes) -> None:
    """Raise for a file that lacks its marks or its last line end: meshio would read what is there."""
    remedy = "Write it again: it seems to be cut short"
    if suffix == ".msh":
        if not data.lstrip().startswith(b"$"):
            raise InputError("does not begin with $MeshFormat", str(path), f"Give {TITLES[suffix]}")
        for mark in GMSH_ENDS:
            if mark not in data:
                raise InputError(f"holds no {mark.decode()}", str(path), remedy)
        check_node_numbers(path, data)
    if suffix == ".vtk":
        head = data[:1024].split(b"\n", 3)
        if not head[0].startswith(b"# vtk DataFile"):
            raise InputError("does not begin with '# vtk DataFile'", str(path), f"Give {TITLES[suffix]}")
        if len(head) > 2 and head[2].strip().upper() == b"ASCII" and not data.endswith(b"\n"):
            raise InputError("the last line does not end", str(path), f"{remedy}; if it is not, add a line end")


def _check_cell_count(path: Path, suffix: str, data: bytes, count: int) -> None:
    """Raise when a legacy VTK file announces more cells than meshio found."""
    announced = re.search(rb"\nCELL_TYPES[ \t]+(\d{1,18})[ \t\r]*\n", data) if suffix == ".vtk" else None
    if announced and int(announced[1]) != count:
        raise InputError(
            f"announces {int(announced[1])} cells, {count} can be read",
            str(path),
            "Write it again: it may be damaged or cut short",
        )


def _rectangular(cells: Any) -> np.ndarray:
    """Vertex numbers (m, k) of a block; polyhedra, which have no fixed number, only count."""
    try:
        rows = np.asarray(cells)
    except ValueError:
        rows = np.zeros(0)
    return rows.astype(np.int64) if rows.ndim == 2 and rows.dtype.kind in "iu" else np.zeros((len(cells), 0), np.int64)
