"""``pliant export``: the frames of a recording as files that other programs read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "export",
        help="write the frames of a recording as mesh files",
        description="Write the surface of every frame of a recording as a file of its own.",
    )
    parser.add_argument(
        "recording", type=Path, metavar="RECORDING", help="a .plf file, or the .plf.part of a killed run"
    )
    parser.add_argument(
        "--sequence", default="ply", choices=("ply", "obj", "stl", "glb"), help="kind of file (default: ply)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write into")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    from pliant.run import open_recording, write_sequence

    with open_recording(args.recording) as reader:
        count = write_sequence(reader, args.out, args.sequence, args.quiet)
    if not args.quiet:
        print(f"{count} files in {args.out}")
    return 0
