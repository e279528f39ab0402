"""What is asked of a solid made from a surface: does it hold the surface, is it well shaped, does it pinch."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.solid.distance import SignedDistance
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import CHUNK, EDGE_CORNERS, FACE_CORNERS, TetMesh

SAMPLES = 20_000
SPECK = 0.005
"""A connected part of the surface with less of its area than this is not worth changing the whole solid for."""
LOST = 0.75
"""A sample further outside the solid than this part of the element size is lost: rounding of edges stays below it."""
SLIVER = (5.0, 170.0)
"""A tet with a dihedral angle outside this range is a sliver [degrees]."""


@dataclasses.dataclass(frozen=True, eq=False)
class Samples:
    """Points spread evenly over a surface (n, 3) [m], and the connected part each lies on (n,)."""

    points: np.ndarray
    part: np.ndarray

    @staticmethod
    def on(surface: SurfaceMesh, count: int = SAMPLES) -> Samples:
        """That many points."""
        points, rows = Samples.places(surface, count)
        return Samples(points, surface.components()[1][surface.triangles[rows, 0]])

    @staticmethod
    def places(surface: SurfaceMesh, count: int) -> tuple[np.ndarray, np.ndarray]:
        """That many points (n, 3) [m] and the triangle of each (n,).

        Equal steps in area, and within the triangles the R2 sequence (Roberts 2018): no chance involved.
        """
        total = np.cumsum(surface.areas())
        steps = np.arange(count)
        rows = np.minimum(np.searchsorted(total, (steps + 0.5) / count * total[-1], side="right"), len(total) - 1)
        u, v = (0.5 + steps * 0.7548776662466927) % 1.0, (0.5 + steps * 0.5698402909980532) % 1.0
        u, v = np.where(u + v > 1.0, 1.0 - u, u), np.where(u + v > 1.0, 1.0 - v, v)
        a, b, c = (surface.vertices[surface.triangles[rows, i]] for i in range(3))
        return a + u[:, None] * (b - a) + v[:, None] * (c - a), rows


class Lost(NamedTuple):
    """What a solid misses of a surface: a part of its area, whole connected parts, and parts smaller than `SPECK`."""

    area: float
    parts: int
    specks: int

    def __str__(self) -> str:
        counted = [(self.parts, "of its parts"), (self.specks, "small parts")]
        words = [f"{100.0 * self.area:.3g} % of the surface", *(f"{count} {what}" for count, what in counted if count)]
        return " and ".join(words)


def lost_parts(samples: Samples, outside: np.ndarray, size: float) -> Lost:
    """What of a surface lies more than `LOST` element sizes outside a solid.

    Args:
        samples: on the surface.
        outside: distance of each sample from the solid, negative inside (n,) [m].
        size: element size of the solid [m].
    """
    lost = outside > LOST * size
    seen = np.bincount(samples.part)
    gone = (np.bincount(samples.part, weights=lost) == seen) & (seen > 0)
    small = seen < SPECK * len(lost)
    return Lost(float(lost.mean()), int((gone & ~small).sum()), int((gone & small).sum()))


def outside_of(mesh: TetMesh, points: np.ndarray, device: str, deadline: float | None = None) -> np.ndarray:
    """Distance of points (n, 3) [m] from a solid, negative inside: (n,) [m]."""
    return SignedDistance(mesh.surface_mesh(), device).at(points, None, deadline)


def sliver_count(mesh: TetMesh) -> int:
    """Number of tets with a dihedral angle outside `SLIVER`."""
    return sum(int(_slivers(mesh.vertices[mesh.tets[i : i + CHUNK]]).sum()) for i in range(0, len(mesh.tets), CHUNK))


def _slivers(tets: np.ndarray) -> np.ndarray:
    """Whether each tet, given by its corners (m, 4, 3), is a sliver: (m,) bool."""
    corners = [tets[:, i] for i in range(4)]
    normals = [np.cross(corners[j] - corners[i], corners[k] - corners[i]) for i, j, k in FACE_CORNERS]
    lengths = [np.maximum(np.linalg.norm(normal, axis=1), np.finfo(np.float64).tiny) for normal in normals]
    bad = np.zeros(len(tets), bool)
    for i, j in EDGE_CORNERS:
        cosine = -np.einsum("ij,ij->i", normals[i], normals[j]) / (lengths[i] * lengths[j])
        angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
        bad |= (angle < SLIVER[0]) | (angle > SLIVER[1])
    return bad


def pinch_count(mesh: TetMesh) -> int:
    """Number of boundary vertices where the boundary touches itself: its triangles there form several fans."""
    triangles = mesh.surface().astype(np.int64)
    if not len(triangles):
        return 0
    corner = triangles.ravel()
    after, before = np.roll(triangles, -1, axis=1).ravel(), np.roll(triangles, 1, axis=1).ravel()
    numbers = np.arange(len(corner))
    # Two corners at a vertex belong to one fan if their triangles share an edge from it.
    keys = np.concatenate([corner << 32 | after, corner << 32 | before])
    holder = np.concatenate([numbers, numbers])
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    links = np.stack([holder[order][:-1][same], holder[order][1:][same]], axis=1)
    fans, fan = arrays.connected_parts(links, len(corner))
    vertex_of_fan = np.empty(fans, np.int64)
    vertex_of_fan[fan] = corner
    return int((np.bincount(vertex_of_fan) > 1).sum())


def quality_of(mesh: TetMesh | VoxelLattice) -> dict[str, Any]:
    """Counts and extremes of a solid: `TetMesh.quality` with slivers and pinches, or the counts of a lattice."""
    if isinstance(mesh, TetMesh):
        return {**mesh.quality(), "slivers": sliver_count(mesh), "pinches": pinch_count(mesh)}
    edge = float(np.linalg.norm(mesh.vertices[mesh.cubes[0, 1]] - mesh.vertices[mesh.cubes[0, 0]]))
    return {"vertices": len(mesh.vertices), "cubes": len(mesh.cubes), "volume": len(mesh.cubes) * edge**3}
