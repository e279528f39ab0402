"""Shape-matched bodies that yield: what stays, what does not, and the way back."""

import functools

import numpy as np
import pytest
from bodies import STILL, build
from matched_bodies import (
    BAR,
    CLUSTERS,
    ORDER,
    bent,
    best_turn,
    one_body,
)

from pliant import InputError, Material, Scene
from pliant.solvers.shape_matching.rest import functions

# ---- plasticity -------------------------------------------------------------------------------------------------

SOFT_METAL = Material(yield_strain=0.1, creep=20.0, plastic_limit=0.6, damping=0.0)


def stretched(rest, amount):
    return rest * [1 + amount, 1 / np.sqrt(1 + amount), 1 / np.sqrt(1 + amount)]


@functools.cache
def settled(mode, change, amount, device, material=SOFT_METAL, clusters="one"):
    """A body that was deformed and let go, after it has come to rest; and its rest positions."""
    mesh = BAR
    rest = mesh.vertices
    matching = {"mode": mode, "beta": 0.5, "frequency": 10.0, "damping_rate": 10.0, **CLUSTERS[clusters]}
    sim = one_body(mesh, matching, device, material, frame_dt=1 / 60, substeps=2)
    sim.set_state("body", change(rest, amount))
    sim.frame(180)
    return sim, rest


def length_of(x):
    return np.ptp((x - x.mean(axis=0)) @ np.linalg.svd(x - x.mean(axis=0))[2][0])


def curl_of(rest, x):
    """How much of the curvature of `bent` a shape has."""
    turn, _ = best_turn(rest, x)
    basis = np.concatenate([np.ones((len(rest), 1)), functions(rest, 9)], axis=1)
    return np.linalg.lstsq(basis, (x - x.mean(axis=0)) @ turn, rcond=None)[0][4, 1]


def plastic_maps(sim):
    return np.concatenate(
        [group.plastic_of(k) for s in sim.solvers for group in s.groups for k in range(len(group.bodies))]
    )


@pytest.mark.parametrize("clusters", ["one", "boxes"])
@pytest.mark.parametrize("mode", ["linear", "quadratic"])
def test_a_large_stretch_stays_and_a_small_one_does_not(mode, clusters, device):
    sim, rest = settled(mode, stretched, 0.5, device, clusters=clusters)
    assert length_of(sim.positions()) > 1.05 * length_of(rest)
    sim, _ = settled(mode, stretched, 0.08, device, clusters=clusters)
    assert length_of(sim.positions()) == pytest.approx(length_of(rest), rel=1e-3)
    maps = plastic_maps(sim)
    np.testing.assert_array_equal(maps, np.broadcast_to(np.eye(3, ORDER[mode]), maps.shape))


def test_a_large_bend_stays_in_quadratic_goals(device):
    sim, rest = settled("quadratic", bent, 1.2, device)
    assert curl_of(rest, sim.positions().astype(np.float64)) > 0.1
    sim, _ = settled("quadratic", bent, 0.05, device)
    assert abs(curl_of(rest, sim.positions().astype(np.float64))) < 2e-3
    # one linear cluster knows no bend, so none stays
    sim, _ = settled("linear", bent, 1.2, device)
    assert abs(curl_of(rest, sim.positions().astype(np.float64))) < 2e-3


def test_a_body_without_a_yield_strain_forgets(device):
    sim, rest = settled("quadratic", stretched, 0.5, device, Material(damping=0.0))
    assert best_turn(rest, sim.positions().astype(np.float64))[1] < 1e-3


@pytest.mark.parametrize("limit", [0.1, 0.6])
@pytest.mark.parametrize("mode", ["linear", "quadratic"])
def test_the_permanent_strain_has_a_limit_and_keeps_volume(mode, limit, device):
    material = Material(yield_strain=0.02, creep=1e3, plastic_limit=limit, damping=0.0)
    rng = np.random.default_rng(5)
    sim = one_body(BAR, {"mode": mode, "frequency": 10.0, **CLUSTERS["boxes"]}, device, material)
    for _ in range(20):
        strain = np.eye(3) + 0.8 * rng.normal(size=(3, 3))
        strain *= np.sign(np.linalg.det(strain))
        sim.set_state("body", bent(BAR.vertices, rng.uniform(-2, 2)) @ strain.T)
        sim.frame(3)
        maps = plastic_maps(sim)
        np.testing.assert_allclose(np.linalg.det(maps[:, :, :3]), 1, atol=1e-5)
        assert np.linalg.norm(maps[:, :, :3] - np.eye(3), 2, axis=(1, 2)).max() < 1.01 * limit
    assert np.linalg.norm(maps[:, :, :3] - np.eye(3), 2, axis=(1, 2)).max() > 0.5 * limit


def test_reset_shape(device):
    scene = Scene(gravity=STILL, frame_dt=1 / 60, substeps=2)
    for name in ("a", "b"):
        scene.add_body(
            BAR, SOFT_METAL, method="shape_matching", name=name,
            matching={"mode": "linear", "frequency": 10.0, "damping_rate": 10.0},
        )  # fmt: skip
    scene.add_body(BAR, SOFT_METAL, method="mass_spring", name="springs")
    sim = build(scene, device)
    # less than what would make it yield again stays of this
    for name in ("a", "b"):
        sim.set_state(name, stretched(BAR.vertices, 0.16))
    sim.frame(180)
    long = length_of(sim.positions("b"))
    assert 1.02 * length_of(BAR.vertices) < long < 1.1 * length_of(BAR.vertices)
    before = sim.positions()
    sim.reset_shape("a")
    np.testing.assert_array_equal(sim.positions(), before)
    sim.frame(180)
    assert length_of(sim.positions("a")) == pytest.approx(length_of(BAR.vertices), rel=1e-3)
    assert length_of(sim.positions("b")) == pytest.approx(long, rel=1e-3)
    with pytest.raises(InputError, match="no permanent change"):
        sim.reset_shape("springs")
    with pytest.raises(InputError, match="no body"):
        sim.reset_shape("c")


@pytest.mark.parametrize("mode", ["linear", "quadratic"])
def test_checkpoints_carry_the_plastic_shape(mode, tmp_path, device):
    from bodies import bits

    from pliant import load_checkpoint, save_checkpoint

    def fresh():
        return one_body(BAR, {"mode": mode, "frequency": 10.0, **CLUSTERS["boxes"]}, device, SOFT_METAL)

    through = fresh()
    through.set_state("body", stretched(BAR.vertices, 0.6))
    through.frame(5)
    save_checkpoint(through, tmp_path / "run.ckpt")
    through.frame(20)
    resumed = fresh()
    load_checkpoint(resumed, tmp_path / "run.ckpt")
    assert np.abs(plastic_maps(resumed) - np.eye(3, ORDER[mode])).max() > 0.01
    resumed.frame(20)
    assert bits(resumed) == bits(through)
    np.testing.assert_array_equal(plastic_maps(resumed), plastic_maps(through))
