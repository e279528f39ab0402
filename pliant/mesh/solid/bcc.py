"""The body-centred cubic lattice: two cubic grids, the second's nodes in the middle of the first's cells.

Nodes are numbered through: first the grid of cell corners, then that of cell middles, each with z fastest.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np

from pliant.errors import InputError
from pliant.mesh.solid.distance import Progress, SignedDistance, check_time

SHORT = math.sqrt(0.75)
"""Length of a short edge, corner to middle, in units of the cell size; a long edge has length 1."""
MOST_NODES = 60_000_000
PADDING = 2
"""Empty cells kept around the solid on each side."""
SWEEPS = 8
NEIGHBOURS = 14


class TooFineError(InputError):
    """A lattice would have too many nodes."""


@dataclasses.dataclass(frozen=True)
class Bcc:
    """A block of cells of a body-centred lattice.

    Args:
        origin: the first corner (3,) [m].
        size: edge of a cell [m].
        shape: cells along x, y, z.
    """

    origin: np.ndarray
    size: float
    shape: tuple[int, int, int]

    @staticmethod
    def around(low: np.ndarray, high: np.ndarray, size: float, where: str = "") -> Bcc:
        """The lattice around a box, centred on it, with `PADDING` cells to spare on each side."""
        wanted = (high - low) / size
        cells = np.ceil(wanted) + 2 * PADDING
        if not np.isfinite(cells).all() or 2.0 * float(np.prod(cells + 1)) > MOST_NODES:
            least = float(np.prod(np.maximum(high - low, size)) * 2.0 / MOST_NODES) ** (1.0 / 3.0)
            raise TooFineError(
                f"elements of {size:.3g} m need a lattice of more than {MOST_NODES:,} nodes",
                where,
                f"Use elements of at least {1.2 * least:.2g} m",
            )
        shape = tuple(int(n) for n in cells)
        origin = 0.5 * (low + high) - 0.5 * size * cells
        return Bcc(origin, size, (shape[0], shape[1], shape[2]))

    @property
    def corner_shape(self) -> tuple[int, int, int]:
        x, y, z = self.shape
        return x + 1, y + 1, z + 1

    @property
    def corner_count(self) -> int:
        return math.prod(self.corner_shape)

    def grids(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of all nodes as two grids (views): of the corners and of the middles."""
        split = self.corner_count
        return values[:split].reshape(self.corner_shape), values[split:].reshape(self.shape)

    @property
    def node_count(self) -> int:
        return self.corner_count + math.prod(self.shape)

    def places(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Grid coordinates (n, 3) of nodes in half cells, and whether each is a middle (n,) bool."""
        middle = nodes >= self.corner_count
        places = np.empty((len(nodes), 3), np.int64)
        places[~middle] = np.stack(np.unravel_index(nodes[~middle], self.corner_shape), axis=1) * 2
        places[middle] = np.stack(np.unravel_index(nodes[middle] - self.corner_count, self.shape), axis=1) * 2 + 1
        return places, middle

    def points(self, nodes: np.ndarray) -> np.ndarray:
        """Positions of nodes (n, 3) [m]."""
        return self.origin + (0.5 * self.size) * self.places(nodes)[0]

    def edges(self, values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
        """Views of the values at both ends of all edges, for each of the 14 directions; whether they are long."""
        corners, middles = self.grids(values)
        for grid in (corners, middles):
            for axis in range(3):
                yield grid[_cut(axis, 0, -1)], grid[_cut(axis, 1, None)], True
        x, y, z = self.shape
        for i, j, k in itertools.product((0, 1), repeat=3):
            yield middles, corners[i : i + x, j : j + y, k : k + z], False


def _cut(axis: int, start: int, stop: int | None) -> tuple[slice, ...]:
    return tuple(slice(start, stop) if k == axis else slice(None) for k in range(3))


def sampled(
    lattice: Bcc,
    distance: SignedDistance,
    offset: float,
    progress: Progress | None = None,
    deadline: float | None = None,
    most: float = 0.0,
) -> tuple[np.ndarray, int]:
    """Depth below the isosurface at all nodes, in units of the cell size, positive inside: (n,) float32.

    Blocks of cells are halved only where the surface can be near, since distances change no faster than places; nodes
    far from it get the depth of their block's middle. Also returns how many signs were put right, see `clean_signs`.
    Nodes up to ``most`` [m] further outside count as near.
    """
    depth = np.empty(lattice.node_count, np.float32)
    block, values, active = blocks_near(lattice, distance, offset, deadline, most)
    for grid_depth, first, shift in (
        (lattice.grids(depth)[0], 0, 0.0),
        (lattice.grids(depth)[1], lattice.corner_count, 0.5),
    ):
        pick = np.ix_(*(np.minimum(np.arange(n) // block, m - 1) for n, m in zip(grid_depth.shape, values.shape)))
        grid_depth[...] = values[pick]
        near = np.flatnonzero(active[pick])
        done = 0.5 * (shift > 0.0)

        def report(_: str, part: float, done: float = done) -> None:
            if progress is not None:
                progress("measuring distances", done + 0.5 * part)

        places = np.stack(np.unravel_index(near, grid_depth.shape), axis=1) + shift
        found = distance.at(lattice.origin + lattice.size * places, report, deadline)
        depth[first + near] = (offset - found) / lattice.size
    return depth, clean_signs(lattice, depth)


def blocks_near(
    lattice: Bcc, distance: SignedDistance, offset: float, deadline: float | None, most: float = 0.0
) -> tuple[int, np.ndarray, np.ndarray]:
    """Cells per block's edge, the depth at each block's middle, and whether the isosurface may come within a cell.

    It may lie up to ``most`` [m] further outside.
    """
    block = 1
    while block < 32 and 4 * block < max(lattice.shape):
        block *= 2
    shape = [-(-n // block) for n in lattice.shape]
    values, active = np.zeros(shape, np.float32), np.ones(shape, bool)
    while block > 1:
        check_time(deadline)
        rows = np.flatnonzero(active)
        middles = (np.stack(np.unravel_index(rows, values.shape), axis=1) + 0.5) * (block * lattice.size)
        values.ravel()[rows] = (offset - distance.at(lattice.origin + middles, None, deadline)) / lattice.size
        active = np.abs(values) <= block * SHORT + 1.0 + most / lattice.size
        # Where the sign flips far from any triangle there is a hole, or a wrong sign: look closer.
        for axis in range(3):
            one, other = _cut(axis, 0, -1), _cut(axis, 1, None)
            flips = (values[one] > 0.0) != (values[other] > 0.0)
            active[one] |= flips
            active[other] |= flips
        if block == 2:
            break
        block //= 2
        values = values.repeat(2, 0).repeat(2, 1).repeat(2, 2)
        active = active.repeat(2, 0).repeat(2, 1).repeat(2, 2)
    return block, values, active


def clean_signs(lattice: Bcc, depth: np.ndarray) -> int:
    """Turn the signs that most neighbours contradict, in place, and return how many.

    Distance changes no faster than place: the ends of an edge can only lie on opposite sides if their distances add
    up to at most its length. A node for which more than half of its edges say otherwise has the wrong sign; a cap
    across a hole, where the rule fails too, is flat and leaves each node on the side of most of its neighbours.
    """
    turned = 0
    for _ in range(SWEEPS):
        against = np.zeros(len(depth), np.int8)
        for (one, other, long), (count_one, count_other, _) in zip(
            lattice.edges(depth), lattice.edges(against), strict=True
        ):
            impossible = ((one > 0.0) != (other > 0.0)) & (np.abs(one - other) > (1.001 if long else 1.001 * SHORT))
            if impossible.any():
                count_one += impossible
                count_other += impossible
        wrong = against > NEIGHBOURS // 2
        if not wrong.any():
            break
        turned += int(wrong.sum())
        depth[wrong] *= -1.0
    return turned
