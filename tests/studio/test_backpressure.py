"""A real engine with clients that are slow: they get the newest frame, nothing is queued for them, time goes on."""

from __future__ import annotations

import contextlib
import json
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from starlette.applications import Starlette
from studio.fake_engine import read, served
from studio.test_stream import opened, waiting_for

from pliant.bench.stream import make_scene
from pliant.studio import messages
from pliant.studio.document import Document
from pliant.studio.engine import Engine
from pliant.studio.messages import FRAME
from pliant.studio.options import StudioOptions
from pliant.studio.stream import MOST_UNACKNOWLEDGED, add_stream

VERTICES = (100, 50)


@pytest.fixture
def engine(tmp_path):
    sim = make_scene(*VERTICES).build("cpu", estimate_step=False)
    document = Document.from_simulation(sim, tmp_path)
    engine = Engine(document, tmp_path, "cpu", sim, autosave=False, history_mb=1.0)
    engine.start()
    yield engine
    engine.stop()


@contextlib.contextmanager
def streaming(engine):
    """A stream of the engine, which plays, and where it is."""
    app = Starlette()
    stream = add_stream(app, engine, StudioOptions())
    engine.do("play").result(30)
    with served(app) as port:
        yield stream, f"ws://127.0.0.1:{port}/stream"


def newest(engine):
    """The number of the frame that is published."""
    return messages.decode(engine.newest()[1])[1]["frame"]


def next_frame(socket, timeout=20.0):
    """The header of the next frame; nothing is acknowledged."""
    end = time.monotonic() + timeout
    while True:
        kind, header = read(socket.recv(timeout=max(end - time.monotonic(), 0.001)))
        if kind == FRAME:
            return header


def test_a_client_that_acknowledges_nothing_gets_three_frames_and_then_the_newest(engine):
    with streaming(engine) as (stream, url), opened(url) as socket:
        got = [next_frame(socket)["frame"] for _ in range(MOST_UNACKNOWLEDGED)]
        waiting_for(lambda: newest(engine) > got[-1] + 15, timeout=60)
        with pytest.raises(TimeoutError):
            next_frame(socket, 0.1)
        (client,) = stream.clients.values()
        assert not client._waiting and client._unacknowledged == MOST_UNACKNOWLEDGED
        before = newest(engine)
        socket.send(json.dumps({"ack": got[0]}))
        assert next_frame(socket)["frame"] >= before


def test_a_client_that_takes_long_skips_frames_and_sees_no_old_ones(engine):
    with streaming(engine) as (stream, url), opened(url) as slow, opened(url) as quick:
        seen, asked = [], []
        for _ in range(12):
            header = next_frame(slow)
            seen.append(header["frame"])
            (held, *_) = stream.clients.values()
            assert held._unacknowledged <= MOST_UNACKNOWLEDGED and not held._waiting
            later = header["frame"] + 12
            waiting_for(lambda later=later: newest(engine) >= later, timeout=60)
            asked.append(newest(engine))
            slow.send(json.dumps({"ack": header["frame"]}))
            quick.send(json.dumps({"ack": next_frame(quick)["frame"]}))
        # what is sent after an acknowledgement was made after it; two others may be on the way already
        assert all(number >= made for number, made in zip(seen[MOST_UNACKNOWLEDGED:], asked, strict=False))
        assert seen == sorted(set(seen)) and seen[-1] - seen[0] > 2 * len(seen)


def test_what_is_asked_for_while_time_runs_is_shown_with_the_next_frame(engine):
    frames = []
    engine.on_frame.append(lambda: frames.append(messages.decode(engine.newest()[1])[1]))
    engine.do("play").result(30)
    engine.do("grab", "c1", body="ring", vertex=0, at=[0.1, 0.3, 0.0]).result(30)
    for seq in range(1, 31):
        engine.do("drag", "c1", target=[0.1, 0.3 + 0.001 * seq, 0.0], seq=seq).result(30)
        time.sleep(0.005)
    waiting_for(lambda: frames[-1]["drags"].get("c1") == 30, timeout=30)
    engine.do("pause").result(30)
    shown = [frame["frame"] for frame in frames if frame["stats"]["playing"]]
    assert len(shown) > 3 and shown == sorted(set(shown)), "a frame was sent twice"


def test_what_is_asked_for_in_slow_motion_is_shown_at_once(engine):
    frames = []
    engine.on_frame.append(lambda: frames.append(messages.decode(engine.newest()[1])[1]))
    engine.do("speed", value=0.01).result(30)
    engine.do("play").result(30)
    waiting_for(lambda: engine.world.frame_number > 0 and frames, timeout=30)
    engine.do("pin", body="ring", vertex=0).result(30)
    waiting_for(lambda: frames[-1]["pins"] > 0, timeout=30)
    first = next(k for k, frame in enumerate(frames) if frame["pins"] > 0)
    assert frames[first]["frame"] == frames[first - 1]["frame"]
