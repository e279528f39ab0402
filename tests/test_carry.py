"""A simulation of a changed scene goes on from the one before it."""

import dataclasses

import numpy as np
import pytest

import pliant
from pliant.carry import carry_state
from pliant.scene_file import load_scene


def hung_bar(**changes):
    """A bar hung by one end, and a block that falls."""
    options = {"material": "soft_rubber", "method": "mass_spring", "position": (0.0, 1.0, 0.0), **changes}
    scene = pliant.Scene(substeps=60)
    scene.add_plane()
    bar = pliant.shapes.box(size=(1.0, 0.2, 0.2), cells=(8, 2, 2))
    scene.add_body(bar, name="bar", **options)
    scene.pin("bar", lambda x: x[:, 0] < -0.49)
    scene.add_body(pliant.shapes.box(size=0.3, cells=2), name="block", position=(2.0, 0.5, 0.0))
    return scene


@pytest.mark.parametrize("name", ["fracture", "plastic", "moving_pins", "shapes"])
def test_an_unchanged_scene_goes_on_as_if_nothing_had_been(name):
    first, second = (load_scene(name).scene.build("cpu") for _ in range(2))
    first.frame(30)
    names = carry_state(first, second)
    assert names == [b.name for b in second.model.bodies]
    assert second.frame_number == 30
    first.frame(5)
    second.frame(5)
    np.testing.assert_array_equal(first.positions(), second.positions())
    np.testing.assert_array_equal(first.surface_positions(), second.surface_positions())


def test_a_softer_material_goes_on_from_where_the_body_was():
    old = hung_bar().build("cpu")
    old.frame(20)
    new = hung_bar(material="jelly").build("cpu")
    assert set(carry_state(old, new)) == {"bar", "block"}
    np.testing.assert_array_equal(new.positions(), old.positions())
    np.testing.assert_array_equal(new.velocities(), old.velocities())
    old.frame(20)
    new.frame(20)
    assert new.positions("bar")[:, 1].mean() < old.positions("bar")[:, 1].mean() - 0.01
    np.testing.assert_allclose(new.positions("block"), old.positions("block"), atol=1e-4)


def test_another_method_starts_from_the_same_positions():
    old = hung_bar().build("cpu")
    old.frame(20)
    new = hung_bar(method="shape_matching").build("cpu")
    assert set(carry_state(old, new)) == {"bar", "block"}
    for name in ("bar", "block"):
        np.testing.assert_array_equal(new.positions(name), old.positions(name))
    new.frame(3)


def test_a_body_that_was_moved_is_placed_anew():
    old = hung_bar().build("cpu")
    old.frame(20)
    new = hung_bar(position=(0.0, 1.5, 0.0)).build("cpu")
    rest = new.positions("bar")
    assert carry_state(old, new) == ["block"]
    np.testing.assert_array_equal(new.positions("bar"), rest)


def test_pins_set_and_let_go_by_hand_stay_so():
    old = hung_bar().build("cpu")
    old.frame(10)
    old.pin("block", [3, 5])
    held = old.positions("block")[[3, 5]]
    ends = np.flatnonzero(old.scene.bodies[0].mesh.vertices[:, 0] < -0.49)
    old.unpin("bar", ends[:2])
    new = hung_bar(material="jelly").build("cpu")
    carry_state(old, new)
    assert new.pins.count == old.pins.count
    new.frame(5)
    np.testing.assert_allclose(new.positions("block")[[3, 5]], held, atol=1e-6)
    home = old.scene.bodies[0].mesh.vertices
    moved = np.linalg.norm(new.positions("bar")[ends] - home[ends], axis=1)
    assert moved[:2].min() > 1e-4 and moved[2:].max() < 1e-6


def test_a_body_that_yielded_and_broke_stays_so():
    def build(young):
        scene = load_scene("fracture").scene
        for entry in scene.bodies:
            entry.spec.material = dataclasses.replace(entry.spec.material, young=young)
        return scene.build("cpu")

    old = build(3e7)
    old.frame(60)
    assert old.pieces("ring") > 1
    new = build(2e7)
    carry_state(old, new)
    for name in ("plate", "ring"):
        np.testing.assert_array_equal(new.broken_links(name), old.broken_links(name))
    np.testing.assert_array_equal(new.surface_positions(), old.surface_positions())


def test_permanent_shape_goes_over_when_a_body_is_added():
    old = load_scene("plastic").scene.build("cpu")
    old.frame(90)
    scene = load_scene("plastic").scene
    scene.add_body(pliant.shapes.box(size=0.2, cells=2), name="aaa", method="shape_matching", position=(5, 1, 0))
    new = scene.build("cpu")
    assert set(carry_state(old, new)) == {"elastic", "plastic"}
    maps = {}
    for sim in (old, new):
        group = sim.solvers[0].groups[-1]
        maps[sim] = group.plastic_of([b.name for b in group.bodies].index("plastic"))
    assert np.abs(maps[old][:, :, :3] - np.eye(3)).max() > 0.01
    np.testing.assert_array_equal(maps[old], maps[new])


def test_a_simulation_becomes_another_in_place():
    held, other = hung_bar().build("cpu"), hung_bar(method="shape_matching").build("cpu")
    other.frame(3)
    held.adopt(other)
    assert held.frame_number == 3 and held.body("bar").method == "shape_matching"
    held.frame()
    assert held.frame_number == 4
