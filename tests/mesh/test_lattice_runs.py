"""Runs of a lattice, and the regions they make: a product of sums along the axes, wherever the boundary runs."""

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import lattice_runs as module
from pliant.mesh.cluster import lattice_regions
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.lattice_runs import axis_regions, lattice_runs


def block(*counts):
    return np.stack(np.meshgrid(*(range(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3)


def lattice_of(cells, seed=0):
    """A lattice with its vertices in random order."""
    made = VoxelLattice.from_cells(np.asarray(cells), 0.1)
    order = np.random.default_rng(seed).permutation(len(made.vertices))
    return VoxelLattice(made.vertices[order], np.argsort(order)[made.cubes], made.cells)


def comb():
    """A U whose arms are one cell apart, with a cube that hangs on by an edge only."""
    cells = [c for c in block(5, 4, 2).tolist() if not (c[0] == 2 and c[1] > 0)]
    return lattice_of([*cells, [5, 4, 0]])


LATTICES = {
    "block": lambda: lattice_of(block(3, 2, 4)),
    "comb": comb,
    "plate": lambda: lattice_of(block(4, 1, 5)),
    "scattered": lambda: lattice_of(block(4, 4, 4)[np.random.default_rng(3).random(64) < 0.4]),
}


def along(lattice, axis):
    """Which vertices an edge joins along an axis, (n, n) booleans, symmetric."""
    edges, grid = lattice.edges(), lattice.grid()
    edges = edges[grid[edges[:, 0], axis] != grid[edges[:, 1], axis]]
    joined = np.zeros((len(grid), len(grid)), bool)
    joined[edges[:, 0], edges[:, 1]] = joined[edges[:, 1], edges[:, 0]] = True
    return joined


@pytest.mark.parametrize("name", LATTICES)
def test_runs_follow_edges_and_end_where_edges_end(name):
    lattice = LATTICES[name]()
    for axis, runs in enumerate(lattice_runs(lattice)):
        joined = along(lattice, axis)
        assert sorted(runs.items.tolist()) == list(range(len(lattice.vertices)))
        chained = 0
        for k in range(runs.count):
            run = runs.items[runs.starts[k] : runs.starts[k + 1]]
            assert len(run) and joined[run[:-1], run[1:]].all()
            assert (np.diff(lattice.grid()[run], axis=0) == np.eye(3, dtype=int)[axis]).all()
            chained += len(run) - 1
        assert 2 * chained == joined.sum()


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("name", LATTICES)
def test_regions_are_a_product_of_sums_along_the_axes(name, width):
    """Steps by brute force along each axis; their product is 0 or 1 everywhere, and 1 in the regions."""
    lattice = LATTICES[name]()
    count = len(lattice.vertices)
    sums = []
    for axis in range(3):
        near, joined = np.eye(count, dtype=int), along(lattice, axis)
        for _ in range(width):
            near = ((near @ joined + near) > 0).astype(int)
        assert (near == near.T).all()
        sums.append(near)
    product = sums[0] @ sums[1] @ sums[2]
    assert product.max() == 1
    regions = axis_regions(lattice, width)
    assert regions.count == count
    assert regions.check(count) == [] or lattice.components()[0] > 1
    for r in range(count):
        assert regions.of(r).tolist() == np.flatnonzero(product[r]).tolist()
    # a region holds every cube around its vertex: the body holds together
    for cube in lattice.cubes:
        assert product[np.ix_(cube, cube)].all()


def test_regions_of_a_block_are_blocks():
    lattice = lattice_of(block(6, 4, 5))
    for width in (1, 2):
        mine, others = axis_regions(lattice, width), lattice_regions(lattice, width)
        assert np.array_equal(mine.starts, others.starts) and np.array_equal(mine.members, others.members)


def test_regions_do_not_cross_a_gap():
    """Arms one cell apart share no region before their common base is in reach."""
    lattice = comb()
    grid = lattice.grid()
    regions = axis_regions(lattice, 2)
    tip = int(np.flatnonzero((grid == [2, 4, 0]).all(axis=1))[0])
    assert (grid[regions.of(tip), 0] <= 2).all()
    base = int(np.flatnonzero((grid == [2, 1, 0]).all(axis=1))[0])
    assert (grid[regions.of(base), 0] >= 3).any()


def test_few_at_a_time_are_the_same(monkeypatch):
    lattice = comb()
    whole = axis_regions(lattice, 2)
    monkeypatch.setattr(module, "REGION_MEMBERS", 1000)
    parts = axis_regions(lattice, 2)
    assert np.array_equal(whole.starts, parts.starts) and np.array_equal(whole.members, parts.members)


def test_bad_input():
    lattice = lattice_of(block(2, 2, 2))
    for width in (0, -1, 41, 1.5, "two"):
        with pytest.raises(InputError, match="width"):
            axis_regions(lattice, width)
    one = VoxelLattice.from_cells([[0, 0, 0]], 0.1)
    other = VoxelLattice.from_cells([[1, 0, 0]], 0.1)
    cut = VoxelLattice(
        np.concatenate([one.vertices, other.vertices]),
        np.concatenate([one.cubes, other.cubes + 8]),
        np.concatenate([one.cells, other.cells]),
    )
    with pytest.raises(InputError, match="same place"):
        lattice_runs(cut)
