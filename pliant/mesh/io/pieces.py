"""Several pieces of a surface joined into one mesh, and vertices at the very same place made one."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh.look import Look, Paint
from pliant.mesh.surface import SurfaceMesh

FARTHEST = 1e9
"""Largest texture coordinate kept."""


@dataclasses.dataclass(frozen=True)
class Piece:
    """Triangles over vertices of their own.

    Attributes:
        vertices: (n, 3) float64 [m].
        triangles: (k, 3) into vertices.
        parts: names of the parts.
        part: number of the part in ``parts`` of all triangles, or of each (k,); -1 for none.
        paint: number of the paint of all triangles, or of each (k,); -1 for none.
        uv: of each corner (k, 3, 2), lower left at (0, 0); None if there are none.
        colors: of each vertex (n, 4) from 0 to 1, sRGB; None if there are none.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    parts: tuple[str, ...] = ()
    part: int | np.ndarray = 0
    paint: int | np.ndarray = -1
    uv: np.ndarray | None = None
    colors: np.ndarray | None = None


def join(pieces: list[Piece], paints: tuple[Paint, ...], name: str, notes: list[str], sew: bool) -> SurfaceMesh:
    """One surface of all pieces, in their order; parts of the same name become one.

    Args:
        pieces: what to join.
        paints: that the pieces name by number.
        name: of the mesh.
        notes: what was done so far.
        sew: make vertices at the very same place one.
    """
    sizes = np.array([len(piece.vertices) for piece in pieces])
    offsets = np.cumsum(sizes) - sizes
    vertices = np.concatenate([piece.vertices for piece in pieces]).reshape(-1, 3)
    triangles = np.concatenate([piece.triangles + offset for piece, offset in zip(pieces, offsets)]).reshape(-1, 3)
    used = [
        [name if (np.asarray(piece.part) == number).any() else "" for number, name in enumerate(piece.parts)]
        for piece in pieces
    ]
    parts = list(dict.fromkeys(name for names in used for name in names if name))
    # Behind the numbers of a piece's own parts stands -1, for triangles of none.
    numbers = [np.array([parts.index(name) if name else -1 for name in names] + [-1]) for names in used]
    of_piece = lambda values: np.concatenate(
        [np.broadcast_to(value, len(piece.triangles)) for piece, value in zip(pieces, values)]
    ).astype(np.int32)
    uv, colors = None, None
    if any(piece.uv is not None for piece in pieces):
        blank = lambda piece: np.zeros((len(piece.triangles), 3, 2), np.float32)
        uv = np.concatenate([blank(p) if p.uv is None else as_uv(p.uv) for p in pieces])
    if any(piece.colors is not None for piece in pieces):
        white = lambda piece: np.ones((len(piece.vertices), 4), np.float32)
        colors = np.concatenate([white(p) if p.colors is None else p.colors for p in pieces]).astype(np.float32)
    look = look_of(
        uv=uv,
        paints=paints,
        paint_of=of_piece([piece.paint for piece in pieces]),
        parts=tuple(parts),
        part_of=of_piece([number[piece.part] for number, piece in zip(numbers, pieces)]),
        vertex_colors=colors,
    )
    mesh = SurfaceMesh(vertices, triangles.astype(np.int32), name, tuple(notes), look)
    return sewn(mesh) if sew else mesh


def look_of(
    uv: np.ndarray | None,
    paints: tuple[Paint, ...],
    paint_of: np.ndarray | None,
    parts: tuple[str, ...],
    part_of: np.ndarray | None,
    vertex_colors: np.ndarray | None,
) -> Look | None:
    """A look with only what is there: None when nothing is."""
    if not paints or paint_of is None or (paint_of < 0).all():
        paints, paint_of = (), None
    if not parts or part_of is None or (part_of < 0).all():
        parts, part_of = (), None
    if uv is None and vertex_colors is None and paint_of is None and part_of is None:
        return None
    return Look(uv, paints, paint_of, parts, part_of, vertex_colors)


def as_uv(values: np.ndarray) -> np.ndarray:
    """Texture coordinates as float32, those that are no number as 0 and far ones brought near."""
    return np.clip(np.nan_to_num(values, nan=0.0), -FARTHEST, FARTHEST).astype(np.float32)


def as_colors(values: np.ndarray, highest: float | None = None) -> np.ndarray:
    """Colours (n, 4) float32 from 0 to 1, with full opacity where there is none.

    Args:
        values: red, green, blue and perhaps opacity (n, 3) or (n, 4).
        highest: the number that stands for 1; None: 255 if any number is above 1, else 1.
    """
    values = np.clip(np.nan_to_num(values, nan=0.0), 0.0, 255.0)
    if highest is None:
        highest = 255.0 if values.size and values.max() > 1.0 else 1.0
    colors = np.ones((len(values), 4), dtype=np.float32)
    colors[:, : values.shape[1]] = np.minimum(values / highest, 1.0)
    return colors


def sewn(mesh: SurfaceMesh) -> SurfaceMesh:
    """A copy in which vertices at the very same place are one, numbered by the first of them; a note says so."""
    vertex_of, first = same_places(mesh.vertices)
    gone = len(mesh.vertices) - len(first)
    if not gone:
        return mesh
    note = f"{len(mesh.vertices)} vertices were made {len(first)}: those at the very same place are one"
    mesh = dataclasses.replace(mesh, notes=(*mesh.notes, note))
    return mesh.merged(vertex_of, mesh.vertices[first])


def same_places(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices at the very same place found.

    Args:
        points: (n, 3) [m].

    Returns:
        vertex_of: new number of each point (n,) int64, in the order of first appearance.
        first: the first point at each place (p,) int64, ascending.
    """
    count = len(points)
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    # Adding zero makes minus zero plus zero, so that both are the same bits.
    keys = np.ascontiguousarray(points + 0.0).view(np.uint64)
    mixed = keys[:, 0] * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (keys[:, 1] + (mixed >> np.uint64(29))) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= (keys[:, 2] + (mixed >> np.uint64(31))) * np.uint64(0x165667B19E3779F9)
    columns = [keys[:, 0], keys[:, 1], keys[:, 2]]
    order = np.argsort(mixed, kind="stable")
    new = np.ones(count, dtype=bool)
    new[1:] = mixed[order[1:]] != mixed[order[:-1]]
    differ = np.logical_or.reduce([column[order[1:]] != column[order[:-1]] for column in columns])
    if (differ & ~new[1:]).any():
        # Two places with the same mixed number: sort by the places themselves.
        order = np.lexsort(columns)
        new[1:] = np.logical_or.reduce([column[order[1:]] != column[order[:-1]] for column in columns])
    # Both sorts are stable, so the first of a run is the first in the file.
    firsts = order[new]
    rank = np.empty(len(firsts), dtype=np.int64)
    rank[np.argsort(firsts, kind="stable")] = np.arange(len(firsts))
    vertex_of = np.empty(count, dtype=np.int64)
    vertex_of[order] = rank[np.cumsum(new) - 1]
    return vertex_of, np.sort(firsts)
