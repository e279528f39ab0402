"""The virtual laboratory: it measures what is there."""

import json
import math

import numpy as np
import pytest

import pliant
from pliant import lab
from pliant.cli import main
from pliant.lab.reference import Reference
from pliant.lab.ringing import fit_ringing
from pliant.lab.specimen import bar, of_body

STUFF = pliant.Material(young=2e5, poisson=0.4, density=1000.0, damping=0.004)


def test_ringing_is_found_again():
    times = np.linspace(0.0, 3.0, 120)
    values = 0.7 + np.exp(-0.8 * times) * (-0.7 * np.cos(2 * math.pi * 1.9 * times))
    found = fit_ringing(times, values)
    assert found.end == pytest.approx(0.7, rel=1e-3)
    assert found.frequency == pytest.approx(1.9, rel=1e-3)
    assert found.decay == pytest.approx(0.8, rel=0.01)
    assert found.recovery() == pytest.approx(math.log(20.0) / 0.8, rel=0.01)
    creeping = fit_ringing(times, 0.3 * (1.0 - np.exp(-4.0 * times)))
    assert creeping.end == pytest.approx(0.3, rel=0.02)


def test_the_reference_follows_the_formulas():
    """A finer bar comes nearer to the stretch and the first frequency of a rod that hangs."""
    young, errors = STUFF.young, []
    for cells in ((6, 1, 1), (16, 4, 4)):
        specimen = bar(0.2, cells)
        reference = Reference(specimen, pliant.Material(young=young, poisson=0.3))
        field = reference.field(np.array([10.0, 0.0, 0.0]))
        stretch = field[specimen.tip, 0].mean()
        errors.append(abs(stretch / (1000.0 * 10.0 * 0.04 / (2.0 * young)) - 1.0))
        frequency = reference.frequency(field)
        assert frequency == pytest.approx(math.sqrt(young / 1000.0) / 0.8, rel=0.06)
    assert errors[1] < errors[0] < 0.1


def test_finite_elements_answer_as_the_reference():
    found = lab.test_material(STUFF, "fem", tests=("tension",))
    assert found["tension.young"].error == pytest.approx(0.0, abs=0.01)
    assert found["tension.poisson"].error == pytest.approx(0.0, abs=0.02)


def test_damping_is_that_of_the_material():
    found = lab.test_material(STUFF, "mass_spring", tests=("tension", "torsion"))
    for test in ("tension", "torsion"):
        assert found[f"{test}.damping"].error == pytest.approx(0.0, abs=0.05)


def test_stuff_of_any_stiffness_takes_as_many_steps():
    """Steel and jelly are the same bar in their own time."""
    soft = lab.test_material(STUFF, "mass_spring", tests=("tension",))
    stiff = pliant.Material(young=2e11, poisson=0.4, density=1000.0, damping=4e-6)
    hard = lab.test_material(stiff, "mass_spring", tests=("tension",))
    assert soft.substeps == hard.substeps
    assert hard["tension.young"].value == pytest.approx(1e6 * soft["tension.young"].value, rel=1e-3)
    assert hard["tension.damping"].value == pytest.approx(4e-6, rel=0.05)


@pytest.mark.parametrize("method", lab.testable_methods())
def test_every_method_can_be_tested(method):
    found = lab.test_material(STUFF, method, tests=("torsion", "drop"))
    assert found["torsion.shear"].value > 0.0 and found["torsion.frequency"].value > 0.0
    assert 0.2 < found["drop.rebound"].value <= 1.02
    assert 0.3 < found["drop.contact time"].value / found["drop.contact time"].expected < 3.0
    assert "torsion" in found.table()


def test_calibration_brings_it_nearer(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    ball = pliant.shapes.ball(0.2, cells=3)
    matching = {"mode": "quadratic"}
    runs = [
        lab.test_material(STUFF, "shape_matching", body=ball, tests=("cantilever",), matching=matching, calibrate=way)
        for way in (False, True)
    ]
    plain, fitted = (abs(run["cantilever.young"].error) for run in runs)
    assert fitted < plain


def test_a_body_is_laid_along_x():
    mesh = pliant.shapes.box((0.1, 0.5, 0.2), (1, 4, 2))
    specimen = of_body(mesh)
    assert specimen.length == pytest.approx(0.5) and not specimen.is_bar
    assert np.ptp(specimen.mesh.vertices, axis=0)[0] == pytest.approx(0.5)
    with pytest.raises(pliant.InputError, match="no tets"):
        of_body(pliant.shapes.sheet((1.0, 1.0), 2))


def test_wrong_requests():
    with pytest.raises(pliant.InputError, match="takes no tets"):
        lab.test_material(STUFF, "baraff_witkin")
    with pytest.raises(pliant.InputError, match="no test"):
        lab.test_material(STUFF, "xpbd", tests=("chew",))
    with pytest.raises(pliant.InputError, match="no test is given"):
        lab.test_material(STUFF, "xpbd", tests=())
    with pytest.raises(pliant.InputError, match="wrong kind of unit"):
        lab.test_material(STUFF, "xpbd", size="3 kg")
    with pytest.raises(pliant.InputError, match="no duration of a frame"):
        lab.test_material(STUFF, "xpbd", frame_dt=0.0)


def test_a_body_is_dropped_as_the_ball_is():
    """A ball given as a body bounces as that of the laboratory, of which Hertz's time alone is known."""
    ball = pliant.shapes.ball(0.04, 3)
    options = {"tests": ("drop",), "substeps": 4}
    own, given = lab.test_material(STUFF, "fem", **options), lab.test_material(STUFF, "fem", body=ball, **options)
    assert given["drop.contact time"].expected is None and own["drop.contact time"].expected > 0.0
    for name in ("rebound", "contact time", "squeeze"):
        assert given[f"drop.{name}"].value == pytest.approx(own[f"drop.{name}"].value, rel=0.05)
    # far from round, it still leaves the floor within what is watched
    bar = lab.test_material(STUFF, "fem", body=pliant.shapes.box((0.3, 0.05, 0.1), (6, 1, 2)), **options)
    assert 0.0 < bar["drop.rebound"].value < 1.0 and len(bar.curves[0].times) < 48 * 12


@pytest.mark.parametrize("options", [["--methods", "fem,magic"], ["--methods", "fem,,xpbd"], ["--plot", "found.pdf"]])
def test_the_command_refuses_before_it_works(options, capsys):
    assert main(["test-material", "rubber", *options]) == 2
    assert capsys.readouterr().out == ""


def test_the_command(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    files = [str(tmp_path / name) for name in ("found.json", "found.png")]
    options = ["--methods", "mass_spring", "--tests", "tension", "--young", "0.3 MPa", "--size", "10 cm"]
    assert main(["test-material", "rubber", *options, "--json", files[0], "--plot", files[1]]) == 0
    assert "tension" in capsys.readouterr().out
    (table,) = json.loads((tmp_path / "found.json").read_text())
    assert table["material"]["young"] == 3e5 and table["quantities"][0]["name"] == "young"
    assert (tmp_path / "found.png").stat().st_size > 5000
    with pytest.raises(SystemExit):
        main(["test-material", "rubber", "--young", "3 kg"])
    assert "wrong kind of unit" in capsys.readouterr().err


def test_the_command_calibrates(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    scene = tmp_path / "one.toml"
    scene.write_text('version = 1\n[[body]]\nshape = { kind = "ball", radius = 0.2, cells = 2 }\n', encoding="utf-8")
    assert main(["calibrate", str(scene), "--json", str(tmp_path / "fit.json")]) == 0
    assert "made now" in capsys.readouterr().out
    assert json.loads((tmp_path / "fit.json").read_text())[0]["calibration"]["numbers"][0] > 0.0
    assert main(["calibrate", str(scene)]) == 0 and "known already" in capsys.readouterr().out
    assert main(["calibrate", "no such body"]) == 2
