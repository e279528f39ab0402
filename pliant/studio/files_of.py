"""Files that scene-file tables name: found, and named as seen from another folder."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE_KEYS = ("file", "file2", "skin", "points")


def renamed(tables: dict[str, Any], rename: Callable[[str], str]) -> dict[str, Any]:
    """A copy of the tables in which every file has another name."""
    tables = copy.deepcopy(tables)
    for section in tables.values():
        entries: list[Any] = section if isinstance(section, list) else []
        for table in entries:
            if not isinstance(table, dict):
                continue
            holders: tuple[Any, ...] = (table, table.get("points"))
            for holder in holders:
                for key in FILE_KEYS if isinstance(holder, dict) else ():
                    if isinstance(holder.get(key), str):
                        holder[key] = rename(holder[key])
    return tables


def _is_there(folder: Path, name: str) -> bool:
    try:
        return not os.path.isabs(name) and (folder / name).is_file()
    except (OSError, ValueError):
        return False


def resolved(tables: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The tables with whole paths, for a program that may run anywhere."""
    return renamed(tables, lambda name: str((folder / name).resolve()) if _is_there(folder, name) else name)


def moved(tables: dict[str, Any], folder: Path, to: Path) -> dict[str, Any]:
    """The tables with files as seen from another folder."""

    def rename(name: str) -> str:
        if not _is_there(folder, name) or folder.resolve() == to:
            return name
        try:
            return Path(os.path.relpath((folder / name).resolve(), to)).as_posix()
        except ValueError:  # another drive
            return str((folder / name).resolve())

    return renamed(tables, rename)
