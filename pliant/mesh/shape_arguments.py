"""What shapes made by formula are given, checked, and what their parameters mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays

MAX_ELEMENTS = 40_000_000
"""Most tets, triangles or segments a shape may have."""
SMALLEST, LARGEST = 1e-9, arrays.FARTHEST
"""Range of lengths that can be meshed [m]: the volumes of smaller or larger tets leave the range of float32."""

WORDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "split": ("how each cell is cut into tets", ("six", "five")),
    "diagonals": ("how each cell is cut into triangles", ("alternating", "same")),
}
"""Texts that the shapes take: what they mean, and which there are."""
FILES = {"scalp": "a surface that hair grows on, as a file or the name of a sample mesh; a head if not given"}
"""Meshes that the shapes take."""
NUMBERS: dict[str, dict[str, Any]] = {
    "segments": {"meaning": "number of segments, of a tree those of its trunk", "low": 1},
    "strands": {"meaning": "number of strands", "low": 1, "high": 1_000_000},
    "tufts": {"meaning": "number of tufts that the strands draw together in", "low": 1},
    "tightness": {"meaning": "how far a tuft draws together, from 0 to 1 (a point)", "low": 0.0, "high": 1.0},
    "curl": {"meaning": "radius of the curls", "unit": "m", "low": 0.0},
    "turns": {"meaning": "turns of a curl along a strand", "low": 0.0},
    "curly": {"meaning": "share of the tufts that are curly", "low": 0.0, "high": 1.0},
    "fall": {"meaning": "how far strands bend down, from 0 (along the normals) to 1", "low": 0.0, "high": 1.0},
    "spread": {
        "meaning": "largest random angle of strands to the normals",
        "unit": "degrees",
        "low": 0.0,
        "high": 80.0,
    },
    "seed": {"meaning": "what the random numbers follow from", "low": 0},
    "levels": {"meaning": "orders of branches, the trunk counted", "low": 1, "high": 8},
    "branches": {"meaning": "branches that leave a branch of the order before", "low": 1, "high": 32},
    "angle": {"meaning": "of a branch to the one that it leaves", "unit": "degrees", "low": 0.0, "high": 150.0},
    "taper": {"meaning": "radius at the end of a branch over that at its beginning", "above": 0.0, "high": 1.0},
    "crook": {"meaning": "largest random angle from segment to segment", "unit": "degrees", "low": 0.0, "high": 45.0},
    "lift": {"meaning": "how far branches bend up, from -1 (they hang) to 1", "low": -1.0, "high": 1.0},
}
"""Numbers that are neither lengths nor numbers of cells: their meaning, unit and limits."""


def as_length(value: Any, where: str) -> float:
    """A length in metres, or an `InputError`."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0.0:
        raise InputError(f"{value!r} is not a positive finite number", where, "Give a length in metres")
    if not SMALLEST <= value <= LARGEST:
        raise InputError(f"{value!r} m is out of range", where, f"Give a length from {SMALLEST:g} to {LARGEST:g} m")
    return float(value)


def as_number(value: Any, shape: str, key: str) -> float:
    """A number of `NUMBERS` within its limits, or an `InputError`."""
    about = NUMBERS[key]
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    low, high, above = about.get("low", -math.inf), about.get("high", math.inf), about.get("above", -math.inf)
    if not number or not math.isfinite(value) or not low <= value <= high or value <= above:
        limits = [f"above {above:g}"] if above > -math.inf else [f"from {low:g} up"] if low > -math.inf else []
        limits += [f"at most {high:g}"] if high < math.inf else []
        raise InputError(f"{value!r} is out of range", f"{shape}({key})", f"Give a number {', '.join(limits)}")
    return float(value)


def as_whole(value: Any, shape: str, key: str) -> int:
    """A whole number of `NUMBERS` within its limits, or an `InputError`."""
    about = NUMBERS[key]
    number = arrays.whole(value, f"{shape}({key})", low=about["low"])
    if number > about.get("high", number):
        raise InputError(f"{number} is too many", f"{shape}({key})", f"Give at most {about['high']:,}")
    return number


def several(values: Any, count: int, where: str) -> list[Any]:
    """``values`` as a list of ``count``; one value stands for all."""
    if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str):
        if len(values) != count:
            raise InputError(f"{values!r} has {len(values)} entries", where, f"Give {count} of them, or one for all")
        return list(values)
    return [values] * count


def lengths(values: Any, count: int, where: str) -> list[float]:
    """So many lengths [m]."""
    return [as_length(value, where) for value in several(values, count, where)]


def cells(values: Any, count: int, where: str) -> list[int]:
    """So many numbers of cells."""
    return [arrays.whole(value, where) for value in several(values, count, where)]


def as_word(value: Any, shape: str, key: str) -> str:
    """One of the `WORDS`, or an `InputError`."""
    meaning, words = WORDS[key]
    if value not in words:
        known = " or ".join(map(repr, words))
        raise InputError(f"{value!r} is not known: {meaning}", f"{shape}({key})", f"Give {known}")
    return value


def bound(elements: int, where: str) -> None:
    """Raise when a shape would get too many elements."""
    if elements > MAX_ELEMENTS:
        raise InputError(
            f"this makes {elements:,} elements", where, f"Give fewer cells: at most {MAX_ELEMENTS:,} elements are made"
        )
