"""The engine: what clients ask for happens to one shared world, and nothing they ask for can stop it."""

from __future__ import annotations

import time
import zipfile

import numpy as np
import pytest

import pliant
from pliant.errors import InputError
from pliant.studio import messages
from pliant.studio.document import Document
from pliant.studio.engine import Engine
from pliant.studio.jobs import Jobs

BALL = {
    "name": "ball",
    "shape": {"kind": "ball", "radius": 0.1, "cells": 4},
    "method": "shape_matching",
    "calibrate": False,
    "position": [0.0, 0.3, 0.0],
}
CUBE = {
    "name": "cube",
    "shape": {"kind": "box", "size": [0.2, 0.2, 0.2], "cells": [2, 2, 2]},
    "material": {"young": 2e4, "damping": 0.002},
    "position": [0.6, 0.12, 0.0],
}
TABLES = {"name": "two", "plane": [{"name": "floor"}], "body": [BALL, CUBE]}


class Client:
    """Somebody who uses an engine."""

    def __init__(self, engine: Engine, name: str = "c1"):
        self.engine, self.name = engine, name
        self.notes: list[dict] = []
        self.scenes: list[dict] = []
        engine.join(name, self._hear)

    def _hear(self, data: bytes) -> None:
        kind, header, _ = messages.decode(data)
        (self.scenes if kind == messages.SCENE else self.notes).append(header)

    def do(self, command: str, **arguments):
        return self.engine.do(command, self.name, **arguments).result(60)

    def frame(self) -> tuple[dict, dict[str, np.ndarray]]:
        """The newest frame, after all that was asked for is done."""
        self.do("layers", particles=True, contacts=True)
        # a frame is published between two commands of which one was asked for after the other was done
        self.do("layers", particles=True, contacts=True)
        _, header, sections = messages.decode(self.engine.newest()[1])
        return header, sections

    def seen(self, body: str, lane: int = 0) -> np.ndarray:
        """Positions of a body's seen vertices [m], from the newest frame."""
        header, sections = self.frame()
        scene = messages.decode(self.engine.scene_bytes())[1]
        x = np.frombuffer(sections["x"], np.uint16).reshape(-1, 4)[:, :3]
        start = 0
        for k, each in enumerate(scene["lanes"]):
            for b, described in enumerate(each["bodies"]):
                rows = x[start : start + described["vertices"]]
                start += described["vertices"]
                if k == lane and described["name"] == body:
                    box = np.array(header["boxes"][k][b])
                    return box[:3] + box[3:] * rows / 65535.0
        raise KeyError(body)


@pytest.fixture
def engine(tmp_path):
    made = Engine(Document(TABLES, tmp_path), tmp_path, "cpu")
    made.start()
    yield made
    made.stop()


@pytest.fixture
def client(engine):
    return Client(engine)


def sim(engine: Engine, lane: int = 0) -> pliant.Simulation:
    found = engine.world.lanes[lane].sim
    assert found is not None
    return found


# ---- time -----------------------------------------------------------------------------------------------------------


def test_a_step_is_one_frame_of_the_simulation(engine, client, tmp_path):
    client.do("step", frames=20)
    alone = Document(TABLES, tmp_path).scene().build("cpu")
    alone.frame(20)
    assert np.array_equal(sim(engine).positions(), alone.positions())
    header, _ = client.frame()
    assert (header["frame"], header["live"]) == (20, True)
    assert header["time"] == pytest.approx(20 / 60)


def test_played_frames_follow_the_clock(engine, client):
    client.do("play")
    time.sleep(1.0)
    client.do("pause")
    header, _ = client.frame()
    done = header["frame"]
    assert 5 <= done <= 75
    time.sleep(0.1)
    assert client.frame()[0]["frame"] == done


def test_reset_brings_back_the_start(engine, client):
    start = client.seen("ball")
    client.do("step", frames=30)
    assert np.abs(client.seen("ball") - start).max() > 0.05
    client.do("reset")
    assert np.allclose(client.seen("ball"), start, atol=1e-5)
    assert client.frame()[0]["frame"] == 0


def test_the_past_can_be_looked_at_and_gone_on_from(engine, client):
    client.do("step", frames=60)
    late = client.seen("ball")
    client.do("seek", frame=10)
    header, _ = client.frame()
    assert (header["frame"], header["live"]) == (10, False)
    assert sim(engine).frame_number == 60
    client.do("live")
    assert np.allclose(client.seen("ball"), late, atol=1e-5)
    at = client.do("resume_from", frame=37)
    assert at == 30
    client.do("step", frames=30)
    assert np.allclose(client.seen("ball"), late, atol=1e-5)


# ---- hands ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["ball", "cube"])
def test_a_dragged_body_follows_the_hand(engine, client, body):
    top = int(client.seen(body)[:, 1].argmax())
    at = client.seen(body)[top]
    target = (at + [0.1, 0.5, 0.0]).tolist()
    client.do("grab", body=body, vertex=top, at=at.tolist())
    client.do("drag", target=target, seq=7)
    client.do("step", frames=150)
    header, _ = client.frame()
    assert header["drags"] == {"c1": 7}
    (pull,) = header["pulls"]
    assert pull["client"] == "c1"
    assert pull["force"] > 0
    assert np.linalg.norm(client.seen(body)[top] - target) < 0.1
    client.do("release")
    assert client.frame()[0]["pulls"] == []
    client.do("step", frames=300)
    assert client.seen(body)[:, 1].min() < 0.02


def test_a_client_that_leaves_lets_go(engine, client):
    other = Client(engine, "c2")
    other.do("grab", body="ball", vertex=0, at=[0, 0.3, 0])
    assert len(client.frame()[0]["pulls"]) == 1
    engine.leave("c2")
    assert client.frame()[0]["pulls"] == []


def test_a_hold_outlasts_a_change_of_the_scene(engine, client):
    at = client.seen("ball")[0].tolist()
    client.do("grab", body="ball", vertex=0, at=at)
    client.do("set", target={"material": "ball"}, key="young", value=5e4)
    assert len(client.frame()[0]["pulls"]) == 1
    client.do("remove_body", name="ball")
    assert client.frame()[0]["pulls"] == []


def test_a_pinned_body_hangs_and_falls_when_it_is_unpinned(engine, client):
    top = int(client.seen("ball")[:, 1].argmax())
    assert client.do("pin", body="ball", vertex=top) is True
    before = client.seen("ball")[top]
    client.do("step", frames=60)
    assert np.allclose(client.seen("ball")[top], before, atol=1e-3)
    _, sections = client.frame()
    assert (np.frombuffer(sections["particles"], np.uint16).reshape(-1, 4)[:, 3] == 65535).any()
    assert "vertices" in client.do("copy", form="toml")["text"]
    assert client.do("pin", body="ball", vertex=top) is False
    client.do("step", frames=60)
    assert client.seen("ball")[:, 1].min() < 0.02


def test_a_thrown_body_flies(engine, client):
    client.do("throw", body="ball", velocity=[2.0, 0.0, 0.0])
    client.do("step", frames=6)
    assert client.seen("ball")[:, 0].mean() == pytest.approx(0.2, abs=0.02)


def test_a_ball_pokes_bodies_away(engine, client):
    client.do("step", frames=60)
    before = client.seen("cube")[:, 0].mean()
    client.do("poke", position=[0.3, 0.1, 0.0], radius=0.08)
    client.do("poke", position=[0.7, 0.1, 0.0], radius=0.08)
    client.do("step", frames=30)
    assert client.frame()[0]["poke"]["position"] == pytest.approx([0.7, 0.1, 0.0])
    assert client.seen("cube")[:, 0].mean() > before + 0.05
    client.do("unpoke")
    assert client.frame()[0]["poke"] is None


def test_a_cut_parts_what_can_break(tmp_path):
    bar = {
        "name": "bar",
        "shape": {"kind": "box", "size": [0.6, 0.1, 0.1], "cells": [12, 2, 2]},
        "method": "shape_matching",
        "matching": {"clusters": 8, "clusters_by": "boxes"},
        "material": {"fracture_strain": 50.0},
        "position": [0.0, 0.5, 0.0],
    }
    engine = Engine(Document({"name": "bar", "body": [bar], "plane": [{"name": "floor"}]}, tmp_path), tmp_path, "cpu")
    engine.start()
    try:
        client = Client(engine)
        assert "cut" in messages.decode(engine.scene_bytes())[1]["tools"]
        broken = client.do("cut", eye=[0, 0.5, 2], first=[0, 1.0, 0], last=[0, 0.0, 0])
        assert broken > 0
        client.do("step")
        assert sim(engine).pieces("bar") == 2
    finally:
        engine.stop()


# ---- the scene ------------------------------------------------------------------------------------------------------


def test_a_softer_material_sags_more_and_goes_on_where_it_was(engine, client):
    client.do("step", frames=90)
    before = client.seen("cube")
    number = sim(engine).frame_number
    client.do("set", target={"material": "cube"}, key="young", value=4e3)
    assert sim(engine).frame_number == number
    assert np.allclose(client.seen("cube"), before, atol=1e-3)
    client.do("step", frames=90)
    assert np.ptp(client.seen("cube")[:, 1]) < np.ptp(before[:, 1]) - 0.01


def test_bodies_come_and_go_while_the_others_go_on(engine, client):
    client.do("step", frames=30)
    before = client.seen("ball")
    name = client.do("add_body", table={"shape": {"kind": "box", "size": [0.1, 0.1, 0.1]}, "position": [0, 1, 0]})
    assert len(client.scenes) == 1
    assert np.allclose(client.seen("ball"), before, atol=1e-5)
    client.do("step", frames=10)
    assert client.seen(name)[:, 1].mean() < 1.0
    client.do("copy_body", name="ball")
    client.do("remove_body", name=name)
    client.do("remove_body", name="cube")
    assert "cube" not in [b.name for b in sim(engine).model.bodies]
    client.do("undo")
    assert "cube" in [b.name for b in sim(engine).model.bodies]


def test_the_method_of_a_body_can_be_changed(engine, client):
    client.do("step", frames=5)
    before = client.seen("ball")
    client.do("set", target={"body": "ball"}, key="method", value="mass_spring")
    assert sim(engine).body("ball").method == "mass_spring"
    assert np.allclose(client.seen("ball"), before, atol=1e-5)


def test_an_empty_scene_is_a_scene(engine, client):
    client.do("open", scene="empty")
    _, sections = client.frame()
    assert len(sections["x"]) == 0
    with pytest.raises(InputError, match="nothing to simulate"):
        client.do("play")
    client.do("add_body", table=BALL)
    client.do("step", frames=3)
    assert client.frame()[0]["frame"] == 3


def test_bad_wishes_change_nothing(engine, client):
    client.do("step", frames=3)
    before, text = client.seen("ball"), client.do("copy", form="toml")
    wishes = [
        ("set", {"target": {"material": "ball"}, "key": "young", "value": -1.0}),
        ("set", {"target": {"material": "ball"}, "key": "colour", "value": 1.0}),
        ("set", {"target": {"material": "nobody"}, "key": "young", "value": 1.0}),
        ("set", {"target": {"planet": "ball"}, "key": "young", "value": 1.0}),
        ("set", {"target": {"solver": {}}, "key": "iterations", "value": 1}),
        ("set", {"target": {"body": "ball"}, "key": "skin", "value": "/etc/passwd"}),
        ("set", {"target": {"body": "ball"}, "key": "points", "value": {"file": "../x.xyz"}}),
        ("add_body", {"table": {"file": "a\0b"}}),
        ("add_body", {"table": {"file": "/etc/passwd"}}),
        ("add_body", {"table": {"file": "../../secret.obj"}}),
        ("add_body", {"table": {"shape": {"kind": "nothing"}}}),
        ("add_collider", {"kind": "heightmap", "table": {"file": "/etc/passwd"}}),
        ("open", {"scene": "../../../etc/passwd"}),
        ("grab", {"body": "ball", "vertex": 10**9, "at": [0, 0, 0]}),
        ("grab", {"body": "nobody", "vertex": 0, "at": [0, 0, 0]}),
        ("drag", {"target": [0, 0, float("nan")], "seq": 1}),
        ("throw", {"body": "ball", "velocity": [1e30, 0, 0]}),
        ("export", {"recording": "../x", "kind": "mp4"}),
        ("export", {"recording": "none", "kind": "mp4"}),
        ("compare", {"lanes": [{"method": "magic"}, {"method": "mass_spring"}]}),
        ("compare", {"lanes": [{"method": "mass_spring"}]}),
        ("record", {"on": True, "name": "../../x"}),
        ("speed", {"value": 0.0}),
        ("nothing", {}),
        ("play", {"now": True}),
    ]
    for name, arguments in wishes:
        with pytest.raises(InputError) as refused:
            client.do(name, **arguments)
        assert "this failed" not in str(refused.value)
    assert client.do("copy", form="toml") == text
    assert np.array_equal(client.seen("ball"), before)
    client.do("step")


def test_a_blow_up_pauses_and_explains(engine, client):
    client.do("set", target={"scene": True}, key="substeps", value=1)
    client.do("set", target={"material": "cube"}, key="young", value=1e9)
    client.do("play")
    end = time.monotonic() + 20
    while engine.playing and time.monotonic() < end:
        time.sleep(0.02)
    assert not engine.playing
    assert any(n.get("level") == "error" and "substeps" in n["text"] for n in client.notes)
    client.do("undo")
    client.do("reset")
    client.do("step", frames=5)


def test_a_file_and_a_program_hold_the_present_scene(engine, client, tmp_path):
    client.do("set", target={"material": "ball"}, key="density", value=700.0)
    client.do("set", target={"scene": True}, key="gravity", value=[0.0, -3.0, 0.0])
    path = tmp_path / "copy.toml"
    path.write_text(client.do("copy", form="toml")["text"])
    scene = Document.open(path).scene()
    assert scene.gravity == (0.0, -3.0, 0.0)
    assert scene.bodies[0].spec.material.density == 700.0
    names: dict = {}
    exec(client.do("copy", form="python")["text"].split("for ")[0], names)
    assert names["scene"].gravity == (0.0, -3.0, 0.0)


def test_the_scene_is_kept_for_the_next_start(engine, client, tmp_path):
    client.do("set", target={"material": "ball"}, key="density", value=700.0)
    engine.stop()
    again = Document.open(tmp_path / "scene.toml")
    assert again.material("ball").density == 700.0


# ---- comparing ------------------------------------------------------------------------------------------------------


def test_lanes_run_in_step_and_know_their_error(engine, client):
    client.do("compare", lanes=[{"method": "mass_spring"}, {"method": "shape_matching"}], reference=0)
    client.do("step", frames=40)
    header, _ = client.frame()
    first, second = header["stats"]["lanes"]
    assert first["reference"] and not second["reference"]
    assert first["error"] is None
    apart = np.concatenate([client.seen(b, 1) - client.seen(b, 0) for b in ("ball", "cube")])
    assert second["error"] == pytest.approx(np.sqrt((apart**2).sum(axis=1).mean()), rel=0.01, abs=1e-5)
    assert second["error"] > 1e-4
    assert first["ms"] > 0 and second["ms"] > 0
    assert sim(engine, 0).frame_number == sim(engine, 1).frame_number == 40
    client.do("grab", body="ball", vertex=0, at=[0, 0.3, 0])
    assert {pull["lane"] for pull in client.frame()[0]["pulls"]} == {0, 1}
    client.do("compare", lanes=[])
    assert len(engine.world.lanes) == 1


# ---- recording ------------------------------------------------------------------------------------------------------


def wait_for_job(client: Client, job: int) -> dict:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for note in client.notes:
            if note.get("event") == "done" and note["job"] == job:
                return note
        time.sleep(0.05)
    raise AssertionError("the job did not end")


def test_a_recording_holds_what_was_shown_and_is_exported(engine, client, tmp_path):
    client.do("record", on=True, name="mine")
    client.do("step", frames=10)
    seen = client.seen("ball")
    assert client.frame()[0]["stats"]["recording"] == "mine"
    assert client.do("record", on=False) == "mine"
    (recording,) = engine.describe()["recordings"]
    assert (recording["name"], recording["frames"]) == ("mine", 11)
    folder = tmp_path / "files"
    note = wait_for_job(client, client.do("export", recording="mine", kind="obj"))
    assert note["error"] is None
    with zipfile.ZipFile(folder / note["file"]) as archive:
        assert sum(name.endswith(".obj") for name in archive.namelist()) == 11
    note = wait_for_job(client, client.do("export", recording="mine", kind="glb"))
    assert note["error"] is None
    assert (folder / note["file"]).read_bytes()[:4] == b"glTF"
    assert len(seen)


def test_a_change_of_the_bodies_ends_a_recording_whole(engine, client):
    client.do("record", on=True, name="part")
    client.do("step", frames=4)
    client.do("remove_body", name="cube")
    client.do("step", frames=4)
    (recording,) = engine.describe()["recordings"]
    assert recording["frames"] == 5
    assert client.frame()[0]["stats"]["recording"] is None


# ---- what must not stop it ------------------------------------------------------------------------------------------


def test_an_answer_nobody_waits_for_any_more_is_left_out(engine, client):
    """As when a page is closed while it waits: its task, and with it the answer, is cancelled."""
    waiting = engine.do("step", "c1", frames=30)
    assert engine.do("pause", "c1").cancel()
    waiting.result(60)
    client.do("step")
    assert engine.running and sim(engine).frame_number == 31


def test_a_frame_that_cannot_be_shown_pauses_and_explains(engine, client, monkeypatch):
    def fail(*_):
        raise ValueError("Out of range float values")

    with monkeypatch.context() as patch:
        patch.setattr(engine.world.frames, "frame", fail)
        engine.do("play", "c1").result(60)
        end = time.monotonic() + 20
        while not client.notes and time.monotonic() < end:
            time.sleep(0.01)
    assert any("cannot be shown" in note.get("text", "") for note in client.notes)
    assert engine.running and not engine.playing
    client.do("step")
    assert client.frame()[0]["frame"] == sim(engine).frame_number


def test_a_scene_that_cannot_be_saved_is_told_of(engine, client, monkeypatch):
    def fail(*_):
        raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")

    monkeypatch.setattr(engine.document, "save", fail)
    client.do("set", target={"material": "ball"}, key="density", value=700.0)
    end = time.monotonic() + 20
    while not any("saved" in note.get("text", "") for note in client.notes) and time.monotonic() < end:
        time.sleep(0.01)
    assert any("saved" in note.get("text", "") for note in client.notes)
    assert engine.running
    client.do("step")


def test_steps_end_at_a_blow_up(engine, client):
    client.do("set", target={"scene": True}, key="substeps", value=1)
    client.do("set", target={"material": "cube"}, key="young", value=1e9)
    client.do("step", frames=1000)
    assert sum(note.get("level") == "error" for note in client.notes) == 1


def test_waiting_steps_do_not_hold_up_the_end(tmp_path):
    engine = Engine(Document(TABLES, tmp_path), tmp_path, "cpu")
    engine.start()
    asked = [engine.do("step", "c1", frames=1000) for _ in range(20)]
    engine.stop()
    assert all(answer.done() for answer in asked)
    assert sim(engine).frame_number < 10_000


def test_an_engine_that_never_ran_answers_when_it_is_stopped(tmp_path):
    engine = Engine(Document(TABLES, tmp_path), tmp_path, "cpu")
    asked = engine.do("step", "c1")
    engine.stop()
    with pytest.raises(InputError, match="closed"):
        asked.result(0)


def test_a_client_that_leaves_is_forgotten_after_all_it_asked_for(engine, client):
    other = Client(engine, "c2")
    asked = [engine.do("step", "c1", frames=20), engine.do("layers", "c2", stages=True)]
    asked += [engine.do("grab", "c2", body="ball", vertex=0, at=[0, 0.3, 0])]
    asked += [engine.do("drag", "c2", target=[0, 0.3, 0], seq=3)]
    engine.leave(other.name)
    for answer in asked:
        answer.result(60)
    header, _ = client.frame()
    assert header["pulls"] == [] and header["drags"] == {}
    assert "stages" not in header["stats"] and set(engine.layers) == {"c1"}


def test_the_ball_goes_with_whoever_pokes(engine, client):
    other = Client(engine, "c2")
    other.do("poke", position=[0.3, 0.1, 0.0], radius=0.05)
    assert client.frame()[0]["poke"] is not None
    engine.leave("c2")
    assert client.frame()[0]["poke"] is None


def test_a_ball_that_cannot_be_added_is_not_there(engine, client):
    client.do("add_collider", kind="sphere", table={"name": "poke", "position": [5.0, 0.0, 0.0]})
    with pytest.raises(InputError):
        client.do("poke", position=[0.3, 0.1, 0.0], radius=0.05)
    client.do("set", target={"material": "ball"}, key="density", value=700.0)
    assert client.frame()[0]["poke"] is None


def test_pins_are_those_of_the_moment_that_is_gone_on_from(engine, client, tmp_path):
    alone = Document(TABLES, tmp_path).scene().build("cpu")
    alone.frame(60)
    top = int(client.seen("ball")[:, 1].argmax())
    client.do("step", frames=16)
    assert client.do("pin", body="ball", vertex=top)
    client.do("step", frames=20)
    assert client.do("resume_from", frame=15) == 15
    assert client.frame()[0]["pins"] == 0
    client.do("step", frames=45)
    assert np.allclose(sim(engine).positions(), alone.positions(), atol=1e-5)
    assert client.do("resume_from", frame=0) == 0
    before = client.seen("ball")[top]
    assert client.do("pin", body="ball", vertex=top)
    client.do("step", frames=31)
    client.do("unpin", body="ball")
    assert client.do("resume_from", frame=30) == 30
    assert client.frame()[0]["pins"] > 0
    client.do("step", frames=30)
    assert np.allclose(client.seen("ball")[top], before, atol=1e-3)
    client.do("unpin", body="ball")
    client.do("step", frames=30)
    assert client.seen("ball")[top, 1] < before[1] - 0.05


def test_a_recording_survives_odd_names_and_a_writer_that_fails(engine, client, tmp_path, monkeypatch):
    client.do("set", target={"scene": True}, key="name", value="Käse")
    assert client.do("record", on=True).startswith("K_se")
    client.do("record", on=False)
    left = tmp_path / "files" / "left.plf.part"
    left.write_bytes(b"of a crash")
    with pytest.raises(InputError, match="already"):
        client.do("record", on=True, name="left")
    assert left.read_bytes() == b"of a crash"

    def fail(*_):
        raise MemoryError("no memory")

    monkeypatch.setattr("pliant.export.frames.FramesWriter.add", fail)
    client.do("record", on=True, name="broken")
    client.do("step", frames=100)
    assert client.frame()[0]["stats"]["recording"] is None
    assert any("no memory" in note.get("text", "") for note in client.notes)


def test_an_export_that_says_much_and_one_that_cannot_start_both_end(tmp_path, monkeypatch):
    told: list[dict] = []
    jobs = Jobs(lambda **note: told.append(note))
    chatty = tmp_path / "chatty"
    chatty.write_text("#!/bin/sh\ncat >/dev/null; head -c 300000 /dev/zero >&2; echo 3; echo '{\"done\": 1.0}'\n")
    chatty.chmod(0o755)
    try:
        for number, program in enumerate((chatty, tmp_path / "nothing", chatty), 1):
            monkeypatch.setattr("sys.executable", str(program))
            jobs.add("film", {}, "film.mp4")
            end = time.monotonic() + 20
            while jobs.all[number].state not in ("done", "failed") and time.monotonic() < end:
                time.sleep(0.01)
        assert [job.state for job in jobs.all.values()] == ["done", "failed", "done"]
    finally:
        jobs.stop()


def test_numbers_beyond_all_bounds_are_refused(client):
    with pytest.raises(InputError, match="vector"):
        client.do("throw", body="ball", velocity=[10**400, 0, 0])
