"""What is seen of a body that can break: its surface cut along the borders of clusters, and what the pieces follow.

Every piece has a home, the cluster it stays with whatever breaks. Pieces have their own copies of the vertices on their
borders; as long as a body is whole all copies follow the same clusters, so no cut is seen.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh.cluster import Clusters
from pliant.mesh.embed import Embedding
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.look import Look
from pliant.mesh.points import PointCloud
from pliant.mesh.solid.distance import SignedDistance
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import FACE_CORNERS, TetMesh
from pliant.model.model import Body, RestShape
from pliant.skin.bodies import BodySkins
from pliant.skin.cluster_weights import cluster_weights
from pliant.solvers.shape_matching.fracture_links import ClusterLinks, cluster_centres, homes_of

STICKING_OUT = 0.02
"""How far the middle of an inner face may lie outside the skin, over the face's longest edge."""


@dataclasses.dataclass(frozen=True, eq=False)
class Pieces:
    """A cut surface.

    Attributes:
        surface: triangles of all pieces over vertices of their own.
        homes: the cluster that each vertex stays with (n,) int32.
        vertex_of: the vertex of the whole surface that each is a copy of (n,).
    """

    surface: SurfaceMesh
    homes: np.ndarray
    vertex_of: np.ndarray


def element_homes(corners: np.ndarray, vertices: np.ndarray, homes: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The home of each element (m,): that of most of its corners (m, k), of several the one with the nearest centre."""
    around = homes[corners]
    votes = (around[:, :, None] == around[:, None, :]).sum(axis=2)
    middle = vertices[corners].mean(axis=1)
    squared = ((centres[around] - middle[:, None]) ** 2).sum(axis=2)
    squared[votes < votes.max(axis=1, keepdims=True)] = np.inf
    nearest = np.where(squared == squared.min(axis=1, keepdims=True), around, homes.max(initial=0) + 1)
    return nearest.min(axis=1)


def boundaries(tets: np.ndarray, homes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The closed boundaries of the tets (m, 4) of each home (m,).

    Returns:
        triangles (k, 3), counter-clockwise seen from outside their own tets; the home of each (k,); and whether tets of
        another home lie behind it (k,) bool.
    """
    faces = tets[:, np.array(FACE_CORNERS)].reshape(-1, 3).astype(np.int64)
    home = np.repeat(homes, 4)
    low, middle, high = np.sort(faces, axis=1).T
    # faces of the same three corners stand together, so two of one home have the same number
    order = np.lexsort((home, high, middle, low))
    same = (np.diff(np.stack([low, middle, high])[:, order], axis=1) == 0).all(axis=0)
    joined = same & (home[order[1:]] == home[order[:-1]])
    alone, behind = np.ones(len(order), bool), np.zeros(len(order), bool)
    alone[1:] &= ~joined
    alone[:-1] &= ~joined
    behind[1:] |= same
    behind[:-1] |= same
    rows = order[alone]
    by_home = np.lexsort((rows, home[rows]))
    return faces[rows[by_home]], home[rows[by_home]], behind[alone][by_home]


def cut_surface(mesh: SurfaceMesh, homes: np.ndarray, inner: np.ndarray | None = None) -> Pieces:
    """A surface with its own vertices for each home; its triangles keep their order.

    Args:
        mesh: the whole surface.
        homes: the home of each triangle (k,).
        inner: which triangles lie inside the body (k,) bool: they have vertices of their own, so that a break has sharp
            edges.
    """
    inside = np.zeros(len(homes), np.int64) if inner is None else inner.astype(np.int64)
    keys = (2 * homes.astype(np.int64) + inside)[:, None] * len(mesh.vertices) + mesh.triangles
    found, corner = np.unique(keys, return_inverse=True)
    home, vertex = found // (2 * len(mesh.vertices)), found % len(mesh.vertices)
    cut = SurfaceMesh(
        mesh.vertices[vertex],
        corner.reshape(-1, 3).astype(np.int32),
        mesh.name,
        mesh.notes,
        mesh.look and mesh.look.of_vertices(vertex),
    )
    return Pieces(cut, home.astype(np.int32), vertex)


def cut_body(
    shape: RestShape,
    placed: np.ndarray,
    skin: SurfaceMesh | None,
    embedding: Embedding | None,
    own: np.ndarray | None,
    look: Look | None,
) -> Pieces | None:
    """The pieces that are seen of a body; None where it is seen as loose balls.

    A solid's pieces are closed: the faces along which it can break are among them. Of a skin the triangles are cut, and
    the faces inside the solid are added, their ends drawn to the skin.

    Args:
        shape: the body's rest shape, particles in their order.
        placed: its vertices where the body is built [m] (n, 3).
        skin: seen instead of its own surface, where the body is built.
        embedding: of the skin, over particles in their order; None if the skin follows clusters.
        own: triangles of a body that is a surface (k, 3), which may be ordered as its look is.
        look: of these triangles.
    """
    mesh, clusters = shape.mesh, shape.clusters
    assert clusters is not None
    centres = cluster_centres(mesh.vertices, shape.mass, clusters)
    homes = homes_of(mesh.vertices, clusters, centres)
    solid = _tets_by_home(mesh, homes, centres)
    if skin is not None:
        nearest = _vertex_homes(skin, embedding, placed, clusters, homes)
        turned = cluster_centres(placed, shape.mass, clusters)
        parts = element_homes(skin.triangles, skin.vertices, nearest, turned)
        cut = cut_surface(skin, parts)
        return cut if solid is None else _together(cut, _inner_faces(*solid, placed, skin))
    inner = None
    if solid is not None:
        triangles, home, inner = boundaries(*solid)
    elif own is not None:
        triangles = own
        home = element_homes(triangles, mesh.vertices, homes, centres)
    else:
        return None
    return cut_surface(SurfaceMesh(placed, triangles.astype(np.int32), mesh.name, (), look), home, inner)


def _tets_by_home(
    mesh: TetMesh | VoxelLattice | SurfaceMesh | PointCloud, homes: np.ndarray, centres: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The tets (m, 4) of a solid and the home of each; those of one voxel have the same."""
    tets = tets_of(mesh)
    if tets is None:
        return None
    if isinstance(mesh, VoxelLattice):
        each = len(tets) // len(mesh.cubes)
        return tets, np.repeat(element_homes(mesh.cubes, mesh.vertices, homes, centres), each)
    return tets, element_homes(tets, mesh.vertices, homes, centres)


def tets_of(mesh: TetMesh | VoxelLattice | SurfaceMesh | PointCloud) -> np.ndarray | None:
    """The tets of a solid (m, 4), none of them inside out; None for other bodies."""
    if isinstance(mesh, TetMesh):
        return np.where((mesh.volumes() < 0.0)[:, None], mesh.tets[:, [0, 1, 3, 2]], mesh.tets)
    return mesh.tets("six").tets if isinstance(mesh, VoxelLattice) else None


def _vertex_homes(
    skin: SurfaceMesh, embedding: Embedding | None, placed: np.ndarray, clusters: Clusters, homes: np.ndarray
) -> np.ndarray:
    """The home of each vertex of a skin: that of the particle, or the cluster, that it follows most."""
    if embedding is None:
        return cluster_weights(skin.vertices, placed, clusters.starts, clusters.members, 4, "cpu")[0][:, 0].astype(int)
    most = np.argmax(embedding.weights, axis=1)
    return homes[embedding.hosts[np.arange(len(embedding)), most]]


def _inner_faces(tets: np.ndarray, homes: np.ndarray, placed: np.ndarray, skin: SurfaceMesh) -> Pieces:
    """The faces between tets of different homes, cut in four, made to end at the skin.

    What lies outside the skin, or on the outside of the solid, goes to the nearest point of the skin; a face that then
    still sticks out is left away.
    """
    triangles, home, inner = boundaries(tets, homes)
    edges = lambda rows: np.sort(rows[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    keys = lambda rows: edges(rows)[:, 0] * len(placed) + edges(rows)[:, 1]
    outer, rows = triangles[~inner], triangles[inner]
    cut, middle = np.unique(keys(rows), return_inverse=True)
    a, b, c = rows.T
    ab, bc, ca = (middle.reshape(-1, 3) + len(placed)).T
    faces = np.stack([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]).transpose(2, 0, 1).reshape(-1, 3)
    home = np.repeat(home[inner], 4)
    vertices = np.concatenate([placed, 0.5 * (placed[cut // len(placed)] + placed[cut % len(placed)])])
    moved = np.concatenate([np.isin(np.arange(len(placed)), outer), np.isin(cut, keys(outer))])
    used = np.zeros(len(vertices), bool)
    used[faces] = True
    distance, closed = SignedDistance(skin), skin.is_closed()
    if closed:
        moved[used] |= distance.at(vertices[used]) > 0.0
    moved = np.flatnonzero(moved & used)
    if len(moved):
        _, triangle, weights = distance.nearest(vertices[moved])
        vertices[moved] = np.einsum("nk,nkd->nd", weights, skin.vertices[skin.triangles[triangle]])
    if closed and len(faces):
        corners = vertices[faces]
        size = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
        kept = distance.at(corners.mean(axis=1)) < STICKING_OUT * size
        faces, home = faces[kept], home[kept]
    return cut_surface(SurfaceMesh(vertices, faces.astype(np.int32)), home)


def _together(a: Pieces, b: Pieces) -> Pieces:
    """Two sets of pieces of different surfaces as one; the look is the first one's."""
    first = a.surface
    look = first.look
    if look is not None:
        look = look.with_more(len(b.surface.triangles))
        if look.vertex_colors is not None:
            grey = np.tile(look.vertex_colors.mean(axis=0), (len(b.surface.vertices), 1)).astype(np.float32)
            look = dataclasses.replace(look, vertex_colors=np.concatenate([look.vertex_colors, grey]))
    surface = SurfaceMesh(
        np.concatenate([first.vertices, b.surface.vertices]),
        np.concatenate([first.triangles, b.surface.triangles + np.int32(len(first.vertices))]),
        first.name,
        first.notes,
        look,
    )
    after = a.vertex_of.max(initial=-1) + 1
    return Pieces(surface, np.concatenate([a.homes, b.homes]), np.concatenate([a.vertex_of, b.vertex_of + after]))


def parted_weights(
    clusters: np.ndarray, weights: np.ndarray, homes: np.ndarray, links: ClusterLinks
) -> tuple[np.ndarray, np.ndarray]:
    """What vertices follow now, from what they followed when the body was whole: clusters and weights (n, w).

    A vertex lets go of the clusters whose link to its home is gone. Rows that let go of nothing stay as they are.
    """
    count, (_, piece) = links.clusters.count, links.pieces()
    lost = links.pairs[~links.whole()]
    keys = np.unique(np.concatenate([lost[:, 0] * count + lost[:, 1], lost[:, 1] * count + lost[:, 0]]))
    gone = np.isin(homes[:, None].astype(np.int64) * count + clusters, keys)
    # clusters that never shared a particle with the home are followed while they are of the same piece
    gone |= piece[clusters] != piece[homes][:, None]
    clusters, left = clusters.copy(), np.where(gone, 0.0, weights)
    total = left.sum(axis=1, keepdims=True)
    alone = np.ravel(total <= 0.0)
    changed = np.any(gone & (weights > 0.0), axis=1)
    left[changed & ~alone] /= total[changed & ~alone]
    clusters[alone, 0] = homes[alone]
    left[alone] = 0.0
    left[alone, 0] = 1.0
    # no weight, but a cluster that flew away would cost precision
    first = np.argmax(left, axis=1)[:, None]
    clusters = np.where(left > 0.0, clusters, np.take_along_axis(clusters, first, axis=1))
    return clusters, np.where(changed[:, None], left, weights)


class PartingSkins:
    """The seen surfaces of bodies that can break.

    Args:
        bodies: of a model; those with `options["homes"]` have a surface cut into pieces.
        skins: that move them.
    """

    def __init__(self, bodies: list[Body], skins: BodySkins):
        self._skins = skins
        self._homes = {body.name: body.options["homes"] for body in bodies if body.options.get("homes") is not None}
        self._whole = {name: skins.cluster_weights(name) for name in self._homes}
        self._followed: dict[str, np.ndarray] = {}

    def follow(self, name: str, links: ClusterLinks) -> None:
        """Let a body's surface follow what hangs together now."""
        before = self._followed.get(name)
        if name in self._homes and (before is None or not np.array_equal(before, links.broken)):
            self._followed[name] = links.broken.copy()
            self._skins.keep_members(name, links.kept)
            self._skins.set_cluster_weights(name, *parted_weights(*self._whole[name], self._homes[name], links))
