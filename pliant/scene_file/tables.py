"""The tables of a scene file without a file: made plain, named, and as a source of errors that name bodies and keys."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pliant.collide.shapes import collider_classes
from pliant.errors import InputError
from pliant.scene_checks import new_name
from pliant.scene_file.form import Source, spell
from pliant.scene_file.lines import KeyLines, KeyPath


class TableSource(Source):
    """Stands for a file where there is none: places are named as in ``body 'bunny'.material.young``."""

    def __init__(self, path: str | os.PathLike, tables: Mapping[str, Any]):
        super().__init__(path, KeyLines(""))
        self._tables = tables
        self._made: list[InputError] = []

    def error(self, path: KeyPath, what: str, remedy: str) -> InputError:
        """An error that names the body or collider, and the key."""
        error = InputError(what, self._place(path) or "scene", remedy)
        self._made.append(error)
        return error

    def names(self, error: InputError) -> bool:
        return any(error is made for made in self._made)

    def _place(self, path: KeyPath) -> str:
        if len(path) < 2 or not isinstance(path[1], int):
            return spell(path)
        try:
            name = self._tables[str(path[0])][path[1]]["name"]
        except (KeyError, IndexError, TypeError):
            return spell(path)
        rest = spell(path[2:])
        return f"{path[0]} '{name}'" + ("." * bool(rest)) + rest


def plain(value: Any) -> Any:
    """A deep copy of what tables hold, of the types TOML has: tuples and arrays become lists, paths texts."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Path) else value


def named(given_tables: Mapping[str, Any]) -> dict[str, Any]:
    """The tables with a name for every body and collider, which is the one they would get when they are loaded."""
    tables: dict[str, Any] = plain(given_tables)
    given = {table["name"] for table in tables.get("body", []) if table.get("name")}
    made: list[str] = []
    for table in tables.get("body", []):
        if not table.get("name"):
            numbers = itertools.count(len(made))
            name = next(n for n in map("body{}".format, numbers) if n not in given and n not in made)
            _name_first(table, name)
        made += body_names(table)
    colliders: list[str] = []
    for kind in collider_classes():
        for table in tables.get(kind, []):
            if not table.get("name"):
                _name_first(table, new_name(None, kind, colliders))
            colliders.append(table["name"])
    return tables


def body_names(table: Mapping[str, Any]) -> list[str]:
    """The names of the bodies of a [[body]] table: several where it has copies."""
    if "copies" not in table:
        return [table["name"]]
    return [f"{table['name']}_{n}" for n in range(math.prod(table["copies"]["count"]))]


def _name_first(table: dict[str, Any], name: str) -> None:
    rest = {key: value for key, value in table.items() if key != "name"}
    table.clear()
    table.update({"name": name, **rest})
