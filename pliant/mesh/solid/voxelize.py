"""A surface turned into the cubes that hold it: a cage that exists for every surface, open or crossing itself."""

from __future__ import annotations

import math

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.solid.bcc import Bcc, TooFineError, blocks_near
from pliant.mesh.solid.distance import Progress, SignedDistance
from pliant.mesh.surface import SurfaceMesh

MOST_CELLS = 60_000_000
HALF_DIAGONAL = math.sqrt(0.75)


def voxelize(
    surface: SurfaceMesh | SignedDistance,
    size: float,
    fill: bool = True,
    device: str = "cpu",
    progress: Progress | None = None,
    deadline: float | None = None,
    name: str = "",
) -> VoxelLattice:
    """The cubes that a surface touches and those inside it.

    A cube is taken if any triangle meets it (`SignedDistance.touched`, exact but for a margin of a millionth of the
    surface's size on the safe side), so the whole surface lies in cubes; with ``fill`` also if its middle is inside.

    Args:
        surface: any triangles, or the distance to them where it has been made already.
        size: edge of a cube [m].
        fill: take the cubes inside too, not the touched ones alone.
        device: where distances are found.
        progress: called with a stage and how much of it is done.
        deadline: value of ``time.monotonic()`` after which `OutOfTimeError` is raised [s].
        name: of the result; the surface's own if empty.
    """
    distance = surface if isinstance(surface, SignedDistance) else SignedDistance(surface, device)
    where = name or distance.where
    if not (np.isfinite(size) and size > 0.0):
        raise InputError(f"size {size!r}", where, "Give a positive size")
    # A box that fits a whole number of cells gets just these.
    cells = np.maximum(np.ceil((distance.high - distance.low) / size - 1e-6), 1.0)
    if float(np.prod(cells)) > MOST_CELLS:
        least = (float(np.prod(distance.high - distance.low + size)) / MOST_CELLS) ** (1.0 / 3.0)
        raise TooFineError(
            f"cubes of {size:.3g} m make a grid of more than {MOST_CELLS:,} cells",
            where,
            f"Use cubes of at least {1.2 * least:.2g} m",
        )
    shape = tuple(int(n) for n in cells)
    grid = Bcc(0.5 * (distance.low + distance.high) - 0.5 * size * cells, size, (shape[0], shape[1], shape[2]))
    block, values, active = blocks_near(grid, distance, 0.0, deadline)
    pick = np.ix_(*(np.arange(n) // block for n in shape))
    depth = values[pick].astype(np.float32)
    near = np.flatnonzero(active[pick])
    middles = grid.origin + size * (np.stack(np.unravel_index(near, shape), axis=1) + 0.5)
    found = distance.at(middles, progress, deadline)
    depth.ravel()[near] = -found / size
    close = np.abs(found) <= size * HALF_DIAGONAL * 1.001 + 2e-6 * distance.scale
    touched = np.zeros(shape, bool)
    touched.ravel()[near[close]] = distance.touched(middles[close], size, deadline)

    notes = list(distance.notes)
    filled = touched
    if fill:
        inside, turned = _cleaned(depth > 0.0, touched)
        filled = touched | inside
        if turned:
            notes.append(f"{turned} cells had a side that all their neighbours contradict; it was turned")
    taken = np.argwhere(filled)
    parts = _parts(taken, shape)
    if parts > 1:
        notes.append(f"the cubes form {parts} parts that share no face")
    return VoxelLattice.from_cells(taken, size, grid.origin, where, tuple(notes))


def _cleaned(inside: np.ndarray, touched: np.ndarray) -> tuple[np.ndarray, int]:
    """Signs of cells the surface does not touch, single ones among others of the opposite sign turned; and how many."""
    around = np.pad(np.where(touched, 0, np.where(inside, 1, -1)).astype(np.int8), 1)
    total = sum(np.roll(around, step, axis)[1:-1, 1:-1, 1:-1] for axis in range(3) for step in (-1, 1))
    lone = ~touched & (np.where(inside, -1, 1) * total >= 5)
    return inside ^ lone, int(lone.sum())


def _parts(cells: np.ndarray, shape: tuple[int, ...]) -> int:
    """Number of parts of filled cells (m, 3), sorted, joined by faces."""
    keys = np.ravel_multi_index(tuple(cells.T), shape)
    pairs = []
    for axis in range(3):
        beside = cells.copy()
        beside[:, axis] += 1
        valid = np.flatnonzero(beside[:, axis] < shape[axis])
        wanted = np.ravel_multi_index(tuple(beside[valid].T), shape)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hit = keys[at] == wanted
        pairs.append(np.stack([valid[hit], at[hit]], axis=1))
    return arrays.connected_parts(np.concatenate(pairs), len(cells))[0]
