"""All bodies of a scene in one set of arrays, ordered for memory locality."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.forces.inside import Inside
from pliant.mesh.embed import Embedding
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.look import Look
from pliant.mesh.order import bisect_order
from pliant.mesh.points import PointCloud
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.mesh.tubes import Tubes
from pliant.mesh.wrinkles import WrinkleMap
from pliant.model.model import Body, Elements, Model, RestShape
from pliant.model.particles import Particles
from pliant.model.springs import Springs
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles
from pliant.motion import MotionPath
from pliant.skin.pieces import Pieces, cut_body, tets_of
from pliant.skin.torn import corner_surface
from pliant.solvers import solver_class
from pliant.solvers.protocol import BodySpec
from pliant.solvers.shape_matching.fracture_links import ClusterLinks, cluster_centres, homes_of

# Particles in a spatial block: what a CUDA block owns, and the grain of the order in memory.
BLOCK = 64
LOCKS_ABOVE = 0.45
"""Poisson's ratio from which on linear tets are told to be too stiff. A bar of two cells across is 11 % too stiff in
tension at 0.45 and 21 % at 0.49, in bending 73 % and 101 %."""

Mesh = TetMesh | SurfaceMesh | VoxelLattice | PointCloud | RodMesh | LayeredMesh


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
    source: Mesh
    turn: np.ndarray
    pins: list[tuple[np.ndarray, MotionPath | None]] = dataclasses.field(default_factory=list)
    volume: Inside | None = None
    skin: SurfaceMesh | None = None
    embedding: Embedding | None = None
    painted: bool = False
    tears: bool = False
    wrinkles: WrinkleMap | None = None
    calibrate: str | None = None


@dataclasses.dataclass(eq=False)
class _Part:
    """A body's particles in their order, and its elements; bodies made of one mesh may share it.

    Attributes:
        rank: place of each vertex (n,). order: vertex of each place (n,).
        starts: first place of each spatial block, and the end.
        surface: triangles of its outside, by places.
        rest_shape: what bodies made of the mesh have in common, if the method shares it.
    """

    rank: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    elements: Elements
    surface: np.ndarray
    rest_shape: RestShape | None


def _part(entry: BodyEntry, made: dict[Any, _Part]) -> _Part:
    """The part of a body: made once for all bodies of one mesh where the method shares rest data."""
    solver = solver_class(entry.method)
    source = entry.source if solver.shares_rest else entry.mesh
    spec = entry.spec
    key = (id(source), entry.method, *(getattr(spec, f.name) for f in dataclasses.fields(spec) if f.name != "mesh"))
    if key not in made:
        order, starts = _spatial_order(source)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        mesh = _reordered(source, order, rank)
        try:
            elements = solver.elements(dataclasses.replace(spec, mesh=mesh))
        except InputError as error:
            raise InputError(error.what, f"body '{entry.name}': {error.where}", error.remedy) from error
        # a sheet is seen with its triangles in the user's order, which its look follows
        surface = rank[_corners(source)] if isinstance(mesh, SurfaceMesh) else mesh.surface()
        shape = RestShape(mesh, elements.mass, elements.clusters) if solver.shares_rest else None
        made[key] = _Part(rank, order, starts, elements, surface, shape)
    return made[key]


def assemble(entries: list[BodyEntry]) -> Model:
    """All bodies' particles and elements in one set of arrays, ordered for memory locality."""
    made: dict[Any, _Part] = {}
    given, entries = entries, [_with_corners(entry) for entry in entries]
    parts = [_part(entry, made) for entry in entries]
    offsets = np.concatenate([[0], np.cumsum([len(part.rank) + part.elements.spare for part in parts])]).tolist()
    groups = []
    for entry, part in zip(entries, parts, strict=True):
        x = entry.mesh.vertices[part.order]
        mass = part.elements.mass
        # what moves besides its particles counts too
        whole = getattr(part.elements.own, "mass_centre", None)
        centre = np.average(x, axis=0, weights=mass) if whole is None else whole
        v = entry.velocity + np.cross(entry.angular_velocity, x - centre)
        own = Particles(x, v, mass, np.zeros(len(mass), np.int32), _radius(entry)[part.order])
        groups.append(own.with_spares(part.elements.spare))
    counts = {
        kind: np.concatenate([[0], np.cumsum([getattr(part.elements, kind).count for part in parts])]).tolist()
        for kind in ("springs", "triangles", "tets")
    }
    bodies = []
    for b, (entry, part) in enumerate(zip(entries, parts, strict=True)):
        stiffness = part.elements.springs.stiffness
        pieces = _pieces(entry, part)
        rods = _reordered(entry.mesh, part.order, part.rank) if isinstance(entry.mesh, RodMesh) else None
        tubes, skin = _tubes(entry, rods)
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
                rank=part.rank,
                blocks=part.starts + offsets[b],
                surface=(part.surface + offsets[b]).astype(np.int32),
                skin=skin if pieces is None else pieces.surface,
                embedding=(
                    None
                    if entry.embedding is None or pieces is not None
                    else entry.embedding.renumbered(part.rank + offsets[b])
                ),
                segments=None if rods is None else rods.segments,
                tubes=tubes,
                wrinkles=(
                    None
                    if entry.wrinkles is None or pieces is not None
                    else entry.wrinkles.renumbered(part.rank + offsets[b])
                ),
                look=_look(entry, skin) if pieces is None else pieces.surface.look,
                painted=entry.painted,
                clusters=part.elements.clusters,
                ball_radius=_ball_radius(entry),
                rest_shape=part.rest_shape,
                turn=entry.turn,
                own=part.elements.own,
                options={
                    "radius": float(_radius(entry).max(initial=0.0)),
                    "typical_stiffness": float(np.median(stiffness)) if len(stiffness) else 0.0,
                    "volume": entry.volume,
                    "rods": None if rods is None else (rods.segments, rods.radius),
                    "matching": entry.spec.matching,
                    "calibration": entry.spec.calibration,
                    "tears": entry.tears,
                    "is_solid": _is_solid(entry),
                    "homes": None if pieces is None else pieces.homes,
                    "breaks": _breaks(entry, part),
                },
            )
        )
    return Model(
        bodies,
        Particles.concat(groups),
        Springs.concat([part.elements.springs for part in parts], offsets[:-1]),
        Triangles.concat([part.elements.triangles for part in parts], offsets[:-1]),
        Tets.concat([part.elements.tets for part in parts], offsets[:-1]),
        [
            f"Body '{entry.name}': {note}"
            for entry, part in zip(given, parts, strict=True)
            for note in [
                *entry.notes,
                *part.elements.notes,
                *_locking_notes(entry),
                *_cloth_notes(entry),
                *_yield_notes(entry),
                *_fracture_notes(entry, part),
            ]
        ],
    )


def _with_corners(entry: BodyEntry) -> BodyEntry:
    """A sheet that can tear, seen by triangles with corners of their own; other bodies as they are."""
    material, mesh = entry.spec.material, entry.mesh
    if not isinstance(mesh, SurfaceMesh) or material.breaks_at is None:
        return entry
    if entry.method == "xpbd":
        if _why_whole(entry):
            return dataclasses.replace(entry, spec=dataclasses.replace(entry.spec, tear_capacity=0.0))
        return dataclasses.replace(entry, skin=corner_surface(mesh))
    if entry.method != "mass_spring" or entry.skin is not None:
        return entry
    hosts = mesh.triangles.reshape(-1, 1)
    embedding = Embedding(hosts, np.ones(hosts.shape), np.zeros(len(hosts)))
    return dataclasses.replace(entry, skin=corner_surface(mesh), embedding=embedding, tears=True)


def _why_whole(entry: BodyEntry) -> str:
    """Why a sheet of XPBD cannot tear though its material could; nothing where it can."""
    if entry.spec.raw is not None:
        return "raw constants hold its edges, not its triangles; leave 'raw' out"
    if entry.volume is not None:
        return "what fills it needs a closed surface; leave 'volume' out"
    if entry.skin is not None:
        return "it is seen through a skin, which would not come apart; leave 'skin' out"
    return "" if entry.spec.tear_capacity > 0.0 else "its tear_capacity is 0"


def _pieces(entry: BodyEntry, part: _Part) -> Pieces | None:
    """The seen surface of a body that can break, cut along the borders of its clusters; None for other bodies."""
    clusters = part.elements.clusters
    if entry.spec.material.breaks_at is None or part.rest_shape is None:
        return None
    if clusters is None:
        raise InputError(
            "lattice regions that are summed axis by axis cannot break",
            f"body '{entry.name}'.material.fracture_strain",
            "Use clusters_by='kmeans', 'boxes' or 'grids', or leave fracture_strain out",
        )
    if clusters.count < 2:
        return None
    embedding = None if entry.embedding is None else entry.embedding.renumbered(part.rank)
    own, look = None, None
    if isinstance(entry.mesh, SurfaceMesh):
        # a sheet's triangles stand in the user's order, which its look follows, and its vertices in that of particles
        own, look = part.surface, entry.mesh.look and entry.mesh.look.of_vertices(part.order)
    return cut_body(part.rest_shape, entry.mesh.vertices[part.order], entry.skin, embedding, own, look)


def _breaks(entry: BodyEntry, part: _Part) -> tuple[np.ndarray, np.ndarray | None] | None:
    """How a body of clusters may break: the cluster that each particle stays with (n,), and its tets, if it is a solid,
    by places; None for one that cannot."""
    clusters, shape = part.elements.clusters, part.rest_shape
    if entry.spec.material.breaks_at is None or shape is None or clusters is None or clusters.count < 2:
        return None
    centres = cluster_centres(shape.mesh.vertices, shape.mass, clusters)
    return homes_of(shape.mesh.vertices, clusters, centres), tets_of(shape.mesh)


def _locking_notes(entry: BodyEntry) -> list[str]:
    """What the user should know of linear tets that can hardly change their volume."""
    material, solid = entry.spec.material, isinstance(entry.mesh, (TetMesh, VoxelLattice))
    if entry.spec.raw is not None or not solid or entry.method not in ("fem", "xpbd"):
        return []
    if material.poisson <= LOCKS_ABOVE:
        return []
    return [
        f"Poisson's ratio {material.poisson:g} is above {LOCKS_ABOVE}: tets that hardly change their volume are too "
        "stiff, above all in bending; use a finer mesh, or a smaller ratio"
    ]


def _cloth_notes(entry: BodyEntry) -> list[str]:
    """What the user should know where a method does not follow what a material says of a sheet."""
    material, springs = entry.spec.material, entry.method == "mass_spring"
    if entry.spec.raw is not None or not isinstance(entry.mesh, SurfaceMesh) or entry.mesh.is_closed():
        return []
    said = [name for name in ("young_weft", "shear", "bending") if getattr(material, name) is not None]
    if springs:
        said = [name for name in said if name == "bending" and entry.spec.springs == "one_ring"]
    elif entry.method in ("xpbd", "baraff_witkin"):
        said = []
    if not said:
        return []
    verb, to = ("mean" if len(said) > 1 else "means"), f"the method '{entry.method}'"
    use = "springs='two_ring' or 'grid'" if springs else "method='xpbd', 'baraff_witkin' or 'mass_spring'"
    return [f"{', '.join(said)} {verb} nothing to {'springs along the edges of a sheet' if springs else to}; use {use}"]


def _yield_notes(entry: BodyEntry) -> list[str]:
    """What the user should know where a material's yield strain has no effect."""
    if entry.spec.material.yields_at is None:
        return []
    if entry.method in ("layered", "fem"):
        return []
    if not solver_class(entry.method).shares_rest:
        return [f"yield_strain means nothing to the method '{entry.method}'; use method='shape_matching' or 'fem'"]
    if entry.spec.matching.mode == "rigid":
        return ["yield_strain means nothing to rigid goals; use mode 'linear' or 'quadratic'"]
    return []


def _fracture_notes(entry: BodyEntry, part: _Part) -> list[str]:
    """What the user should know of how a body can break."""
    limit, clusters = entry.spec.material.breaks_at, part.elements.clusters
    if limit is None:
        return []
    if entry.method == "mass_spring" and isinstance(entry.mesh, (SurfaceMesh, RodMesh)):
        verb = "tear" if isinstance(entry.mesh, SurfaceMesh) else "break"
        return [f"can {verb}: its springs break at a strain of {limit:g}"]
    if entry.method == "xpbd" and isinstance(entry.mesh, SurfaceMesh):
        spare = part.elements.spare
        if spare:
            return [f"can tear: its vertices split at a strain of {limit:g}, at most {spare} of them"]
        return [f"it cannot tear: {_why_whole(entry)}"]
    if entry.method == "xpbd" and isinstance(entry.mesh, RodMesh):
        return [f"can break: a segment comes apart at a strain of {limit:g}"]
    if part.rest_shape is None:
        use = "'shape_matching'" if not isinstance(entry.mesh, SurfaceMesh) else "'xpbd' or 'mass_spring'"
        return [f"fracture_strain means nothing to the method '{entry.method}'; use method={use}"]
    if clusters is None or clusters.count < 2:
        return ["it cannot break: it is a single cluster; ask for more in 'matching'"]
    links = ClusterLinks(part.rest_shape.mesh.vertices, part.rest_shape.mass, clusters).count
    joints = f"{links} link{'s' if links > 1 else ''} between {clusters.count} clusters"
    return [f"can break: {joints} come apart at a strain of {limit:g}"]


def _tubes(entry: BodyEntry, rods: RodMesh | None) -> tuple[Tubes | None, SurfaceMesh | None]:
    """The tubes of rods, by places, and the skin that is seen of a body: theirs, or the one it was given."""
    if entry.skin is not None or rods is None:
        return None, entry.skin
    breaks = entry.method in ("mass_spring", "xpbd") and entry.spec.material.breaks_at is not None
    tubes = Tubes.of(rods, breaks=breaks)
    return tubes, tubes.surface(rods.vertices, entry.name)


def _look(entry: BodyEntry, skin: SurfaceMesh | None) -> Look | None:
    """The look of what is seen of a body."""
    if skin is not None:
        return skin.look
    return entry.mesh.look if isinstance(entry.mesh, SurfaceMesh) else None


def _radius(entry: BodyEntry) -> np.ndarray:
    """How far colliders are kept off each vertex [m] (n,): half the thickness of a sheet, the radius of a rod."""
    count = len(entry.mesh.vertices)
    if isinstance(entry.mesh, RodMesh):
        return entry.mesh.vertex_radius()
    return np.full(count, 0.5 * entry.spec.material.thickness if isinstance(entry.mesh, SurfaceMesh) else 0.0)


def _is_solid(entry: BodyEntry) -> bool:
    """Whether it has an inside: it is filled, or its closed surface is kept in shape as a whole."""
    if isinstance(entry.mesh, SurfaceMesh):
        return solver_class(entry.method).shares_rest and entry.mesh.is_closed() and entry.mesh.volume() > 0.0
    return isinstance(entry.mesh, (TetMesh, VoxelLattice, LayeredMesh))


def _ball_radius(entry: BodyEntry) -> float | None:
    """Radius of the balls that loose points are seen as [m]; None where something else is seen."""
    return entry.source.ball_radius() if isinstance(entry.source, PointCloud) and entry.skin is None else None


def _corners(mesh: Mesh) -> np.ndarray:
    """The mesh's elements by their corners (m, k) int32."""
    if isinstance(mesh, TetMesh):
        return mesh.tets
    if isinstance(mesh, PointCloud):
        return np.zeros((0, 1), np.int32)
    if isinstance(mesh, RodMesh):
        return mesh.segments
    return mesh.cubes if isinstance(mesh, VoxelLattice) else mesh.triangles


def ordered(mesh: Mesh) -> Mesh:
    """A mesh with its vertices in the order in which they are simulated."""
    order, _ = _spatial_order(mesh)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return _reordered(mesh, order, rank)


def _spatial_order(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Vertices by spatial block and, within a block, by the number of elements around them; rods from root to tip."""
    if isinstance(mesh, RodMesh):
        # along the rods, so that each parent comes before its children
        count = len(mesh.vertices)
        return mesh.depth_first, np.append(np.arange(0, count, BLOCK), count)
    order, starts = bisect_order(mesh.vertices, BLOCK)
    valence = np.bincount(_corners(mesh).reshape(-1), minlength=len(order))
    block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    within = np.lexsort((np.arange(len(order)), -valence[order], block))
    return order[within], starts


def _reordered(mesh: Any, order: np.ndarray, rank: np.ndarray) -> Any:
    """The mesh with its vertices in the new order, and its elements sorted by their first vertex.

    Segments of rods are sorted by their second vertex, which is the child: segment k leads to the k-th vertex that is
    no root.
    """
    if isinstance(mesh, PointCloud):
        return dataclasses.replace(mesh, vertices=mesh.vertices[order])
    if isinstance(mesh, LayeredMesh):
        return _reordered_layer(mesh, order, rank)
    if isinstance(mesh, RodMesh):
        ends = np.sort(rank[mesh.segments], axis=1)
        rows = np.argsort(ends[:, 1], kind="stable")
        radius, seen = mesh.radius[rows], mesh.seen_radius
        return RodMesh(mesh.vertices[order], ends[rows], radius, mesh.name, seen_radius=seen)
    corners = rank[_corners(mesh)]
    rows = np.argsort(corners.min(axis=1), kind="stable")
    vertices, corners = mesh.vertices[order], corners[rows]
    if isinstance(mesh, TetMesh):
        return TetMesh(vertices, corners, mesh.name)
    if isinstance(mesh, VoxelLattice):
        return VoxelLattice(vertices, corners, mesh.cells[rows], mesh.name)
    look = mesh.look and mesh.look.of_triangles(rows).of_vertices(order)
    return SurfaceMesh(vertices, corners, mesh.name, look=look)


def _reordered_layer(mesh: LayeredMesh, order: np.ndarray, rank: np.ndarray) -> LayeredMesh:
    """A layered mesh with its nodes in the new order; what is seen instead of them is left out."""
    feet = np.arange(len(mesh.feet)) + len(order)
    renamed = np.concatenate([rank, feet])
    node = mesh.node_of_texel
    return dataclasses.replace(
        mesh,
        nodes=mesh.nodes[order],
        foot=mesh.foot[order],
        triangles=rank[mesh.triangles],
        tets=renamed[mesh.tets],
        texel=mesh.texel[order],
        node_of_texel=np.where(node >= 0, rank[node], -1),
        stiffness=mesh.stiffness[order],
        plasticity=mesh.plasticity[order],
        chart_of=mesh.chart_of[order],
        skin=None,
        embedding=None,
    )
