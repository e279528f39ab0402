"""A program of its own that reads one file with assimp and hands the meshes to its parent, pickled.

assimp may loop or crash on a damaged file; in a process of its own that harms nobody. It imports nothing of Pliant, so
that it starts at once. Called as: python -P assimp_child.py FILE.
"""

import pickle
import sys
from typing import Any

MOST_BYTES = 16 << 30
"""Memory the child may ask for: a damaged count may ask for all there is."""


def main(path: str) -> None:
    """Read the file and write a dictionary to the standard output: meshes, materials, nodes; or the error."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (ImportError, ValueError, OSError):
        pass
    import assimp_py

    try:
        scene = assimp_py.import_file(path, assimp_py.Process_Triangulate)
    except Exception as error:
        content: dict[str, Any] = {"error": " ".join(str(error).split()) or type(error).__name__}
    else:
        content = {
            "materials": scene.materials,
            "nodes": _nodes(scene.root_node),
            "meshes": [
                {
                    "name": mesh.name,
                    "faces": mesh.num_faces,
                    "material": mesh.material_index,
                    "vertices": bytes(mesh.vertices),
                    "indices": [mesh.indices.format, bytes(mesh.indices)],
                    "uv": bytes(mesh.texcoords[0]) if mesh.texcoords and mesh.num_uv_components[0] >= 2 else None,
                    "colors": bytes(mesh.colors[0]) if mesh.colors else None,
                }
                for mesh in scene.meshes
            ],
        }
    sys.stdout.buffer.write(pickle.dumps(content))


def _nodes(root: Any) -> list:
    """Name, matrix, meshes and parent's place of every node, in the order of the tree."""
    found: list[tuple] = []
    stack = [(root, -1)]
    while stack:
        node, parent = stack.pop()
        stack += [(child, len(found)) for child in reversed(node.children)]
        found.append((node.name, node.transformation, list(node.mesh_indices), parent))
    return found


if __name__ == "__main__":
    main(sys.argv[1])
