"""``pliant bench``: measure Pliant on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "bench", help="run a benchmark", description="Run a benchmark; print a table and, if asked, the same as JSON."
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; without it, all are listed")
    parser.add_argument("sources", nargs="*", metavar="MESH", help="for 'meshes': files or folders of meshes")
    parser.add_argument("--device", default="auto", help="cpu, cuda:0 or auto (the default)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="for 'meshes' and 'materials': also write a table for docs"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw the rows as a PNG, where a bench can")
    parser.add_argument("--most", type=_count, metavar="N", help="for 'detection': the most particles")
    parser.add_argument("--self", action="store_true", help="for 'cloth': cloth that meets itself, and nothing else")
    parser.add_argument("--quick", action="store_true", help="smaller cases, to see that it works")
    parser.set_defaults(action=action)


def _count(text: str) -> int:
    """A number of particles from the command line."""
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def action(args: argparse.Namespace) -> int:
    import pliant.bench

    if args.name is None:
        width = max(map(len, pliant.bench.BENCHES))
        for name, meaning in pliant.bench.BENCHES.items():
            print(f"{name:<{width}}  {meaning}")
        return 0
    return int(pliant.bench.main(args) or 0)
