"""`pliant bench materials`: sag, frequencies and recovery of a bar, a ball and a bunny under each method."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

from pliant.bench.report import Report
from pliant.lab.bodies import body_of
from pliant.lab.signature import Signature, expected, measured
from pliant.lab.specimen import Specimen, bar, of_body
from pliant.lab.twin import FRAME, Method
from pliant.lab.ways import as_way
from pliant.materials import PRESETS
from pliant.mesh import shapes
from pliant.solvers import solver_classes

STUFF = PRESETS["rubber"]
WAYS = (
    "fem",
    "xpbd",
    "xpbd/substeps=5",
    "mass_spring",
    "mass_spring/calibrate=off",
    "shape_matching/clusters=8",
    "shape_matching/clusters=8/calibrate=off",
    "shape_matching/mode=quadratic/clusters=4",
    "shape_matching/mode=quadratic/clusters=4/calibrate=off",
    "shape_matching/clusters=20",
    "shape_matching/clusters=20/calibrate=off",
)


def specimens(quick: bool) -> dict[str, Specimen]:
    """The bodies, each about 0.4 m long."""
    found = {"bar": bar(0.4), "ball": of_body(shapes.ball(0.2, 2 if quick else 3))}
    if not quick:
        body = body_of("bunny", 1500)
        size = float((body.solid.vertices.max(axis=0) - body.solid.vertices.min(axis=0)).max())
        found["bunny"] = of_body(body.solid.scaled(0.4 / size))
    return found


def run(report: Report, device: str, quick: bool) -> None:
    """Every body under every method; the bar with half the step and half the mesh besides."""
    ways = [text for text in WAYS if as_way_if_known(text)]
    for name, specimen in specimens(quick).items():
        by = expected(specimen, STUFF)
        _add(report, device, f"{name}, linear finite elements", by, by)
        for text in ways[:2] if quick else ways:
            _measure(report, device, f"{name}, {text}", specimen, text, by, 1)
            if name == "bar" and not quick and "substeps" not in text:
                _measure(report, device, f"{name}, {text}, half the step", specimen, text, by, 2)
    if not quick:
        fine = bar(0.4, (20, 4, 4))
        by = expected(fine, STUFF)
        _add(report, device, "bar of half the mesh, linear finite elements", by, by)
        for text in ways:
            if "substeps" not in text:
                _measure(report, device, f"bar of half the mesh, {text}", fine, text, by, 1)


def as_way_if_known(text: str) -> bool:
    return text.split("/")[0] in solver_classes()


def _measure(report: Report, device: str, case: str, specimen: Specimen, text: str, by: Signature, finer: int) -> None:
    way = as_way(text)
    method = Method(
        way.name.split("/")[0], way.settings, way.matching or None, FRAME, way.substeps, way.calibrate, device
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measured(specimen, STUFF, method, by)
        if finer > 1:
            method = dataclasses.replace(method, substeps=finer * found.substeps)
            found = measured(specimen, STUFF, method, by)
    _add(report, device, case, found, by)


def _add(report: Report, device: str, case: str, found: Signature, by: Signature) -> None:
    settings: dict[str, Any] = {"substeps": found.substeps}
    report.add(case, device, "sag_mm", 1e3 * found.sag, **settings)
    for number, (frequency, other) in enumerate(zip(found.frequencies, by.frequencies, strict=True), 1):
        report.add(case, device, f"f{number}_hz", frequency, over_fem=round(frequency / other, 3), **settings)
    report.add(case, device, "recovery_s", found.recovery, **settings)


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as a Markdown table, for the docs."""
    cases: dict[str, dict[str, Any]] = {}
    for row in rows:
        cases.setdefault(row["case"], {"substeps": row["settings"]["substeps"]})[row["metric"]] = row["value"]
    lines = ["| body and method | sag [mm] | f1, f2, f3 [Hz] | recovery [s] | substeps |", "|---|---|---|---|---|"]
    for case, found in cases.items():
        beats = ", ".join(f"{found[f'f{k}_hz']:.2f}" for k in (1, 2, 3))
        steps = found["substeps"] or ""
        still = "over 100" if found["recovery_s"] > 100.0 else f"{found['recovery_s']:.2g}"
        lines.append(f"| {case} | {found['sag_mm']:.1f} | {beats} | {still} | {steps} |")
    return "\n".join(lines)
