"""Pins along motions and attachments in scene files: what they make, and that no way of writing loses them."""

import tomllib

import numpy as np
import pytest

import pliant
from pliant.errors import InputError
from pliant.scene_file import load_tables, python_code, scene_text
from pliant.studio.document import Document

BOX = {"kind": "box", "size": [0.2, 0.2, 0.2], "cells": [1, 1, 1]}
TURN = [{"time": 0.0}, {"time": 1.0, "offset": [0.1, 0.0, 0.0], "rotation": [0.0, 90.0, 0.0], "scale": [0.5, 1.0, 1.0]}]
TABLES = {
    "version": 1,
    "name": "tied",
    "sphere": [{"name": "ball", "radius": 0.1, "position": [0.0, -1.0, 0.0]}],
    "body": [
        {
            "name": "beam",
            "shape": BOX,
            "pins": [
                {"vertices": [0, 1], "path": TURN},
                {"vertices": [2], "path": [[0.0, [0.0, 0.0, 0.0]], [1.0, [0.0, 1.0, 0.0]]]},
                {"box": [[-1.0, -1.0, -1.0], [0.0, 0.0, 0.0]], "path": TURN, "center": [0.0, 1.0, 2.0]},
            ],
        },
        {"name": "load", "shape": BOX, "position": [0.0, -0.2, 0.0]},
        {"name": "row", "shape": BOX, "position": [2.0, 0.0, 0.0],
         "copies": {"count": [2, 1, 1], "spacing": [0.2, 0.0, 0.0]},
         "pins": [{"vertices": [0], "path": TURN, "center": [2.0, 0.0, 0.0]}]},
        {"name": "under", "shape": BOX, "position": [2.0, -0.2, 0.0],
         "copies": {"count": [2, 1, 1], "spacing": [0.2, 0.0, 0.0]}},
    ],
    "attachment": [
        {"name": "hook", "body": "load", "to": "beam", "box": [[-1.0, -0.11, -1.0], [1.0, -0.09, 1.0]],
         "stiffness": 500.0, "strength": 30.0},
        {"body": "load", "to": "load", "vertices": [0, 1], "at": [6, 7], "distance": 0.0},
        {"body": "load", "to": "ball", "vertices": [3]},
        {"name": "pairs", "body": "under", "to": "row", "box": [[1.9, -0.11, -0.2], [2.1, -0.09, 0.2]]},
        {"body": "row", "to": "beam", "vertices": [2]},
    ],
}  # fmt: skip


def made_by(code, monkeypatch):
    """The scene that a program builds; it is not run."""
    scenes = []

    class Runs:
        def frame(self):
            pass

    with monkeypatch.context() as patch:
        patch.setattr(pliant.Scene, "build", lambda self: scenes.append(self) or Runs())
        exec(compile(code, "scene", "exec"), {})
    return scenes[0]


def assert_same_ties(first, second):
    for a, b in zip(first.bodies, second.bodies, strict=True):
        for (vertices, one), (others, two) in zip(a.pins, b.pins, strict=True):
            np.testing.assert_array_equal(vertices, others)
            if one is not None:
                for key, array in one.arrays().items():
                    np.testing.assert_allclose(array, two.arrays()[key], atol=1e-12)
    assert len(first.attachments) == len(second.attachments)
    for a, b in zip(first.attachments, second.attachments, strict=True):
        for key in ("name", "body", "to", "is_collider", "is_paired", "stiffness", "distance", "strength"):
            assert getattr(a, key) == getattr(b, key), key
        np.testing.assert_array_equal(a.vertices, b.vertices)
        assert (a.at is None) == (b.at is None)
        if a.at is not None:
            np.testing.assert_array_equal(a.at, b.at)


def test_the_tables_make_the_scene():
    scene = load_tables(TABLES, ".").scene
    made = [(a.name, a.body, a.to, len(a.vertices)) for a in scene.attachments]
    assert made == [
        ("hook", "load", "beam", 4),
        ("attachment1", "load", "load", 2),
        ("attachment2", "load", "ball", 1),
        ("pairs_0", "under_0", "row_0", 4),
        ("pairs_1", "under_1", "row_1", 4),
        ("attachment5", "row_0", "beam", 1),
        ("attachment6", "row_1", "beam", 1),
    ]
    assert scene.attachments[1].is_paired and scene.attachments[2].is_collider
    beam, _, first, second = scene.bodies[:4]
    np.testing.assert_allclose(beam.pins[2][1].center, [0, 1, 2])
    np.testing.assert_allclose(second.pins[0][1].center - first.pins[0][1].center, [0.2, 0, 0])
    sim = scene.build("cpu")
    sim.frame(3)
    assert sim.attachments.count == 16


def test_toml_and_python_say_the_same(monkeypatch):
    scene = load_tables(TABLES, ".").scene
    assert_same_ties(load_tables(tomllib.loads(scene_text(TABLES)), ".").scene, scene)
    assert_same_ties(made_by(python_code(TABLES), monkeypatch), scene)


def test_the_studio_keeps_them(tmp_path, monkeypatch):
    document = Document(TABLES, tmp_path)
    scene = load_tables(TABLES, ".").scene
    assert_same_ties(document.scene(), scene)
    document.rename_body("load", "weight")
    document.rename_body("row", "line")
    document.set({"collider": "ball"}, "name", "globe")
    sides = {(a.body, a.to) for a in document.scene().attachments}
    assert ("weight", "beam") in sides and ("weight", "globe") in sides and ("under_1", "line_1") in sides
    document.remove_collider("globe")
    document.remove_body("line")
    assert {(a.body, a.to) for a in document.scene().attachments} == {("weight", "beam"), ("weight", "weight")}
    document.remove_body("weight")
    assert "attachment" not in document.tables
    assert "attachment" not in document.toml()


def test_a_scene_made_in_python_becomes_tables(tmp_path):
    scene = load_tables(TABLES, ".").scene
    again = Document.from_scene(scene, tmp_path).scene()
    assert len(again.attachments) == len(scene.attachments)
    for a, b in zip(scene.attachments, again.attachments, strict=True):
        assert (a.name, a.body, a.to, a.stiffness, a.distance, a.strength) == (
            b.name, b.body, b.to, b.stiffness, b.distance, b.strength)  # fmt: skip
        np.testing.assert_array_equal(a.vertices, b.vertices)
        assert a.is_paired == b.is_paired
    for a, b in zip(scene.bodies, again.bodies, strict=True):
        for (_, one), (_, two) in zip(a.pins, b.pins, strict=True):
            for time in (0.0, 0.3, 1.0):
                points = a.mesh.vertices
                np.testing.assert_allclose(one.moved(points, time), two.moved(points, time), atol=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"body": "lord"}, ["attachment[0].body", "no body 'lord'"]),
        ({"to": "nothing"}, ["attachment[0].to", "'nothing'"]),
        ({"vertices": [0]}, ["attachment[0]", "both vertices and box"]),
        ({"stiffness": -1}, ["attachment[0].stiffness", "-1"]),
        ({"box": [[1, 1, 1], [0, 0, 0]]}, ["attachment[0].box", "inside out"]),
        ({"glue": 1}, ["attachment[0].glue", "no key"]),
    ],
)
def test_mistakes_are_named(change, words, tmp_path):
    tables = {**TABLES, "attachment": [{key: value for key, value in TABLES["attachment"][0].items() if key != "name"}]}
    tables["attachment"][0] |= change
    with pytest.raises(InputError) as error:
        load_tables(tables, ".")
    for word in words:
        assert word in str(error.value)


def test_roots_must_be_true_and_of_rods():
    for roots, words in ((False, "roots"), (True, "only rods have roots")):
        tables = {"version": 1, "body": [{"name": "b", "shape": BOX, "pins": [{"roots": roots}]}]}
        with pytest.raises(InputError, match=words):
            load_tables(tables, ".")
