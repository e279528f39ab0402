"""Cracks closed: where a free vertex lies on a free edge of another triangle (a T-junction), the triangle is split."""

from __future__ import annotations

import dataclasses

import numpy as np
import warp as wp

from pliant.launch import launch, pick_device
from pliant.mesh.repair import topology, weld
from pliant.mesh.repair.fill_kernels import nearest_edge
from pliant.mesh.surface import SurfaceMesh

LOOSE = 20_000
"""Free edges beyond which a surface that has mostly such is taken for loose triangles, not for one with cracks."""


def split_at_free_vertices(mesh: SurfaceMesh, tolerance: float = weld.TOLERANCE) -> tuple[SurfaceMesh, int]:
    """Split triangles whose free edge passes through free vertices; returns the mesh and how many vertices it took.

    One edge of a triangle is split at a time: call again until nothing is found.

    Args:
        mesh: sound: vertex numbers in range, no corner named twice.
        tolerance: distance from the edge, as a part of the box's diagonal.
    """
    table = topology.edge_table(mesh.triangles)
    sides = table.free_sides()
    if not len(sides) or (len(sides) > LOOSE and 2 * len(sides) > len(table.ends)):
        return mesh, 0
    flat = mesh.triangles.ravel()
    start, end = flat[sides], flat[sides - sides % 3 + (sides + 1) % 3]
    free = np.unique(np.concatenate([start, end]))
    edge, along = _on_edges(mesh.vertices, start, end, free, tolerance)
    hit = np.flatnonzero(edge >= 0)
    if not len(hit):
        return mesh, 0
    vertex, side, along = free[hit], sides[edge[hit]], along[hit]
    order = np.lexsort((vertex, along, side))
    vertex, side, along = vertex[order], side[order], along[order]
    # One side of each triangle: the first; and no vertex that the triangle has already.
    triangle = side // 3
    first_side = np.full(len(mesh.triangles), 3, np.int64)
    np.minimum.at(first_side, triangle, side % 3)
    good = (side % 3 == first_side[triangle]) & (mesh.triangles[triangle] != vertex[:, None]).all(axis=1)
    vertex, side, along = vertex[good], side[good], along[good]
    if not len(vertex):
        return mesh, 0
    return _split(mesh, vertex, side, along), len(vertex)


def _on_edges(
    vertices: np.ndarray, start: np.ndarray, end: np.ndarray, free: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """The free edge that each free vertex lies on (f,), -1 for none, and where along it (f,)."""
    low = vertices[free].min(axis=0)
    size = weld.diagonal(vertices)
    unit = (vertices[free] - low) / size
    number = np.zeros(len(vertices), np.int64)
    number[free] = np.arange(len(free))
    a, b = unit[number[start]], unit[number[end]]
    margin = 2.0 * tolerance + 1e-6
    device = pick_device("cpu")
    lowers = wp.array((np.minimum(a, b) - margin).astype(np.float32), dtype=wp.vec3, device=device)
    uppers = wp.array((np.maximum(a, b) + margin).astype(np.float32), dtype=wp.vec3, device=device)
    bvh = wp.Bvh(lowers, uppers)
    edge = wp.zeros(len(free), dtype=wp.int32, device=device)
    along = wp.zeros(len(free), dtype=wp.float64, device=device)
    put = lambda array: wp.array(array, dtype=wp.vec3d, device=device)
    launch(
        nearest_edge,
        len(free),
        [bvh.id, put(a), put(b), put(unit), wp.float64(tolerance)],
        [edge, along],
        device=device,
        grain=256,
    )
    return edge.numpy(), along.numpy()


def _split(mesh: SurfaceMesh, vertex: np.ndarray, side: np.ndarray, along: np.ndarray) -> SurfaceMesh:
    """Split triangles at vertices (m,) on one of their sides (m,), sorted by side and then by place along it.

    A triangle a, b, c with d and e on a-b becomes a, d, c and d, e, c and e, b, c; the first takes its place and the
    others come last.
    """
    triangle, corner = side // 3, side % 3
    last = np.append(side[1:] != side[:-1], True)
    first = np.append(True, side[1:] != side[:-1])
    next_corner = (corner + 1) % 3
    # Each vertex starts one new triangle, which ends at the next vertex or at the side's end.
    rows = np.concatenate([np.arange(len(mesh.triangles)), triangle])
    look = mesh.look and mesh.look.of_triangles(rows)
    triangles = mesh.triangles[rows]
    new = len(mesh.triangles) + np.arange(len(vertex))
    triangles[new, corner] = vertex
    inner = np.flatnonzero(~last)
    triangles[new[inner], next_corner[inner]] = vertex[inner + 1]
    triangles[triangle[first], next_corner[first]] = vertex[first]
    if look is not None and look.uv is not None:
        uv = look.uv.copy()
        old = mesh.look.uv if mesh.look is not None and mesh.look.uv is not None else uv
        t = along[:, None]
        at = ((1.0 - t) * old[triangle, corner] + t * old[triangle, next_corner]).astype(uv.dtype)
        uv[new, corner] = at
        uv[new[inner], next_corner[inner]] = at[inner + 1]
        uv[triangle[first], next_corner[first]] = at[first]
        look = dataclasses.replace(look, uv=uv)
    return dataclasses.replace(mesh, triangles=triangles, look=look)
