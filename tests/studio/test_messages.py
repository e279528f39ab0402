"""The stream's messages: what goes in comes out, and what is damaged is refused."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.errors import InputError
from pliant.studio import messages


def test_arrays_come_back_where_the_header_says():
    x = np.arange(10, dtype=np.uint16).reshape(5, 2)
    normal = np.arange(7, dtype=np.int8)
    data = messages.encode(messages.FRAME, {"frame": 3, "name": "ä"}, {"x": x, "normal": normal, "none": x[:0]})
    kind, header, sections = messages.decode(data)
    assert (kind, header["frame"], header["name"]) == (messages.FRAME, 3, "ä")
    assert np.array_equal(np.frombuffer(sections["x"], np.uint16).reshape(5, 2), x)
    assert np.array_equal(np.frombuffer(sections["normal"], np.int8), normal)
    assert len(sections["none"]) == 0
    start = messages.HEAD.size + messages.HEAD.unpack_from(data)[2]
    assert start % messages.ALIGN == 0
    assert all(offset % 4 == 0 for offset, _ in header["sections"].values())


def test_a_changed_header_leaves_the_arrays():
    data = messages.encode(messages.FRAME, {"live": True}, {"x": np.arange(9, dtype=np.float32)})
    _, header, sections = messages.decode(messages.changed(data, {"live": False, "long": "x" * 1000}))
    assert header["live"] is False
    assert np.array_equal(np.frombuffer(sections["x"], np.float32), np.arange(9))


def test_numbers_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError):
        messages.encode(messages.NOTE, {"value": float("nan")})


@given(st.integers(0, 200), st.integers(0, 255))
def test_damage_is_refused_or_harmless(place, value):
    data = bytearray(messages.encode(messages.FRAME, {"frame": 1}, {"x": np.arange(20, dtype=np.uint16)}))
    data[place % len(data)] = value
    with contextlib.suppress(InputError):
        messages.decode(bytes(data))


@given(st.integers(0, 100))
def test_what_is_cut_off_is_refused(length):
    data = messages.encode(messages.FRAME, {"frame": 1}, {"x": np.arange(20, dtype=np.uint16)})
    if length < len(data):
        with pytest.raises(InputError):
            messages.decode(data[:length])
