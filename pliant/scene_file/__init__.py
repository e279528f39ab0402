"""Scene files in TOML: read, checked and described by a JSON schema.

`lines` finds the line of a key, `form` has the kinds of value, `layout` says which keys there are,
`load` makes a `Scene` of them.
"""

from pliant.scene_file.layout import FilmSettings, scene_schema
from pliant.scene_file.load import LoadedScene, Overrides, find_scene, load_scene, shipped_scenes

__all__ = ["FilmSettings", "LoadedScene", "Overrides", "find_scene", "load_scene", "scene_schema", "shipped_scenes"]
