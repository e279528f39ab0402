"""Layered bodies in scene files: what makes them, what is refused, and the same as Python."""

import tomllib

import pytest

from pliant.errors import InputError
from pliant.mesh.layered import LayeredMesh
from pliant.scene_file import load_scene, python_code

FILE = """
version = 1
[[body]]
name = "pumpkin"
shape = { kind = "pumpkin", detail = 64 }
method = "layered"
texture = 32
layer_thickness = 0.05
position = [0.0, 0.5, 0.0]
"""


def read(tmp_path, text):
    path = tmp_path / "scene.toml"
    path.write_text(text)
    return load_scene(path)


def test_a_shape_becomes_a_layered_body(tmp_path):
    scene = read(tmp_path, FILE).scene
    assert isinstance(scene.bodies[0].mesh, LayeredMesh)
    assert scene.bodies[0].skin is not None
    sim = scene.build("cpu")
    sim.frame()
    assert sim.solvers[0].name == "layered"


@pytest.mark.parametrize(
    "change, told",
    [
        (("layered", "xpbd"), "texture"),
        (("position = [0.0, 0.5, 0.0]", "scale = 2.0"), "not scaled"),
        (("position = [0.0, 0.5, 0.0]", 'skin = "bunny"'), "its own surface"),
    ],
)
def test_what_makes_no_sense_is_refused(change, told, tmp_path):
    with pytest.raises(InputError, match=told):
        read(tmp_path, FILE.replace(*change))


def test_as_python_it_is_the_same_body():
    code = python_code(tomllib.loads(FILE))
    assert 'method="layered"' in code and "texture=32" in code and "scene.add(" in code
