"""Edits of scene-file tables: each value is checked by the definition of its key before it is set."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pliant.collide.shapes import collider_classes
from pliant.errors import InputError
from pliant.scene_file.form import Kind, ListOf, Source, Table, suggest
from pliant.scene_file.layout import scene_table
from pliant.scene_file.lines import KeyLines
from pliant.scene_file.tables import TableSource, body_names, plain
from pliant.solvers import solver_class
from pliant.solvers.shape_matching.settings import as_matching
from pliant.studio.lookup import (
    DEFAULT_MATERIAL,
    Tables,
    body_table,
    collider_place,
    material_of,
    materials,
    named_material,
)


@functools.cache
def _form() -> Table:
    return scene_table()


def _entry(kind: str) -> Table:
    """The form of an entry of a list of tables, such as of a [[body]]."""
    form: Any = _form().keys[kind]
    assert isinstance(form, ListOf) and isinstance(form.kind, Table)
    return form.kind


def _section(key: str) -> Table:
    form: Any = _form().keys[key]
    assert isinstance(form, Table)
    return form


def section_order() -> list[str]:
    """The keys of a scene file in their order."""
    return list(_form().keys)


def check_tables(tables: Tables, path: Path) -> None:
    """Refuse values of a file that make no sense; bodies may be missing."""
    given = {key: value for key, value in tables.items() if key != "body" or value}
    text = path.read_text(encoding="utf-8-sig")
    dataclasses.replace(_form(), required=("version",)).check(given, Source(path, KeyLines(text)), ())


# ---- setting --------------------------------------------------------------------------------------------------------


def set_value(tables: Tables, folder: Path, target: Mapping[str, Any], key: str, value: Any) -> None:
    """Set one value of the tables in place; see `Document.set`."""
    if not isinstance(target, Mapping) or len(target) != 1 or not isinstance(key, str):
        raise InputError(f"{target!r} with the key {key!r} is no target", "set", f"Give one of: {', '.join(TARGETS)}")
    what, name = next(iter(target.items()))
    if what not in TARGETS:
        raise InputError(f"no target {what!r}", "set", suggest(str(what), TARGETS, "The targets are"))
    if not isinstance(name, str | int):
        raise InputError(f"{name!r} is no name", f"set.{what}", "Give the name of what is to change")
    TARGETS[what](tables, folder, name, key, plain(value))


def _checked(keys: Mapping[str, Kind], key: str, value: Any, where: str) -> Any:
    """The value as it was given, once its key has accepted it; None where the key is to go."""
    if key not in keys:
        raise InputError(f"no key {key!r} is known", where, suggest(key, keys, "The keys here are"))
    if value is not None:
        try:
            keys[key].check(value, TableSource("studio", {}), (key,))
        except InputError as error:
            raise InputError(error.what, f"{where}.{error.where}", error.remedy) from None
    return value


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _set_scene(tables: Tables, folder: Path, name: Any, key: str, value: Any) -> None:
    if key in ("name", "description"):
        _put(tables, key, _checked(_form().keys, key, value, "scene"))
        return
    if key == "contact":
        _set_section("contact")(tables, folder, name, "between", None if value == "none" else value)
        return
    if key == "sleep":
        _set_section("sleep")(tables, folder, name, "time", value)
        return
    wind = tables.get("scene", {}).get("wind")
    if key == "wind" and isinstance(wind, dict) and isinstance(value, list):
        # a velocity alone leaves gusts and the rest of the air as they are
        wind["velocity"] = _checked(_section("scene").keys, key, value, "scene")
        return
    if key in AIR:
        _set_air(tables.setdefault("scene", {}), key, value)
        return
    _set_section("scene")(tables, folder, name, key, value)


def _set_air(scene: dict[str, Any], key: str, value: Any) -> None:
    """Set the strength of the gusts, or whether there is still air; a wind that is plain again is a velocity."""
    wind = scene.get("wind", [0.0, 0.0, 0.0])
    wind = dict(wind) if isinstance(wind, dict) else {"velocity": wind}
    if key == "gusts":
        _put(wind, key, None if not value else {**wind.get("gusts", {}), "strength": value})
    else:
        _put(wind, key, value or None)
    _checked(_section("scene").keys, "wind", wind, "scene")
    _put(scene, "wind", wind if set(wind) != {"velocity"} else wind["velocity"])


AIR = ("gusts", "still_air")
"""What can be set of the air besides its velocity, as if the scene had such keys."""


def _set_section(section: str) -> Any:
    """What sets a value of a single table of the file."""

    def set_it(tables: Tables, folder: Path, name: Any, key: str, value: Any) -> None:
        del folder, name
        _put(tables.setdefault(section, {}), key, _checked(_section(section).keys, key, value, section))
        if not tables[section]:
            del tables[section]

    return set_it


def _set_body(tables: Tables, folder: Path, name: str, key: str, value: Any) -> None:
    form = _entry("body")
    table = body_table(tables, name)
    where = f"body '{table['name']}'"
    if key == "name":
        rename_body(tables, folder, name, value)
        return
    if key == "preset":
        _set_material(tables, folder, name, key, value)
        return
    value = _checked(form.keys, key, value, where)
    if key == "position":
        old = np.array(table.get("position", (0.0, 0.0, 0.0)), float)
        offset = np.array(value or (0.0, 0.0, 0.0), float) - old
        _move_pins(table, offset)
        own = {table["name"], *body_names(table)}
        for attachment in tables.get("attachment", []):
            if "box" in attachment and attachment["body"] in own:
                attachment["box"] = (np.array(attachment["box"], float) + offset).tolist()
    if key in form.one_of and value is not None:
        for other in (*form.one_of, "file2"):
            table.pop(other, None)
    _put(table, key, value)
    check_body(table, tables)


def _set_material(tables: Tables, folder: Path, name: str, key: str, value: Any) -> None:
    del folder
    table = body_table(tables, name)
    where = f"material of body '{table['name']}'"
    if key in ("preset", "base"):
        known = materials(tables)
        if value is not None:
            named_material(value, known, where)
        _put(table, "material", value)
        return
    given = table.get("material", DEFAULT_MATERIAL)
    values = dict(given) if isinstance(given, Mapping) else {"base": given}
    fields = {k: kind for k, kind in _entry("material").keys.items() if k not in ("name", "base")}
    _put(values, key, _checked(fields, key, value, where))
    table["material"] = values["base"] if set(values) == {"base"} else values
    material_of(table, materials(tables))


def _set_matching(tables: Tables, folder: Path, name: str, key: str, value: Any) -> None:
    del folder
    table = body_table(tables, name)
    form: Any = _entry("body").keys["matching"]
    values = dict(table.get("matching", {}))
    _put(values, key, _checked(form.keys, key, value, f"matching of body '{table['name']}'"))
    check_matching(values, table["name"])
    _put(table, "matching", values or None)


def check_matching(values: dict[str, Any], body: str) -> dict[str, Any]:
    """The keys, once a `Matching` can be made of them."""
    where = f"matching of body '{body}'"
    try:
        as_matching(values, where)
    except InputError as error:
        raise InputError(error.what, where, error.remedy) from None
    return values


def _set_solver(tables: Tables, folder: Path, name: str, key: str, value: Any) -> None:
    del folder
    settings = solver_class(name, "solver").Settings
    form: Any = _section("solver").keys[name]
    every = tables.setdefault("solver", {})
    values = every.setdefault(name, {})
    _put(values, key, _checked(form.keys, key, value, f"solver '{name}'"))
    settings(**values)
    if not values:
        del every[name]
    if not every:
        del tables["solver"]


def _set_collider(tables: Tables, folder: Path, name: str, key: str, value: Any) -> None:
    kind, k = collider_place(tables, name)
    table = tables[kind][k]
    form = _entry(kind)
    if key == "name":
        _refuse_taken(value, [t["name"] for c in collider_classes() for t in tables.get(c, [])], name)
        if value is None:
            return
    value = _checked(form.keys, key, value, f"collider '{name}'")
    if key in form.one_of and value is not None:
        for other in form.one_of:
            table.pop(other, None)
    _put(table, key, value)
    _check_collider(kind, table, folder)
    if key == "name":
        for attachment in tables.get("attachment", []):
            if attachment["to"] == name:
                attachment["to"] = value


TARGETS: dict[str, Any] = {
    "scene": _set_scene,
    "body": _set_body,
    "material": _set_material,
    "matching": _set_matching,
    "solver": _set_solver,
    "contact": _set_section("contact"),
    "sleep": _set_section("sleep"),
    "collider": _set_collider,
    "camera": _set_section("camera"),
    "film": _set_section("film"),
}


# ---- bodies and colliders -------------------------------------------------------------------------------------------


def check_body(table: dict[str, Any], tables: Tables) -> None:
    """Refuse a body's table that makes no sense by itself."""
    _entry("body").check(table, TableSource("studio", {"body": [table]}), ("body", 0))
    material_of(table, materials(tables))
    check_matching(table.get("matching", {}), table["name"])


def _check_collider(kind: str, table: dict[str, Any], folder: Path) -> None:
    checked = _entry(kind).check(table, TableSource("studio", {kind: [table]}), (kind, 0))
    collider_classes()[kind].from_table(checked, table["name"], folder)


def _free_name(wanted: str, taken: set[str]) -> str:
    """The name, or the same with the next free number."""
    if wanted not in taken:
        return wanted
    stem = re.sub(r"_?\d+$", "", wanted) or wanted
    return next(name for name in map(f"{stem}_{{}}".format, itertools.count(2)) if name not in taken)


def _refuse_taken(new: Any, taken: list[str], old: str) -> None:
    if new in taken and new != old:
        raise InputError(f"the name {new!r} is taken", "name", "Give each a name of its own")


def taken_names(tables: Tables) -> set[str]:
    """Names that a new body may not have."""
    names = [name for table in tables["body"] for name in (table["name"], *body_names(table))]
    return set(names)


def add_body(tables: Tables, folder: Path, table: dict[str, Any]) -> str:
    """Add a body's table under a name that is free; returns the name."""
    del folder
    if not isinstance(table, dict):
        raise InputError(f"{table!r} is no table", "add_body", 'Give keys such as {"file": "bunny"}')
    source = table.get("file") or table.get("points") or table.get("rods")
    shape = table.get("shape")
    wanted = table.get("name") or (shape.get("kind") if isinstance(shape, dict) else None)
    if not wanted:
        wanted = Path(source).name.split(".")[0] if isinstance(source, (str, os.PathLike)) else "points"
    table = {"name": str(wanted or "body"), **{key: value for key, value in table.items() if key != "name"}}
    check_body(table, tables)
    taken = taken_names(tables)
    table["name"] = _free_name(table["name"], taken)
    while taken & set(body_names(table)):
        table["name"] = _free_name(table["name"], taken | {table["name"]})
    tables["body"].append(table)
    return str(table["name"])


def rename_body(tables: Tables, folder: Path, name: str, new: Any) -> None:
    """Give a body's table another name."""
    del folder
    table = body_table(tables, name)
    own = {table["name"], *body_names(table)}
    _checked(_entry("body").keys, "name", new, f"body '{name}'")
    if not new:
        raise InputError("the name is empty", f"body '{name}'.name", "Give a name")
    others = taken_names(tables) - own
    if others & {new, *body_names({**table, "name": new})}:
        raise InputError(f"the name {new!r} is taken", f"body '{name}'.name", "Give every body a name of its own")
    for attachment in tables.get("attachment", []):
        for side in ("body", "to"):
            for before, after in zip([table["name"], *body_names(table)],
                                     [new, *body_names({**table, "name": new})], strict=True):  # fmt: skip
                if attachment[side] == before:
                    attachment[side] = after
                    break
    table["name"] = new


def remove_attachments(tables: Tables, names: set[str]) -> None:
    """Remove the attachments of bodies or colliders that are no more."""
    kept = [a for a in tables.get("attachment", []) if not names & {a["body"], a["to"]}]
    if "attachment" in tables:
        tables["attachment"] = kept
    if not kept:
        tables.pop("attachment", None)


def move_body(table: dict[str, Any], offset: np.ndarray) -> None:
    """Move a body's table, and the boxes of its pins, which are places in the world."""
    table["position"] = (np.array(table.get("position", (0.0, 0.0, 0.0)), float) + offset).tolist()
    _move_pins(table, offset)


def _move_pins(table: dict[str, Any], offset: np.ndarray) -> None:
    for pin in table.get("pins", []):
        for key in ("box", "center"):
            if key in pin:
                pin[key] = (np.array(pin[key], float) + offset).tolist()


def pinned_vertices(table: Mapping[str, Any]) -> list[int]:
    """The vertices of a body that are held by their numbers."""
    return [v for pin in table.get("pins", []) if "vertices" in pin and "path" not in pin for v in pin["vertices"]]


def set_pins(tables: Tables, folder: Path, name: str, vertices: Any) -> None:
    """Hold these vertices of a body instead of those held by their numbers before."""
    table = body_table(tables, name)
    if not isinstance(vertices, list):
        raise InputError(f"{vertices!r} is no list of vertices", f"pins of body '{name}'", "Give a list of numbers")
    kept = [pin for pin in table.get("pins", []) if "vertices" not in pin or "path" in pin]
    if vertices:
        kept.append({"vertices": sorted(set(vertices))})
    _set_body(tables, folder, name, "pins", kept or None)


def add_collider(tables: Tables, folder: Path, kind: str, table: dict[str, Any]) -> str:
    """Add a collider's table under a name that is free; returns the name."""
    if kind not in collider_classes():
        raise InputError(
            f"no kind {kind!r} of collider", "add_collider", suggest(str(kind), collider_classes(), "Give")
        )
    taken = {entry["name"] for other in collider_classes() for entry in tables.get(other, [])}
    name = _free_name(str(table.get("name") or kind), taken)
    table = {"name": name, **{key: value for key, value in table.items() if key != "name"}}
    _check_collider(kind, table, folder)
    tables.setdefault(kind, []).append(table)
    return name
