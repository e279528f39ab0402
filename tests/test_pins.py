"""Pins that stand, move, turn and scale: they are where their motion says, and what hangs on them follows."""

import dataclasses

import numpy as np
import pytest
from bodies import bits, build, rotation

from pliant import Material, Scene, SurfaceMesh, shapes
from pliant.checkpoint import load_checkpoint, read_checkpoint, save_checkpoint
from pliant.errors import InputError
from pliant.mesh.rods import RodMesh
from pliant.motion import MotionPath
from pliant.pins import wrong_pins

CLOTH = Material(young=2e4, thickness=0.002, density=300.0, damping=0.005)
OPEN = [{"time": 0.0}, {"time": 0.5, "scale": [0.3, 1.0, 1.0]}]


def sheet(columns=13, rows=7, width=1.2, height=0.6):
    """A sheet that hangs in the plane z = 0, its upper edge at y = 0."""
    x, y = np.meshgrid(np.linspace(0, width, columns), np.linspace(0, -height, rows))
    vertices = np.stack([x, y, 0.01 * np.sin(9 * x)], axis=-1).reshape(-1, 3)
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    quads = np.stack([a, a + columns, a + columns + 1, a + 1], axis=1)
    return SurfaceMesh(vertices, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]))


def curtain(path=OPEN, center=(0.0, 0.0, 0.0)):
    scene = Scene(frame_dt=0.01)
    scene.add_body(sheet(), CLOTH, name="curtain")
    scene.pin("curtain", np.arange(0, 13, 2), path, center=center)
    return scene


def test_a_curtain_opens(device):
    sim = build(curtain(), device)
    hooks = np.arange(0, 13, 2)
    start = sim.positions("curtain")
    for frames in (10, 40):
        sim.frame(frames)
        factor = np.interp(sim.time, [0.0, 0.5], [1.0, 0.3])
        np.testing.assert_allclose(sim.positions("curtain")[hooks], start[hooks] * [factor, 1, 1], atol=2e-6)
    sim.frame(30)
    # the rest of it has been gathered
    assert np.ptp(sim.positions("curtain")[:, 0]) < 0.75 * np.ptp(start[:, 0])


@pytest.mark.parametrize("center", [(0.2, -0.1, 0.3), None], ids=["given", "middle"])
def test_pins_turn_about_their_centre(center, device):
    path = [{"time": 0.0}, {"time": 0.4, "rotation": [0, 0, 360.0], "offset": [0.1, 0, 0], "scale": 2.0}]
    sim = build(curtain(path, center), device)
    hooks = np.arange(0, 13, 2)
    start = sim.positions("curtain")[hooks].astype(np.float64)
    about = np.array(center) if center else 0.5 * (start.min(axis=0) + start.max(axis=0))
    sim.frame(13)
    share = sim.time / 0.4
    turned = (start - about) * (1 + share) @ rotation((0, 0, 1), 2 * np.pi * share).T
    np.testing.assert_allclose(sim.positions("curtain")[hooks], about + turned + [0.1 * share, 0, 0], atol=3e-6)


def test_pins_are_moved_from_frame_to_frame(device):
    sim = build(curtain(None, None), device)
    hooks = np.arange(0, 13, 2)
    start = sim.positions("curtain")[hooks]
    for k in range(1, 6):
        sim.move_pins("curtain", hooks, start + np.float32([0, 0.01 * k, 0]))
        sim.frame()
        np.testing.assert_allclose(sim.positions("curtain")[hooks], start + [0, 0.01 * k, 0], atol=1e-6)
    sim.frame(3)
    np.testing.assert_allclose(sim.positions("curtain")[hooks], start + [0, 0.05, 0], atol=1e-6)
    np.testing.assert_allclose(sim.velocities("curtain")[hooks], 0.0, atol=1e-4)


def test_moved_pins_leave_their_path_and_the_others_stay_on_it(device):
    sim = build(curtain(), device)
    start = sim.positions("curtain")
    sim.move_pins("curtain", 2, start[2])
    sim.frame(20)
    factor = np.interp(sim.time, [0.0, 0.5], [1.0, 0.3])
    np.testing.assert_allclose(sim.positions("curtain")[2], start[2], atol=1e-6)
    np.testing.assert_allclose(sim.positions("curtain")[4], start[4] * [factor, 1, 1], atol=2e-6)


def test_a_pin_of_a_running_simulation_counts_from_now(device):
    sim = build(curtain(None, None), device)
    sim.frame(10)
    here = sim.positions("curtain")[[80, 90]]
    sim.pin("curtain", [80, 90], [{"time": 0.1, "rotation": [0, 90, 0]}, {"time": 0.2}], center=here[0])
    sim.frame(20)
    np.testing.assert_allclose(sim.positions("curtain")[[80, 90]], here, atol=2e-6)
    sim.unpin("curtain", [80])
    assert sim.pins.count == 8


def test_recorded_equals_eager(device):
    recorded, eager = build(curtain(), device), build(curtain(), device)
    for _ in range(4):
        recorded.frame()
        eager.pins.aim(eager.time + eager.frame_dt)
        eager._issue_frame()
        eager.frame_number += 1
    assert bits(recorded) == bits(eager)


def test_a_checkpoint_keeps_the_motion(tmp_path, device):
    first, second = build(curtain(), device), build(curtain(None, None), device)
    first.frame(7)
    save_checkpoint(first, tmp_path / "a.ckpt")
    load_checkpoint(second, tmp_path / "a.ckpt")
    first.frame(9)
    second.frame(9)
    assert bits(first) == bits(second)


def test_pins_of_older_files_are_read(tmp_path):
    """Files of before pins could turn hold times and offsets alone."""
    sim = build(curtain([(0.0, (0, 0, 0)), (0.5, (0.2, 0.1, 0))], None))
    saved = sim.pins.saved()
    assert {"times0", "offsets0", "rotations0", "scales0", "center0"} <= saved.keys()
    old = {name: array for name, array in saved.items() if name[:-1] not in ("rotations", "scales", "center")}
    assert wrong_pins(old, sim.state.count, 0) == ""
    other = build(curtain(None, None))
    other.pins.load(old)
    np.testing.assert_array_equal(other.pins.targets(0.3), sim.pins.targets(0.3))


@pytest.mark.parametrize("change", ["shape", "missing", "finite", "particle"])
def test_damaged_pins_are_refused(change, tmp_path):
    sim = build(curtain())
    save_checkpoint(sim, tmp_path / "a.ckpt")
    arrays = read_checkpoint(tmp_path / "a.ckpt")
    if change == "shape":
        arrays["pins.scales0"] = arrays["pins.scales0"][:1]
    elif change == "missing":
        del arrays["pins.offsets0"]
    elif change == "finite":
        arrays["pins.home"][0] = np.nan
    else:
        arrays["pins.particle"][0] = 10**6
    with open(tmp_path / "b.ckpt", "wb") as file:
        np.savez_compressed(file, **arrays)
    with pytest.raises(InputError, match="damaged"):
        load_checkpoint(sim, tmp_path / "b.ckpt")


def test_roots_are_the_first_segments_of_strands():
    scene = Scene()
    two = RodMesh.joined([RodMesh(np.stack([0 * y, -y, 0 * y + z], axis=1), [[0, 1], [1, 2], [2, 3]])
                          for z in (0.0, 0.1) for y in [np.arange(4) / 10]])  # fmt: skip
    scene.add_body(two, name="hair")
    assert scene.pin("hair", "roots") == 4
    assert scene.bodies[0].pins[0][0].tolist() == [0, 1, 4, 5]


def test_mistakes_are_named():
    scene = curtain(None, None)
    motion = MotionPath.make(OPEN, "path")
    for act, words in (
        (lambda: scene.pin("curtain", [0], center=(0, 0, 0)), "no path"),
        (lambda: scene.pin("curtain", [0], motion, center=(0, 0, 0)), "centre of its own"),
        (lambda: scene.pin("curtain", "roots"), "only rods have roots"),
        (lambda: scene.pin("curtain", [0], [{"time": 0, "scale": 0}]), "path[0].scale"),
        (lambda: scene.pin("curtain", [0], [{"offset": [0, 0, 0]}]), "key 0"),
    ):
        with pytest.raises(InputError) as error:
            act()
        assert words in str(error.value)
    sim = build(scene)
    for vertices, places, words in (
        ([0, 1], np.zeros((2, 3)), "vertex 1 is not pinned"),
        ([0, 2], np.zeros((3, 3)), "(3, 3)"),
        ([0, 2], np.full((2, 3), np.nan), "not finite"),
        ([0, 999], np.zeros((2, 3)), "does not name vertices"),
    ):
        with pytest.raises(InputError) as error:
            sim.move_pins("curtain", vertices, places)
        assert words in str(error.value)


def test_a_block_is_carried_by_a_motion_path_of_ones_own(device):
    motion = dataclasses.replace(MotionPath.make([(0.0, (0, 0, 0)), (0.2, (0.1, 0, 0))], "path"))
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=10)
    scene.add_body(shapes.box(0.2, 1), name="block")
    scene.pin("block", lambda x: x[:, 0] < 0, motion)
    sim = build(scene, device)
    sim.frame(20)
    assert sim.positions("block")[:, 0].min() == pytest.approx(0.0, abs=1e-6)
