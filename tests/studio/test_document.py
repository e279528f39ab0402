"""The studio's document: edits are checked, undone and redone, and what is saved is what was edited."""

import copy
import tomllib

import numpy as np
import pytest

import pliant
from pliant.errors import InputError
from pliant.materials import PRESETS
from pliant.scene_file import load_scene
from pliant.studio.document import Document

BALL = {"shape": {"kind": "ball", "radius": 0.3, "cells": 3}, "material": "jelly", "position": [0.0, 1.0, 0.0]}


@pytest.fixture
def document():
    made = Document.empty()
    made.add_body({"name": "ball", **BALL})
    return made


def test_an_empty_document_has_a_floor_and_a_scene():
    empty = Document.empty()
    assert empty.bodies() == []
    assert [c.name for c in empty.scene().colliders] == ["floor"]
    assert tomllib.loads(empty.toml())["plane"] == [{"name": "floor"}]


@pytest.mark.parametrize("name", ["shapes", "grid", "moving_pins", "hills", "sheet"])
def test_shipped_scenes_survive(name, tmp_path):
    opened = Document.open(name)
    again = Document.open(opened.save(tmp_path / "scene.toml"))
    first, second = load_scene(name).scene, again.scene()
    assert [b.name for b in first.bodies] == [b.name for b in second.bodies]
    assert all(np.array_equal(a.mesh.vertices, b.mesh.vertices) for a, b in zip(first.bodies, second.bodies))
    assert [b.spec.material for b in first.bodies] == [b.spec.material for b in second.bodies]
    assert first.colliders == second.colliders


def test_everything_has_a_name():
    made = Document({"body": [BALL, {"name": "body1", **BALL}, BALL], "plane": [{}], "box": [{}]}, ".")
    assert made.bodies() == ["body0", "body1", "body2"]
    assert [c["name"] for c in made.describe()["colliders"]] == ["box0", "plane1"]
    assert [b.name for b in made.scene().bodies] == made.bodies()


def test_what_is_read_is_a_copy(document):
    document.tables["body"].clear()
    document.body("ball")["material"] = "rubber"
    document.describe()["bodies"][0]["table"]["material"] = "rubber"
    assert document.material("ball") == PRESETS["jelly"]


def test_one_key_of_a_preset(document):
    document.set({"material": "ball"}, "young", 5e4)
    assert document.body("ball")["material"] == {"base": "jelly", "young": 5e4}
    assert document.material("ball").density == PRESETS["jelly"].density
    assert document.scene().bodies[0].spec.material.young == 5e4
    document.set({"material": "ball"}, "young", None)
    assert document.body("ball")["material"] == "jelly"
    document.set({"material": "ball"}, "drag", 1.0)
    document.set({"material": "ball"}, "preset", "foam")
    assert document.body("ball")["material"] == "foam"


def test_a_named_material_is_changed_for_one_body_only():
    made = Document.open("shapes")
    made.set({"material": "ball"}, "young", 9e4)
    assert made.material("ball").young == 9e4
    assert made.material("torus").young == 1.2e5


@pytest.mark.parametrize(
    ("target", "key", "value"),
    [
        ({"material": "ball"}, "young", -1.0),
        ({"material": "ball"}, "young", "soft"),
        ({"material": "ball"}, "preset", "cheese"),
        ({"material": "ball"}, "joung", 1.0),
        ({"material": "cube"}, "young", 1.0),
        ({"matching": "ball"}, "mode", "cubic"),
        ({"body": "ball"}, "position", [1.0, 2.0]),
        ({"body": "ball"}, "method", "magic"),
        ({"body": "ball"}, "shape", None),
        ({"body": "ball"}, "name", ""),
        ({"scene": True}, "frame_dt", 0.0),
        ({"scene": True}, "gravity", "down"),
        ({"solver": "mass_spring"}, "integrator", "magic"),
        ({"solver": "magic"}, "integrator", "verlet"),
        ({"collider": "floor"}, "normal", [0.0, 0.0, 0.0]),
        ({"collider": "wall"}, "friction", 0.1),
        ({"nothing": "ball"}, "young", 1.0),
        ({}, "young", 1.0),
    ],
)
def test_nothing_changes_when_a_value_is_refused(document, target, key, value):
    before = document.tables
    with pytest.raises(InputError):
        document.set(target, key, value)
    assert document.tables == before
    assert document.undo() and not document.bodies()


def test_errors_name_body_and_key(document):
    with pytest.raises(InputError, match=r"material of body 'ball'\.young: -1\.0 is out of range"):
        document.set({"material": "ball"}, "young", -1.0)


def test_settings_of_scene_solver_collider_and_matching(document):
    document.set({"scene": True}, "gravity", (0.0, -1.0, 0.0))
    document.set({"scene": True}, "frame_dt", 0.02)
    document.set({"solver": "mass_spring"}, "integrator", "verlet")
    document.set({"collider": "floor"}, "friction", np.float64(0.2))
    document.set_method("ball", "shape_matching")
    document.set({"matching": "ball"}, "mode", "rigid")
    made = document.scene()
    assert made.gravity == (0.0, -1.0, 0.0) and made.settings.frame_dt == 0.02
    assert made.solver_settings["mass_spring"] == {"integrator": "verlet"}
    assert made.colliders[0].surface.friction == 0.2
    assert made.bodies[0].spec.matching.mode == "rigid"
    about = document.describe()
    assert about["bodies"][0]["matching"].mode == "rigid" and about["bodies"][0]["material"] == PRESETS["jelly"]
    assert about["solvers"]["mass_spring"].integrator == "verlet" and about["scene"]["frame_dt"] == 0.02
    document.set({"solver": "mass_spring"}, "integrator", None)
    assert "solver" not in document.tables


def test_settings_that_contradict_each_other_are_refused(document):
    document.set({"matching": "ball"}, "alpha", 0.5)
    with pytest.raises(InputError, match="alpha"):
        document.set({"matching": "ball"}, "frequency", 10.0)


def test_undo_and_redo(document):
    states = [document.tables]
    for key, value in (("young", 1e4), ("drag", 1.0), ("young", 2e4)):
        document.set({"material": "ball"}, key, value)
        states.append(document.tables)
    for state in reversed(states[:-1]):
        assert document.undo()
        assert document.tables == state
    assert document.redo() and document.tables == states[1]
    document.set({"material": "ball"}, "density", 500.0)
    assert not document.can_redo and not document.redo()


def test_a_slider_is_undone_at_once(document):
    now = [0.0]
    document._clock = lambda: now[0]
    for step in range(50):
        now[0] += 0.5
        document.set({"material": "ball"}, "young", 1e4 + step)
    now[0] += 2.0
    document.set({"material": "ball"}, "young", 5e4)
    assert document.undo() and document.material("ball").young == 1e4 + 49
    assert document.undo() and document.body("ball")["material"] == "jelly"


def test_the_undo_stack_is_bounded(document):
    for k in range(300):
        document.set({"scene": True}, "frames", 10 + k)
        document.set({"scene": True}, "substeps", 10 + k)
    count = 0
    while document.undo():
        count += 1
    assert count == 100


def test_names_of_added_bodies_are_new(document):
    assert document.add_body({"name": "ball", **BALL}) == "ball_2"
    assert document.add_body(BALL) == "ball_3"
    assert document.add_body({"file": "bunny"}) == "bunny"
    document.remove_body("ball_2")
    assert document.add_body(BALL) == "ball_2"
    with pytest.raises(InputError):
        document.add_body({"name": "nothing"})
    document.rename_body("ball_3", "big")
    with pytest.raises(InputError, match="taken"):
        document.rename_body("big", "ball")


def test_a_copy_stands_beside_its_original_with_its_pins():
    made = Document.open("pendulum")
    name = made.copy_body("block")
    bodies = {b.name: b for b in made.scene().bodies}
    first, second = bodies["block"], bodies[name]
    assert second.mesh.vertices[:, 0].min() > first.mesh.vertices[:, 0].max()
    np.testing.assert_array_equal(first.pins[0][0], second.pins[0][0])


def test_pins_move_with_their_body():
    made = Document.open("pendulum")
    held = made.scene().bodies[1].pins[0][0]
    made.set({"body": "block"}, "position", [3.0, 4.0, 5.0])
    np.testing.assert_array_equal(made.scene().bodies[1].pins[0][0], held)


def test_pins_by_number(document):
    document.set_pins("ball", np.array([3, 1]))
    assert document.pins("ball") == [1, 3]
    assert document.scene().bodies[0].pins[0][0].tolist() == [1, 3]
    document.set_pins("ball", [])
    assert "pins" not in document.body("ball")


def test_copies_answer_to_their_own_names():
    made = Document.open("ducks")
    made.set({"material": "duck_3"}, "young", 1e4)
    assert made.material("duck").young == 1e4
    assert len(made.describe()["bodies"][0]["names"]) == 10


def test_colliders_are_added_and_removed(document):
    assert document.add_collider("plane") == "plane"
    assert document.add_collider("box", {"size": [1.0, 1.0, 1.0]}) == "box"
    document.remove_collider("plane")
    document.remove_collider("floor")
    assert [c.kind for c in document.scene().colliders] == ["box"]
    with pytest.raises(InputError):
        document.add_collider("cone")


def test_variants_leave_the_document_alone(document):
    before = document.tables
    other = document.variant("shape_matching", {"mode": "quadratic"}, {"contact": "penalty"})
    entry = other.scene().bodies[0]
    assert (entry.method, entry.spec.matching.mode) == ("shape_matching", "quadratic")
    assert other.scene().solver_settings == {"shape_matching": {"contact": "penalty"}}
    assert document.tables == before
    assert document.scene().bodies[0].source is entry.source
    with pytest.raises(InputError, match="nothing"):
        document.variant("mass_spring", settings={"nothing": 1})


def test_files_are_found_from_where_a_scene_is_saved(tmp_path):
    (tmp_path / "in").mkdir()
    pliant.write_mesh(pliant.shapes.ball(cells=3).surface_mesh(), tmp_path / "in" / "own.ply")
    made = Document({"body": [{"file": "own.ply", "solid": "surface"}]}, tmp_path / "in")
    saved = made.save(tmp_path / "out" / "scene.toml")
    assert tomllib.loads(saved.read_text())["body"][0]["file"] == "../in/own.ply"
    assert len(Document.open(saved).scene().bodies) == 1
    assert str(tmp_path / "in" / "own.ply") in made.python()


def test_an_attempt_that_fails_changes_nothing(document):
    before = document.tables
    with pytest.raises(ZeroDivisionError), document.attempt():
        document.remove_body("ball")
        raise ZeroDivisionError
    assert document.tables == before


@pytest.mark.parametrize("name", ["shapes", "moving_pins", "sheet", "ducks", "hills", "fracture"])
def test_a_scene_made_in_python_becomes_tables(name, tmp_path):
    scene = load_scene(name).scene
    assert_alike(scene, Document.from_scene(scene, tmp_path).scene())
    assert len(list(tmp_path.glob("*.plb"))) <= len({id(b.source) for b in scene.bodies})


def test_lattices_points_and_insides_become_tables(tmp_path):
    scene = pliant.Scene(gravity=(0.0, -5.0, 0.0), substeps=30)
    surface = pliant.shapes.ball(radius=0.3, cells=4).surface_mesh()
    scene.add(surface, "foam", solid="lattice", name="cubes", rotation=(0, 180, 0))
    scene.add(surface, pliant.Material(young=4e4), solid="surface", volume="pressure", name="shell", position=(2, 0, 0))
    points = pliant.PointCloud(np.random.default_rng(1).random((50, 3)), volume=0.7)
    scene.add(points, method="shape_matching", skin=surface, name="cloud", position=(4, 0, 0), rotation=(30, 0, 0))
    scene.add_box(position=(0.0, -3.0, 0.0), inside=False, friction=0.1)
    assert_alike(scene, Document.from_scene(scene, tmp_path).scene(), near=1e-6)


def assert_alike(scene, again, near=1e-9):
    for a, b in zip(scene.bodies, again.bodies, strict=True):
        np.testing.assert_allclose(a.mesh.vertices, b.mesh.vertices, rtol=0, atol=near)
        assert type(a.mesh) is type(b.mesh)
        assert (a.skin is None) == (b.skin is None)
        if a.skin is not None:
            np.testing.assert_allclose(a.skin.vertices, b.skin.vertices, rtol=0, atol=near)
        for key in ("material", "raw", "matching", "springs", "mass_shift"):
            assert getattr(a.spec, key) == getattr(b.spec, key)
        assert (a.name, a.method, a.volume, a.painted) == (b.name, b.method, b.volume, b.painted)
        for (vertices, _), (others, _) in zip(a.pins, b.pins, strict=True):
            np.testing.assert_array_equal(vertices, others)
    assert scene.colliders == again.colliders
    assert (scene.gravity, scene.settings) == (again.gravity, again.settings)
    assert scene.solver_settings == again.solver_settings


def test_a_skin_that_no_file_can_hold_is_refused(tmp_path):
    scene = pliant.Scene()
    surface = pliant.shapes.ball(radius=0.3, cells=4).surface_mesh()
    scene.add_body(pliant.shapes.ball(radius=0.3, cells=3), method="shape_matching", skin=(surface, None))
    with pytest.raises(InputError, match="skin"):
        Document.from_scene(scene, tmp_path)


def test_replacing_keeps_the_old_scene_for_undo(document):
    before = copy.deepcopy(document.tables)
    document.replace(Document.empty().tables)
    assert document.bodies() == []
    assert document.undo() and document.tables == before
