"""Wind on surfaces: it pushes towards its own speed and never beyond; wind and gravity change live."""

import numpy as np
import pytest
from bodies import bits, build
from windy import LIGHT, flag, mean_velocity, sheet

from pliant import InputError, Material, Scene, SurfaceMesh, load_checkpoint, save_checkpoint, shapes
from pliant.scene_file import load_scene


@pytest.mark.parametrize("turn", [0.0, 180.0], ids=["front", "back"])
def test_the_first_push_is_that_of_the_law(turn, device):
    sim = flag(device, turn=turn, substeps=50)
    mass = sim.model.particles.mass.sum()
    sim.wind.apply(sim.state, 1e-9)
    force = sim.state.f_ext.numpy().sum(axis=0)
    np.testing.assert_allclose(force, [0, 0, 1.28 * 0.5 * 1.2 * 1.0 * 4.0**2], atol=1e-4)
    sim.frame()
    # dv/dt = a (1 - v/w)^2 with a the first acceleration
    a = force[2] / mass
    t = sim.frame_dt
    assert mean_velocity(sim)[2] == pytest.approx(4.0 * a * t / (4.0 + a * t), rel=0.01)


@pytest.mark.parametrize("method, substeps", [("mass_spring", None), ("shape_matching", 2)])
def test_a_sheet_comes_to_the_winds_speed_and_never_beyond(method, substeps, device):
    sim = flag(device, method=method, substeps=substeps)
    last = 0.0
    for _ in range(120):
        sim.frame()
        now = mean_velocity(sim)[2]
        assert last - 1e-4 <= now <= 4.0 + 1e-4
        last = now
    assert last > 3.0


@pytest.mark.parametrize("speed", [30.0, 3000.0])
def test_a_storm_does_not_throw_light_things_ahead_of_it(speed, device):
    """A step in which drag would turn the velocity around is taken only as far as is stable."""
    scene = Scene(gravity=(0, 0, 0), wind=(0, 0, speed), frame_dt=0.02, substeps=2, air_density=50.0)
    scene.add_body(sheet(1), Material(young=100.0, density=1.0, damping=0.0), name="sheet")
    sim = build(scene, device)
    for _ in range(30):
        sim.frame()
        assert sim.velocities()[:, 2].max() <= speed * 1.001
    assert sim.velocities()[:, 2].min() > 0.9 * speed


def test_a_ball_falls_at_its_terminal_velocity(device):
    """Drag coefficient 0.5: rho/2 * 0.5 * pi r^2 v^2 = m g against the air, which rises."""
    ball = shapes.ball(0.2, 6)
    scene = Scene(wind=(0.0, 2.0, 0.0))
    scene.add_body(ball, Material(young=2e5, density=30.0, damping=0.005), method="shape_matching", name="ball")
    sim = build(scene, device)
    mass = sim.model.particles.mass.sum()
    shadow = np.pi * 0.2**2
    terminal = np.sqrt(4.0 * mass * 9.81 / (1.2 * shadow))
    sim.set_state("ball", velocities=np.tile([0.0, 2.0 - 0.8 * terminal, 0.0], (len(ball.vertices), 1)))
    sim.frame(420)
    before = mean_velocity(sim)[1]
    sim.frame(30)
    assert mean_velocity(sim)[1] == pytest.approx(before, rel=0.01)
    assert mean_velocity(sim)[1] == pytest.approx(2.0 - terminal, rel=0.05)


def test_air_that_hardly_moves_only_brakes(device):
    scene = Scene(gravity=(0, 0, 0), wind=(1e-6, 0, 0))
    scene.add_body(shapes.box(0.3, 3), LIGHT, name="a", velocity=(3, 1, 0), angular_velocity=(0, 5, 2))
    scene.add_body(sheet(), LIGHT, name="b", position=(5, 0, 0), velocity=(0, 1, 3), angular_velocity=(2, 0, 1))
    sim = build(scene, device)
    start = last = sim.diagnostics().energy
    for _ in range(60):
        sim.frame()
        now = sim.diagnostics().energy
        assert now <= last * (1 + 1e-4)
        last = now
    assert last < 0.9 * start


def test_a_closed_surface_feels_the_side_that_faces_the_wind(device):
    solid = shapes.box(0.3, 3)
    for mesh in (solid, SurfaceMesh(solid.vertices, solid.surface()).drop_unused()):
        scene = Scene(gravity=(0, 0, 0), wind=(0, 0, 5.0), substeps=100)
        scene.add_body(mesh, LIGHT, name="box")
        sim = build(scene, device)
        sim.wind.apply(sim.state, 1e-9)
        force, z = sim.state.f_ext.numpy(), sim.state.x.numpy()[:, 2]
        np.testing.assert_allclose(force.sum(axis=0), [0, 0, 0.6 * 0.09 * 25.0], rtol=1e-4, atol=1e-5)
        assert not force[z > -0.149].any()


def test_no_wind_costs_nothing_and_changes_nothing(device):
    calm = flag(device, (0, 0, 0), gravity=(0, -1, 0), substeps=5)
    assert not calm.is_forced() and calm.can_fuse() and calm.wind._tables is None
    scene = Scene(gravity=(0, -1, 0), substeps=5)
    scene.add_body(sheet(), LIGHT, name="sheet")
    plain = build(scene, device)
    calm.set_wind((0, 0, 9.0))
    assert calm.is_forced() and not calm.can_fuse()
    calm.set_wind((0, 0, 0))
    calm.frame(3)
    plain.frame(3)
    assert bits(calm) == bits(plain)


def test_wind_that_changes_needs_no_new_recording(device):
    recorded, eager = (flag(device, gravity=(0, -9.81, 0), substeps=20) for _ in range(2))
    for k in range(5):
        recorded.frame()
        eager._issue_frame()
        eager.frame_number += 1
        if k == 0:
            programs = dict(recorded._programs)
        for sim in (recorded, eager):
            sim.set_wind((0.5 * k, 0, 3.0 - k + 0.5))
    assert bits(recorded) == bits(eager)
    assert recorded._programs == programs


def test_pulls_and_wind_and_insides_add_up(device):
    ball = shapes.ball(0.2, 3)
    surface = SurfaceMesh(ball.vertices, ball.surface()).drop_unused()
    forces = []
    for wind, pull, inside in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)):
        scene = Scene(gravity=(0, 0, 0), wind=(0, 0, 3.0 * wind), substeps=40)
        scene.add_body(surface, LIGHT, name="ball", volume="pressure" if inside else None)
        sim = build(scene, device)
        if pull:
            sim.pull("ball", 0, (1, 1, 1), 5.0, spread=12)
        sim.apply_forces()
        forces.append(sim.state.f_ext.numpy().astype(np.float64))
    np.testing.assert_allclose(forces[3], forces[0] + forces[1] + forces[2], atol=1e-4 * np.abs(forces[3]).max())


@pytest.mark.parametrize(
    "method, integrator", [("mass_spring", None), ("mass_spring", "implicit"), ("shape_matching", None)]
)
def test_gravity_changes_live(method, integrator, device):
    scene = Scene(gravity=(0, -9.81, 0), frame_dt=0.01, substeps=10)
    scene.add_body(shapes.box(0.2, 2), LIGHT, method=method, name="box")
    if integrator:
        scene.configure("mass_spring", integrator=integrator)
    sim = build(scene, device)
    sim.frame(5)
    before = mean_velocity(sim)
    sim.set_gravity((2.0, 3.0, 0.0))
    sim.frame(5)
    np.testing.assert_allclose(mean_velocity(sim) - before, [0.1, 0.15, 0.0], atol=1e-3)
    with pytest.raises(InputError, match="gravity"):
        sim.set_gravity((1, 2))
    with pytest.raises(InputError, match="wind"):
        sim.set_wind((np.nan, 0, 0))


def test_a_checkpoint_holds_wind_and_gravity(tmp_path, device):
    through = flag(device, (0, 0, 0), gravity=(0, -9.81, 0), substeps=10)
    through.frame(2)
    through.set_wind((0, 1, 4))
    through.set_gravity((0, -2, 0))
    through.frame(2)
    save_checkpoint(through, tmp_path / "a.ckpt")
    resumed = flag(device, (0, 0, 0), gravity=(0, -9.81, 0), substeps=10)
    load_checkpoint(resumed, tmp_path / "a.ckpt")
    for sim in (through, resumed):
        sim.frame(4)
    assert bits(through) == bits(resumed) and resumed.world.gravity == (0, -2, 0)
    other = flag(device, (0, 0, 1), gravity=(0, -9.81, 0), substeps=10)
    with pytest.raises(InputError, match="another scene"):
        load_checkpoint(other, tmp_path / "a.ckpt")


def test_a_scene_file_says_where_the_wind_blows(tmp_path):
    path = tmp_path / "windy.toml"
    text = 'version = 1\n[[body]]\nshape = { kind = "ball", radius = 0.1 }\n'
    text += "[scene]\nwind = [1.0, 0.0, 2.5]\nair_density = 1.3\n"
    path.write_text(text)
    scene = load_scene(path).scene
    assert scene.wind == (1.0, 0.0, 2.5)
    sim = scene.build("cpu")
    assert sim.wind.active and sim.wind.density == 1.3 and sim.wind.velocity == scene.wind
    path.write_text(text.replace("2.5", "1e9"))
    with pytest.raises(InputError, match="wind"):
        load_scene(path)
