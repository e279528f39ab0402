"""Nearest points of triangles and segments, against dense search in float64."""

import numpy as np
import pytest
import warp as wp

from pliant.launch import launch
from pliant.physics.closest import segments_weights, triangle_weights


@wp.kernel
def _triangles(corner: wp.array2d(dtype=wp.vec3), weights_out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    weights_out[i] = triangle_weights(corner[i, 0], corner[i, 1], corner[i, 2], corner[i, 3])


@wp.kernel
def _segments(corner: wp.array2d(dtype=wp.vec3), weights_out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    weights_out[i] = segments_weights(corner[i, 0], corner[i, 1], corner[i, 2], corner[i, 3])


def cases(seed=5, count=300):
    """Random fours of points, and degenerate ones: flat, collinear, all in one place, parallel."""
    rng = np.random.default_rng(seed)
    p = rng.normal(size=(count, 4, 3))
    p[:40, 3] = p[:40, 2]
    p[40:60, 2:] = p[40:60, 1:2]
    p[60:80] = p[60:80, :1]
    p[80:110, 3] = p[80:110, 1] + 0.5 * (p[80:110, 2] - p[80:110, 1])
    p[110:140, 3] = p[110:140, 2] + (p[110:140, 1] - p[110:140, 0])
    p[140:170, 2:] = p[140:170, :2] + [0.0, 0.3, 0.0]
    p[170:200] *= 1e-3
    return p.astype(np.float32)


def run(kernel, corners, kind, device):
    given = wp.array(corners, dtype=wp.vec3, ndim=2, device=device)
    out = wp.zeros(len(corners), dtype=kind, device=device)
    launch(kernel, len(corners), [given], [out], device=device)
    return out.numpy().astype(np.float64)


def test_no_point_of_a_triangle_is_nearer(device):
    corners = cases()
    weights = run(_triangles, corners, wp.vec3, device)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-5)
    assert weights.min() >= -1e-6
    p, triangle = corners[:, 0].astype(np.float64), corners[:, 1:].astype(np.float64)
    found = np.linalg.norm(p - np.einsum("nk,nkd->nd", weights, triangle), axis=1)
    u, v = (g.ravel() for g in np.meshgrid(np.linspace(0, 1, 81), np.linspace(0, 1, 81)))
    grid = np.stack([1 - u - v, u, v], axis=1)[u + v <= 1.0 + 1e-12]
    places = np.einsum("gk,nkd->ngd", grid, triangle)
    best = np.linalg.norm(p[:, None] - places, axis=2).min(axis=1)
    size = np.linalg.norm(np.ptp(corners, axis=1), axis=1)
    assert (found <= best + 1e-5 * size + 1e-9).all()


def test_no_points_of_two_segments_are_nearer(device):
    corners = cases(seed=6)
    weights = run(_segments, corners, wp.vec2, device)
    assert weights.min() >= 0.0 and weights.max() <= 1.0
    a, b, c, d = (corners[:, k].astype(np.float64) for k in range(4))
    along = lambda p, q, w: p[:, None] + w * (q - p)[:, None]
    found = np.linalg.norm(a + weights[:, :1] * (b - a) - c - weights[:, 1:] * (d - c), axis=1)
    w = np.linspace(0.0, 1.0, 101)[None, :, None]
    one, two = along(a, b, w), along(c, d, w)
    best = np.array([np.linalg.norm(p[:, None] - q[None], axis=2).min() for p, q in zip(one, two, strict=True)])
    size = np.linalg.norm(np.ptp(corners, axis=1), axis=1)
    # nearly parallel segments are told apart to 1e-3 of their size only
    assert (found <= best + 1e-3 * size + 1e-9).all()


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e3])
def test_weights_do_not_depend_on_the_size(scale, device):
    corners = cases(seed=7, count=250)[200:]
    np.testing.assert_allclose(
        run(_triangles, corners, wp.vec3, device),
        run(_triangles, (scale * corners).astype(np.float32), wp.vec3, device),
        atol=2e-4,
    )
