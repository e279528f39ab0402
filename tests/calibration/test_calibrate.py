"""Calibrated bodies answer more like finite elements, and builds use what is on disk or asked for."""

import numpy as np
import pytest

import pliant
from pliant.calibration.calibrate import Result, calibrate
from pliant.calibration.loads import TESTS
from pliant.mesh import cache


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))


def body(method, scale=1.0, material="rubber", **options):
    mesh = pliant.shapes.ball(0.2, cells=3).scaled(scale)
    scene = pliant.Scene()
    scene.add_body(mesh, material, method=method, name="body", **options)
    return scene


def result(method, **options):
    entry = body(method, **options).bodies[0]
    return calibrate(method, entry.source, entry.spec)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("mass_spring", {}),
        ("shape_matching", {}),
        ("shape_matching", {"matching": {"mode": "quadratic", "clusters": 4}}),
        ("shape_matching", {"matching": {"mode": "rigid", "clusters": 6}}),
    ],
)
def test_it_comes_closer(method, options):
    made = result(method, **options)
    assert not made.cached
    before, after = Result.size(made.before), Result.size(made.after)
    assert after < before and after < 0.8
    again = result(method, **options)
    assert again.cached and again.calibration == made.calibration and again.after == made.after


def test_it_depends_on_the_shape_alone():
    one = result("mass_spring")
    other = result("mass_spring", scale=50.0, material=pliant.Material(young=3e3, density=20.0, poisson=0.45))
    assert other.cached and other.calibration == one.calibration
    assert not result("mass_spring", material=pliant.Material(poisson=0.3)).cached


def test_a_damaged_file_is_made_again():
    made = result("mass_spring")
    (path,) = cache.folder().iterdir()
    path.write_text("{", encoding="utf-8")
    again = result("mass_spring")
    assert not again.cached and again.calibration == made.calibration


@pytest.mark.parametrize("method", ["mass_spring", "shape_matching"])
def test_a_build_takes_it(method):
    plain = body(method).build("cpu")
    auto = body(method, calibrate="auto").build("cpu")
    assert not any("calibrated" in note for note in plain.notes + auto.notes), "nothing is on disk yet"
    asked = body(method, calibrate=True).build("cpu")
    assert any("calibrated against finite elements" in note for note in asked.notes)
    later = body(method, calibrate="auto").build("cpu")
    assert any("calibrated against finite elements" in note for note in later.notes)
    still = body(method).build("cpu")
    assert not any("calibrated" in note for note in still.notes), "only where it is asked for"
    x = plain.model.particles.rest * 1.05
    energies = [sim.solvers[0].energy(x) for sim in (plain, auto, asked, later)]
    assert energies[0] == energies[1] != energies[2] == energies[3]


def test_scene_files_and_scenes_ask_for_it(tmp_path):
    from pliant.scene_file import load_scene

    text = 'version = 1\n[scene]\ncalibrate = "on"\n[[body]]\nshape = { kind = "ball", radius = 0.2, cells = 2 }\n'
    path = tmp_path / "scene.toml"
    path.write_text(text, encoding="utf-8")
    assert any("calibrated against" in note for note in load_scene(path).scene.build("cpu").notes)
    path.write_text(text + "calibrate = false\n", encoding="utf-8")
    assert not any("calibrated" in note for note in load_scene(path).scene.build("cpu").notes)


def test_what_cannot_be_calibrated_is_said():
    notes = body("xpbd", calibrate=True).build("cpu").notes
    assert any("nothing to calibrate" in note for note in notes)
    notes = body("shape_matching", calibrate=True, matching={"alpha": 0.5}).build("cpu").notes
    assert any("alpha" in note for note in notes)
    with pytest.raises(pliant.InputError, match="not known"):
        body("mass_spring", calibrate="maybe")


def test_the_simulation_gives_in_as_the_fit_says():
    """A body that leans moves nearer to where finite elements say."""
    from pliant import lab

    ball = pliant.shapes.ball(0.2, cells=3)
    stuff = pliant.Material(young=1e5, poisson=0.4, damping=0.01)
    made = result("shape_matching", material=stuff)
    runs = [
        lab.test_material(stuff, "shape_matching", body=ball, tests=("cantilever",), substeps=60, calibrate=way)
        for way in (False, True)
    ]
    plain, fitted = (abs(np.log(run["cantilever.displacement"].value / 0.02 / 0.4)) for run in runs)
    lean = TESTS.index("lean")
    assert made.after[lean] < 0.5 * made.before[lean]
    assert fitted < 0.5 * plain
