"""A clip as one binary glTF 2.0 file: a mesh for each body, whose morph targets are the frames.

A target holds the differences of positions and normals to the first frame, which is the mesh itself. The animation
gives each target the weight 1 at its own time and 0 at the others', linear between: hat functions, so that what is
shown between two frames is the straight way from one to the other. glTF 2.0, sections 3.7.2.2 and 3.11.
"""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import numpy as np

from pliant.errors import InputError
from pliant.export.clip import Clip, Report, vertex_normals
from pliant.files import replace_file
from pliant.mesh.io.screen_color import to_linear
from pliant.mesh.look import Look, Paint
from pliant.mesh.surface import SurfaceMesh

MOST_TARGETS = 120
"""Morph targets that are written unless more are asked for: viewers keep all of them in memory."""
MOST_BYTES = (1 << 32) - (64 << 20)
"""A file's length is a 32-bit number; the difference is room for its JSON."""
VERTICES, INDICES = 34962, 34963
UNSIGNED, FLOAT = 5125, 5126
JSON_CHUNK, BINARY_CHUNK = 0x4E4F534A, 0x004E4942
WHITE = (1.0, 1.0, 1.0, 1.0)


def write_gltf_animation(clip: Clip, path: str | Path, *, normals: bool = True, report: Report | None = None) -> Path:
    """Write a clip as ``.glb``.

    Args:
        clip: what moves; its times must rise.
        path: file to write.
        normals: write normals and their differences, too, which doubles the size; viewers show facets without.
        report: called after each frame.
    """
    path = Path(path)
    times = clip.times.astype(np.float32)
    clip.check_times(times)
    shapes = [_Shape(surface) for surface in (*clip.bodies, *clip.still)]
    moving = shapes[: len(clip.bodies)]
    clip.check_size(_size(shapes, moving, len(clip), normals), MOST_BYTES, path)
    scene = _Scene()
    with replace_file(path) as out, tempfile.TemporaryFile(dir=path.parent) as file:
        buffer = _Buffer(file, scene)
        _add_meshes(scene, buffer, shapes, normals)
        _add_targets(clip, scene, buffer, moving, normals, report)
        if len(clip) > 1:
            _add_animation(scene, buffer, times, len(moving))
        scene.tables["asset"]["extras"] = {"frames": len(clip), "every": clip.every, "rate": clip.rate}
        _assemble(scene, buffer, out)
    return path


class _Shape:
    """A surface with one vertex for each pair of place and texture coordinates, as glTF wants it.

    Attributes:
        rows: the surface's vertex of each vertex here (n,).
        corners: triangles over the vertices here (k, 3) uint32.
    """

    def __init__(self, surface: SurfaceMesh):
        self.surface = surface
        self.look = look = surface.look or Look()
        corners = surface.triangles.ravel().astype(np.int64)
        self.uv: np.ndarray | None = None
        if look.uv is None:
            self.rows, numbers = np.unique(corners, return_inverse=True)
        else:
            table = look.uv.reshape(-1, 2).astype(np.float32) + np.float32(0.0)
            keys = np.concatenate([corners[:, None], table.view(np.uint32).astype(np.int64)], axis=1)
            _, first, numbers = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            self.rows = corners[first]
            # Texture coordinates start at the upper left there.
            self.uv = (table[first].astype(np.float64) * [1.0, -1.0] + [0.0, 1.0]).astype(np.float32)
        self.corners = numbers.reshape(-1, 3).astype(np.uint32)

    def positions(self, x: np.ndarray) -> np.ndarray:
        return x[self.rows].astype(np.float32)

    def normals(self, x: np.ndarray) -> np.ndarray:
        return vertex_normals(x, self.surface.triangles)[self.rows]


class _Scene:
    """The JSON part, growing."""

    def __init__(self) -> None:
        names = ("nodes", "meshes", "materials", "images", "textures", "accessors", "bufferViews", "animations")
        self.tables: dict[str, Any] = {"asset": {"version": "2.0", "generator": "Pliant"}, "scene": 0}
        self.tables |= {name: [] for name in names}

    def add(self, name: str, item: dict[str, Any]) -> int:
        self.tables[name].append(item)
        return len(self.tables[name]) - 1


class _Buffer:
    """The binary part, written as it comes."""

    def __init__(self, file: BinaryIO, scene: _Scene):
        self.file, self.scene, self.length = file, scene, 0

    def add(self, values: np.ndarray, target: int | None = None, bounds: bool = False) -> int:
        """Append an array (n,) or (n, width) of uint32 or float32; returns its accessor's number."""
        raw = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self.length, "byteLength": len(raw)}
        if target is not None:
            view["target"] = target
        self.file.write(raw)
        self.length += len(raw)
        accessor: dict[str, Any] = {
            "bufferView": self.scene.add("bufferViews", view),
            "componentType": FLOAT if values.dtype.kind == "f" else UNSIGNED,
            "count": len(values),
            "type": "SCALAR" if values.ndim == 1 else f"VEC{values.shape[1]}",
        }
        if bounds:
            low, high = values.min(axis=0), values.max(axis=0)
            accessor |= {"min": np.atleast_1d(low).tolist(), "max": np.atleast_1d(high).tolist()}
        return self.scene.add("accessors", accessor)


def _add_meshes(scene: _Scene, buffer: _Buffer, shapes: list[_Shape], normals: bool) -> None:
    """A node and a mesh for each shape: a primitive for each paint, all over the same vertices."""
    images: dict[str, int] = {}
    for shape in shapes:
        surface, look = shape.surface, shape.look
        attributes = {"POSITION": buffer.add(shape.positions(surface.vertices), VERTICES, bounds=True)}
        if normals:
            attributes["NORMAL"] = buffer.add(shape.normals(surface.vertices), VERTICES)
        if shape.uv is not None:
            attributes["TEXCOORD_0"] = buffer.add(shape.uv, VERTICES)
        if look.vertex_colors is not None:
            colors = look.vertex_colors[shape.rows].astype(np.float64)
            colors[:, :3] = to_linear(colors[:, :3])
            attributes["COLOR_0"] = buffer.add(colors.astype(np.float32), VERTICES)
        paint_of = np.full(len(shape.corners), -1) if look.paint_of is None else look.paint_of
        primitives = []
        for number in np.unique(paint_of).tolist():
            paint = look.paints[number] if number >= 0 else Paint(surface.name, WHITE)
            primitives.append(
                {
                    "attributes": dict(attributes),
                    "indices": buffer.add(shape.corners[paint_of == number].ravel(), INDICES),
                    "material": _add_material(scene, paint, images),
                    "mode": 4,
                }
            )
        mesh = scene.add("meshes", {"name": surface.name, "primitives": primitives})
        scene.add("nodes", {"name": surface.name, "mesh": mesh})
    scene.tables["scenes"] = [{"nodes": list(range(len(shapes)))}]


def _add_material(scene: _Scene, paint: Paint, images: dict[str, int]) -> int:
    color = np.append(to_linear(np.array(paint.color[:3], np.float64)), paint.color[3])
    surface: dict[str, Any] = {"baseColorFactor": color.tolist(), "metallicFactor": 0.0, "roughnessFactor": 0.8}
    if paint.texture:
        if paint.texture not in images:
            image = scene.add("images", {"uri": quote(paint.texture.replace("\\", "/"))})
            images[paint.texture] = scene.add("textures", {"source": image})
        surface["baseColorTexture"] = {"index": images[paint.texture]}
    material: dict[str, Any] = {"name": paint.name, "pbrMetallicRoughness": surface, "doubleSided": True}
    if paint.color[3] < 1.0:
        material["alphaMode"] = "BLEND"
    return scene.add("materials", material)


def _add_targets(
    clip: Clip, scene: _Scene, buffer: _Buffer, shapes: list[_Shape], normals: bool, report: Report | None
) -> None:
    """A morph target of every body for every frame but the first."""
    meshes = scene.tables["meshes"][: len(shapes)]
    first: list[tuple[np.ndarray, np.ndarray]] = []
    for k, frame in enumerate(clip.frames(report)):
        for number, (shape, mesh, x) in enumerate(zip(shapes, meshes, frame, strict=True)):
            place, direction = shape.positions(x), shape.normals(x) if normals else np.zeros(0, np.float32)
            if k == 0:
                first.append((place, direction))
                continue
            target = {"POSITION": buffer.add(place - first[number][0], VERTICES, bounds=True)}
            if normals:
                target["NORMAL"] = buffer.add(direction - first[number][1], VERTICES)
            for primitive in mesh["primitives"]:
                primitive.setdefault("targets", []).append(target)
    if len(clip) > 1:
        names = [f"{time:.4f} s" for time in clip.times[1:].tolist()]
        for mesh in meshes:
            mesh |= {"weights": [0.0] * len(names), "extras": {"targetNames": names}}


def _add_animation(scene: _Scene, buffer: _Buffer, times: np.ndarray, nodes: int) -> None:
    """One sampler for all bodies: row k of the weights is 1 for the target of frame k alone."""
    weights = np.eye(len(times), dtype=np.float32)[:, 1:]
    sampler = {
        "input": buffer.add(times, bounds=True),
        "output": buffer.add(weights.ravel()),
        "interpolation": "LINEAR",
    }
    channels = [{"sampler": 0, "target": {"node": node, "path": "weights"}} for node in range(nodes)]
    scene.add("animations", {"name": "recording", "samplers": [sampler], "channels": channels})


def _size(shapes: list[_Shape], moving: list[_Shape], frames: int, normals: bool) -> int:
    """Bytes of the binary part, or a little more."""
    each = 24 if normals else 12
    still = sum(len(shape.rows) * (each + 24) + 12 * len(shape.corners) for shape in shapes)
    targets = (frames - 1) * each * sum(len(shape.rows) for shape in moving)
    return still + targets + 4 * frames * frames


def _assemble(scene: _Scene, buffer: _Buffer, out: BinaryIO) -> None:
    """Head, JSON chunk and binary chunk; everything added so far is a multiple of four bytes."""
    tables = {name: table for name, table in scene.tables.items() if table not in ([], None)}
    tables["buffers"] = [{"byteLength": buffer.length}]
    text = json.dumps(tables, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    total = 12 + 8 + len(text) + 8 + buffer.length
    if total >= 1 << 32:
        raise InputError(f"the file would have {total:,} bytes", ".glb", "Export fewer frames (every=2 or more)")
    out.write(struct.pack("<4sII", b"glTF", 2, total))
    out.write(struct.pack("<II", len(text), JSON_CHUNK) + text)
    out.write(struct.pack("<II", buffer.length, BINARY_CHUNK))
    buffer.file.seek(0)
    shutil.copyfileobj(buffer.file, out, 1 << 20)
