"""Ways to simulate the same scene: a method with a few of its settings."""

from __future__ import annotations

import dataclasses
from typing import Any

from pliant.errors import InputError
from pliant.settings import check_value, field_kind
from pliant.solvers import solver_class, solver_classes
from pliant.solvers.shape_matching.settings import Matching


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


def reference_way(substeps: int) -> Way:
    """Finite elements with small steps; the method with the finest answer where there are none."""
    if "fem" in solver_classes():
        names = {field.name for field in dataclasses.fields(solver_class("fem").Settings)}
        settings = {"iterations": 3, "cg_tolerance": 1e-6, "cg_iterations": 2000}
        return Way("reference", "fem", {k: v for k, v in settings.items() if k in names}, substeps=substeps)
    return Way("reference", "xpbd", {"iterations": 20}, substeps=substeps)
