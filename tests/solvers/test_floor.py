"""Bodies on planes: friction on a slope, bouncing, resting, belts."""

import numpy as np
import pytest
from bodies import build

from pliant import Material, Scene, shapes

INTEGRATORS = ["symplectic", "verlet", "euler", "midpoint", "rk4", "implicit"]
GRAVITY = 9.81


def slope_scene(integrator, friction, degrees=20.0, **surface):
    """A block that stands on a plane tilted about z."""
    angle = np.radians(degrees)
    normal = np.array([np.sin(angle), np.cos(angle), 0.0])
    scene = Scene(gravity=(0, -GRAVITY, 0), frame_dt=0.02)
    material = Material(young=1e5, poisson=0.3, damping=0.004, friction=friction, density=800.0)
    scene.add_body(
        shapes.box((0.4, 0.2, 0.3), (4, 2, 3)), material, name="body", rotation=(0, 0, -degrees),
        position=0.1 * normal,
    )  # fmt: skip
    scene.add_plane(normal=normal, friction=friction, **surface)
    scene.configure("mass_spring", integrator=integrator)
    downhill = np.array([np.cos(angle), -np.sin(angle), 0.0])
    return scene, downhill


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_friction_holds_a_block_below_the_friction_angle(integrator, device):
    """tan 20 degrees = 0.36 < 0.5."""
    scene, downhill = slope_scene(integrator, 0.5)
    sim = build(scene, device)
    # the block first settles under its weight
    sim.frame(25)
    before = sim.positions().mean(axis=0) @ downhill
    sim.frame(75)
    assert abs(sim.positions().mean(axis=0) @ downhill - before) < 1e-3
    assert abs(sim.diagnostics().momentum @ downhill) / sim.model.particles.mass.sum() < 0.01


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_and_lets_it_slide_above(integrator, device):
    """With a coefficient of 0.2 it accelerates by g (sin - 0.2 cos): friction, and neither more nor less."""
    scene, downhill = slope_scene(integrator, 0.2)
    sim = build(scene, device)
    sim.frame(50)
    centre = sim.diagnostics()
    speed = centre.momentum @ downhill / sim.model.particles.mass.sum()
    angle = np.radians(20)
    expected = GRAVITY * (np.sin(angle) - 0.2 * np.cos(angle)) * sim.time
    assert speed == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_slope_without_friction(integrator, device):
    scene, downhill = slope_scene(integrator, 0.0)
    sim = build(scene, device)
    sim.frame(50)
    speed = sim.diagnostics().momentum @ downhill / sim.model.particles.mass.sum()
    assert speed == pytest.approx(GRAVITY * np.sin(np.radians(20)) * sim.time, rel=0.02)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_belt_carries_a_body(integrator, device):
    """A plane that slides along itself takes what lies on it up to its own speed, and not beyond."""
    scene, _ = slope_scene(integrator, 0.6, 0.0, velocity=(0.5, 0, 0))
    sim = build(scene, device)
    mass = sim.model.particles.mass.sum()
    sim.frame(2)
    early = sim.diagnostics().momentum[0] / mass
    assert early == pytest.approx(0.6 * GRAVITY * sim.time, rel=0.3)
    sim.frame(60)
    late = sim.diagnostics().momentum[0] / mass
    assert late == pytest.approx(0.5, abs=0.03)
    assert sim.positions()[:, 1].min() > -1e-6


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_resting_body_neither_sinks_nor_trembles(integrator, device):
    scene = Scene(gravity=(0, -GRAVITY, 0), frame_dt=1 / 60)
    scene.add_body(shapes.box(0.3, 4), Material(young=5e4, damping=0.01), name="body", position=(0, 0.15, 0))
    scene.add_plane()
    scene.configure("mass_spring", integrator=integrator)
    sim = build(scene, device)
    sim.frame(240)
    settled = sim.positions().astype(np.float64)
    sim.frame(60)
    later = sim.positions().astype(np.float64)
    assert np.abs(later - settled).max() < 2e-4
    # methods that look ahead without the floor have velocities of a few steps' weight, and yet nothing moves
    assert np.abs(sim.velocities()).max() < (2e-3 if integrator in ("symplectic", "verlet", "implicit") else 0.2)
    bottom = later[:, 1] < 0.01
    assert bottom.sum() == 25 and np.abs(later[bottom, 1]).max() < 1e-5
    # the floor carries the weight: contacts are found, pointing up
    contacts = sim.contact_list()
    assert len(contacts) > 0 and (contacts.normal[:, 1] > 0.99).all()


@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "midpoint", "rk4"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.8])
def test_restitution_sets_the_height_of_a_bounce(integrator, restitution, device):
    """A body without stiffness is so many particles, and each rises to the square of the restitution."""
    mesh = shapes.tetrahedron(0.2)
    scene = Scene(gravity=(0, -GRAVITY, 0), frame_dt=0.002, substeps=4, stretch_limit=100.0)
    material = Material(young=1e-3, damping=0.0, restitution=restitution)
    scene.add_body(mesh, material, name="body", position=(0, 0.6, 0))
    scene.add_plane()
    scene.configure("mass_spring", integrator=integrator)
    sim = build(scene, device)
    drop = sim.positions()[:, 1]
    heights = []
    for _ in range(380):
        sim.frame()
        heights.append(sim.positions()[:, 1])
    heights = np.array(heights)
    for k in range(4):
        landing = int(np.argmax(heights[:, k] < 0.01))
        rise = heights[landing + 3 :, k].max()
        # to first order in the step: a fall of 0.6 m is 350 frames of 4 steps
        assert rise == pytest.approx(restitution**2 * drop[k], rel=0.03, abs=2e-3)


def test_a_bounce_without_loss_keeps_the_energy(device):
    """Restitution one, no friction, no damping: what the floor takes it gives back, as motion or as vibration."""
    scene = Scene(gravity=(0, -GRAVITY, 0), frame_dt=0.005)
    material = Material(young=5e4, damping=0.0, restitution=1.0, friction=0.0)
    scene.add_body(shapes.ball(0.1, 2), material, name="body", position=(0, 0.4, 0))
    scene.add_plane(friction=0.0)
    scene.configure("mass_spring", rest_speed=0.0)
    losses = []
    for finer in (4, 16):
        sim = build(scene, device)
        sim.substeps *= finer
        before = sim.diagnostics().energy
        sim.frame(120)
        losses.append(abs(sim.diagnostics().energy / before - 1))
    # putting particles back onto the plane costs a little, to first order in the step
    assert losses[0] < 0.15 and losses[1] < 0.5 * losses[0]


def test_a_particle_bounces_as_the_law_says(device):
    """A body of four particles without stiffness is four particles: each bounces by itself, exactly."""
    mesh = shapes.tetrahedron(0.2)
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=10)
    material = Material(young=1e-3, damping=0.0, density=1000.0, friction=0.5, restitution=0.6)
    scene.add_body(mesh, material, name="body", position=(0, 0.3, 0), velocity=(2.0, -3.0, 1.0))
    scene.add_plane(friction=0.125)
    sim = build(scene, device)
    sim.frame(20)
    # mu = sqrt(0.5 * 0.125) = 0.25; the normal speed changes by 3 + 1.8
    tangential = np.hypot(2.0, 1.0)
    kept = 1 - 0.25 * 4.8 / tangential
    np.testing.assert_allclose(sim.velocities(), np.tile([2.0 * kept, 1.8, kept], (4, 1)), atol=1e-4)


def test_a_body_that_starts_inside_is_put_back_and_reported(device):
    scene = Scene(gravity=(0, 0, 0))
    scene.add_body(shapes.box(0.2, 1), Material(young=1e3), name="sunk", position=(0, 0.05, 0))
    scene.add_plane(name="ground")
    with pytest.warns(UserWarning, match=r"'sunk' starts 0\.05 m inside 'ground'"):
        sim = scene.build(device)
    sim.frame()
    assert sim.positions()[:, 1].min() >= -1e-7


def test_pinned_particles_pass_through_planes(device):
    """Whoever holds a particle decides where it goes."""
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=20)
    scene.add_body(shapes.box(0.2, 1), Material(young=1e3), name="body", position=(0, 0.12, 0))
    scene.add_plane()
    scene.pin("body", lambda x: x[:, 1] < 0.03, path=[(0, (0, 0, 0)), (0.1, (0, -0.1, 0))])
    sim = build(scene, device)
    sim.frame(12)
    np.testing.assert_allclose(sim.positions()[:, 1].min(), -0.08, atol=1e-6)
