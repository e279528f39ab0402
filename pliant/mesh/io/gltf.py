"""glTF 2.0, as ``.gltf`` with its buffers beside or inside it, and as binary ``.glb``; through pygltflib.

Khronos Group, "glTF 2.0 Specification" (2021). Metres, y up, counter-clockwise triangles: as here.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from pliant.errors import InputError, MissingExtraError
from pliant.mesh.io import source
from pliant.mesh.io.gltf_buffers import WHAT, accessor_values, chunks, load_buffers
from pliant.mesh.io.pieces import Piece, join
from pliant.mesh.io.screen_color import to_screen
from pliant.mesh.look import Paint
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

LIST, STRIP, FAN = 4, 5, 6
"""Modes of a primitive that make triangles."""
PACKERS = ("KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression")


def library() -> Any:
    """The package pygltflib, or the error that says how to get it."""
    try:
        import pygltflib
    except ImportError:
        raise MissingExtraError("pygltflib", "mesh", "Reading and writing glTF") from None
    # It warns through the root logger about things that are told here as errors or notes.
    logging.getLogger("pygltflib").setLevel(logging.ERROR)
    return pygltflib


def read(path: Path) -> SurfaceMesh:
    """Read all meshes of a scene as one surface, each moved to its place; nodes become parts, materials paints.

    Vertices that were doubled at the seams of texture or paint are made one again, which the notes tell.
    Skins, animation and cameras are read over.
    """
    package = library()
    try:
        return _read(package, path)
    except InputError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        # A reference to something that is not there, or a value of the wrong kind.
        raise InputError(f"is not valid glTF ({error!r})", str(path), f"Give {WHAT}") from None


def _read(package: Any, path: Path) -> SurfaceMesh:
    text, blob = chunks(source.load(path, WHAT), path)
    scene = parse(package, text, path)
    notes: list[str] = []
    check_extensions(scene, path, notes)
    buffers = load_buffers(scene, blob, path)
    paints = tuple(_paint(scene, number, material) for number, material in enumerate(scene.materials or []))
    pieces: list[Piece] = []
    for node, matrix in placed_nodes(scene, path):
        pieces += _node_pieces(scene, node, matrix, buffers, path, notes)
    if not pieces:
        raise InputError("holds no triangles", str(path), "Give a scene with a mesh; lines and points are not read")
    if scene.skins or scene.animations:
        notes.append("skins and animation were left out: the surface is in the pose it was bound in")
    return join(pieces, paints, source.stem(path), list(dict.fromkeys(notes)), sew=True)


def parse(package: Any, text: bytes, path: Path) -> Any:
    try:
        content = json.loads(text.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise InputError(
            f"is not whole JSON ({error.msg})", f"{path}, line {error.lineno}", "Write or fetch it again"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", f"{path}, byte {error.start}", f"Give {WHAT}") from None
    version = str((content.get("asset") or {}).get("version", "")) if isinstance(content, dict) else ""
    if not version.startswith("2"):
        raise InputError(f"is not glTF 2 (asset.version is {version!r})", str(path), "Save it as glTF 2.0")
    try:
        return package.GLTF2.from_json(json.dumps(content), infer_missing=True)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"is not valid glTF ({error!r})", str(path), f"Give {WHAT}") from None


def check_extensions(scene: Any, path: Path, notes: list[str]) -> None:
    """Raise for packed geometry; note other required extensions."""
    needed = scene.extensionsRequired or []
    for name in needed:
        if name in PACKERS:
            raise InputError(
                f"its geometry is packed with {name}, which is not read",
                str(path),
                "Save it without compression (in Blender: switch Compression off)",
            )
    others = [name for name in needed if name != "KHR_mesh_quantization"]
    if others:
        notes.append(f"the extension {', '.join(others)} was read over")


def placed_nodes(scene: Any, path: Path) -> list[tuple[Any, np.ndarray]]:
    """Nodes that hold a mesh, with the matrix (4, 4) to the world, in the order of the tree."""
    nodes = scene.nodes or []
    if not nodes:
        return []
    scenes = scene.scenes or []
    if scenes:
        roots = scenes[scene.scene or 0].nodes or []
    else:
        children = {child for node in nodes for child in node.children or []}
        roots = [number for number in range(len(nodes)) if number not in children]
    found, seen = [], set()
    stack = [(number, np.eye(4)) for number in reversed(roots)]
    while stack:
        number, above = stack.pop()
        if not 0 <= number < len(nodes) or number in seen:
            raise InputError(f"node {number} is missing or hangs below itself", str(path), f"Give {WHAT}")
        seen.add(number)
        node = nodes[number]
        matrix = above @ _matrix(node)
        if node.mesh is not None:
            found.append((node, matrix))
        stack += [(child, matrix) for child in reversed(node.children or [])]
    return found


def _matrix(node: Any) -> np.ndarray:
    """The matrix (4, 4) of a node, from its matrix or from translation, rotation (x, y, z, w) and scale."""
    if node.matrix:
        return np.array(node.matrix, dtype=np.float64).reshape(4, 4).T
    matrix = np.eye(4)
    if node.rotation:
        x, y, z, w = np.array(node.rotation, dtype=np.float64) / max(float(np.linalg.norm(node.rotation)), 1e-30)
        matrix[:3, :3] = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    if node.scale:
        matrix[:3, :3] *= np.array(node.scale, dtype=np.float64)
    if node.translation:
        matrix[:3, 3] = node.translation
    return matrix


def _node_pieces(
    scene: Any, node: Any, matrix: np.ndarray, buffers: list[np.ndarray], path: Path, notes: list[str]
) -> list[Piece]:
    """The triangles of one node's mesh, in the world's frame."""
    try:
        mesh = scene.meshes[node.mesh]
    except (IndexError, TypeError):
        raise InputError(f"names mesh {node.mesh}, which is not there", str(path), f"Give {WHAT}") from None
    pieces = []
    for number, primitive in enumerate(mesh.primitives):
        where = f"{path}, mesh {node.mesh} ({mesh.name or 'no name'}), primitive {number}"
        if any(name in PACKERS for name in primitive.extensions or {}):
            raise InputError("is packed (Draco), which is not read", where, "Save it without compression")
        mode = LIST if primitive.mode is None else primitive.mode
        if mode not in (LIST, STRIP, FAN):
            notes.append("lines and points were left out")
            continue
        if primitive.targets:
            notes.append("morph targets were left out: the surface is in its first shape")
        if primitive.attributes.POSITION is None:
            notes.append("a primitive without positions was left out")
            continue
        local = accessor_values(scene, primitive.attributes.POSITION, buffers, path).astype(np.float64)
        vertices = local @ matrix[:3, :3].T + matrix[:3, 3]
        triangles = _triangles(scene, primitive, mode, len(vertices), buffers, path, where)
        if np.linalg.det(matrix[:3, :3]) < 0.0:
            triangles = triangles[:, [0, 2, 1]]
        uv, colors = None, None
        if primitive.attributes.TEXCOORD_0 is not None:
            table = accessor_values(scene, primitive.attributes.TEXCOORD_0, buffers, path).astype(np.float64)
            # Rows of a picture count from its top in glTF, from its bottom here.
            uv = (table * [1.0, -1.0] + [0.0, 1.0])[triangles]
        if primitive.attributes.COLOR_0 is not None:
            found = accessor_values(scene, primitive.attributes.COLOR_0, buffers, path).astype(np.float64)
            colors = np.ones((len(found), 4))
            colors[:, : found.shape[1]] = found
            colors[:, :3] = to_screen(colors[:, :3])
        paint = -1 if primitive.material is None else primitive.material
        if not -1 <= paint < len(scene.materials or []):
            raise InputError(f"names material {paint}, which is not there", where, f"Give {WHAT}")
        part = node.name or mesh.name or ""
        pieces.append(Piece(vertices, triangles, (part,), 0, paint, uv, colors))
    return pieces


def _triangles(
    scene: Any, primitive: Any, mode: int, count: int, buffers: list[np.ndarray], path: Path, where: str
) -> np.ndarray:
    """Vertex numbers (k, 3) int64 of a primitive."""
    indices = np.arange(count, dtype=np.int64)
    if primitive.indices is not None:
        indices = accessor_values(scene, primitive.indices, buffers, path).ravel().astype(np.int64)
    if len(indices) and (indices.min() < 0 or indices.max() >= count):
        raise InputError(f"names vertex {indices.max()} of {count}", where, "Write the file again")
    if mode == LIST:
        if len(indices) % 3:
            raise InputError(f"has {len(indices)} corners, not a multiple of three", where, "Write the file again")
        return indices.reshape(-1, 3)
    k = np.arange(max(len(indices) - 2, 0))
    if mode == FAN:
        return np.stack([indices[np.zeros_like(k)], indices[k + 1], indices[k + 2]], axis=1)
    # Every second triangle of a strip is the other way round.
    odd = k % 2
    return np.stack([indices[k], indices[k + 1 + odd], indices[k + 2 - odd]], axis=1)


def _paint(scene: Any, number: int, material: Any) -> Paint:
    """A material's colour on a screen and the name of its picture."""
    surface = material.pbrMetallicRoughness
    factor = np.array((surface and surface.baseColorFactor) or [1.0, 1.0, 1.0, 1.0], dtype=np.float64)
    red, green, blue = (round(float(value), 9) for value in to_screen(factor[:3]))
    texture = ""
    if surface and surface.baseColorTexture is not None:
        try:
            image = scene.images[scene.textures[surface.baseColorTexture.index].source]
            inside = not image.uri or image.uri.startswith("data:")
            texture = (image.name or "") if inside else unquote(image.uri)
        except (IndexError, TypeError):
            texture = ""
    return Paint(material.name or f"material {number}", (red, green, blue, float(factor[3])), texture)


def write(mesh: SurfaceMesh | TetMesh, path: Path) -> None:
    """Write a scene with one node for each part, positions in float32; of a tet mesh the boundary."""
    from pliant.mesh.io import gltf_writer

    gltf_writer.write(mesh.surface_mesh() if isinstance(mesh, TetMesh) else mesh, path)
