"""Edges of PLY: an element 'edge' with vertex1 and vertex2."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh.io import source
from pliant.mesh.io.ply_tables import Column, binary_tables, read_header, text_tables
from pliant.mesh.io.rod_files import FoundRods
from pliant.mesh.rods import RodMesh

WHAT = "a PLY header, vertices and edges (vertex1, vertex2)"


def read_rods(path: Path) -> FoundRods:
    """Read the edges, with the radius of edges or the mean of their vertices' where there is one."""
    data = source.load(path, WHAT)
    source.check_content(path, data, "PLY", (".ply",))
    order, elements, _, body = read_header(data, path)
    names = [element.name for element in elements]
    for wanted in ("vertex", "edge"):
        if wanted not in names:
            surface = ". It holds a surface: Scene.add makes a body of it" if "face" in names else ""
            raise InputError(f"has no element '{wanted}'", str(path), f"Give {WHAT}{surface}")
    tables = text_tables(data, body, elements, path) if not order else binary_tables(data, body, order, elements, path)
    vertex, edge = tables["vertex"], tables["edge"]
    vertices = np.stack([_column(vertex, axis, "vertex", path) for axis in "xyz"], axis=1)
    ends = np.stack([_column(edge, name, "edge", path) for name in ("vertex1", "vertex2")], axis=1)
    with np.errstate(invalid="ignore"):
        segments = ends.astype(np.int64)
    bad = ((segments < 0) | (segments >= len(vertices)) | (segments != ends)).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"edge {row} names the vertices {ends[row].tolist()}, out of range",
            str(path),
            f"There are {len(vertices)} vertices, numbered 0 to {len(vertices) - 1}",
        )
    radius = None
    if "radius" in edge:
        radius = _column(edge, "radius", "edge", path)
    elif "radius" in vertex:
        radius = _column(vertex, "radius", "vertex", path)[segments].mean(axis=1)
    faces = sum(element.count for element in elements if element.name in ("face", "tristrips"))
    return FoundRods(vertices, segments, radius, (f"the file's {faces} faces were left out",) if faces else ())


def _column(table: dict[str, Column], name: str, element: str, path: Path) -> np.ndarray:
    if name not in table or table[name].counts is not None:
        raise InputError(f"'{element}' has no property {name}", str(path), f"Give {WHAT}")
    return table[name].values.astype(np.float64)


def write_rods(mesh: RodMesh, path: Path) -> None:
    """Write binary PLY: positions and the radius of each edge in float64."""
    header = [
        "ply",
        "format binary_little_endian 1.0",
        f"element vertex {len(mesh.vertices)}",
        *(f"property double {axis}" for axis in "xyz"),
        f"element edge {len(mesh.segments)}",
        "property int vertex1",
        "property int vertex2",
        "property double radius",
        "end_header",
    ]
    edges = np.zeros(len(mesh.segments), dtype=[("ends", "<i4", 2), ("radius", "<f8")])
    edges["ends"], edges["radius"] = mesh.segments, mesh.radius
    with replace_file(path) as file:
        file.write(("\n".join(header) + "\n").encode())
        file.write(mesh.vertices.astype("<f8").tobytes())
        file.write(edges.tobytes())
