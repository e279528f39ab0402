"""Stiffness at rest against finite differences of the methods' own energies, and finite elements against formulas."""

import numpy as np
import pytest

import pliant
from pliant.calibration.cluster_stiffness import ClusterStiffness
from pliant.calibration.conjugate import block_inverse, solve
from pliant.calibration.element_stiffness import spring_stiffness, tet_stiffness, volume_stiffness
from pliant.calibration.loads import FREE, rigid_modes, test_loads
from pliant.mesh.cluster import kmeans_clusters
from pliant.model.springs import Springs
from pliant.model.tets import Tets, signed_volumes
from pliant.solvers.shape_matching.energy import body_energy
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


@pytest.mark.parametrize("order", [3, 9])
@pytest.mark.parametrize("keep_volume", [True, False])
def test_clusters_against_their_energy(order, keep_volume):
    x, tets, rng = bar((6, 2, 2))
    mass = rng.uniform(0.5, 1.5, len(x))
    clusters = kmeans_clusters(x, pliant.TetMesh(x, tets).edges(), 3)
    rest = rest_clusters(x, mass, clusters, order)
    stiffness = ClusterStiffness.of(rest, len(x), keep_volume)
    beta = 0.6
    plastic = np.broadcast_to(np.eye(3, order), (rest.count, 3, order)).copy()
    energy = lambda u: body_energy(x + u, rest, plastic, beta, keep_volume)
    u = rng.normal(size=x.shape)
    product = np.tensordot([1.0, 1.0 - beta, beta], stiffness.products(u), axes=1)
    h = 1e-5
    assert 2.0 * (energy(h * u) - energy(0.0 * u)) / h**2 == pytest.approx((u * product).sum(), rel=1e-3)
    other = rng.normal(size=x.shape)
    swapped = np.tensordot([1.0, 1.0 - beta, beta], stiffness.products(other), axes=1)
    assert (other * product).sum() == pytest.approx((u * swapped).sum(), rel=1e-9), "symmetric"


def test_loads_neither_push_nor_turn():
    x, tets, rng = bar()
    mass = rng.uniform(0.5, 1.5, len(x))
    loads, free = test_loads(x, mass)
    assert (free[: len(FREE)] == 1.0).all() and 0.0 < free[-1].mean() < 1.0
    for load in loads[: len(FREE)]:
        assert np.abs(load).max() > 0.0
        sums = [(load * mode).sum() for mode in rigid_modes(x)]
        assert np.abs(sums).max() < 1e-12
    matrix = tet_stiffness(x, tets, 1e5, 0.4)
    u = solve(matrix.__matmul__, loads[1], block_inverse(matrix.diagonal()), 1e-8)
    assert np.abs(matrix @ u - loads[1]).max() < 1e-5 * np.abs(loads[1]).max()
