"""The studio with cloth, ropes and hair: which methods are offered, what a hand does to them, what a change carries."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.materials import Material
from pliant.studio.document import Document
from pliant.studio.fields import field_forms
from pliant.studio.mesh_kinds import idle_fields, methods_for, takes_text
from pliant.studio.world import World

CLOTH = {
    "name": "cloth",
    "shape": {"kind": "sheet", "size": [0.4, 0.4], "cells": 6},
    "method": "xpbd",
    "material": "soft_rubber",
    "position": [0.0, 1.0, 0.0],
    "pins": [{"vertices": [0, 6]}],
}
ROPE = {
    "name": "rope",
    "shape": {"kind": "rope", "length": 0.4, "segments": 10},
    "method": "xpbd",
    "material": {"base": "hemp_rope", "young": 1e5},
    "position": [0.6, 1.0, 0.0],
    "pins": [{"vertices": [0]}],
}
HAIR = {
    "name": "hair",
    "shape": {"kind": "hair", "strands": 12, "segments": 15, "tufts": 3},
    "method": "xpbd",
    "material": "hair",
    "position": [-0.6, 1.0, 0.0],
    "pins": [{"roots": True}],
}


def document(*bodies, **more) -> Document:
    return Document({"name": "thin", "body": [dict(body) for body in bodies], **more}, ".")


def world(tmp_path, *bodies, **more) -> World:
    return World(document(*bodies, **more), tmp_path, "cpu")


def test_only_methods_that_can_take_a_body_are_offered():
    made = document(CLOTH, ROPE)
    made.loaded()
    kinds = {body["name"]: (body["kind"], set(body["methods"])) for body in made.describe()["bodies"]}
    assert kinds["cloth"] == ("sheets", {"mass_spring", "shape_matching", "xpbd", "baraff_witkin"})
    assert kinds["rope"] == ("rods", {"mass_spring", "xpbd"})
    assert takes_text("baraff_witkin") == "sheets"
    made.set({"body": "rope"}, "shape", {"kind": "ball", "radius": 0.1, "cells": 2})
    assert made.describe()["bodies"][1]["kind"] == "", "what is not made yet is not known"


def test_a_variant_leaves_alone_what_its_method_cannot_take():
    made = document(CLOTH, ROPE)
    other = made.variant("baraff_witkin")
    assert [other.body(name)["method"] for name in ("cloth", "rope")] == ["baraff_witkin", "xpbd"]
    other = made.variant("shape_matching", {"mode": "rigid"})
    assert "matching" in other.body("cloth") and "matching" not in other.body("rope")
    with pytest.raises(InputError, match="none of the bodies"):
        document(ROPE).variant("baraff_witkin")


@pytest.mark.parametrize("kind", ["sheets", "rods", "solids", "points"])
def test_the_fields_of_a_material_are_those_that_do_something(kind):
    for method in methods_for(kind):
        shown = {form.key for form in field_forms(Material, leave_out=idle_fields(method, kind))}
        assert {"density", "young", "friction"} <= shown
        assert ("thickness" in shown) == (kind == "sheets")
        assert ("bending" in shown) == (kind == "sheets" and method != "shape_matching")
        assert ("yield_strain" in shown) == (method in ("shape_matching", "fem"))
        tears = method == "shape_matching" or (method != "baraff_witkin" and kind in ("sheets", "rods"))
        assert ("fracture_strain" in shown) == tears


@pytest.mark.parametrize(
    ("body", "method"), [(CLOTH, "xpbd"), (CLOTH, "baraff_witkin"), (ROPE, "xpbd"), (HAIR, "xpbd")]
)
def test_thin_bodies_follow_a_hand_and_are_let_go(tmp_path, body, method):
    here = world(tmp_path, {**body, "method": method})
    name, sim = body["name"], here.lanes[0].sim
    for _ in range(5):
        here.advance()
    seen = sim.surface_positions(name)
    vertex = int(seen[:, 1].argmin())
    at = seen[vertex].astype(float)
    # within reach of where it is pinned; without a hand all of them but the hair fall 0.2 m and more below it
    goal = tuple(at + [0.0, 0.04, 0.03])
    here.hands.grab(here.lanes, "c", name, vertex, tuple(at), 1.0)
    for _ in range(60):
        here.hands.drag(here.lanes, "c", goal, 1)
        here.advance()
    # it hangs g / 225 = 44 mm below the hand at most, or less where pins carry it, and still swings a little
    assert np.linalg.norm(sim.surface_positions(name)[vertex] - goal) < 0.06
    for _ in range(15):
        here.hands.drag(here.lanes, "c", (4.0, 4.0, 4.0), 2)
        here.advance()
    here.hands.release(here.lanes, "c")
    for _ in range(60):
        here.advance()
    assert np.abs(sim.velocities(name)).max() < 6.0
    assert np.ptp(sim.positions(name), axis=0).max() < 0.9


def test_a_hand_takes_a_lock_of_hair_and_not_all_of_it(tmp_path):
    here = world(tmp_path, HAIR)
    sim = here.lanes[0].sim
    here.hands.grab(here.lanes, "c", "hair", 200, (0.0, 1.0, 0.0), 1.0)
    pull = sim.pulls.host[here.hands.grabs["c"].handles[0]]
    whole = 225.0 * sim.model.particles.mass.sum()
    assert 0.0 < pull.stiffness < 0.9 * whole


def test_methods_change_while_a_cloth_moves_and_gusts_go_on(tmp_path):
    wind = {"wind": {"velocity": [2.0, 0.0, 0.0], "gusts": {"strength": 0.5}}}
    here = world(tmp_path, CLOTH, ROPE, scene=wind)
    for _ in range(10):
        here.advance()
    for body, method in (("cloth", "baraff_witkin"), ("rope", "mass_spring"), ("cloth", "xpbd"), ("rope", "xpbd")):
        before = here.lanes[0].sim
        here.edit(lambda made, body=body, method=method: made.set_method(body, method))
        now = here.lanes[0].sim
        for name in ("cloth", "rope"):
            assert np.array_equal(before.positions(name), now.positions(name))
            assert np.array_equal(before.velocities(name), now.velocities(name))
        assert np.array_equal(before.wind.arrays()["phase"].numpy(), now.wind.arrays()["phase"].numpy())
        for _ in range(5):
            here.advance()
        assert np.abs(now.velocities("rope")).max() < 10.0
    phase = here.lanes[0].sim.wind.arrays()["phase"].numpy()
    here.edit(lambda made: made.set({"scene": True}, "gusts", 0.1))
    assert np.array_equal(here.lanes[0].sim.wind.arrays()["phase"].numpy(), phase)


def test_gusts_and_still_air_are_set_beside_the_wind():
    made = document(ROPE)
    made.set({"scene": True}, "wind", [1.0, 0.0, 0.0])
    made.set({"scene": True}, "gusts", 0.3)
    made.set({"scene": True}, "still_air", True)
    assert made.tables["scene"]["wind"] == {
        "velocity": [1.0, 0.0, 0.0],
        "gusts": {"strength": 0.3},
        "still_air": True,
    }
    assert {"wind": [1.0, 0.0, 0.0], "gusts": 0.3, "still_air": True}.items() <= made.describe()["scene"].items()
    with pytest.raises(InputError):
        made.set({"scene": True}, "gusts", -1.0)
    made.set({"scene": True}, "gusts", None)
    made.set({"scene": True}, "still_air", None)
    assert made.tables["scene"]["wind"] == [1.0, 0.0, 0.0]


def test_a_scene_without_anything_to_cut_says_so(tmp_path):
    here = world(tmp_path, ROPE)
    with pytest.raises(InputError, match="no body here can be cut"):
        here.hands.cut(here.lanes, (0.0, 1.0, 2.0), (0.0, 2.0, 0.0), (0.0, 0.0, 0.0))


def test_attachments_follow_names_and_go_with_their_bodies(tmp_path):
    knot = {"name": "knot", "body": "rope", "to": "cloth", "vertices": [10]}
    hook = {"name": "hook", "body": "cloth", "to": "bar", "vertices": [48]}
    here = world(tmp_path, CLOTH, ROPE, attachment=[knot, hook], capsule=[{"name": "bar", "radius": 0.02}])
    made = here.document
    here.edit(lambda made: made.rename_body("cloth", "veil"))
    here.edit(lambda made: made.set({"collider": "bar"}, "name", "pole"))
    here.edit(lambda made: made.copy_body("veil"))
    here.advance()
    assert [(a["body"], a["to"]) for a in made.tables["attachment"]] == [("rope", "veil"), ("veil", "pole")]
    here.edit(lambda made: made.remove_collider("pole"))
    assert len(made.tables["attachment"]) == 1
    here.edit(lambda made: made.remove_body("veil"))
    assert "attachment" not in made.tables
    here.advance()
