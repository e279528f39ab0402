"""The report of a prepared body: its facts as tables."""

from __future__ import annotations

from typing import Any

from pliant.mesh.layered import LayeredMesh
from pliant.mesh.prepared import PreparedBody
from pliant.mesh.repair.diagnose import Diagnosis
from pliant.report.data import ReportInput


def report_input(body: PreparedBody, density: float = 1000.0, truncate: float | None = None) -> ReportInput:
    """What a report shows of a prepared body.

    Args:
        body: made by `pliant.mesh.prepare.prepare`.
        density: for the masses [kg/m^3], of a sheet [kg/m^2].
        truncate: largest inverse mass allowed [1/kg].
    """
    facts = body.facts
    sections = [("Body", _rows(facts.get("counts", {})) + [("made by", str(facts.get("method", body.kind)))])]
    if facts.get("layer"):
        sections.append(("Layer", _rows(facts["layer"])))
    if facts.get("quality"):
        sections.append(("Quality", _rows(facts["quality"])))
    for key, heading in (("before", "Surface as read"), ("after", "Surface after repair")):
        if key in facts:
            lines = Diagnosis.from_dict(facts[key]).lines()
            sections.append((heading, [_split(line) for line in lines]))
    settings = {k: v for k, v in facts.get("settings", {}).items() if v is not None}
    sections.append(("Settings", _rows(settings)))
    if facts.get("seconds"):
        sections.append(("Seconds", _rows(facts["seconds"])))
    title = body.name or "body"
    layered = body.solid if isinstance(body.solid, LayeredMesh) else None
    solid = body.solid.tet_mesh() if isinstance(body.solid, LayeredMesh) else body.solid
    return ReportInput(title, body.skin, solid, sections, list(body.notes), density, truncate, layered=layered)


def _rows(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), _text(value)) for name, value in values.items()]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _split(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(": ")
    return (name, value) if colon else ("", line)
