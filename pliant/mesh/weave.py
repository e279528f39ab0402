"""The warp of a cloth: the direction of its threads in every triangle."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.mesh.surface import SurfaceMesh

# A direction that is nearer than this to a triangle's normal says nothing of the triangle's plane.
STEEP = 0.1


def warp_directions(mesh: SurfaceMesh, warp: tuple[float, float, float] | None) -> tuple[np.ndarray, int]:
    """Unit vectors (t, 3) along the warp in the plane of each triangle, and for how many it had to be guessed.

    The direction given, else that in which the texture coordinate u grows, else x; each projected onto the triangle.
    """
    normal = mesh.normals()
    wanted = np.tile(np.array((1.0, 0.0, 0.0) if warp is None else warp), (len(normal), 1))
    if warp is None and mesh.look is not None and mesh.look.uv is not None:
        wanted = _along_u(mesh, mesh.look.uv.astype(np.float64), wanted)
    flat = wanted - (wanted * normal).sum(axis=1, keepdims=True) * normal
    unsure = np.linalg.norm(flat, axis=1) < STEEP
    # where the direction is that of the normal, the coordinate axis that is most across both
    other = np.eye(3)[np.argmin(np.abs(wanted) + np.abs(normal), axis=1)]
    other -= (other * normal).sum(axis=1, keepdims=True) * normal
    flat[unsure] = other[unsure]
    return flat / np.linalg.norm(flat, axis=1, keepdims=True), int(unsure.sum())


def has_texture(mesh: Any) -> bool:
    """Whether a mesh is a sheet with texture coordinates, which tell its warp."""
    return isinstance(mesh, SurfaceMesh) and mesh.look is not None and mesh.look.uv is not None


def _along_u(mesh: SurfaceMesh, uv: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """The direction in which u grows and v stays (t, 3), of unit length; `otherwise` where a triangle has none."""
    x = mesh.vertices[mesh.triangles]
    first, second = uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]
    turn = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    found = second[:, 1:] * (x[:, 1] - x[:, 0]) - first[:, 1:] * (x[:, 2] - x[:, 0])
    found *= np.sign(turn)[:, None]
    size = np.linalg.norm(found, axis=1, keepdims=True)
    return np.where(size > 0.0, found / np.where(size > 0.0, size, 1.0), otherwise)
