"""All bodies of a scene in one set of arrays, ordered for memory locality."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.forces.inside import Inside
from pliant.mesh.embed import Embedding
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.look import Look
from pliant.mesh.order import bisect_order
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Body, Elements, Model
from pliant.model.particles import Particles
from pliant.model.springs import Springs
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles
from pliant.pins import PinPath
from pliant.solvers import solver_class
from pliant.solvers.protocol import BodySpec

# Particles in a spatial block: what a CUDA block owns, and the grain of the order in memory.
BLOCK = 64

Mesh = TetMesh | SurfaceMesh | VoxelLattice


@dataclasses.dataclass
class BodyEntry:
    """What a scene knows of one body."""

    mesh: Mesh
    spec: BodySpec
    method: str
    name: str
    velocity: np.ndarray
    angular_velocity: np.ndarray
    color: tuple[float, float, float]
    notes: list[str]
    pins: list[tuple[np.ndarray, PinPath | None]] = dataclasses.field(default_factory=list)
    volume: Inside | None = None
    skin: SurfaceMesh | None = None
    embedding: Embedding | None = None
    painted: bool = False


def assemble(entries: list[BodyEntry]) -> Model:
    """All bodies' particles and elements in one set of arrays, ordered for memory locality."""
    parts: list[tuple[BodyEntry, np.ndarray, np.ndarray, Elements, np.ndarray]] = []
    for entry in entries:
        order, starts = _spatial_order(entry.mesh)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        mesh = _reordered(entry.mesh, order, rank)
        elements = solver_class(entry.method).elements(dataclasses.replace(entry.spec, mesh=mesh))
        # a sheet is seen with its triangles in the user's order, which its look follows
        surface = rank[_corners(entry.mesh)] if isinstance(mesh, SurfaceMesh) else mesh.surface()
        parts.append((entry, rank, starts, elements, surface))
    sizes = [len(p[1]) for p in parts]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    groups = []
    for entry, rank, _, elements, _ in parts:
        inverse = np.argsort(rank)
        x = entry.mesh.vertices[inverse]
        mass = elements.mass
        centre = np.average(x, axis=0, weights=mass)
        v = entry.velocity + np.cross(entry.angular_velocity, x - centre)
        groups.append(Particles(x, v, mass, np.zeros(len(mass), np.int32)))
    counts = {
        kind: np.concatenate([[0], np.cumsum([getattr(p[3], kind).count for p in parts])]).tolist()
        for kind in ("springs", "triangles", "tets")
    }
    bodies = []
    for b, (entry, rank, starts, elements, surface) in enumerate(parts):
        stiffness = elements.springs.stiffness
        bodies.append(
            Body(
                name=entry.name,
                method=entry.method,
                material=entry.spec.material,
                raw=entry.spec.raw,
                color=entry.color,
                particles=(offsets[b], offsets[b + 1]),
                springs=(counts["springs"][b], counts["springs"][b + 1]),
                triangles=(counts["triangles"][b], counts["triangles"][b + 1]),
                tets=(counts["tets"][b], counts["tets"][b + 1]),
                rank=rank,
                blocks=starts + offsets[b],
                surface=(surface + offsets[b]).astype(np.int32),
                skin=entry.skin,
                embedding=None if entry.embedding is None else entry.embedding.renumbered(rank + offsets[b]),
                look=_look(entry),
                painted=entry.painted,
                options={
                    "typical_stiffness": float(np.median(stiffness)) if len(stiffness) else 0.0,
                    "volume": entry.volume,
                },
            )
        )
    return Model(
        bodies,
        Particles.concat(groups),
        Springs.concat([p[3].springs for p in parts], offsets[:-1]),
        Triangles.concat([p[3].triangles for p in parts], offsets[:-1]),
        Tets.concat([p[3].tets for p in parts], offsets[:-1]),
        [f"Body '{p[0].name}': {note}" for p in parts for note in [*p[0].notes, *p[3].notes]],
    )


def _look(entry: BodyEntry) -> Look | None:
    """The look of what is seen of a body."""
    if entry.skin is not None:
        return entry.skin.look
    return entry.mesh.look if isinstance(entry.mesh, SurfaceMesh) else None


def _corners(mesh: Mesh) -> np.ndarray:
    """The mesh's elements by their corners (m, k) int32."""
    if isinstance(mesh, TetMesh):
        return mesh.tets
    return mesh.cubes if isinstance(mesh, VoxelLattice) else mesh.triangles


def _spatial_order(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Vertices by spatial block and, within a block, by the number of elements around them."""
    order, starts = bisect_order(mesh.vertices, BLOCK)
    valence = np.bincount(_corners(mesh).reshape(-1), minlength=len(order))
    block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    within = np.lexsort((np.arange(len(order)), -valence[order], block))
    return order[within], starts


def _reordered(mesh: Mesh, order: np.ndarray, rank: np.ndarray) -> Mesh:
    """The mesh with its vertices in the new order, and its elements sorted by their first vertex."""
    corners = rank[_corners(mesh)]
    rows = np.argsort(corners.min(axis=1), kind="stable")
    vertices, corners = mesh.vertices[order], corners[rows]
    if isinstance(mesh, TetMesh):
        return TetMesh(vertices, corners, mesh.name)
    if isinstance(mesh, VoxelLattice):
        return VoxelLattice(vertices, corners, mesh.cells[rows], mesh.name)
    return SurfaceMesh(vertices, corners, mesh.name)
