"""A moving surface as a numbered sequence of files, one per frame, in any surface format that is written here."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import cannot_write
from pliant.mesh.io import material_library, obj, write_mesh
from pliant.mesh.surface import SurfaceMesh

KINDS = ("obj", "ply", "stl", "glb")
LIBRARY = "paints.mtl"


class SequenceWriter:
    """Writes ``frame_00000.ply``, ``frame_00001.ply`` and so on into a folder, each whole or not at all.

    Names of parts, paints and texture coordinates go into the formats that hold them: OBJ (with one ``paints.mtl``
    for all frames) and GLB hold all, PLY texture coordinates and vertex colours, STL none.

    Args:
        folder: made if it does not exist.
        kind: one of `KINDS`.
        surface: triangles and look of every frame; its vertices are replaced.
        prefix: what the file names begin with.
    """

    def __init__(self, folder: str | os.PathLike, kind: str, surface: SurfaceMesh, prefix: str = "frame_"):
        if kind not in KINDS:
            raise InputError(f"no sequence of kind {kind!r}", "SequenceWriter.kind", f"Use one of: {', '.join(KINDS)}")
        self.folder, self.kind = Path(folder), kind
        self._surface, self._prefix = surface, prefix
        self._library: Path | None = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        if kind == "obj" and surface.look is not None and surface.look.paints:
            self._library = self.folder / LIBRARY
            material_library.write(surface.look.paints, self._library)

    def path(self, frame: int) -> Path:
        """The file of a frame."""
        return self.folder / f"{self._prefix}{frame:05d}.{self.kind}"

    def add(self, frame: int, vertices: np.ndarray) -> Path:
        """Write one frame: positions (n, 3) [m]."""
        path = self.path(frame)
        vertices = np.asarray(vertices, np.float64)
        if vertices.shape != self._surface.vertices.shape:
            raise InputError(
                f"an array of shape {vertices.shape}",
                "SequenceWriter.add(vertices)",
                f"Give shape {self._surface.vertices.shape}",
            )
        surface = dataclasses.replace(self._surface, vertices=vertices)
        if self.kind == "obj":
            obj.write(surface, path, self._library)
        else:
            write_mesh(surface, path)
        return path
