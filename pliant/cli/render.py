"""``pliant render``: a film and a contact sheet of a recording."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "render", help="draw a film of a recording", description="Draw a film and a contact sheet of a recording."
    )
    parser.add_argument(
        "recording", type=Path, metavar="RECORDING", help="a .plf file, or the .plf.part of a killed run"
    )
    parser.add_argument("--film", type=Path, metavar="FILE", help=".mp4, .webp or .gif (default: beside the recording)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="also write a contact sheet, .png")
    parser.add_argument("--size", type=int, nargs=2, metavar=("WIDTH", "HEIGHT"), help="of the picture [pixels]")
    parser.add_argument("--fps", type=float, help="pictures per second")
    parser.add_argument("--samples", type=int, help="rays along each side of a pixel that an edge crosses")
    parser.add_argument("--wireframe", action="store_true", help="draw the edges of the triangles")
    parser.add_argument("--device", default="auto", help="cpu, cuda:0 or auto (the default)")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    from pliant.run import film_settings, make_film, open_recording

    with open_recording(args.recording) as reader:
        settings = film_settings(reader)
        changes = {key: getattr(args, key) for key in ("fps", "samples") if getattr(args, key) is not None}
        if args.size is not None:
            changes |= {"width": args.size[0], "height": args.size[1]}
        if args.wireframe:
            changes["wireframe"] = True
        settings = dataclasses.replace(settings, **changes)
        beside = args.recording.with_name(args.recording.name.removesuffix(".part").removesuffix(".plf"))
        film = args.film or beside.with_name(beside.name + ".mp4")
        count = make_film(reader, film, args.picture, settings, args.device, args.quiet)
    if not args.quiet:
        print(f"film: {film} ({count} pictures)")
        if args.picture is not None:
            print(f"picture: {args.picture}")
    return 0
