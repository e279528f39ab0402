"""``pliant scenes``: the scenes that ship, and the format of scene files."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "scenes",
        help="list the scenes that ship with Pliant, print one, or write the schema of scene files",
        description="Without arguments: the names and descriptions of the scenes that 'pliant run NAME' runs.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this scene's file, to start your own from")
    parser.add_argument("--schema", action="store_true", help="write the JSON schema into the package; say where")
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    if args.schema:
        return _write_schema()
    import tomllib

    from pliant.scene_file import find_scene, shipped_scenes

    if args.name is not None:
        print(find_scene(args.name).read_text(encoding="utf-8"), end="")
        return 0
    shipped = shipped_scenes()
    width = max(map(len, shipped))
    for name, path in shipped.items():
        print(f"{name:<{width}}  {tomllib.loads(path.read_text(encoding='utf-8')).get('description', '')}")
    return 0


def _write_schema() -> int:
    import json

    from pliant.files import replace_file
    from pliant.scene_file import scene_schema
    from pliant.scene_file.load import SHIPPED

    path = SHIPPED / "scene.schema.json"
    with replace_file(path) as file:
        file.write((json.dumps(scene_schema(), indent=1) + "\n").encode())
    print(path)
    return 0
