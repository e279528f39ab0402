"""The rigid core of a layered body: a coarse closed surface over some of the feet, or one that is given."""

from __future__ import annotations

import numpy as np

from pliant.errors import InputError
from pliant.mesh.layer_feet import Net
from pliant.mesh.solid.distance import SignedDistance
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.texel_cells import Cells
from pliant.mesh.texel_seeds import APART, thinned

ROUNDS, SWELLING = 25, 8
SAMPLES = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3]]
)
"""Points of a triangle at which it must lie inside."""


def coarse_core(
    feet: np.ndarray, triangles: np.ndarray, distance: SignedDistance, wanted: int, device: str = "cpu"
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (c, 3) [m] and triangles (k, 3) of a closed surface over feet, that lies inside the body.

    Args:
        feet: of each node (n, 3) [m]. triangles: of the nodes (t, 3).
        distance: to the body's surface.
        wanted: number of triangles; more where fewer would leave the body or close a hole of it.
        device: where cells grow.
    """
    mesh = SurfaceMesh(feet, triangles)
    spacing = float(np.sqrt(1.3 * mesh.areas().sum() / wanted))
    normals = np.zeros_like(feet)
    for k in range(3):
        np.add.at(normals, triangles[:, k], mesh.normals())
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    # sharp places first, so that the core keeps its edges
    flat = np.full(len(feet), np.inf)
    np.minimum.at(flat, triangles.ravel(), (normals[triangles] * mesh.normals()[:, None]).sum(axis=2).ravel())
    order = np.lexsort((np.arange(len(feet)), np.round(flat, 1)))
    home = order[_spaced(feet[order], normals[order], 0.75 * spacing)]
    cells = Cells(feet, triangles.astype(np.int64), device)
    seeds = feet[home]
    cell = cells.grown(home, seeds)
    wanting = np.zeros(len(home), bool) | (len(home) < 4)
    # what no cell has reached is a part of its own
    while (cell < 0).any():
        home = np.append(home, np.argmax(cell < 0))
        seeds = feet[home]
        cell = cells.grown(home, seeds, cell)
        wanting = np.append(wanting, True)
    before = -1
    for _ in range(ROUNDS):
        home, seeds, cell, faulty = cells.repaired(home, seeds, cell, wanting)
        net = cells.net(cell)
        outside = outside_of(seeds, net, distance)
        wanting = np.zeros(len(home), bool)
        wanting[net[outside]] = True
        if not outside.any() or faulty.any() or len(home) == before:
            break
        before = len(home)
    if faulty.any():
        # the feet themselves are a closed surface inside
        return feet, triangles
    seeds = _drawn_in(seeds, net, distance)
    return _swollen(seeds, net, distance, mesh.volume()), net.astype(np.int32)


def _drawn_in(vertices: np.ndarray, triangles: np.ndarray, distance: SignedDistance) -> np.ndarray:
    """Vertices (c, 3) of triangles that reach out drawn to the mean of their neighbours, as often as it helps."""
    net = Net(triangles, len(vertices))
    for _ in range(ROUNDS):
        outside = outside_of(vertices, triangles, distance)
        if not outside.any():
            break
        marked = np.zeros(len(vertices), bool)
        marked[triangles[outside]] = True
        vertices = np.where(marked[:, None], 0.5 * (vertices + net.mean(vertices)), vertices)
    return vertices


def _swollen(vertices: np.ndarray, triangles: np.ndarray, distance: SignedDistance, wanted: float) -> np.ndarray:
    """A core's vertices (c, 3) moved along their normals until it has a volume [m^3], as far as it stays inside.

    Chords cut corners: without this a core of a few hundred triangles would be too light.
    """
    part = 1.0
    for _ in range(SWELLING):
        mesh = SurfaceMesh(vertices, triangles)
        step = part * (wanted - mesh.volume()) / float(mesh.areas().sum())
        normals = np.zeros_like(vertices)
        for k in range(3):
            np.add.at(normals, triangles[:, k], mesh.areas()[:, None] * mesh.normals())
        moved = vertices + step * normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        if outside_of(moved, triangles, distance).sum() > outside_of(vertices, triangles, distance).sum():
            part *= 0.5
        else:
            vertices = moved
    return vertices


def _spaced(points: np.ndarray, normals: np.ndarray, apart: float) -> np.ndarray:
    """Numbers of points that are so far apart [m]; thinned step by step, so that there are never many pairs."""
    low = points.min(axis=0)
    kept = np.arange(len(points))
    step = float(np.sqrt(((points.max(axis=0) - low) ** 2).sum() / max(len(points), 1)))
    while True:
        step = min(step, apart)
        stay = thinned(points[kept], normals[kept], np.full(len(kept), step / APART))
        kept = kept[stay]
        if step >= apart:
            return kept
        step *= 2.0


def outside_of(vertices: np.ndarray, triangles: np.ndarray, distance: SignedDistance) -> np.ndarray:
    """Triangles with a point outside (k,) bool."""
    points = np.einsum("sc,kcd->ksd", SAMPLES, vertices[triangles])
    depth = distance.at(points.reshape(-1, 3)).reshape(len(triangles), -1)
    return np.any(depth >= 0.0, axis=1)


def check_core(core: SurfaceMesh, distance: SignedDistance, where: str) -> None:
    """Raise unless a core is closed, faces outward and lies inside."""
    core.check(where)
    if not core.is_closed() or core.volume() <= 0.0:
        raise InputError("the core is not closed, or inside out", where, "Give a closed surface that faces outward")
    outside = outside_of(core.vertices, core.triangles, distance)
    if outside.any():
        raise InputError(
            f"{int(outside.sum())} of {len(outside)} triangles of the core reach out of the body",
            where,
            "Give a smaller core, or none and a layer thickness",
        )
