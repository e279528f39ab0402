"""Checkpoints: going on from one is going on, to the bit; what does not fit is refused and nothing is changed."""

import io
import json
import zipfile

import numpy as np
import pytest
from bodies import bits, build

from pliant import InputError, Material, Scene, load_checkpoint, save_checkpoint, shapes

INTEGRATORS = ["symplectic", "verlet", "euler", "midpoint", "rk4", "implicit"]


def make_scene(integrator="symplectic", **changes):
    """Two bodies on a floor, one led by moving pins."""
    scene = Scene(gravity=changes.get("gravity", (0, -9.81, 0)), frame_dt=0.01, substeps=changes.get("substeps", 9))
    material = Material(young=changes.get("young", 2e4), damping=0.004, restitution=0.2)
    scene.add_body(
        shapes.box(0.3, changes.get("cells", 3)), material, name=changes.get("name", "led"), position=(0, 0.5, 0)
    )
    scene.add_body(shapes.ball(0.15, 2), material, name="ball", position=(0.6, 0.16, 0), velocity=(0, -1, 0))
    scene.pin(changes.get("name", "led"), lambda x: x[:, 1] > 0.64, path=[(0.0, (0, 0, 0)), (0.3, (0.1, -0.2, 0))])
    scene.pin(changes.get("name", "led"), [0])
    scene.add_plane(friction=changes.get("friction", 0.5), point=(0, changes.get("floor", 0.0), 0))
    scene.configure("mass_spring", integrator=integrator, **changes.get("settings", {}))
    return scene


def pulled(sim):
    sim.pull("ball", 3, (0.5, 0.6, 0.1), 5.0)
    return sim


@pytest.fixture
def saved(tmp_path):
    """A checkpoint of a run with pins and a pull."""
    sim = pulled(build(make_scene()))
    sim.frame(4)
    path = tmp_path / "run.ckpt"
    save_checkpoint(sim, path)
    return path


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_going_on_is_bit_identical(integrator, tmp_path, device):
    through = pulled(build(make_scene(integrator), device))
    through.frame(5)
    path = tmp_path / "run.ckpt"
    save_checkpoint(through, path)
    through.frame(12)
    resumed = build(make_scene(integrator), device)
    load_checkpoint(resumed, path)
    assert resumed.frame_number == 5
    resumed.frame(12)
    assert resumed.time == through.time
    assert bits(resumed) == bits(through)
    # and what was saved was not something that does not move
    assert np.abs(resumed.velocities()).max() > 0.1


def test_pins_and_pulls_made_in_flight_are_in_it(tmp_path, device):
    through = build(make_scene(), device)
    through.frame(3)
    through.unpin("led", [0])
    through.pin("ball", [1, 2])
    handle = through.pull("ball", 5, (0, 1, 0), 4.0)
    through.frame(2)
    save_checkpoint(through, tmp_path / "a.ckpt")
    resumed = build(make_scene(), device)
    load_checkpoint(resumed, tmp_path / "a.ckpt")
    for sim in (through, resumed):
        sim.frame(3)
        sim.move_pull(handle, (0.3, 1, 0))
        sim.frame(3)
        sim.release(handle)
        sim.unpin("ball", [1, 2])
        sim.frame(3)
    assert bits(resumed) == bits(through)


def test_a_pull_of_before_is_forgotten(tmp_path, device):
    """Loading into a simulation in which someone pulls elsewhere leaves nothing of that pull's force behind."""
    clean, dirty = (build(make_scene(), device) for _ in range(2))
    pulled(clean).frame(4)
    save_checkpoint(clean, tmp_path / "a.ckpt")
    dirty.pull("led", 7, (5, 5, 5), 20.0)
    dirty.frame(2)
    load_checkpoint(dirty, tmp_path / "a.ckpt")
    clean.frame(5)
    dirty.frame(5)
    assert bits(dirty) == bits(clean)


def test_saving_changes_nothing(tmp_path):
    sims = [pulled(build(make_scene())) for _ in range(2)]
    for k in range(6):
        for sim in sims:
            sim.frame()
        save_checkpoint(sims[0], tmp_path / f"{k}.ckpt")
    assert bits(sims[0]) == bits(sims[1])


def test_it_is_a_zip_of_plain_arrays(saved):
    with np.load(saved, allow_pickle=False) as data:
        meta = json.loads(data["meta"].tobytes())
        assert all(data[name].dtype != object for name in data.files)
    assert meta["frame"] == 4 and meta["version"] >= 1 and meta["device"] == "cpu"


def expect_refusal(path, words, scene=None):
    """Loading must fail with a message about the file, and leave everything as it was."""
    sim = pulled(build(scene if scene is not None else make_scene()))
    sim.frame(2)
    before, number = bits(sim), sim.frame_number
    pulls, homes = sim.pulls.saved(), dict(sim.pins.home)
    with pytest.raises(InputError, match=words) as error:
        load_checkpoint(sim, path)
    assert error.value.where == str(path) and error.value.remedy
    assert bits(sim) == before and sim.frame_number == number
    np.testing.assert_array_equal(sim.pulls.saved(), pulls)
    assert sim.pins.home.keys() == homes.keys()
    sim.frame(2)
    untouched = pulled(build(scene if scene is not None else make_scene()))
    untouched.frame(4)
    assert bits(sim) == bits(untouched)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated(saved, share):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(share * len(whole))])
    expect_refusal(saved, "damaged|no checkpoint")


def test_flipped_bits(saved):
    """Wherever a byte is changed, either the file is refused or nothing that counts was changed."""
    whole = bytearray(saved.read_bytes())
    sound = build(make_scene())
    load_checkpoint(sound, saved)
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(0, len(whole), 60):
        broken = whole.copy()
        broken[place] ^= 0xFF
        saved.write_bytes(broken)
        sim = build(make_scene())
        before = bits(sim)
        try:
            load_checkpoint(sim, saved)
        except InputError:
            refused += 1
            assert bits(sim) == before
        else:
            assert bits(sim) == bits(sound)
    assert refused > 40


def test_missing(tmp_path):
    expect_refusal(tmp_path / "nothing.ckpt", "no such file")


def test_something_else(tmp_path):
    path = tmp_path / "x.ckpt"
    path.write_text("frame = 3\n")
    expect_refusal(path, "damaged or no checkpoint")
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    path.write_bytes(buffer.getvalue())
    expect_refusal(path, "damaged or no checkpoint")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("readme.txt", "hello")
    expect_refusal(path, "damaged or no checkpoint")
    np.savez(path.with_suffix(".npz"), x=np.zeros(3))
    expect_refusal(path.with_suffix(".npz"), "damaged or no checkpoint")


def rewritten(path, change):
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    meta = json.loads(arrays["meta"].tobytes())
    change(arrays, meta)
    if "meta" in arrays:
        arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda a, m: a.pop("pulls"),
        lambda a, m: a.pop("pins.home"),
        lambda a, m: a.pop("pins.times0"),
        lambda a, m: a.pop("state.x"),
        lambda a, m: a.pop("meta"),
        lambda a, m: a.update({"state.v": a["state.v"][:-1]}),
        lambda a, m: a.update({"pulls": a["pulls"][:3]}),
        lambda a, m: a.update({"pins.particle": a["pins.particle"] + 10**6}),
        lambda a, m: m.pop("frame"),
        lambda a, m: m.pop("scene"),
    ],
)
def test_incomplete(saved, change):
    rewritten(saved, change)
    expect_refusal(saved, "damaged|missing")


def test_another_version(saved):
    rewritten(saved, lambda a, m: m.update(version=99))
    expect_refusal(saved, "version 99")


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": 4},
        {"young": 3e4},
        {"name": "other"},
        {"gravity": (0, -1.6, 0)},
        {"friction": 0.1},
        {"floor": -0.1},
        {"substeps": 10},
        {"settings": {"strain_limit": 1.5}},
    ],
    ids=str,
)
def test_of_another_scene(saved, changes):
    expect_refusal(saved, "another scene|same settings|was made with", make_scene(**changes))


def test_of_another_integrator(saved):
    expect_refusal(saved, "was made with", make_scene("verlet"))


def test_a_checkpoint_cannot_be_written(tmp_path):
    sim = build(make_scene())
    with pytest.raises(InputError, match="folder"):
        save_checkpoint(sim, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write here"):
        save_checkpoint(sim, tmp_path / "file" / "run.ckpt")
