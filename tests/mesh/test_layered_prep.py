"""``pliant prep --layered``: what it says, writes and draws; and layered bodies in scenes."""

import numpy as np
import pytest

from pliant import Scene
from pliant.cli import main
from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.io import write_mesh
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.prepare_layered import prepare_layered
from pliant.mesh.prepared import read_body


@pytest.fixture
def ball(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    write_mesh(shapes.ball(0.5, 6).surface_mesh(), tmp_path / "ball.ply")
    return tmp_path / "ball.ply"


def test_the_command_writes_a_body_and_draws_it(ball, capsys):
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    command = ["prep", "ball.ply", "--layered", "--texture", "48", "--layer-thickness", "0.1", "--report", "ball.png"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "atlas of" in said and "at centres of texels" in said and "layer 0.1 m thick" in said
    mesh = read_body("ball.plb").solid
    assert isinstance(mesh, LayeredMesh) and mesh.texture == 48
    with image.open("ball.png") as picture:
        assert picture.width > 1000 and picture.height > 1000
    assert main(command[:-2]) == 0
    assert "kept from an earlier time" in capsys.readouterr().out


def test_the_command_refuses_what_does_not_go_together(ball, capsys):
    assert main(["prep", "ball.ply", "--texture", "48"]) == 2
    assert "--layered" in capsys.readouterr().err
    assert main(["prep", "ball.ply", "--layered", "--tets", "100"]) == 2
    assert "'tets' means nothing to a layered body" in capsys.readouterr().err


def test_a_scene_makes_a_layered_body(ball):
    scene = Scene()
    scene.add(str(ball), method="layered", texture=32, layer_thickness=0.1, name="one")
    scene.add(str(ball), method="layered", texture=32, layer_thickness=0.1, name="two", position=(2.0, 0.0, 0.0))
    made = prepare_layered(str(ball)).solid
    scene.add(made, method="layered", name="three", position=(4.0, 0.0, 0.0))
    one, two, three = scene.bodies
    assert isinstance(one.source, LayeredMesh) and one.source is two.source
    assert len(three.mesh.nodes) == len(made.nodes)
    assert np.allclose(two.mesh.nodes - one.mesh.nodes, (2.0, 0.0, 0.0))
    with pytest.raises(InputError, match="texture"):
        scene.add(str(ball), method="mass_spring", texture=32)
    with pytest.raises(InputError, match="prepared already"):
        scene.add(made, method="layered", texture=32)
