"""``pliant materials``: the materials that have names, and where their figures come from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

SHOWN = ("density", "young", "poisson", "damping", "friction")


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "materials",
        help="list the materials, or show one with the source of each figure",
        description="List the materials that have names; with a name, every figure of it and where it comes from.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="a material, such as rubber")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of them, with sources, as JSON")
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    from pliant.files import write_json
    from pliant.material_presets import SOURCES
    from pliant.materials import PRESETS, as_material

    if args.name is not None:
        as_material(args.name, "materials")
        _print_one(args.name)
    else:
        units = _units()
        heads = [f"{key} [{units[key]}]" if units[key] else key for key in SHOWN]
        print(f"{'material':<12}" + "".join(f"{head:>19}" for head in heads) + "  what it is")
        for name, material in PRESETS.items():
            numbers = "".join(f"{getattr(material, key):>19.6g}" for key in SHOWN)
            print(f"{name:<12}{numbers}  {SOURCES[name]['stuff']}")
    if args.json is not None:
        names = [args.name] if args.name else list(PRESETS)
        write_json(args.json, {name: as_table(name) for name in names})
        print(f"written to {args.json}")
    return 0


def as_table(name: str) -> dict[str, Any]:
    """A preset as plain data: each figure with its unit and source, and what it is of."""
    from pliant.material_presets import PRESET_FIGURES, SOURCES, source

    units = _units()
    figures = {
        key: {"value": value, "unit": units[key], "source": source(name, key)}
        for key, value in PRESET_FIGURES[name].items()
    }
    return {"stuff": SOURCES[name]["stuff"], "figures": figures}


def _units() -> dict[str, str]:
    import dataclasses

    from pliant.materials import Material

    return {field.name: field.metadata["unit"] for field in dataclasses.fields(Material)}


def _print_one(name: str) -> None:
    table = as_table(name)
    print(f"{name}: {table['stuff']}")
    for key, figure in table["figures"].items():
        print(f"  {key:<12}{figure['value']:>12.6g} {figure['unit']:<8} {figure['source']}")
