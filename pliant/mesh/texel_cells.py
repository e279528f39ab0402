"""Cells of nodes grown along a fine surface, and the triangles of neighbouring cells: the net of the nodes.

The cells partition a closed surface, so what joins their seeds is closed too, across the seams of any atlas. It is a
surface if every cell is a disc and two cells meet along one line. Where that fails, because something is thinner than
a cell, cells get more seeds; in the end every vertex could be one, and the net the fine surface itself.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch, pick_device
from pliant.mesh import arrays, texel_kernels
from pliant.mesh.atlas_charts import shared_edges
from pliant.mesh.rings import neighbours
from pliant.mesh.surface import EDGE_CORNERS, SurfaceMesh

MOST_ROUNDS = 400
REPAIR_ROUNDS = 40
GRAIN = 4096


class Cells:
    """Grows cells on a fine surface.

    Args:
        vertices: (n, 3) [m]. triangles: (k, 3), closed.
        device: where cells grow.
    """

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray, device: str = "cpu"):
        self.vertices, self.triangles = vertices, triangles
        self.device = pick_device(device)
        self.edges = arrays.unique_edges(triangles, EDGE_CORNERS)
        ring = neighbours(self.edges, len(vertices))
        upload = lambda array, kind: wp.array(np.ascontiguousarray(array), dtype=kind, device=self.device)
        self._starts, self._items = upload(ring.starts.astype(np.int32), int), upload(ring.items, int)
        self._points = upload(vertices, wp.vec3d)

    def grown(self, home: np.ndarray, seeds: np.ndarray, cell: np.ndarray | None = None) -> np.ndarray:
        """The cell of each vertex (n,) int64.

        Args:
            home: vertex at which each cell begins (s,), no two the same.
            seeds: places that distances are measured from (s, 3) [m].
            cell: to begin with (n,); none if not given.
        """
        count = len(self.vertices)
        owned = np.full(count, -1, np.int32)
        owned[home] = np.arange(len(home))
        now = self._settled(seeds, owned, np.full(count, -1, np.int32) if cell is None else cell.astype(np.int32))
        for _ in range(10):
            loose = self._loose(now, home)
            if not loose.any():
                break
            now = now.copy()
            now[loose] = -1
            now = self._settled(seeds, owned, now)
        return now.astype(np.int64)

    def _settled(self, seeds: np.ndarray, owned: np.ndarray, cell: np.ndarray) -> np.ndarray:
        upload = lambda array, kind: wp.array(np.ascontiguousarray(array), dtype=kind, device=self.device)
        places, fixed = upload(seeds, wp.vec3d), upload(owned, int)
        one, two = upload(cell, int), upload(cell, int)
        changed = wp.empty(len(cell), dtype=wp.uint8, device=self.device)
        for _ in range(MOST_ROUNDS):
            launch(
                texel_kernels.grow,
                len(cell),
                [self._starts, self._items, self._points, places, fixed, one],
                [two, changed],
                device=self.device,
                grain=GRAIN,
            )
            one, two = two, one
            if not changed.numpy().any():
                break
        return one.numpy().copy()

    def _loose(self, cell: np.ndarray, home: np.ndarray) -> np.ndarray:
        """Vertices whose cell does not reach from its home to them (n,) bool."""
        inside = cell[self.edges[:, 0]] == cell[self.edges[:, 1]]
        _, part = arrays.connected_parts(self.edges[inside], len(cell))
        own = np.full(int(part.max()) + 1, False)
        own[part[home]] = True
        return ~own[part] & (cell >= 0)

    def net(self, cell: np.ndarray) -> np.ndarray:
        """Triangles of cells (t, 3): one for each fine triangle whose corners lie in three cells."""
        corners = cell[self.triangles]
        a, b, c = corners.T
        return corners[(a != b) & (b != c) & (c != a)]

    def faulty(self, cell: np.ndarray, count: int) -> np.ndarray:
        """Cells that are no disc, or whose surroundings in the net are no ring (count,) bool."""
        vertices = np.bincount(cell, minlength=count)
        a, b = cell[self.edges].T
        edges = np.bincount(a[a == b], minlength=count)
        a, b, c = cell[self.triangles].T
        faces = np.bincount(a[(a == b) & (b == c)], minlength=count)
        return (vertices - edges + faces != 1) | net_faults(self.net(cell), count)

    def repaired(
        self, home: np.ndarray, seeds: np.ndarray, cell: np.ndarray, wanting: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Split cells that are no discs until all are.

        Args:
            home: as for `grown`. seeds: as for `grown`. cell: that was grown from them.
            wanting: cells that are to be split once, whatever they are (s,) bool.

        Returns:
            home, seeds and cells with what was added at the end, and the cells that are still faulty.
        """
        faulty = self.faulty(cell, len(home))
        faulty = faulty if wanting is None else faulty | wanting
        for _ in range(REPAIR_ROUNDS):
            if not faulty.any():
                break
            # a cell of one vertex can be in the wrong only because of its neighbours
            stuck = faulty & (np.bincount(cell, minlength=len(home)) == 1)
            one, two = cell[self.edges].T
            faulty[two[stuck[one]]] = faulty[one[stuck[two]]] = True
            gap = np.linalg.norm(self.vertices - seeds[cell], axis=1)
            taken = np.zeros(len(gap), bool)
            taken[home] = True
            choice = np.flatnonzero(faulty[cell] & ~taken)
            choice = choice[np.lexsort((choice, -gap[choice], cell[choice]))]
            _, first = np.unique(cell[choice], return_index=True)
            if not len(first):
                faulty = self.faulty(cell, len(home))
                break
            more = choice[first]
            home, seeds = np.concatenate([home, more]), np.concatenate([seeds, self.vertices[more]])
            cell = self.grown(home, seeds, cell)
            faulty = self.faulty(cell, len(home))
        return home, seeds, cell, faulty


def net_faults(triangles: np.ndarray, count: int) -> np.ndarray:
    """Vertices at which triangles make no closed surface: an edge without two sides, two fans or none (count,) bool."""
    faulty = np.ones(count, bool)
    faulty[triangles.ravel()] = False
    starts, ends = triangles.ravel().astype(np.int64), np.roll(triangles, -1, axis=1).ravel().astype(np.int64)
    forward, backward = starts << 32 | ends, ends << 32 | starts
    order = np.argsort(forward, kind="stable")
    ranked = forward[order]
    again = np.flatnonzero(ranked[1:] == ranked[:-1])
    at = np.minimum(np.searchsorted(ranked, backward), len(order) - 1) if len(order) else np.zeros(0, np.int64)
    partner = order[at]
    alone = forward[partner] != backward
    for rows in (order[again], np.flatnonzero(alone)):
        faulty[starts[rows]] = faulty[ends[rows]] = True
    fans, fan = _fans(triangles, partner)
    owner = np.full(fans, -1)
    owner[fan] = starts
    faulty |= np.bincount(owner, minlength=count) != 1
    corners = np.sort(triangles, axis=1)
    order = np.lexsort(corners.T[::-1])
    twice = (corners[order[1:]] == corners[order[:-1]]).all(axis=1)
    faulty[corners[order[1:]][twice].ravel()] = True
    return faulty


def _fans(triangles: np.ndarray, partner: np.ndarray) -> tuple[int, np.ndarray]:
    """Number of fans around vertices, and the fan of each corner (3 t,).

    Args:
        triangles: (t, 3). partner: side that runs against each side (3 t,).
    """
    # around its start a side is followed by the partner of the side that comes back in the same triangle
    sides = np.arange(triangles.size)
    coming_back = sides // 3 * 3 + (sides + 2) % 3
    return arrays.connected_parts(np.stack([sides, partner[coming_back]], axis=1), len(sides))


def split_fans(surface: SurfaceMesh) -> tuple[SurfaceMesh, int]:
    """A closed surface whose vertices have one fan of triangles each, and how many had more: those are doubled."""
    row, side, other, other_side = shared_edges(surface.triangles)
    partner = np.arange(surface.triangles.size)
    partner[3 * row + side], partner[3 * other + other_side] = 3 * other + other_side, 3 * row + side
    fans, fan = _fans(surface.triangles, partner)
    if fans == len(surface.vertices):
        return surface, 0
    of = np.empty(fans, np.int64)
    of[fan] = surface.triangles.ravel()
    # the first fan of a vertex keeps its number
    order = np.lexsort((np.arange(fans), of))
    first = np.append(True, of[order][1:] != of[order][:-1])
    number = np.empty(fans, np.int64)
    number[order[first]] = of[order[first]]
    number[order[~first]] = len(surface.vertices) + np.arange(int((~first).sum()))
    look = surface.look
    if look is not None and look.vertex_colors is not None:
        look = look.of_vertices(np.concatenate([np.arange(len(surface.vertices)), of[order[~first]]]))
    vertices = np.concatenate([surface.vertices, surface.vertices[of[order[~first]]]])
    triangles = number[fan].reshape(-1, 3)
    return (
        SurfaceMesh(vertices, triangles, surface.name, surface.notes, look),
        len(np.unique(of[order[~first]])),
    )
