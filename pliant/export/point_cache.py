"""A clip as point caches (``.pc2``): for each body its vertices frame by frame, and an OBJ file of the first frame.

A cache is 32 bytes, little-endian, and then float32 positions, frame by frame:

    signature   12 bytes: ``POINTCACHE2`` and a zero
    version     i32: 1
    points      i32: vertices in a frame
    start       f32: frame of the first sample, 0
    rate        f32: frames from one sample to the next
    samples     i32: number of frames

The vertices are those of the OBJ file, in its order; y is up in both.
"""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.export.clip import Clip, Report
from pliant.files import cannot_write, make_parent, safe_names, sync_folder
from pliant.mesh.io import obj
from pliant.mesh.look import Look
from pliant.mesh.surface import SurfaceMesh

HEAD = struct.Struct("<12siiffi")
SIGNATURE = b"POINTCACHE2\0"


def write_point_cache(clip: Clip, path: str | Path, *, report: Report | None = None) -> list[Path]:
    """Write ``.pc2`` and ``.obj`` for each body, and ``.mtl`` if it has paints; returns their paths, body by body.

    Args:
        clip: what moves; what stands still is left out.
        path: ``NAME.pc2``. One body becomes ``NAME.pc2`` and ``NAME.obj``, several ``NAME_BODY.pc2`` and so on.
        report: called after each frame.
    """
    path = Path(path)
    points = sum(len(body.vertices) for body in clip.bodies)
    clip.check_size(12 * points * len(clip) + 200 * points, None, path)
    for body in clip.bodies:
        if max(len(body.vertices), len(clip)) >= 1 << 31:
            raise InputError(f"{len(body.vertices):,} vertices", body.name, "A point cache counts up to 2,147,483,647")
    make_parent(path)
    stems = (
        [path.stem]
        if len(clip.bodies) == 1
        else [f"{path.stem}_{name}" for name in safe_names([body.name for body in clip.bodies])]
    )
    names = []
    for stem, body in zip(stems, clip.bodies, strict=True):
        painted = body.look is not None and bool(body.look.paints)
        names += [f"{stem}{path.suffix}", f"{stem}.obj"] + [f"{stem}.mtl"] * painted
    # All files are made in a folder beside and moved when they are whole.
    folder = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        folder.mkdir(exist_ok=True)
        for stem, body in zip(stems, clip.bodies, strict=True):
            obj.write(_plain(body), folder / f"{stem}.obj")
            head = HEAD.pack(SIGNATURE, 1, len(body.vertices), 0.0, float(clip.every), len(clip))
            (folder / f"{stem}{path.suffix}").write_bytes(head)
        for frame in clip.frames(report):
            for stem, x in zip(stems, frame, strict=True):
                # Opened anew each time: there may be more bodies than files a process may hold open.
                with open(folder / f"{stem}{path.suffix}", "ab") as file:
                    file.write(np.ascontiguousarray(x, "<f4").tobytes())
        for name in names:
            with open(folder / name, "rb+") as file:
                os.fsync(file.fileno())
        for name in names:
            os.replace(folder / name, path.with_name(name))
        sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [path.with_name(name) for name in names]


def _plain(body: SurfaceMesh) -> SurfaceMesh:
    """The surface as one object: importers that cut a file at its groups would number its vertices anew."""
    look = body.look or Look()
    kept = Look(uv=look.uv, paints=look.paints, paint_of=look.paint_of, vertex_colors=look.vertex_colors)
    return SurfaceMesh(body.vertices, body.triangles, body.name, look=kept)
