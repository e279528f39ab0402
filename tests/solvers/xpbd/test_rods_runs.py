"""How rods run: recorded as eager, fused as in stages, without allocation, from scene files."""

import numpy as np
import pytest
import warp as wp
from bodies import bits, build, make_scene
from rod_bodies import NYLON, part_of, tree

import pliant
from pliant.carry import carry_state
from pliant.scene_file.load import load_scene, read_tables
from pliant.scene_file.python_code import python_code
from pliant.scene_file.write import scene_text
from pliant.studio.scene_tables import scene_tables

both = pytest.mark.parametrize("bends", [True, False], ids=["rod", "chain"])


def drop(bends, device="cpu", height=0.01):
    """A tree that hangs on a led vertex and brushes the floor."""
    scene = make_scene(
        tree(1), NYLON, method="xpbd", substeps=5, gravity=(0, -9.81, 0),
        body={"bends": bends, "position": (0.0, height, 0.0), "angular_velocity": (0.0, 1.0, 2.0)},
    )  # fmt: skip
    scene.add_plane()
    scene.pin("body", [2], path=[(0.0, (0, 0, 0)), (0.1, (0.05, -0.15, 0))])
    return build(scene, device)


@both
def test_recorded_equals_eager(bends, device):
    recorded, eager = drop(bends, device), drop(bends, device)
    for _ in range(4):
        recorded.frame()
        eager._tell_of_pins()
        eager.pins.aim(eager.time + eager.frame_dt)
        eager._issue_frame()
        eager.frame_number += 1
    assert bits(recorded) == bits(eager)


@both
def test_fused_equals_stages(bends):
    fused, staged = drop(bends, height=1.0), drop(bends, height=1.0)
    assert fused.can_fuse()
    staged.can_fuse = lambda: False
    fused.frame(6)
    staged.frame(6)
    np.testing.assert_allclose(fused.positions(), staged.positions(), atol=1e-6)


@both
def test_a_frame_allocates_nothing(bends, device):
    sim = drop(bends, device)
    sim.frame(15)
    # a frame without checks is a program of its own, made in the second of them
    sim.frame(3, check=device == "cpu")
    sim.pins.aim = lambda time: None
    reports = []
    with wp.ScopedMemoryTracker("frame", report_func=reports.append) as tracker:
        tracker.clear()
        sim.frame(3, check=device == "cpu")
    assert reports[-1].split("Total allocations:")[1].split("Peak usage:")[0].strip() == ""


SCENE = """version = 1

[[body]]
name = "necklace"
shape = { kind = "rope", length = 0.6, segments = 12 }
method = "xpbd"
bends = false
pins = [{ vertices = [0] }]
"""


def test_bends_is_a_key_of_scene_files(tmp_path):
    path = tmp_path / "necklace.toml"
    path.write_text(SCENE)
    scene = load_scene(path).scene
    assert not scene.bodies[0].spec.bends
    sim = scene.build("cpu")
    assert not part_of(sim).groups[0].bends
    sim.frame(3)
    # and out of a scene again, as tables, text and code
    tables = scene_tables(scene, tmp_path)
    assert tables["body"][0]["bends"] is False
    (tmp_path / "written.toml").write_text(scene_text(tables))
    assert not load_scene(tmp_path / "written.toml").scene.bodies[0].spec.bends
    assert "bends=False" in python_code(read_tables(path))
    (tmp_path / "again.toml").write_text(SCENE.replace("false", '"no"'))
    with pytest.raises(pliant.InputError, match="bends"):
        load_scene(tmp_path / "again.toml")


def test_orientations_are_carried_to_a_changed_scene():
    """A rod that is bent goes on from where it is when the scene is built anew with another material."""
    old, new = drop(True), drop(True)
    old.frame(6)
    assert carry_state(old, new) == ["body"]
    one, two = part_of(old).groups[0], part_of(new).groups[0]
    np.testing.assert_array_equal(one.q.numpy(), two.q.numpy())
    np.testing.assert_array_equal(one.omega.numpy(), two.omega.numpy())
