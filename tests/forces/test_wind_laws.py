"""Drag and lift on plates, rods and loose points; still air; what a step may take."""

import numpy as np
import pytest
from bodies import build
from windy import LIGHT, flag, mean_velocity, sheet

from pliant import InputError, Material, PointCloud, Scene, Wind, shapes
from pliant.forces.wind import WindForce
from pliant.mesh.rods import RodMesh
from pliant.solvers import solver_classes


def force_on(scene, device):
    """The sum of the wind's force on a scene's bodies at their start [N] (3,), for a step so short that all acts."""
    sim = build(scene, device)
    sim.state.f_ext.zero_()
    sim.wind.apply(sim.state, 1e-9)
    return sim.state.f_ext.numpy().astype(np.float64).sum(axis=0)


def plate(device, angle, drag=1.28, lift=1.28, friction=0.0, speed=5.0):
    """The force on a plate of 1 m^2 whose normal is at an angle [degrees] to a wind along z."""
    wind = Wind(velocity=(0, 0, speed), drag=drag, lift=lift, friction=friction)
    scene = Scene(gravity=(0, 0, 0), wind=wind, substeps=1)
    scene.add_body(sheet(), LIGHT, rotation=(0, angle, 0))
    return force_on(scene, device)


@pytest.mark.parametrize("angle", [0.0, 30.0, 60.0, 85.0, 90.0, 120.0, 180.0])
@pytest.mark.parametrize("drag, lift", [(1.28, 1.28), (1.0, 0.3), (0.2, 1.5)])
def test_drag_is_along_the_wind_and_lift_across_it(angle, drag, lift, device):
    found = plate(device, angle, drag, lift)
    attack = np.radians(90.0 - angle)
    pressure = 0.5 * 1.2 * 25.0
    assert found[2] == pytest.approx(pressure * drag * np.sin(attack) ** 2, abs=1e-4)
    # the normal of a plate turned about y leans along x
    assert found[0] == pytest.approx(pressure * lift * np.sin(attack) * np.cos(attack), abs=1e-4)
    assert found[1] == pytest.approx(0.0, abs=1e-5)


def test_equal_coefficients_push_along_the_normal_and_friction_along_the_plate(device):
    found = plate(device, 50.0)
    normal = np.array([np.sin(np.radians(50.0)), 0.0, np.cos(np.radians(50.0))])
    np.testing.assert_allclose(np.cross(found, normal), 0.0, atol=1e-4)
    rubbed = plate(device, 90.0, friction=0.01)
    np.testing.assert_allclose(rubbed, [0, 0, 0.6 * 25.0 * 2 * 0.01], atol=1e-5)


def test_a_closed_body_is_only_dragged(device):
    scene = Scene(gravity=(0, 0, 0), wind=(3.0, 0, 4.0), substeps=1)
    scene.add_body(shapes.ball(0.2, 8), LIGHT)
    found = force_on(scene, device)
    along = np.array([0.6, 0.0, 0.8])
    assert found @ along == pytest.approx(0.5 * 0.6 * np.pi * 0.04 * 25.0, rel=0.05)
    assert np.linalg.norm(found - (found @ along) * along) < 0.02 * (found @ along)


def test_a_falling_sheet_reaches_its_terminal_velocity(device):
    """Still air: rho/2 Cd A v^2 = m g."""
    scene = Scene(wind={"still_air": True}, substeps=8)
    stuff = Material(young=1e5, density=300.0, thickness=0.0005, damping=0.002)
    scene.add_body(sheet(4), stuff, rotation=(90, 0, 0), name="sheet")
    sim = build(scene, device)
    assert sim.wind.active and sim.wind.velocity == (0, 0, 0)
    sim.frame(120)
    terminal = np.sqrt(2 * sim.model.particles.mass.sum() * 9.81 / (1.2 * 1.28))
    assert mean_velocity(sim)[1] == pytest.approx(-terminal, rel=0.03)


def test_momentum_that_is_given_is_force_times_time(device):
    scene = Scene(gravity=(0, 0, 0), wind=(0, 1.0, 2.0), substeps=60)
    scene.add_body(sheet(), Material(young=3e5, density=4000.0), rotation=(30, 0, 0), name="sheet")
    sim = build(scene, device)
    sim.world.has_f_ext = sim.is_forced()
    given = np.zeros(3)
    for _ in range(sim.substeps):
        sim.issue_substep()
        given += sim.dt * sim.state.f_ext.numpy().astype(np.float64).sum(axis=0)
    np.testing.assert_allclose(sim.diagnostics().momentum, given, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(given, force_on(scene, device) * sim.frame_dt, rtol=0.03, atol=1e-8)


def test_a_step_is_right_in_the_limit_of_short_ones(device):
    """A free plate in still air: v = v0 / (1 + c v0 t) exactly, at every length of step."""
    stuff = Material(young=1e4, density=100.0, thickness=0.001, damping=0.0)
    rate = 0.5 * 1.2 * 1.28 / 0.1
    for substeps in (1, 4, 64):
        scene = Scene(gravity=(0, 0, 0), wind={"still_air": True}, substeps=substeps)
        scene.add_body(sheet(1), stuff, velocity=(0, 0, 3.0), name="sheet")
        sim = build(scene, device)
        sim.frame(6)
        assert mean_velocity(sim)[2] == pytest.approx(3.0 / (1.0 + rate * 3.0 * 0.1), rel=0.02)


def test_absurd_winds_are_survived(device):
    wind = Wind(velocity=(0, 3.0, 1e4), gusts={"strength": 1.0, "size": 0.5})
    scene = Scene(wind=wind, substeps=8, air_density=100.0)
    scene.add_body(sheet(4), Material(young=1e3, density=20.0, thickness=0.0005, damping=0.002), name="sheet")
    sim = build(scene, device)
    for _ in range(20):
        sim.wind.apply(sim.state, sim.dt)
        mass = sim.model.particles.mass[:, None]
        after = sim.state.v.numpy() + sim.dt * sim.state.f_ext.numpy() / mass
        assert np.isfinite(after).all() and np.abs(after).max() < 6e4
        sim.state.v.assign(after.astype(np.float32))
        sim.state.f_ext.zero_()


def rod_force(device, wind, radius=0.01, **air):
    """The force of the wind on a straight rod of 2 m along x in 8 segments."""
    x = np.zeros((9, 3))
    x[:, 0] = np.linspace(0, 2, 9)
    rods = RodMesh(x, np.stack([np.arange(8), np.arange(1, 9)], axis=1), radius)
    method = next((name for name, cls in solver_classes().items() if issubclass(RodMesh, cls.takes)), None)
    if method is None:
        pytest.skip("no method takes rods")
    scene = Scene(gravity=(0, 0, 0), wind=Wind(velocity=wind, **air), substeps=1)
    scene.add_body(rods, LIGHT, method=method)
    return force_on(scene, device)


def test_a_rod_is_dragged_across_it_and_rubbed_along_it(device):
    area = 2 * 0.01 * 2.0
    many = lambda speed: 1.0 + 10.0 * (0.02 * speed / 1.5e-5) ** (-2 / 3)
    np.testing.assert_allclose(rod_force(device, (0, 6.0, 0)), [0, 0.6 * area * many(6) * 36.0, 0], rtol=1e-4)
    np.testing.assert_allclose(rod_force(device, (4.0, 0, 0)), [0.6 * np.pi * area * 0.005 * 16.0, 0, 0], atol=1e-6)
    both = rod_force(device, (4.0, 6.0, 0), friction=0.0)
    np.testing.assert_allclose(both, [0, 0.6 * area * many(6) * 36.0, 0], rtol=1e-4, atol=1e-7)


def test_a_thin_slow_rod_feels_more_than_its_size_says(device):
    thin = rod_force(device, (0, 1.0, 0), radius=4e-5)[1]
    assert thin > 3 * 0.6 * 2 * 4e-5 * 2.0


def test_loose_points_are_dragged_as_balls(device):
    points = PointCloud(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), radius=0.05)
    scene = Scene(gravity=(0, 0, 0), wind=(0, 5.0, 0), substeps=1)
    scene.add_body(points, LIGHT, method="shape_matching")
    expected = 4 * 0.6 * 0.47 * np.pi * 0.05**2 * 25.0
    np.testing.assert_allclose(force_on(scene, device), [0, expected, 0], rtol=1e-4, atol=1e-7)


def test_the_air_changes_live_and_says_what_is_wrong(device):
    sim = flag(device, (0, 0, 0), gravity=(0, -1, 0), substeps=5)
    assert not sim.is_forced()
    sim.set_wind(still_air=True)
    assert sim.is_forced()
    sim.set_wind((0, 0, 3), lift=0.4)
    assert sim.wind.settings == Wind(velocity=(0, 0, 3), still_air=True, lift=0.4)
    sim.set_wind(Wind(velocity=(1, 0, 0)))
    assert sim.wind.settings == Wind(velocity=(1, 0, 0))
    for bad in ({"lift": -1.0}, {"drag": "much"}, {"lifting": 1.0}, {"gusts": {"strenght": 1}}, {"gusts": 3}):
        with pytest.raises(InputError):
            sim.set_wind((0, 0, 1), **bad)
    assert sim.wind.settings == Wind(velocity=(1, 0, 0))
    with pytest.raises(InputError, match="lifting"):
        Scene(wind={"lifting": 2})


def test_torn_triangles_feel_nothing(device):
    sim = flag(device, (0, 0, 0), substeps=5)
    torn = np.zeros(len(sim.model.surface()), bool)
    torn[:36] = True
    sim.wind.tear(torn)
    sim.set_wind((0, 0, 5.0))
    force = lambda: (sim.state.f_ext.zero_(), sim.wind.apply(sim.state, 1e-9), sim.state.f_ext.numpy().sum(axis=0))[2]
    half = 0.5 * 0.6 * 1.28 * 25.0
    assert force()[2] == pytest.approx(half, rel=1e-4)
    sim.wind.tear(np.zeros_like(torn))
    assert force()[2] == pytest.approx(2 * half, rel=1e-4)


def test_air_does_not_depend_on_the_number_of_threads(set_threads):
    found = []
    for count in (1, 2):
        set_threads(count)
        scene = Scene(wind=Wind(velocity=(1, 0, 4), gusts={"strength": 0.5}), substeps=4)
        scene.add_body(sheet(70), LIGHT, name="sheet")
        sim = build(scene)
        for _ in range(3):
            sim.apply_forces()
        found.append(sim.state.f_ext.numpy().tobytes())
    assert found[0] == found[1]


def test_the_force_takes_a_plain_velocity_too():
    sim = flag("cpu", (0, 0, 0), substeps=5)
    force = WindForce(sim.model, "cpu", (0, 0, 2.0), 1.2)
    assert force.active and force.velocity == (0, 0, 2.0) and not force.gusty
