"""Clusters at rest: what a fit reproduces, what degenerate clusters leave, and how clusters are made."""

import itertools

import numpy as np
import pytest
from bodies import rotation

from pliant import Material, shapes
from pliant.mesh.cluster import from_pairs, grid_clusters, kmeans_clusters
from pliant.mesh.near import near_pairs
from pliant.solvers.shape_matching.constants import body_stiffness
from pliant.solvers.shape_matching.energy import body_energy
from pliant.solvers.shape_matching.rest import functions, inverse_moments, rest_clusters
from pliant.solvers.shape_matching.settings import Matching

ORDERS = [3, 9]


def whole(count):
    """All points in one cluster."""
    return from_pairs(np.zeros(count, np.int64), np.arange(count))


def overlapping(rng, count, clusters):
    """Each cluster with about a third of the points, each point in at least one."""
    held = rng.random((clusters, count)) < 0.35
    held[np.arange(count) % clusters, np.arange(count)] = True
    return from_pairs(*np.nonzero(held))


def fitted(rest, x):
    """Where the fit of each cluster puts its members (k, 3), and where they are, both in metres."""
    order = rest.means.shape[1]
    owner = np.repeat(np.arange(rest.count), np.diff(rest.starts))
    places = x[rest.member]
    centre = np.add.reduceat(rest.weight[:, None] * places, rest.starts[:-1])
    p = (places - centre[owner]) / rest.radius[owner, None]
    f = functions(rest.rest, order) - rest.means[owner]
    apq = np.add.reduceat(rest.weight[:, None, None] * p[:, :, None] * f[:, None, :], rest.starts[:-1])
    fit = apq @ rest.inverse
    # along what a cluster lacks, the goal is that of the turned rest shape; here it is not turned
    fit += rest.missing
    goal = np.einsum("kij,kj->ki", fit[owner], f)
    return centre[owner] + rest.radius[owner, None] * goal, places


def affine(rng, x):
    return x @ rng.normal(size=(3, 3)).T + rng.normal(size=3)


def quadratic(rng, x):
    products = np.stack([x[:, i] * x[:, j] for i in range(3) for j in range(i, 3)], axis=1)
    return affine(rng, x) + products @ rng.normal(size=(6, 3)) / np.abs(x).max()


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("order", ORDERS)
def test_a_fit_reproduces_its_maps(order, size):
    rng = np.random.default_rng(0)
    for count, clusters in ((60, 1), (400, 6)):
        x = size * rng.normal(size=(count, 3)) * [1.0, 0.6, 0.4]
        mass = rng.uniform(0.1, 2.0, count)
        rest = rest_clusters(x, mass, overlapping(rng, count, clusters), order)
        for change in (affine,) if order == 3 else (affine, quadratic):
            moved = change(rng, x)
            goal, place = fitted(rest, moved)
            assert np.abs(goal - place).max() < 1e-9 * np.abs(moved).max()
        # and a linear fit does not follow a bend
        goal, place = fitted(rest, quadratic(rng, x))
        assert (np.abs(goal - place).max() > 0.05 * size) == (order == 3)


def degenerate():
    rng = np.random.default_rng(1)
    general = rng.normal(size=(30, 3))
    turn = rotation([1, 2, 3], 0.7).T
    return {
        "a flat sheet": general * [1, 1, 0] @ turn + [3, 4, 5],
        "a grid in a plane": np.array([[i, 0, j] for i in range(5) for j in range(5)], float),
        "a line": general * [1, 0, 0] @ turn + [3, 4, 5],
        "four points": general[:4],
        "three points": general[:3],
        "two points": general[:2],
        "one point": general[:1],
        "one place": np.tile(general[:1], (7, 1)),
        "two places": general[[0, 0, 0, 1, 1]],
        "the corners of a cube": np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], float),
        "a nearly flat sheet": general * [1, 1, 1e-3],
        "far from the origin": general + [1e6, -1e6, 1e6],
    }


@pytest.mark.parametrize("name", degenerate())
@pytest.mark.parametrize("order", ORDERS)
def test_degenerate_clusters(name, order):
    x = degenerate()[name]
    rng = np.random.default_rng(2)
    rest = rest_clusters(x, rng.uniform(0.5, 2.0, len(x)), whole(len(x)), order)
    for values in (rest.rest, rest.weight, rest.centre, rest.radius, rest.means, rest.inverse, rest.missing):
        assert np.isfinite(values).all()
    assert (rest.radius > 0).all()
    np.testing.assert_allclose(rest.inverse, rest.inverse.transpose(0, 2, 1), atol=1e-12 * np.abs(rest.inverse).max())
    # the rest shape, moved and turned, is fitted exactly and costs nothing
    size = max(np.ptp(x, axis=0).max(), 1e-3)
    grain = 1e-9 * size + 1e-15 * np.abs(x).max() * 100
    goal, place = fitted(rest, x)
    np.testing.assert_allclose(goal, place, atol=grain)
    plastic = np.concatenate([np.eye(3), np.zeros((3, order - 3))], axis=1)[None]
    moved = (x - x.mean(axis=0)) @ rotation([3, -1, 2], 2.2).T
    assert body_energy(moved, rest, plastic, 0.5) < 1e-15 * len(x) * size**2 + 1e-20 * np.abs(x).max() ** 2
    # the projector onto what is missing has that many directions, and the rest shape next to nothing along them
    lacking = rest.missing[0, :, :3]
    np.testing.assert_allclose(lacking @ lacking, lacking, atol=3e-3 if name == "a nearly flat sheet" else 1e-9)
    extent = np.linalg.matrix_rank(x - x.mean(axis=0), tol=2e-2 * size) if len(x) > 1 else 0
    if name != "one place":
        assert round(np.trace(lacking)) == rest.lacks[0] == 3 - extent
    assert np.abs(rest.rest @ lacking).max() < 4e-3


@pytest.mark.parametrize("order", ORDERS)
def test_the_inverse_of_moments(order):
    """Within what the points span it is the inverse; where nothing is missing it is the plain one."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(50, 200, order))
    moments = np.einsum("cki,ckj->cij", rows, rows) / 200
    inverse, missing, lacks = inverse_moments(moments)
    np.testing.assert_allclose(inverse, np.linalg.inv(moments), atol=1e-9)
    assert np.abs(missing).max() == 0 and (lacks == 0).all()
    zero, lacking, lacks = inverse_moments(np.zeros((2, order, order)))
    assert (zero == 0).all()
    np.testing.assert_allclose(lacking, np.tile(np.eye(3, order), (2, 1, 1)), atol=1e-12)
    assert (lacks == 3).all()


@pytest.mark.parametrize("order", ORDERS)
def test_masses_and_weights(order):
    rng = np.random.default_rng(4)
    x, mass = rng.normal(size=(300, 3)), rng.uniform(0.1, 3.0, 300)
    clusters = overlapping(rng, 300, 7)
    rest = rest_clusters(x, mass, clusters, order)
    owner = np.repeat(np.arange(7), np.diff(rest.starts))
    np.testing.assert_allclose(np.bincount(owner, rest.weight), 1, rtol=1e-12)
    np.testing.assert_allclose(rest.mass.sum(), mass.sum(), rtol=1e-12)
    # the parts of a particle's mass in its clusters are equal, and add up to its mass
    part = rest.weight * rest.mass[owner]
    np.testing.assert_allclose(np.bincount(rest.member, part, 300), mass, rtol=1e-12)
    held = np.bincount(rest.member, minlength=300)
    np.testing.assert_allclose(part, (mass / held)[rest.member], rtol=1e-12)
    # centres of mass, of weights over the radius one
    np.testing.assert_allclose(np.add.reduceat(rest.weight[:, None] * rest.rest, rest.starts[:-1]), 0, atol=1e-12)
    np.testing.assert_allclose(np.add.reduceat(rest.weight * (rest.rest**2).sum(axis=1), rest.starts[:-1]), 1)
    assert rest.moment == pytest.approx((rest.mass * rest.radius**2).sum() / 3)
    # the table the other way round names the same memberships
    particle = np.repeat(np.arange(300), np.diff(rest.of_starts))
    np.testing.assert_array_equal(rest.member[rest.of_member], particle)
    np.testing.assert_array_equal(owner[rest.of_member], rest.of_cluster)
    assert sorted(rest.of_member.tolist()) == list(range(len(rest.member)))


def test_many_members_are_summed_in_pieces(monkeypatch):
    """What bounds the memory changes nothing."""
    rng = np.random.default_rng(5)
    x, mass = rng.normal(size=(500, 3)), rng.uniform(0.1, 3.0, 500)
    clusters = overlapping(rng, 500, 40)
    once = rest_clusters(x, mass, clusters, 9)
    monkeypatch.setattr("pliant.solvers.shape_matching.rest.BATCH", 300)
    pieces = rest_clusters(x, mass, clusters, 9)
    np.testing.assert_allclose(pieces.means, once.means, atol=1e-14)
    np.testing.assert_allclose(pieces.inverse, once.inverse, rtol=1e-9)


# ---- energy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("along", [1, 2, 3])
def test_a_shear_costs_what_the_material_says(along, order):
    """w^2 times the energy of a small pure shear is mu V |E|^2, into however many clusters a cube is cut.

    Exactly so where the second moments of each cluster are alike along all axes, as those of cubes are.
    """
    material = Material(young=3e4, poisson=0.3)
    cell = np.array([[i, j, k] for i in range(6) for j in range(6) for k in range(6)])
    x = 0.1 * cell
    part = cell // (6 // along)
    owner = (part[:, 0] * along + part[:, 1]) * along + part[:, 2]
    mass = np.full(len(x), 2.0)
    rest = rest_clusters(x, mass, from_pairs(owner, np.arange(len(x))), order)
    assert rest.count == along**3
    plastic = np.tile(np.concatenate([np.eye(3), np.zeros((3, order - 3))], axis=1), (rest.count, 1, 1))
    volume = 0.216
    rng = np.random.default_rng(6)
    for beta in (0.0, 0.5, 0.9):
        matching = Matching(mode="linear" if order == 3 else "quadratic", beta=beta)
        squared = body_stiffness(matching, material, volume, rest.moment).frequency ** 2
        for _ in range(10):
            strain = rng.normal(size=(3, 3))
            strain = 1e-7 * (strain + strain.T)
            strain -= np.eye(3) * np.trace(strain) / 3
            energy = squared * body_energy(x + x @ strain, rest, plastic, beta)
            assert energy == pytest.approx(material.shear_modulus * volume * (strain**2).sum(), rel=1e-6)
    # a rigid body is as stiff as one whose goal follows nothing
    rigid = body_stiffness(Matching(mode="rigid", beta=0.9), material, volume, rest.moment).frequency
    assert rigid == pytest.approx(
        body_stiffness(Matching(mode="linear", beta=0.0), material, volume, rest.moment).frequency
    )


def test_a_bend_costs_nothing_of_the_fit_where_it_is_followed():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(200, 3)) * [2, 0.5, 0.5]
    bent = x + np.stack([0 * x[:, 0], 0.05 * x[:, 0] ** 2, 0 * x[:, 0]], axis=1)
    linear, quadratic = (rest_clusters(x, np.ones(200), whole(200), order) for order in ORDERS)
    maps = [np.concatenate([np.eye(3), np.zeros((3, n))], axis=1)[None] for n in (0, 6)]
    stiff, soft = body_energy(bent, linear, maps[0], 1.0), body_energy(bent, quadratic, maps[1], 1.0)
    assert soft < 1e-12 * stiff
    assert body_energy(bent, quadratic, maps[1], 0.0) == pytest.approx(body_energy(bent, linear, maps[0], 0.0))


# ---- grids ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grids", [1, 2, 3])
@pytest.mark.parametrize("count", [2, 10, 60, 400])
def test_grids_hold_every_vertex_once_each(count, grids):
    rng = np.random.default_rng(8)
    for x in (rng.uniform(size=(4000, 3)), rng.normal(size=(4000, 3)) * [3, 1, 0.2]):
        clusters = grid_clusters(x, count, grids=grids)
        assert (np.bincount(clusters.members, minlength=len(x)) == grids).all()
        clusters.check(len(x))
        assert (clusters.sizes() > 0).all()
        # grids that are shifted against each other have one more row of cells along each axis that is cut
        wanted = max(count, grids)
        assert 0.3 * wanted <= clusters.count <= max(8 * grids, 3.0 * wanted)
    # where there are enough points, neighbours overlap and all hold together
    if grids > 1:
        assert grid_clusters(shapes.box((2, 1, 1), (20, 10, 10)).vertices, count, grids=grids).parts() == 1


@pytest.mark.parametrize("cells", [(4, 2, 2), (8, 2, 2), (5, 3, 3), (30, 1, 1), (12, 12, 1)])
@pytest.mark.parametrize("count", [2, 4, 6, 8, 16, 40, 200])
def test_staggered_grids_hold_a_coarse_body_together(cells, count):
    """However many clusters are asked for, each shares vertices with others, or the body would fall apart."""
    x = shapes.box(np.multiply(cells, 0.1), cells).vertices
    for grids in (2, 3):
        clusters = grid_clusters(x, count, grids=grids)
        assert clusters.parts() == 1
        assert clusters.count <= 3 * max(count, 3 * grids)
        assert bool(clusters.notes) <= (clusters.count < 2 * count)


def test_bodies_that_are_apart_stay_apart():
    """Two heaps with nothing between them are not pressed into fewer clusters."""
    heap = shapes.box(1.0, 8).vertices
    x = np.concatenate([heap, heap + [50.0, 0, 0]])
    clusters = grid_clusters(x, 40, grids=2)
    assert clusters.count >= 8 and clusters.parts() == 2


def test_cells_of_one_grid_are_about_as_many_as_asked_for():
    x = shapes.box(1.0, 20).vertices
    for count in (8, 27, 64, 200, 1000):
        assert 0.5 * count <= grid_clusters(x, count, grids=1).count <= 1.3 * count


def test_thin_bodies_are_not_cut_across():
    """A plate and a rod are cut along their sides only: every cluster reaches through the thickness."""
    plate = shapes.box((2.0, 0.05, 1.5), (40, 2, 30)).vertices
    clusters = grid_clusters(plate, 100, grids=2)
    for k in range(clusters.count):
        assert np.ptp(plate[clusters.of(k), 1]) == pytest.approx(0.05)
    rod = shapes.box((4.0, 0.1, 0.1), (80, 2, 2)).vertices
    clusters = grid_clusters(rod, 30, grids=2)
    assert clusters.count > 15
    for k in range(clusters.count):
        np.testing.assert_allclose(np.ptp(rod[clusters.of(k), 1:], axis=0), 0.1)


def test_grids_of_next_to_nothing():
    for x in (np.zeros((1, 3)), np.ones((9, 3)), np.array([[0.0, 0, 0], [1.0, 0, 0]])):
        for grids in (1, 2, 3):
            clusters = grid_clusters(x, 5, grids=grids)
            clusters.check(len(x))
            assert (np.bincount(clusters.members, minlength=len(x)) == grids).all()
    one = grid_clusters(np.random.default_rng(9).normal(size=(50, 3)), 1, grids=1)
    assert one.count == 1 and len(one.members) == 50
    flat = grid_clusters(np.random.default_rng(9).normal(size=(500, 3)) * [1, 0, 1], 20, grids=2)
    assert flat.count > 8
    same = grid_clusters(np.ones((9, 3)), 5, grids=1)
    assert same.count == 1


# ---- k-means ----------------------------------------------------------------------------------------------------


def test_rings_grow_clusters_by_their_neighbours():
    mesh = shapes.box((1.0, 0.5, 0.5), (8, 4, 4))
    x, edges = mesh.vertices, mesh.edges()
    near = [set() for _ in x]
    for a, b in edges.tolist():
        near[a].add(b)
        near[b].add(a)
    made = [kmeans_clusters(x, edges, 5, rings=rings) for rings in range(4)]
    # without growing each vertex is in one cluster
    assert (np.bincount(made[0].members) == 1).all() and made[0].parts() == 5
    for before, after in itertools.pairwise(made):
        assert before.count == after.count == 5
        for k in range(5):
            inner = set(before.of(k).tolist())
            assert set(after.of(k).tolist()) == inner.union(*(near[i] for i in inner))
    assert made[1].parts() == 1


# ---- near pairs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.01, 0.1, 0.35, 3.0, 100.0])
def test_near_pairs_are_all_of_them(radius):
    rng = np.random.default_rng(10)
    for x in (rng.uniform(size=(300, 3)), rng.normal(size=(200, 3)) * [5, 0.1, 0] + [100, -50, 7], np.zeros((5, 3))):
        apart = np.linalg.norm(x[:, None] - x, axis=2)
        expected = np.argwhere(np.triu(apart < radius, 1))
        pairs = near_pairs(x, radius)
        assert pairs.dtype == np.int32
        np.testing.assert_array_equal(pairs, expected)


def test_near_pairs_of_next_to_nothing():
    assert near_pairs(np.zeros((1, 3)), 1.0).shape == (0, 2)
    assert near_pairs(np.zeros((0, 3)), 1.0).shape == (0, 2)
    # a radius far below the extent: cells are too many to count, and not counted
    assert near_pairs(np.array([[0.0, 0, 0], [1e6, 1e6, 1e6]]), 1e-3).shape == (0, 2)
