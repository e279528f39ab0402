"""How the triangles of a surface hang together: edges, patches, fans around vertices, boundary loops, winding.

Triangles are rows (k, 3) of vertex numbers, all in range and without a corner named twice. A side is written as
3 t + c: it runs from corner c of triangle t to the next. An edge is manifold if exactly two triangles use it, free if
one does. A patch is what hangs together across manifold edges. A fan is what hangs together around one vertex across
edges of two triangles or more: a vertex of two fans joins pieces that touch in that point only.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh import arrays


@dataclasses.dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges of k triangles and who uses them.

    Attributes:
        ends: vertices of each edge (e, 2) int32, the smaller first, sorted.
        edge_of: edge of each side (3k,) int32.
        forward: whether a side runs from the smaller vertex to the larger (3k,) bool.
        count: sides of each edge (e,) int64.
        sides: all sides, edge by edge (3k,) int64. first: where an edge's sides begin there (e,) int64.
    """

    ends: np.ndarray
    edge_of: np.ndarray
    forward: np.ndarray
    count: np.ndarray
    sides: np.ndarray
    first: np.ndarray

    def manifold_pairs(self) -> np.ndarray:
        """The two sides of every manifold edge: (m, 2) int64."""
        first = self.first[self.count == 2]
        return np.stack([self.sides[first], self.sides[first + 1]], axis=1)

    def linked_pairs(self) -> np.ndarray:
        """Pairs of sides that link all sides of every edge of two or more: (m, 2) int64."""
        edges = self.edge_of[self.sides]
        same = np.flatnonzero(edges[1:] == edges[:-1])
        return np.stack([self.sides[same], self.sides[same + 1]], axis=1)

    def free_sides(self) -> np.ndarray:
        """Sides that have no other at their edge: (b,) int64, in order."""
        return np.sort(self.sides[self.first[self.count == 1]])

    def balance(self) -> np.ndarray:
        """Sides forward less sides backward of each edge (e,): 0 everywhere if the surface bounds a volume."""
        return np.bincount(self.edge_of, weights=np.where(self.forward, 1.0, -1.0), minlength=len(self.ends))


def edge_table(triangles: np.ndarray) -> EdgeTable:
    """Find the edges of triangles (k, 3)."""
    start = triangles.astype(np.int64)
    end = np.roll(start, -1, axis=1)
    keys = ((np.minimum(start, end) << 32) | np.maximum(start, end)).ravel()
    sides = np.argsort(keys, kind="stable")
    ordered = keys[sides]
    new = np.ones(len(keys), bool)
    new[1:] = ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)
    edge_of = np.empty(len(keys), np.int32)
    edge_of[sides] = np.cumsum(new) - 1
    ends = np.stack([ordered[first] >> 32, ordered[first] & 0xFFFFFFFF], axis=1).astype(np.int32)
    count = np.diff(np.append(first, len(keys)))
    return EdgeTable(ends, edge_of, (start < end).ravel(), count, sides, first)


def patches(table: EdgeTable, triangles: int) -> tuple[int, np.ndarray]:
    """Number of patches and the patch of each triangle (k,) int32, numbered by first triangle."""
    return arrays.connected_parts(table.manifold_pairs() // 3, triangles)


def fans(table: EdgeTable) -> tuple[int, np.ndarray]:
    """Number of fans and the fan of each corner (3k,) int32; corner 3 t + c is where side 3 t + c starts."""
    pairs = table.linked_pairs()
    following = pairs - pairs % 3 + (pairs + 1) % 3
    forward = table.forward[pairs]
    low, high = np.where(forward, pairs, following), np.where(forward, following, pairs)
    return arrays.connected_parts(np.concatenate([low, high]), len(table.edge_of))


def turns_to_agree(table: EdgeTable, patch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which triangles to turn so that neighbours across manifold edges wind alike; the fewer of each patch turn.

    Every triangle stands for two nodes, as it is and turned; manifold edges join the nodes that agree. Where both
    nodes of a triangle end up joined, its patch has one side only (a Moebius strip) and none of it is turned.

    Returns:
        turn: (k,) bool.
        one_sided: whether each patch has one side only (p,) bool.
    """
    k = len(patch)
    pairs = table.manifold_pairs()
    differ = (table.forward[pairs[:, 0]] == table.forward[pairs[:, 1]]).astype(np.int64)
    a, b = 2 * (pairs[:, 0] // 3), 2 * (pairs[:, 1] // 3)
    count = int(patch.max()) + 1 if k else 0
    if not differ.any():
        return np.zeros(k, bool), np.zeros(count, bool)
    joined = np.concatenate([np.stack([a, b + differ], axis=1), np.stack([a + 1, b + 1 - differ], axis=1)])
    _, node = arrays.connected_parts(joined, 2 * k)
    one_sided = np.zeros(count, bool)
    one_sided[patch[node[0::2] == node[1::2]]] = True
    _, leader = np.unique(patch, return_index=True)
    turn = node[0::2] != node[2 * leader][patch]
    turned = np.bincount(patch, weights=turn, minlength=count)
    turn ^= (2 * turned > np.bincount(patch, minlength=count))[patch]
    return turn & ~one_sided[patch], one_sided


def closed_patches(table: EdgeTable, patch: np.ndarray, count: int) -> np.ndarray:
    """Whether each patch bounds a volume by itself (count,) bool: its own sides cancel at every edge."""
    patch_of_side = np.repeat(patch.astype(np.int64), 3)
    keys = (patch_of_side << 32) | table.edge_of
    if (table.count <= 2).all():  # a manifold edge belongs to one patch: no need to sort
        uneven = table.balance()[table.edge_of] != 0
        open_ = np.zeros(count, bool)
        open_[patch_of_side[uneven]] = True
        return ~open_
    names, place = np.unique(keys, return_inverse=True)
    balance = np.bincount(place, weights=np.where(table.forward, 1.0, -1.0))
    open_ = np.zeros(count, bool)
    open_[names[balance != 0] >> 32] = True
    return ~open_


@dataclasses.dataclass(frozen=True, eq=False)
class Holes:
    """Free edges, gathered into holes.

    Attributes:
        sides: the free sides (b,) int64. hole_of: the hole of each (b,) int32. count: number of holes.
        start, end: fan at which each side starts and ends (b,) int32.
        edges: free edges of each hole (count,). perimeter: their length [m] (count,).
        simple: whether a hole is one loop that its sides run around in one direction (count,) bool.
    """

    sides: np.ndarray
    hole_of: np.ndarray
    count: int
    start: np.ndarray
    end: np.ndarray
    edges: np.ndarray
    perimeter: np.ndarray
    simple: np.ndarray


def holes(vertices: np.ndarray, triangles: np.ndarray, table: EdgeTable, fan: np.ndarray) -> Holes:
    """Gather the free sides that hang together at fans into holes."""
    sides = table.free_sides()
    following = sides - sides % 3 + (sides + 1) % 3
    nodes, ends = np.unique(np.concatenate([fan[sides], fan[following]]), return_inverse=True)
    start, end = ends[: len(sides)], ends[len(sides) :]
    _, label = arrays.connected_parts(np.stack([start, end], axis=1), len(nodes))
    hole_of = label[start] if len(sides) else np.zeros(0, np.int32)
    count = int(hole_of.max()) + 1 if len(sides) else 0
    flat = triangles.ravel()
    length = np.linalg.norm(vertices[flat[following]] - vertices[flat[sides]], axis=1)
    uneven = (np.bincount(start, minlength=len(nodes)) != 1) | (np.bincount(end, minlength=len(nodes)) != 1)
    simple = np.ones(count, bool)
    simple[label[uneven]] = False
    return Holes(
        sides,
        hole_of,
        count,
        start,
        end,
        np.bincount(hole_of, minlength=count),
        np.bincount(hole_of, weights=length, minlength=count),
        simple,
    )


def loops(triangles: np.ndarray, found: Holes, wanted: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Vertices around each wanted simple hole, against the direction of its sides: a fill's own direction.

    Where a hole passes a vertex twice, as two holes that meet in a point do, it is parted there.

    Returns:
        loops: each vertex once, at least three of them. hole_of: the hole of each loop (h,).
    """
    flat = triangles.ravel()
    side_at = np.full(int(found.start.max()) + 1 if len(found.start) else 0, -1, np.int64)
    side_at[found.start] = np.arange(len(found.start))
    after = side_at[found.end]
    _, leaders = np.unique(found.hole_of, return_index=True)
    result: list[np.ndarray] = []
    hole_of: list[int] = []
    for hole in np.flatnonzero(wanted):
        walk = np.empty(found.edges[hole], np.int64)
        side = leaders[hole]
        for step in range(len(walk)):  # over free edges only: few beside the triangles
            walk[step] = side
            side = after[side]
        parts = _parted(flat[found.sides[walk]][::-1].tolist())
        result += parts
        hole_of += [int(hole)] * len(parts)
    return result, np.array(hole_of, np.int64)


def _parted(loop: list[int]) -> list[np.ndarray]:
    """A loop cut at the vertices it passes again into loops that pass each once; those of two are left out."""
    parts: list[list[int]] = []
    path: list[int] = []
    place: dict[int, int] = {}
    for vertex in loop:
        if vertex in place:
            cut = place[vertex]
            parts.append(path[cut:])
            for gone in path[cut:]:
                del place[gone]
            del path[cut:]
        place[vertex] = len(path)
        path.append(vertex)
    parts.append(path)
    return [np.array(part, np.int32) for part in parts if len(part) >= 3]
