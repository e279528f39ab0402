"""DirectX ``.x`` files: read through assimp, text, binary and compressed; written as text here.

A ``.x`` file is left-handed and y up, its triangles are clockwise from outside and rows of pictures count from the
top. assimp mirrors z, turns the triangles and counts rows from the bottom, so what it gives is as meshes are here.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError, MissingExtraError
from pliant.files import replace_file
from pliant.mesh.io import source
from pliant.mesh.io.child_reader import AGAIN, read_in_child
from pliant.mesh.io.pieces import Piece, as_colors, join
from pliant.mesh.io.rows_of_text import float_rows
from pliant.mesh.look import GREY, Look, Paint
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

WHAT = "a DirectX mesh"
OPEN, CLOSE = 10, 11
PLAIN_TOKENS = {*range(10, 21), 31, *range(40, 54)}
"""Tokens of the binary kind that carry nothing: brackets and marks, 'template', and the names of types."""
HEADER = re.compile(rb"xof 0[0-9]{3}(txt |bin |tzip|bzip)(0032|0064)")


def read(path: Path) -> SurfaceMesh:
    """Read all meshes of a file as one surface, each moved to its place; frames become parts, materials paints.

    Vertices that were doubled at the seams of texture or paint are made one again, which the notes tell.
    Animation is read over.
    """
    missing = MissingExtraError("assimp-py", "mesh", "Reading .x files")
    if importlib.util.find_spec("assimp_py") is None:
        raise missing
    data = source.load(path, WHAT)
    source.check_content(path, data, "DirectX", (".x",))
    if not HEADER.match(data):
        raise InputError(
            f"starts with {data[:16]!r}, not with 'xof 0303txt 0032' or the like", f"{path}, byte 0", f"Give {WHAT}"
        )
    _check_whole(data, path)
    scene, _ = read_in_child("assimp_child.py", path, "assimp", missing)
    notes = ["z was mirrored: .x files are left-handed"]
    pieces = list(_pieces(scene, path, notes))
    if not pieces:
        raise InputError("holds no triangles", str(path), f"Give {WHAT}")
    paints = tuple(_paint(number, material) for number, material in enumerate(scene["materials"]))
    return join(pieces, paints, source.stem(path), list(dict.fromkeys(notes)), sew=True)


def _check_whole(data: bytes, path: Path) -> None:
    """Raise for a file that was cut short or damaged, as far as that shows."""
    again = "Write or fetch it again"
    if data[8:12] == b"txt ":
        opened = data.count(b"{") - data.count(b"}")
        if opened > 0:
            raise InputError(
                f"{opened} of its brackets {{ are not closed: the file was cut short",
                f"{path}, line {len(data.splitlines())}",
                again,
            )
    elif data[8:12] == b"bin ":
        real = 8 if data[12:16] == b"0064" else 4
        at, depth = 16, 0
        while at + 2 <= len(data):
            token = int.from_bytes(data[at : at + 2], "little")
            count = int.from_bytes(data[at + 2 : at + 6], "little")
            size = {1: 4 + count, 2: 4 + count, 3: 4, 5: 16, 6: 4 + 4 * count, 7: 4 + real * count}.get(token, 0)
            depth += (token == OPEN) - (token == CLOSE)
            if depth < 0 or (not size and token not in PLAIN_TOKENS) or at + 2 + size > len(data):
                raise InputError(
                    f"the token {token} with {size} bytes does not belong there: the file was cut short or damaged",
                    f"{path}, byte {at}",
                    again,
                )
            at += 2 + size
        if depth or at != len(data):
            raise InputError(f"{depth} of its brackets are not closed", f"{path}, byte {len(data)}", again)


def _pieces(scene: dict[str, Any], path: Path, notes: list[str]) -> Iterator[Piece]:
    """The triangles of each node, in the world's frame, in the order of the tree."""
    matrices: list[np.ndarray] = []
    for name, local_matrix, meshes, parent in scene["nodes"]:
        matrix = np.array(local_matrix, dtype=np.float64)
        matrices.append(matrices[parent] @ matrix if parent >= 0 else matrix)
        matrix = matrices[-1]
        for mesh in (scene["meshes"][number] for number in meshes):
            corners = mesh["indices"].astype(np.int64)
            if len(corners) != 3 * mesh["faces"]:
                notes.append("lines and points were left out")
                continue
            triangles = corners.reshape(-1, 3)
            local = mesh["vertices"].reshape(-1, 3).astype(np.float64)
            if corners.size and corners.max() >= len(local):
                raise InputError(f"names vertex {corners.max()} of {len(local)}", f"{path}, mesh {name!r}", AGAIN)
            vertices = local @ matrix[:3, :3].T + matrix[:3, 3]
            if np.linalg.det(matrix[:3, :3]) < 0.0:
                triangles = triangles[:, [0, 2, 1]]
            uv, colors = None, None
            if mesh["uv"] is not None:
                uv = mesh["uv"].reshape(len(vertices), -1)[:, :2][triangles]
            if mesh["colors"] is not None:
                colors = as_colors(mesh["colors"].reshape(len(vertices), 4), 1.0)
            yield Piece(vertices, triangles, (name or mesh["name"],), 0, mesh["material"], uv, colors)


def _paint(number: int, material: dict) -> Paint:
    color = [*material.get("COLOR_DIFFUSE", GREY)]
    color = [min(max(float(value), 0.0), 1.0) for value in (color if len(color) == 4 else [*color[:3], 1.0])]
    return Paint(
        material.get("NAME") or f"material {number}",
        (color[0], color[1], color[2], color[3]),
        material.get("TEXTURE_BASE", ""),
    )


def write(mesh: SurfaceMesh | TetMesh, path: Path) -> None:
    """Write a text file with one frame for each part; of a tet mesh the boundary.

    Positions in float32. Vertex colours are left out. Names become letters, digits and underscores.
    """
    surface = mesh.surface_mesh() if isinstance(mesh, TetMesh) else mesh
    look = surface.look or Look()
    part_of = np.full(len(surface.triangles), -1) if look.part_of is None else look.part_of
    plain = (Paint("Unpainted"),) if look.paint_of is not None and (look.paint_of < 0).any() else ()
    paint_names = _names([paint.name for paint in look.paints + plain], "Material")
    part_names = _names([f"{part}" for part in look.parts], "Part")
    with replace_file(path) as file:
        file.write(b"xof 0303txt 0032\n\n")
        for name, paint in zip(paint_names, look.paints + plain):
            color = ";".join(f"{float(value):.9g}" for value in paint.color)
            picture = paint.texture.replace("\\", "/").replace('"', "")
            texture = f' TextureFilename {{ "{picture}"; }}\n' if picture else ""
            file.write(f"Material {name} {{\n {color};;\n 1;\n 0;0;0;;\n 0;0;0;;\n{texture}}}\n\n".encode())
        for part in np.unique(part_of):
            rows = np.flatnonzero(part_of == part)
            name = part_names[part] if part >= 0 else _names([surface.name or "surface"], "Surface")[0]
            for block in _frame(surface, look, rows, name, paint_names):
                file.write(block)


def _names(names: list[str], otherwise: str) -> list[str]:
    """Names that a .x file can hold: letters, digits and underscores, a letter first, none twice."""
    found: list[str] = []
    for number, name in enumerate(names):
        clean = re.sub(r"[^A-Za-z0-9_]", "_", name)
        clean = clean if re.match(r"[A-Za-z]", clean) else f"{otherwise}_{clean or number}"
        found.append(clean if clean not in found else f"{clean}_{number}")
    return found


def _frame(surface: SurfaceMesh, look: Look, rows: np.ndarray, name: str, paint_names: list[str]) -> Iterator[bytes]:
    """The text of one frame with its mesh; a vertex is doubled where its texture coordinates differ."""
    corners = surface.triangles[rows].ravel().astype(np.int64)
    uv = None
    if look.uv is None:
        used, indices = np.unique(corners, return_inverse=True)
    else:
        table = look.uv[rows].reshape(-1, 2).astype(np.float32)
        keys = np.concatenate([corners[:, None], (table + 0.0).view(np.uint32).astype(np.int64)], axis=1)
        _, first, indices = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        used, uv = corners[first], table[first].astype(np.float64) * [1.0, -1.0] + [0.0, 1.0]
    points = (surface.vertices[used] * [1.0, 1.0, -1.0]).astype(np.float32)
    # Mirrored in z, so the other way round to stay outside.
    triangles = indices.reshape(-1, 3)[:, [0, 2, 1]].astype(np.int32)
    yield f"Frame {name} {{\n Mesh {{\n{len(points)};\n".encode()
    yield from _list(points, ";", ";")
    yield f"{len(triangles)};\n".encode()
    yield from _list(triangles, ",", ";", "3;")
    if uv is not None:
        yield f"  MeshTextureCoords {{\n{len(uv)};\n".encode()
        yield from _list(uv.astype(np.float32), ";", ";")
        yield b"  }\n"
    if look.paint_of is not None and (look.paint_of[rows] >= 0).any():
        # Every triangle has to name a material: the last one is for those without.
        mine = np.where(look.paint_of[rows] < 0, len(look.paints), look.paint_of[rows])
        paints, number = np.unique(mine, return_inverse=True)
        yield f"  MeshMaterialList {{\n{len(paints)};\n{len(rows)};\n".encode()
        yield from _list(number.reshape(-1, 1).astype(np.int32), ",", "")
        yield "".join(f"  {{{paint_names[paint]}}}\n" for paint in paints).encode() + b"  }\n"
    yield b" }\n}\n\n"


def _list(rows: np.ndarray, between: str, end: str, start: str = "") -> Iterator[bytes]:
    """An array as a .x file has it: each row closed by ``end``, a comma after all but the last, then a semicolon."""
    yield from float_rows(rows[:-1], start, between, f"{end},\n")
    yield from float_rows(rows[-1:], start, between, f"{end};\n")
