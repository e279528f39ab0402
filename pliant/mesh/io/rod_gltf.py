"""Line primitives of glTF 2.0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh.io import gltf, source
from pliant.mesh.io.gltf_buffers import WHAT, accessor_values, chunks, load_buffers
from pliant.mesh.io.rod_files import FoundRods

LINES, LOOP, STRIP = 1, 2, 3
"""Modes of a primitive that make lines."""


def read_rods(path: Path) -> FoundRods:
    """Read the lines of all meshes of a scene, each moved to its place; all else is left out."""
    package = gltf.library()
    try:
        return _read(package, path)
    except InputError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise InputError(f"is not valid glTF ({error!r})", str(path), f"Give {WHAT}") from None


def _read(package: Any, path: Path) -> FoundRods:
    text, blob = chunks(source.load(path, WHAT), path)
    scene = gltf.parse(package, text, path)
    notes: list[str] = []
    gltf.check_extensions(scene, path, notes)
    buffers = load_buffers(scene, blob, path)
    vertices, segments, count = [np.zeros((0, 3))], [np.zeros((0, 2), np.int64)], 0
    for node, matrix in gltf.placed_nodes(scene, path):
        for primitive in scene.meshes[node.mesh].primitives:
            if primitive.mode not in (LINES, LOOP, STRIP) or primitive.attributes.POSITION is None:
                notes.append("triangles and points were left out")
                continue
            local = accessor_values(scene, primitive.attributes.POSITION, buffers, path).astype(np.float64)
            numbers = np.arange(len(local))
            if primitive.indices is not None:
                numbers = accessor_values(scene, primitive.indices, buffers, path).ravel().astype(np.int64)
            if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(local)):
                raise InputError(f"names vertex {numbers.max()} of {len(local)}", str(path), "Write the file again")
            if primitive.mode == LINES:
                ends = numbers[: len(numbers) // 2 * 2].reshape(-1, 2)
            else:
                row = np.append(numbers, numbers[:1]) if primitive.mode == LOOP else numbers
                ends = np.stack([row[:-1], row[1:]], axis=1)
            vertices.append(local @ matrix[:3, :3].T + matrix[:3, 3])
            segments.append(ends + count)
            count += len(local)
    return FoundRods(np.concatenate(vertices), np.concatenate(segments), None, tuple(dict.fromkeys(notes)))
