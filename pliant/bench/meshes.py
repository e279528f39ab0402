"""`pliant bench meshes`: what becomes of each mesh: a body that falls for 120 frames, or a refusal with its reason."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pliant.bench.report import Report
from pliant.errors import BlowUpError, InputError, MissingExtraError
from pliant.files import replace_file
from pliant.materials import PRESETS
from pliant.mesh.assets import asset_names
from pliant.mesh.io import FORMATS
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.prepared import PreparedBody
from pliant.scene import MASS_SHIFT, Scene
from pliant.simulation import Simulation

FRAMES = 120
SIZE = 0.3
"""Longest side of the bodies [m]: what the meshes' own units are does not matter here."""
TETS = 2000
"""Tets that are asked for: few, so that a hundred meshes take minutes."""
SHOWN_REASON = 160
MATERIAL = dataclasses.replace(PRESETS["soft_rubber"], damping=2e-4)
"""Little damping: the step that it allows goes with the square of the element size, and some meshes are fine."""


@dataclasses.dataclass
class Outcome:
    """What became of one mesh.

    Attributes:
        name: of the mesh.
        result: 'body', 'sheet', 'refused' or 'blew up'.
        detail: how the solid was made, or the reason.
        counts: of the body's elements.
        prepare_s, frames_s: seconds to prepare the body, and for all frames.
        substeps: steps per frame.
    """

    name: str
    result: str
    detail: str = ""
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    prepare_s: float = 0.0
    frames_s: float = 0.0
    substeps: int = 0


def try_mesh(
    source: str | Path, device: str = "cpu", frames: int = FRAMES, settings: PrepareSettings | None = None
) -> Outcome:
    """Make a body of a mesh and drop it on the floor."""
    name = Path(source).name
    begin = time.perf_counter()
    try:
        body = prepare(source, settings or PrepareSettings(size=SIZE, tets=TETS), use_cache=False)
    except (InputError, MissingExtraError) as error:
        return Outcome(name, "refused", _reason(error, source), prepare_s=time.perf_counter() - begin)
    outcome = Outcome(name, "sheet" if body.kind == "surface" else "body", body.facts.get("method", body.kind))
    outcome.prepare_s = time.perf_counter() - begin
    outcome.counts = body.facts.get("counts", {})
    begin = time.perf_counter()
    try:
        outcome.substeps = drop(body, device, frames).substeps
    except InputError as error:
        outcome.result, outcome.detail = "refused", _reason(error, source)
    except BlowUpError as error:
        outcome.result, outcome.detail = "blew up", str(error)
    outcome.frames_s = time.perf_counter() - begin
    return outcome


def _reason(error: Exception, source: str | Path) -> str:
    """The error without the folder of the mesh."""
    return str(error).replace(f"{Path(source).parent}/", "")


def drop(body: PreparedBody, device: str, frames: int) -> Simulation:
    """Let a body fall on the floor from a little above it; returns the simulation after so many frames."""
    scene = Scene()
    seen = body.skin or body.solid
    lowest = float(min(seen.vertices[:, 1].min(), body.solid.vertices[:, 1].min()))
    longest = float(np.ptp(body.solid.vertices, axis=0).max())
    scene.add_body(
        body.solid,
        MATERIAL,
        position=(0.0, 0.2 * longest - lowest, 0.0),
        skin=body.carried,
        mass_shift=MASS_SHIFT if body.uneven else 0.0,
        fill=body.fill,
    )
    scene.add_plane()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = scene.build(device)
    sim.frame(frames)
    return sim


def find_meshes(sources: Sequence[str | Path]) -> list[str]:
    """Mesh files in folders, files themselves, and sample meshes by name; a pair of files counts once."""
    suffixes = {suffix for row in FORMATS for suffix in row.suffixes}
    found: list[str] = []
    for source in sources:
        path = Path(source)
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.is_file())
            found += [str(p) for p in files if _suffix(p) in suffixes and _suffix(p) not in (".ele", ".tet")]
        else:
            found.append(str(source))
    return found


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def run(
    report: Report,
    device: str,
    quick: bool = False,
    sources: Sequence[str | Path] = (),
    markdown_path: Path | None = None,
) -> None:
    names = find_meshes(sources) if sources else asset_names()
    outcomes = []
    for name in names[:2] if quick else names:
        outcome = try_mesh(name, device, 10 if quick else FRAMES)
        outcomes.append(outcome)
        told = {key: value for key, value in outcome.counts.items() if not key.startswith("skin")}
        skin = outcome.counts.get("skin_triangles")
        report.add(
            outcome.name,
            device,
            "result",
            outcome.result,
            detail=outcome.detail[:SHOWN_REASON],
            **told,
            **({"skin_triangles": skin} if skin else {}),
            prepare_s=round(outcome.prepare_s, 2),
            frames_s=round(outcome.frames_s, 2),
            substeps=outcome.substeps,
        )

    if markdown_path is not None:
        with replace_file(markdown_path) as file:
            file.write((markdown(outcomes) + "\n").encode())


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a table for the docs."""
    rows = [
        "| mesh | becomes | made by, or reason | elements | seen triangles | substeps | prepare [s] | 120 frames [s] |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for o in outcomes:
        size = ", ".join(f"{v:,} {k}" for k, v in o.counts.items() if not k.startswith("skin"))
        seen = f"{o.counts['skin_triangles']:,}" if "skin_triangles" in o.counts else ""
        frames = f"{o.frames_s:.1f}" if o.substeps else ""
        cells = [o.name, o.result, o.detail, size, seen, f"{o.substeps or ''}", f"{o.prepare_s:.1f}", frames]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)
