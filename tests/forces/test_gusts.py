"""Gusts: their mean, strength and smoothness, no divergence, the same from the same seed, and in every kind of file."""

import numpy as np
import pytest
from bodies import bits, build
from windy import LIGHT, sheet

from pliant import Gusts, Scene, Wind, load_checkpoint, save_checkpoint
from pliant.forces.gusts import WAVES, make_waves
from pliant.scene_file import load_scene
from pliant.scene_file.load import load_tables
from pliant.scene_file.python_code import python_code
from pliant.scene_file.write import scene_text

WIND = Wind(velocity=(6.0, 0.0, 2.0), gusts=Gusts(strength=0.3, size=1.5, seed=4))


def wave(turns):
    """The kernel's wave."""
    t = turns - np.floor(turns) - 0.5
    y = (16 * np.abs(t) - 8) * t
    return y + 0.225 * (y * np.abs(y) - y)


def field(waves, x, t=0.0):
    """Velocity of the gusts at points (n, 3) at times (n,) or one [m/s]."""
    turns = x @ waves.turns.T + waves.phase + np.multiply.outer(np.broadcast_to(t, len(x)), waves.rate)
    return wave(turns) @ waves.amplitude


def blown(device="cpu", wind=WIND, substeps=6, **more):
    scene = Scene(gravity=(0, -9.81, 0), wind=wind, substeps=substeps, **more)
    scene.add_body(sheet(), LIGHT, name="sheet")
    scene.pin("sheet", lambda x: x[:, 1] > 0.49)
    return build(scene, device)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_over_a_long_time_the_mean_is_the_wind_and_the_rms_as_asked(seed):
    speed = np.linalg.norm(WIND.velocity)
    waves = make_waves(Gusts(strength=0.3, size=1.5, seed=seed), WIND.velocity)
    found = field(waves, np.zeros((400_000, 3)), np.arange(400_000) * 0.05)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=0.01 * speed)
    np.testing.assert_allclose(found.std(axis=0), 0.3 * speed, rtol=0.03)


def test_there_is_no_divergence():
    waves = make_waves(WIND.gusts, WIND.velocity)
    assert len(waves.turns) == WAVES
    np.testing.assert_allclose(np.sum(waves.turns * waves.amplitude, axis=1), 0.0, atol=1e-12)


def test_gusts_are_smooth_in_time_and_carried_along_by_the_wind():
    waves = make_waves(Gusts(strength=0.3, size=1.5, period=1e6), WIND.velocity)
    steps = field(waves, np.zeros((4000, 3)), np.arange(4000) / 1000.0)
    assert np.abs(np.diff(steps, axis=0)).max() < 0.05 * np.abs(steps).max()
    x = np.random.default_rng(0).uniform(-2, 2, (50, 3))
    later = field(waves, x + 0.3 * np.array(WIND.velocity), 0.3)
    np.testing.assert_allclose(later, field(waves, x), atol=1e-4)


def test_the_device_has_the_same_field_at_its_own_time(device):
    sim = blown(device)
    waves = make_waves(WIND.gusts, WIND.velocity)
    sim.frame(5)
    before = sim.state.x.numpy().astype(np.float64)
    sim.apply_forces()
    expected = field(waves, before, 5 * sim.frame_dt) + WIND.velocity
    np.testing.assert_allclose(sim.wind._air_at.numpy(), expected, atol=1e-4)


def test_same_seed_same_bits_and_another_seed_others(device):
    first, second = blown(device), blown(device)
    other = blown(device, Wind(velocity=WIND.velocity, gusts=Gusts(strength=0.3, size=1.5, seed=5)))
    for sim in (first, second, other):
        sim.frame(4)
    assert bits(first) == bits(second) != bits(other)


def test_captured_is_eager(device):
    recorded, eager = blown(device), blown(device)
    for _ in range(4):
        recorded.frame()
        eager.pins.aim(eager.time + eager.frame_dt)
        eager._issue_frame()
        eager.frame_number += 1
    assert bits(recorded) == bits(eager)
    np.testing.assert_array_equal(recorded.wind.arrays()["phase"].numpy(), eager.wind.arrays()["phase"].numpy())


@pytest.mark.parametrize("live", [False, True])
def test_a_checkpoint_goes_on_bit_for_bit(tmp_path, live, device):
    through, resumed = (blown(device, (0, 0, 0) if live else WIND) for _ in range(2))
    through.frame(3)
    if live:
        through.set_wind(WIND.velocity, gusts=WIND.gusts)
        through.frame(2)
    save_checkpoint(through, tmp_path / "a.ckpt")
    through.frame(4)
    load_checkpoint(resumed, tmp_path / "a.ckpt")
    assert resumed.wind.settings == WIND
    resumed.frame(4)
    assert bits(through) == bits(resumed)


def test_what_only_looks_does_not_move_the_gusts_on(device):
    sim, other = blown(device), blown(device)
    sim.frame(2)
    sim.contact_forces()
    sim.stage_times(1)
    sim.frame(2)
    other.frame(4)
    assert bits(sim) == bits(other)


def test_gusts_change_live_and_go_on_where_they_are(device):
    sim = blown(device)
    sim.frame(2)
    phase = sim.wind.arrays()["phase"].numpy().copy()
    sim.set_wind((2.0, 0, 0))
    assert sim.wind.settings.gusts == WIND.gusts
    np.testing.assert_array_equal(sim.wind.arrays()["phase"].numpy(), phase)
    sim.frame()
    sim.set_wind(gusts=None)
    assert not sim.wind.gusty and sim.wind.active
    sim.frame()
    sim.set_wind(gusts={"strength": 0.1, "seed": 9})
    assert sim.wind.gusty
    sim.frame()


def test_files_and_programs_hold_the_whole_air(tmp_path):
    gusts = {"strength": 0.3, "size": 1.5, "seed": 4}
    tables = {
        "version": 1,
        "scene": {"wind": {"velocity": [6.0, 0.0, 2.0], "lift": 0.9, "gusts": gusts}},
        "body": [{"name": "a", "shape": {"kind": "ball", "radius": 0.1}}],
    }
    expected = Wind(velocity=(6, 0, 2), lift=0.9, gusts=WIND.gusts)
    path = tmp_path / "windy.toml"
    path.write_text(scene_text(tables))
    assert load_scene(path).scene.air == expected
    assert load_tables(tables, tmp_path).scene.air == expected
    names: dict = {}
    exec(python_code(tables).split("sim = ")[0], names)
    assert names["scene"].air == expected and names["scene"].wind == (6, 0, 2)
    path.write_text(scene_text(tables).replace("strength", "strenght"))
    with pytest.raises(Exception, match=r"strength") as error:
        load_scene(path)
    assert "windy.toml:" in str(error.value)


def test_the_studio_keeps_gusts_when_the_velocity_is_set(tmp_path):
    edits = pytest.importorskip("pliant.studio.edits")
    from pliant.studio.scene_tables import scene_tables

    scene = Scene(wind=WIND)
    scene.add_body(sheet(), LIGHT, name="sheet")
    tables = scene_tables(scene, tmp_path)
    assert load_tables(tables, tmp_path).scene.air == WIND
    edits.set_value(tables, tmp_path, {"scene": True}, "wind", [1.0, 0.0, 0.0])
    again = load_tables(tables, tmp_path).scene
    assert again.air.gusts == WIND.gusts and again.wind == (1.0, 0.0, 0.0)
