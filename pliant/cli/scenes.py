"""``pliant scenes``: the scenes that ship, and the format of scene files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "scenes",
        help="list the scenes that ship with Pliant, print one, or the schema of scene files",
        description="Without arguments: the names and descriptions of the scenes that 'pliant run NAME' runs.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this scene's file, to start your own from")
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of scene files")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the schema there instead of printing it")
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    import tomllib

    from pliant.errors import InputError
    from pliant.scene_file import find_scene, shipped_scenes

    if args.schema and args.name is not None:
        raise InputError(f"--schema is given beside {args.name!r}", "scenes", "Give a scene's name or --schema")
    if args.out is not None and not args.schema:
        raise InputError("--out is given without --schema", "scenes", "Add --schema, or leave out --out")
    if args.schema:
        return _give_schema(args.out)
    if args.name is not None:
        print(find_scene(args.name).read_text(encoding="utf-8"), end="")
        return 0
    shipped = shipped_scenes()
    width = max(map(len, shipped))
    for name, path in shipped.items():
        print(f"{name:<{width}}  {tomllib.loads(path.read_text(encoding='utf-8')).get('description', '')}")
    return 0


def _give_schema(path: Path | None) -> int:
    import json

    from pliant.files import replace_file
    from pliant.scene_file import scene_schema

    text = json.dumps(scene_schema(), indent=1) + "\n"
    if path is None:
        print(text, end="")
        return 0
    with replace_file(path) as file:
        file.write(text.encode())
    return 0
