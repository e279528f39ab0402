"""The area force of a triangle against float64 and finite differences."""

import numpy as np
import pytest
import warp as wp
from reference import area_and_gradient

from pliant.physics.area import area_force

wp.set_module_options({"enable_backward": False})


@wp.kernel
def call_area(
    p: wp.array2d(dtype=wp.vec3),
    v: wp.array2d(dtype=wp.vec3),
    inv_double_area: wp.array(dtype=float),
    k: float,
    time: float,
    force_out: wp.array2d(dtype=wp.vec3),
):
    t, i = wp.tid()
    j = (i + 1) % 3
    m = (i + 2) % 3
    force_out[t, i] = area_force(
        p[t, j] - p[t, i], p[t, m] - p[t, i], v[t, j] - v[t, i], v[t, m] - v[t, i], inv_double_area[t], k, time
    )


def triangle_forces(p, v, a0, k, time=0.0, device="cpu"):
    make = lambda a: wp.array(a.astype(np.float32), dtype=wp.vec3, device=device)
    inverse = wp.array((0.5 / a0).astype(np.float32), dtype=float, device=device)
    out = wp.zeros((len(p), 3), dtype=wp.vec3, device=device)
    inputs = [make(p), make(v), inverse, float(k), float(time)]
    wp.launch(call_area, (len(p), 3), inputs=inputs, outputs=[out], device=device)
    return out.numpy().astype(np.float64)


@pytest.fixture(scope="module")
def triangles():
    rng = np.random.default_rng(2)
    return rng.normal(size=(300, 3, 3)), rng.normal(size=(300, 3, 3)), rng.uniform(0.2, 2.0, 300)


def test_force_is_minus_the_gradient_of_the_energy(triangles, device):
    p, _, a0 = triangles
    energy = lambda q: 0.5 * 20.0 * a0 * (area_and_gradient(q)[0] / a0 - 1) ** 2
    force = triangle_forces(p, 0 * p, a0, 20.0, device=device)
    step = 1e-6
    for i in range(3):
        for axis in range(3):
            shift = np.zeros((3, 3))
            shift[i, axis] = step
            slope = (energy(p + shift) - energy(p - shift)) / (2 * step)
            np.testing.assert_allclose(force[:, i, axis], -slope, atol=2e-5 * np.abs(slope).max())


def test_equals_the_float64_twin_and_dissipates(triangles, device):
    p, v, a0 = triangles
    area, gradient = area_and_gradient(p)
    rate = np.einsum("tij,tij->t", gradient, v)
    damping = -(20.0 * 0.3 * rate / a0)[:, None, None] * gradient
    expected = -(20.0 * (area / a0 - 1))[:, None, None] * gradient + damping
    force = triangle_forces(p, v, a0, 20.0, 0.3, device)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(force, expected, atol=3e-6 * scale)
    assert np.abs(force.sum(axis=1)).max() < 1e-5 * scale
    assert np.abs(np.cross(p, force).sum(axis=1)).max() < 3e-5 * scale
    measured = force - triangle_forces(p, 0 * v, a0, 20.0, 0.3, device)
    assert np.einsum("tij,tij->t", measured, v).max() <= 1e-5 * scale


def test_rigid_motion_is_not_damped(triangles, device):
    p, _, a0 = triangles
    v = np.cross([1.0, -0.5, 2.0], p) + [3.0, 1.0, -2.0]
    still = triangle_forces(p, 0 * p, a0, 20.0, 0.3, device)
    assert np.abs(triangle_forces(p, v, a0, 20.0, 0.3, device) - still).max() < 2e-5 * np.abs(still).max()


def test_a_collapsed_triangle_feels_nothing(device):
    line = np.array([[[0.0, 0, 0], [1, 1, 1], [2, 2, 2]]])
    for p in (line, 0 * line):
        assert (triangle_forces(p, np.ones_like(p) * [[[1], [2], [3]]], np.array([0.5]), 20.0, 0.3, device) == 0).all()


def test_a_sliver_is_finite(device):
    sliver = np.array([[[0.0, 0, 0], [1, 0, 0], [2, 1e-20, 0]], [[0.0, 0, 0], [1e-15, 0, 0], [0, 1e-15, 0]]])
    force = triangle_forces(sliver, np.ones_like(sliver), np.array([0.5, 0.5]), 20.0, 0.3, device)
    assert np.isfinite(force).all()
    assert np.abs(force).max() < 100
