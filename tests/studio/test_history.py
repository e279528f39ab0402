"""The history: what was shown can be gone back to, within a limit of memory."""

from __future__ import annotations

import numpy as np

from pliant.studio.history import KEY_EVERY, History


def filled(frames: int, size: int = 1000, megabytes: float = 1.0) -> History:
    history = History(megabytes)
    for frame in range(frames):
        history.add(frame, bytes([frame % 256]) * size)
        if history.wants_moment(frame):
            history.add_moment(frame, [{"x": np.full(10, frame)}])
    return history


def test_frames_are_found_by_their_number():
    history = filled(100)
    assert (history.first, history.last, len(history)) == (0, 99, 100)
    assert history.message(37) == bytes([37]) * 1000
    assert history.message(5000) == bytes([99]) * 1000


def test_the_oldest_go_when_memory_is_full():
    history = filled(3000)
    assert history.last == 2999
    assert 900 < len(history) <= 1000
    assert history.first == 3000 - len(history)
    assert history.message(0) == history.message(history.first)
    assert history.moment(history.first - 1) is None
    frame, lanes = history.moment(history.last)
    assert frame % KEY_EVERY == 0
    assert lanes[0]["x"][0] == frame


def test_going_back_forgets_what_came_after():
    history = filled(100)
    history.add(40, b"other")
    assert history.last == 40
    assert history.message(99) == b"other"
    assert history.moment(99)[0] == 30


def test_moments_are_forgotten_alone_when_the_bodies_change():
    history = filled(100)
    history.forget_moments()
    assert history.moment(99) is None
    assert len(history) == 100
    assert history.wants_moment(41)


def test_memory_is_counted_right():
    history = filled(100)
    history.clear()
    assert history._bytes == 0
    history = filled(100)
    history.forget_after(-1)
    assert history._bytes == 0
