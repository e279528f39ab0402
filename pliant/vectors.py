"""Checking of the small vectors users give."""

from __future__ import annotations

import math
from typing import Any

from pliant.errors import InputError

# A particle farther from the origin [m] or faster [m/s] than this makes no sense.
FARTHEST = 1e6
FASTEST = 1e5


def as_float(value: Any) -> float | None:
    """A number as a float; None for what is no number, infinity for what is too large."""
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None


def as_vector(value: Any, where: str) -> tuple[float, float, float]:
    """Three finite numbers as a tuple, or an `InputError`."""
    remedy = "Give three finite numbers, such as [0, 1, 0]"
    if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != 3:
        raise InputError(f"{value!r} is not a vector", where, remedy)
    numbers: list[float] = []
    for part in value:
        number = as_float(part)
        if number is None or not math.isfinite(number):
            raise InputError(f"{part!r} in {list(value)!r} is not a finite number", where, remedy)
        numbers.append(number)
    return numbers[0], numbers[1], numbers[2]


def as_bounded(value: Any, most: float, where: str, unit: str) -> tuple[float, float, float]:
    """A vector whose numbers are not absurd: what is beyond counts as a blow-up."""
    vector = as_vector(value, where)
    if max(abs(part) for part in vector) > most:
        raise InputError(f"{list(vector)} {unit} is out of range", where, f"Give numbers from {-most:g} to {most:g}")
    return vector


def as_positive(value: Any, where: str, unit: str = "") -> float:
    """A finite number above zero, or an `InputError`."""
    remedy = f"Give a finite number above 0{', in ' + unit if unit else ''}"
    number = as_float(value)
    if number is None:
        raise InputError(f"{value!r} is not a number", where, remedy)
    if not math.isfinite(number) or number <= 0:
        raise InputError(f"{value!r} is out of range", where, remedy)
    return number


def as_count(value: Any, where: str, low: int = 1, high: int = 10**9) -> int:
    """A whole number within bounds, or an `InputError`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{value!r} is not a whole number", where, f"Give a whole number from {low} to {high}")
    number = int(value)
    if not low <= number <= high:
        raise InputError(f"{number} is out of range", where, f"Give a whole number from {low} to {high}")
    return number
