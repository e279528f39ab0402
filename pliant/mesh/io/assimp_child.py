"""What assimp finds in a file; run by `child_reader` in a process of its own, since assimp may loop or crash.

It imports nothing of Pliant, so that it starts at once.
"""

from typing import Any


def read(path: str) -> dict[str, Any]:
    """The file's materials, nodes and meshes."""
    import assimp_py

    scene = assimp_py.import_file(path, assimp_py.Process_Triangulate)
    return {
        "materials": [
            {key: material[key] for key in ("NAME", "COLOR_DIFFUSE", "TEXTURE_BASE") if key in material}
            for material in scene.materials
        ],
        "nodes": _nodes(scene.root_node),
        "meshes": [
            {
                "name": mesh.name,
                "faces": mesh.num_faces,
                "material": mesh.material_index,
                "vertices": _kept(mesh.vertices),
                "indices": _kept(mesh.indices),
                "uv": _kept(mesh.texcoords[0]) if mesh.texcoords and mesh.num_uv_components[0] >= 2 else None,
                "colors": _kept(mesh.colors[0]) if mesh.colors else None,
            }
            for mesh in scene.meshes
        ],
    }


def _kept(view: Any) -> memoryview:
    """A copy, since assimp's own memory goes with the scene."""
    return memoryview(view.tobytes()).cast(view.format)


def _nodes(root: Any) -> list:
    """Name, matrix, meshes and parent's place of every node, in the order of the tree."""
    found: list[tuple] = []
    stack = [(root, -1)]
    while stack:
        node, parent = stack.pop()
        stack += [(child, len(found)) for child in reversed(node.children)]
        found.append((node.name, node.transformation, list(node.mesh_indices), parent))
    return found
