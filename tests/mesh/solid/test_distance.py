"""SignedDistance: exact shapes, brute force as oracle, sizes and places, open and overlapping surfaces."""

import time

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.solid.distance import OutOfTimeError, SignedDistance
from pliant.mesh.surface import SurfaceMesh

CUBE = shapes.box(1.0, 1).surface_mesh()


def joined(*meshes):
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    return SurfaceMesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.triangles + start for mesh, start in zip(meshes, starts[:-1], strict=True)]),
    )


def cube_distance(points, half=0.5):
    """Signed distance to a cube about the origin."""
    q = np.abs(points) - half
    return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (3e4, -2e4, 1e4)])
def test_cube_of_any_size_anywhere(device, scale, place):
    shift = np.array(place) * scale
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (2000, 3))
    found = SignedDistance(CUBE.scaled(scale).translated(shift), device).at(points * scale + shift)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found / scale, cube_distance(points), atol=1e-6)


def test_nearest_point_is_the_nearest_of_all_triangles(device):
    """No triangle's closest of many points is nearer, and the weights give a point at the distance told."""
    mesh = shapes.torus().surface_mesh()
    points = np.random.default_rng(2).uniform(-0.6, 0.6, (50, 3))
    distance, triangle, weights = SignedDistance(mesh, device).nearest(points)
    corners = mesh.vertices[mesh.triangles]
    hit = np.einsum("ni,nij->nj", weights, corners[triangle])
    np.testing.assert_allclose(np.linalg.norm(hit - points, axis=1), distance, atol=1e-6)
    assert (weights > -1e-5).all() and np.allclose(weights.sum(axis=1), 1.0, atol=1e-6)
    u, v = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9)))
    keep = u + v <= 1.0
    bary = np.stack([1 - u - v, u, v], axis=1)[keep]
    spread = np.einsum("kj,mjc->mkc", bary, corners).reshape(-1, 3)
    brute = np.array([np.linalg.norm(spread - point, axis=1).min() for point in points])
    assert (distance <= brute + 1e-6).all() and (brute - distance).max() < 0.02


def test_overlap_is_inside_and_cavity_is_outside(device):
    small = CUBE.scaled(0.4)
    cavity = joined(CUBE, small.turned(np.arange(len(small.triangles))))
    overlap = joined(CUBE, CUBE.translated((0.5, 0.0, 0.0)))
    middle = np.zeros((1, 3))
    assert SignedDistance(cavity, device).at(middle)[0] == pytest.approx(0.2, abs=1e-5)
    assert not SignedDistance(cavity, device).inside(middle)[0]
    assert SignedDistance(overlap, device).inside(np.array([[0.25, 0.0, 0.0]]))[0]


def test_inside_out_surface_is_turned(device):
    turned = CUBE.turned(np.arange(len(CUBE.triangles)))
    distance = SignedDistance(turned, device)
    points = np.random.default_rng(3).uniform(-1.0, 1.0, (200, 3))
    np.testing.assert_allclose(distance.at(points), cube_distance(points), atol=1e-6)
    assert any("inside out" in note for note in distance.notes)
    gap, triangle, weights = distance.nearest(points)
    hit = np.einsum("ni,nij->nj", weights, turned.vertices[turned.triangles[triangle]])
    np.testing.assert_allclose(np.linalg.norm(hit - points, axis=1), gap, atol=1e-6)


def test_open_surface_still_has_an_inside(device):
    ball = shapes.ball(0.5, 8).surface_mesh()
    heights = ball.vertices[ball.triangles].mean(axis=1)[:, 1]
    cup = ball.of_triangles(heights < 0.4).drop_unused()
    assert not cup.is_closed()
    points = np.random.default_rng(4).uniform(-0.6, 0.6, (3000, 3))
    away = (np.abs(np.linalg.norm(points, axis=1) - 0.5) > 0.03) & (points[:, 1] < 0.3)
    inside = SignedDistance(cup, device).inside(points)
    np.testing.assert_array_equal(inside[away], (np.linalg.norm(points, axis=1) < 0.5)[away])


def test_threads_do_not_change_a_bit(set_threads):
    mesh = shapes.torus().surface_mesh()
    points = np.random.default_rng(5).uniform(-0.6, 0.6, (5000, 3))
    distance = SignedDistance(mesh)
    set_threads(1)
    alone = distance.at(points)
    set_threads(2)
    np.testing.assert_array_equal(distance.at(points), alone)


def test_progress_and_deadline(monkeypatch):
    monkeypatch.setattr("pliant.mesh.solid.distance.CHUNK", 100)
    distance = SignedDistance(CUBE)
    seen = []
    distance.at(np.zeros((250, 3)), lambda stage, done: seen.append((stage, done)))
    assert seen == [("measuring distances", 0.4), ("measuring distances", 0.8), ("measuring distances", 1.0)]
    with pytest.raises(OutOfTimeError):
        distance.at(np.zeros((250, 3)), deadline=time.monotonic() - 1.0)


def test_no_points():
    assert SignedDistance(CUBE).at(np.zeros((0, 3))).shape == (0,)


@pytest.mark.parametrize(
    ("vertices", "triangles"),
    [
        ([[0.0, 0, 0]], np.zeros((0, 3), int)),
        ([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]),
        ([[1.0, 1, 1], [1, 1, 1], [1, 1, 1]], [[0, 1, 2]]),
        ([[0.0, 0, 0], [np.nan, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
        ([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 7]]),
    ],
)
def test_what_has_no_distance_is_refused(vertices, triangles):
    with pytest.raises(InputError):
        SignedDistance(SurfaceMesh(vertices, triangles))
