"""Positions as the sum of two floats: nothing is lost far from the origin."""

import numpy as np
import pytest
import warp as wp

from pliant.physics.integrate import add_carried

wp.set_module_options({"enable_backward": False})


@wp.kernel
def call_add(
    steps: wp.array2d(dtype=wp.vec3),
    count: int,
    repeat: int,
    x_inout: wp.array(dtype=wp.vec3),
    carry_inout: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    x = x_inout[i]
    carry = carry_inout[i]
    for _ in range(repeat):
        for k in range(count):
            total = add_carried(x, carry, steps[k, i])
            x = total.high
            carry = total.carry
    x_inout[i] = x
    carry_inout[i] = carry


def sum_up(start, steps, repeat=1, device="cpu"):
    """start (n, 3) float32 plus steps (k, n, 3), `repeat` times; the result in float64, and the two parts."""
    x = wp.array(start.astype(np.float32), dtype=wp.vec3, device=device)
    carry = wp.zeros_like(x)
    table = wp.array(steps.astype(np.float32), dtype=wp.vec3, device=device)
    wp.launch(call_add, len(start), inputs=[table, len(steps), repeat], outputs=[x, carry], device=device)
    return x.numpy().astype(np.float64) + carry.numpy(), x.numpy(), carry.numpy()


def test_a_hundred_thousand_tiny_steps_far_away(device):
    rng = np.random.default_rng(4)
    start = rng.uniform(-1000, 1000, (8, 3)).astype(np.float32)
    steps = (1e-5 * rng.normal(size=(1000, 8, 3))).astype(np.float32)
    total, high, carry = sum_up(start, steps, 100, device)
    exact = start.astype(np.float64) + 100 * steps.astype(np.float64).sum(axis=0)
    plain = start.copy()
    for step in np.tile(steps, (10, 1, 1)):
        plain = plain + step
    # 1e5 roundings of a carry of at most 3e-5 m, each 2e-12 m at most
    assert np.abs(total - exact).max() < 2e-8
    # a single float stands still or drifts by a thousand times that in a tenth of the steps
    assert np.abs(plain - (start + 10 * steps.astype(np.float64).sum(axis=0))).max() > 1e-5
    # the carry is what float32 cannot hold: at most half of its last place
    assert (np.abs(carry) <= np.spacing(np.abs(high))).all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_exact_whatever_is_larger(scale, device):
    """Knuth's two-sum needs no order: a step larger than the position loses nothing either."""
    rng = np.random.default_rng(1)
    start, step = (
        rng.normal(size=(200, 3)).astype(np.float32),
        (scale * rng.normal(size=(1, 200, 3))).astype(np.float32),
    )
    total, _, _ = sum_up(start, step, device=device)
    np.testing.assert_array_equal(total, start.astype(np.float64) + step[0])


def test_a_step_and_back(device):
    start = np.full((1, 3), 123.456, np.float32)
    steps = np.array([[[1e-7] * 3], [[-1e-7] * 3]], np.float32)
    _, high, carry = sum_up(start, steps, 1000, device)
    np.testing.assert_array_equal(high, start)
    assert (carry == 0).all()
