"""The nearest rotation against the singular values in float64, the spectral norm, and the spin of points."""

import numpy as np
import pytest
import warp as wp

from pliant.physics.polar import nearest_rotation, spectral_norm
from pliant.physics.shape_match import spin

wp.set_module_options({"enable_backward": False})


@wp.kernel
def call_rotation(a: wp.array(dtype=wp.mat33), last: wp.array(dtype=wp.quat), turn_out: wp.array(dtype=wp.quat)):
    i = wp.tid()
    turn_out[i] = nearest_rotation(a[i], last[i])


@wp.kernel
def call_norm(a: wp.array(dtype=wp.mat33), norm_out: wp.array(dtype=float)):
    i = wp.tid()
    norm_out[i] = spectral_norm(a[i])


@wp.kernel
def call_spin(moment: wp.array(dtype=wp.vec3), spread: wp.array(dtype=wp.mat33), spin_out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    spin_out[i] = spin(moment[i], spread[i])


def quats(rng, count):
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1)[:, None]


def matrices(q):
    """Rotations (n, 3, 3) of quaternions x, y, z, w."""
    x, y, z, w = np.asarray(q, float).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.array(rows).transpose(2, 0, 1)


def turns(a, last, device):
    """What the device finds for matrices, from the given starts (n, 4)."""
    source = wp.array(np.asarray(a, np.float32), dtype=wp.mat33, device=device)
    start = wp.array(np.asarray(last, np.float32), dtype=wp.quat, device=device)
    out = wp.zeros(len(a), dtype=wp.quat, device=device)
    wp.launch(call_rotation, len(a), inputs=[source, start], outputs=[out], device=device)
    return out.numpy().astype(float)


def lost(a, q):
    """By how much tr(R^T A) falls short of the largest there is, over the largest singular value."""
    a = np.asarray(a, np.float32).astype(float)
    u, s, vt = np.linalg.svd(a)
    most = s[:, 0] + s[:, 1] + np.sign(np.linalg.det(u @ vt)) * s[:, 2]
    return (most - np.einsum("nij,nij->n", matrices(q / np.linalg.norm(q, axis=1)[:, None]), a)) / s[:, 0]


def with_values(rng, s):
    """Matrices with given singular values (n, 3), one more sign in the last for an inside-out one."""
    u, v = matrices(quats(rng, len(s))), matrices(quats(rng, len(s)))
    return np.einsum("nij,nj,nkj->nik", u, s, v)


def kinds(rng, n=5000):
    """Every kind of matrix that a cluster can have."""
    one, wide = np.ones(n), rng.uniform(0.0, 1.0, (n, 3))
    small = 10.0 ** rng.uniform(-8, 0, (n, 2))
    stack = lambda *columns: np.stack(columns, axis=1)
    return {
        "general": rng.normal(size=(n, 3, 3)),
        "flat": with_values(rng, stack(one, wide[:, 0], 0 * one)),
        "a line": with_values(rng, stack(one, 0 * one, 0 * one)),
        "nearly flat": with_values(rng, stack(one, wide[:, 0], small[:, 0])),
        "nearly a line": with_values(rng, stack(one, small[:, 0], small[:, 1])),
        "inside out": with_values(rng, np.sort(wide, axis=1)[:, ::-1] * [1, 1, -1]),
        "two equal": with_values(rng, stack(one, wide[:, 0], wide[:, 0])),
        "two equal, inside out": with_values(rng, stack(one, wide[:, 0], -wide[:, 0])),
        "rotations": matrices(quats(rng, n)),
        "mirrors": -matrices(quats(rng, n)),
        "minus one": np.tile(-np.eye(3), (n, 1, 1)),
        "tiny": 1e-8 * rng.normal(size=(n, 3, 3)),
        "huge": 1e8 * rng.normal(size=(n, 3, 3)),
        "all scales": 10.0 ** rng.uniform(-8, 8, (n, 1, 1)) * rng.normal(size=(n, 3, 3)),
    }


KINDS = list(kinds(np.random.default_rng(0), 1))


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_rotation_from_any_start(kind, device):
    rng = np.random.default_rng(1)
    a = kinds(rng)[kind]
    q = turns(a, quats(rng, len(a)), device)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1, atol=3e-7)
    # a turn about what is thinner than 5e-5 of its length may be left as it was: it is worth no more than this
    second = np.linalg.svd(a, compute_uv=False)[:, 1] / np.linalg.norm(a, 2, axis=(1, 2))
    assert (lost(a, q) < 1e-6 + 4 * np.where(second < 5e-5, second, 0.0)).all()


def test_half_a_turn_off(device):
    """A start that is exactly half a turn from the best is a stationary point, and is left."""
    rng = np.random.default_rng(2)
    s = rng.uniform(0.1, 1.0, (2000, 3))
    best = quats(rng, len(s))
    a = matrices(best) @ np.einsum("nij,nj,nkj->nik", *(lambda u: (u, s, u))(matrices(quats(rng, len(s)))))
    axis = rng.normal(size=(len(s), 3))
    axis /= np.linalg.norm(axis, axis=1)[:, None]
    x, y, z = axis.T
    w = best[:, 3]
    # best * (axis, 0): half a turn about the axis first
    start = np.stack(
        [
            w * x + best[:, 1] * z - best[:, 2] * y,
            w * y + best[:, 2] * x - best[:, 0] * z,
            w * z + best[:, 0] * y - best[:, 1] * x,
            -(best[:, :3] * axis).sum(axis=1),
        ],
        axis=1,
    )
    assert lost(a, turns(a, start, device)).max() < 1e-6
    same = np.tile(np.eye(3), (3, 1, 1))
    half = np.concatenate([np.eye(3), np.zeros((3, 1))], axis=1)
    assert lost(same, turns(same, half, device)).max() < 1e-6


def test_a_warm_start_finds_what_a_cold_one_does(device):
    """Where there is one best rotation, where the search began does not show in it."""
    rng = np.random.default_rng(3)
    s = np.sort(rng.uniform(0.2, 1.0, (2000, 3)), axis=1)[:, ::-1]
    a = with_values(rng, s)
    u, _, vt = np.linalg.svd(a.astype(np.float32).astype(float))
    best = u @ vt
    cold = matrices(turns(a, quats(rng, len(a)), device))
    near = turns(a + 0.05 * rng.normal(size=a.shape), quats(rng, len(a)), device)
    warm = matrices(turns(a, near, device))
    # a rotation follows from A to rounding over the sum of the two least singular values
    assert np.abs(cold - best).max() < 5e-6
    assert np.abs(warm - best).max() < 5e-6


def test_the_last_rotation_is_kept_where_there_is_none(device):
    rng = np.random.default_rng(4)
    a = np.zeros((6, 3, 3), np.float32)
    a[1, 0, 0] = np.nan
    a[2, 1, 2] = np.inf
    a[3] = 1e-38
    a[4] = 3e38
    a[5] = -np.inf
    last = quats(rng, len(a)).astype(np.float32)
    np.testing.assert_array_equal(turns(a, last, device).astype(np.float32), last)


def test_the_turn_left_open_stays_as_it_was(device):
    """Points on a line may be turned about it as one likes: they keep the last turn, so that nothing spins."""
    rng = np.random.default_rng(5)
    last = quats(rng, 500)
    along = rng.normal(size=(500, 3))
    along /= np.linalg.norm(along, axis=1)[:, None]
    a = np.einsum("nij,nj,nk->nik", matrices(last), along, along)
    assert np.abs(matrices(turns(a, last, device)) - matrices(last)).max() < 2e-5


def test_spectral_norm(device):
    rng = np.random.default_rng(6)
    for name, a in kinds(rng).items():
        source = wp.array(a.astype(np.float32), dtype=wp.mat33, device=device)
        out = wp.zeros(len(a), dtype=float, device=device)
        wp.launch(call_norm, len(a), inputs=[source], outputs=[out], device=device)
        exact = np.linalg.norm(a.astype(np.float32).astype(float), 2, axis=(1, 2))
        # the cubic loses half of the digits where two roots meet, and the root of it gets some back
        np.testing.assert_allclose(out.numpy(), exact, rtol=3e-4, err_msg=name)
    zeros = wp.zeros(2, dtype=wp.mat33, device=device)
    out = wp.full(2, 7.0, dtype=float, device=device)
    wp.launch(call_norm, 2, inputs=[zeros], outputs=[out], device=device)
    assert (out.numpy() == 0).all()


def spins(x, v, device):
    """Angular velocity of sets of points (n, k, 3) with velocities, of equal masses."""
    x = x - x.mean(axis=1, keepdims=True)
    moment, spread = np.cross(x, v).mean(axis=1), np.einsum("nki,nkj->nij", x, x) / x.shape[1]
    out = wp.zeros(len(x), dtype=wp.vec3, device=device)
    inputs = [
        wp.array(moment.astype(np.float32), dtype=wp.vec3, device=device),
        wp.array(spread.astype(np.float32), dtype=wp.mat33, device=device),
    ]
    wp.launch(call_spin, len(x), inputs=inputs, outputs=[out], device=device)
    return out.numpy().astype(float), moment, x


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_spin_has_the_points_angular_momentum(size, device):
    rng = np.random.default_rng(7)
    x = size * rng.normal(size=(1000, 9, 3)) * rng.uniform(0.2, 1.0, (1000, 1, 3))
    v = size * rng.normal(size=x.shape)
    omega, moment, x = spins(x, v, device)
    back = np.cross(x, np.cross(omega[:, None], x)).mean(axis=1)
    assert (np.linalg.norm(back - moment, axis=1) / np.linalg.norm(moment, axis=1)).max() < 1e-5
    # and a rigid motion has its own
    turn = rng.normal(size=(1000, 1, 3))
    omega, _, _ = spins(x, np.cross(turn, x), device)
    assert np.abs(omega - turn[:, 0]).max() < 1e-5


def test_spin_of_flat_and_lined_up_points(device):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(500, 6, 3))
    x[:100] *= [1, 1, 0]
    x[100:200] *= [1, 0, 0]
    x[200:300] = rng.normal(size=(100, 6, 1)) * rng.normal(size=(100, 1, 3))
    x[300:400] = 0.0
    x[400:] *= 1e-17
    turn = rng.normal(size=(500, 1, 3))
    omega, moment, x = spins(x, np.cross(turn, x), device)
    assert np.isfinite(omega).all()
    back = np.cross(x, np.cross(omega[:, None], x)).mean(axis=1)
    length = np.linalg.norm(moment[:300], axis=1)
    assert (np.linalg.norm(back - moment, axis=1)[:300] / length).max() < 3e-5
    # no turning about a line, no turning of a place
    along = x[100:300, 0] / np.linalg.norm(x[100:300, 0], axis=1)[:, None]
    # (what rounding leaves of an angular momentum about a line is divided by 1e-5, which stands for its inertia)
    assert (np.abs((omega[100:300] * along).sum(axis=1)) < np.linalg.norm(turn[100:300, 0], axis=1)).all()
    assert (omega[300:] == 0).all()
