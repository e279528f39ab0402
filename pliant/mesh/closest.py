"""The point of a mesh that is closest to a given one, as weights of its vertices."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch, pick_device
from pliant.mesh import embed_kernels
from pliant.mesh.embed_search import FAR, FINDING_GRAIN, Frames, Search
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.points import PointCloud
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

MOST_HOSTS = 4
SMALL_WEIGHT = 1e-6
"""Weights below this are none: the point then is a vertex, or on an edge."""
CHUNK = 1 << 22
"""Pairs of points and elements that are compared at once."""

Mesh = TetMesh | SurfaceMesh | VoxelLattice | PointCloud | RodMesh


def closest_points(points: np.ndarray, mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Hosts (n, 4) int64 and weights (n, 4) of the point of a mesh that is closest to each point (n, 3) [m].

    A point inside of a tet is that point itself. Outside it is on the surface, of rods on their middle line, of loose
    points one of them. Weights add up to 1, none is negative, the largest comes first, and unused hosts repeat it.
    """
    points = np.asarray(points, np.float64)
    if isinstance(mesh, RodMesh):
        return _tidy(*_on_segments(points, mesh.vertices, mesh.segments))
    if isinstance(mesh, PointCloud):
        return _tidy(*_on_vertices(points, mesh.vertices))
    triangles = mesh.triangles if isinstance(mesh, SurfaceMesh) else mesh.surface()
    hosts, weights = _on_triangles(points, mesh.vertices, triangles)
    if isinstance(mesh, VoxelLattice):
        corner, one = _on_vertices(points, mesh.vertices)
        nearer = _distance(points, mesh.vertices, corner, one) < _distance(points, mesh.vertices, hosts, weights)
        hosts[nearer], weights[nearer] = corner[nearer], one[nearer]
    if isinstance(mesh, TetMesh):
        frames = Frames(mesh)
        scaled = (points - frames.middle) / frames.size
        element = Search(frames, pick_device("cpu")).containing(scaled)
        inside = element >= 0
        if inside.any():
            found = frames.weights(scaled[inside], element[inside], np.ones(int(inside.sum()), bool))
            hosts[inside], weights[inside] = found[0], found[1]
    return _tidy(hosts, weights)


def nearest_of(points: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The number of the place (m, 3) that is nearest to each point (n, 3), the lowest of several (n,)."""
    step = max(1, CHUNK // max(len(places), 1))
    return np.concatenate(
        [
            ((points[k : k + step, None] - places[None]) ** 2).sum(axis=2).argmin(axis=1)
            for k in range(0, len(points), step)
        ]
    )


def _distance(points: np.ndarray, vertices: np.ndarray, hosts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.einsum("nk,nkd->nd", weights, vertices[hosts]) - points, axis=1)


def _tidy(hosts: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop tiny weights, put the largest first, and let unused hosts repeat it."""
    weights = np.where(weights < SMALL_WEIGHT, 0.0, weights)
    order = np.argsort(-weights, axis=1, kind="stable")
    weights, hosts = np.take_along_axis(weights, order, axis=1), np.take_along_axis(hosts, order, axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.where(weights > 0.0, hosts, hosts[:, :1]), weights


def _on_vertices(points: np.ndarray, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    weights = np.zeros((len(points), MOST_HOSTS))
    weights[:, 0] = 1.0
    return np.repeat(nearest_of(points, vertices)[:, None], MOST_HOSTS, axis=1), weights


def _along(points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where between a (0) and b (1) the closest point of a segment is."""
    way = b - a
    square = (way**2).sum(axis=-1)
    return np.clip(((points - a) * way).sum(axis=-1) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)


def _on_segments(points: np.ndarray, vertices: np.ndarray, segments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = vertices[segments[:, 0]], vertices[segments[:, 1]]
    step = max(1, CHUNK // len(segments))
    found = []
    for k in range(0, len(points), step):
        here = points[k : k + step, None]
        t = _along(here, a[None], b[None])
        distance = ((a + t[..., None] * (b - a) - here) ** 2).sum(axis=2)
        found.append(distance.argmin(axis=1))
    which = np.concatenate(found)
    t = _along(points, a[which], b[which])
    weights = np.zeros((len(points), MOST_HOSTS))
    weights[:, 0], weights[:, 1] = 1.0 - t, t
    hosts = np.repeat(segments[which, :1].astype(np.int64), MOST_HOSTS, axis=1)
    hosts[:, 1] = segments[which, 1]
    return hosts, weights


def _on_triangles(points: np.ndarray, vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    which = triangles[_nearest_triangle(points, vertices, triangles)].astype(np.int64)
    corners = vertices[which]
    weights = np.zeros((len(points), MOST_HOSTS))
    weights[:, :3] = _in_triangle(points, corners)
    return np.concatenate([which, which[:, :1]], axis=1), weights


def _nearest_triangle(points: np.ndarray, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    device = pick_device("cpu")
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    size = float((high - low).max()) or 1.0
    scaled = (vertices - 0.5 * (low + high)) / size
    corners = wp.array(scaled.astype(np.float32), dtype=wp.vec3, device=device)
    mesh = wp.Mesh(corners, wp.array(triangles.astype(np.int32).ravel(), dtype=int, device=device))
    face = wp.empty(len(points), dtype=int, device=device)
    distance = wp.empty(len(points), dtype=wp.float64, device=device)
    inputs = [
        mesh.id,
        wp.array(scaled, dtype=wp.vec3d, device=device),
        wp.array(triangles.astype(np.int32), dtype=wp.vec3i, device=device),
        wp.array((points - 0.5 * (low + high)) / size, dtype=wp.vec3d, device=device),
        FAR,
    ]
    launch(embed_kernels.find_nearest, len(points), inputs, [face, distance], device=device, grain=FINDING_GRAIN)
    return face.numpy()


def _in_triangle(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Weights (n, 3) of the closest point of each triangle (n, 3, 3): inside of it, or on an edge."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    ab, ac, ap = b - a, c - a, points - a
    dot = lambda u, v: (u * v).sum(axis=1)
    d00, d01, d11, d20, d21 = dot(ab, ab), dot(ab, ac), dot(ac, ac), dot(ap, ab), dot(ap, ac)
    area = d00 * d11 - d01 * d01
    usable = np.where(area > 0.0, area, 1.0)
    v, w = (d11 * d20 - d01 * d21) / usable, (d00 * d21 - d01 * d20) / usable
    inside = (area > 0.0) & (v >= 0.0) & (w >= 0.0) & (v + w <= 1.0)
    best, least = np.stack([1.0 - v - w, v, w], axis=1), np.full(len(points), np.inf)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        t = _along(points, corners[:, i], corners[:, j])
        edge = np.zeros((len(points), 3))
        edge[:, i], edge[:, j] = 1.0 - t, t
        far = ((np.einsum("nk,nkd->nd", edge, corners) - points) ** 2).sum(axis=1)
        take = ~inside & (far < least)
        best[take], least[take] = edge[take], far[take]
    return best
