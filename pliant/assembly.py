"""All bodies of a scene in one set of arrays, ordered for memory locality."""

from __future__ import annotations

import dataclasses

import numpy as np

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


@dataclasses.dataclass
class BodyEntry:
    """What a scene knows of one body."""

    mesh: TetMesh | SurfaceMesh
    spec: BodySpec
    method: str
    name: str
    velocity: np.ndarray
    angular_velocity: np.ndarray
    color: tuple[float, float, float]
    notes: list[str]
    pins: list[tuple[np.ndarray, PinPath | None]] = dataclasses.field(default_factory=list)


def assemble(entries: list[BodyEntry]) -> Model:
    """All bodies' particles and elements in one set of arrays, ordered for memory locality."""
    parts: list[tuple[BodyEntry, np.ndarray, np.ndarray, Elements, np.ndarray]] = []
    for entry in entries:
        order, starts = _spatial_order(entry.mesh)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        mesh = _reordered(entry.mesh, order, rank)
        elements = solver_class(entry.method).elements(dataclasses.replace(entry.spec, mesh=mesh))
        surface = mesh.surface() if isinstance(mesh, TetMesh) else mesh.triangles
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
                surface=surface + offsets[b],
                options={"typical_stiffness": float(np.median(stiffness)) if len(stiffness) else 0.0},
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


def _spatial_order(mesh: TetMesh | SurfaceMesh) -> tuple[np.ndarray, np.ndarray]:
    """Vertices by spatial block and, within a block, by the number of elements around them."""
    order, starts = bisect_order(mesh.vertices, BLOCK)
    elements = mesh.tets if isinstance(mesh, TetMesh) else mesh.triangles
    valence = np.bincount(elements.reshape(-1), minlength=len(order))
    block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    within = np.lexsort((np.arange(len(order)), -valence[order], block))
    return order[within], starts


def _reordered(mesh: TetMesh | SurfaceMesh, order: np.ndarray, rank: np.ndarray) -> TetMesh | SurfaceMesh:
    """The mesh with its vertices in the new order, and its elements sorted by their first vertex."""
    if isinstance(mesh, TetMesh):
        tets = rank[mesh.tets]
        tets = tets[np.argsort(tets.min(axis=1), kind="stable")]
        return TetMesh(mesh.vertices[order], tets, mesh.name)
    triangles = rank[mesh.triangles]
    triangles = triangles[np.argsort(triangles.min(axis=1), kind="stable")]
    return SurfaceMesh(mesh.vertices[order], triangles, mesh.name)
