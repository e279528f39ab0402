"""Wrinkles prepared on the host: a fine surface over a sheet, and the phases of waves in several directions on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh.embed import Embedding
from pliant.mesh.loop_weights import Stencils
from pliant.mesh.subdivide import Subdivision
from pliant.mesh.surface import SurfaceMesh
from pliant.settings import Described, setting

DIRECTIONS = 8
"""Directions of the waves, over half a turn; a compression between two of them gets some of both."""
SMOOTHING = 8
RELAXING = 60
FEWEST_SAMPLES = 4.0
"""Small edges per wave below which its shape is lost."""


@dataclasses.dataclass(frozen=True)
class Wrinkles(Described):
    """Fine waves on what is seen of a sheet, where it is compressed.

    Loviscach (2006, "Wrinkling Coarse Meshes on the GPU") finds from the edges of a coarse cloth where and along which
    direction it is shorter than at rest, and lets waves across that direction take up the length that is missing.
    """

    wavelength: float | None = setting(
        None, "distance of crests on the cloth; the mean length of its edges if not given", unit="m", low=1e-6, high=1e3
    )
    levels: int = setting(3, "how often the edges of the triangles are halved for what is seen", low=0, high=6)
    strength: float = setting(1.0, "height over that which makes up for the missing length", low=0.0, high=10.0)
    threshold: float = setting(
        0.01, "compression below which there are none; three times it has all", low=0.0, high=0.5
    )


def as_wrinkles(value: Any, where: str) -> Wrinkles | None:
    """Wrinkles from a `Wrinkles`, a table of its settings, True for the usual ones, or None."""
    if value is None or value is False or isinstance(value, Wrinkles):
        return value or None
    if value is True:
        return Wrinkles()
    if not isinstance(value, Mapping):
        raise InputError(f"{value!r} is no table of settings", where, "Give Wrinkles(), or a table of its settings")
    known = [f.name for f in dataclasses.fields(Wrinkles)]
    for key in value:
        if key not in known:
            raise InputError(f"no setting {key!r}", where, f"The settings are: {', '.join(known)}")
    return Wrinkles(**value)


def wrinkled(
    mesh: SurfaceMesh, settings: Wrinkles, warp: Any = None
) -> tuple[SurfaceMesh, Embedding, WrinkleMap, list[str]]:
    """The fine surface of a sheet at rest, its embedding without waves, the waves, and notes for the user."""
    cut = Subdivision.of(mesh, settings.levels)
    found, notes = WrinkleMap.of(mesh, cut, settings, warp)
    return cut.surface(mesh), cut.embedding(mesh), found, notes


@dataclasses.dataclass(frozen=True, eq=False)
class WrinkleMap:
    """What the waves on a sheet are found from.

    Attributes:
        settings: of the wrinkles. wavelength: of the waves at rest [m].
        corners: coarse triangles (k, 3) int64.
        inverse: inverse of the rest edges in each triangle's frame, row by row [1/m] (k, 4).
        area: of each triangle at rest [m^2] (k,).
        hosts: corners of the coarse triangle of each fine vertex (n, 3) int64. weights: of these (n, 3).
        phase: of the waves along each direction, at each fine vertex [turns] (n, DIRECTIONS) float32.
        triangles: of the fine surface (f, 3) int32.
        vertices: particle of each coarse vertex (c,) int64.
        limit: of the coarse vertices. stencils: vertices of each level from those of the one before.
    """

    settings: Wrinkles
    wavelength: float
    corners: np.ndarray
    inverse: np.ndarray
    area: np.ndarray
    hosts: np.ndarray
    weights: np.ndarray
    phase: np.ndarray
    triangles: np.ndarray
    vertices: np.ndarray
    limit: Stencils
    stencils: tuple[Stencils, ...]

    def renumbered(self, rank: np.ndarray) -> WrinkleMap:
        """A copy whose coarse vertex i is now called rank[i]."""
        return dataclasses.replace(
            self, corners=rank[self.corners], hosts=rank[self.hosts], vertices=rank[self.vertices]
        )

    @staticmethod
    def of(mesh: SurfaceMesh, cut: Subdivision, settings: Wrinkles, warp: Any = None) -> tuple[WrinkleMap, list[str]]:
        """The waves of a sheet at rest, and notes for the user.

        Args:
            mesh: the sheet. cut: its subdivision.
            settings: of the wrinkles.
            warp: direction from which angles are counted (3,); along its longest side if not given.
        """
        edges = mesh.edges().astype(np.int64)
        spans = mesh.vertices[edges[:, 1]] - mesh.vertices[edges[:, 0]]
        mean = float(np.linalg.norm(spans, axis=1).mean())
        wavelength = mean if settings.wavelength is None else settings.wavelength
        samples = wavelength * 2**settings.levels / mean
        notes = []
        if samples < FEWEST_SAMPLES:
            notes.append(
                f"wrinkles of {wavelength:.3g} m have {samples:.2g} small edges each, which loses their shape; "
                "raise 'levels' or 'wavelength'"
            )
        along, across = _frame(mesh, edges, warp)
        angles = np.arange(DIRECTIONS) * np.pi / DIRECTIONS
        ways = np.cos(angles)[:, None] * along[:, None] + np.sin(angles)[:, None] * across[:, None]
        # turns of each wave from one end of an edge to the other, by the mean direction of its ends
        step = np.einsum("edk,ek->ed", 0.5 * (ways[edges[:, 0]] + ways[edges[:, 1]]), spans) / wavelength
        phase = _phases(edges, step, len(mesh.vertices))
        triangles = mesh.triangles.astype(np.int64)
        inverse, area = _rest_frames(mesh, along)
        fine = _fine_phases(triangles, cut, edges, step, phase)
        found = WrinkleMap(
            settings, wavelength, triangles, inverse, area, triangles[cut.host], cut.weights, fine, cut.triangles,
            np.arange(len(mesh.vertices)), cut.limit, cut.stencils,
        )  # fmt: skip
        return found, notes


def _frame(mesh: SurfaceMesh, edges: np.ndarray, warp: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors at each vertex, in the surface and normal to each other, smooth over it (n, 3) each."""
    count = len(mesh.vertices)
    weighted = mesh.normals() * mesh.areas()[:, None]
    normal = _unit(_gathered(np.repeat(weighted, 3, axis=0), mesh.triangles.reshape(-1), count))
    axis = np.eye(3)[np.argmax(np.ptp(mesh.vertices, axis=0))] if warp is None else np.asarray(warp, np.float64)
    inside = lambda v: v - np.sum(v * normal, axis=1, keepdims=True) * normal
    along = inside(np.tile(axis, (count, 1)))
    both = np.concatenate([edges, edges[:, ::-1]])
    for _ in range(SMOOTHING):
        # short where the axis leaves the surface, so that the neighbours say more there
        along = inside(along + _gathered(along[both[:, 1]], both[:, 0], count) / 6.0)
        along /= np.maximum(np.linalg.norm(along, axis=1), 1e-9).max()
    bad = np.linalg.norm(along, axis=1) < 1e-6
    if bad.any():
        other = np.eye(3)[np.argmin(np.abs(normal[bad]), axis=1)]
        along[bad] = np.cross(normal[bad], other)
    along = _unit(along)
    return along, np.cross(normal, along)


def _rest_frames(mesh: SurfaceMesh, along: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of each triangle's rest edges in a frame that follows `along` (k, 4), and its area (k,)."""
    corners = mesh.vertices[mesh.triangles]
    first, second, normal = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], mesh.normals()
    way = along[mesh.triangles].sum(axis=1)
    way = way - np.sum(way * normal, axis=1, keepdims=True) * normal
    lost = np.linalg.norm(way, axis=1) < 1e-6
    way[lost] = first[lost]
    e1 = _unit(way)
    e2 = np.cross(normal, e1)
    dot = lambda a, b: np.sum(a * b, axis=1)
    a, b, c, d = dot(first, e1), dot(second, e1), dot(first, e2), dot(second, e2)
    det = a * d - b * c
    return np.stack([d, -b, -c, a], axis=1) / det[:, None], 0.5 * det


def _phases(edges: np.ndarray, step: np.ndarray, count: int) -> np.ndarray:
    """Phases [turns] (count, d) whose differences along the edges are as near to `step` (e, d) as they can be.

    Summed along a tree of edges, which is exact on a flat sheet. Elsewhere each phase is then turned towards what its
    neighbours say, modulo whole turns, which gives the waves of the paper's relaxation.
    """
    both = np.concatenate([edges, edges[:, ::-1]])
    turn = np.concatenate([step, -step])
    order = np.lexsort((both[:, 1], both[:, 0]))
    both, turn = both[order], turn[order]
    starts = np.searchsorted(both[:, 0], np.arange(count + 1))
    phase, known = np.zeros((count, step.shape[1])), np.zeros(count, bool)
    for root in range(count):
        if known[root]:
            continue
        known[root] = True
        front = np.array([root])
        while len(front):
            lengths = starts[front + 1] - starts[front]
            rows = np.repeat(starts[front] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
            rows = rows[~known[both[rows, 1]]]
            front, pick = np.unique(both[rows, 1], return_index=True)
            rows = rows[pick]
            phase[front] = phase[both[rows, 0]] + turn[rows]
            known[front] = True
    off = phase[edges[:, 1]] - phase[edges[:, 0]] - step
    if np.abs(off).max(initial=0.0) < 1e-3:
        return phase
    used = np.diff(starts) > 0
    wave, pull = np.exp(2j * np.pi * phase), np.exp(-2j * np.pi * turn)
    for _ in range(RELAXING):
        told = np.add.reduceat(wave[both[:, 1]] * pull, starts[:-1][used], axis=0)
        mixed = wave[used] + told
        wave[used] = mixed / np.maximum(np.abs(mixed), 1e-12)
    return np.angle(wave) / (2.0 * np.pi)


def _fine_phases(
    triangles: np.ndarray, cut: Subdivision, edges: np.ndarray, step: np.ndarray, phase: np.ndarray
) -> np.ndarray:
    """Phases at the fine vertices (n, d): within a triangle they change evenly, by whole turns near `step`."""
    count = len(phase)
    keys = edges[:, 0] * count + edges[:, 1]
    start = triangles[:, 0]
    change = []
    for k in (1, 2):
        low, high = np.minimum(start, triangles[:, k]), np.maximum(start, triangles[:, k])
        sign = np.where(start < triangles[:, k], 1.0, -1.0)[:, None]
        wanted = sign * step[np.searchsorted(keys, low * count + high)]
        off = phase[triangles[:, k]] - phase[start] - wanted
        change.append(wanted + off - np.rint(off))
    fine = phase[start][cut.host]
    fine = fine + cut.weights[:, 1:2] * change[0][cut.host] + cut.weights[:, 2:3] * change[1][cut.host]
    return (fine - np.floor(fine)).astype(np.float32)


def _gathered(values: np.ndarray, at: np.ndarray, count: int) -> np.ndarray:
    """Sums of rows (m, 3) that belong to the same place (count, 3)."""
    return np.stack([np.bincount(at, values[:, k], count) for k in range(3)], axis=1)


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
