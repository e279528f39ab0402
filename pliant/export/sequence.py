"""A surface as a numbered sequence of files, one per frame: OBJ or PLY."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import cannot_write, replace_file

KINDS = ("obj", "ply")


def write_obj(
    path: str | os.PathLike, vertices: np.ndarray, triangles: np.ndarray, normals: np.ndarray | None = None
) -> None:
    """Write a surface as Wavefront OBJ; nine digits keep every float32 exactly.

    Args:
        path: file to write.
        vertices: positions (n, 3) [m].
        triangles: vertex indices from 0 (m, 3).
        normals: unit normals (n, 3).
    """
    vertices, triangles = _checked(vertices, triangles)
    corners = triangles + 1
    parts = ["# Pliant, metres, y up\n", _lines("v %.9g %.9g %.9g\n", vertices)]
    if normals is None:
        parts.append(_lines("f %d %d %d\n", corners))
    else:
        normals = _per_vertex(normals, len(vertices), "normals")
        parts.append(_lines("vn %.6g %.6g %.6g\n", normals))
        parts.append(_lines("f %d//%d %d//%d %d//%d\n", np.repeat(corners, 2, axis=1)))
    with replace_file(path) as file:
        file.write("".join(parts).encode("ascii"))


def write_ply(
    path: str | os.PathLike,
    vertices: np.ndarray,
    triangles: np.ndarray,
    colors: np.ndarray | None = None,
    binary: bool = True,
    normals: np.ndarray | None = None,
) -> None:
    """Write a surface as PLY.

    Args:
        path: file to write.
        vertices: positions (n, 3) [m].
        triangles: vertex indices from 0 (m, 3).
        colors: sRGB colour of each vertex (n, 3), bytes or numbers from 0 to 1.
        binary: little-endian binary; otherwise text.
        normals: unit normals (n, 3).
    """
    vertices, triangles = _checked(vertices, triangles)
    fields = [("x", "<f4"), ("y", "<f4"), ("z", "<f4")]
    columns = [vertices]
    if normals is not None:
        fields += [("nx", "<f4"), ("ny", "<f4"), ("nz", "<f4")]
        columns.append(_per_vertex(normals, len(vertices), "normals"))
    if colors is not None:
        fields += [("red", "u1"), ("green", "u1"), ("blue", "u1")]
        columns.append(_color_bytes(colors, len(vertices)))
    names = {"<f4": "float", "u1": "uchar"}
    header = ["ply", f"format {'binary_little_endian' if binary else 'ascii'} 1.0", "comment Pliant, metres, y up"]
    header += [f"element vertex {len(vertices)}"]
    header += [f"property {names[kind]} {name}" for name, kind in fields]
    header += [f"element face {len(triangles)}", "property list uchar int vertex_indices", "end_header", ""]
    if binary:
        table = np.empty(len(vertices), dtype=fields)
        for k, (name, _) in enumerate(fields):
            table[name] = columns[k // 3][:, k % 3]
        faces = np.empty(len(triangles), dtype=[("count", "u1"), ("corners", "<i4", (3,))])
        faces["count"] = 3
        faces["corners"] = triangles
        body = table.tobytes() + faces.tobytes()
    else:
        row = " ".join("%.9g" if kind == "<f4" else "%d" for _, kind in fields) + "\n"
        table = np.concatenate([column.astype(np.float64) for column in columns], axis=1)
        body = (_lines(row, table) + _lines("3 %d %d %d\n", triangles)).encode("ascii")
    with replace_file(path) as file:
        file.write("\n".join(header).encode("ascii"))
        file.write(body)


class SequenceWriter:
    """Writes ``frame_00000.ply``, ``frame_00001.ply`` and so on into a folder, each whole or not at all.

    Args:
        folder: made if it does not exist.
        kind: ``obj`` or ``ply``.
        triangles: vertex indices from 0 (m, 3), the same for every frame.
        colors: sRGB colour of each vertex (n, 3); PLY only.
        binary: PLY as binary rather than text.
        prefix: what the file names begin with.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        kind: str,
        triangles: np.ndarray,
        colors: np.ndarray | None = None,
        binary: bool = True,
        prefix: str = "frame_",
    ):
        if kind not in KINDS:
            raise InputError(f"no sequence of kind {kind!r}", "SequenceWriter.kind", f"Use one of: {', '.join(KINDS)}")
        if colors is not None and kind == "obj":
            raise InputError("an OBJ file holds no colours", "SequenceWriter.colors", "Use kind 'ply'")
        self.folder, self.kind = Path(folder), kind
        self._triangles, self._colors, self._binary, self._prefix = np.asarray(triangles), colors, binary, prefix
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.folder, error) from error

    def path(self, frame: int) -> Path:
        """The file of a frame."""
        return self.folder / f"{self._prefix}{frame:05d}.{self.kind}"

    def add(self, frame: int, vertices: np.ndarray, normals: np.ndarray | None = None) -> Path:
        """Write one frame: positions (n, 3) [m] and, if given, unit normals (n, 3)."""
        path = self.path(frame)
        if self.kind == "obj":
            write_obj(path, vertices, self._triangles, normals)
        else:
            write_ply(path, vertices, self._triangles, self._colors, self._binary, normals)
        return path


def _lines(row: str, table: np.ndarray) -> str:
    """A table as text, one row per line: a single formatting call, ten times as fast as a loop."""
    return (row * len(table)) % tuple(table.ravel().tolist())


def _checked(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    vertices, triangles = np.asarray(vertices, dtype=np.float32), np.asarray(triangles)
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise InputError(f"an array of shape {vertices.shape}", "vertices", "Give shape (n, 3)")
    if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
        raise InputError(
            f"an array of shape {triangles.shape} and type {triangles.dtype}",
            "triangles",
            "Give whole numbers of shape (m, 3)",
        )
    if len(triangles) and (triangles.min() < 0 or triangles.max() >= len(vertices)):
        raise InputError(
            f"indices run from {triangles.min()} to {triangles.max()} with {len(vertices)} vertices",
            "triangles",
            "Count from 0 to one less than the number of vertices",
        )
    return vertices, triangles.astype(np.int64)


def _per_vertex(values: np.ndarray, count: int, where: str) -> np.ndarray:
    values = np.asarray(values, dtype=np.float32)
    if values.shape != (count, 3):
        raise InputError(f"an array of shape {values.shape}", where, f"Give one per vertex, shape ({count}, 3)")
    return values


def _color_bytes(colors: np.ndarray, count: int) -> np.ndarray:
    colors = np.asarray(colors)
    if colors.shape != (count, 3):
        raise InputError(f"an array of shape {colors.shape}", "colors", f"Give one per vertex, shape ({count}, 3)")
    if colors.dtype == np.uint8:
        return colors
    return np.rint(np.clip(colors.astype(np.float64), 0.0, 1.0) * 255.0).astype(np.uint8)
