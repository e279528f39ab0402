"""Self-intersections: brute force as oracle, neighbours that only touch, neighbours folded over each other."""

import numpy as np
import pytest
from broken_meshes import box, grid, joined, moved, sphere

from pliant.mesh import shapes
from pliant.mesh.repair.intersect import self_intersections
from pliant.mesh.surface import SurfaceMesh


def segments_cut(p, q, a, b, c) -> np.ndarray:
    """Whether segments p-q pass through triangles a, b, c, each (..., 3): by the signs of five volumes."""
    volume = lambda u, v, w, x: np.einsum("...i,...i", np.cross(v - u, w - u), x - u)
    around = sum(np.sign(volume(p, q, s, t)) for s, t in ((a, b), (b, c), (c, a)))
    return (volume(a, b, c, p) * volume(a, b, c, q) < 0.0) & (np.abs(around) == 3)


def brute_force(points: np.ndarray) -> np.ndarray:
    """Which triangles (k, 3, 3) cut each other (k, k): an edge of one passes through the other."""
    corners = [points[None, :, i] for i in range(3)]
    cuts = np.zeros((len(points), len(points)), bool)
    for i in range(3):
        cuts |= segments_cut(points[:, None, i], points[:, None, (i + 1) % 3], *corners)
    return cuts | cuts.T


@pytest.mark.parametrize(("seed", "size", "place"), [(0, 0.3, 0.0), (1, 0.5, 1e5), (2, 1.5, -3.0)])
def test_random_triangles_against_brute_force(device, seed, size, place):
    rng = np.random.default_rng(seed)
    points = rng.random((200, 1, 3)) + size * (rng.random((200, 3, 3)) - 0.5)
    mesh = SurfaceMesh(points.reshape(-1, 3) + place, np.arange(600).reshape(-1, 3))
    found = self_intersections(mesh, device)
    cuts = brute_force(points)
    expected = np.minimum(cuts.sum(axis=1), 64)
    assert expected.max() > 1
    assert np.array_equal(found.counts, expected)
    assert found.triangles == (expected > 0).sum()
    assert (found.examples[:, 0] < found.examples[:, 1]).all() and len(found.examples) <= 16
    assert cuts[tuple(found.examples.T)].all()


@pytest.mark.parametrize("factor", [1.0, 1e-6, 1e4])
def test_sound_surfaces_have_none(factor):
    for mesh in (
        shapes.box(1.0, 5).surface_mesh(),
        shapes.ball(0.5, 8).surface_mesh(),
        shapes.torus().surface_mesh(),
        shapes.sheet(1.0, 9),
        SurfaceMesh(*sphere()),
    ):
        assert self_intersections(mesh.scaled(factor)).triangles == 0


def test_float32_rounding_is_no_intersection():
    for mesh in (shapes.box(1.0, 12).surface_mesh(), shapes.sheet(1.0, 40)):
        turned = mesh.rotated((1, 2, 3), 0.7)
        rounded = SurfaceMesh(turned.vertices.astype(np.float32), mesh.triangles)
        assert self_intersections(rounded).triangles == 0


def test_unwelded_neighbours_only_touch():
    vertices, faces = box()
    soup = SurfaceMesh(vertices[faces].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert self_intersections(soup).triangles == 0


def test_t_junctions_only_touch():
    coarse, fine = grid(2, 2), grid(5, 5)
    mesh = SurfaceMesh(*joined(coarse, moved(fine, (1.0, 0.0, 0.0))))
    assert self_intersections(mesh).triangles == 0


def test_two_boxes_that_cut_each_other():
    # An edge of each passes through the middle of a face of the other, exactly on its diagonal.
    mesh = SurfaceMesh(*joined(box(), moved(box(), (0.5, 0.5, 0.5))))
    assert self_intersections(mesh).triangles == 12
    apart = SurfaceMesh(*joined(box(), moved(box(), (1.001, 0.0, 0.0))))
    assert self_intersections(apart).triangles == 0


def two(vertices, triangles) -> list[int]:
    return self_intersections(SurfaceMesh(np.array(vertices, float), np.array(triangles))).counts.tolist()


def test_neighbours_that_share_an_edge():
    corners = [[0, 0, 0], [1, 0, 0], [0.2, 1, 0]]
    flat, folded, nearly = [0.5, -1, 0], [0.6, 0.8, 0], [0.6, 0.8, 0.01]
    assert two([*corners, flat], [[0, 1, 2], [1, 0, 3]]) == [0, 0]
    assert two([*corners, folded], [[0, 1, 2], [1, 0, 3]]) == [1, 1]
    assert two([*corners, nearly], [[0, 1, 2], [1, 0, 3]]) == [0, 0]


def test_neighbours_that_share_a_vertex():
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    away, through, upright = [[-1, 0, 0], [0, -1, 0]], [[0.4, 0.4, 0.3], [0.3, 0.3, -0.3]], [[0, 0, 1], [-1, 0, 1]]
    inside = [[0.5, 0.1, 0.0], [0.1, 0.5, 0.0]]
    assert two([*corners, *away], [[0, 1, 2], [0, 3, 4]]) == [0, 0]
    assert two([*corners, *upright], [[0, 1, 2], [0, 3, 4]]) == [0, 0]
    assert two([*corners, *through], [[0, 1, 2], [0, 3, 4]]) == [1, 1]
    assert two([*corners, *inside], [[0, 1, 2], [0, 3, 4]]) == [1, 1]


def test_in_one_plane():
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert two([*corners, [0.2, 0.2, 0], [0.4, 0.2, 0], [0.2, 0.4, 0]], [[0, 1, 2], [3, 4, 5]]) == [1, 1]
    assert two([*corners, [1, 1, 0], [2, 1, 0], [1, 2, 0]], [[0, 1, 2], [3, 4, 5]]) == [0, 0]


def test_bad_triangles_are_left_out():
    vertices, faces = joined(box(), moved(box(), (0.3, 0.4, 0.6)))
    whole = self_intersections(SurfaceMesh(vertices, faces))
    vertices = np.concatenate([vertices, [[np.nan, 0, 0], [np.inf, 0, 0]]])
    more = np.concatenate([faces, [[0, 1, 99], [0, 1, 16], [17, 2, 3], [4, 4, 5], [-1, 2, 3]]])
    found = self_intersections(SurfaceMesh(vertices, more))
    assert np.array_equal(found.counts[: len(faces)], whole.counts) and not found.counts[len(faces) :].any()
    assert self_intersections(SurfaceMesh(np.zeros((0, 3)), np.zeros((0, 3), int))).triangles == 0


def test_threads_do_not_matter(set_threads):
    rng = np.random.default_rng(4)
    mesh = SurfaceMesh(rng.random((3000, 3)), np.arange(3000).reshape(-1, 3))
    results = []
    for count in (1, 3):
        set_threads(count)
        results.append(self_intersections(mesh))
    assert np.array_equal(results[0].counts, results[1].counts)
    assert np.array_equal(results[0].examples, results[1].examples)
    assert results[0].counts.max() == 64
