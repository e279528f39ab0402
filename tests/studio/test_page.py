"""The studio's page, used by a simulated person: what is shown, what is sent, and what is said when it is wrong."""

import asyncio
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("nicegui")

from nicegui import ElementFilter
from nicegui.testing import User, user_simulation
from studio.fake_page_engine import FakeEngine

from pliant.materials import PRESETS
from pliant.solvers import solver_classes
from pliant.studio.document import Document
from pliant.studio.page import add_page

SCENE = {
    "name": "two",
    "body": [
        {"name": "ball", "shape": {"kind": "ball", "cells": 2}, "material": "jelly", "position": [0.0, 1.0, 0.0]},
        {"name": "box", "shape": {"kind": "box", "cells": 2}, "method": "shape_matching"},
    ],
    "plane": [{"name": "floor"}],
}


class Person:
    """A simulated person before a page, who finds controls by their test ids."""

    def __init__(self, user: User):
        self.user = user

    def find(self, testid: str):
        with self.user.client:
            found = [element for element in ElementFilter() if element.props.get("data-testid") == testid]
        assert found, f"no control {testid!r}"
        return found[0]

    def has(self, testid: str) -> bool:
        with self.user.client:
            return any(
                element.props.get("data-testid") == testid and element.visible and _seen(element)
                for element in ElementFilter()
            )

    async def fire(self, testid: str, event: str, args=None):
        element = self.find(testid)
        for listener in list(element._event_listeners.values()):
            if listener.type.split(".")[0] == event.split(".")[0]:
                element._handle_event({"listener_id": listener.id, "args": args})
        await asyncio.sleep(0.02)

    async def click(self, testid: str):
        await self.fire(testid, "click", None)

    async def write(self, testid: str, text: str):
        self.find(testid).set_value(text)
        await self.fire(testid, "change")

    async def pick(self, testid: str, value):
        self.find(testid).set_value(value)
        await asyncio.sleep(0.02)

    def error(self, name: str) -> str:
        element = self.find(f"error-{name}")
        return element.text if element.visible else ""


def _seen(element) -> bool:
    while element is not None:
        if not element.visible:
            return False
        element = element.parent_slot.parent if element.parent_slot else None
    return True


class Stage:
    """One simulated server for all tests, which is slow to start; each test has an engine of its own."""

    def __init__(self):
        self.engine = None
        self.runner = asyncio.Runner()
        self.context = user_simulation()
        self.user = self.runner.run(self._begin())

    async def _begin(self):
        user = await self.context.__aenter__()
        add_page(self)
        return user

    def __getattr__(self, name):
        return getattr(self.engine, name)

    async def play(self, story, scene):
        self.engine = FakeEngine(Document(scene, Path()))
        person = Person(User(self.user.http_client))
        await person.user.open("/")
        await story(person, self.engine)
        await asyncio.sleep(0.05)
        person.user.client.delete()
        self.engine.stop()

    def end(self):
        self.runner.run(self.context.__aexit__(None, None, None))
        self.runner.close()


@pytest.fixture(scope="module")
def run():
    """Plays a story: a coroutine of a person and an engine."""
    stage = Stage()
    yield lambda story, scene=SCENE: stage.runner.run(stage.play(story, scene))
    stage.end()


async def until(condition, seconds: float = 30.0):
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    assert condition()


def test_every_field_of_the_selected_body_is_there(run):
    async def story(person, engine):
        for key in ("density", "young", "poisson", "damping", "drag", "friction", "restitution", "thickness"):
            assert person.has(f"set-material-{key}") and person.has(f"set-material-{key}-slider")
        assert not person.has("set-material-yield_strain"), "springs do not yield"
        assert not person.has("set-matching-mode")
        assert person.find("set-material-young").value == "12000"
        person.find("section-solver").set_value(True)
        for key in ("integrator", "strain_limit", "rest_speed"):
            assert person.has(f"set-solver-{key}")
        assert not person.has("set-solver-newton_steps"), "only the implicit integrator has them"
        await person.click("body-box")
        assert person.has("set-material-yield_strain") is False or person.has("given-material-yield_strain")
        for key in ("mode", "clusters", "clusters_by"):
            assert person.has(f"set-matching-{key}")
        assert not person.has("set-solver-integrator")
        await person.click("collider-floor")
        for key in ("point-x", "normal-y", "friction", "restitution"):
            assert person.has(f"set-collider-{key}")

    run(story)


@pytest.mark.parametrize("method", list(solver_classes()))
def test_every_method_can_be_chosen_and_shown(run, method):
    async def story(person, engine):
        await person.pick("set-body-method", method)
        await until(lambda: engine.document.body("ball").get("method", "mass_spring") == method)
        await until(lambda: person.find("set-body-method").value == method)
        await until(lambda: person.has("set-matching-mode") == solver_classes()[method].shares_rest)

    run(story)


def test_a_moved_slider_sends_the_last_value_and_no_other_field(run):
    async def story(person, engine):
        slider = person.find("set-material-young-slider")
        for place in (300, 420, 600):
            slider.set_value(place)
        await until(lambda: len(engine.sets()) >= 1)
        await asyncio.sleep(0.3)
        sent = engine.sets()
        assert len(sent) <= 2, "values that were overtaken are not sent"
        assert all(s["target"] == {"material": "ball"} and s["key"] == "young" for s in sent)
        assert engine.document.material("ball").young == sent[-1]["value"]
        assert float(person.find("set-material-young").value) == pytest.approx(sent[-1]["value"])
        assert sent[-1]["value"] > 1e5

    run(story)


def test_a_typed_value_is_sent_once_and_can_be_reset(run):
    async def story(person, engine):
        await person.write("set-material-poisson", "0.3")
        await person.fire("set-material-poisson", "keydown.enter")
        await until(lambda: engine.document.material("ball").poisson == 0.3)
        assert len(engine.sets()) == 1
        assert person.has("reset-material-poisson")
        assert not person.has("reset-material-density")
        await until(lambda: person.find("set-material-preset").value == "(changed)")
        await asyncio.sleep(0.7)
        await person.click("reset-material-poisson")
        await until(lambda: engine.document.material("ball") == PRESETS["jelly"])
        await until(lambda: person.find("set-material-preset").value == "jelly")
        assert not person.has("reset-material-poisson")

    run(story)


def test_a_bad_value_is_explained_beside_its_field(run):
    async def story(person, engine):
        await person.write("set-material-poisson", "0.7")
        assert "out of range" in person.error("material-poisson") and "0.495" in person.error("material-poisson")
        await person.write("set-material-density", "heavy")
        assert "not a number" in person.error("material-density")
        assert engine.sets() == []
        await person.write("set-material-poisson", "0.4")
        await until(lambda: person.error("material-poisson") == "")
        assert engine.document.material("ball").poisson == 0.4

    run(story)


def test_what_the_engine_refuses_is_shown_too(run):
    async def story(person, engine):
        await person.write("set-solver-strain_limit", "0.5")
        await until(lambda: "rest shape" in person.error("solver-strain_limit"))

    run(story)


def test_two_pages_see_each_others_changes(run):
    async def story(person, engine):
        other = Person(User(person.user.http_client))
        await other.user.open("/")
        assert len(engine.clients) == 2
        await person.write("set-material-density", "777")
        await until(lambda: other.find("set-material-density").value == "777")
        await person.click("remove-body-box")
        await until(lambda: not other.has("body-box"))
        other.user.client.delete()
        assert len(engine.clients) == 1, "a page that is closed is told no more"

    run(story)


def test_a_form_is_not_built_again_when_values_change(run):
    async def story(person, engine):
        field = person.find("set-material-density")
        engine.do("set", target={"material": "ball"}, key="density", value=500.0).result()
        await until(lambda: field.value == "500")
        assert person.find("set-material-density") is field

    run(story)


def test_a_field_that_is_typed_in_is_left_alone(run):
    async def story(person, engine):
        await person.fire("set-material-density", "focus")
        person.find("set-material-density").set_value("12")
        engine.do("set", target={"material": "ball"}, key="density", value=500.0).result()
        engine.do("set", target={"material": "ball"}, key="young", value=2e4).result()
        await until(lambda: person.find("set-material-young").value == "20000")
        assert person.find("set-material-density").value == "12"

    run(story)


def test_a_slider_that_is_held_is_left_alone(run):
    async def story(person, engine):
        slider = person.find("set-material-density-slider")
        slider.moving = True
        place = slider.value
        engine.do("set", target={"material": "ball"}, key="density", value=5000.0).result()
        engine.do("set", target={"material": "ball"}, key="young", value=2e4).result()
        await until(lambda: person.find("set-material-young").value == "20000")
        assert slider.value == place
        slider.moving = False
        await until(lambda: slider.value != place)

    run(story)


def test_a_field_may_be_given_or_left_to_the_program(run):
    async def story(person, engine):
        await person.click("body-box")
        await person.pick("given-matching-alpha", True)
        await until(lambda: "alpha" in engine.document.body("box").get("matching", {}))
        assert person.has("set-matching-alpha")
        await person.pick("given-matching-alpha", False)
        await until(lambda: "alpha" not in engine.document.body("box").get("matching", {}))
        await until(lambda: not person.has("set-matching-alpha"))

    run(story)


def test_adding_a_shape_sends_its_table(run):
    async def story(person, engine):
        await person.click("add-body")
        person.find("add-body-tab-shapes").tabs.set_value("Shapes")
        await person.pick("add-body-shape", "box")
        person.find("set-shape-size-y").set_value("0.25")
        person.find("set-shape-cells").set_value("3")
        await person.pick("add-body-method", "shape_matching")
        person.find("set-add-body-name").set_value("block")
        person.find("set-add-body-matching-clusters").set_value("2")
        await person.pick("add-body-material", "rubber")
        await person.click("add-body-confirm")
        await until(lambda: engine.done and engine.done[-1][0] == "add_body")
        assert engine.done[-1][1]["table"] == {
            "name": "block",
            "shape": {"kind": "box", "size": [0.3, 0.25, 0.3], "cells": 3},
            "method": "shape_matching",
            "material": "rubber",
            "matching": {"clusters": 2},
            "position": [0.0, 0.6, 0.0],
        }
        await until(lambda: person.has("body-block"))
        await until(lambda: person.find("set-body-name").value == "block")

    run(story)


def test_adding_hair_roots_it_and_takes_no_file_that_is_not_named(run):
    async def story(person, engine):
        await person.click("add-body")
        person.find("add-body-tab-shapes").tabs.set_value("Shapes")
        await person.pick("add-body-shape", "hair")
        assert person.find("add-body-material").value == "hair" and person.find("add-body-method").value == "xpbd"
        person.find("set-shape-scalp").set_value("")
        await person.click("add-body-confirm")
        await until(lambda: engine.done and engine.done[-1][0] == "add_body")
        table = engine.done[-1][1]["table"]
        assert "scalp" not in table["shape"] and table["pins"] == [{"roots": True}]

    run(story)


def test_adding_a_sample_and_a_file_sends_their_tables(run):
    async def story(person, engine):
        await person.click("add-body")
        await person.click("add-body-sample-duck")
        await person.click("add-body-confirm")
        await until(lambda: engine.done and engine.done[-1][0] == "add_body")
        table = engine.done[-1][1]["table"]
        assert (table["file"], table["size"], table["tets"]) == ("duck", 0.5, 3000)
        report = {"problems": ["3 holes"], "repaired": ["3 holes closed"], "notes": ["made solid"], "tets": 1200}
        await person.click("add-body")
        answer = {"file": "cow.plb", "name": "cow", "kind": "tets", "size": 1.5, "report": report}
        await person.fire("add-body-file", "change", answer)
        await person.user.should_see("3 holes closed")
        await person.click("add-body-confirm")
        await until(lambda: engine.done[-1][0] == "add_body" and engine.done[-1][1]["table"]["file"] == "cow.plb")
        assert "scale" not in engine.done[-1][1]["table"]
        await person.click("add-body")
        person.find("set-add-body-size").set_value("3")
        await person.click("add-body-confirm")
        await until(lambda: engine.done[-1][1].get("table", {}).get("scale") == 2.0)

    run(story)


def test_an_upload_that_is_refused_says_why(run):
    async def story(person, engine):
        await person.click("add-body")
        await person.fire("add-body-file", "change", {"error": {"what": "the file is empty", "remedy": "Send a mesh"}})
        await person.user.should_see("The file is empty. Send a mesh")

    run(story)


def test_a_dropped_file_opens_the_dialog(run):
    async def story(person, engine):
        answer = {"name": "cow.obj", "file": "cow.plb", "size": 1.5, "report": {"notes": ["made solid"]}}
        await person.fire("view", "uploaded", answer)
        await person.user.should_see("made solid")
        assert person.find("add-body-confirm").enabled

    run(story)


def test_the_scene_is_shown_as_a_scene_file_and_as_python(run):
    async def story(person, engine):
        await person.click("copy-toml")
        await until(lambda: person.find("share-text").content != "")
        tables = tomllib.loads(person.find("share-text").content)
        assert [body["name"] for body in tables["body"]] == ["ball", "box"]
        await person.click("copy-python")
        await until(lambda: "import pliant" in person.find("share-text").content)
        compile(person.find("share-text").content, "scene.py", "exec")

    run(story)


def test_lanes_are_compared(run):
    async def story(person, engine):
        await person.pick("set-lane-0-integrator", "implicit")
        await person.pick("set-lane-1-mode", "quadratic")
        person.find("set-lane-1-clusters").set_value("8")
        await person.click("compare-add")
        await person.click("lane-1-reference")
        assert person.find("set-lane-1-mode").value == "quadratic", "lanes keep their choices"
        await person.click("compare-start")
        await until(lambda: engine.lanes)
        name, arguments = engine.done[-1]
        assert (name, arguments["reference"]) == ("compare", 1)
        assert arguments["lanes"][0] == {
            "method": "mass_spring",
            "settings": {"integrator": "implicit"},
            "name": "mass spring, implicit",
        }
        assert arguments["lanes"][1]["matching"] == {"mode": "quadratic", "clusters": 8}
        assert len(arguments["lanes"]) == 3
        await until(lambda: person.has("compare-stop"))
        await person.click("compare-stop")
        await until(lambda: not engine.lanes)

    run(story)


def test_what_a_method_cannot_take_is_said_and_not_offered(run):
    scene = {
        "body": [
            {"name": "cloth", "shape": {"kind": "sheet", "cells": 2}, "method": "xpbd"},
            {"name": "rope", "shape": {"kind": "rope", "segments": 4}, "method": "xpbd"},
        ]
    }

    async def story(person, engine):
        engine.document.loaded()
        engine.tell(event="document")
        await person.click("body-rope")
        await until(lambda: set(person.find("set-body-method").options) == {"xpbd", "mass_spring"})
        assert "baraff witkin (sheets)" in person.find("body-other-methods").text
        assert not person.has("set-material-thickness")
        await person.pick("lane-0-method", "baraff_witkin")
        await until(lambda: person.has("lane-0-keeps") and "rope (xpbd)" in person.find("lane-0-keeps").text)
        await person.click("compare-start")
        await until(lambda: engine.lanes)
        await person.click("remove-body-cloth")
        await until(lambda: "baraff_witkin" not in person.find("lane-0-method").options)

    run(story, scene)


def test_a_recording_is_made_and_exported(run):
    async def story(person, engine):
        person.find("record-name").set_value("first")
        await person.click("record")
        await until(lambda: engine.recording == "first")
        await until(lambda: person.find("record").text == "Stop")
        await person.click("record")
        await until(lambda: person.has("recording-first"))
        await person.click("export-glb")
        await until(lambda: engine.done[-1] == ("export", {"recording": "first", "kind": "glb"}))
        engine.tell(event="progress", job=1, label="film", done=0.4)
        await person.user.should_see("film 40%")
        engine.tell(event="done", job=1, label="film", file="first.glb", error=None)
        await until(lambda: person.has("download-1"))
        assert person.find("download-1").props["href"] == "/files/first.glb"

    run(story)


def test_the_world_is_changed(run):
    async def story(person, engine):
        await person.click("gravity-moon")
        await until(lambda: person.find("set-scene-gravity-y").value == "-1.62")
        await person.click("undo")
        await until(lambda: person.find("set-scene-gravity-y").value == "-9.81")
        await person.click("open-scene")
        await person.click("open-empty")
        await until(lambda: not person.has("body-ball"))
        await person.click("add-collider-box")
        await until(lambda: person.has("set-collider-name"))
        await person.write("set-collider-name", "wall")
        await until(lambda: person.has("collider-wall"))
        await until(lambda: person.has("set-collider-size-x"))

    run(story)
