"""The tables of a scene that was made in Python: its meshes become files, everything else keys."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pliant.assembly import BodyEntry
from pliant.attachments import AttachmentEntry
from pliant.collide.collider import Collider, described_fields
from pliant.collide.movable import Movable, path_keys
from pliant.collide.soft.settings import ContactSettings
from pliant.errors import InputError
from pliant.files import replace_file
from pliant.materials import PRESETS, Material
from pliant.mesh.points import PointCloud
from pliant.mesh.prepared import SUFFIX, PreparedBody, write_body
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.weave import has_texture
from pliant.mesh.wrinkles import Wrinkles
from pliant.motion import MotionPath
from pliant.scene import Scene, SceneSettings
from pliant.scene_file.attachments import LIMITS
from pliant.scene_file.layout import VERSION
from pliant.scene_file.tables import plain
from pliant.sleep.settings import SleepSettings
from pliant.solvers.protocol import BodySpec
from pliant.solvers.shape_matching.settings import Matching

DIGITS = 10
"""Decimals of places and rotations, which are found from the vertices."""


def scene_tables(scene: Scene, folder: Path) -> dict[str, Any]:
    """The tables of a scene; each distinct mesh is written to the folder once.

    Raises:
        InputError: a body has a skin that follows clusters on a mesh, which no file can hold.
    """
    name = re.sub(r"[^\w .-]", "_", scene.name).strip()[:80]
    general: dict[str, Any] = {}
    if tuple(scene.gravity) != Scene().gravity:
        general["gravity"] = scene.gravity
    for key, value in vars(scene).items():
        # what holds for a whole scene and is given to it as a vector, such as a wind
        if key != "gravity" and isinstance(value, tuple) and len(value) == 3 and value != vars(Scene())[key]:
            general[key] = value
    if not scene.air.is_plain:
        general["wind"] = {**scene.air.table(), "velocity": scene.wind}
    general |= changed(scene.settings, SceneSettings())
    tables: dict[str, Any] = {"version": VERSION, "name": name if re.match(r"\w", name) else "scene"}
    if general:
        tables["scene"] = general
    contact = changed(scene.contact, ContactSettings())
    if contact:
        tables["contact"] = contact
    sleep = changed(scene.sleep, SleepSettings())
    if sleep:
        tables["sleep"] = sleep
    solver = {method: {k: v for k, v in s.items() if v is not None} for method, s in scene.solver_settings.items()}
    if any(solver.values()):
        tables["solver"] = {method: settings for method, settings in solver.items() if settings}
    files = _MeshFiles(folder)
    tables["body"] = [_body(entry, files) for entry in scene.bodies]
    if scene.attachments:
        tables["attachment"] = [_attachment(entry) for entry in scene.attachments]
    for collider in scene.colliders:
        tables.setdefault(collider.kind, []).append(_collider(collider, files))
    return plain(tables)


def changed(settings: Any, default: Any) -> dict[str, Any]:
    """The fields of a settings class that are not as in another of its kind."""
    pairs = {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings)}
    return {key: value for key, value in pairs.items() if value != getattr(default, key) and value is not None}


def material_value(material: Material) -> str | dict[str, Any]:
    """A material as in scene files: the preset it is, or its values."""
    for name, preset in PRESETS.items():
        if material == preset:
            return name
    return changed(material, Material())


class _MeshFiles:
    """Writes meshes under names that follow from their contents."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._written: dict[tuple[int, ...], str] = {}

    def body(self, entry: BodyEntry, home: Callable[[SurfaceMesh], SurfaceMesh]) -> str:
        """The file of a body's mesh and skin, before they were turned and moved."""
        mesh: Any = entry.source
        # bodies made of one mesh have one embedding, though each has a skin in a place of its own
        key = (id(entry.source), id(entry.embedding))
        if key not in self._written:
            worn = entry.embedding is not None and entry.wrinkles is None
            skin = home(entry.skin) if entry.skin is not None and worn else None
            made = PreparedBody(
                mesh.name or entry.name, mesh, skin, entry.embedding if worn else None, tuple(mesh.notes)
            )
            arrays = [mesh.vertices] + ([] if skin is None else [skin.vertices, skin.triangles])
            self._written[key] = self._name(mesh.name or entry.name, arrays, SUFFIX)
            write_body(made, self.folder / self._written[key])
        return self._written[key]

    def surface(self, mesh: SurfaceMesh, stem: str) -> str:
        """The file of a surface that is only seen."""
        from pliant.mesh.io import write_mesh

        name = self._name(stem, [mesh.vertices, mesh.triangles], ".ply")
        write_mesh(mesh, self.folder / name)
        return name

    def rods(self, mesh: RodMesh, stem: str) -> str:
        """The file of ropes, hair or trees."""
        name = self._name(stem, [mesh.vertices, mesh.segments, mesh.radius], ".swc")
        mesh.save(self.folder / name)
        return name

    def array(self, values: np.ndarray, stem: str) -> str:
        """The file of an array."""
        name = self._name(stem, [values], ".npy")
        with replace_file(self.folder / name) as file:
            np.save(file, values, allow_pickle=False)
        return name

    def _name(self, stem: str, arrays: list[np.ndarray], suffix: str) -> str:
        digest = hashlib.sha256()
        for array in arrays:
            digest.update(repr((array.shape, str(array.dtype))).encode() + np.ascontiguousarray(array).tobytes())
        short = re.sub(r"[^\w-]", "_", stem)[:40] or "mesh"
        return f"{short}-{digest.hexdigest()[:12]}{suffix}"


def _placement(entry: BodyEntry) -> tuple[np.ndarray, np.ndarray]:
    """Position [m] and rotation vector [degrees] of a body, from its mesh before and after."""
    turn = entry.turn
    place = np.round((entry.mesh.vertices - entry.source.vertices @ turn.T).mean(axis=0), DIGITS)
    # twice the sine times the axis, and twice the cosine
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    sine, cosine = float(np.linalg.norm(axis)), float(np.trace(turn)) - 1.0
    if sine < 1e-7 and cosine > 0:
        return place, np.zeros(3)
    if sine < 1e-7:
        # a half turn: the axis is what it leaves as it is
        values, vectors = np.linalg.eigh(0.5 * (turn + turn.T))
        axis = vectors[:, int(np.argmax(values))]
    degrees = math.degrees(math.atan2(sine, cosine))
    return place, np.round(degrees * axis / float(np.linalg.norm(axis)), DIGITS)


def _body(entry: BodyEntry, files: _MeshFiles) -> dict[str, Any]:
    """The table of a body."""
    place, turned = _placement(entry)
    inverse = entry.turn.T

    def home(surface: SurfaceMesh) -> SurfaceMesh:
        return dataclasses.replace(surface, vertices=(surface.vertices - place) @ inverse.T)

    table: dict[str, Any] = {"name": entry.name}
    source = entry.source
    if isinstance(source, PointCloud):
        points: dict[str, Any] = {"file": files.array(source.vertices, source.name or entry.name)}
        points |= {key: getattr(source, key) for key in ("volume", "radius") if getattr(source, key) is not None}
        table["points"] = points if len(points) > 1 else points["file"]
        if entry.skin is not None:
            table["skin"] = files.surface(home(entry.skin), f"{entry.name}-skin")
    elif isinstance(source, RodMesh) and entry.skin is None:
        table["rods"] = files.rods(source, source.name or entry.name)
        if source.seen_radius is not None:
            table["rods"] = {"file": table["rods"], "seen_radius": source.seen_radius}
    elif entry.skin is not None and entry.embedding is None:
        raise InputError(
            "its skin follows clusters and has no embedding, which no file of a body can hold",
            f"body '{entry.name}'.skin",
            "Give the skin an embedding (Scene.add does), or leave it out",
        )
    else:
        table["file"] = files.body(entry, home)
    spec = entry.spec
    table["material"] = material_value(spec.material)
    if entry.method != "mass_spring":
        table["method"] = entry.method
    if changed(spec.matching or Matching(), Matching()):
        table["matching"] = changed(spec.matching, Matching())
    for key, value in (("position", place), ("rotation", turned), ("velocity", entry.velocity),
                       ("angular_velocity", entry.angular_velocity)):  # fmt: skip
        if np.any(value):
            table[key] = value
    if not entry.painted:
        table["color"] = entry.color
    if spec.raw is not None:
        table["raw"] = {key: value for key, value in dataclasses.asdict(spec.raw).items() if value is not None}
    plain_spec = {f.name: f.default for f in dataclasses.fields(BodySpec)}
    for key, default in (("springs", plain_spec["springs"]), ("mass_distribution", "lumped"),
                         ("largest_inverse_mass", None), ("mass_shift", plain_spec["mass_shift"]),
                         ("bends", plain_spec["bends"]),
                         ("tear_capacity", plain_spec["tear_capacity"])):  # fmt: skip
        if getattr(spec, key) != default:
            table[key] = getattr(spec, key)
    if entry.calibrate is not None:
        table["calibrate"] = entry.calibrate
    if spec.warp is not None:
        along = np.round(inverse @ np.array(spec.warp), DIGITS)
        if has_texture(source) or not np.allclose(along, (1.0, 0.0, 0.0), atol=1e-9):
            table["warp"] = along
    if entry.volume is not None:
        values = {key: value for key, value in dataclasses.asdict(entry.volume).items() if value is not None}
        table["volume"] = {"kind": entry.volume.kind, **values}
    if entry.wrinkles is not None:
        table["wrinkles"] = changed(entry.wrinkles.settings, Wrinkles())
    if entry.pins:
        table["pins"] = [{"vertices": index} | ({} if path is None else _motion(path)) for index, path in entry.pins]
    return table


def _motion(path: MotionPath) -> dict[str, Any]:
    """The path and the centre of pins, as in scene files."""
    if path.is_translation:
        return {"path": [[t, o] for t, o in zip(path.times, path.offsets, strict=True)]}
    rows = zip(path.times, path.offsets, np.degrees(path.rotations), path.scales, strict=True)
    keys = [{"time": t, "offset": o, "rotation": r, "scale": s} for t, o, r, s in rows]
    return {"path": keys, "center": path.center}


def _attachment(entry: AttachmentEntry) -> dict[str, Any]:
    """The table of an attachment."""
    table: dict[str, Any] = {"name": entry.name, "body": entry.body, "to": entry.to, "vertices": entry.vertices}
    if entry.at is not None:
        # as many numbers as vertices would be pairs
        single = not entry.is_paired and len(entry.at) == len(entry.vertices)
        table["at"] = np.append(entry.at, entry.at[-1]) if single else entry.at
    return table | {key: getattr(entry, key) for key in LIMITS if getattr(entry, key) is not None}


def _collider(collider: Collider, files: _MeshFiles) -> dict[str, Any]:
    """The table of a collider: its fields, its surface, and a file where it is made of an array."""
    made: Any = collider
    table: dict[str, Any] = {"name": collider.name}
    for field in described_fields(made):
        value = getattr(made, field.name)
        if value is not None and value != field.default:
            table[field.name] = value
    for field in dataclasses.fields(made):
        value = getattr(made, field.name)
        if isinstance(value, np.ndarray) and field.init:
            table["file"] = files.array(value, collider.name)
        elif isinstance(value, SurfaceMesh):
            table["file"] = files.surface(value, collider.name)
    if isinstance(collider, Movable) and collider.path is not None:
        table["path"] = path_keys(collider)
    return table | changed(collider.surface, type(collider.surface)())
