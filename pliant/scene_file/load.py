"""A scene file becomes a `Scene`; everything in it is checked before anything starts."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.calibration.background import begin
from pliant.collide.shapes import collider_classes
from pliant.collide.soft.settings import ContactSettings
from pliant.errors import InputError
from pliant.forces.inside import as_inside
from pliant.materials import PRESETS, Material, RawConstants
from pliant.motion import MotionPath
from pliant.render.camera import Camera
from pliant.scene import MASS_SHIFT, Scene, SceneSettings
from pliant.scene_file.attachments import LIMITS, chosen, pairs_of
from pliant.scene_file.form import LONGEST_NAME, Source, check_whole_numbers, shorten, shown, suggest
from pliant.scene_file.layout import MOST_COPIES, VERSION, FilmSettings, scene_table
from pliant.scene_file.lines import KeyLines, KeyPath
from pliant.scene_file.meshes import MESH_KEYS, MeshStore, ProgressCall, body_mesh
from pliant.scene_file.tables import TableSource, plain
from pliant.settings import check_value, describe_range, field_kind, takes_text
from pliant.sleep.settings import SleepSettings
from pliant.solvers import solver_class, solver_classes
from pliant.substeps import MOST_SUBSTEPS
from pliant.units import read_quantity
from pliant.vectors import as_count, as_positive

SHIPPED = Path(__file__).parent.parent / "scenes"
LARGEST_FILE = 64 << 20
MOST_FRAMES = 100_000_000
CONTACT = "contact"
SLEEP = "sleep"
"""The table of how bodies meet, and what its settings are called by on the command line."""
# Bytes of a name that files begin with: systems take 255 for the whole.
LONGEST_FILE_NAME = 200


@dataclasses.dataclass(frozen=True)
class Overrides:
    """What the command line or a caller changes of a scene file.

    Attributes:
        frames: frames of the run. seconds: its duration instead [s].
        substeps: steps per frame. dt: the time step instead [s]; rounded so that whole steps fill a frame.
        method: how all bodies are simulated.
        settings: solver settings as ``key=value`` or ``method.key=value``; of contacts ``contact.key=value``.
    """

    frames: int | None = None
    seconds: float | None = None
    substeps: int | None = None
    dt: float | None = None
    method: str | None = None
    settings: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class LoadedScene:
    """A scene file, read and checked.

    Attributes:
        scene: ready to `build`.
        description: what it shows.
        frames: frames of a run.
        camera: where pictures are taken from; chosen from the bodies and `view` if None.
        view: direction from the bodies to the eye, where the camera is chosen.
        film: how a film is made.
        source: the file.
        digest: fingerprint of everything that changes the motion; a run is resumed only if it is the same.
    """

    scene: Scene
    description: str
    frames: int
    camera: Camera | None
    view: tuple[float, float, float] | None
    film: FilmSettings
    source: Path
    digest: str

    @property
    def name(self) -> str:
        return self.scene.name


def shipped_scenes() -> dict[str, Path]:
    """The scenes that come with Pliant, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def find_scene(text: str | os.PathLike) -> Path:
    """The file of a path or of the name of a shipped scene."""
    path = Path(text)
    if _is_file(path):
        return path
    shipped = shipped_scenes()
    if str(text) in shipped:
        return shipped[str(text)]
    if os.path.isdir(path):
        raise InputError("this is a folder", str(text), "Give the path of a scene file (.toml)")
    near = suggest(path.stem, shipped, "Give the path of a scene file, or one of the scenes that ship")
    raise InputError("there is no such scene file", shorten(str(text)), near)


def _is_file(path: Path) -> bool:
    """Whether a file is there; no name is too long or too odd to ask."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def load_scene(
    path: str | os.PathLike, overrides: Overrides | None = None, progress: ProgressCall | None = None
) -> LoadedScene:
    """Read a scene file, or a shipped scene by its name.

    Raises:
        InputError: names file, line, key, value and remedy of the first thing that is wrong.
    """
    path = find_scene(path)
    overrides = overrides or Overrides()
    document, source = _parse(path)
    _check_version(document, source)
    check_whole_numbers(document, source)
    checked = scene_table().check(document, source, ())
    return _Builder(checked, document, source, path, overrides, progress).build()


def load_tables(
    tables: Mapping[str, Any],
    folder: str | os.PathLike,
    name: str = "studio",
    progress: ProgressCall | None = None,
    meshes: MeshStore | None = None,
) -> LoadedScene:
    """A scene from the tables of a scene file, without the file; it may have no bodies.

    Args:
        tables: what a scene file holds, as dicts and lists.
        folder: where files are looked up that are named in them.
        name: of the scene, where the tables give none.
        progress: called with the stage of the work on a mesh and how much of it is done.
        meshes: meshes of earlier calls, by what they are made of; taken from there, and added to it.

    Raises:
        InputError: names key, value and remedy of the first thing that is wrong.
    """
    document = plain(tables)
    if not document.get("body"):
        document.pop("body", None)
    path = Path(folder) / name
    source = TableSource(path, document)
    _check_version(document, source)
    check_whole_numbers(document, source)
    form = dataclasses.replace(scene_table(), required=("version",))
    checked = {"body": [], **form.check(document, source, ())}
    return _Builder(checked, document, source, path, Overrides(), progress, meshes).build()


def read_tables(path: str | os.PathLike) -> dict[str, Any]:
    """The tables of a scene file, checked for the version only."""
    path = find_scene(path)
    document, source = _parse(path)
    _check_version(document, source)
    check_whole_numbers(document, source)
    return document


def _parse(path: Path) -> tuple[dict[str, Any], Source]:
    """The file as tables, and its lines; errors of the TOML itself name the line too."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(
                f"the file has {path.stat().st_size:,} bytes", str(path), f"Keep it below {LARGEST_FILE:,} bytes"
            )
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", str(path), "Check the name and permissions") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"byte {data[error.start]:#04x} is not UTF-8", f"{path}:{line}", "Save the file as UTF-8 text"
        ) from error
    try:
        document = tomllib.loads(text)
        return document, Source(path, KeyLines(text))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        lines = text.splitlines() or [""]
        line = int(found[1]) if found else len(lines)
        wrong = lines[min(line, len(lines)) - 1].strip()[:80]
        message = re.sub(r" \(at .*\)$", "", str(error))
        raise InputError(
            f"not valid TOML: {message}, in {wrong!r}",
            f"{path}:{line}" + (f":{found[2]}" if found else ""),
            "Correct the line; texts stand in quotes, lists in [ ], tables in { }, and each key only once",
        ) from error
    except ValueError as error:
        # Python reads no whole number of more than some thousand digits
        raise InputError("a number has thousands of digits", str(path), "Give at most 18 digits") from error
    except RecursionError as error:
        raise InputError("lists or tables are nested too deeply", str(path), "Use fewer levels") from error


def _check_version(document: dict[str, Any], source: Source) -> None:
    if "version" not in document:
        raise source.error((), "the key 'version' is missing", f"Add 'version = {VERSION}' at the top of the file")
    version = document["version"]
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        raise source.error(
            ("version",),
            f"version {shown(version)} is not known",
            f"This program reads version {VERSION}: " + ("update Pliant" if newer else f"write version = {VERSION}"),
        )


class _Builder:
    """Turns checked tables into a scene, and errors of the scene into errors of the file."""

    def __init__(
        self,
        data: dict[str, Any],
        document: dict[str, Any],
        source: Source,
        path: Path,
        overrides: Overrides,
        progress: ProgressCall | None,
        meshes: MeshStore | None = None,
    ):
        self.data = data
        self.document = document
        self.source = source
        self.path = path
        self.overrides = overrides
        self.progress = progress
        self.meshes = meshes
        self.materials: dict[str, Material] = dict(PRESETS)
        self.offsets: dict[str, np.ndarray] = {}
        self.copies: dict[str, list[str]] = {}

    def build(self) -> LoadedScene:
        table = dict(self.data.get("scene", {}))
        frames = table.pop("frames", 240)
        frame_dt = table.get("frame_dt", SceneSettings().frame_dt)
        frames, substeps = _timing(self.overrides, frames, table.get("substeps"), frame_dt)
        table["substeps"] = substeps
        contact = self.data.get("contact", {})
        sleep = self.data.get("sleep", {})
        self.scene = Scene(name=self.data.get("name") or self.path.stem, contact=contact, sleep=sleep, **table)
        self._check_name()
        for k in range(len(self.data.get("material", []))):
            self._add_material(("material", k))
        for kind, cls in collider_classes().items():
            for k, table in enumerate(self.data.get(kind, [])):
                with self._at((kind, k)):
                    name = self.scene.collider_name(table.get("name"), kind)
                    self.scene.add_collider(cls.from_table(table, name, self.path.parent))
        for k in range(len(self.data["body"])):
            self._add_body(("body", k))
        for k in range(len(self.data.get("attachment", []))):
            self._attach(("attachment", k))
        self._configure()
        camera, view = self._camera()
        film = dict(self.data.get("film", {}))
        size = film.pop("size", None)
        if size is not None:
            film |= {"width": size[0], "height": size[1]}
        return LoadedScene(
            self.scene,
            self.data.get("description", ""),
            frames,
            camera,
            view,
            FilmSettings(**film),
            self.path,
            self._digest(),
        )

    @contextlib.contextmanager
    def _at(self, path: KeyPath) -> Iterator[None]:
        """Give errors of the core the place in the file, down to the key where the core names one."""
        try:
            yield
        except InputError as error:
            if self.source.names(error):
                raise
            # "body 'ball'.color", "collider 'floor'.normal", "ball(radius)" end with the key
            found = re.search(r"(?:\.|\()(\w+)\)?$", error.where)
            value = self._value(path)
            inner = (*path, found[1]) if found and isinstance(value, dict) and found[1] in value else path
            about = "" if inner != path else f"{error.where}: " if error.where else ""
            raise self.source.error(inner, f"{about}{error.what}", error.remedy or "Change this value") from error

    def _value(self, path: KeyPath) -> Any:
        value: Any = self.data
        for part in path:
            value = value[part]
        return value

    def _check_name(self) -> None:
        name = self.scene.name
        if not re.fullmatch(r"[\w][\w .-]*", name):
            raise self.source.error(
                ("name",), f"{name!r} cannot be part of a file name", "Use letters, digits, blanks, '_', '-' and '.'"
            )
        if len(name) > LONGEST_NAME or len(os.fsencode(name)) > LONGEST_FILE_NAME:
            raise self.source.error(
                ("name",),
                f"{shorten(name)!r} is too long for a file name",
                f"Give a name of at most {LONGEST_NAME} characters",
            )

    def _add_material(self, path: KeyPath) -> None:
        table = dict(self._value(path))
        name = table.pop("name")
        if name in self.materials:
            raise self.source.error(
                (*path, "name"), f"a material '{name}' is there already", "Give every material a name of its own"
            )
        self.materials[name] = self._material(table, path)

    def _material(self, value: Any, path: KeyPath) -> Material:
        """A material from its name or its table."""
        if isinstance(value, str):
            return self._named_material(value, path)
        values = dict(value)
        base = self._named_material(values.pop("base"), (*path, "base")) if "base" in values else Material()
        with self._at(path):
            return dataclasses.replace(base, **values)

    def _named_material(self, name: str, path: KeyPath) -> Material:
        if name not in self.materials:
            remedy = suggest(name, self.materials, "The materials are")
            raise self.source.error(path, f"no material {name!r} is known", remedy)
        return self.materials[name]

    def _add_body(self, path: KeyPath) -> None:
        table = dict(self._value(path))
        made = body_mesh(table, path, self.source, self._at, self.progress, self.meshes)
        table = {key: value for key, value in table.items() if key not in MESH_KEYS}
        pins = table.pop("pins", [])
        copies = table.pop("copies", None)
        if "material" in table:
            table["material"] = self._material(table["material"], (*path, "material"))
        if "raw" in table:
            table["raw"] = RawConstants(**table["raw"])
        else:
            table.setdefault("fill", made.fill)
            if made.uneven:
                table.setdefault("mass_shift", MASS_SHIFT)
        if "volume" in table:
            with self._at((*path, "volume")):
                table["volume"] = as_inside(table["volume"], "volume")
        if self.overrides.method is not None:
            table["method"] = self._method()
        name = table.pop("name", None) or self._free_name()
        position = np.array(table.pop("position", (0.0, 0.0, 0.0)))
        offsets = self._offsets(copies, (*path, "copies"))
        if copies is not None:
            self.copies[name] = [f"{name}_{n}" for n in range(len(offsets))]
        for n, offset in enumerate(offsets):
            label = name if copies is None else f"{name}_{n}"
            with self._at(path):
                if any(b.name == label for b in self.scene.bodies):
                    raise InputError(f"the name {label!r} is taken", "body.name", "Give every body a name of its own")
                self.scene.add_body(made.mesh, name=label, position=tuple(position + offset), skin=made.skin, **table)
                if n == 0:
                    # while the next is prepared
                    begin(self.scene.bodies[-1], self.scene.settings.calibrate)
            self.offsets[label] = offset
            for k in range(len(pins)):
                self._pin(label, offset, (*path, "pins", k))

    def _free_name(self) -> str:
        """The next number that no body has, here or further down in the file."""
        taken = {b.name for b in self.scene.bodies} | {table.get("name") for table in self.data["body"]}
        numbers = itertools.count(len(self.scene.bodies))
        return next(name for name in map("body{}".format, numbers) if name not in taken)

    def _offsets(self, copies: dict[str, Any] | None, path: KeyPath) -> np.ndarray:
        """Displacement of each copy (n, 3) [m]; one of zero if there are none."""
        if copies is None:
            return np.zeros((1, 3))
        count = math.prod(copies["count"])
        if count > MOST_COPIES:
            raise self.source.error(
                (*path, "count"), f"{copies['count']} are {count:,} bodies", f"Give at most {MOST_COPIES:,}"
            )
        cells = np.array(list(itertools.product(*(range(n) for n in copies["count"]))), float)
        jitter = float(copies.get("jitter", 0.0))
        random = np.random.default_rng(copies.get("seed", 0)).uniform(-jitter, jitter, cells.shape)
        with np.errstate(over="ignore"):  # the scene refuses positions that are not finite
            return cells * np.array(copies["spacing"]) + random

    def _pin(self, body: str, offset: np.ndarray, path: KeyPath) -> None:
        table = self._value(path)
        with self._at(path):
            keys, center = table.get("path"), table.get("center")
            if keys is not None:
                for k, key in enumerate(keys):
                    if not isinstance(key, dict) and not (isinstance(key[0], float) and isinstance(key[1], tuple)):
                        raise self.source.error(
                            (*path, "path", k),
                            f"{list(key)!r} is not a time and an offset",
                            "Give pairs of a time in s and an offset in m, such as [2.0, [1, 0, 0]]",
                        )
                MotionPath.make(keys, "pin.path")
            if center is not None:
                center = tuple((np.array(center) + offset).tolist())
            self.scene.pin(body, chosen(table, offset, "pin"), keys, center=center)

    def _attach(self, path: KeyPath) -> None:
        """What an [[attachment]] table says, for every copy of its body."""
        table = self._value(path)
        with self._at(path):
            pairs = pairs_of(table, self.copies)
            for n, (body, to) in enumerate(pairs):
                name = table.get("name")
                if name and len(pairs) > 1:
                    name = f"{name}_{n}"
                offset = self.offsets.get(body, np.zeros(3))
                limits = {key: table[key] for key in LIMITS if key in table}
                picked = chosen(table, offset, "attachment")
                self.scene.attach(body, picked, to, at=table.get("at"), name=name or None, **limits)

    def _method(self) -> str:
        method = str(self.overrides.method)
        if method not in solver_classes():
            raise InputError(f"no method {method!r}", "--solver", suggest(method, solver_classes(), "The methods are"))
        return method

    def _configure(self) -> None:
        for method, values in self.data.get("solver", {}).items():
            with self._at(("solver", method)):
                self.scene.configure(method, **values)
        used = list(dict.fromkeys(b.method for b in self.scene.bodies))
        for text in self.overrides.settings:
            for method, key, value in _parse_override(text, used):
                if method == CONTACT:
                    self.scene.contact = dataclasses.replace(self.scene.contact, **{key: value})
                elif method == SLEEP:
                    self.scene.sleep = dataclasses.replace(self.scene.sleep, **{key: value})
                else:
                    self.scene.configure(method, **{key: value})

    def _camera(self) -> tuple[Camera | None, tuple[float, float, float] | None]:
        table = dict(self.data.get("camera", {}))
        if not table:
            return None, None
        view = table.pop("direction", None)
        if view is not None:
            if table:
                raise self.source.error(
                    ("camera", next(iter(table))),
                    f"{next(iter(table))!r} is given beside 'direction'",
                    "Give 'direction' alone, or 'position' and 'target'",
                )
            if not any(view):
                raise self.source.error(("camera", "direction"), "the direction is zero", "Give one such as [1, 1, 2]")
            return None, view
        for key in ("position", "target"):
            if key not in table:
                raise self.source.error(
                    ("camera",), f"the key {key!r} is missing in {table}", "Give 'position' and 'target'"
                )
        if "up" in table and not any(table["up"]):
            raise self.source.error(("camera", "up"), "the direction is zero", "Give one such as [0, 1, 0]")
        with self._at(("camera",)):
            return Camera(**table), None

    def _digest(self) -> str:
        """Fingerprint of what changes the motion: not of names, pictures or the number of frames."""
        document = {k: v for k, v in self.document.items() if k not in ("name", "description", "camera", "film")}
        document["scene"] = {k: v for k, v in document.get("scene", {}).items() if k != "frames"}
        document["scene"]["substeps"] = self.scene.settings.substeps
        document["solver"] = {
            method: dataclasses.asdict(solver_class(method).Settings(**self.scene.solver_settings.get(method, {})))
            for method in sorted({b.method for b in self.scene.bodies})
        }
        document.pop(CONTACT, None)
        if self.scene.contact.between != "none":
            document[CONTACT] = dataclasses.asdict(self.scene.contact)
        document.pop(SLEEP, None)
        if self.scene.sleep.active:
            document[SLEEP] = dataclasses.asdict(self.scene.sleep)
        text = json.dumps([document, self.overrides.method], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def _timing(overrides: Overrides, frames: int, substeps: int | None, frame_dt: float) -> tuple[int, int | None]:
    """Frames and substeps after the overrides."""
    if overrides.frames is not None and overrides.seconds is not None:
        raise InputError("both --frames and --seconds are given", "--seconds", "Give one of them")
    if overrides.substeps is not None and overrides.dt is not None:
        raise InputError("both --substeps and --dt are given", "--dt", "Give one of them")
    if overrides.frames is not None:
        frames = as_count(overrides.frames, "--frames", 1, MOST_FRAMES)
    if overrides.seconds is not None:
        count = as_positive(overrides.seconds, "--seconds", "s") / frame_dt
        if count > MOST_FRAMES:
            raise InputError(
                f"{overrides.seconds:g} s are {count:g} frames", "--seconds", f"Give at most {MOST_FRAMES * frame_dt:g}"
            )
        frames = max(1, round(count))
    if overrides.substeps is not None:
        substeps = as_count(overrides.substeps, "--substeps", 1, MOST_SUBSTEPS)
    if overrides.dt is not None:
        dt = as_positive(overrides.dt, "--dt", "s")
        if dt > frame_dt * (1.0 + 1e-9):
            raise InputError(
                f"a step of {dt:g} s is longer than a frame of {frame_dt:g} s", "--dt", f"Give at most {frame_dt:g}"
            )
        if frame_dt / MOST_SUBSTEPS > dt * (1.0 + 1e-9):
            raise InputError(
                f"a step of {dt:g} s makes more than {MOST_SUBSTEPS:,} substeps",
                "--dt",
                f"Give at least {frame_dt / MOST_SUBSTEPS:g}",
            )
        substeps = math.ceil(frame_dt / dt - 1e-6)
    return frames, substeps


def _parse_override(text: str, used: list[str]) -> list[tuple[str, str, Any]]:
    """``key=value`` for every method in use that has the key, ``method.key=value``, ``contact.key=value`` or
    ``sleep.key=value``."""
    where = f"--set {text}"
    left, equals, right = text.partition("=")
    if not equals or not left.strip():
        raise InputError(f"{text!r} is not key=value", "--set", "Give such as: --set integrator=verlet")
    method, dot, key = left.strip().rpartition(".")
    tables = {name: cls.Settings for name, cls in solver_classes().items()}
    tables |= {CONTACT: ContactSettings, SLEEP: SleepSettings}
    if dot and method not in tables:
        raise InputError(f"no method {method!r}", where, suggest(method, tables, "Known are"))
    found = []
    known: list[str] = []
    for name in [method] if dot else used:
        fields = {field.name: field for field in dataclasses.fields(tables[name])}
        known += fields
        if key in fields:
            found.append((name, key, _parse_value(fields[key], right.strip(), where)))
    if not found:
        raise InputError(f"no setting {key!r}", where, suggest(key, sorted(set(known)), "The settings are"))
    return found


def _parse_value(field: dataclasses.Field, text: str, where: str) -> Any:
    kind, _ = field_kind(field)
    value: Any = text
    if kind is bool:
        value = {"true": True, "false": False}.get(text.lower(), text)
    elif takes_text(field):
        value = read_quantity(text, field.metadata["unit"], where, describe_range(field), plain=True)
    elif kind is not str:
        try:
            value = int(text) if kind is int else float(text)
        except ValueError:
            raise InputError(f"{text!r} is not a number", where, f"Give {describe_range(field)}") from None
    try:
        return check_value(field, value, where)
    except OverflowError:
        raise InputError(f"{shorten(text)} is too large", where, f"Give {describe_range(field)}") from None
