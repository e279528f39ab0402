"""Corotated and neo-Hookean energies: stress is the energy's derivative, stiffness that of stress where it is positive,
and never negative; against float64, for rotated, flat, collapsed and inverted tets."""

import numpy as np
import pytest
import warp as wp
from bodies import rotation

from pliant.launch import launch
from pliant.physics import corotated, neo_hookean
from pliant.physics.polar import nearest_rotation

LAME, SHEAR = 3.0, 2.0


@wp.kernel(enable_backward=False)
def _corotated(
    f: wp.array(dtype=wp.mat33),
    lame: float,
    shear: float,
    gradients: wp.array(dtype=wp.vec3),
    energy: wp.array(dtype=float),
    stress: wp.array(dtype=wp.mat33),
    blocks: wp.array2d(dtype=wp.mat33),
):
    i = wp.tid()
    r = wp.quat_to_matrix(nearest_rotation(f[i], wp.quat_identity()))
    energy[i] = float(corotated.corotated_energy(wp.mat33d(f[i]), wp.mat33d(r), wp.float64(lame), wp.float64(shear)))
    stress[i] = corotated.corotated_stress(f[i], r, lame, shear)
    half = 0.5 * corotated.corotated_twist(f[i], r, lame, shear)
    for a in range(4):
        for b in range(4):
            blocks[i, 4 * a + b] = corotated.corotated_block(
                r * gradients[a], r * gradients[b], lame, shear + half, shear - half
            )


@wp.kernel(enable_backward=False)
def _neo_hookean(
    f: wp.array(dtype=wp.mat33),
    lame: float,
    shear: float,
    gradients: wp.array(dtype=wp.vec3),
    energy: wp.array(dtype=float),
    stress: wp.array(dtype=wp.mat33),
    blocks: wp.array2d(dtype=wp.mat33),
):
    i = wp.tid()
    energy[i] = float(neo_hookean.neo_hookean_energy(wp.mat33d(f[i]), wp.float64(lame), wp.float64(shear)))
    stress[i] = neo_hookean.neo_hookean_stress(f[i], lame, shear)
    found = neo_hookean.neo_hookean_curvature(f[i], lame, shear)
    for a in range(4):
        for b in range(4):
            blocks[i, 4 * a + b] = neo_hookean.curvature_block(
                found, wp.transpose(found.right) * gradients[a], wp.transpose(found.right) * gradients[b]
            )


KERNELS = {"corotated": _corotated, "neo_hookean": _neo_hookean}
GRADIENTS = np.array([[-1.0, -0.9, -1.2], [1.0, 0.1, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 1.0]])


def ours(energy, f, device="cpu"):
    """Energy (n,), stress (n, 3, 3) and stiffness (n, 12, 12) of the device code."""
    n = len(f)
    out = [
        wp.zeros(n, dtype=float, device=device),
        wp.zeros(n, dtype=wp.mat33, device=device),
        wp.zeros((n, 16), dtype=wp.mat33, device=device),
    ]
    given = [
        wp.array(f.astype(np.float32), dtype=wp.mat33, device=device),
        LAME,
        SHEAR,
        wp.array(GRADIENTS.astype(np.float32), dtype=wp.vec3, device=device),
    ]
    launch(KERNELS[energy], n, given, out, device=device)
    value, stress, blocks = (a.numpy().astype(np.float64) for a in out)
    return value, stress, blocks.reshape(n, 4, 4, 3, 3).transpose(0, 1, 3, 2, 4).reshape(n, 12, 12)


def twin(energy, f):
    """Energy density in float64."""
    if energy == "corotated":
        u, s, vt = np.linalg.svd(f)
        s[2] *= np.sign(np.linalg.det(u @ vt))
        return SHEAR * ((s - 1) ** 2).sum() + 0.5 * LAME * (s.sum() - 3) ** 2
    m, k = 4 / 3 * SHEAR, LAME + 5 / 6 * SHEAR
    alpha = 1 + 0.75 * m / k
    squares, volume = (f * f).sum(), np.linalg.det(f)
    at_rest = 0.5 * k * (1 - alpha) ** 2 - 0.5 * m * np.log(4)
    return 0.5 * m * (squares - 3) + 0.5 * k * (volume - alpha) ** 2 - 0.5 * m * np.log(squares + 1) - at_rest


def slope(function, f, h=1e-5):
    """Derivative of a function of a matrix by central differences."""
    found = []
    for k in range(9):
        step = np.zeros(9)
        step[k] = h
        step = step.reshape(3, 3)
        found.append((np.asarray(function(f + step)) - np.asarray(function(f - step))) / (2 * h))
    return np.array(found)


def shapes_of_tets():
    rng = np.random.default_rng(0)
    mild = [
        rotation(rng.normal(size=3), rng.uniform(0, 3)) @ (np.eye(3) + 0.3 * rng.normal(size=(3, 3))) for _ in range(30)
    ]
    mild = [f for f in mild if np.linalg.det(f) > 0.2]
    wild = [rng.normal(size=(3, 3)) * 2 for _ in range(30)]
    wild += [rotation(rng.normal(size=3), 1.0) @ np.diag(s) for s in ([1, 1, -0.5], [2, 0.3, -1.2], [3, 1, 0.02])]
    return mild, wild


@pytest.mark.parametrize("energy", KERNELS)
def test_energy_and_stress(energy, device):
    mild, wild = shapes_of_tets()
    f = np.array(mild + wild)
    value, stress, _ = ours(energy, f, device)
    for k, one in enumerate(f):
        scale = 1 + abs(twin(energy, one))
        assert value[k] == pytest.approx(twin(energy, one), abs=3e-5 * scale)
        expected = slope(lambda g: twin(energy, g), one).reshape(3, 3)
        np.testing.assert_allclose(stress[k], expected, atol=3e-4 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("energy", KERNELS)
def test_rest_and_turned_rest_have_no_stress(energy, device):
    turns = [np.eye(3), rotation([1, 2, 3], 2.5), rotation([0, 1, 0], np.pi)]
    value, stress, stiffness = ours(energy, np.array(turns), device)
    assert np.abs(stress).max() < 1e-5
    assert np.abs(value).max() < 1e-5
    for k, r in enumerate(turns):
        # stiffness at rest is that of linear elasticity, in turned axes
        strain = lambda g, r=r: 0.5 * (r.T @ g + g.T @ r) - np.eye(3)
        linear = lambda g, r=r, strain=strain: r @ (2 * SHEAR * strain(g) + LAME * np.trace(strain(g)) * np.eye(3))
        exact = slope(lambda g, linear=linear: linear(g).ravel(), r).reshape(3, 3, 3, 3)
        blocks = np.einsum("al,klij,bj->akbi", GRADIENTS, exact.transpose(2, 3, 0, 1), GRADIENTS).reshape(12, 12)
        np.testing.assert_allclose(stiffness[k], blocks, atol=1e-4)


def test_neo_hookean_stiffness_is_the_slope_of_its_stress_where_that_is_positive(device):
    mild, _ = shapes_of_tets()
    seen = 0
    _, _, stiffness = ours("neo_hookean", np.array(mild), device)
    for k, f in enumerate(mild):
        exact = slope(lambda g: slope(lambda q: twin("neo_hookean", q), g, 1e-4), f, 1e-4).reshape(9, 9)
        if np.linalg.eigvalsh(0.5 * (exact + exact.T)).min() < 0:
            continue
        seen += 1
        blocks = np.einsum("al,klij,bj->akbi", GRADIENTS, exact.reshape(3, 3, 3, 3), GRADIENTS).reshape(12, 12)
        np.testing.assert_allclose(stiffness[k], blocks, atol=1e-3 * np.abs(blocks).max())
    assert seen > 3


@pytest.mark.parametrize("energy", KERNELS)
def test_stiffness_is_never_negative(energy, device):
    """Flat, collapsed to a line or a point, inverted, huge: symmetric, finite, and no eigenvalue below zero."""
    _, wild = shapes_of_tets()
    odd = [
        np.zeros((3, 3)),
        np.diag([1.0, 1, 0]),
        np.diag([1.0, 0, 0]),
        -np.eye(3),
        np.diag([-1.0, 1, 1]),
        50 * np.eye(3),
    ]
    _, stress, stiffness = ours(energy, np.array(wild + odd), device)
    assert np.isfinite(stress).all()
    assert np.isfinite(stiffness).all()
    for k in stiffness:
        np.testing.assert_allclose(k, k.T, atol=1e-5 * np.abs(k).max())
        assert np.linalg.eigvalsh(0.5 * (k + k.T)).min() > -2e-6 * np.abs(k).max() - 1e-6


def test_stretched_stuff_is_taut(device):
    """Corotated: a tet under tension resists being turned by its own stress, one that is squeezed not at all."""
    _, _, k = ours("corotated", np.array([np.diag([1.5, 1.2, 1.2]), np.diag([0.8, 0.8, 0.8]), np.eye(3)]), device)
    turn = np.cross(np.array([0.3, -0.5, 1.0]), np.linalg.pinv(GRADIENTS[1:]).T).ravel()
    turn = np.concatenate([np.zeros(3), turn])
    works = [turn @ one @ turn for one in k]
    assert works[0] > 0.5
    assert abs(works[2]) < 1e-4
    assert works[1] >= -1e-4
