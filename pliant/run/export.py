"""A recording as files of other programs: one animated file, point caches, or a file for every frame."""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from pliant.collide.solids import MovingSolids, recorded_solids
from pliant.errors import InputError
from pliant.export.clip import Clip, Report
from pliant.export.frames import FramesReader
from pliant.export.gltf_animation import MOST_TARGETS, write_gltf_animation
from pliant.export.point_cache import write_point_cache
from pliant.export.sequence import KINDS as SEQUENCES
from pliant.export.sequence import LIBRARY, SequenceWriter
from pliant.export.usd_animation import write_usd_animation
from pliant.mesh.look import Look, Paint
from pliant.mesh.surface import SurfaceMesh
from pliant.run.seen import OTHER_COLOR, PLANE_COLOR, SeenVertices, recorded_colors, recorded_look

ANIMATIONS = {
    "glb": (".glb",),
    "pc2": (".pc2",),
    "usd": (".usd", ".usda", ".usdc"),
    "usda": (".usda",),
    "usdc": (".usdc",),
}
"""Kinds that are one file, or one for each body, and the suffixes of their names."""
KINDS = (*ANIMATIONS, *(kind for kind in SEQUENCES if kind != "glb"), "glb-sequence")
FILES = (".obj", ".ply", ".stl", ".gltf", ".fbx", ".abc", ".mdd", ".usdz", ".mp4", ".webp", ".gif", ".mov", ".png")
"""Suffixes of what is surely meant as a file, of a kind that no animation has here."""
LIKE_A_FRAME = 1e-6
SAMPLES = 33
"""Frames that are looked at to tell which colliders move."""


def export_recording(
    reader: FramesReader,
    target: str | Path,
    kind: str | None = None,
    *,
    every: int | None = None,
    progress: Report | None = None,
) -> list[Path]:
    """Write a recording for other programs; returns the files.

    Args:
        reader: the recording, from `open_recording`.
        target: a file name for the kinds glb, pc2, usd, usda and usdc; a folder for the others.
        kind: one of `KINDS`; taken from the suffix of ``target`` if None, and ply if that tells nothing.
        every: use every n-th frame, the first included; if None, all, but of a glb at most `MOST_TARGETS` + 1.
        progress: called with the share that is done, from 0 to 1; what it raises ends the work and leaves nothing
            behind of an animation.
    """
    target = Path(target)
    kind = export_kind(target, kind)
    every = export_every(reader, kind, every)
    if kind not in ANIMATIONS:
        return write_frames(reader, target, kind.removesuffix("-sequence"), every, progress)
    clip = recorded_clip(reader, every)
    if kind == "glb":
        return [write_gltf_animation(clip, target, report=progress)]
    if kind == "pc2":
        return write_point_cache(clip, target, report=progress)
    return [write_usd_animation(clip, target, report=progress)]


def export_kind(target: Path, kind: str | None) -> str:
    """The kind of what will be written, one of `KINDS`; an `InputError` if the name does not fit it."""
    suffix = target.suffix.lower()
    if kind is None:
        if suffix in FILES:
            raise InputError(
                f"no animation ends with {suffix!r}",
                str(target),
                "Use .glb, .pc2, .usd, .usda or .usdc, or a folder and a sequence of obj, ply, stl or glb",
            )
        return next((name for name, suffixes in ANIMATIONS.items() if suffix in suffixes), "ply")
    if kind not in KINDS:
        raise InputError(f"no export of kind {kind!r}", "kind", f"Use one of: {', '.join(KINDS)}")
    if kind in ANIMATIONS and suffix not in ANIMATIONS[kind]:
        raise InputError(
            f"a file of kind {kind} does not end with {suffix!r}",
            str(target),
            f"Give a name that ends with {' or '.join(ANIMATIONS[kind])}",
        )
    return kind


def export_every(reader: FramesReader, kind: str, every: int | None = None) -> int:
    """How many frames further each exported one is: as given, or as `export_recording` chooses."""
    if not len(reader):
        raise InputError("the recording has no frames", str(reader.path), "Run the scene again")
    if every is None:
        return max(1, math.ceil((len(reader) - 1) / MOST_TARGETS)) if kind == "glb" else 1
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise InputError(f"every is {every!r}", "every", "Give a whole number from 1 on")
    return every


def recorded_clip(reader: FramesReader, every: int = 1) -> Clip:
    """What moves and what stands still in a recording, body by body, at every n-th frame."""
    if not len(reader):
        raise InputError("the recording has no frames", str(reader.path), "Run the scene again")
    chosen = range(0, len(reader), every)
    seen = SeenVertices(reader)
    first = seen.of(reader[0][2])
    bodies, rows = _bodies(reader, first)
    times = np.array([reader.line(k)["time"] for k in range(len(reader))])

    solids = MovingSolids(reader.meta, reader.arrays, reader.line(0)["count"])
    some = sorted({round(k) for k in np.linspace(0, len(reader) - 1, SAMPLES)})
    moved = solids.moved(reader[k][2] for k in some) if solids.moving else set()
    moving = _moving(reader, solids, moved)

    def positions(k: int) -> list[np.ndarray]:
        recorded = reader[chosen[k]][2]
        x, solid = seen.of(recorded), solids.of(recorded)
        return [*(x[own] for own in rows), *(solid[own] for _, own in moving)]

    return Clip(
        bodies=(*bodies, *(mesh for mesh, _ in moving)),
        still=tuple(_solids(reader, moved)),
        times=(times - times[0])[chosen],
        rate=_rate(reader.meta, times),
        every=every,
        positions=positions,
        source=str(reader.path),
    )


def _rate(meta: dict[str, Any], times: np.ndarray) -> float:
    """Frames per second: of the run, else of the times."""
    dt = meta.get("frame_dt")
    if not isinstance(dt, int | float) or not 1e-9 < dt < 1e9:
        dt = (times[-1] - times[0]) / (len(times) - 1) if times[-1] > times[0] else 1.0 / 60.0
    rate = float(1.0 / dt)
    return float(round(rate)) if abs(rate - round(rate)) < LIKE_A_FRAME * rate else rate


def _bodies(reader: FramesReader, first: np.ndarray) -> tuple[list[SurfaceMesh], list[np.ndarray]]:
    """The surface of each body in the first frame, and which of the vertices that are seen it has."""
    triangles = reader.arrays["triangles"]
    look, colors = recorded_look(reader), recorded_colors(reader)
    left = np.ones(len(triangles), bool)
    chosen = []
    for k, body in enumerate(reader.meta["bodies"]):
        begin, end = body["triangles"]
        left[begin:end] = False
        chosen.append((str(body.get("name") or f"body{k}"), np.arange(begin, end), body["color"]))
    chosen.append(("other", np.flatnonzero(left), OTHER_COLOR))
    bodies, rows = [], []
    for name, faces, color in chosen:
        if len(faces):
            used, corners = np.unique(triangles[faces], return_inverse=True)
            own = _own_look(look.of_triangles(faces).of_vertices(used), name, color, colors[faces])
            bodies.append(SurfaceMesh(first[used], corners.reshape(-1, 3), name, look=own))
            rows.append(used)
    return bodies, rows


def _own_look(look: Look, name: str, color: Any, colors: np.ndarray) -> Look:
    """A body's part of the look: the paints it uses, or the colours of its vertices where these tell more."""
    uv = look.uv if look.uv is not None and look.uv.any() else None
    part_of = look.part_of
    numbers = np.full(len(colors), -1) if look.paint_of is None else look.paint_of
    used, paint_of = np.unique(numbers, return_inverse=True)
    red, green, blue = map(float, color)
    paints = tuple(look.paints[k] if k >= 0 else Paint(name, (red, green, blue, 1.0)) for k in used)
    table = np.array([paint.color[:3] for paint in paints])
    # A picture has more colours than its paint; of the others each triangle must have its paint's.
    pictured = np.array([bool(paint.texture) for paint in paints])[paint_of]
    parts: tuple[str, ...] = ()
    if part_of is not None:
        kept, part_of = np.unique(part_of, return_inverse=True)
        parts = tuple(look.parts[k] if k >= 0 else name for k in kept)
        if len(parts) == 1:
            parts, part_of = (), None
        else:
            part_of = part_of.reshape(-1).astype(np.int32)
    if np.all((np.abs(table[paint_of] - colors) < 1.01 / 255.0) | pictured[:, None]):
        return Look(uv=uv, paints=paints, paint_of=paint_of.astype(np.int32), parts=parts, part_of=part_of)
    return Look(uv=uv, parts=parts, part_of=part_of, vertex_colors=look.vertex_colors)


def _moving(reader: FramesReader, solids: MovingSolids, moved: set[int]) -> list[tuple[SurfaceMesh, np.ndarray]]:
    """Colliders that move, where they are in the first frame, and which of all colliders' vertices they have."""
    found = []
    points = solids.of(reader[0][2])
    for k in sorted(moved):
        name = str(reader.meta["solids"][k].get("name") or "solid")
        faces = solids.triangles[slice(*solids.moving[k])]
        used, corners = np.unique(faces, return_inverse=True)
        look = Look(paints=(Paint(name, (*PLANE_COLOR, 1.0)),), paint_of=np.zeros(len(faces), np.int32))
        found.append((SurfaceMesh(points[used], corners.reshape(-1, 3), name, look=look), used))
    return found


def _solids(reader: FramesReader, moved: Collection[int] = ()) -> list[SurfaceMesh]:
    """Colliders that have triangles and stand still, each under its name."""
    points, triangles = recorded_solids(reader.arrays)
    if not len(triangles):
        return []
    tables = reader.meta.get("solids")
    found = []
    for k, table in enumerate(tables if isinstance(tables, list) else []):
        span = table.get("triangles") if isinstance(table, dict) else None
        if k in moved:
            continue
        if isinstance(span, list) and len(span) == 2 and all(type(part) is int for part in span):
            found.append((str(table.get("name") or "solid"), max(span[0], 0), min(span[1], len(triangles))))
    solids = []
    for name, begin, end in found if found or moved else [("solids", 0, len(triangles))]:
        if begin < end:
            used, corners = np.unique(triangles[begin:end], return_inverse=True)
            paint = Paint(name, (*PLANE_COLOR, 1.0))
            look = Look(paints=(paint,), paint_of=np.zeros(end - begin, np.int32))
            solids.append(SurfaceMesh(points[used], corners.reshape(-1, 3), name, look=look))
    return solids


def write_frames(reader: FramesReader, folder: Path, kind: str, every: int, report: Report | None) -> list[Path]:
    """A file for every chosen frame, then that of the paints; vertices of no triangle are left out."""
    used, corners = np.unique(reader.arrays["triangles"], return_inverse=True)
    seen = SeenVertices(reader)
    look = recorded_look(reader).of_vertices(used)
    surface = SurfaceMesh(seen.of(reader[0][2])[used], corners.reshape(-1, 3), look=look)
    writer = SequenceWriter(folder, kind, surface)
    chosen = range(0, len(reader), every)
    files = []
    if report is not None:
        report(0.0)
    for place in chosen:
        frame, _, x = reader[place]
        files.append(writer.add(frame, seen.of(x)[used]))
        if report is not None:
            report(len(files) / len(chosen))
    return [*files, folder / LIBRARY] if kind == "obj" and look.paints else files
