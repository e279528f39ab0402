"""The scene that the studio edits: the tables of a scene file, with edits, undo, and what can be made of them."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.collide.shapes import collider_classes
from pliant.errors import InputError
from pliant.files import replace_file
from pliant.forces.wind_settings import Gusts
from pliant.materials import Material
from pliant.scene import Scene, SceneSettings
from pliant.scene_file import LoadedScene, find_scene, load_tables, python_code, read_tables, scene_text
from pliant.scene_file.layout import VERSION
from pliant.scene_file.meshes import MESH_KEYS, MeshStore, ProgressCall
from pliant.scene_file.tables import body_names, named, plain
from pliant.solvers import general_methods, solver_class, solver_classes
from pliant.solvers.shape_matching.settings import Matching
from pliant.studio import edits, lookup
from pliant.studio.files_of import moved, resolved
from pliant.studio.mesh_kinds import mesh_kind, methods_for

if TYPE_CHECKING:
    from pliant.simulation import Simulation

MOST_UNDO = 100
MERGE_SECONDS = 1.0
BESIDE = 1.1
"""How far a copy stands from its original, over its width."""


class Document:
    """A scene as tables; every body and collider has a name. Everything read from it is a copy; edits are atomic.

    Args:
        tables: those of a scene file; checked when they are used.
        folder: where files are looked up that are named in them.
        meshes: meshes made so far, so that they are not made again; shared between variants.
    """

    def __init__(self, tables: Mapping[str, Any], folder: str | os.PathLike, meshes: MeshStore | None = None):
        self.folder = Path(folder)
        self.meshes: MeshStore = {} if meshes is None else meshes
        self._tables = named({"version": VERSION, **tables})
        self._tables.setdefault("body", [])
        self._undo: list[dict[str, Any]] = []
        self._redo: list[dict[str, Any]] = []
        self._last_edit: tuple[Any, float] | None = None
        self._notes: dict[str, list[str]] = {}
        self._kinds: dict[str, str] = {}
        self._lock = threading.RLock()
        self._clock: Callable[[], float] = time.monotonic

    # ---- making -------------------------------------------------------------------------------------------------

    @staticmethod
    def open(name: str | os.PathLike) -> Document:
        """A scene file, or a shipped scene by its name; its values are checked when a scene is made of it."""
        path = find_scene(name)
        tables = read_tables(path)
        edits.check_tables(tables, path)
        tables.setdefault("name", path.stem)
        return Document(tables, path.resolve().parent)

    @staticmethod
    def empty(folder: str | os.PathLike = ".") -> Document:
        """A floor and no body."""
        return Document({"name": "empty", "plane": [{"name": "floor"}]}, folder)

    @staticmethod
    def from_scene(scene: Scene, folder: str | os.PathLike) -> Document:
        """The tables of a scene made in Python; its meshes are written to the folder."""
        from pliant.studio.scene_tables import scene_tables

        return Document(scene_tables(scene, Path(folder)), folder)

    @staticmethod
    def from_simulation(sim: Simulation, folder: str | os.PathLike) -> Document:
        """The tables of the scene that a simulation was built from."""
        scene = getattr(sim, "scene", None)
        if scene is None:
            raise InputError("the simulation does not know its scene", "show", "Build it with Scene.build")
        return Document.from_scene(scene, folder)

    def variant(
        self,
        method: str | None = None,
        matching: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Document:
        """The same scene simulated in another way; this one stays as it is, and meshes are shared.

        Args:
            method: how all bodies are simulated that it can take; the others, and all if not given, as before.
            matching: keys of `Matching` for all bodies, besides those they have.
            settings: of the method, or of every method in use that knows the key.
        """
        with self._lock:
            other = Document(self._tables, self.folder, self.meshes)
            other._kinds = self._kinds
        bodies = other._tables["body"]
        if method is not None:
            solver_class(method, "variant.method")
            if any(_mesh_text(table) not in self._kinds for table in bodies):
                self.loaded()
        taken = 0
        for table in bodies:
            if method is not None:
                if method not in methods_for(self._kinds.get(_mesh_text(table), "")):
                    continue
                taken += 1
                table["method"] = method
            if matching:
                table["matching"] = edits.check_matching(
                    {**table.get("matching", {}), **plain(matching)}, table["name"]
                )
        if method is not None and bodies and not taken:
            raise InputError(
                f"the method '{method}' can simulate none of the bodies", "variant.method", "Choose another method"
            )
        used = [method] if method is not None else list(dict.fromkeys(lookup.method_of(table) for table in bodies))
        for key, value in (settings or {}).items():
            known = [m for m in used if key in lookup.solver_keys(m)]
            if not known:
                every = sorted({k for m in used for k in lookup.solver_keys(m)})
                raise InputError(f"no setting {key!r}", "variant.settings", f"The settings are: {', '.join(every)}")
            for m in known:
                edits.set_value(other._tables, other.folder, {"solver": m}, key, value)
        return other

    # ---- reading ------------------------------------------------------------------------------------------------

    @property
    def tables(self) -> dict[str, Any]:
        """A deep copy of the tables."""
        with self._lock:
            return copy.deepcopy(self._tables)

    @property
    def name(self) -> str:
        """Of the scene."""
        return str(self._tables.get("name") or "studio")

    def bodies(self) -> list[str]:
        """The names of the [[body]] tables; one with copies stands for several bodies."""
        with self._lock:
            return [table["name"] for table in self._tables["body"]]

    def body(self, name: str) -> dict[str, Any]:
        """A copy of a body's table; the name may be that of one of its copies."""
        with self._lock:
            return copy.deepcopy(lookup.body_table(self._tables, name))

    def collider(self, name: str) -> tuple[str, dict[str, Any]]:
        """A collider's kind, and a copy of its table."""
        with self._lock:
            kind, k = lookup.collider_place(self._tables, name)
            return kind, copy.deepcopy(self._tables[kind][k])

    def loaded(self, progress: ProgressCall | None = None) -> LoadedScene:
        """The scene, and what its tables say of frames, camera and film."""
        made = load_tables(self.tables, self.folder, self.name, progress, self.meshes)
        self._notes = {body.name: list(body.notes) for body in made.scene.bodies}
        found = {body.name: mesh_kind(body.mesh) for body in made.scene.bodies}
        for table in self.tables["body"]:
            self._kinds[_mesh_text(table)] = found.get(body_names(table)[0], "")
        return made

    def scene(self, progress: ProgressCall | None = None) -> Scene:
        """The scene, ready to build if it has a body."""
        return self.loaded(progress).scene

    def toml(self) -> str:
        """The text of a scene file."""
        return scene_text(self._saved_tables())

    def python(self) -> str:
        """A Python program that builds the scene."""
        return python_code(resolved(self._saved_tables(), self.folder))

    def save(self, path: str | os.PathLike) -> Path:
        """Write a scene file; files named in it are named as seen from there."""
        path = Path(path)
        text = scene_text(moved(self._saved_tables(), self.folder, path.resolve().parent))
        with replace_file(path) as file:
            file.write(text.encode())
        return path

    def _saved_tables(self) -> dict[str, Any]:
        """What is worth writing, in the order in which the format has it."""
        tables = self.tables
        order = [*edits.section_order(), *tables]
        return {key: tables[key] for key in dict.fromkeys(order) if tables.get(key, {}) not in ([], {})}

    def describe(self) -> dict[str, Any]:
        """Bodies, colliders, scene settings and solver settings, as panels show them."""
        tables = self.tables
        materials = lookup.materials(tables)
        bodies = []
        for table in tables["body"]:
            method = lookup.method_of(table)
            names = body_names(table)
            bodies.append(
                {
                    "name": table["name"],
                    "names": names,
                    "method": method,
                    "table": table,
                    "material": lookup.material_of(table, materials),
                    "preset": lookup.preset_of(table),
                    "matching": Matching(**table.get("matching", {})) if solver_class(method).shares_rest else None,
                    "notes": self._notes.get(names[0], []),
                    "kind": self._kinds.get(_mesh_text(table), ""),
                    "methods": methods_for(self._kinds.get(_mesh_text(table), "")),
                }
            )
        colliders = [
            {"name": table["name"], "kind": kind, "table": table}
            for kind in collider_classes()
            for table in tables.get(kind, [])
        ]
        plain_scene = Scene()
        known = [*SceneSettings.__dataclass_fields__, *(k for k, v in vars(plain_scene).items() if type(v) is tuple)]
        defaults = {k: plain(getattr(plain_scene, k, getattr(plain_scene.settings, k, None))) for k in known}
        scene = {**defaults, "name": self.name, "description": tables.get("description", "")}
        given = dict(tables.get("scene", {}))
        given |= {"gusts": 0.0, "still_air": False, "contact": tables.get("contact", {}).get("between", "none")}
        given |= {"sleep": tables.get("sleep", {}).get("time")}
        if isinstance(given.get("wind"), dict):  # the air, in parts
            air = given["wind"]
            given["wind"] = air.get("velocity", defaults["wind"])
            given["still_air"] = air.get("still_air", False)
            if "gusts" in air:
                given["gusts"] = air["gusts"].get("strength", Gusts().strength)
        return {
            "bodies": bodies,
            "colliders": colliders,
            "materials": materials,
            "scene": scene | given,
            "solvers": {m: cls.Settings(**tables.get("solver", {}).get(m, {})) for m, cls in solver_classes().items()},
            "methods": general_methods(),
            "can_undo": self.can_undo,
            "can_redo": self.can_redo,
        }

    def material(self, body: str) -> Material:
        """A body's material, with what its base says."""
        with self._lock:
            return lookup.material_of(lookup.body_table(self._tables, body), lookup.materials(self._tables))

    # ---- editing ------------------------------------------------------------------------------------------------

    @contextmanager
    def _edit(self, tag: Any = None) -> Iterator[dict[str, Any]]:
        """Tables to change; they become the document's if nothing is raised, and the old ones can be brought back."""
        with self._lock:
            tables = copy.deepcopy(self._tables)
            yield tables
            if tables == self._tables:
                return
            now = self._clock()
            merge = tag is not None and self._last_edit is not None and self._last_edit[0] == tag
            if not (merge and self._last_edit is not None and now - self._last_edit[1] <= MERGE_SECONDS):
                self._undo = [*self._undo, self._tables][-MOST_UNDO:]
            self._redo = []
            self._tables = tables
            self._last_edit = (tag, now)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Edits that are taken back if something is raised, as if they had not been."""
        with self._lock:
            saved = (self._tables, list(self._undo), list(self._redo), self._last_edit, self.folder)
        try:
            yield
        except BaseException:
            with self._lock:
                self._tables, self._undo, self._redo, self._last_edit, self.folder = saved
            raise

    def set(self, target: Mapping[str, Any], key: str, value: Any) -> None:
        """Set one value, checked before anything changes; None removes it, so that the default holds.

        Args:
            target: ``{"scene": True}``, ``{"body": NAME}``, ``{"material": NAME of body}``,
                ``{"matching": NAME of body}``, ``{"solver": METHOD}``, ``{"contact": True}``, ``{"sleep": True}``,
                ``{"collider": NAME}``, ``{"camera": True}`` or ``{"film": True}``.
            key: as in scene files; of a material also 'preset', which replaces all of it.
            value: as in scene files. Changes of one value within a second of each other are undone together.
        """
        with self._edit((repr(dict(target)), key)) as tables:
            edits.set_value(tables, self.folder, target, key, value)

    def add_body(self, table: Mapping[str, Any]) -> str:
        """Add a body, and return its name: the one asked for, or numbered where that is taken."""
        with self._edit() as tables:
            return edits.add_body(tables, self.folder, plain(table))

    def remove_body(self, name: str) -> None:
        """Remove a body, or all of its copies."""
        with self._edit() as tables:
            table = lookup.body_table(tables, name)
            tables["body"].remove(table)
            edits.remove_attachments(tables, {table["name"], *body_names(table)})

    def copy_body(self, name: str) -> str:
        """Add the same body again beside the old one; returns its name."""
        with self._edit() as tables:
            table = copy.deepcopy(lookup.body_table(tables, name))
            members = set(body_names(table))
            meshes = [b.mesh.vertices for b in self.scene().bodies if b.name in members]
            low, high = np.min([v.min(axis=0) for v in meshes], 0), np.max([v.max(axis=0) for v in meshes], 0)
            offset = np.array([BESIDE * float(high[0] - low[0]), 0.0, 0.0])
            edits.move_body(table, offset)
            return edits.add_body(tables, self.folder, table)

    def rename_body(self, name: str, new: str) -> None:
        """Give a body another name."""
        with self._edit() as tables:
            edits.rename_body(tables, self.folder, name, new)

    def set_method(self, name: str, method: str) -> None:
        """Let a body be simulated by another method."""
        self.set({"body": name}, "method", method)

    def set_pins(self, name: str, vertices: Any) -> None:
        """Hold these vertices of a body, by their numbers in its mesh, instead of those held by numbers before.

        Pins by box and pins that are led along a path stay.
        """
        with self._edit((f"pins {name}", "pins")) as tables:
            edits.set_pins(tables, self.folder, name, plain(vertices))

    def pins(self, name: str) -> list[int]:
        """The vertices of a body that are held by their numbers."""
        return edits.pinned_vertices(self.body(name))

    def add_collider(self, kind: str, table: Mapping[str, Any] | None = None) -> str:
        """Add a collider of a kind, and return its name."""
        with self._edit() as tables:
            return edits.add_collider(tables, self.folder, kind, plain(table or {}))

    def remove_collider(self, name: str) -> None:
        """Remove a collider."""
        with self._edit() as tables:
            kind, k = lookup.collider_place(tables, name)
            del tables[kind][k]
            edits.remove_attachments(tables, {name})

    def replace(self, tables: Mapping[str, Any], folder: str | os.PathLike | None = None) -> None:
        """Take other tables, as when another scene is opened; can be undone while the folder stays."""
        fresh = Document(tables, self.folder if folder is None else folder)
        with self._edit() as current:
            current.clear()
            current.update(fresh._tables)
        if fresh.folder != self.folder:
            with self._lock:
                self.folder, self._undo, self._redo = fresh.folder, [], []

    @property
    def can_undo(self) -> bool:
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        return bool(self._redo)

    def undo(self) -> bool:
        """Bring back what was before the last edit; False if there is nothing to undo."""
        return self._swap("_undo", "_redo")

    def redo(self) -> bool:
        """Do again what was undone last; False if there is nothing."""
        return self._swap("_redo", "_undo")

    def _swap(self, take: str, give: str) -> bool:
        with self._lock:
            found = getattr(self, take)
            if not found:
                return False
            getattr(self, give).append(self._tables)
            self._tables = found.pop()
            self._last_edit = None
            return True


def _mesh_text(table: Mapping[str, Any]) -> str:
    """What the mesh of a body's table is made of; the same text, the same kind of mesh."""
    return repr({key: table[key] for key in MESH_KEYS if key in table})
