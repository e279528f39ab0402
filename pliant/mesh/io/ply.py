"""PLY, the Stanford polygon format: text, and binary of either byte order, with properties in any order."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh.io import source
from pliant.mesh.io.pieces import as_colors, as_uv, look_of
from pliant.mesh.io.ply_tables import WHAT, Column, binary_tables, read_header, text_tables
from pliant.mesh.io.polygons import to_triangles
from pliant.mesh.look import Paint
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh


def read(path: Path) -> SurfaceMesh:
    """Read a surface; polygons are cut into triangles. Normals and unknown properties are read over."""
    data = source.load(path, WHAT)
    source.check_content(path, data, "PLY", (".ply",))
    order, elements, textures, body = read_header(data, path)
    names = [element.name for element in elements]
    for wanted in ("vertex", "face"):
        if wanted not in names:
            remedy = "Triangle strips are not read: save it with faces" if "tristrips" in names else f"Give {WHAT}"
            remedy += ". Its edges are read by RodMesh.load" if "edge" in names else ""
            raise InputError(f"has no element '{wanted}', only {', '.join(names) or 'none'}", str(path), remedy)
    tables = text_tables(data, body, elements, path) if not order else binary_tables(data, body, order, elements, path)
    return _surface(tables["vertex"], tables["face"], textures, path)


def _surface(vertex: dict[str, Column], face: dict[str, Column], textures: list[str], path: Path) -> SurfaceMesh:
    """The mesh from the two tables."""
    missing = [axis for axis in "xyz" if axis not in vertex or vertex[axis].counts is not None]
    if missing:
        raise InputError(f"'vertex' has no property {missing[0]}", str(path), "Give x, y and z")
    vertices = np.stack([vertex[axis].values.astype(np.float64) for axis in "xyz"], axis=1)
    indices = next((face[name] for name in ("vertex_indices", "vertex_index") if name in face), None)
    if indices is None or indices.counts is None:
        raise InputError("'face' has no list vertex_indices", str(path), "Give property list uchar int vertex_indices")
    with np.errstate(invalid="ignore"):
        corners = indices.values.astype(np.int64)
    face_of = np.repeat(np.arange(len(indices.counts)), indices.counts)
    bad = (corners < 0) | (corners >= len(vertices)) | (corners != indices.values)
    if bad.any():
        at = int(np.argmax(bad))
        raise InputError(
            f"face {face_of[at]} names vertex {indices.values[at]}, out of range",
            str(path),
            f"There are {len(vertices)} vertices, numbered 0 to {len(vertices) - 1}",
        )
    places, polygon_of = to_triangles(indices.counts, corners, vertices)
    if not len(places):
        raise InputError("holds no face with three corners or more", str(path), "Give at least one")
    notes = []
    if all(name in face for name in ("red", "green", "blue")):
        notes.append("the colours of faces were left out; those of vertices are read")
    uv = _texture_coordinates(vertex, face, indices.counts, corners, places)
    paint_of = None
    if textures and uv is not None:
        number = face["texnumber"].values.astype(np.int32) if "texnumber" in face else np.zeros(len(indices.counts))
        paint_of = np.clip(number[polygon_of], 0, len(textures) - 1).astype(np.int32)
    paints = tuple(Paint(Path(name).stem, texture=name) for name in textures)
    look = look_of(uv, paints, paint_of, (), None, _colors(vertex))
    return SurfaceMesh(vertices, corners[places].astype(np.int32), source.stem(path), tuple(notes), look)


def _texture_coordinates(
    vertex: dict[str, Column], face: dict[str, Column], counts: np.ndarray, corners: np.ndarray, places: np.ndarray
) -> np.ndarray | None:
    """Texture coordinates of each corner (k, 3, 2) float32, from a list of each face or from the vertices."""
    listed = face.get("texcoord")
    if listed is not None and listed.counts is not None and np.array_equal(listed.counts, 2 * counts):
        return as_uv(listed.values.reshape(-1, 2))[places]
    for pair in (("s", "t"), ("u", "v"), ("texture_u", "texture_v")):
        if all(name in vertex for name in pair):
            table = as_uv(np.stack([vertex[name].values for name in pair], axis=1))
            return table[corners[places]]
    return None


def _colors(vertex: dict[str, Column]) -> np.ndarray | None:
    """Colours of the vertices (n, 4) float32 from 0 to 1."""
    names = next(
        (n for n in (["red", "green", "blue"], ["diffuse_red", "diffuse_green", "diffuse_blue"]) if n[0] in vertex), []
    )
    if not names or any(name not in vertex for name in names):
        return None
    names += ["alpha"] if "alpha" in vertex else []
    values = np.stack([vertex[name].values.astype(np.float64) for name in names], axis=1)
    return as_colors(values, 255.0 if vertex[names[0]].whole else None)


def write(mesh: SurfaceMesh | TetMesh, path: Path) -> None:
    """Write binary PLY: positions in float64, vertex colours as bytes, texture coordinates per corner.

    Of a tet mesh the boundary is written. Names of parts and colours of paints are left out, pictures are named.
    """
    surface = mesh.surface_mesh() if isinstance(mesh, TetMesh) else mesh
    look = surface.look
    vertex = [(axis, "<f8") for axis in "xyz"]
    face: list[tuple] = [("n", "u1"), ("corners", "<i4", 3)]
    header = ["ply", "format binary_little_endian 1.0"]
    colors = look.vertex_colors if look else None
    uv = look.uv if look else None
    textures = (
        list(dict.fromkeys(paint.texture for paint in look.paints if paint.texture)) if look and uv is not None else []
    )
    header += [f"comment TextureFile {' '.join(name.split())}" for name in textures]
    header += [f"element vertex {len(surface.vertices)}", *(f"property double {axis}" for axis in "xyz")]
    if colors is not None:
        vertex += [(name, "u1") for name in ("red", "green", "blue", "alpha")]
        header += [f"property uchar {name}" for name in ("red", "green", "blue", "alpha")]
    header += [f"element face {len(surface.triangles)}", "property list uchar int vertex_indices"]
    if uv is not None:
        face += [("m", "u1"), ("uv", "<f4", 6)]
        header.append("property list uchar float texcoord")
    if len(textures) > 1:
        face.append(("number", "<i4"))
        header.append("property int texnumber")
    points = np.zeros(len(surface.vertices), dtype=vertex)
    for place, axis in enumerate("xyz"):
        points[axis] = surface.vertices[:, place]
    if colors is not None:
        for place, name in enumerate(("red", "green", "blue", "alpha")):
            points[name] = np.rint(np.clip(colors[:, place], 0.0, 1.0) * 255.0)
    faces = np.zeros(len(surface.triangles), dtype=face)
    faces["n"], faces["corners"] = 3, surface.triangles
    if uv is not None:
        faces["m"], faces["uv"] = 6, uv.reshape(-1, 6)
    if len(textures) > 1 and look is not None and look.paint_of is not None:
        table = np.array([textures.index(p.texture) if p.texture else 0 for p in look.paints] + [0])
        faces["number"] = table[look.paint_of]
    with replace_file(path) as file:
        file.write(("\n".join([*header, "end_header"]) + "\n").encode())
        file.write(points.tobytes())
        file.write(faces.tobytes())
