"""Clusters: they cover, overlap, are the same every time, and survive degenerate input."""

import itertools

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.cluster import Clusters, box_clusters, from_pairs, kmeans_clusters, lattice_regions
from pliant.mesh.lattice import VoxelLattice

NO_EDGES = np.zeros((0, 2), int)


def assert_tables(clusters, count):
    """Sorted members without repeats, every vertex held, and the transposed table says the same."""
    assert clusters.members.dtype == np.int32
    clusters.check(count)
    for c in range(clusters.count):
        assert len(clusters.of(c)) and (np.diff(clusters.of(c)) > 0).all()
    starts, of = clusters.clusters_of(count)
    pairs = {(c, int(v)) for c in range(clusters.count) for v in clusters.of(c)}
    assert pairs == {(int(c), v) for v in range(count) for c in of[starts[v] : starts[v + 1]]}


def same(a, b):
    return np.array_equal(a.starts, b.starts) and np.array_equal(a.members, b.members)


def test_kmeans_covers_and_overlaps():
    mesh = shapes.box((3.0, 1.0, 1.0), (12, 4, 4))
    edges = mesh.edges()
    clusters = kmeans_clusters(mesh.vertices, edges, 9, seed=4)
    assert clusters.count == 9 and clusters.notes == ()
    assert_tables(clusters, len(mesh.vertices))
    assert clusters.check(len(mesh.vertices)) == []
    # both ends of every edge are together in a cluster: nothing can tear
    starts, of = clusters.clusters_of(len(mesh.vertices))
    sets = [set(of[a:b].tolist()) for a, b in itertools.pairwise(starts)]
    assert all(sets[a] & sets[b] for a, b in edges.tolist())
    assert same(clusters, kmeans_clusters(mesh.vertices, edges, 9, seed=4))
    assert not same(clusters, kmeans_clusters(mesh.vertices, edges, 9, seed=5))


def test_kmeans_finds_separate_heaps():
    """Four heaps of points far apart are four clusters, whatever the seed."""
    rng = np.random.default_rng(0)
    heap = np.repeat(np.arange(4), 25)
    points = rng.normal(size=(100, 3)) * 0.1 + np.array([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9.0]])[heap]
    for seed in range(5):
        clusters = kmeans_clusters(points, NO_EDGES, 4, seed=seed)
        assert sorted(c.tolist() for c in (clusters.of(i) for i in range(4))) == [
            list(range(25 * k, 25 * k + 25)) for k in range(4)
        ]
    assert "4 groups" in clusters.check(100)[0]


def test_kmeans_is_a_local_optimum():
    """Without growth every vertex is nearest to the mean of its own cluster."""
    rng = np.random.default_rng(2)
    points = rng.random((400, 3))
    clusters = kmeans_clusters(points, NO_EDGES, 7, iterations=500)
    means = np.array([points[clusters.of(c)].mean(axis=0) for c in range(7)])
    nearest = ((points[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    for c in range(7):
        assert (nearest[clusters.of(c)] == c).all()


def test_degenerate_points():
    line = np.stack([np.arange(5.0), np.zeros(5), np.zeros(5)], axis=1)
    for make in (lambda p, k: kmeans_clusters(p, NO_EDGES, k), box_clusters):
        more = make(line, 20)
        assert more.count == 5 and "20" in more.notes[0]
        assert_tables(more, 5)
        together = make(np.ones((6, 3)), 3)
        assert together.count == 1 and together.of(0).tolist() == list(range(6))
        one = make(np.zeros((1, 3)), 1)
        assert one.count == 1 and one.of(0).tolist() == [0] and one.notes == ()
        with pytest.raises(InputError, match="no vertices"):
            make(np.zeros((0, 3)), 1)
        with pytest.raises(InputError, match="count"):
            make(line, 0)
        with pytest.raises(InputError, match="vertex 1"):
            make(np.array([[0.0, 0, 0], [np.nan, 0, 0]]), 1)


def test_boxes_along_the_longest_side():
    mesh = shapes.box((1.0, 4.0, 1.0), (2, 16, 2))
    clusters = box_clusters(mesh.vertices, 4, overlap=0.25)
    assert_tables(clusters, len(mesh.vertices))
    assert clusters.count == 4 and clusters.check(len(mesh.vertices)) == []
    for k in range(4):
        y = mesh.vertices[:, 1]
        low, high = -2 + k - 0.25, -1 + k + 0.25
        assert set(clusters.of(k).tolist()) == set(np.flatnonzero((y >= low - 1e-9) & (y <= high + 1e-9)).tolist())
    other = box_clusters(mesh.vertices, 2, axis=0, overlap=0.0)
    assert {len(np.unique(mesh.vertices[other.of(k), 0])) for k in range(2)} <= {2, 3}


def test_boxes_over_a_gap_hold_together():
    """Boxes without vertices are left out, and those on either side overlap still."""
    x = np.concatenate([np.linspace(0, 1, 11), np.linspace(9, 10, 11)])
    points = np.stack([x, np.zeros(22), np.zeros(22)], axis=1)
    clusters = box_clusters(points, 10, overlap=0.2)
    assert clusters.count < 10 and "boxes hold a vertex" in clusters.notes[0]
    assert clusters.check(22) == []
    for bad in ({"axis": 3}, {"overlap": -0.1}, {"overlap": np.nan}, {"overlap": "half"}):
        with pytest.raises(InputError, match=next(iter(bad))):
            box_clusters(points, 3, **bad)


def test_small_clusters_are_joined():
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.random((60, 3)), [[8.0, 0, 0]], [[8.5, 0, 0]]])
    plain = kmeans_clusters(points, NO_EDGES, 6)
    assert plain.sizes().min() < 5
    merged = kmeans_clusters(points, NO_EDGES, 6, min_size=5)
    assert merged.sizes().min() >= 5 and "joined" in merged.notes[0]
    assert_tables(merged, 62)
    assert kmeans_clusters(points, NO_EDGES, 6, min_size=1000).count == 1


def brute_regions(lattice, width):
    sets = [set() for _ in lattice.vertices]
    for cube in lattice.cubes.tolist():
        for v in cube:
            sets[v].update(cube)
    regions = [{v} for v in range(len(sets))]
    for _ in range(width):
        regions = [set().union(*(sets[u] for u in region)) for region in regions]
    return [sorted(r) for r in regions]


@pytest.mark.parametrize("width", [1, 2, 3])
def test_regions_of_a_lattice(width):
    """As far as the steps through filled cubes lead, not through gaps."""
    cells = np.argwhere(np.random.default_rng(width).random((6, 5, 4)) < 0.4)
    lattice = VoxelLattice.from_cells(cells, 0.1)
    clusters = lattice_regions(lattice, width)
    assert clusters.count == len(lattice.vertices)
    assert [clusters.of(c).tolist() for c in range(clusters.count)] == brute_regions(lattice, width)
    full = VoxelLattice.from_cells(np.argwhere(np.ones((7, 7, 7))), 0.1)
    assert lattice_regions(full, width).sizes().max() == (2 * width + 1) ** 3


def test_regions_do_not_jump_a_slit():
    """The two arms of a U are neighbours in space but many steps apart."""
    u = VoxelLattice.from_cells([[0, k, 0] for k in range(6)] + [[2, k, 0] for k in range(6)] + [[1, 0, 0]], 1.0)
    grid = u.grid()
    top = int(np.flatnonzero((grid == [1, 6, 0]).all(axis=1))[0])
    assert grid[lattice_regions(u, 2).of(top)][:, 0].max() == 1


def test_many_rows_at_once(monkeypatch):
    """Regions searched in several runs are the same."""
    lattice = VoxelLattice.from_cells(np.argwhere(np.ones((4, 4, 4))), 0.1)
    whole = lattice_regions(lattice, 2)
    monkeypatch.setattr("pliant.mesh.cluster.REGION_SLOTS", 125 * 7)
    assert same(whole, lattice_regions(lattice, 2))


def test_what_is_refused():
    with pytest.raises(InputError, match="1 of 4 vertices are in no cluster, the first is vertex 3"):
        from_pairs(np.array([0, 0, 1]), np.array([0, 1, 2])).check(4)
    with pytest.raises(InputError, match="no members"):
        Clusters(np.array([0, 0, 2]), np.array([0, 1], np.int32)).check(2)
    with pytest.raises(InputError, match="vertex 5 of 2"):
        from_pairs(np.array([0, 0]), np.array([0, 5])).check(2)
    lattice = VoxelLattice.from_cells([[0, 0, 0]], 1.0)
    for width in (0, 99, 1.5):
        with pytest.raises(InputError, match="width"):
            lattice_regions(lattice, width)
