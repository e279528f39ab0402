"""Forms made of settings: what a panel must know to show and check one field, without any page.

Every field is that of a dataclass of `pliant.settings`, so a new method, setting or collider appears by itself.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pliant.errors import InputError
from pliant.settings import check_value, describe_range, field_kind, takes_text
from pliant.units import read_quantity

STEPS = 1000
"""Positions of a slider."""
DECADES = 2
"""How far a slider on a log scale reaches to both sides of the default."""
AXES = ("x", "y", "z")
UNITS = {"^2": "\u00b2", "^3": "\u00b3", "N s/m": "N\u00b7s/m"}
GIVEN = object()
"""Stands for any value but None."""
# A field that means nothing while another has not one of these values. It is not shown then.
ONLY_IF: dict[str, tuple[str, tuple[Any, ...]]] = {
    "Material.creep": ("yield_strain", (GIVEN,)),
    "Material.plastic_limit": ("yield_strain", (GIVEN,)),
    "Matching.clusters": ("clusters_by", ("kmeans", "boxes", "grids")),
    "Matching.axis": ("clusters_by", ("boxes",)),
    "Matching.overlap": ("clusters_by", ("boxes",)),
    "Matching.rings": ("clusters_by", ("kmeans",)),
    "Matching.grids": ("clusters_by", ("grids",)),
    "Matching.region_width": ("clusters_by", ("lattice",)),
    "Matching.fast": ("clusters_by", ("lattice",)),
    "Matching.keep_volume": ("mode", ("linear", "quadratic")),
    "Matching.beta": ("mode", ("linear", "quadratic")),
    "MassSpringSettings.newton_steps": ("integrator", ("implicit",)),
    "MassSpringSettings.cg_iterations": ("integrator", ("implicit", "hybrid")),
    "MassSpringSettings.cg_tolerance": ("integrator", ("implicit", "hybrid")),
    "ShapeMatchingSettings.penalty_rate": ("contact", ("penalty",)),
}
# Ends of sliders that must reach farther than the default tells: from jelly to steel, from silk to boards.
REACH: dict[str, tuple[float, float]] = {
    "Material.young": (1e3, 1e12),
    "Material.young_weft": (1e3, 1e12),
    "Material.shear": (1e3, 1e12),
    "Material.bending": (1e-7, 1e2),
    "Material.damping": (1e-6, 1.0),
}
# What is asked first of a matched body; the rest stands behind 'more'.
MATCHING_FIRST = ("mode", "clusters", "alpha", "beta")


@dataclasses.dataclass(frozen=True)
class FieldForm:
    """One field as a panel shows it.

    Attributes:
        key: as in scene files. label: for people.
        kind: 'float', 'int', 'bool', 'choice', 'text' or 'vector'.
        optional: whether it may be left to the program.
        default: value when nothing is given.
        unit, meaning: for people. choices: of a 'choice'.
        low, high: ends of the slider, within what is allowed; None without a slider.
        log: whether equal ways of the slider are equal factors.
        floor: what the left end of a slider on a log scale stands for, as zero; None if it is the end itself.
        count: numbers of a 'vector'.
        only_if: another field and its values, without which this one means nothing.
        field: what checks a value.
    """

    key: str
    label: str
    kind: str
    optional: bool = False
    default: Any = None
    unit: str = ""
    meaning: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    floor: float | None = None
    count: int = 0
    only_if: tuple[str, tuple[Any, ...]] | None = None
    field: dataclasses.Field | None = None

    def check(self, value: Any) -> Any:
        """The value as it is sent, or an `InputError` in plain words; texts are read as numbers where those belong."""
        if value is None or (value == "" and (self.optional or self.kind != "text")):
            if self.optional or self.kind == "text":
                return None
            raise InputError("nothing is given", self.label, f"Give {self.expected()}")
        if self.kind == "vector":
            return [_number(part, self.label, float) for part in value]
        if isinstance(value, str) and self.field is not None and takes_text(self.field):
            value = read_quantity(
                _plain_text(value), self.field.metadata["unit"], self.label, self.expected(), plain=True
            )
        if self.kind in ("float", "int"):
            value = _number(value, self.label, int if self.kind == "int" else float)
        if self.field is None or (self.kind == "text" and not self.field.metadata.get("choices")):
            return value
        return check_value(self.field, value, self.label)

    def expected(self) -> str:
        """What it accepts, in words."""
        if self.kind == "vector":
            return f"{self.count} numbers"
        return describe_range(self.field) if self.field is not None else "a value"

    def to_slider(self, value: float | None) -> int:
        """Position of the slider, 0 to `STEPS`, for a value."""
        if value is None or self.low is None or self.high is None:
            return STEPS // 2
        if self.log:
            if value <= self.low:
                return 0
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(STEPS * min(max(share, 0.0), 1.0))

    def from_slider(self, position: float) -> float | int:
        """The value of a position of the slider, of three digits."""
        assert self.low is not None and self.high is not None
        share = position / STEPS
        if share <= 0.0:
            value = self.low if self.floor is None else self.floor
        elif share >= 1.0:
            value = self.high
        elif self.log:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + share * (self.high - self.low)
        if self.kind == "int":
            return round(value)
        return float(f"{value:.3g}") if 0.0 < share < 1.0 else value


def field_forms(
    cls: Any, defaults: Any = None, keys: Sequence[str] = (), leave_out: Iterable[str] = ()
) -> list[FieldForm]:
    """The fields of a settings class (or a list of fields) as forms.

    Args:
        cls: a dataclass of `setting` fields, an instance of one, or fields.
        defaults: an instance with other defaults, as a preset; those of the class if not given.
        keys: the fields wanted, in this order; all if not given.
        leave_out: fields that are not wanted.
    """
    fields = list(cls) if isinstance(cls, (list, tuple)) else list(dataclasses.fields(cls))
    owner = "" if isinstance(cls, (list, tuple)) else (cls if isinstance(cls, type) else type(cls)).__name__
    # rows of numbers have no form
    by_name = {field.name: field for field in fields if "meaning" in field.metadata and "most" not in field.metadata}
    wanted = [by_name[key] for key in keys if key in by_name] if keys else list(by_name.values())
    skipped = set(leave_out)
    return [_form(field, owner, defaults) for field in wanted if field.name not in skipped]


def _form(field: dataclasses.Field, owner: str, defaults: Any) -> FieldForm:
    meta = field.metadata
    default = getattr(defaults, field.name, field.default) if defaults is not None else field.default
    if default is dataclasses.MISSING:
        default = None
    common: dict[str, Any] = {
        "key": field.name,
        "label": label_of(field.name),
        "default": default,
        "meaning": meta.get("meaning", ""),
        "unit": shown_unit(meta.get("unit", "")),
        "only_if": ONLY_IF.get(f"{owner}.{field.name}"),
        "field": field,
    }
    if "count" in meta:
        return FieldForm(kind="vector", count=meta["count"], **common)
    kind, optional = field_kind(field)
    if meta.get("choices"):
        return FieldForm(kind="choice", choices=tuple(meta["choices"]), optional=optional, **common)
    if kind in (bool, str):
        return FieldForm(kind="bool" if kind is bool else "text", optional=optional, **common)
    low, high, log, floor = usual_range(field, default)
    reach = REACH.get(f"{owner}.{field.name}")
    if reach is not None:
        low, high, log, floor = *reach, True, meta.get("low")
    return FieldForm(
        kind=kind.__name__, optional=optional, low=low, high=high, log=log, floor=floor, **common
    )  # fmt: skip


def usual_range(field: dataclasses.Field, default: Any) -> tuple[float, float, bool, float | None]:
    """Ends of a slider for a number: low, high, whether on a log scale, and what the left end stands for if not low.

    The range lies around the default and within what is allowed. A pure number of ordinary size has a linear scale,
    one with a unit a log scale.
    """
    kind, _ = field_kind(field)
    meta = field.metadata
    bottom = meta["low"] if meta.get("low") is not None else meta.get("above")
    open_end = meta.get("low") is None and meta.get("above") is not None
    top = math.inf if meta.get("high") is None else float(meta["high"])
    if kind is int:
        low = 0.0 if bottom is None else float(bottom) + open_end
        high = min(top, max(20.0, 10.0 * (default or 2)), math.inf)
        if top >= 1e6:
            high = min(top, max(1000.0, 10.0 * (default or 1)))
        elif low >= 1:
            high = min(top, max(100.0, high))
        return low, high, low >= 1 and high / low >= 100, None
    whole = bottom is not None and top - bottom <= 1.0 and not (default and default < 0.01)
    if whole:
        assert bottom is not None
        return float(bottom) + open_end * 0.01 * (top - bottom), top, False, None
    pure = not meta.get("unit")
    if not default or (pure and default >= 0.01):
        if default is None and not pure:
            return max(0.1, bottom or 0.0), min(1000.0, top), True, None if open_end else bottom
        high = 10.0 if default == 0.0 else 1.0 if default is None else _nice(3.0 * default)
        high = min(max(high, 1.0), top)
        low = 0.0 if bottom is None else float(bottom)
        return low + open_end * 0.01 * (high - low), high, False, None
    low, high = default / 10**DECADES, min(default * 10**DECADES, top)
    if bottom is not None and bottom > low:
        low = float(bottom)
    return low, high, True, None if open_end or bottom is None else float(bottom)


def _nice(value: float) -> float:
    """The next of 1, 2, 5, 10, 20 ... that is not less."""
    decade = 10.0 ** math.floor(math.log10(value))
    return next(step * decade for step in (1.0, 2.0, 5.0, 10.0) if step * decade >= value * (1 - 1e-9))


def is_shown(form: FieldForm, values: Mapping[str, Any]) -> bool:
    """Whether the field means something beside these values of the others."""
    if form.only_if is None or form.only_if[0] not in values:
        return True
    value, wanted = values[form.only_if[0]], form.only_if[1]
    return value in wanted or (GIVEN in wanted and value is not None)


def shape_forms(function: Any) -> list[FieldForm]:
    """The parameters of a function that makes a shape; one that takes a number or several is shown as several."""
    from pliant.mesh.shape_arguments import FILES, NUMBERS
    from pliant.scene_file.layout import SHAPE_WORDS

    parameters = inspect.signature(function).parameters
    several = max((len(p.default) for p in parameters.values() if isinstance(p.default, tuple)), default=1)
    forms = []
    for key, parameter in parameters.items():
        default = parameter.default
        label = label_of(key)
        if parameter.annotation == "str":
            meaning, choices = SHAPE_WORDS[key]
            forms.append(FieldForm(key, label, "choice", default=default, choices=choices, meaning=meaning))
            continue
        if key in FILES:
            forms.append(FieldForm(key, label, "text", True, None, "", FILES[key]))
            continue
        if key in NUMBERS:
            about = NUMBERS[key]
            kind = "int" if isinstance(default, int) else "float"
            forms.append(FieldForm(key, label, kind, False, default, about.get("unit", ""), about["meaning"]))
            continue
        whole = isinstance(default, int) or "int" in str(parameter.annotation)
        unit, meaning = ("", "number of cells") if whole else ("m", "length")
        if isinstance(default, tuple):
            meaning += " along each axis"
            forms.append(
                FieldForm(key, label, "vector", default=default, unit=unit, meaning=meaning, count=len(default))
            )
            continue
        optional = default is None or default is inspect.Parameter.empty
        kind = "int" if whole else "float"
        if parameter.annotation == "Any" and several > 1:
            meaning += ", along each axis the same"
        shown = None if optional else default
        forms.append(FieldForm(key, label, kind, optional, shown, unit, meaning))
    return forms


def label_of(key: str) -> str:
    """A key for people."""
    return key.replace("_", " ").capitalize()


def shown_unit(unit: str) -> str:
    """A unit for people, with raised figures."""
    for plain, nice in UNITS.items():
        unit = unit.replace(plain, nice)
    return unit


def shown_number(value: Any) -> str:
    """A number as a person would write it."""
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = f"{float(value):.6g}"
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else text


def plain_error(error: Exception) -> str:
    """What went wrong, and what to do, without the place: it stands beside the field."""
    if isinstance(error, InputError):
        parts = [error.what, error.remedy]
        return ". ".join(part.rstrip(".")[:1].upper() + part.rstrip(".")[1:] for part in parts if part) + "."
    return str(error) or type(error).__name__


def _plain_text(value: str) -> str:
    """A text as Python writes numbers."""
    return value.strip().replace(",", ".").replace("\u2212", "-")


def _number(value: Any, where: str, kind: type) -> Any:
    if isinstance(value, str):
        text = _plain_text(value)
        try:
            value = float(text)
        except ValueError:
            raise InputError(f"{value!r} is not a number", where, "Give a number such as 0.5 or 1e5") from None
        if kind is int and not value.is_integer():
            raise InputError(f"{text} is not a whole number", where, "Give a whole number") from None
        value = int(value) if kind is int else value
    if kind is float and not isinstance(value, bool) and isinstance(value, int):
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{value} is not finite", where, "Give a number such as 0.5")
    return value
