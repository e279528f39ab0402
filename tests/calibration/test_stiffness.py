"""Stiffness at rest against finite differences of the methods' own energies, and finite elements against formulas."""

import numpy as np
import pytest

import pliant
from pliant.calibration.cluster_stiffness import ClusterStiffness
from pliant.calibration.conjugate import block_inverse, solve
from pliant.calibration.element_stiffness import spring_stiffness, tet_stiffness, volume_stiffness
from pliant.calibration.families import solved
from pliant.calibration.loads import FREE, principal_axes, rigid_modes, trials
from pliant.calibration.slabs import Slabs, levels, thinnest_levels
from pliant.mesh.cluster import kmeans_clusters
from pliant.model.springs import Springs
from pliant.model.tets import Tets, signed_volumes
from pliant.solvers.shape_matching.constants import Goals
from pliant.solvers.shape_matching.energy import goals_energy
from pliant.solvers.shape_matching.rest import rest_clusters


def bar(cells=(4, 2, 2)):
    mesh = pliant.shapes.box((0.4, 0.2, 0.2), cells)
    rng = np.random.default_rng(3)
    return mesh.vertices + rng.uniform(-0.01, 0.01, mesh.vertices.shape), mesh.tets, rng


def test_rigid_motion_costs_nothing():
    x, tets, _ = bar()
    matrix = tet_stiffness(x, tets, 1e5, 0.4)
    for mode in rigid_modes(x):
        assert np.abs(matrix @ mode).max() < 1e-8 * np.abs(matrix.diagonal()).max()


def test_uniform_stretch_has_the_energy_of_the_material():
    x, tets, _ = bar()
    young, poisson, e = 1e5, 0.3, 1e-3
    matrix = tet_stiffness(x, tets, young, poisson)
    u = x * np.array([e, -poisson * e, -poisson * e])
    volume = signed_volumes(x, tets).sum()
    assert (u * (matrix @ u)).sum() == pytest.approx(young * e**2 * volume, rel=1e-9)
    assert np.allclose(matrix.dense() @ u.reshape(-1), (matrix @ u).reshape(-1))


def test_springs_and_volumes_against_their_energies():
    x, tets, rng = bar((2, 1, 1))
    mesh = pliant.TetMesh(x, tets)
    springs, solid = Springs.build(x, mesh.edges(), 50.0), Tets.build(x, tets)

    def energy(y):
        d = np.linalg.norm(y[springs.pairs[:, 1]] - y[springs.pairs[:, 0]], axis=1)
        change = signed_volumes(y, tets) - solid.rest_volume
        return 0.5 * 50.0 * ((d - springs.rest_length) ** 2).sum() + 0.5 * 700.0 * (change**2 / solid.rest_volume).sum()

    u = rng.normal(size=x.shape)
    product = spring_stiffness(x, springs) @ u + volume_stiffness(x, solid, 700.0) @ u
    h = 1e-5
    assert 2.0 * energy(x + h * u) / h**2 == pytest.approx((u * product).sum(), rel=1e-3)


def test_sums_of_matrices_whose_blocks_stand_elsewhere():
    x, tets, rng = bar((2, 1, 1))
    springs = Springs.build(x, np.array([[0, len(x) - 1], [1, 2]]), 50.0)
    one, other = tet_stiffness(x, tets, 1e3, 0.3), spring_stiffness(x, springs)
    u = rng.normal(size=x.shape)
    for first, second in ((one, other), (other, one), (one, one)):
        assert np.allclose(first.plus(second, 2.0, 3.0) @ u, 2.0 * (first @ u) + 3.0 * (second @ u))


def clusters_of(order):
    x, tets, rng = bar((6, 2, 2))
    mass = rng.uniform(0.5, 1.5, len(x))
    found = kmeans_clusters(x, pliant.TetMesh(x, tets).edges(), 3)
    return x, mass, rest_clusters(x, mass, found, order), rng


@pytest.mark.parametrize("order", [3, 9])
def test_clusters_against_their_energy(order):
    x, _, rest, rng = clusters_of(order)
    stiffness = ClusterStiffness.of(rest, len(x))
    rows = rng.uniform(0.2, 0.8, (rest.count, 4))
    goals = [Goals(*row) for row in rows]
    weights = np.stack([rows[:, 0], *(rows[:, 0] * w for w in (1.0 - rows[:, 1], rows[:, 3], 1.0 - rows[:, 2]))])
    plastic = np.broadcast_to(np.eye(3, order), (rest.count, 3, order)).copy()
    energy = lambda u: goals_energy(x + u, rest, plastic, goals)
    u, other = rng.normal(size=(2, *x.shape))
    twice = lambda a, b: float((stiffness.energies(a[None], b[None])[:, :, 0] * weights).sum())
    h = 1e-5
    assert 2.0 * (energy(h * u) - energy(0.0 * u)) / h**2 == pytest.approx(twice(u, u), rel=1e-3)
    assert twice(u, other) == pytest.approx(twice(other, u), rel=1e-9), "symmetric"
    assert stiffness.energies(u[None], other[None])[..., 0].sum(axis=1) == pytest.approx(
        (stiffness.products(u) * other).sum(axis=(1, 2))
    )
    assert twice(u, u) <= (stiffness.reach(weights) @ stiffness.share @ (u**2).sum(axis=1)) * (1.0 + 1e-9)


@pytest.mark.parametrize("order", [3, 9])
def test_clusters_are_solved_for_exactly(order):
    x, mass, rest, rng = clusters_of(order)
    stiffness = ClusterStiffness.of(rest, len(x))
    weights = rng.uniform(0.5, 2.0, (4, rest.count))
    loose = np.where(x[:, 0] > 0.02, 1.0, 0.0)
    loads = rng.normal(size=(2, *x.shape)) * mass[:, None]
    fields = stiffness.solve(weights, loads, loose)
    assert np.abs(fields[:, loose == 0.0]).max() == 0.0
    for load, field in zip(loads, fields, strict=True):
        for k in range(3):
            probe = rng.normal(size=x.shape) * loose[:, None]
            work = float((stiffness.energies(field[None], probe[None])[:, :, 0] * weights).sum())
            assert work == pytest.approx(float((load * probe).sum()), rel=1e-4, abs=1e-5), k


def test_loads_neither_push_nor_turn_what_is_free():
    x, _, rng = bar()
    mass = rng.uniform(0.5, 1.5, len(x))
    tests = trials(x, mass)
    assert tests[0].free and tests[0].names == FREE and len(tests) >= 8
    for load in tests[0].loads:
        assert np.abs(load).max() > 0.0
        sums = [(load * mode).sum() for mode in rigid_modes(x)]
        assert np.abs(sums).max() < 1e-12
    assert [len(trials(x, mass, sides)) for sides in ("ends", "thin")] == [3, 4]
    assert not any(trial.free or len(trial.swings) for trial in trials(x, mass, swings=False))
    for trial in tests[1:]:
        assert 0.3 < trial.loose.mean() < 1.0 and trial.loads.shape == (6, len(x), 3)
        assert np.abs(trial.loads[:, trial.loose == 0.0]).max() == 0.0
    assert np.allclose(np.abs(principal_axes(x, mass)[0]), [1.0, 0.0, 0.0], atol=0.1)


def test_what_holds_by_an_edge_is_no_test():
    wedge = pliant.TetMesh(np.array([[0.0, 0, 0], [0, 1, 0], [3, 0, 1], [3, 1, -1]]), [[0, 1, 3, 2]])
    x = wedge.vertices
    assert all(trial.free for trial in trials(x, np.ones(4), "ends"))


def test_slabs_are_solved_as_conjugate_gradients_do():
    x, tets, _ = bar((8, 3, 2))
    mass = np.ones(len(x))
    matrix = tet_stiffness(x, tets, 1.0, 0.4)
    level, parts = thinnest_levels(matrix, x)
    row = matrix.row_of_blocks()
    assert parts == 1 and np.abs(level[row] - level[matrix.column]).max() == 1
    stiffest = float(np.trace(matrix.diagonal(), axis1=1, axis2=2).max())
    for trial in trials(x, mass, "ends")[1:]:
        found = solved(Slabs.of(matrix, level), stiffest, mass, trial)
        free = np.broadcast_to(trial.loose[None, :, None], (len(trial.loads), len(x), 1))
        other = solve(matrix.__matmul__, trial.loads, block_inverse(matrix.diagonal()), 1e-9, free=free)
        assert np.abs(found - other).max() < 1e-3 * np.abs(other).max()


def test_parts_that_do_not_hang_together_are_counted():
    x, tets, _ = bar((2, 1, 1))
    matrix = tet_stiffness(np.concatenate([x, x + 5.0]), np.concatenate([tets, tets + len(x)]), 1.0, 0.3)
    level, parts = levels(matrix, np.array([0]))
    assert parts == 2 and level.min() == 0
