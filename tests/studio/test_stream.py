"""The stream: what clients get, in which order, and how slow ones are treated."""

import contextlib
import json
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from starlette.applications import Starlette
from studio.fake_engine import FakeEngine, read, served
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from pliant.studio import messages
from pliant.studio.messages import FRAME, NOTE, SCENE
from pliant.studio.options import StudioOptions
from pliant.studio.stream import MOST_UNACKNOWLEDGED, MOST_UNANSWERED, add_stream


@contextlib.contextmanager
def running(options=None, **engine_options):
    engine = FakeEngine(**engine_options)
    app = Starlette()
    stream = add_stream(app, engine, options or StudioOptions())
    engine.start()
    try:
        with served(app) as port:
            yield engine, stream, f"ws://127.0.0.1:{port}/stream"
    finally:
        engine.stop()
    assert not engine.failed


def opened(url, **options):
    return connect(url, compression=None, max_size=None, proxy=None, close_timeout=0.5, **options)


def next_of(socket, kind, timeout=10.0, where=lambda header: True):
    """The next message of a kind that fits; frames met on the way are acknowledged."""
    end = time.monotonic() + timeout
    while True:
        data = socket.recv(timeout=max(end - time.monotonic(), 0.001))
        found, header = read(data)
        if found == FRAME:
            socket.send(json.dumps({"ack": header["frame"]}))
        if found == kind and where(header):
            return header


def waiting_for(condition, timeout=10.0):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)


def test_hello_scene_then_frames():
    with running() as (engine, stream, url), opened(url) as socket:
        kinds = [read(socket.recv(timeout=10)) for _ in range(3)]
        assert [kind for kind, _ in kinds] == [NOTE, SCENE, FRAME]
        hello = kinds[0][1]
        assert hello["event"] == "hello" and hello["client"] in stream.clients and hello["version"]
        socket.close()
        waiting_for(lambda: engine.left == [hello["client"]])
        assert not stream.clients


def test_two_clients_get_the_same_bytes():
    with running(interval=0.02) as (_, _, url), opened(url) as one, opened(url) as other:
        frames = ({}, {})
        for _ in range(40):
            for socket, seen in zip((one, other), frames):
                data = socket.recv(timeout=10)
                kind, header = read(data)
                if kind == FRAME:
                    seen[header["frame"]] = data
                    socket.send('{"ack": 1}')
        common = set(frames[0]) & set(frames[1])
        assert len(common) > 10
        assert all(frames[0][k] == frames[1][k] for k in common)


def test_a_slow_client_gets_the_newest_and_nothing_piles_up():
    with running(vertices=20_000, interval=0.002) as (engine, stream, url), opened(url) as socket:
        got = []
        with contextlib.suppress(TimeoutError):
            while True:
                kind, header = read(socket.recv(timeout=0.5))
                if kind == FRAME:
                    got.append(header["frame"])
        assert len(got) == MOST_UNACKNOWLEDGED
        (client,) = stream.clients.values()
        assert not client._waiting
        before = engine.number
        assert before > got[-1] + 20
        socket.send('{"ack": 1}')
        kind, header = read(socket.recv(timeout=10))
        assert kind == FRAME and header["frame"] >= before
        with pytest.raises(TimeoutError):
            socket.recv(timeout=0.2)


def test_no_frame_comes_before_its_scene():
    with running(interval=0.001) as (_, _, url), opened(url) as socket, opened(url) as actor:
        for _ in range(30):
            actor.send('{"do": "rebuild"}')
        scene, frames = None, 0
        while scene != 31 or frames < 40:
            kind, header = read(socket.recv(timeout=10))
            if kind == SCENE:
                assert scene is None or header["scene"] >= scene
                scene = header["scene"]
            elif kind == FRAME:
                assert header["scene"] == scene
                frames += 1
                socket.send('{"ack": 1}')


def test_a_frame_is_sent_again_after_its_scene():
    with running() as (engine, _, url):
        engine.hold.clear()
        time.sleep(0.05)
        with opened(url) as socket:
            first = next_of(socket, FRAME)
            engine.tell_all(engine.scene_bytes())
            assert next_of(socket, FRAME)["frame"] == first["frame"]


def test_replies_and_errors():
    with running() as (_, _, url), opened(url) as socket:
        socket.send('{"do": "echo", "id": 7, "name": "bunny", "at": [1, 2.5, null]}')
        reply = next_of(socket, NOTE, where=lambda h: "reply" in h)
        assert reply == {"reply": 7, "ok": True, "result": {"name": "bunny", "at": [1, 2.5, None]}}
        socket.send('{"do": "nonsense", "id": "a"}')
        reply = next_of(socket, NOTE, where=lambda h: "reply" in h)
        assert reply["reply"] == "a" and reply["error"]["remedy"] == "Give a command"
        socket.send('{"do": "crash", "id": 8}')
        reply = next_of(socket, NOTE, where=lambda h: "reply" in h)
        assert reply["reply"] == 8 and "ZeroDivisionError" in reply["error"]["what"]
        socket.send('{"do": "echo", "id": 9, "client": "c99"}')
        reply = next_of(socket, NOTE, where=lambda h: "reply" in h)
        assert reply["reply"] == 9 and reply["error"]["where"] == "client"
        socket.send(b"\0\1\2")
        assert "binary" in next_of(socket, NOTE, where=lambda h: "reply" in h)["error"]["what"]


def test_drags_are_merged_and_stay_between_grab_and_release():
    with running() as (engine, _, url), opened(url) as socket:
        next_of(socket, FRAME)
        engine.hold.clear()
        time.sleep(0.05)
        for text in ({"do": "grab"}, *({"do": "drag", "seq": k} for k in range(100)), {"do": "release"}):
            socket.send(json.dumps(text))
        time.sleep(0.2)
        engine.hold.set()
        socket.send('{"do": "play", "id": 1}')
        next_of(socket, NOTE, where=lambda h: h.get("reply") == 1)
        names = [name for name, *_ in engine.done]
        assert names[0] == "grab" and names[-2:] == ["release", "play"]
        drags = [arguments["seq"] for name, _, arguments in engine.done if name == "drag"]
        assert drags[-1] == 99 and len(drags) <= 4 and drags == sorted(drags)


def test_unanswered_commands_are_limited():
    with running() as (engine, _, url), opened(url) as socket:
        next_of(socket, FRAME)
        engine.hold.clear()
        time.sleep(0.05)
        for k in range(MOST_UNANSWERED + 10):
            socket.send(json.dumps({"do": "play", "id": k}))
        error = next_of(socket, NOTE, where=lambda h: "error" in h)
        assert error["reply"] == MOST_UNANSWERED
        engine.hold.set()
        assert next_of(socket, NOTE, where=lambda h: h.get("reply") == MOST_UNANSWERED - 1)["ok"]
        assert len(engine.done) == MOST_UNANSWERED


def test_a_client_that_does_not_read_is_disconnected_and_others_go_on():
    with running() as (engine, stream, url), opened(url) as watcher, opened(url, max_queue=1) as deaf:
        name = read(deaf.recv(timeout=10))[1]["client"]
        # More than sockets' own buffers hold, told to all; only one reads.
        for _ in range(4):
            engine.do("chatter", count=150, size=100_000)
            for _ in range(150):
                next_of(watcher, NOTE, where=lambda h: h.get("event") == "notice")
        waiting_for(lambda: name in engine.left)
        assert len(stream.clients) == 1
        next_of(watcher, FRAME)


def test_too_many_clients_are_told_so():
    with running(StudioOptions(clients=2)) as (_, _, url), opened(url), opened(url), opened(url) as third:
        with pytest.raises(ConnectionClosed) as info:
            third.recv(timeout=10)
        assert info.value.rcvd.code == 1013 and "--clients" in info.value.rcvd.reason


def test_fifty_clients_all_receive():
    with running(vertices=2000, interval=0.03) as (engine, stream, url), contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(opened(url)) for _ in range(50)]
        assert len(stream.clients) == 50
        for _ in range(4):
            numbers = [next_of(socket, FRAME)["frame"] for socket in sockets]
        assert min(numbers) > 1 and engine._thread.is_alive()


def test_the_server_exits_with_clients_connected_and_listens_no_more():
    with contextlib.ExitStack() as stack:
        with running(interval=0.002) as (engine, stream, url):
            sockets = [stack.enter_context(opened(url)) for _ in range(5)]
            next_of(sockets[0], FRAME)
        assert not stream.clients and len(engine.left) == 5
        stream.close()
        assert engine.on_frame == []


def test_a_stream_outlives_its_server():
    engine, app = FakeEngine(), Starlette()
    stream = add_stream(app, engine, StudioOptions())
    engine.start()
    for _ in range(2):
        with served(app) as port, opened(f"ws://127.0.0.1:{port}/stream") as socket:
            for _ in range(5):
                next_of(socket, FRAME)
        # as if the loop had ended before it was called
        stream._waking = True
    engine.stop()


def test_bytes_are_shared_between_clients():
    engine = FakeEngine()
    stream = add_stream(Starlette(), engine, StudioOptions())
    assert stream.newest()[1] is engine.newest()[1]
    assert stream.newest()[2] == engine.scene
    engine._newest = (0, b"")
    assert stream.newest() == (0, b"", -1)
    assert messages.decode(engine.scene_bytes())[0] == SCENE
