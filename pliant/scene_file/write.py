"""Tables of a scene file as TOML text, as a person would write it."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from pliant.errors import InputError

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
LINE = 120
"""Longest line; a longer list is broken, one entry per line."""


def scene_text(tables: Mapping[str, Any]) -> str:
    """The TOML text of a scene file's tables; reading it gives the same tables.

    Single values come first, then a section for every table and for every entry of a list of tables; tables inside of
    those are written in one line, unless they hold nothing but tables.
    """
    parts = ["".join(_line(key, value) for key, value in tables.items() if not _is_section(value))]
    for key, value in tables.items():
        if _is_section(value):
            parts += _sections((key,), value)
    return "\n".join(part for part in parts if part)


def _is_section(value: Any) -> bool:
    """Whether a value gets headings of its own: a table, or a list of nothing but tables."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(v, Mapping) for v in value)


def _sections(path: tuple[str, ...], value: Any) -> list[str]:
    """A table, or each of a list of tables, under its heading."""
    heading = ".".join(_key(part) for part in path)
    if not isinstance(value, Mapping):
        return [f"[[{heading}]]\n" + "".join(_line(k, v) for k, v in table.items()) for table in value]
    inner = {key: entry for key, entry in value.items() if isinstance(entry, Mapping)}
    if inner and len(inner) == len(value):
        return [part for key, entry in inner.items() for part in _sections((*path, key), entry)]
    return [f"[{heading}]\n" + "".join(_line(key, entry) for key, entry in value.items())]


def _line(key: str, value: Any) -> str:
    """A key and its value; a list too long for a line is broken into one line per entry."""
    line = f"{_key(key)} = {_value(value)}"
    if len(line) > LINE and isinstance(value, (list, tuple)) and value:
        rows = "".join(f"    {_value(entry)},\n" for entry in value)
        line = f"{_key(key)} = [\n{rows}]"
    return line + "\n"


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for a character that JSON leaves as it is and for halves of surrogate pairs
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        raise InputError(f"{text!r} is no Unicode text", "scene_text", "Give texts without lone surrogates")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    raise InputError(f"{value!r} cannot stand in a scene file", "scene_text", "Give numbers, texts, lists and tables")


def _number(value: float) -> str:
    """The shortest text of a number that reads as the same, with a point or an exponent in it."""
    if math.isnan(value) or math.isinf(value):
        return str(value)
    text = repr(value)
    mantissa, letter, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if letter else text
