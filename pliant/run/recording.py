"""What a run records, and films, pictures and sequences made from a recording."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from pliant.collide.shapes.plane import Plane
from pliant.collide.solids import MovingSolids, solids_of
from pliant.errors import InputError
from pliant.export.frames import FramesReader, FramesWriter
from pliant.render.camera import Camera
from pliant.run.export import write_frames
from pliant.run.progress import Progress
from pliant.run.seen import PLANE_COLOR, SeenVertices, recorded_colors, recorded_look, seen_arrays, seen_look
from pliant.scene_file import FilmSettings, LoadedScene
from pliant.scene_file.form import shown
from pliant.simulation import Simulation

SHEET_PICTURES = 12
SHEET_WIDTH = 400
MOST_PICTURES = 10_000_000
MOST_VERTICES = 1 << 31
VIEW = (0.35, 0.38, 1.0)


def start_recording(path: Path, sim: Simulation, loaded: LoadedScene) -> FramesWriter:
    """A recording of a simulation's vertices in the order of the meshes that were added; see `recorded_positions`."""
    bodies, vertices, triangles, recorded = [], 0, 0, 0
    for body in sim.model.bodies:
        count, faces = body.seen_vertices, len(body.seen_triangles())
        bodies.append(
            {
                "name": body.name,
                "method": body.method,
                "color": list(body.color),
                "vertices": [vertices, vertices + count],
                "triangles": [triangles, triangles + faces],
                "recorded": [recorded, recorded + len(body.rank)],
            }
        )
        vertices, triangles, recorded = vertices + count, triangles + faces, recorded + len(body.rank)
    for body, table in zip(sim.model.bodies, bodies, strict=True):
        if body.is_skin_recorded:
            table["seen"] = [recorded, recorded + body.seen_vertices]
            recorded += body.seen_vertices
    planes = [
        {"name": p.name, "point": list(p.point), "normal": list(p.normal)}
        for p in sim.pipeline.colliders
        if isinstance(p, Plane)
    ]
    solids, solid_arrays = solids_of(sim.pipeline, recorded)
    meta = {
        "scene": loaded.name,
        "digest": loaded.digest,
        "frame_dt": sim.frame_dt,
        "substeps": sim.substeps,
        "device": sim.device,
        "unit": "m",
        "bodies": bodies,
        "planes": planes,
        "solids": solids,
        "camera": dataclasses.asdict(loaded.camera) if loaded.camera else None,
        "view": list(loaded.view) if loaded.view else None,
        "film": dataclasses.asdict(loaded.film),
    }
    look = seen_look(sim)
    meta |= {"parts": list(look.parts), "paints": [dataclasses.asdict(paint) for paint in look.paints]}
    return FramesWriter(path, meta, seen_arrays(sim) | solid_arrays)


def open_recording(path: str | Path) -> FramesReader:
    """A recording that a run of Pliant made, for drawing or exporting."""
    reader = FramesReader(path)
    try:
        _check(reader)
    except BaseException:
        reader.close()
        raise
    return reader


def _check(reader: FramesReader) -> None:
    """Refuse a recording that cannot be drawn or exported: all that is used of its description is looked at here."""

    def refuse(what: str) -> NoReturn:
        raise InputError(what, str(reader.path), "Give a recording made by pliant run, as it was written")

    meta, triangles = reader.meta, reader.arrays.get("triangles")
    bodies = meta.get("bodies")
    if not isinstance(bodies, list) or not bodies or triangles is None:
        refuse("the recording does not say what its bodies are")
    if not len(reader):
        raise InputError("the recording has no frames", str(reader.path), "Run the scene again")
    try:
        lines = [reader.line(k) for k in range(len(reader))]
    except OverflowError:
        refuse("the number or time of a frame is too large")
    times = np.array([line["time"] for line in lines])
    if not np.isfinite(times).all() or np.any(np.diff(times) < 0):
        refuse("the times of the frames do not rise")
    count = lines[0]["count"]
    if not count or any(line["count"] != count for line in lines):
        refuse("not every frame has the same number of vertices")
    if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
        refuse(f"its triangles are an array of shape {triangles.shape} and type {triangles.dtype}")
    for k, body in enumerate(bodies):
        if not isinstance(body, dict):
            refuse(f"bodies[{k}] is {shown(body)}")
        if not _is_vector(body.get("color")):
            refuse(f"bodies[{k}].color is {shown(body.get('color'))}")
        for key, end in (("recorded", count), ("vertices", MOST_VERTICES), ("triangles", len(triangles))):
            if not _is_range(body.get(key, body.get("vertices")), end):
                refuse(f"bodies[{k}].{key} is {shown(body.get(key))}, and there are {end:,}")
        if "seen" in body and not _is_range(body["seen"], count):
            refuse(f"bodies[{k}].seen is {shown(body['seen'])}, and there are {count:,}")
    try:
        count = SeenVertices(reader).count
    except (InputError, KeyError, TypeError, ValueError) as error:
        refuse(f"its vertices or skins cannot be used ({str(error).rstrip('.')})")
    if len(triangles) == 0 or triangles.min() < 0 or triangles.max() >= count:
        refuse(f"its triangles are none, or name vertices that are not among the {count:,}")
    colors = reader.arrays.get("colors")
    if colors is not None and (colors.shape != triangles.shape or colors.dtype != np.uint8):
        refuse(f"its colors are an array of shape {colors.shape} and type {colors.dtype}")
    try:
        recorded_look(reader).check(len(triangles), count, str(reader.path))
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
        refuse(f"its paints, parts or texture coordinates cannot be used ({str(error).rstrip('.')})")
    planes = meta.get("planes") or []
    if not isinstance(planes, list):
        refuse(f"planes is {shown(planes)}")
    for k, plane in enumerate(planes):
        if not isinstance(plane, dict) or not _is_vector(plane.get("point")) or not _is_direction(plane.get("normal")):
            refuse(f"planes[{k}] is {shown(plane)}")
    try:
        MovingSolids(meta, reader.arrays, lines[0]["count"])
    except InputError as error:
        refuse(error.what)
    view = meta.get("view")
    if view is not None and not _is_direction(view):
        refuse(f"view is {shown(view)}")
    for key, make in (("camera", lambda: _camera(meta)), ("film", lambda: film_settings(reader))):
        if not isinstance(meta.get(key), dict | None):
            refuse(f"{key} is {shown(meta[key])}")
        try:
            make()
        except (InputError, TypeError, ValueError, OverflowError) as error:
            refuse(f"{key} cannot be used ({str(error).rstrip('.')})")


def _is_vector(value: Any) -> bool:
    """Three numbers that float32 has room for."""
    return (
        isinstance(value, list)
        and len(value) == 3
        and all(isinstance(part, int | float) and not isinstance(part, bool) and abs(part) < 1e30 for part in value)
    )


def _is_direction(value: Any) -> bool:
    return _is_vector(value) and max(map(abs, value)) > 1e-30


def _is_range(value: Any, end: int) -> bool:
    """Two whole numbers, [first, end)."""
    whole = isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value)
    return whole and 0 <= value[0] <= value[1] <= end


def _camera(meta: dict[str, Any]) -> Camera | None:
    return Camera(**meta["camera"]) if meta.get("camera") else None


def film_settings(reader: FramesReader) -> FilmSettings:
    """The film settings of the scene that was recorded."""
    known = {field.name for field in dataclasses.fields(FilmSettings)}
    return FilmSettings(**{k: v for k, v in (reader.meta.get("film") or {}).items() if k in known})


def make_film(
    reader: FramesReader,
    film: str | Path | None,
    sheet: str | Path | None,
    settings: FilmSettings,
    device: str = "auto",
    quiet: bool = False,
    report: Callable[[float], None] | None = None,
) -> int:
    """Draw a recording into a film and a contact sheet; returns the number of pictures.

    Args:
        reader: the recording.
        film: file to write (.mp4, .webp or .gif); none if None.
        sheet: PNG with pictures side by side; none if None.
        settings: size, pictures per second, quality.
        device: where the pictures are drawn.
        quiet: show no progress.
        report: called with the share of the pictures that are drawn, instead of showing progress.
    """
    from pliant.render.film import Film, contact_sheet

    if sheet is not None and Path(sheet).suffix.lower() != ".png":
        raise InputError("a contact sheet is a PNG file", str(sheet), "Give a name that ends with .png")
    times = [reader.line(k)["time"] for k in range(len(reader))]
    drawn = _film_frames(times, settings.fps)
    chosen = sorted({drawn[round(k)] for k in np.linspace(0, len(drawn) - 1, min(SHEET_PICTURES, len(drawn)))})
    if film is None:
        drawn = chosen
    stage = Stage(reader, settings, device)
    pictures: dict[int, np.ndarray] = {}
    progress = Progress("picture", len(drawn), quiet=quiet or report is not None)
    progress.update(0)

    def draw_all(target: Film | None) -> None:
        latest: tuple[int, np.ndarray] | None = None
        for k, index in enumerate(drawn):
            if latest is None or latest[0] != index:
                latest = (index, stage.draw(reader[index][2]))
            if target is not None:
                target.add(latest[1])
            if index in chosen:
                pictures[index] = latest[1]
            progress.update(k + 1)
            if report is not None:
                report((k + 1) / len(drawn))

    if film is None:
        draw_all(None)
    else:
        with Film(film, settings.fps, settings.quality) as target:
            draw_all(target)
    progress.finish(len(drawn))
    if sheet is not None:
        labels = [f"{times[index]:.2f} s" for index in pictures]
        contact_sheet(list(pictures.values()), sheet, 4, labels, SHEET_WIDTH)
    return len(drawn)


def _film_frames(times: list[float], fps: float) -> list[int]:
    """The recorded frame nearest to each picture's time."""
    begin, end = times[0], times[-1]
    count = max(1, math.floor((end - begin) * fps + 1e-6) + 1)
    if count > MOST_PICTURES:
        raise InputError(
            f"{end - begin:g} s at {fps:g} pictures per second are {count:,} pictures",
            "fps",
            f"Give fewer pictures per second, so that there are at most {MOST_PICTURES:,}",
        )
    moments = begin + np.arange(count) / fps
    place = np.searchsorted(times, moments)
    place = np.clip(place, 1, max(len(times) - 1, 1))
    if len(times) == 1:
        return [0] * count
    left, right = np.array(times)[place - 1], np.array(times)[place]
    return (place - (moments - left < right - moments)).tolist()


class Stage:
    """Bodies, colliders, camera and renderer for the pictures of one recording."""

    def __init__(self, reader: FramesReader, settings: FilmSettings, device: str):
        from pliant.render.raycast import Renderer

        meta = reader.meta
        triangles = reader.arrays["triangles"]
        colors = recorded_colors(reader)
        self.seen = SeenVertices(reader)
        samples = [self.seen.of(reader[k][2]) for k in sorted({round(k) for k in np.linspace(0, len(reader) - 1, 9)})]
        low, high = np.min([x.min(axis=0) for x in samples], axis=0), np.max([x.max(axis=0) for x in samples], axis=0)
        self.ground, extra = _ground(meta.get("planes") or [], low, high)
        count = len(samples[0])
        corners = [4 * k + np.array([[0, 1, 2], [0, 2, 3]]) for k in range(len(extra) // 4)]
        self.solids = MovingSolids(meta, reader.arrays, reader.line(0)["count"])
        still = np.concatenate([*corners, len(extra) + self.solids.triangles])
        self.squares = extra
        extra = np.concatenate([extra, self.solids.points])
        triangles = np.concatenate([triangles, count + still])
        colors = np.concatenate([colors, np.tile(np.array(PLANE_COLOR, np.float32), (len(still), 1))])
        aspect = settings.width / settings.height
        self.camera = _camera(meta) or Camera.framing(low, high, aspect, direction=meta.get("view") or VIEW, margin=1.1)
        self.renderer = Renderer(
            settings.width, settings.height, device, samples=settings.samples, wireframe=settings.wireframe
        )
        self.renderer.set_geometry(triangles, colors, count + len(extra))

    def draw(self, x: np.ndarray) -> np.ndarray:
        return self.renderer.draw(
            np.concatenate([self.seen.of(x), self.squares, self.solids.of(x)]).astype(np.float32),
            self.camera,
            self.ground,
        )


def _ground(planes: list[dict[str, Any]], low: np.ndarray, high: np.ndarray) -> tuple[float | None, np.ndarray]:
    """Height of the level ground, if there is one, and corners (4k, 3) of squares that stand for tilted planes."""
    ground: float | None = None
    squares = []
    for plane in planes:
        point, normal = np.array(plane["point"], float), np.array(plane["normal"], float)
        length = float(np.linalg.norm(normal))
        normal = normal / length if abs(length - 1.0) > 1e-9 else normal
        if normal[1] > 1.0 - 1e-9:
            ground = max(point[1], -math.inf if ground is None else ground)
            continue
        middle = 0.5 * (low + high)
        middle = middle - normal * float(normal @ (middle - point))
        across = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        across /= np.linalg.norm(across)
        along = np.cross(normal, across)
        half = 0.75 * float(np.linalg.norm(high - low))
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
        squares.append(middle + corners @ np.array([across, along]))
    return ground, np.concatenate(squares).astype(np.float32) if squares else np.zeros((0, 3), np.float32)


def write_sequence(reader: FramesReader, folder: str | Path, kind: str, quiet: bool = False) -> int:
    """Write every frame of a recording as a file of its own; returns their number."""
    progress = Progress(f"{kind} file", len(reader), quiet=quiet)
    write_frames(reader, Path(folder), kind, 1, lambda share: progress.update(round(share * len(reader))))
    progress.finish(len(reader))
    return len(reader)
