"""The work of ``pliant prep``: a mesh becomes a body, with a report of what was found and done."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pliant.errors import InputError
from pliant.files import make_parent, replace_file
from pliant.launch import pick_device
from pliant.mesh import cache
from pliant.mesh.io import FORMATS, format_of, write_mesh
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.layer_settings import LayerSettings
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.prepared import SUFFIX, PreparedBody, write_body
from pliant.mesh.repair.diagnose import Diagnosis, diagnose
from pliant.mesh.source import load_mesh, placed_surface
from pliant.stages import Stages

Say = Callable[[str], None]

NOT_CLEAN = 1
MADE_BY = {
    "stuffing": "made by stuffing",
    "voxels": "cut from cubes",
    "lattice": "of a lattice",
    "conforming": "made by pytetwild",
    "surface": "of the surface itself",
    "layered": "between texels and a core",
}


@dataclasses.dataclass(frozen=True)
class PrepOptions:
    """What is written besides, and how.

    Attributes:
        out: the body; NAME.plb here if not given.
        report: a report as ``.html`` or ``.png``.
        json: what was found and done.
        skin: another surface to carry.
        use_cache: take earlier results from disk and keep new ones.
        device: where distances are measured and pictures drawn.
        quiet: show no progress.
        layered: make a layered body with these settings.
        core: of a layered body, as a file; made if not given.
    """

    out: Path | None = None
    report: Path | None = None
    json: Path | None = None
    skin: str | None = None
    use_cache: bool = True
    device: str = "cpu"
    quiet: bool = False
    layered: LayerSettings | None = None
    core: str | None = None


def clear_cache() -> str:
    """Remove what was kept from earlier work; says how much."""
    place = cache.folder()
    return f"Prepared bodies removed from {place}: {cache.clear()}" if place else "Nothing is kept: the cache is off"


def diagnose_mesh(source: str, settings: PrepareSettings, json_path: Path | None, say: Say) -> int:
    """Say what is wrong with a mesh; returns 0 if nothing is, else 1."""
    found = diagnose(placed_surface(load_mesh(source), settings))
    for line in found.lines():
        say(line)
    if json_path is not None:
        _write_json(json_path, {"mesh": source, "diagnosis": found.as_dict(), "problems": found.problems()})
    return 0 if found.clean else NOT_CLEAN


def prepare_mesh(source: str, settings: PrepareSettings, options: PrepOptions, say: Say) -> PreparedBody:
    """Make a body of a mesh, write it and what was asked for besides, and say what was found and done."""
    out = options.out or Path(f"{_stem(source)}{SUFFIX}")
    _check_outputs(source, out, options)
    device = pick_device(options.device)
    begin = time.perf_counter()
    stages = Stages(options.quiet)
    common: dict[str, Any] = {"device": device, "use_cache": options.use_cache, "progress": stages.show}
    if options.layered is not None:
        from pliant.mesh.prepare_layered import prepare_layered

        if options.skin is not None:
            raise InputError("a layered body carries its own surface only", "--skin-file", "Leave it out")
        body = prepare_layered(source, options.layered, settings, core=options.core, **common)
    else:
        body = prepare(source, settings, skin=options.skin, **common)
    stages.clear()
    seconds = time.perf_counter() - begin
    for line in body_lines(body):
        say(line)
    if out.suffix.lower() == SUFFIX:
        write_body(dataclasses.replace(body, facts=_lasting(body.facts)), out)
    else:
        solid = body.solid
        if isinstance(solid, VoxelLattice):
            solid = solid.tets()
        elif isinstance(solid, LayeredMesh):
            solid = solid.tet_mesh() if format_of(out).tets else solid.surface_mesh()
        write_mesh(solid, out)
    say(f"{_what_is_written(body, out)} written to {out} after {seconds:.1f} s")
    if options.json is not None:
        _write_json(options.json, {"mesh": source, "notes": list(body.notes), **body.facts})
        say(f"Facts written to {options.json}")
    if options.report is not None:
        from pliant.report import write_report
        from pliant.report.of_body import report_input

        write_report(report_input(body), options.report, device)
        say(f"Report written to {options.report}")
    return body


def body_lines(body: PreparedBody) -> list[str]:
    """What was found and done, for people."""
    facts = body.facts
    lines, said = [], set()
    if "before" in facts:
        found = Diagnosis.from_dict(facts["before"])
        lines += ["Found:", *(f"  {line}" for line in found.lines())]
        actions, left = facts.get("actions", []), facts.get("left", [])
        if facts.get("settings", {}).get("repair", True):
            lines += ["Repaired:", *(f"  {action}" for action in actions or ["nothing: there was no need"])]
        if left:
            lines += ["Left as it is:", *(f"  {text.removeprefix('left as it is: ')}" for text in left)]
        said = {*(f"Repaired: {action}" for action in actions), *left, found.unit_warning}
    counts = [(name, count) for name, count in facts.get("counts", {}).items()]
    solid = ", ".join(f"{count:,} {name}" for name, count in counts if not name.startswith("skin_"))
    skin = " and ".join(f"{count:,} {name.removeprefix('skin_')}" for name, count in counts if name.startswith("skin_"))
    lines.append(f"Body: {solid}, {MADE_BY.get(facts.get('method', ''), 'as in the file')}")
    if facts.get("cached"):
        lines[-1] += " (kept from an earlier time)"
    quality = facts.get("quality") or {}
    if "dihedral_min_degrees" in quality:
        lines.append(
            f"  angles between faces {quality['dihedral_min_degrees']:.1f} to {quality['dihedral_max_degrees']:.1f} "
            f"degrees, {quality.get('slivers', 0)} slivers, edges {quality['edge_min']:.3g} to "
            f"{quality['edge_max']:.3g} m, volume {quality['volume']:.4g} m^3"
        )
    if "layer" in facts:
        lines += _layer_lines(facts["layer"])
    if skin:
        lines.append(f"  it carries the surface that is seen: {skin}")
    others = [note for note in body.notes if note not in said]
    return lines + (["Notes:", *(f"  {note}" for note in others)] if others else [])


def _layer_lines(layer: dict[str, Any]) -> list[str]:
    """What was done to make a layered body."""
    return [
        f"  atlas of {layer['charts']:,} charts ({layer['atlas']}), {layer['texels']:,} texels in use",
        f"  nodes: {layer['texel_nodes']:,} at centres of texels, {layer['crease_nodes']:,} on sharp edges, "
        f"{layer['filling_nodes'] + layer['repair_nodes']:,} in gaps and thin places",
        f"  layer {layer['thickness']:.3g} m thick, at least {layer['thinnest']:.3g} m; {layer['drawn_feet']:,} feet "
        f"moved so that no prism is inside out",
        f"  volume {layer['volume']:.4g} m^3, of the layer {layer['layer_volume']:.4g}, of the core "
        f"{layer['core_volume']:.4g}",
    ]


def _what_is_written(body: PreparedBody, out: Path) -> str:
    if out.suffix.lower() == SUFFIX:
        return "Body"
    if body.kind == "surface":
        return "Sheet"
    return "Solid" if format_of(out).tets else f"The solid's surface ({out.suffix} holds no tets)"


def _stem(source: str) -> str:
    name = Path(source).name
    return name.removesuffix(".gz").rsplit(".", 1)[0] or "body"


def _lasting(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts that are the same whenever the same mesh is prepared."""
    return {key: value for key, value in facts.items() if key not in ("seconds", "cached")}


def _check_outputs(source: str, out: Path, options: PrepOptions) -> None:
    """Refuse names that cannot be written before the work begins."""
    known = {suffix for form in FORMATS for suffix in form.suffixes if suffix not in form.read_only} | {SUFFIX}
    if out.suffix.lower() not in known:
        raise InputError(f"no body has the suffix {out.suffix!r}", "--out", f"Use one of: {', '.join(sorted(known))}")
    if options.report is not None and options.report.suffix.lower() not in (".html", ".png"):
        raise InputError(f"no report has the suffix {options.report.suffix!r}", "--report", "Use .html or .png")
    read = [
        Path(name).resolve()
        for name in (source, options.skin, options.core)
        if name is not None and Path(name).exists()
    ]
    for path in (out, options.report, options.json):
        if path is not None and path.resolve() in read:
            raise InputError("is the file that is read", str(path), "Give another name with --out")
    for path in (out, options.report, options.json):
        if path is not None:
            make_parent(path)


def _write_json(path: Path, data: dict[str, Any]) -> None:
    with replace_file(path) as file:
        file.write((json.dumps(data, indent=1, sort_keys=True) + "\n").encode())
