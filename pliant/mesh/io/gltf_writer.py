"""glTF 2.0 written: one node for each part, one primitive for each paint in it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from pliant.files import replace_file
from pliant.mesh.io.gltf import library
from pliant.mesh.io.screen_color import to_linear
from pliant.mesh.look import Look
from pliant.mesh.surface import SurfaceMesh

VERTICES, INDICES = 34962, 34963
"""What a buffer view is for."""
UNSIGNED, FLOAT = 5125, 5126
"""Types of a number."""


class Bytes:
    """The buffer and its accessors, growing."""

    def __init__(self, package: Any, scene: Any):
        self.package, self.scene, self.data = package, scene, bytearray()

    def add(self, values: np.ndarray, target: int, bounds: bool = False) -> int:
        """Append an array (n,) or (n, width) of uint32 or float32; returns its accessor's number."""
        raw = np.ascontiguousarray(values).tobytes()
        view = self.package.BufferView(buffer=0, byteOffset=len(self.data), byteLength=len(raw), target=target)
        self.data += raw
        self.scene.bufferViews.append(view)
        kind = "SCALAR" if values.ndim == 1 else f"VEC{values.shape[1]}"
        accessor = self.package.Accessor(
            bufferView=len(self.scene.bufferViews) - 1,
            componentType=FLOAT if values.dtype == np.float32 else UNSIGNED,
            count=len(values),
            type=kind,
            byteOffset=0,
        )
        if bounds:
            accessor.min, accessor.max = values.min(axis=0).tolist(), values.max(axis=0).tolist()
        self.scene.accessors.append(accessor)
        return len(self.scene.accessors) - 1


def write(surface: SurfaceMesh, path: Path) -> None:
    """Write ``.glb``, or ``.gltf`` with its buffer inside."""
    package = library()
    scene = package.GLTF2(asset=package.Asset(version="2.0", generator="Pliant"))
    look = surface.look or Look()
    _add_paints(package, scene, look)
    buffer = Bytes(package, scene)
    part_of = np.full(len(surface.triangles), -1) if look.part_of is None else look.part_of
    paint_of = np.full(len(surface.triangles), -1) if look.paint_of is None else look.paint_of
    for part in np.unique(part_of):
        mine = part_of == part
        name = look.parts[part] if part >= 0 else surface.name or "surface"
        mesh = package.Mesh(name=name, primitives=[])
        for paint in np.unique(paint_of[mine]):
            rows = np.flatnonzero(mine & (paint_of == paint))
            mesh.primitives.append(_primitive(package, buffer, surface, look, rows, int(paint)))
        scene.meshes.append(mesh)
        scene.nodes.append(package.Node(name=name, mesh=len(scene.meshes) - 1))
    scene.scenes.append(package.Scene(nodes=list(range(len(scene.nodes)))))
    scene.scene = 0
    scene.buffers.append(package.Buffer(byteLength=len(buffer.data)))
    if path.suffix.lower() == ".glb":
        scene.set_binary_blob(bytes(buffer.data))
        data = b"".join(scene.save_to_bytes())
    else:
        scene.buffers[0].uri = "data:application/octet-stream;base64," + base64.b64encode(buffer.data).decode()
        data = scene.to_json(indent=1).encode()
    with replace_file(path) as file:
        file.write(data)


def _add_paints(package: Any, scene: Any, look: Look) -> None:
    images: dict[str, int] = {}
    for paint in look.paints:
        color = np.append(to_linear(np.array(paint.color[:3])), paint.color[3])
        surface = package.PbrMetallicRoughness(baseColorFactor=color.tolist(), metallicFactor=0.0, roughnessFactor=0.8)
        if paint.texture:
            if paint.texture not in images:
                images[paint.texture] = len(images)
                scene.images.append(package.Image(uri=quote(paint.texture.replace("\\", "/"))))
                scene.textures.append(package.Texture(source=len(scene.images) - 1))
            surface.baseColorTexture = package.TextureInfo(index=images[paint.texture])
        material = package.Material(name=paint.name, pbrMetallicRoughness=surface)
        material.alphaMode = "BLEND" if paint.color[3] < 1.0 else "OPAQUE"
        material.alphaCutoff = None
        scene.materials.append(material)


def _primitive(package: Any, buffer: Bytes, surface: SurfaceMesh, look: Look, rows: np.ndarray, paint: int) -> Any:
    """Chosen triangles; a vertex is doubled where its texture coordinates differ, since glTF keeps them per vertex."""
    corners = surface.triangles[rows].ravel().astype(np.int64)
    if look.uv is None:
        used, indices = np.unique(corners, return_inverse=True)
        uv = None
    else:
        table = look.uv[rows].reshape(-1, 2).astype(np.float32)
        keys = np.concatenate([corners[:, None], (table + 0.0).view(np.uint32).astype(np.int64)], axis=1)
        _, first, indices = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        used = corners[first]
        uv = table[first].astype(np.float64) * [1.0, -1.0] + [0.0, 1.0]
    attributes = package.Attributes(
        POSITION=buffer.add(surface.vertices[used].astype(np.float32), VERTICES, bounds=True)
    )
    if uv is not None:
        attributes.TEXCOORD_0 = buffer.add(uv.astype(np.float32), VERTICES)
    if look.vertex_colors is not None:
        colors = look.vertex_colors[used].astype(np.float64)
        colors[:, :3] = to_linear(colors[:, :3])
        attributes.COLOR_0 = buffer.add(colors.astype(np.float32), VERTICES)
    return package.Primitive(
        attributes=attributes,
        indices=buffer.add(indices.ravel().astype(np.uint32), INDICES),
        material=paint if paint >= 0 else None,
        mode=4,
    )
