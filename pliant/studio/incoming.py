"""A client's text messages: counted, and read with suspicion before anything acts on them."""

from __future__ import annotations

import json
import math
import time
from typing import Any

from pliant.errors import InputError

LARGEST = 64 << 10
"""Bytes of a message."""
DEEPEST = 32
"""Lists and objects inside each other."""
MOST_DIGITS = 16
"""Of a whole number; more than JavaScript keeps."""
LONGEST_NAME = 64
WHERE = "message"
REMEDY = 'Send a JSON object such as {"do": "play", "id": 1} or {"ack": 1}'


class Budget:
    """So many in a second; what was not used is not saved up."""

    def __init__(self, most: int):
        self._most = most
        self._used = 0
        self._begin = time.monotonic()

    def take(self, count: int) -> float:
        """Take ``count``; returns 0.0, or the seconds to wait until there is more, when none was taken."""
        now = time.monotonic()
        if now - self._begin >= 1.0:
            self._begin, self._used = now, 0
        if self._used and self._used + count > self._most:
            return max(self._begin + 1.0 - now, 1e-3)
        self._used += count
        return 0.0


def read_message(text: str) -> dict[str, Any]:
    """The object that a message holds: its numbers are finite, it is not deep, and its texts can be written.

    Raises:
        InputError: for anything else.
    """
    if len(text) > LARGEST or len(text.encode("utf-8", "replace")) > LARGEST:
        raise InputError(f"a message of {len(text):,} characters", WHERE, f"At most {LARGEST:,} bytes are read")
    try:
        found = json.loads(text, parse_constant=_constant, parse_float=_float, parse_int=_int)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is no JSON ({str(error)[:80]})", WHERE, REMEDY) from None
    if not isinstance(found, dict):
        raise InputError(f"a {type(found).__name__} instead of an object", WHERE, REMEDY)
    if text.count("[") + text.count("{") > DEEPEST and _depth(found) > DEEPEST:
        raise InputError(f"more than {DEEPEST} lists or objects inside each other", WHERE, REMEDY)
    if "\\" in text:
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError("a text with half a character", WHERE, "Send whole characters") from None
    return found


def command_of(message: dict[str, Any]) -> tuple[str, Any, dict[str, Any]]:
    """Name, id (a number, a short text or None) and arguments of a command."""
    arguments = dict(message)
    name, number = arguments.pop("do", None), arguments.pop("id", None)
    if not isinstance(name, str) or not name.isidentifier() or len(name) > LONGEST_NAME:
        raise InputError(f"{str(name)[:LONGEST_NAME]!r} is no command", "do", REMEDY)
    if "client" in arguments:
        raise InputError("the client cannot be chosen", "client", "Leave it out: it is the one that sends")
    return name, number, arguments


def id_of(message: dict[str, Any]) -> Any:
    """The id to answer with; None when there is none that may be sent back."""
    number = message.get("id")
    if isinstance(number, bool) or not isinstance(number, (int, float, str)):
        return None
    return number if not isinstance(number, str) or len(number) <= LONGEST_NAME else None


def _depth(value: Any) -> int:
    """How deep lists and objects lie inside each other, no farther than one beyond the limit."""
    level, layer = 0, [value]
    while layer and level <= DEEPEST:
        inner: list[Any] = []
        for each in layer:
            inner += each.values() if isinstance(each, dict) else each if isinstance(each, list) else []
        layer = [each for each in inner if isinstance(each, (dict, list))]
        level += 1
    return level + 1 if layer else level


def _constant(word: str) -> Any:
    raise InputError(f"the number {word}", WHERE, "Give finite numbers")


def _float(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise InputError(f"the number {word[:20]}", WHERE, "Give finite numbers")
    return value


def _int(word: str) -> int:
    if len(word) > MOST_DIGITS + 1:
        raise InputError(f"a whole number of {len(word)} digits", WHERE, f"Give at most {MOST_DIGITS} digits")
    return int(word)
