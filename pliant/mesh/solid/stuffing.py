"""Isosurface stuffing: tetrahedra with good angles from the signed distance to a surface.

Labelle and Shewchuk 2007, Isosurface Stuffing: Fast Tetrahedral Meshes with Good Dihedral Angles; the uniform version.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.solid.bcc import SHORT, Bcc, sampled
from pliant.mesh.solid.distance import Progress, SignedDistance, check_time
from pliant.mesh.solid.stuffing_tables import COUNTS, INSIDE, ON, OUTSIDE, STENCILS
from pliant.mesh.solid.thickness import LocalOffset
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import EDGE_CORNERS, TetMesh

ALPHA_LONG, ALPHA_SHORT = 0.24999, 0.41189
"""A cut point closer to a node than this part of a long or short edge moves the node onto the surface (table 1)."""
ANGLES = (10.7, 164.8)
"""Bounds on the dihedral angles of every tet that these two give [degrees]."""
CRUMB_CELLS, CRUMB_PART = 2.0, 0.01
"""A loose piece below this volume in cells, and below this part of the largest piece, is left out."""


def stuff(
    surface: SurfaceMesh | SignedDistance,
    size: float,
    offset: float = 0.0,
    device: str = "cpu",
    progress: Progress | None = None,
    deadline: float | None = None,
    name: str = "",
) -> TetMesh:
    """Fill a surface with tets.

    Args:
        surface: any triangles, or the distance to them where it has been made already.
        size: edge of a lattice cell, which holds 12 tets [m].
        offset: the solid's boundary lies this far outside the surface [m].
        device: where distances are found.
        progress: called with a stage and how much of it is done.
        deadline: value of ``time.monotonic()`` after which `OutOfTimeError` is raised [s].
        name: of the result; the surface's own if empty.

    Returns:
        a mesh of positive tets, perhaps without any if nothing is enclosed at this size.
    """
    distance = surface if isinstance(surface, SignedDistance) else SignedDistance(surface, device)
    return Sampling(distance, size, offset, progress, deadline, name).filled()


class Sampling:
    """The depth of lattice nodes below a surface, to be filled with tets, once or more with different local offsets.

    Args:
        distance: to the surface.
        size, offset, progress, deadline, name: as in `stuff`.
        most: the largest local offset that will be asked for [m].
    """

    def __init__(
        self,
        distance: SignedDistance,
        size: float,
        offset: float = 0.0,
        progress: Progress | None = None,
        deadline: float | None = None,
        name: str = "",
        most: float = 0.0,
    ):
        self.distance, self.size, self.deadline = distance, size, deadline
        self.where = name or distance.where
        if not (np.isfinite(size) and size > 0.0 and np.isfinite(offset)):
            raise InputError(f"size {size!r}, offset {offset!r}", self.where, "Give a positive size, a finite offset")
        reach = max(offset, 0.0) + most
        self.lattice = Bcc.around(distance.low - reach, distance.high + reach, size, self.where)
        self.depth, self.turned = sampled(self.lattice, distance, offset, progress, deadline, most)
        # Beyond these no edge can be cut.
        self._near = np.flatnonzero((self.depth < 1.0) & (self.depth > -1.0 - most / size)) if most else None
        self._near_points = None if self._near is None else self.lattice.points(self._near)

    def filled(self, local: LocalOffset | None = None) -> TetMesh:
        """The tets, with a further outward offset that differs from place to place."""
        depth = self.depth
        if local is not None and local.most and self._near_points is not None:
            # Added after wrong signs were looked for, since it may change faster than place.
            depth = depth.copy()
            depth[self._near] += (local.at(self._near_points, self.deadline) / self.size).astype(np.float32)
        check_time(self.deadline)
        states, moved, moved_to, cuts = _warped(self.lattice, depth)
        tets = _stencilled(self.lattice, states, cuts, self.deadline)
        vertices, tets = _numbered(self.lattice, tets, moved, moved_to, cuts)
        notes = list(self.distance.notes)
        if self.turned:
            notes.append(f"{self.turned} lattice nodes had a sign that their neighbours contradict; it was turned")
        mesh = TetMesh(vertices, tets, self.where, tuple(notes))
        return _without_crumbs(mesh, self.size) if len(tets) else mesh


@dataclasses.dataclass(frozen=True)
class _Cuts:
    """Edges that cross the isosurface, sorted by `keys`: smaller node << 32 | larger node; `points` (c, 3) [m]."""

    keys: np.ndarray
    points: np.ndarray


def _warped(lattice: Bcc, depth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, _Cuts]:
    """State of each node (n,) int8, the nodes moved onto the surface, where to, and the cut points that remain."""
    numbers = np.arange(lattice.node_count, dtype=np.int32)
    one, other, kind = [], [], []
    for (d0, d1, long), (n0, n1, _) in zip(lattice.edges(depth), lattice.edges(numbers), strict=True):
        crossing = (d0 > 0.0) != (d1 > 0.0)
        one.append(n0[crossing])
        other.append(n1[crossing])
        kind.append(np.full(len(one[-1]), long))
    ends = np.stack([np.concatenate(one), np.concatenate(other)], axis=1).astype(np.int64)
    is_long = np.concatenate(kind)
    d = depth[ends].astype(np.float64)
    along = d[:, 0] / (d[:, 0] - d[:, 1])
    points = lattice.points(ends[:, 0])
    points += along[:, None] * (lattice.points(ends[:, 1]) - points)

    # A cut point violates at most one end of its edge, since both alphas are below one half.
    alpha = np.where(is_long, ALPHA_LONG, ALPHA_SHORT)
    near_one, near_other = along < alpha, 1.0 - along < alpha
    close = np.flatnonzero(near_one | near_other)
    node = np.where(near_one[close], ends[close, 0], ends[close, 1])
    gap = np.minimum(along, 1.0 - along)[close] * np.where(is_long[close], 1.0, SHORT)
    order = np.lexsort((close, gap, node))
    close, node = close[order], node[order]

    # Moving a node removes the cut points on its edges, which may save its neighbours: node after node, but all nodes
    # of one of 16 colours at once, as no edge joins two of them.
    places, middle = lattice.places(node)
    half = places // 2
    color = (half[:, 0] & 1) | (half[:, 1] & 1) << 1 | (half[:, 2] & 1) << 2 | middle << 3
    fixed = np.zeros(lattice.node_count, bool)
    moved, chosen = [], []
    for k in range(16):
        rows = np.flatnonzero(color == k)
        rows = rows[~fixed[ends[close[rows]]].any(axis=1)]
        nodes, first = np.unique(node[rows], return_index=True)
        fixed[nodes] = True
        moved.append(nodes)
        chosen.append(close[rows[first]])
    moved_nodes, moved_to = np.concatenate(moved), points[np.concatenate(chosen)]
    order = np.argsort(moved_nodes)

    states = np.where(depth > 0.0, INSIDE, OUTSIDE).astype(np.int8)
    states[fixed] = ON
    left = ~fixed[ends].any(axis=1)
    low, high = ends[left].min(axis=1), ends[left].max(axis=1)
    keys = low << 32 | high
    sort = np.argsort(keys)
    return states, moved_nodes[order], moved_to[order], _Cuts(keys[sort], points[left][sort])


def _stencilled(lattice: Bcc, states: np.ndarray, cuts: _Cuts, deadline: float | None) -> np.ndarray:
    """The tets (m, 4) int64: numbers of nodes, or the node count plus the number of a cut point."""
    numbers = np.arange(lattice.node_count, dtype=np.int32)
    corner_states, middle_states = lattice.grids(states)
    corner_numbers, middle_numbers = lattice.grids(numbers)
    found = []
    for axis, edge_axis, side in itertools.product(range(3), range(3), (0, 1)):
        if axis == edge_axis:
            continue
        check_time(deadline)
        # The tet of a face between two cells' middles and one of the face's four edges.
        lower = tuple(slice(0, -1) if k == axis else slice(None) for k in range(3))
        upper = tuple(slice(1, None) if k == axis else slice(None) for k in range(3))
        start = [0, 0, 0]
        start[axis], start[3 - axis - edge_axis] = 1, side
        stop = list(start)
        stop[edge_axis] += 1
        counts = [n - (k == axis) for k, n in enumerate(lattice.shape)]
        first = tuple(slice(s, s + n) for s, n in zip(start, counts, strict=True))
        second = tuple(slice(s, s + n) for s, n in zip(stop, counts, strict=True))
        views = [(corner_states, corner_numbers, first), (corner_states, corner_numbers, second),
                 (middle_states, middle_numbers, lower), (middle_states, middle_numbers, upper)]  # fmt: skip
        kept = np.maximum.reduce([grid[part] for grid, _, part in views]) == INSIDE
        nodes = np.stack([grid[part][kept] for _, grid, part in views], axis=1).astype(np.int64)
        # Seen from the first corner, the other corner, then the lower and the upper middle.
        positive = (edge_axis - axis) % 3 == (1 if side == 0 else 2)
        found.append(_cut_tets(lattice, states, cuts, nodes, positive))
    return np.concatenate(found)


def _cut_tets(lattice: Bcc, states: np.ndarray, cuts: _Cuts, nodes: np.ndarray, positive: bool) -> np.ndarray:
    """Stencils of lattice tets (t, 4) that share one orientation: tets (m, 4) int64."""
    flip = np.full(len(nodes), not positive)
    for a, b in ((0, 1), (2, 3)):
        # Even node first: the ends of a long edge differ in parity.
        odd = (lattice.places(nodes[:, a])[0] // 2).sum(axis=1) % 2 == 1
        nodes[odd, a], nodes[odd, b] = nodes[odd, b], nodes[odd, a]
        flip ^= odd
    case = states[nodes].astype(np.int64) @ np.array([1, 3, 9, 27])
    points = np.full((len(nodes), 10), -1, np.int64)
    points[:, :4] = nodes
    cut = np.flatnonzero((states[nodes] == OUTSIDE).any(axis=1))
    for k, (i, j) in enumerate(EDGE_CORNERS):
        ends = nodes[cut][:, (i, j)]
        crossing = states[ends].astype(np.int64).sum(axis=1) == INSIDE + OUTSIDE
        crossing &= (states[ends] != ON).all(axis=1)
        keys = ends[crossing].min(axis=1) << 32 | ends[crossing].max(axis=1)
        points[cut[crossing], 4 + k] = lattice.node_count + np.searchsorted(cuts.keys, keys)
    rows, copies = np.repeat(np.arange(len(nodes)), COUNTS[case]), COUNTS[case]
    which = np.arange(len(rows)) - np.repeat(np.cumsum(copies) - copies, copies)
    tets = np.take_along_axis(points[rows], STENCILS[case[rows], which], axis=1)
    turn = flip[rows]
    tets[turn, 2], tets[turn, 3] = tets[turn, 3], tets[turn, 2]
    return tets


def _numbered(
    lattice: Bcc, tets: np.ndarray, moved: np.ndarray, moved_to: np.ndarray, cuts: _Cuts
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) [m] that the tets use, and the tets (m, 4) int32 renumbered; both run through space in slabs."""
    used, tets = np.unique(tets, return_inverse=True)
    tets = tets.reshape(-1, 4)
    nodes = used[used < lattice.node_count]
    vertices = np.concatenate([lattice.points(nodes), cuts.points[used[len(nodes) :] - lattice.node_count]])
    if len(moved):
        at = np.minimum(np.searchsorted(moved, nodes), len(moved) - 1)
        hit = moved[at] == nodes
        vertices[: len(nodes)][hit] = moved_to[at[hit]]
    if not len(vertices):
        return vertices.reshape(0, 3), np.zeros((0, 4), np.int32)
    cell = np.floor((vertices - lattice.origin) / lattice.size).astype(np.int64)
    order = np.lexsort((np.arange(len(vertices)), cell[:, 2], cell[:, 1], cell[:, 0]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    tets = place[tets]
    tets = tets[np.lexsort((tets.max(axis=1), tets.min(axis=1)))]
    return vertices[order], tets.astype(np.int32)


def _without_crumbs(mesh: TetMesh, size: float) -> TetMesh:
    """The mesh without loose pieces so small that they are traces of the sampling."""
    count, part = mesh.components()
    if count < 2:
        return mesh
    volumes = np.bincount(part[mesh.tets[:, 0]], weights=mesh.volumes(), minlength=count)
    crumb = (volumes < CRUMB_CELLS * size**3) & (volumes < CRUMB_PART * volumes.max())
    if not crumb.any():
        return mesh
    vertices, tets = arrays.without_unused(mesh.vertices, mesh.tets[~crumb[part[mesh.tets[:, 0]]]])
    count, share = int(crumb.sum()), 100.0 * volumes[crumb].sum() / volumes.sum()
    note = f"loose crumbs left out: {count}, with {share:.2g} % of the volume"
    return TetMesh(vertices, tets, mesh.name, (*mesh.notes, note))
