"""What a command takes: every value that comes from outside is checked here before anything is done with it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from pliant.errors import InputError

REQUIRED = object()
LONGEST_TEXT = 200
DEEPEST = 6
MOST_VALUES = 4000


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of a command: `check` returns the value as it is used, or raises an `InputError`."""

    check: Callable[[Any, str], Any]
    default: Any = REQUIRED


def number(low: float, high: float, default: Any = REQUIRED) -> Argument:
    """A finite number from low to high."""

    def check(value: Any, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise InputError(f"{shown(value)} is no number from {low:g} to {high:g}", where, "Give such a number")
        return float(value)

    return Argument(check, default)


def whole(low: int, high: int, default: Any = REQUIRED) -> Argument:
    """A whole number from low to high."""

    def check(value: Any, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InputError(f"{shown(value)} is no whole number from {low} to {high}", where, "Give such a number")
        return value

    return Argument(check, default)


def vector(limit: float, default: Any = REQUIRED) -> Argument:
    """Three finite numbers of at most `limit`."""

    def check(value: Any, where: str) -> tuple[float, float, float]:
        parts = list(value) if isinstance(value, list | tuple) else []
        good = len(parts) == 3 and all(
            isinstance(p, int | float) and not isinstance(p, bool) and abs(p) <= limit for p in parts
        )
        if not good:
            raise InputError(f"{shown(value)} is no vector", where, f"Give three numbers of at most {limit:g}")
        return (float(parts[0]), float(parts[1]), float(parts[2]))

    return Argument(check, default)


def text(default: Any = REQUIRED, choices: tuple[str, ...] = ()) -> Argument:
    """A short text."""

    def check(value: Any, where: str) -> str:
        if not isinstance(value, str) or not value or len(value) > LONGEST_TEXT:
            raise InputError(f"{shown(value)} is no text", where, f"Give 1 to {LONGEST_TEXT} characters")
        if choices and value not in choices:
            raise InputError(f"{shown(value)} is not known", where, f"Give one of: {', '.join(choices)}")
        return value

    return Argument(check, default)


def flag(default: Any = REQUIRED) -> Argument:
    """True or false."""

    def check(value: Any, where: str) -> bool:
        if not isinstance(value, bool):
            raise InputError(f"{shown(value)} is neither true nor false", where, "Give true or false")
        return value

    return Argument(check, default)


def anything(default: Any = REQUIRED) -> Argument:
    """A value of JSON of moderate size, which is checked further where it is used."""

    def check(value: Any, where: str) -> Any:
        _count(value, where, 0)
        return value

    return Argument(check, default)


def table(default: Any = REQUIRED) -> Argument:
    """A JSON object of moderate size."""

    def check(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InputError(f"{shown(value)} is no table", where, "Give keys with values")
        _count(value, where, 0)
        return value

    return Argument(check, default)


def tables(most: int, default: Any = REQUIRED) -> Argument:
    """A list of JSON objects."""

    def check(value: Any, where: str) -> list[dict[str, Any]]:
        if not isinstance(value, list) or len(value) > most or not all(isinstance(v, dict) for v in value):
            raise InputError(f"{shown(value)} is no list of at most {most} tables", where, "Give such a list")
        _count(value, where, 0)
        return value

    return Argument(check, default)


def optional(argument: Argument) -> Argument:
    """The same, or nothing."""
    return Argument(lambda value, where: None if value is None else argument.check(value, where), None)


def check_arguments(name: str, known: Mapping[str, Argument], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a command, all of them there and checked."""
    for key in given:
        if key not in known:
            remedy = f"It takes: {', '.join(known)}" if known else "It takes none"
            raise InputError(f"no argument {shown(key)}", name, remedy)
    values = {}
    for key, argument in known.items():
        if key in given:
            values[key] = argument.check(given[key], f"{name}.{key}")
        elif argument.default is REQUIRED:
            raise InputError(f"the argument '{key}' is missing", name, f"Give {', '.join(known)}")
        else:
            values[key] = argument.default
    return values


def shown(value: Any) -> str:
    """A value for a message, shortened."""
    words = repr(value) if isinstance(value, str | int | float | bool | type(None)) else type(value).__name__
    return words if len(words) <= 60 else words[:57] + "..."


def _count(value: Any, where: str, depth: int) -> int:
    """Number of values in nested lists and tables; refuses what is too deep, too many or not finite."""
    if depth > DEEPEST:
        raise InputError("lists or tables are nested too deeply", where, f"Use at most {DEEPEST} levels")
    count = 1
    if isinstance(value, dict):
        count += sum(_count(part, where, depth + 1) for part in value.values())
    elif isinstance(value, list | tuple):
        count += sum(_count(part, where, depth + 1) for part in value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{value} is not finite", where, "Give finite numbers")
    elif isinstance(value, str) and len(value) > 20 * LONGEST_TEXT:
        raise InputError(f"a text of {len(value)} characters", where, "Give a shorter one")
    if count > MOST_VALUES:
        raise InputError(f"more than {MOST_VALUES} values", where, "Give fewer")
    return count
