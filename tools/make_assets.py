"""Make the sample meshes that are this project's own: ``python tools/make_assets.py [duck] [car]``.

They are sculpted by formula in ``pliant/mesh/sculpt_figures.py`` and written to ``pliant/assets``; the others there
come from elsewhere, see ``pliant/assets/CREDITS.md``.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np

from pliant.files import replace_file
from pliant.mesh.assets import FOLDER, SUFFIX
from pliant.mesh.order import bisect_order
from pliant.mesh.sculpt_figures import FIGURES, made
from pliant.mesh.surface import SurfaceMesh

STEPS = 2.0**13
"""Places are rounded to about this part of the longest side, so that they compress."""


def packed(mesh: SurfaceMesh) -> bytes:
    """The mesh as a compressed PLY file: neighbours near each other, places rounded, colours of vertices."""
    order, _ = bisect_order(mesh.vertices, 128)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    corners = place[mesh.triangles]
    # each triangle begins with its smallest number
    first = corners.argmin(axis=1)[:, None]
    corners = np.take_along_axis(corners, (first + np.arange(3)) % 3, axis=1)
    corners = corners[np.lexsort(corners.T[::-1])]
    unit = 2.0 ** np.round(np.log2(np.ptp(mesh.vertices, axis=0).max() / STEPS))
    assert mesh.look is not None and mesh.look.vertex_colors is not None

    vertices = np.zeros(len(order), [("x", "<f4", 3), ("color", "u1", 3)])
    vertices["x"] = np.rint(mesh.vertices[order] / unit) * unit
    vertices["color"] = np.rint(255.0 * mesh.look.vertex_colors[order, :3])
    faces = np.zeros(len(corners), [("n", "u1"), ("corners", "<u2", 3)])
    faces["n"], faces["corners"] = 3, corners
    header = [
        "ply",
        "format binary_little_endian 1.0",
        f"comment {mesh.name}, sculpted by Pliant's tools/make_assets.py",
        f"element vertex {len(vertices)}",
        *(f"property float {axis}" for axis in "xyz"),
        *(f"property uchar {color}" for color in ("red", "green", "blue")),
        f"element face {len(faces)}",
        "property list uchar ushort vertex_indices",
        "end_header",
    ]
    data = "\n".join(header).encode() + b"\n" + vertices.tobytes() + faces.tobytes()
    return gzip.compress(data, compresslevel=9, mtime=0)


def main(names: list[str]) -> None:
    """Make the named figures, all of them if none is named."""
    for name in names or list(FIGURES):
        path = Path(FOLDER) / f"{name}{SUFFIX}"
        mesh = made(FIGURES[name](), name)
        with replace_file(path) as file:
            file.write(packed(mesh))
        print(f"{path.name}: {len(mesh.vertices):,} vertices, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
