"""Outsides of bodies that may come apart: which triangles and sides there may ever be."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh.tets import FACE_CORNERS
from pliant.model.model import Body


def breaks_in_pieces(body: Body) -> bool:
    """Whether a body may break into pieces that meet each other: one of clusters."""
    return body.options.get("breaks") is not None


def comes_apart(body: Body) -> bool:
    """Whether a body's outside may change."""
    return breaks_in_pieces(body) or (not body.options.get("is_solid") and body.material.breaks_at is not None)


def inner_tets(body: Body) -> np.ndarray | None:
    """The tets of a solid that may break (m, 4), in the model's particle numbers; None for other bodies."""
    if not breaks_in_pieces(body):
        return None
    tets = body.options["breaks"][1]
    return None if tets is None else tets.astype(np.int64) + body.particles[0]


@dataclasses.dataclass(frozen=True, eq=False)
class SolidFaces:
    """The faces of a solid that may be outside: those that are, and those of tets that may come apart.

    A tet is whole while all of its corners are of one piece. A face is outside where its tet is whole and there is none
    behind it, or one that is not.

    Attributes:
        triangles: (f, 3), counter-clockwise seen from outside their own tets.
        tet, behind: the tet of each face and the one behind it, -1 for none (f,).
        tets: (m, 4).
    """

    triangles: np.ndarray
    tet: np.ndarray
    behind: np.ndarray
    tets: np.ndarray

    @staticmethod
    def of(body: Body) -> SolidFaces | None:
        """Those of a body; None if it is no solid that may break."""
        tets = inner_tets(body)
        if tets is None:
            return None
        homes = body.options["breaks"][0][tets - body.particles[0]]
        mixed = (homes != homes[:, :1]).any(axis=1)
        faces = tets[:, np.array(FACE_CORNERS)].reshape(-1, 3)
        tet = np.repeat(np.arange(len(tets)), 4)
        low, middle, high = np.sort(faces, axis=1).T
        order = np.lexsort((tet, high, middle, low))
        same = (np.diff(np.stack([low, middle, high])[:, order], axis=1) == 0).all(axis=0)
        behind = np.full(len(faces), -1)
        one, two = order[:-1][same], order[1:][same]
        behind[one], behind[two] = tet[two], tet[one]
        may = (behind < 0) | mixed[tet] | mixed[behind]
        return SolidFaces(faces[may], tet[may], behind[may], tets)

    def outside(self, piece: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which faces are outside (f,) bool, and the particles that are in no tet that is whole, for pieces of all
        particles of the model (n,)."""
        around = piece[self.tets]
        whole = (around == around[:, :1]).all(axis=1)
        bare = whole[self.tet] & ((self.behind < 0) | ~whole[self.behind])
        return bare, np.setdiff1d(self.tets[~whole], self.tets[whole])


def sides_of(triangles: np.ndarray) -> np.ndarray:
    """Sides of triangles (s, 4): triangle and corner of each, and those of the side that it is joined with, or -1.

    Of a segment, whose second end stands there twice, there is one side; a point has none.
    """
    count = len(triangles)
    triangle, corner = np.repeat(np.arange(count), 3), np.tile(np.arange(3), count)
    ends = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    is_line = np.repeat(triangles[:, 1] == triangles[:, 2], 3)
    real = (ends[:, 0] != ends[:, 1]) & ~(is_line & (corner > 0))
    triangle, corner, ends = triangle[real], corner[real], np.sort(ends[real], axis=1)
    _, row, sharing = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
    row = row.reshape(-1)
    order = np.argsort(row, kind="stable")
    paired = sharing[row[order]] == 2
    first, second = order[paired][0::2], order[paired][1::2]
    twin = np.full(len(row), -1)
    twin[first], twin[second] = second, first
    out = np.full((len(row), 4), -1, np.int32)
    out[:, 0], out[:, 1] = triangle, corner
    joined = twin >= 0
    out[joined, 2], out[joined, 3] = triangle[twin[joined]], corner[twin[joined]]
    return out
