"""Layered bodies on planes and other colliders: they rest, roll, bounce, slide and hold, and never end inside."""

import dataclasses

import numpy as np
import pytest
from bodies import layered

from pliant import Material, Scene, shapes

STUFF = Material(density=300.0, young=2e5, poisson=0.35, damping=0.002, friction=0.7)


def ball(cells=4):
    return layered(shapes.ball(0.4, cells).surface_mesh(), 0.6)


def block():
    return layered(shapes.box((0.6, 0.3, 0.6), (6, 3, 6)).surface_mesh(), 0.6)


def on_plane(mesh, device, stuff=STUFF, normal=(0, 1, 0), gravity=(0, -9.81, 0), friction=1.0, settings=None, **body):
    scene = Scene(gravity=gravity)
    scene.add_body(mesh, stuff, method="layered", name="body", **body)
    scene.add_plane(normal=normal, friction=friction)
    scene.configure("layered", **(settings or {}))
    return scene.build(device)


@pytest.mark.parametrize("young", [3e4, 3e6])
def test_a_block_rests_without_trembling_or_sinking(young, device):
    stuff = dataclasses.replace(STUFF, young=young)
    sim = on_plane(block(), device, stuff, position=(0, 0.16, 0))
    sim.frame(180)
    place = sim.solvers[0].cores().position[0]
    positions = sim.positions()
    sim.frame(120)
    # measured 2e-7 m and 2e-6 m/s
    assert np.abs(sim.solvers[0].cores().position[0] - place).max() < 1e-5
    assert np.abs(sim.positions() - positions).max() < 1e-5
    assert np.abs(sim.velocities()).max() < 2e-4
    assert sim.positions()[:, 1].min() >= 0.0
    assert (sim.positions()[:, 1] < 1e-6).sum() > 9


def test_the_floor_carries_its_weight(device):
    sim = on_plane(block(), device, position=(0, 0.151, 0))
    sim.frame(200)
    weight = sim.diagnostics().mass * 9.81
    contacts, force = sim.contact_forces()
    total = force.sum(axis=0)
    assert len(contacts) > 9
    assert total[1] == pytest.approx(weight, rel=1e-3)
    assert np.abs(total[[0, 2]]).max() < 1e-3 * weight


@pytest.mark.parametrize("mu, slides", [(0.35, True), (0.6, False)])
def test_friction_holds_a_block_below_its_angle_and_lets_it_slide_above(mu, slides, device):
    """A slope of 25 degrees, whose tangent is 0.466."""
    tilt = np.radians(25.0)
    gravity = (9.81 * np.sin(tilt), -9.81 * np.cos(tilt), 0.0)
    stuff = dataclasses.replace(STUFF, friction=mu, young=1e6)
    sim = on_plane(block(), device, stuff, gravity=gravity, friction=mu, position=(0, 0.1501, 0))
    sim.frame(60)
    before = sim.solvers[0].cores().position[0]
    sim.frame(60)
    moved = sim.solvers[0].cores().position[0] - before
    if slides:
        # from 1 s to 2 s: 1.5 s^2 of g (sin - mu cos)
        expected = 1.5 * 9.81 * (np.sin(tilt) - mu * np.cos(tilt))
        assert moved[0] == pytest.approx(expected, rel=0.1)
    else:
        assert np.abs(moved).max() < 1e-3


def test_a_ball_rolls(device):
    sim = on_plane(ball(5), device, dataclasses.replace(STUFF, young=1e6), position=(0, 0.4, 0), velocity=(2.0, 0, 0))
    sim.frame(40)
    core = sim.solvers[0].cores()
    speed, spin = core.velocity[0, 0], -core.angular_velocity[0, 2]
    assert speed > 0.8
    assert spin * 0.4 == pytest.approx(speed, rel=0.15)


def test_a_soft_ball_bounces_and_loses_energy(device):
    sim = on_plane(ball(5), device, dataclasses.replace(STUFF, young=4e4, damping=5e-4), position=(0, 1.2, 0))
    sim.substeps = 4
    heights, energy = [], []
    for _ in range(120):
        sim.frame()
        heights.append(sim.solvers[0].cores().position[0, 1])
        energy.append(sim.diagnostics().energy)
    low = int(np.argmin(heights[:40]))
    assert max(heights[low:]) > 0.5
    assert max(heights[low:]) < 1.2
    assert np.diff(energy).max() < 0.02 * energy[0]
    assert energy[-1] < energy[0]


def test_no_node_ends_inside_other_colliders(device):
    scene = Scene()
    scene.add_body(ball(), STUFF, method="layered", name="body", position=(0.05, 0.9, 0.02), velocity=(0, -2.0, 0))
    scene.add_plane()
    scene.add_sphere(0.25, (0, 0.2, 0))
    scene.add_box((0.4, 0.4, 1.0), (0.7, 0.2, 0.0))
    sim = scene.build(device)
    touched = 0
    for _ in range(90):
        sim.frame()
        x = sim.positions().astype(np.float64)
        assert x[:, 1].min() > -1e-6
        distance = np.linalg.norm(x - [0, 0.2, 0], axis=1) - 0.25
        assert distance.min() > -1e-4
        touched += (distance < 1e-4).sum()
    assert touched > 20


def test_a_spinning_ball_is_driven_by_friction(device):
    sim = on_plane(ball(5), device, dataclasses.replace(STUFF, young=1e6), position=(0, 0.4, 0),
                   angular_velocity=(0, 0, -10.0))  # fmt: skip
    sim.frame(60)
    assert sim.solvers[0].cores().velocity[0, 0] > 0.5


def test_a_moving_floor_carries_it_along(device):
    scene = Scene()
    scene.add_body(block(), STUFF, method="layered", name="body", position=(0, 0.151, 0))
    scene.add_box((6.0, 1.0, 2.0), (0, -0.5, 0), friction=1.0, path=[(0.0, (0, 0, 0)), (2.0, (1.0, 0, 0))])
    sim = scene.build(device)
    sim.frame(120)
    moved = sim.solvers[0].cores().position[0, 0]
    assert moved == pytest.approx(1.0, abs=0.1)


def test_an_impact_at_one_step_a_frame_gains_no_energy(device):
    """A block that is a thousand times stiffer on one side falls on its edge: the stiff side is not dented."""
    mesh = block()
    mesh = dataclasses.replace(mesh, stiffness=np.where(mesh.nodes[:, 0] > 0.0, 1000.0, 1.0))
    stuff = dataclasses.replace(STUFF, young=3e4)
    sim = on_plane(mesh, device, stuff, position=(0, 0.6, 0), rotation=(10.0, 0.0, 5.0), velocity=(0.5, -2.0, 0.0))
    assert sim.substeps == 1
    solver = sim.solvers[0]
    stiff = solver.rests[0].rest @ np.array(sim.model.bodies[0].turn)[:, 0] > 0.05
    energy, dents = [sim.diagnostics().energy], []
    for _ in range(60):
        sim.frame()
        energy.append(sim.diagnostics().energy)
        size = np.linalg.norm(solver.moment.u.numpy(), axis=1)
        dents.append((size[stiff].max(), size.max()))
    assert np.diff(energy).max() < 5e-3 * energy[0]
    stiffest, softest = np.max(dents, axis=0)
    assert softest > 0.01
    assert stiffest < 0.1 * softest
