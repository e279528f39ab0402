"""Scene files in TOML: read, checked and described by a JSON schema.

`lines` finds the line of a key, `form` has the kinds of value, `layout` says which keys there are,
`load` makes a `Scene` of them, `write` makes a file of tables, `python_code` a program.
"""

from pliant.scene_file.layout import FilmSettings, scene_schema
from pliant.scene_file.load import (
    LoadedScene,
    Overrides,
    find_scene,
    load_scene,
    load_tables,
    read_tables,
    shipped_scenes,
)
from pliant.scene_file.python_code import python_code
from pliant.scene_file.write import scene_text

__all__ = [
    "FilmSettings",
    "LoadedScene",
    "Overrides",
    "find_scene",
    "load_scene",
    "load_tables",
    "python_code",
    "read_tables",
    "scene_schema",
    "scene_text",
    "shipped_scenes",
]
