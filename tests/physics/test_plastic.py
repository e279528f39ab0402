"""Plastic flow: nothing below the yield strain, volume kept, and what flows relieves the elastic strain."""

import numpy as np
import pytest
import warp as wp
from bodies import rotation

from pliant.launch import launch
from pliant.physics.plastic import permanent_strain, plastic_factor


@wp.kernel(enable_backward=False)
def _flow(
    s: wp.array(dtype=wp.mat33),
    limit: float,
    share: float,
    factor: wp.array(dtype=wp.mat33),
    strain: wp.array(dtype=float),
):
    i = wp.tid()
    factor[i] = plastic_factor(s[i], limit, share)
    strain[i] = permanent_strain(s[i])


def flow(stretches, limit, share, device):
    s = wp.array(np.array(stretches, np.float32), dtype=wp.mat33, device=device)
    factor = wp.zeros(len(stretches), dtype=wp.mat33, device=device)
    strain = wp.zeros(len(stretches), dtype=float, device=device)
    launch(_flow, len(stretches), [s, limit, share], [factor, strain], device=device)
    return factor.numpy().astype(np.float64), strain.numpy().astype(np.float64)


def test_nothing_flows_below_the_yield_strain_nor_under_pressure(device):
    factors, _ = flow(
        [np.eye(3), np.diag([1.05, 1.0, 1.0]), 0.5 * np.eye(3), np.full((3, 3), np.nan)], 0.05, 1.0, device
    )
    np.testing.assert_array_equal(factors, np.tile(np.eye(3), (4, 1, 1)))


def test_flow_keeps_volume_and_ends_at_the_yield_strain(device):
    rng = np.random.default_rng(0)
    turns = [rotation(rng.normal(size=3), rng.uniform(0, 3)) for _ in range(20)]
    stretches = [q @ np.diag(1 + 0.2 * rng.uniform(-1, 1, 3)) @ q.T for q in turns]
    factors, _ = flow(stretches, 0.02, 1.0, device)
    np.testing.assert_allclose(np.linalg.det(factors), 1.0, atol=1e-5)
    for s, g in zip(stretches, factors, strict=True):
        size = lambda m: np.abs(np.linalg.eigvalsh(m - np.trace(m) / 3 * np.eye(3))).max()
        left = s @ g
        assert size(0.5 * (left + left.T)) < 0.25 * size(s) + 0.025


@pytest.mark.parametrize("stretch", [(1.3, 1.0, 1.0), (0.6, 1.0, 1.1), (1.0, 1.0, 1.0)])
def test_permanent_strain(stretch, device):
    turn = rotation([1, 2, 3], 1.0)
    _, strain = flow([turn @ np.diag(stretch)], 0.1, 1.0, device)
    assert strain[0] == pytest.approx(np.abs(np.array(stretch) - 1).max(), abs=1e-3)


def test_what_is_no_shape_is_beyond_every_limit(device):
    _, strain = flow([np.zeros((3, 3)), np.diag([1.0, 1.0, 0.0])], 0.1, 1.0, device)
    assert (strain > 100).all()
