"""The program made of a scene builds the same scene."""

import tomllib

import numpy as np
import pytest

import pliant
from pliant.scene_file import load_tables, python_code, shipped_scenes

# read and prepared in a moment; the others are alike
CHEAP = [name for name in shipped_scenes() if name not in ("cars", "dragon", "drop", "bars")]


def made_by(code, monkeypatch):
    """The scene that a program builds; it is not run."""
    scenes = []

    class Runs:
        def frame(self):
            pass

    def build(self, *_args, **_options):
        scenes.append(self)
        return Runs()

    with monkeypatch.context() as patch:
        patch.setattr(pliant.Scene, "build", build)
        exec(compile(code, "scene", "exec"), {})
    return scenes[0]


def assert_same(first, second):
    assert [b.name for b in first.bodies] == [b.name for b in second.bodies]
    for a, b in zip(first.bodies, second.bodies, strict=True):
        np.testing.assert_allclose(a.mesh.vertices, b.mesh.vertices, rtol=0, atol=1e-12)
        assert (a.skin is None) == (b.skin is None)
        if a.skin is not None:
            np.testing.assert_allclose(a.skin.vertices, b.skin.vertices, rtol=0, atol=1e-12)
        for key in ("method", "color", "painted", "volume"):
            assert getattr(a, key) == getattr(b, key)
        for key in ("material", "raw", "matching", "springs", "mass_shift", "mass_distribution"):
            assert getattr(a.spec, key) == getattr(b.spec, key)
        np.testing.assert_array_equal(a.velocity, b.velocity)
        np.testing.assert_array_equal(a.angular_velocity, b.angular_velocity)
        assert len(a.pins) == len(b.pins)
        for (vertices, path), (others, other) in zip(a.pins, b.pins, strict=True):
            np.testing.assert_array_equal(vertices, others)
            assert (path is None) == (other is None)
            if path is not None:
                np.testing.assert_array_equal(path.times, other.times)
                np.testing.assert_array_equal(path.offsets, other.offsets)
    assert first.colliders == second.colliders
    assert (first.name, first.gravity, first.settings) == (second.name, second.gravity, second.settings)
    assert first.solver_settings == second.solver_settings


@pytest.mark.parametrize("name", CHEAP)
def test_shipped_scenes(name, monkeypatch):
    tables = {**tomllib.loads(shipped_scenes()[name].read_text(encoding="utf-8")), "name": name}
    assert_same(made_by(python_code(tables), monkeypatch), load_tables(tables, ".").scene)


def test_everything_a_body_can_have(monkeypatch, tmp_path):
    pliant.write_mesh(pliant.shapes.ball(radius=0.2, cells=3).surface_mesh(), tmp_path / "ball.ply")
    ball = str(tmp_path / "ball.ply")
    inside = {"kind": "pressure"}
    box = [[-1.0, -1.0, -1.0], [1.0, 1.0, 0.0]]
    copies = {"count": [2, 1, 2], "spacing": [1.0, 0.0, 1.5], "jitter": 0.1, "seed": 3}
    tables = {
        "version": 1,
        "name": "all \\ \"kinds\"".replace("\\", "-").replace('"', "_"),
        "description": 'with "quotes" \\ and all',
        "scene": {"gravity": [0.0, -1.0, 0.0], "substeps": 20, "frames": 3},
        "solver": {"mass_spring": {"strain_limit": 1.2}},
        "material": [{"name": "class", "young": 2e4}, {"name": "my stuff", "base": "class", "poisson": 0.4}],
        "body": [
            {"shape": {"kind": "box", "cells": [2, 2, 2]}, "scale": 0.5, "material": {"base": "my stuff", "drag": 1.0}},
            {"file": ball, "solid": "surface", "volume": inside, "material": "my stuff", "position": [2, 0, 0]},
            {"file": ball, "scale": [1.0, 2.0, 1.0], "solid": "voxels", "position": [4, 0, 0]},
            {"name": "cloud", "points": {"at": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "volume": 0.2},
             "method": "shape_matching", "position": [6, 0, 0], "matching": {"mode": "rigid"}},
            {"name": "grid {}", "shape": {"kind": "box", "cells": 2}, "copies": copies, "raw": {"spring": 5.0},
             "pins": [{"box": box}, {"vertices": [0], "path": [[0.0, [0, 0, 0]], [1.0, [1, 0, 0]]]}]},
        ],
        "plane": [{"friction": 0.1}],
        "box": [{"size": [1.0, 2.0, 1.0], "position": [0.0, -5.0, 0.0]}],
    }  # fmt: skip
    assert_same(made_by(python_code(tables), monkeypatch), load_tables(tables, tmp_path).scene)


def test_a_scene_without_bodies_is_a_program():
    code = python_code({"version": 1, "name": "empty", "plane": [{"name": "floor"}]})
    exec(compile(code, "scene", "exec"), {})
    assert 'add_plane(name="floor")' in code
