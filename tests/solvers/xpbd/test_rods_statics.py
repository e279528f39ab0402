"""Rods at rest under load, against what is known of bars, beams, shafts and coil springs."""

import dataclasses

import numpy as np
import pytest
from bodies import build, make_scene
from rod_bodies import NYLON, clamped, helix, part_of, rod_sim, rope, strain

from pliant.mesh.rods import RodMesh
from pliant.solvers.xpbd import rod_frames

GRAVITY = 9.81


def settle(sim, frames):
    sim.frame(frames)
    assert np.abs(sim.velocities()).max() < 1e-3
    return sim.positions().astype(np.float64)


@pytest.mark.parametrize("bends", [True, False], ids=["rod", "chain"])
@pytest.mark.parametrize(("iterations", "substeps"), [(1, 1), (1, 2), (4, 1)])
def test_a_hanging_rope_stretches_by_its_weight(bends, iterations, substeps, device):
    """Each segment is longer by what hangs on it, L / EA times the weight, whatever the iterations and steps."""
    rubber = dataclasses.replace(NYLON, young=1e6, damping=0.02)
    mesh = rope(20, direction=(0.0, -1.0, 0.0))
    sim = rod_sim(
        mesh, rubber, pins=[0], bends=bends, gravity=(0, -GRAVITY, 0), substeps=substeps, iterations=iterations,
        device=device,
    )  # fmt: skip
    settle(sim, 150)
    area = np.pi * 0.005**2
    below = rubber.density * area * (1.0 - (np.arange(20) + 0.5) / 20)
    np.testing.assert_allclose(strain(mesh, sim), below * GRAVITY / (1e6 * area), rtol=2e-3, atol=2e-6)


def cantilever(count, device="cpu", substeps=1):
    """Sag of the tip over that of Euler and Bernoulli, w L^4 / 8 EI."""
    mesh = clamped(count)
    stiff = dataclasses.replace(NYLON, young=2e10, damping=0.05)
    sim = rod_sim(mesh, stiff, pins=[0, 1], gravity=(0, -GRAVITY, 0), substeps=substeps, device=device)
    x = settle(sim, 120)
    moment = np.pi / 4 * 0.005**4
    expected = stiff.density * np.pi * 0.005**2 * GRAVITY / (8 * stiff.young * moment)
    return -x[-1, 1] / expected


def test_a_cantilever_sags_as_a_beam(device):
    errors = [abs(cantilever(count, device) - 1.0) for count in (8, 16, 32)]
    assert errors[0] < 0.02
    assert errors[2] < errors[0] / 4 or errors[2] < 1e-3


def test_the_sag_does_not_depend_on_the_step():
    assert cantilever(10, substeps=3) == pytest.approx(cantilever(10), rel=1e-3)


def test_a_rod_bends_into_a_circle():
    """Large deflection: a rod whose ends are led to those of a semicircle of its length takes its shape."""
    count = 24
    mesh = rope(count + 2, length=1.0 + 1.0 / count, start=1.0 / count)
    # the polygon with even turns between its segments, but for half of one at each clamp
    turn = np.pi / count
    angle = np.concatenate([[0.0], turn * (np.arange(count) + 0.5), [np.pi]])
    steps = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1) / count
    goal = mesh.vertices[0] + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    scene = make_scene(mesh, dataclasses.replace(NYLON, damping=0.02, drag=2.0), method="xpbd", substeps=4)
    scene.pin("body", [0, 1])
    for vertex in (count + 1, count + 2):
        # out of the straight line first, so that it is clear where to bend to
        offset = goal[vertex] - mesh.vertices[vertex]
        scene.pin(
            "body", [vertex], path=[(0.0, (0, 0, 0)), (0.3, tuple(0.5 * offset + [0, 0.3, 0])), (1.0, tuple(offset))]
        )
    sim = build(scene)
    sim.frame(240)
    np.testing.assert_allclose(sim.positions(), goal, atol=2e-3)
    energy = 0.5 * NYLON.young * np.pi / 4 * 0.005**4 * np.pi**2
    assert sim.solvers[0].energy(sim.state.x.numpy()) == pytest.approx(energy, rel=0.01)


def test_a_twisted_shaft_bears_its_torque(device):
    """The end turned by an angle: T = G J angle / L, the twist spread evenly, and nothing moves sideways."""
    count, angle = 16, 1.2
    mesh = rope(count + 2, length=1.0 + 1.0 / count, start=1.0 / count)
    sim = rod_sim(mesh, dataclasses.replace(NYLON, damping=0.05), pins=[0, 1, count + 1, count + 2], device=device)
    group = part_of(sim).groups[0]
    q = group.q.numpy()
    last = np.flatnonzero(group.particle == sim.model.bodies[0].particle_of[-1])[0]
    turn = np.array([np.sin(angle / 2), 0.0, 0.0, np.cos(angle / 2)])
    q[last] = rod_frames.product(turn[None], q[last][None].astype(float))[0]
    group.q.assign(q)
    sim.frame(120)
    torque = group.torque.numpy()[~group.is_root][1:, 0] / sim.dt**2
    # G J angle over the free length of 1 m
    expected = NYLON.shear_modulus * np.pi / 2 * 0.005**4 * angle
    np.testing.assert_allclose(np.abs(torque), expected, rtol=5e-3)
    assert np.abs(sim.positions() - mesh.vertices).max() < 1e-5
    assert sim.solvers[0].energy(sim.state.x.numpy()) == pytest.approx(0.5 * expected * angle, rel=1e-2)


def test_a_coil_is_a_spring():
    """A coil keeps its shape without load, and pulled at its ends it resists as k = G d^4 / 8 D^3 n (Wahl)."""
    mesh = helix()
    material = dataclasses.replace(NYLON, damping=0.01, drag=2.0)
    free = rod_sim(mesh, material, substeps=2)
    free.frame(20)
    assert np.abs(free.positions() - mesh.vertices).max() < 1e-5
    end, pull = len(mesh.vertices) - 1, 0.02
    scene = make_scene(mesh, material, method="xpbd", substeps=2)
    scene.pin("body", [0, 1])
    scene.pin("body", [end - 1, end], path=[(0.0, (0, 0, 0)), (0.5, (0, -pull, 0))])
    sim = build(scene)
    sim.frame(240)
    stiffness = NYLON.shear_modulus * 0.004**4 / (8 * 0.1**3 * 5)
    energy = sim.solvers[0].energy(sim.state.x.numpy())
    assert energy == pytest.approx(0.5 * stiffness * pull**2, rel=0.1)


def test_a_fork_stands_symmetrically(device):
    """Two equal branches of a tree sag alike, and the trunk stays upright."""
    arms = [[0, 0.1, 0], [0, 0.2, 0], [0, 0.3, 0]]
    for k in range(1, 5):
        arms += [[0.06 * k, 0.3 + 0.05 * k, 0], [-0.06 * k, 0.3 + 0.05 * k, 0]]
    x = np.array([[0.0, 0, 0], *arms])
    segments = [[0, 1], [1, 2], [2, 3], [3, 4], [3, 5], [4, 6], [5, 7], [6, 8], [7, 9], [8, 10], [9, 11]]
    mesh = RodMesh(x, segments, 0.003)
    sim = rod_sim(
        mesh, dataclasses.replace(NYLON, damping=0.05), pins=[0, 1], gravity=(0, -GRAVITY, 0), substeps=2, device=device
    )
    found = settle(sim, 200)
    assert found[10, 1] < x[10, 1] - 0.001
    np.testing.assert_allclose(found[10], found[11] * [-1, 1, 1], atol=2e-6)
    assert np.abs(found[:4, 0]).max() < 2e-6
