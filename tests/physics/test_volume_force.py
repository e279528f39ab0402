"""The volume force of a tet in its three forms, and both dampings, against float64 and finite differences."""

import numpy as np
import pytest
import warp as wp
from reference import six_volume, volume_gradient

from pliant.model.patches import OTHER_CORNERS
from pliant.physics.volume import (
    VOLUME_ABSOLUTE,
    VOLUME_PER_VOLUME,
    VOLUME_RELATIVE,
    corner_damping,
    opposite_normal,
    six_volume_rate,
    tet_pressure,
)

wp.set_module_options({"enable_backward": False})

FORMS = {
    "per volume": (int(VOLUME_PER_VOLUME), lambda k, v0: k * v0),
    "relative": (int(VOLUME_RELATIVE), lambda k, v0: k + 0 * v0),
    "absolute": (int(VOLUME_ABSOLUTE), lambda k, v0: 6 * k * v0**2),
}


@wp.kernel
def call_volume(
    p: wp.array2d(dtype=wp.vec3),
    v: wp.array2d(dtype=wp.vec3),
    inv_six_volume: wp.array(dtype=float),
    others: wp.array2d(dtype=int),
    k: float,
    form: int,
    time: float,
    corner: float,
    force_out: wp.array2d(dtype=wp.vec3),
):
    t, i = wp.tid()
    a = others[i, 0]
    b = others[i, 1]
    c = others[i, 2]
    e1 = p[t, a] - p[t, i]
    e2 = p[t, b] - p[t, i]
    e3 = p[t, c] - p[t, i]
    d1 = v[t, a] - v[t, i]
    d2 = v[t, b] - v[t, i]
    d3 = v[t, c] - v[t, i]
    normal = opposite_normal(e1, e2, e3)
    pressure = tet_pressure(
        wp.dot(e1, wp.cross(e2, e3)), six_volume_rate(e1, e2, e3, d1, d2, d3), inv_six_volume[t], k, form, time
    )
    force_out[t, i] = (pressure / 6.0) * normal + corner_damping(normal, d1, d2, d3, corner)


def tet_forces(p, v, v0, k, form, time=0.0, corner=0.0, device="cpu"):
    """Forces on the four corners (m, 4, 3)."""
    make = lambda a: wp.array(a.astype(np.float32), dtype=wp.vec3, device=device)
    inverse = wp.array((1.0 / (6.0 * v0)).astype(np.float32), dtype=float, device=device)
    others = wp.array(OTHER_CORNERS.astype(np.int32), dtype=int, device=device)
    out = wp.zeros((len(p), 4), dtype=wp.vec3, device=device)
    inputs = [make(p), make(v), inverse, others, float(k), form, float(time), float(corner)]
    wp.launch(call_volume, (len(p), 4), inputs=inputs, outputs=[out], device=device)
    return out.numpy().astype(np.float64)


@pytest.fixture(scope="module")
def tets():
    """Random tets, about half of them inside out, with rest volumes that do not fit them."""
    rng = np.random.default_rng(11)
    p = rng.normal(size=(300, 4, 3))
    v0 = rng.uniform(0.05, 1.0, 300)
    assert 100 < (six_volume(p) < 0).sum() < 200
    return p, rng.normal(size=p.shape), v0


def scale_of(form, k, v0):
    return FORMS[form][1](k, v0)


@pytest.mark.parametrize("form", FORMS)
def test_force_is_minus_the_gradient_of_the_signed_energy(tets, form, device):
    p, _, v0 = tets
    k = 30.0
    energy = lambda q: 0.5 * scale_of(form, k, v0) * (six_volume(q) / 6 / v0 - 1) ** 2
    force = tet_forces(p, 0 * p, v0, k, FORMS[form][0], device=device)
    step = 1e-5
    for i in range(4):
        for axis in range(3):
            shift = np.zeros((4, 3))
            shift[i, axis] = step
            slope = (energy(p + shift) - energy(p - shift)) / (2 * step)
            np.testing.assert_allclose(force[:, i, axis], -slope, rtol=1e-3, atol=3e-5 * np.abs(slope).max())


@pytest.mark.parametrize("form", FORMS)
def test_equals_the_float64_twin(tets, form, device):
    p, v, v0 = tets
    k, time = 30.0, 0.07
    gradient = volume_gradient(p)
    rate = np.einsum("mij,mij->m", gradient, v)
    slope = scale_of(form, k, v0) / v0 * (six_volume(p) / 6 / v0 - 1 + time * rate / v0)
    expected = -slope[:, None, None] * gradient
    force = tet_forces(p, v, v0, k, FORMS[form][0], time, device=device)
    assert np.abs(force - expected).max() < 2e-6 * np.abs(expected).max()
    assert np.abs(force.sum(axis=1)).max() < 5e-6 * np.abs(expected).max()


def test_absolute_form_is_the_source_as_printed(tets):
    """Lesmes 3.8: k (V - V0) times the edge vectors' cross products, without the 1/6 of the energy."""
    p, _, v0 = tets
    e1, e2, e3 = (p[:, i] - p[:, 0] for i in (1, 2, 3))
    strength = (25.0 * (six_volume(p) / 6 - v0))[:, None]
    force = tet_forces(p, 0 * p, v0, 25.0, FORMS["absolute"][0])
    scale = np.abs(force).max()
    for i, expected in enumerate([np.cross(e2 - e1, e3 - e1), np.cross(e3, e2), np.cross(e1, e3), np.cross(e2, e1)]):
        np.testing.assert_allclose(force[:, i], strength * expected, atol=2e-6 * scale)


def test_an_inverted_tet_is_pushed_back_through_itself():
    """The absolute volume of the source would rest happily inside out; the signed one must not."""
    upright = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]])
    inverted = upright * [1, 1, -1]
    v0 = six_volume(upright) / 6
    force = tet_forces(inverted, 0 * inverted, v0, 10.0, 0)
    # moving along the force turns it upright again
    assert np.sum(force * volume_gradient(inverted)) > 0
    assert force[0, 3, 2] > 0


@pytest.mark.parametrize("form", FORMS)
def test_rate_damping_dissipates_and_keeps_momentum(tets, form, device):
    p, v, v0 = tets
    still = tet_forces(p, 0 * v, v0, 30.0, FORMS[form][0], 0.07, device=device)
    damping = tet_forces(p, v, v0, 30.0, FORMS[form][0], 0.07, device=device) - still
    scale = np.abs(still).max()
    assert np.einsum("mij,mij->m", damping, v).max() <= 1e-5 * scale
    assert np.einsum("mij,mij->m", damping, v).min() < -1.0
    assert np.abs(damping.sum(axis=1)).max() < 1e-5 * scale
    torque = np.cross(p, damping).sum(axis=1)
    assert np.abs(torque).max() < 3e-5 * scale


def test_rate_damping_does_not_slow_a_rigid_motion(tets, device):
    p, _, v0 = tets
    v = np.cross([1.0, -0.5, 2.0], p) + [3.0, 1.0, -2.0]
    still = tet_forces(p, 0 * v, v0, 30.0, 0, 0.5, device=device)
    moving = tet_forces(p, v, v0, 30.0, 0, 0.5, device=device)
    assert np.abs(moving - still).max() < 2e-5 * np.abs(still).max()


def test_corner_damping_as_printed(tets, device):
    """Lesmes 3.11: minus k_d (3 v_i - v_j - v_k - v_l) . n n along each corner's own face normal."""
    p, v, v0 = tets
    damping = tet_forces(p, v, v0, 0.0, 0, corner=0.8, device=device)
    normal = -volume_gradient(p)
    n = normal / np.linalg.norm(normal, axis=2, keepdims=True)
    relative = 4 * v - v.sum(axis=1, keepdims=True)
    expected = -0.8 * np.einsum("mij,mij->mi", relative, n)[..., None] * n
    np.testing.assert_allclose(damping, expected, atol=2e-5)
    # what the documentation says of it: the sum is not zero, and a rigid rotation is slowed
    assert np.abs(damping.sum(axis=1)).max() > 0.1
    spin = np.cross([1.0, -0.5, 2.0], p)
    assert np.abs(tet_forces(p, spin, v0, 0.0, 0, corner=0.8, device=device)).max() > 0.1
    # a translation is not
    assert np.abs(tet_forces(p, np.ones_like(p), v0, 0.0, 0, corner=0.8, device=device)).max() == 0.0


@pytest.mark.parametrize("form", FORMS)
def test_degenerate_tets_are_finite(form, device):
    flat = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]])
    line = np.array([[[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]]])
    point = np.zeros((1, 4, 3))
    v = np.random.default_rng(0).normal(size=(1, 4, 3))
    for p in (flat, line, point):
        force = tet_forces(p, v, np.array([0.1]), 30.0, FORMS[form][0], 0.1, 0.7, device)
        assert np.isfinite(force).all()
    # a flat tet is pushed apart along its normal, a line and a point have none
    assert np.abs(tet_forces(flat, 0 * v, np.array([0.1]), 30.0, FORMS[form][0], device=device)).max() > 0.1
    assert (tet_forces(point, v, np.array([0.1]), 30.0, FORMS[form][0], 0.1, 0.7, device) == 0).all()


def test_a_padded_slot_exerts_nothing(device):
    """The CUDA tables are padded with tets whose inverse volume is zero and whose corners are one and the same."""
    point = np.full((1, 4, 3), 2.0)
    for form, _ in FORMS.values():
        with np.errstate(divide="ignore"):
            force = tet_forces(point, 0 * point, np.array([np.inf]), 30.0, form, 0.1, 0.7, device)
        assert (force == 0).all()
