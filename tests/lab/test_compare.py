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
    assert main(["compare", str(scene), "--methods", "magic"]) == 2
