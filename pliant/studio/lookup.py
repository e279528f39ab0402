"""What scene-file tables say: the table of a body or collider, its method, and its material with that of its base."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pliant.collide.shapes import collider_classes
from pliant.errors import InputError
from pliant.materials import PRESETS, Material
from pliant.scene_file.form import suggest
from pliant.scene_file.tables import body_names
from pliant.solvers import solver_class

DEFAULT_MATERIAL = "soft_rubber"
DEFAULT_METHOD = "mass_spring"
Tables = dict[str, Any]


def body_table(tables: Tables, name: str) -> dict[str, Any]:
    """The table of a body, by its name or by that of one of its copies."""
    for table in tables["body"]:
        if table["name"] == name:
            return table
    for table in tables["body"]:
        if "copies" in table and name in body_names(table):
            return table
    known = [table["name"] for table in tables["body"]]
    raise InputError(f"no body {name!r}", "body", suggest(str(name), known, "The bodies are"))


def collider_place(tables: Tables, name: str) -> tuple[str, int]:
    """The kind of a collider, and its place in the list."""
    known: list[str] = []
    for kind in collider_classes():
        for k, table in enumerate(tables.get(kind, [])):
            if table["name"] == name:
                return kind, k
            known.append(table["name"])
    raise InputError(f"no collider {name!r}", "collider", suggest(str(name), known, "The colliders are"))


def method_of(table: Mapping[str, Any]) -> str:
    return str(table.get("method", DEFAULT_METHOD))


def solver_keys(method: str) -> list[str]:
    return [field.name for field in dataclasses.fields(solver_class(method).Settings)]


def materials(tables: Tables) -> dict[str, Material]:
    """Presets and the materials of the scene, by name."""
    found = dict(PRESETS)
    for table in tables.get("material", []):
        values = {key: value for key, value in table.items() if key != "name"}
        found[table["name"]] = named_material(values, found, f"material '{table['name']}'")
    return found


def named_material(value: Any, known: Mapping[str, Material], where: str) -> Material:
    """A material from its name or its table."""
    if isinstance(value, Mapping):
        values = dict(value)
        base = named_material(values.pop("base"), known, f"{where}.base") if "base" in values else Material()
        return dataclasses.replace(base, **values)
    if value not in known:
        raise InputError(f"no material {value!r} is known", where, suggest(str(value), known, "The materials are"))
    return known[value]


def material_of(table: Mapping[str, Any], known: Mapping[str, Material]) -> Material:
    """The material of a body, with what its base says."""
    return named_material(table.get("material", DEFAULT_MATERIAL), known, f"body '{table['name']}'.material")


def preset_of(table: Mapping[str, Any]) -> str | None:
    """The preset or named material that a body's material is, or is based on."""
    value = table.get("material", DEFAULT_MATERIAL)
    return value.get("base") if isinstance(value, Mapping) else value
