"""The same scene under several methods."""

import json

import numpy as np
import pytest

import pliant
from pliant import lab
from pliant.cli import main
from pliant.lab.ways import as_way


def test_ways_from_text():
    way = as_way("shape_matching/clusters=8/mode=quadratic/calibrate/substeps=3")
    assert way.method == "shape_matching" and way.matching == {"clusters": 8, "mode": "quadratic"}
    assert way.calibrate and way.substeps == 3 and way.settings == {}
    assert as_way("xpbd/iterations=4").settings == {"iterations": 4}
    for text, what in [
        ("magic", "no method"),
        ("xpbd/clusters=8", "no setting"),
        ("xpbd/iterations=many", "not a int"),
    ]:
        with pytest.raises(pliant.InputError, match=what):
            as_way(text)


def test_small_steps_come_nearer_to_the_reference():
    bar = pliant.shapes.box((0.1, 0.4, 0.1), (1, 4, 1))
    methods = ["fem", "fem/substeps=8", "mass_spring"]
    found = lab.compare(
        bar, methods, material=pliant.Material(young=1e5, damping=0.01), frames=20, reference_substeps=16
    )
    errors = [lane.error for lane in found.lanes]
    assert 0.0 < errors[1] < 0.5 * errors[0] < 0.1
    assert found.doubt < errors[1]
    assert all(len(lane.errors) == 20 and lane.cost > 0.0 and lane.volume_drift < 0.2 for lane in found.lanes)
    table = found.as_dict()
    assert [row["method"] for row in table["lanes"]] == [*methods, "reference"]
    assert "mass_spring" in found.table()


def test_stretch_and_volume_mean_the_same_for_every_method():
    """A bar that a frame pulls long, as its vertices have it: shape matching has no springs of its own."""

    def pulled(way):
        scene = pliant.Scene(gravity=(0.0, 0.0, 0.0))
        scene.add_body(pliant.shapes.box((0.1, 0.4, 0.1), (1, 4, 1)), method=way.method, name="bar")
        scene.pin("bar", lambda x: x[:, 1] < -0.199)
        scene.pin("bar", lambda x: x[:, 1] > 0.199, path=[(0.0, (0, 0, 0)), (0.1, (0, 0.06, 0))])
        return scene

    found = lab.compare(pulled, ["shape_matching", "mass_spring", "fem"], frames=6, reference_substeps=4)
    for lane in found.lanes:
        # by 15 % in 0.1 s; the ends go as they are led
        assert 1.12 < lane.max_stretch < 1.35 and 0.01 < lane.volume_drift < 0.2


def test_cloth_is_measured_against_xpbd_and_any_scene_against_what_is_asked():
    def sheet(way):
        scene = pliant.Scene()
        scene.add_body(pliant.shapes.sheet((0.4, 0.4), 4), "cotton", method=way.method, name="sheet")
        scene.pin("sheet", lambda x: x[:, 0] < -0.199)
        return scene

    found = lab.compare(sheet, ["baraff_witkin", "xpbd"], frames=4, reference_substeps=16)
    assert found.reference.way.method == "xpbd" and found.reference.substeps == 16
    assert all(0.0 < lane.error < 0.1 for lane in found.lanes)
    asked = lab.compare(sheet, ["xpbd"], frames=4, reference="baraff_witkin", reference_substeps=16)
    assert asked.reference.way.method == "baraff_witkin" and "baraff_witkin with 16 substeps" in asked.table()


def test_wrong_requests():
    bar = pliant.shapes.box((0.1, 0.4, 0.1), (1, 4, 1))
    for methods, options, what in [
        ([], {}, "no method"),
        (["xpbd", ""], {}, "no name"),
        (["xpbd", "xpbd"], {}, "twice"),
        (["baraff_witkin"], {}, "takes no tets"),
        (["xpbd"], {"frames": 0}, "too few"),
        (["xpbd"], {"reference_substeps": 0}, "too few"),
        (["xpbd"], {"reference": "magic"}, "no method"),
    ]:
        with pytest.raises(pliant.InputError, match=what):
            lab.compare(bar, methods, **options)
    found = lab.compare(bar, ["fem"], frames=2, reference_substeps=2)
    with pytest.raises(pliant.InputError, match="no time for a frame"):
        found.best(0.0)


def test_what_blows_up_is_told_and_never_the_best():
    bar = pliant.shapes.box((0.1, 0.4, 0.1), (1, 4, 1))
    stiff = pliant.Material(young=1e7, damping=0.001)
    found = lab.compare(
        bar, ["mass_spring/substeps=1", "fem"], material=stiff, frames=6, reference_substeps=2, film=True
    )
    first = found.lanes[0]
    assert "Blow-up" in first.stopped and len(first.times) < 6
    row = next(line for line in found.table().splitlines() if line.startswith("mass_spring"))
    assert f"stopped after {len(first.times)} frames" in row
    assert found.best(1e6)[0].way.name == "fem" and any("stopped: Blow-up" in note for note in found.notes())


def test_a_note_of_all_is_told_once():
    bar = pliant.shapes.box((0.1, 0.4, 0.1), (1, 4, 1))
    found = lab.compare(bar, ["fem", "xpbd"], frames=2, reference_substeps=2)
    for lane in found.lanes:
        lane.notes = ["it is a bar", f"I am {lane.way.name}"]
    found.lanes[1].stopped = "it fell apart"
    assert found.notes() == ["it is a bar", "fem: I am fem", "xpbd: I am xpbd", "xpbd: stopped: it fell apart"]


def test_a_scene_of_your_own():
    def falling(way):
        scene = pliant.Scene()
        scene.add_body(pliant.shapes.ball(0.1, cells=1), method=way.method, name="ball")
        return scene

    found = lab.compare(falling, ["mass_spring", "shape_matching"], frames=6, reference_substeps=2)
    # all methods fall alike, but for the first order of implicit steps
    assert all(np.max(lane.errors) < 0.02 for lane in found.lanes) and found.name == "falling"


def test_the_command(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("PIL")
    scene = tmp_path / "one.toml"
    body = '[[body]]\nshape = { kind = "ball", radius = 0.1, cells = 1 }\nposition = [0, 0.12, 0]\n[[plane]]\n'
    scene.write_text(f"version = 1\n{body}", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("c.json", "c.png", "film.png")]
    options = ["--methods", "mass_spring,xpbd", "--frames", "4", "--reference-substeps", "2", "--device", "cpu"]
    asked = ["--json", files[0], "--plot", files[1], "--film", files[2]]
    assert main(["compare", str(scene), *options, *asked]) == 0
    assert "ms/frame" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "c.json").read_text())["lanes"]) == 3
    assert all((tmp_path / name).stat().st_size > 3000 for name in ("c.png", "film.png"))
    capsys.readouterr()
    for wrong in (["--methods", "magic"], ["--plot", "c.pdf"], ["--film", "c.xyz"], ["--budget", "0"]):
        assert main(["compare", str(scene), *wrong]) == 2
        assert capsys.readouterr().out == ""


def test_a_scene_that_ships_is_compared_by_its_name(capsys):
    options = ["--methods", "fem", "--frames", "2", "--reference-substeps", "2", "--device", "cpu"]
    assert main(["compare", "three_materials", *options]) == 0
    assert "errors are over the size" in capsys.readouterr().out
