"""Runs of a lattice: vertices one after the other along the edges of filled cubes; and regions made of them."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.cluster import WIDEST_REGION, Clusters, check_members
from pliant.mesh.lattice import VoxelLattice

REGION_MEMBERS = 1 << 24
"""Members of regions that are found at once, to bound the scratch memory."""


@dataclasses.dataclass(frozen=True, eq=False)
class LatticeRuns:
    """The runs of a lattice along one axis; every vertex is in one of them.

    Attributes:
        starts: (r + 1,) int64; the vertices of run k are ``items[starts[k]:starts[k + 1]]``.
        items: (n,) int32, upwards along the axis.
    """

    starts: np.ndarray
    items: np.ndarray

    @property
    def count(self) -> int:
        """Number of runs."""
        return len(self.starts) - 1

    def window(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """For each vertex the places in ``items`` of those within ``width`` steps of it: first and end (n,) int64."""
        run = np.repeat(np.arange(self.count), np.diff(self.starts))
        place = np.arange(len(self.items))
        first, end = np.empty_like(place), np.empty_like(place)
        first[self.items] = np.maximum(place - width, self.starts[run])
        end[self.items] = np.minimum(place + width + 1, self.starts[run + 1])
        return first, end


def lattice_runs(lattice: VoxelLattice) -> tuple[LatticeRuns, LatticeRuns, LatticeRuns]:
    """The runs along x, y and z: neighbours on the grid are in one run where an edge of a filled cube joins them."""
    where = lattice.name or "voxel lattice"
    lattice.check(where)
    grid = lattice.grid()
    x, y, z = (_axis_runs(lattice, grid, axis, where) for axis in range(3))
    return x, y, z


def _axis_runs(lattice: VoxelLattice, grid: np.ndarray, axis: int, where: str) -> LatticeRuns:
    order = np.lexsort((grid[:, axis], grid[:, (axis + 1) % 3], grid[:, (axis + 2) % 3]))
    if (grid[order[1:]] == grid[order[:-1]]).all(axis=1).any():
        raise InputError("two vertices stand at the same place of the grid", where, "Merge them first")
    after = np.full(len(grid), -1, np.int64)
    for low in range(8):
        if not low >> axis & 1:
            after[lattice.cubes[:, low]] = lattice.cubes[:, low | 1 << axis]
    apart = np.flatnonzero(after[order[:-1]] != order[1:]) + 1
    return LatticeRuns(np.concatenate([[0], apart, [len(order)]]).astype(np.int64), order.astype(np.int32))


def as_region_width(width: int, where: str) -> int:
    """A width that regions can have, in steps from their middle."""
    width = arrays.whole(width, where)
    if width > WIDEST_REGION:
        raise InputError(f"{width} is too wide", where, f"Give at most {WIDEST_REGION}")
    return width


def axis_regions(lattice: VoxelLattice, width: int = 1) -> Clusters:
    """One cluster for each lattice vertex: what ``width`` steps along x, then y, then z lead to, all along the runs.

    Deep inside a region is a block of (2 width + 1)^3 vertices, as in Rivers and James 2007. Regions of this kind are a
    product of sums along the axes wherever the boundary runs; which vertex lies in which region is not symmetric there.
    The table holds every member of every region: for sums over wide regions use the runs.
    """
    width = as_region_width(width, "axis_regions(width)")
    windows = [(runs, *runs.window(width)) for runs in lattice_runs(lattice)]
    total = len(lattice.vertices)
    sides = np.ptp(lattice.grid(), axis=0) + 1
    check_members(total * int(np.prod(np.minimum(sides, 2 * width + 1).astype(np.int64))), "axis_regions(width)")
    rows = max(1, REGION_MEMBERS // (2 * width + 1) ** 3)
    sizes, members = [], []
    for base in range(0, total, rows):
        vertex = np.arange(base, min(base + rows, total))
        region = vertex - base
        for runs, first, end in windows:
            length = (end - first)[vertex]
            within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
            region = np.repeat(region, length)
            vertex = runs.items[np.repeat(first[vertex], length) + within].astype(np.int64)
        keys = np.sort(region << 32 | vertex)
        sizes.append(np.bincount(keys >> 32))
        members.append((keys & 0xFFFFFFFF).astype(np.int32))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return Clusters(starts.astype(np.int64), np.concatenate(members))
