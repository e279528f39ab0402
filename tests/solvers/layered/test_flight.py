"""Layered bodies without contact: spin, energy, stiffness, scale, permanent shape, states set from outside."""

import dataclasses

import numpy as np
import pytest
from bodies import deformed, layered, make_sim, rotation

from pliant import Material, Scene, shapes

STUFF = Material(density=500.0, young=3e4, poisson=0.35, damping=0.002)


def ball(core=0.55, **factors):
    return layered(shapes.ball(0.4, 3).surface_mesh(), core, **factors)


def displaced(mesh, size=0.04, seed=3):
    """Nodes moved by a smooth field."""
    rng = np.random.default_rng(seed)
    return mesh.nodes + size * np.sin(4.0 * mesh.nodes @ rng.normal(size=(3, 3)) + rng.uniform(0, 6, 3))


def test_a_free_spin_bulges_and_is_kept(device):
    mesh = ball()
    sim = make_sim(mesh, STUFF, method="layered", device=device, body={"angular_velocity": (0.0, 12.0, 0.0)})
    before = sim.diagnostics()
    sim.frame(120)
    after = sim.diagnostics()
    radius = np.linalg.norm(sim.positions()[:, [0, 2]], axis=1)
    rest = np.linalg.norm(mesh.nodes[:, [0, 2]], axis=1)
    equator = np.abs(mesh.nodes[:, 1]) < 0.15
    assert equator.sum() > 10
    # 12 rad/s pulls with a hundredth of Young's modulus
    assert (radius[equator] > 1.005 * rest[equator]).all()
    np.testing.assert_allclose(after.angular_momentum, before.angular_momentum, rtol=1e-6, atol=1e-6)
    # it bulges at the cost of its spin
    spin = sim.solvers[0].cores().angular_velocity[0]
    assert 0.9 * 12.0 < spin[1] < 0.999 * 12.0


def test_energy_never_grows_without_load(device):
    mesh = ball()
    sim = make_sim(mesh, STUFF, method="layered", device=device)
    sim.set_state("body", displaced(mesh), np.cross([1.0, -2.0, 0.5], mesh.nodes))
    energies = [sim.diagnostics().energy]
    for _ in range(80):
        sim.frame()
        energies.append(sim.diagnostics().energy)
    assert max(np.diff(energies)) < 1e-5 * energies[0]
    assert energies[-1] < 0.6 * energies[0]


def test_momenta_are_kept_to_rounding(device):
    mesh = ball()
    sim = make_sim(mesh, STUFF, method="layered", device=device)
    rng = np.random.default_rng(0)
    sim.set_state("body", displaced(mesh), np.cross([3.0, -4.0, 2.0], mesh.nodes) + 0.5 * rng.normal(size=(92, 3)))
    before = sim.diagnostics()
    sim.frame(120)
    after = sim.diagnostics()
    scale = np.sqrt(2.0 * before.mass * before.kinetic)
    assert np.abs(after.momentum - before.momentum).max() < 1e-7 * scale
    spin = lambda d: d.angular_momentum - np.cross(d.mass_centre, d.momentum)
    assert np.abs(spin(after) - spin(before)).max() < 1e-6 * np.linalg.norm(spin(before))
    moved = after.mass_centre - before.mass_centre - before.momentum / before.mass * 2.0
    assert np.abs(moved).max() < 1e-6


def test_a_thousandfold_range_of_stiffness_is_stable(device):
    mesh = ball()
    factors = np.where(mesh.nodes[:, 0] > 0.0, 1.0, 1000.0)
    mesh = dataclasses.replace(mesh, stiffness=factors)
    stuff = dataclasses.replace(STUFF, young=2e4)
    sim = make_sim(mesh, stuff, method="layered", device=device, gravity=(0, -9.81, 0))
    x = displaced(mesh, 0.02)
    sim.set_state("body", x, np.cross([5.0, 8.0, -3.0], x))
    energy = [sim.diagnostics()]
    for _ in range(120):
        sim.frame()
        energy.append(sim.diagnostics())
    total = np.array([d.energy for d in energy])
    assert np.isfinite(total).all()
    assert max(np.diff(total)) < 1e-4 * abs(energy[0].kinetic + energy[0].elastic)


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_layers_of_any_thickness_are_scaled_copies(factor, device):
    """With time scaled as length, the same material does the same at every size."""
    mesh, ends = ball(), []
    for size in (1.0, factor):
        stuff = dataclasses.replace(STUFF, damping=STUFF.damping * size)
        own = mesh.scaled(size)
        sim = make_sim(own, stuff, method="layered", device=device, frame_dt=size / 60, substeps=1)
        sim.set_state("body", size * displaced(mesh), np.cross([1.0, -2.0, 0.5], mesh.nodes))
        sim.frame(20)
        ends.append(sim.positions() / size)
    assert np.abs(ends[0] - displaced(mesh)).max() > 0.02
    np.testing.assert_allclose(ends[1], ends[0], atol=2e-5)


def test_what_yields_keeps_its_dent_and_what_does_not_springs_back(device):
    mesh = ball()
    out = {}
    for name, limit in (("elastic", None), ("plastic", 0.02)):
        stuff = dataclasses.replace(STUFF, yield_strain=limit, creep=100.0, damping=0.01)
        sim = make_sim(mesh, stuff, method="layered", device=device)
        sim.set_state("body", displaced(mesh))
        sim.frame(180)
        out[name] = np.linalg.norm(sim.solvers[0].moment.u.numpy(), axis=1).max()
        last = sim
    assert out["elastic"] < 1e-4
    assert out["plastic"] > 0.01
    # given its shape back, it springs back too
    assert last.solvers[0].reset_shape("body")
    last.set_state("body", mesh.nodes)
    last.frame(60)
    assert np.linalg.norm(last.solvers[0].moment.u.numpy(), axis=1).max() < 1e-5


def test_the_core_fits_what_is_set(device):
    mesh = ball()
    sim = make_sim(mesh, STUFF, method="layered", device=device)
    turn, spin = rotation([1, -2, 0.5], 2.5), np.array([2.0, 1.0, -3.0])
    x = mesh.nodes @ turn.T + [1.0, 2.0, -0.5]
    sim.set_state("body", x, np.cross(spin, x - [1.0, 2.0, -0.5]) + [0.3, 0.2, 0.1])
    core = sim.solvers[0].cores()
    np.testing.assert_allclose(core.rotation[0], turn, atol=1e-6)
    np.testing.assert_allclose(core.angular_velocity[0], spin, atol=1e-5)
    centre = turn @ sim.solvers[0].rests[0].center + [1.0, 2.0, -0.5]
    np.testing.assert_allclose(core.position[0], centre, atol=1e-6)


def test_bodies_side_by_side_do_not_know_of_each_other(device):
    """Two bodies in one scene move as each does alone, though one is stiffer and needs more iterations."""
    one, other = ball(), layered(shapes.box((0.5, 0.4, 0.6), (4, 3, 4)).surface_mesh(), 0.5)
    stiff = dataclasses.replace(STUFF, young=1e6)
    starts = {"one": deformed(one, 0.05), "other": deformed(other, 0.03) + [2.0, 0.0, 0.0]}

    def run(names):
        scene = Scene(gravity=(0, -9.81, 0))
        if "one" in names:
            scene.add_body(one, STUFF, method="layered", name="one")
        if "other" in names:
            scene.add_body(other, stiff, method="layered", name="other", position=(2.0, 0.0, 0.0))
        scene.configure("layered", tolerance=1e-7)
        sim = scene.build(device)
        for name in names:
            sim.set_state(name, starts[name])
        sim.frame(30)
        return {name: sim.positions(name) for name in names}

    together = run(["one", "other"])
    for name in together:
        np.testing.assert_allclose(together[name], run([name])[name], atol=3e-6)


def test_a_checkpoint_goes_on_with_the_same_bits(device, tmp_path):
    mesh = ball()
    make = lambda: make_sim(
        mesh, dataclasses.replace(STUFF, yield_strain=0.02), method="layered", device=device, gravity=(0, -1.0, 0)
    )
    sim = make()
    sim.set_state("body", displaced(mesh))
    sim.frame(5)
    saved = {name: array.numpy().copy() for name, array in sim.arrays().items()}
    sim.frame(5)
    other = make()
    for name, array in other.arrays().items():
        array.assign(saved[name])
    other.follow_restored()
    other.frame(5)
    np.testing.assert_array_equal(sim.positions(), other.positions())
