"""A spring's force, damping and stiffness against the float64 twin and finite differences of the documented energy."""

import numpy as np
import pytest
import warp as wp

from pliant.physics.spring import spring_energy, spring_force, spring_hessian

wp.set_module_options({"enable_backward": False})


@wp.kernel
def call_spring(
    d: wp.array(dtype=wp.vec3),
    dv: wp.array(dtype=wp.vec3),
    rest: wp.array(dtype=float),
    k: wp.array(dtype=float),
    c: wp.array(dtype=float),
    energy_out: wp.array(dtype=float),
    force_out: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    energy_out[i] = spring_energy(d[i], rest[i], k[i])
    force_out[i] = spring_force(d[i], dv[i], rest[i], k[i], c[i])


@wp.kernel
def call_hessian(
    d: wp.array(dtype=wp.vec3),
    u: wp.array(dtype=wp.vec3),
    rest: float,
    k: float,
    extra: float,
    product_out: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    product_out[i] = spring_hessian(d[i], rest, k, k + extra, 0.0) * u[i]


def spring(d, dv, rest, k, c, device="cpu"):
    d, dv = np.atleast_2d(d), np.atleast_2d(dv)
    n = len(d)
    vectors = [wp.array(a.astype(np.float32), dtype=wp.vec3, device=device) for a in (d, dv)]
    numbers = [wp.array(np.broadcast_to(a, n).astype(np.float32), dtype=float, device=device) for a in (rest, k, c)]
    energy = wp.zeros(n, dtype=float, device=device)
    force = wp.zeros(n, dtype=wp.vec3, device=device)
    wp.launch(call_spring, n, inputs=[*vectors, *numbers], outputs=[energy, force], device=device)
    return energy.numpy(), force.numpy()


def hessian(d, rest, k, extra=0.0):
    """The 3 x 3 block as the kernel applies it, float32."""
    out = wp.zeros(3, dtype=wp.vec3, device="cpu")
    ds = wp.array(np.tile(d, (3, 1)).astype(np.float32), dtype=wp.vec3, device="cpu")
    us = wp.array(np.eye(3, dtype=np.float32), dtype=wp.vec3, device="cpu")
    wp.launch(call_hessian, 3, inputs=[ds, us, rest, k, extra], outputs=[out], device="cpu")
    return out.numpy().T.astype(np.float64)


def energy64(d, rest, k):
    return 0.5 * k * (np.linalg.norm(d, axis=-1) - rest) ** 2


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(3)
    n = 500
    return (
        rng.normal(size=(n, 3)),
        rng.normal(size=(n, 3)),
        rng.uniform(0.2, 3, n),
        rng.uniform(1, 1e4, n),
        rng.uniform(0, 50, n),
    )


def test_force_is_minus_the_gradient_of_the_energy(samples, device):
    d, _, rest, k, _ = samples
    energy, force = spring(d, 0 * d, rest, k, 0.0, device)
    np.testing.assert_allclose(energy, energy64(d, rest, k), rtol=2e-5, atol=1e-5 * k.max())
    step = 1e-6
    gradient = np.stack(
        [(energy64(d + step * e, rest, k) - energy64(d - step * e, rest, k)) / (2 * step) for e in np.eye(3)], axis=1
    )
    # the energy depends on d = x_j - x_i, so the force on i is plus its gradient with respect to d
    assert np.abs(force - gradient).max() < 2e-6 * (k * (rest + 1)).max()


def test_damping_acts_along_the_spring_and_dissipates(samples, device):
    d, dv, rest, k, c = samples
    _, elastic = spring(d, 0 * d, rest, k, c, device)
    _, damped = spring(d, dv, rest, k, c, device)
    unit = d / np.linalg.norm(d, axis=1, keepdims=True)
    expected = (c * np.sum(unit * dv, axis=1))[:, None] * unit
    np.testing.assert_allclose(damped - elastic, expected, atol=3e-6 * (k * 4).max())
    assert (-np.sum(expected * dv, axis=1) <= 0).all()
    # power f_i . v_i + f_j . v_j of the damper alone, with f_j = -f_i
    _, alone = spring(d, dv, np.linalg.norm(d, axis=1), 0.0, c, device)
    assert (-np.sum(alone * dv, axis=1) <= 1e-6).all()


def test_rigid_rotation_is_not_damped(samples, device):
    d, _, rest, _, _ = samples
    turning = np.cross([0.3, -2.0, 1.1], d)
    _, force = spring(d, turning, rest, 0.0, 1.0, device)
    assert np.abs(force).max() < 1e-5


def test_coincident_ends_feel_nothing(device):
    energy, force = spring(np.zeros(3), np.array([1.0, 2.0, 3.0]), 0.5, 100.0, 10.0, device)
    assert energy[0] == pytest.approx(0.5 * 100 * 0.25)
    assert (force == 0).all()


def test_a_spring_too_short_for_float32_is_finite(device):
    """|d|^2 underflows below 1e-23 m: no direction, no force, and above all no NaN."""
    tiny = np.array([[1e-30, 0, 0], [1e-22, 1e-22, 0], [1e-18, 0, 0]])
    _, force = spring(tiny, np.ones((3, 3)), 0.5, 100.0, 1.0, device)
    assert np.isfinite(force).all()
    assert np.abs(force).max() <= 51.0


@pytest.mark.parametrize("stretch", [0.3, 0.999, 1.001, 1.5, 4.0])
def test_hessian_is_symmetric_and_positive(stretch):
    rng = np.random.default_rng(5)
    for _ in range(20):
        d = rng.normal(size=3)
        block = hessian(d, np.linalg.norm(d) / stretch, 70.0, extra=rng.choice([0.0, 13.0]))
        np.testing.assert_allclose(block, block.T, atol=1e-4)
        assert np.linalg.eigvalsh(0.5 * (block + block.T)).min() > -1e-4


def test_hessian_of_a_stretched_spring_is_the_second_derivative():
    rng = np.random.default_rng(6)
    for _ in range(20):
        d = rng.normal(size=3)
        rest, k, h = np.linalg.norm(d) / rng.uniform(1.0, 3.0), 40.0, 1e-4
        second = np.empty((3, 3))
        for a, ea in enumerate(h * np.eye(3)):
            for b, eb in enumerate(h * np.eye(3)):
                second[a, b] = (
                    energy64(d + ea + eb, rest, k)
                    - energy64(d + ea - eb, rest, k)
                    - energy64(d - ea + eb, rest, k)
                    + energy64(d - ea - eb, rest, k)
                ) / (4 * h * h)
        np.testing.assert_allclose(hessian(d, rest, k), second, atol=2e-4)


def test_hessian_of_a_compressed_spring_is_the_projection():
    """Only the part along the spring is left: eigenvalues k, 0, 0 instead of k and twice k (1 - L/l) < 0."""
    d, k = np.array([0.3, -0.4, 0.2]), 40.0
    n = d / np.linalg.norm(d)
    np.testing.assert_allclose(hessian(d, 3 * np.linalg.norm(d), k), k * np.outer(n, n), atol=1e-4)
    np.testing.assert_allclose(hessian(d, 3 * np.linalg.norm(d), k, 5.0), (k + 5) * np.outer(n, n), atol=1e-4)


def test_hessian_of_coincident_ends_is_positive():
    np.testing.assert_allclose(hessian(np.zeros(3), 1.0, 40.0, 2.0), 42.0 * np.eye(3), rtol=1e-6)
