"""Skins on clusters: affine motions, weights, flat and straight clusters, large ones, maps from outside."""

import itertools

import numpy as np
import pytest
import warp as wp

from pliant.errors import InputError
from pliant.launch import record
from pliant.mesh import shapes
from pliant.skin import cluster_kernels
from pliant.skin.cluster_weights import cluster_weights
from pliant.skin.clusters import ClusterSkin

EPSILON = float(np.finfo(np.float32).eps)


def upload(x, device):
    return wp.array(np.ascontiguousarray(x, np.float32), dtype=wp.vec3, device=device)


def near_clusters(particles, count, seed=0):
    """Each particle in the clusters of its two nearest seeds: (starts, members)."""
    seeds = particles[np.random.default_rng(seed).choice(len(particles), count, replace=False)]
    near = np.linalg.norm(particles[:, None] - seeds, axis=2).argsort(axis=1)[:, : min(2, count)]
    groups = [np.flatnonzero((near == c).any(axis=1)) for c in range(count)]
    return np.concatenate([[0], np.cumsum([len(group) for group in groups])]), np.concatenate(groups)


def one_cluster(count):
    return np.array([0, count]), np.arange(count)


def bend(x):
    angle = 1.2 * x[:, 1]
    return np.stack(
        [
            np.cos(angle) * x[:, 0] - np.sin(angle) * x[:, 2],
            x[:, 1] + 0.3 * x[:, 0] ** 2,
            np.sin(angle) * x[:, 0] + np.cos(angle) * x[:, 2],
        ],
        axis=1,
    )


def turned(x, axis=(1, 2, 3), angle=2.5):
    """A rotation matrix applied to rows."""
    k = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.asarray(x) @ (np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross).T


def brute_maps(rest, x, starts, members, masses):
    """Centres and A_pq A_qq^-1 of full clusters in float64."""
    centres, matrices, rest_centres = [], [], []
    for begin, end in itertools.pairwise(starts):
        at = members[begin:end]
        m = masses[at] / masses[at].sum()
        q_c, x_c = m @ rest[at], m @ x[at]
        q, p = rest[at] - q_c, x[at] - x_c
        rest_centres.append(q_c)
        centres.append(x_c)
        matrices.append((m[:, None] * p).T @ q @ np.linalg.inv((m[:, None] * q).T @ q))
    return np.array(rest_centres), np.array(centres), np.array(matrices)


@pytest.mark.parametrize("count", [1, 8])
@pytest.mark.parametrize("size, offset", [(1.0, 0.0), (1.0, 1e3), (1e-3, 0.0), (1e3, 0.0), (1e-3, 1.0)])
def test_affine_motion_is_exact(count, size, offset, device):
    rng = np.random.default_rng(2)
    rest = size * shapes.ball(0.5, 5).vertices + [offset, 0.0, -offset]
    seen = shapes.ball(0.55, 8).surface_mesh()
    points = size * seen.vertices + [offset, 0.0, -offset]
    skin = ClusterSkin(points, seen.triangles, rest, *near_clusters(rest, count), device=device)
    matrix = np.eye(3) + rng.uniform(-0.6, 0.6, (3, 3))
    motion = lambda p: (p - [offset, 0.0, -offset]) @ matrix.T + [-offset, 2.0 * size, offset]
    skin.update(upload(motion(rest), device))
    # Rounding of positions, amplified where a cluster reaches beyond its own particles.
    assert np.abs(skin.x.numpy() - motion(points)).max() <= 8.0 * EPSILON * (offset + 2.0 * size)


def test_any_motion_is_that_of_the_formula(device):
    rng = np.random.default_rng(0)
    rest = shapes.ball(0.5, 5).vertices
    seen = shapes.ball(0.52, 8).surface_mesh()
    masses = rng.uniform(0.5, 2.0, len(rest))
    starts, members = near_clusters(rest, 9)
    skin = ClusterSkin(seen.vertices, seen.triangles, rest, starts, members, masses, device=device)
    x = bend(rest)
    skin.update(upload(x, device))
    rest_centres, centres, matrices = brute_maps(rest, x, starts, members, masses)
    assert np.abs(skin.rest_centres - rest_centres).max() < 1e-12
    assert np.abs(skin.centres.numpy() - centres).max() < 1e-6
    assert np.abs(skin.matrices.numpy() - matrices).max() < 1e-5
    arms = seen.vertices[:, None] - rest_centres[skin.clusters]
    moved = np.einsum("nkij,nkj->nki", matrices[skin.clusters], arms) + centres[skin.clusters]
    expected = np.einsum("nk,nki->ni", skin.weights, moved)
    assert np.abs(skin.x.numpy() - expected).max() < 3e-6
    assert np.linalg.norm(skin.normals.numpy(), axis=1) == pytest.approx(np.ones(len(seen.vertices)), abs=1e-6)
    assert (np.einsum("ij,ij->i", skin.normals.numpy(), skin.x.numpy() - skin.x.numpy().mean(axis=0)) > 0).mean() > 0.99

    other = ClusterSkin(seen.vertices, seen.triangles, rest, starts, members, masses, device=device)
    other.update_from_maps(skin.centres, skin.matrices)
    assert np.array_equal(other.x.numpy(), skin.x.numpy()) and np.array_equal(
        other.normals.numpy(), skin.normals.numpy()
    )


def test_no_vertex_is_left_without_a_cluster():
    rng = np.random.default_rng(1)
    rest = shapes.ball(0.5, 5).vertices
    starts, members = near_clusters(rest, 12)
    points = np.concatenate([rest, rng.uniform(-1, 1, (500, 3)), rng.normal(size=(500, 3)) * 1e7])
    clusters, weights = cluster_weights(points, rest, starts, members, 4, "cpu")
    assert weights.sum(axis=1) == pytest.approx(np.ones(len(points)), abs=1e-12)
    assert (weights >= 0.0).all() and (np.diff(weights, axis=1) <= 0.0).all()
    assert clusters.min() >= 0 and clusters.max() < 12
    # A vertex between two particles of one cluster alone follows that one alone.
    alone, share = cluster_weights(points, rest, *one_cluster(len(rest)), 4, "cpu")
    assert alone.shape == (len(points), 1) and (share == 1.0).all()


def test_weights_against_brute_force():
    rng = np.random.default_rng(3)
    rest = rng.normal(size=(60, 3)) * [1.0, 0.2, 3.0]
    starts, members = near_clusters(rest, 5)
    points = rng.normal(size=(80, 3))
    clusters, weights = cluster_weights(points, rest, starts, members, 5, "cpu")
    holds = np.zeros((60, 5))
    for c in range(5):
        holds[members[starts[c] : starts[c + 1]], c] = 1.0
    holds /= holds.sum(axis=1, keepdims=True)
    for row, p in enumerate(points):
        distance = np.linalg.norm(rest - p, axis=1)
        order = np.argsort(distance)[:9]
        share = (1.0 - distance[order] / distance[order[-1]]) ** 2
        expected = (share / share.sum()) @ holds[order]
        found = np.zeros(5)
        np.add.at(found, clusters[row], weights[row])
        assert found == pytest.approx(expected, abs=1e-9)


def test_weights_change_little_over_a_short_way():
    """No jump along a line through the body: neighbours fade out before they are left out."""
    rest = shapes.ball(0.5, 6).vertices
    starts, members = near_clusters(rest, 10)
    line = np.linspace([-0.45, -0.1, 0.05], [0.45, 0.2, -0.1], 4000)
    clusters, weights = cluster_weights(line, rest, starts, members, 10, "cpu")
    dense = np.zeros((len(line), 10))
    np.add.at(dense, (np.arange(len(line))[:, None], clusters), weights)
    assert np.abs(np.diff(dense, axis=0)).max() < 0.02


def test_flat_cluster_turns_its_normal(device):
    """Points off a flat cluster keep their distance from it; those in it follow any affine motion."""
    rng = np.random.default_rng(4)
    rest = rng.uniform(-1, 1, (40, 3)) * [1.0, 0.0, 1.0]
    rest = turned(rest, (1, 0, 1), 0.4)
    points = turned(rng.uniform(-1, 1, (50, 3)), (1, 0, 1), 0.4)
    skin = ClusterSkin(points, np.zeros((0, 3), int), rest, *one_cluster(40), device=device)
    assert skin.ranks.tolist() == [2]
    skin.update(upload(turned(rest) + 3.0, device))
    assert np.abs(skin.x.numpy() - turned(points) - 3.0).max() < 5e-6
    flat = turned(turned(points, (1, 0, 1), -0.4) * [1, 0, 1], (1, 0, 1), 0.4)
    skin = ClusterSkin(flat, np.zeros((0, 3), int), rest, *one_cluster(40), device=device)
    matrix = rng.normal(size=(3, 3))
    skin.update(upload(rest @ matrix.T, device))
    assert np.abs(skin.x.numpy() - flat @ matrix.T).max() < 5e-6
    skin.update(upload(rest * 0.0, device))
    assert np.isfinite(skin.x.numpy()).all()


@pytest.mark.parametrize("to", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.3), (-1.0, 0.0, 0.0), (-1.0, 1e-3, 0.0)])
def test_straight_cluster_takes_the_smallest_turn(to, device):
    rest = np.linspace([-1.0, 0, 0], [1, 0, 0], 7)
    points = np.array([[0.5, 0, 0], [0.5, 0.2, 0], [0.5, 0, 0.2], [2.0, 0.1, 0.1]])
    skin = ClusterSkin(points, np.zeros((0, 3), int), rest, *one_cluster(7), device=device)
    assert skin.ranks.tolist() == [1]
    direction = np.array(to) / np.linalg.norm(to)
    skin.update(upload(rest[:, :1] * direction + [0, 5, 0], device))
    x = skin.x.numpy() - [0, 5, 0]
    assert x[0] == pytest.approx(0.5 * direction, abs=2e-6)
    lengths = np.linalg.norm(x[:, None] - x, axis=2)
    assert lengths == pytest.approx(np.linalg.norm(points[:, None] - points, axis=2), abs=1e-4)


def test_single_particle_moves_without_turning(device):
    points = np.random.default_rng(0).normal(size=(5, 3))
    skin = ClusterSkin(points, [[0, 1, 2]], [[1.0, 2, 3]], *one_cluster(1), device=device)
    assert skin.ranks.tolist() == [0]
    skin.update(upload([[2.0, 2, 3]], device))
    assert np.abs(skin.x.numpy() - points - [1, 0, 0]).max() < 1e-6


def test_sizes_of_clusters_do_not_matter(device):
    """One cluster of 20 000 particles, beside some of a few: sums in three levels."""
    rng = np.random.default_rng(5)
    rest = rng.uniform(-1, 1, (20_000, 3))
    members = np.concatenate([np.arange(20_000), np.arange(5), np.arange(100, 165)])
    starts = np.array([0, 20_000, 20_005, 20_070])
    points = rng.uniform(-1, 1, (300, 3))
    skin = ClusterSkin(points, np.zeros((0, 3), int), rest, starts, members, device=device)
    x = bend(rest)
    skin.update(upload(x, device))
    _, centres, matrices = brute_maps(rest, x, starts, members, np.ones(len(rest)))
    assert np.abs(skin.centres.numpy() - centres).max() < 2e-6
    assert np.abs(skin.matrices.numpy() - matrices).max() < 2e-5


def test_both_sets_of_kernels_agree(monkeypatch):
    """Those for CUDA run on the CPU as well, and give what those for the CPU give, to rounding."""
    rest = shapes.ball(0.5, 5).vertices
    seen = shapes.ball(0.52, 8).surface_mesh()
    x = upload(bend(rest), "cpu")
    fast = ClusterSkin(seen.vertices, seen.triangles, rest, *near_clusters(rest, 9))
    monkeypatch.setattr("pliant.skin.clusters.cpu_kernels", cluster_kernels)
    plain = ClusterSkin(seen.vertices, seen.triangles, rest, *near_clusters(rest, 9))
    for skin in (fast, plain):
        skin.update(x)
    assert np.abs(fast.x.numpy() - plain.x.numpy()).max() < 1e-6


def test_same_bits_with_any_number_of_threads(set_threads):
    rest = shapes.ball(0.5, 6).vertices
    seen = shapes.sheet((1, 1), 150)
    assert len(seen.vertices) > 2 * 8192
    x = upload(bend(rest), "cpu")
    results = []
    for count in (1, 2):
        set_threads(count)
        skin = ClusterSkin(seen.vertices, seen.triangles, rest, *near_clusters(rest, 200))
        skin.update(x)
        with record() as recording:
            skin.update(x)
        recording.replay()
        results.append((skin.x.numpy().copy(), skin.normals.numpy().copy(), skin.weights))
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize(
    "change, word",
    [
        ({"starts": [0, 2, 2, 3]}, "no member"),
        ({"starts": [0, 2]}, "number of members"),
        ({"members": [0, 1, 9]}, "Particle numbers"),
        ({"members": [0.0, 1.0, 2.0]}, "whole numbers"),
        ({"masses": [1.0, -1.0, 1.0]}, "masses"),
        ({"influences": 0}, "influences"),
        ({"points": [[np.inf, 0, 0]]}, "finite"),
    ],
)
def test_bad_input(change, word):
    given = {
        "points": np.eye(3),
        "triangles": np.zeros((0, 3), int),
        "particles": np.eye(3),
        "starts": [0, 3],
        "members": [0, 1, 2],
    }
    with pytest.raises(InputError, match=word):
        ClusterSkin(**{**given, **change})
    skin = ClusterSkin(**given)
    with pytest.raises(InputError, match="all particles"):
        skin.update(upload(np.zeros((2, 3)), "cpu"))
    with pytest.raises(InputError, match="one of each per cluster"):
        skin.update_from_maps(skin.centres, wp.zeros(2, dtype=wp.mat33, device="cpu"))
