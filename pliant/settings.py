"""Settings defined once: a frozen dataclass field that carries its unit, range and meaning.

Command-line flags, scene-file keys, the published JSON schema and the tables in the docs are all
generated from these fields.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import typing
from typing import Any

from pliant.errors import InputError
from pliant.units import read_quantity, takes_units

TEXT_WITH_UNIT = r"^\s*[-+]?[0-9.][0-9.eE+-]*\s*[^0-9\s.+-].*$"
"""What a number with a unit looks like, in JSON schema."""


def setting(
    default: Any,
    meaning: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """A dataclass field with what a user must know about it.

    Args:
        default: value when nothing is given; ``None`` means the program chooses.
        meaning: one line of help.
        unit: SI unit, empty for a pure number.
        low: smallest value allowed.
        high: largest value allowed.
        above: the value must be greater than this.
        choices: the only strings allowed.
    """
    metadata = {"meaning": meaning, "unit": unit, "low": low, "high": high, "above": above, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Described:
    """Base of dataclasses made of `setting` fields: checks every value when it is made."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = check_value(field, getattr(self, field.name), f"{type(self).__name__}.{field.name}")
            object.__setattr__(self, field.name, value)


def check_static_friction(friction: float, static_friction: float | None, where: str) -> None:
    """Refuse a static coefficient below the kinetic one."""
    if static_friction is not None and static_friction < friction:
        raise InputError(
            f"{static_friction!r} is less than the friction of what slides, {friction!r}",
            where,
            "Give at least that, or leave it out",
        )


def field_kind(field: dataclasses.Field) -> tuple[type, bool]:
    """The plain type of a field (bool, int, float or str) and whether ``None`` is allowed."""
    text = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
    names = [part.strip() for part in text.split("|")]
    kinds = {"bool": bool, "int": int, "float": float, "str": str}
    kind = next(kinds[name] for name in names if name in kinds)
    return kind, "None" in names


def check_value(field: dataclasses.Field, value: Any, where: str) -> Any:
    """The value as the field's type, or an `InputError` that says what would be right."""
    kind, optional = field_kind(field)
    if value is None and optional:
        return None
    meta = field.metadata
    expected = describe_range(field)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()  # one of NumPy's numbers
    if isinstance(value, str) and takes_text(field):
        value = read_quantity(value, meta["unit"], where, expected)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = math.inf if abs(value) > sys.float_info.max else float(value)
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, kind):
        raise InputError(f"{value!r} has the wrong type ({type(value).__name__})", where, f"Give {expected}")
    if kind is str:
        if meta.get("choices") and value not in meta["choices"]:
            raise InputError(f"{value!r} is not known", where, f"Give {expected}")
    elif kind is not bool:
        low, high, above = meta.get("low"), meta.get("high"), meta.get("above")
        number: Any = value
        bad = not math.isfinite(number)
        bad = bad or (low is not None and number < low) or (high is not None and number > high)
        if bad or (above is not None and number <= above):
            raise InputError(f"{value!r} is out of range", where, f"Give {expected}")
    return value


def takes_text(field: dataclasses.Field) -> bool:
    """Whether a field is a number that may also be given as text with a unit, such as "5 ms"."""
    return field_kind(field)[0] is float and bool(field.metadata.get("unit")) and takes_units(field.metadata["unit"])


def describe_range(field: dataclasses.Field) -> str:
    """What a field accepts, in words, such as ``a number above 0, in Pa``."""
    kind, _ = field_kind(field)
    meta = field.metadata
    if meta.get("choices"):
        return "one of " + ", ".join(repr(choice) for choice in meta["choices"])
    if kind in (bool, str):
        return {bool: "true or false", str: "a text"}[kind]
    words = "a whole number" if kind is int else "a number"
    low, high, above = meta.get("low"), meta.get("high"), meta.get("above")
    if above is not None:
        words += f" above {above:g}"
    if low is not None and high is not None:
        words += f" from {low:g} to {high:g}"
    elif low is not None:
        words += f" of at least {low:g}"
    elif high is not None:
        words += f" of at most {high:g}"
    return words + (f", in {meta['unit']}" if meta.get("unit") else "")


def field_schema(field: dataclasses.Field) -> dict[str, Any]:
    """The field as a JSON-schema property."""
    kind, _ = field_kind(field)
    meta = field.metadata
    unit = f" [{meta['unit']}]" if meta.get("unit") else ""
    schema: dict[str, Any] = {
        "type": {bool: "boolean", int: "integer", float: "number", str: "string"}[kind],
        "description": meta.get("meaning", "") + unit,
    }
    if takes_text(field):
        schema |= {"type": ["number", "string"], "pattern": TEXT_WITH_UNIT}
    for key, name in (("low", "minimum"), ("high", "maximum"), ("above", "exclusiveMinimum")):
        if meta.get(key) is not None:
            schema[name] = meta[key]
    if meta.get("choices"):
        schema["enum"] = list(meta["choices"])
    if field.default is not None and field.default is not dataclasses.MISSING:
        schema["default"] = field.default
    return schema


def settings_table(cls: type) -> str:
    """A Markdown table of a settings class, for the docs."""
    rows = ["| name | default | unit | range | meaning |", "|---|---|---|---|---|"]
    for field in dataclasses.fields(typing.cast(Any, cls)):
        shown = f"{field.default:.6g}" if isinstance(field.default, float) else field.default
        default = "chosen" if field.default is None else f"`{shown}`"
        accepts = describe_range(field).split(", in ")[0]
        rows.append(
            f"| `{field.name}` | {default} | {field.metadata['unit']} | {accepts} | {field.metadata['meaning']} |"
        )
    return "\n".join(rows)
