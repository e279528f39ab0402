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


def test_ten_thousand_bad_messages_harm_nobody():
    generator = random.Random(1)
    with running(interval=0.004) as (engine, stream, url), opened(url) as watcher, opened(url) as bad:
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

        def flood():
            for k in range(10_000):
                # Large ones are rare: a client may send 2 MB in a second, and this is to end.
                choice = generator.choice(BAD[:21]) if k % 250 else BAD[21 + k // 250 % 6]
                if k % 4 == 1:
                    bad.send(generator.randbytes(20))
                elif k % 4 == 2:
                    bad.send(json.dumps({"do": chr(generator.randrange(1, 50_000)), "x": [None] * (k % 7)}))
                else:
                    bad.send(choice)

        thread = threading.Thread(target=flood, daemon=True)
        thread.start()
        first, frames = engine.number, 0
        while thread.is_alive():
            next_of(watcher, FRAME)
            frames += 1
            assert time.monotonic() < begun + 60
        seconds = time.monotonic() - begun
        assert frames > 50 and engine.number > first + 50
        # Still served, and still able to command; the flood was slowed to 2,000 in a second.
        bad.send('{"do": "echo", "id": 12345, "x": 1}')
        end = time.monotonic() + 20
        while not any(header.get("reply") == 12345 for _, header in notes):
            assert time.monotonic() < end and not closed.is_set()
            next_of(watcher, FRAME)
        assert seconds > 3
        errors = [header for _, header in notes if "error" in header]
        assert 20 <= len(errors) <= 20 * (notes[-1][0] - begun + 2)
        assert any(header.get("untold", 0) > 100 for header in errors)
        assert all(set(header["error"]) == {"what", "where", "remedy"} for header in errors)
        assert len(stream.clients) == 2
