"""Ways to simulate the same scene: a method with a few of its settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

from pliant.errors import InputError
from pliant.settings import check_value, field_kind
from pliant.solvers import solver_class, solver_classes
from pliant.solvers.shape_matching.settings import Matching

SUCH_AS = "Give some, such as mass_spring,xpbd/iterations=20,fem"


@dataclasses.dataclass(frozen=True)
class Way:
    """A method and what is set of it.

    Attributes:
        name: what it is called. method: of the bodies.
        settings: of the method. matching: of shape-matched bodies.
        calibrate: whether bodies are fitted to finite elements first: 'auto', 'on' or 'off'.
        substeps: steps per frame; chosen if None.
    """

    name: str
    method: str
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    matching: dict[str, Any] = dataclasses.field(default_factory=dict)
    calibrate: str = "auto"
    substeps: int | None = None


def as_way(text: str | Way) -> Way:
    """A way from text: ``fem``, ``shape_matching/clusters=8/calibrate=off``, ``xpbd/iterations=20/substeps=10``."""
    if isinstance(text, Way):
        return text
    method, *options = (part.strip() for part in text.split("/"))
    solver = solver_class(method, f"method {text!r}")
    tables: list[tuple[type, dict[str, Any]]] = [(solver.Settings, {})]
    if solver.shares_rest:
        tables.append((Matching, {}))
    calibrate, substeps = "auto", None
    for option in options:
        key, equals, value = option.partition("=")
        if key == "calibrate" and (not equals or value in ("auto", "on", "off")):
            calibrate = value or "on"
            continue
        if key == "substeps" and value.isdecimal() and int(value) > 0:
            substeps = int(value)
            continue
        for cls, found in tables:
            fields = {field.name: field for field in dataclasses.fields(cls)}
            if key in fields and equals:
                found[key] = _value(fields[key], value, f"method {text!r}")
                break
        else:
            known = [field.name for cls, _ in tables for field in dataclasses.fields(cls)]
            remedy = (
                f"Give such as {method}/{known[0]}=VALUE; known are: {', '.join([*known, 'substeps', 'calibrate'])}"
            )
            raise InputError(f"{option!r} is no setting", f"method {text!r}", remedy)
    return Way(text, method, tables[0][1], tables[1][1] if len(tables) > 1 else {}, calibrate, substeps)


def _value(field: dataclasses.Field, text: str, where: str) -> Any:
    kind, _ = field_kind(field)
    try:
        value: Any = {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise InputError(f"{text!r} is not a {kind.__name__}", where, "Give another value") from None
    return check_value(field, value, where)


def check_methods(methods: Sequence[str | Way], where: str) -> None:
    """An `InputError` for no methods at all, for an empty name, and for one that is there twice."""
    names = [way.name if isinstance(way, Way) else way.strip() for way in methods]
    if not names or not all(names):
        raise InputError("no method is given" if not names else "a method has no name", where, SUCH_AS)
    again = [name for k, name in enumerate(names) if name in names[:k]]
    if again:
        raise InputError(f"{again[0]!r} is given twice", where, "Give each once")


def reference_way(kinds: Collection[type]) -> Way:
    """What others are measured against: finite elements solved to rounding, or the first method that takes all of
    these kinds of meshes, XPBD with many iterations before others."""
    fine: dict[str, dict[str, Any]] = {
        "fem": {"iterations": 3, "cg_tolerance": 1e-6, "cg_iterations": 2000},
        "xpbd": {"iterations": 20},
    }
    able = [name for name in (*fine, *solver_classes()) if set(kinds) <= set(solver_class(name).takes)]
    if not able:
        raise InputError("no method takes all bodies", "compare.reference", "Compare a scene with bodies of one kind")
    return Way("reference", able[0], fine.get(able[0], {}))
