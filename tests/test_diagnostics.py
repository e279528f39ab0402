"""What a simulation says about its own physics, against the float64 twin."""

import numpy as np
import pytest
from bodies import build, deformed, make_sim
from reference import Reference, six_volume

from pliant import Material, Scene, shapes


def test_against_the_reference(device):
    mesh, material = shapes.box((0.5, 0.3, 0.4), (3, 2, 2)), Material(young=3e4, poisson=0.4)
    sim = make_sim(mesh, material, gravity=(0.5, -9.81, 0.0), device=device)
    rng = np.random.default_rng(0)
    x = deformed(mesh, 0.08).astype(np.float32).astype(np.float64)
    v = rng.normal(size=x.shape).astype(np.float32).astype(np.float64)
    sim.set_state("body", x, v)
    found = sim.diagnostics()
    reference = Reference(mesh, material)
    m = reference.mass[:, None]
    assert found.kinetic == pytest.approx(0.5 * np.sum(m * v * v))
    assert found.elastic == pytest.approx(reference.energy(x))
    assert found.potential == pytest.approx(-np.sum(m * x * [0.5, -9.81, 0.0]))
    assert found.energy == pytest.approx(found.kinetic + found.elastic + found.potential)
    np.testing.assert_allclose(found.momentum, np.sum(m * v, axis=0), rtol=1e-10)
    np.testing.assert_allclose(found.angular_momentum, np.sum(m * np.cross(x, v), axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.mass_centre, np.sum(m * x, axis=0) / m.sum(), rtol=1e-9)
    assert found.volume_ratio == pytest.approx(
        six_volume(x[mesh.tets]).sum() / six_volume(mesh.vertices[mesh.tets]).sum()
    )
    i, j = reference.edges.T
    stretch = np.linalg.norm(x[j] - x[i], axis=1) / reference.length
    assert found.max_stretch == pytest.approx(stretch.max()) and found.min_stretch == pytest.approx(stretch.min())
    assert found.mean_stretch == pytest.approx(np.abs(stretch - 1).mean())
    assert found.max_speed == pytest.approx(np.linalg.norm(v, axis=1).max())
    assert found.finite and found.inverted == int((six_volume(x[mesh.tets]) < 0).sum())


def test_inverted_tets_and_volumes_of_each_body(device):
    scene = Scene(gravity=(0, 0, 0))
    meshes = {"a": shapes.box(0.4, 2), "b": shapes.ball(0.2, 2), "c": shapes.sheet(0.3, 2)}
    for name, mesh in meshes.items():
        scene.add_body(mesh, name=name)
    sim = build(scene, device)
    sim.set_state("a", meshes["a"].vertices * 1.1)
    sim.set_state("b", meshes["b"].vertices * [1, 1, -1])
    found = sim.diagnostics()
    np.testing.assert_allclose(found.body_volume_ratio, [1.1**3, -1.0, 1.0], rtol=1e-5)
    assert found.inverted == len(meshes["b"].tets)


def test_what_is_not_finite_is_said(device):
    sim = make_sim(shapes.box(0.4, 1), device=device)
    v = sim.state.v.numpy()
    v[2] = np.nan
    sim.state.v.assign(v)
    assert not sim.diagnostics().finite


def test_total_energy_of_a_fall(device):
    """Potential energy becomes kinetic energy, Joule for Joule."""
    sim = make_sim(shapes.ball(0.2, 2), gravity=(0, -9.81, 0), integrator="verlet", frame_dt=0.02, device=device)
    before = sim.diagnostics()
    sim.frame(30)
    after = sim.diagnostics()
    assert after.kinetic > 100 and after.energy == pytest.approx(before.energy, abs=1e-4 * after.kinetic)
