"""The stencils of isosurface stuffing: how a tet of the body-centred lattice is cut, for each case of its four signs.

A lattice tet has two long edges, 0-1 and 2-3, and four short ones. Corners 0 and 2 are even nodes, 1 and 3 odd ones.
Points 0 to 3 of a stencil are the corners, points 4 to 9 the cut points on the edges in the order of `EDGE_CORNERS`.
"""

from __future__ import annotations

import itertools

import numpy as np

from pliant.mesh.tets import EDGE_CORNERS, FACE_CORNERS

OUTSIDE, ON, INSIDE = 0, 1, 2
LONG_EDGES = ((0, 1), (2, 3))
MOST_TETS = 3
CORNERS = np.array([(0, 0, -2), (0, 0, 2), (-1, -2, 0), (1, -2, 0)], np.float64) / np.array([2.0, 2.0, 2.0])
EDGE_OF = {pair: 4 + row for row, pair in enumerate(EDGE_CORNERS)}


def _rank(point: int) -> int:
    """Order in which points are pulled: a quad is cut by the diagonal at its first point.

    A quad with a cut on a long edge and one on a short edge is cut from the former, a quad with two short cuts from
    its even corner. Both neighbours of a lattice face see the same points, so their tets conform.
    """
    if point < 4:
        return 2 + (point % 2)
    return 0 if EDGE_CORNERS[point - 4] in LONG_EDGES else 4


def _polygons(signs: tuple[int, ...]) -> list[list[int]]:
    """Faces of the part of a tet that is kept, as rings of points."""
    faces = []
    for face in FACE_CORNERS:
        ring = []
        for i, j in zip(face, face[1:] + face[:1], strict=True):
            if signs[i] != OUTSIDE:
                ring.append(i)
            if {signs[i], signs[j]} == {OUTSIDE, INSIDE}:
                ring.append(EDGE_OF[min(i, j), max(i, j)])
        if len(ring) >= 3:
            faces.append(ring)
    if OUTSIDE in signs:
        faces.append(_closing_face(signs))
    return faces


def _closing_face(signs: tuple[int, ...]) -> list[int]:
    """The ring of points on the isosurface: corners on it and all cut points."""
    kept = [i for i in range(4) if signs[i] == INSIDE]
    cut = [i for i in range(4) if signs[i] == OUTSIDE]
    on = [i for i in range(4) if signs[i] == ON]
    pairs = [(i, j) for i in kept for j in cut]
    if len(kept) == len(cut) == 2:
        (a, b), (c, d) = kept, cut
        pairs = [(a, c), (a, d), (b, d), (b, c)]
    return on + [EDGE_OF[min(pair), max(pair)] for pair in pairs]


def _pulled(faces: list[list[int]]) -> list[tuple[int, int, int, int]]:
    """The pulling triangulation of a convex solid: the first point joined to all faces it is not on."""
    first = min({point for face in faces for point in face}, key=lambda point: (_rank(point), point))
    tets = []
    for face in faces:
        if first in face:
            continue
        start = face.index(min(face, key=lambda point: (_rank(point), point)))
        ring = face[start:] + face[:start]
        tets += [(first, ring[0], ring[k], ring[k + 1]) for k in range(1, len(ring) - 1)]
    return tets


def _built() -> tuple[np.ndarray, np.ndarray]:
    counts = np.zeros(81, np.int64)
    table = np.zeros((81, MOST_TETS, 4), np.int64)
    middles = [(CORNERS[i] + CORNERS[j]) / 2 for i, j in EDGE_CORNERS]
    places = np.array([*CORNERS, *middles])
    for signs in itertools.product((OUTSIDE, ON, INSIDE), repeat=4):
        if INSIDE not in signs:
            continue
        case = sum(sign * 3**i for i, sign in enumerate(signs))
        for row, tet in enumerate(_pulled(_polygons(signs))):
            a, b, c, d = places[list(tet)]
            positive = np.dot(np.cross(b - a, c - a), d - a) > 0.0
            table[case, row] = tet if positive else (tet[0], tet[1], tet[3], tet[2])
            counts[case] = row + 1
    return counts, table


COUNTS, STENCILS = _built()
"""For case sum(sign_i * 3^i): how many tets (81,), and their points (81, 3, 4), positive for a positive lattice tet."""
