"""A surface surveyed patch by patch: closed or open, which side is out, which lies in which, what it encloses."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh.repair import sight, topology
from pliant.mesh.repair.triangle_tree import TriangleTree

ENCLOSES = 0.25
"""How much more of the outside a surface must see from one side than from the other: see `Survey.kind`."""
HOLLOW = 1e-6
"""Volume over area^(3/2), below which a closed patch is two sheets on each other; a ball has 0.094."""


@dataclasses.dataclass(frozen=True, eq=False)
class Survey:
    """The patches of k triangles, as they are once neighbours agree on the winding.

    Attributes:
        table: edges of the triangles as given.
        count: number of patches. patch: of each triangle (k,) int32.
        turn: triangles to turn so that neighbours agree (k,) bool.
        area: of each patch [m^2] (p,). volume: signed [m^3] (p,), of the closed ones.
        one_sided: patches like a Moebius strip, without an outside (p,) bool.
        closed: patches that bound a volume (p,) bool. hollow: closed ones without a volume to speak of (p,) bool.
        inside: closed patches that lie within another (p,) bool.
        inverted: closed patches that face the wrong way (p,) bool. A patch within another follows the outermost one
            around it: what was a cavity relative to it stays one.
        front, back: how much of the outside each open patch sees from either side (p,); 1 and 0 for closed ones.
        kind: 'solid' if all patches bound a volume; 'open' if the surface encloses space though it has holes; 'sheet'
            if it encloses none; 'nothing' without triangles. It encloses space if |front - back|, added up over all
            area, is at least 0.25 of front + back and at least 0.25 of the area itself. For a convex cup with an
            opening of x times its own area these are (1 - x) / (1 + x) and 1 - x: 0.67 and 0.8 for an open box, 0.33
            and 0.5 for a hemisphere, about 0 for a sheet, flat or crumpled. In a heap of random triangles most see
            nothing, which the second tells.
    """

    table: topology.EdgeTable
    count: int
    patch: np.ndarray
    turn: np.ndarray
    area: np.ndarray
    volume: np.ndarray
    one_sided: np.ndarray
    closed: np.ndarray
    hollow: np.ndarray
    inside: np.ndarray
    inverted: np.ndarray
    front: np.ndarray
    back: np.ndarray
    kind: str

    def enclosure(self) -> np.ndarray:
        """(front - back) / (front + back) of each patch (p,), from -1 to 1; 0 for what is not seen at all."""
        seen = self.front + self.back
        return np.divide(self.front - self.back, seen, out=np.zeros_like(seen), where=seen > 0.0)


def survey(vertices: np.ndarray, triangles: np.ndarray) -> Survey:
    """Survey triangles (k, 3) with three different corners each over finite vertices (n, 3) [m]."""
    table = topology.edge_table(triangles)
    count, patch = topology.patches(table, len(triangles))
    if not len(triangles):
        none, no = np.zeros(0), np.zeros(0, bool)
        return Survey(table, 0, patch, no, none, none, no, no, no, no, no, none, none, "nothing")
    turn, one_sided = topology.turns_to_agree(table, patch)
    agreed, agreed_table = triangles, table
    if turn.any():
        agreed = triangles.copy()
        agreed[turn] = agreed[turn][:, [0, 2, 1]]
        agreed_table = topology.edge_table(agreed)
    closed = topology.closed_patches(agreed_table, patch, count) & ~one_sided

    corners = (vertices - vertices[triangles[:, 0]].mean(axis=0))[agreed]
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = 0.5 * np.bincount(patch, weights=np.linalg.norm(doubled, axis=1), minlength=count)
    volume = np.bincount(patch, weights=np.einsum("ij,ij->i", corners[:, 0], doubled), minlength=count) / 6.0
    hollow = closed & (np.abs(volume) <= HOLLOW * area**1.5)

    front, back = closed.astype(np.float64), np.zeros(count)
    back[hollow] = 1.0
    inside, host = np.zeros(count, bool), np.zeros(count)
    if not closed.all() or count > 1:
        tree = TriangleTree(vertices, agreed)
        inside, host = sight.nesting(tree, patch, closed & ~hollow, volume)
        open_front, open_back = sight.outlook(tree, patch, ~closed)
        front, back = np.where(closed, front, open_front), np.where(closed, back, open_back)
    either = np.maximum(front, back)
    front, back = np.where(one_sided, either, front), np.where(one_sided, either, back)
    inverted = closed & ~hollow & np.where(inside, host < 0, volume < 0.0)

    kind = _kind(area, front, back, (closed & ~hollow).all(), agreed_table, volume.sum())
    return Survey(
        table, count, patch, turn, area, volume, one_sided, closed, hollow, inside, inverted, front, back, kind
    )


def _kind(
    area: np.ndarray, front: np.ndarray, back: np.ndarray, all_closed: bool, table: topology.EdgeTable, volume: float
) -> str:
    """See `Survey.kind`. Open patches that close each other at non-manifold edges make a solid too."""
    if all_closed or (not table.balance().any() and abs(volume) > HOLLOW * area.sum() ** 1.5):
        return "solid"
    seen = float((area * (front + back)).sum())
    one_way = float((area * np.abs(front - back)).sum())
    return "open" if one_way >= ENCLOSES * max(seen, float(area.sum())) else "sheet"
