"""``pliant export``: a recording as files that other programs read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "export",
        help="write a recording as an animation or as mesh files",
        description="Write a recording as one animated file (OUT ends with .glb, .pc2, .usd, .usda or .usdc), or the "
        "surface of every frame as a file of its own (OUT is a folder).",
    )
    parser.add_argument(
        "recording", type=Path, metavar="RECORDING", help="a .plf file, or the .plf.part of a killed run"
    )
    parser.add_argument(
        "--sequence",
        choices=("ply", "obj", "stl", "glb"),
        help="write a file for every frame, of this kind, into the folder OUT (default for a folder: ply)",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="OUT", help="file or folder to write")
    parser.add_argument(
        "--every",
        type=int,
        metavar="N",
        help="every N-th frame only (default: all; of an animated .glb so many that there are at most 121)",
    )
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    from pliant.run import open_recording
    from pliant.run.export import ANIMATIONS, export_every, export_kind, export_recording
    from pliant.run.progress import Progress

    kind = export_kind(args.out, "glb-sequence" if args.sequence == "glb" else args.sequence)
    with open_recording(args.recording) as reader:
        every = export_every(reader, kind, args.every)
        total = len(range(0, len(reader), every))
        line = Progress(f"{kind} frame", total, quiet=args.quiet)
        files = export_recording(
            reader, args.out, kind, every=every, progress=lambda share: line.update(round(share * total))
        )
        line.finish(total)
        if not args.quiet:
            if every > 1 and args.every is None:
                print(f"{total} of {len(reader)} frames, for viewers keep all in memory; --every 1 takes all")
            folder = kind not in ANIMATIONS
            print(f"{total} files in {args.out}" if folder else f"{total} frames in {_names(files)}")
    return 0


def _names(files: list[Path]) -> str:
    return ", ".join(map(str, files)) if len(files) <= 4 else f"{len(files)} files, {files[0]} the first"
