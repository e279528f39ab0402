"""Malformed and hostile messages: the server answers, others are served, the engine goes on."""

import json
import random
import threading
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from studio.fake_engine import read
from studio.test_stream import next_of, opened, running

from pliant.errors import InputError
from pliant.studio import stream
from pliant.studio.incoming import read_message
from pliant.studio.messages import FRAME, NOTE

BAD = [
    "",
    "{",
    "null",
    "[]",
    '"do"',
    "{}",
    '{"do": 1}',
    '{"do": null}',
    '{"do": ["play"]}',
    '{"do": "no such"}',
    '{"do": "__class__"}',
    '{"do": "nothing_known", "id": 5}',
    '{"do": "play", "client": "c1"}',
    '{"do": "grab", "at": [NaN, Infinity, 0]}',
    '{"do": "grab", "at": [1e999, 0, 0]}',
    '{"do": "seek", "frame": ' + "9" * 5000 + "}",
    '{"do": "open", "scene": "\\ud800"}',
    '{"ack": "x"}',
    '{"ack": null}',
    '{"ack": true}',
    '{"ack": [1]}',
    "[" * 30_000,
    '{"a":' * 10_000,
    '{"do": "set", "value": ' + "[" * 200 + "]" * 200 + "}",
    '{"do": "play", "self": 1, "name": 2}',
    "x" * 70_000,
    '{"do": "play", "x": "' + "y" * 70_000 + '"}',
]


@pytest.mark.parametrize(
    "text",
    [text for text in BAD if not text.startswith(('{"do"', '{"ack', "{}"))]
    + [BAD[13], BAD[14], BAD[15], BAD[16], BAD[23]],
)
def test_what_is_no_sound_object_is_refused_with_one_kind_of_error(text):
    with pytest.raises(InputError) as info:
        read_message(text)
    assert info.value.remedy and len(str(info.value)) < 400


def test_ten_thousand_bad_messages_harm_nobody(monkeypatch):
    monkeypatch.setattr(stream, "MOST_MESSAGES", 5000)
    generator = random.Random(1)
    with running(interval=0.004) as (engine, served, url), opened(url) as watcher, opened(url) as bad:
        next_of(watcher, FRAME)
        notes, closed = [], threading.Event()

        def listen():
            try:
                while True:
                    kind, header = read(bad.recv())
                    if kind == NOTE:
                        notes.append((time.monotonic(), header))
            except Exception:
                closed.set()

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        begun = time.monotonic()

        failed, answered = [], threading.Event()

        def flood():
            try:
                for k in range(10_000):
                    # Large ones are rare: a client may send 2 MB in a second, and this is to end.
                    if k % 250 == 0:
                        bad.send(BAD[21 + k // 250 % 6])
                    elif k % 4 == 1:
                        bad.send(generator.randbytes(20))
                    elif k % 4 == 2:
                        bad.send(json.dumps({"do": chr(generator.randrange(1, 50_000)), "x": [None] * (k % 7)}))
                    else:
                        bad.send(generator.choice(BAD[:21]))
                # It may be refused while others wait, and errors beyond 20 in a second are not told.
                while not answered.wait(0.3):
                    bad.send('{"do": "echo", "id": 12345, "x": 1}')
            except Exception as error:
                failed.append(error)

        thread = threading.Thread(target=flood, daemon=True)
        thread.start()
        first, frames = engine.number, 0
        # Until its last message is answered, which is sound, the other client gets its frames.
        while not any(header.get("reply") == 12345 for _, header in notes):
            next_of(watcher, FRAME)
            frames += 1
            assert time.monotonic() < begun + 60 and not closed.is_set() and not failed
        seconds = time.monotonic() - begun
        answered.set()
        thread.join()
        assert frames > 20 and engine.number > first + 20
        assert seconds > 1, "a flood is slowed down"
        errors = [header for _, header in notes if "error" in header]
        assert 20 <= len(errors) <= 20 * (notes[-1][0] - begun + 2)
        assert any(header.get("untold", 0) > 100 for header in errors)
        assert all(set(header["error"]) == {"what", "where", "remedy"} for header in errors)
        assert len(served.clients) == 2
