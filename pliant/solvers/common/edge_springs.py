"""Springs along the edges of a sheet, as stiff as its stuff."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.surface import SurfaceMesh
from pliant.model.springs import Springs


def one_ring_springs(mesh: SurfaceMesh, thickness: float, modulus: float | np.ndarray) -> Springs:
    """A spring on every edge, k = E' t (area around it) / L^2 (Van Gelder 1998 with areas).

    Args:
        thickness: t [m].
        modulus: E' of `spring_constants` [Pa], or that of each edge (e,).
    """
    edges = mesh.edges()
    work = modulus * (thickness * edge_areas(mesh, edges))
    return Springs.build(mesh.vertices, edges, work / arrays.edge_lengths(mesh.vertices, edges) ** 2)


def pair_finder(pairs: np.ndarray, count: int) -> Callable[[np.ndarray], np.ndarray]:
    """A function from pairs of vertices (k, 2) to their rows in a sorted table of pairs."""
    keys = pairs[:, 0].astype(np.int64) * count + pairs[:, 1]

    def find(wanted: np.ndarray) -> np.ndarray:
        ends = wanted.astype(np.int64)
        return np.searchsorted(keys, ends.min(axis=1) * count + ends.max(axis=1))

    return find


def edge_areas(mesh: SurfaceMesh, edges: np.ndarray) -> np.ndarray:
    """Sum of the areas of the triangles around each edge [m^2] (e,)."""
    find = pair_finder(edges, len(mesh.vertices))
    areas = mesh.areas()
    total = np.zeros(len(edges))
    for i, j in ((0, 1), (1, 2), (2, 0)):
        total += np.bincount(find(mesh.triangles[:, [i, j]]), areas, len(edges))
    return total
