"""``pliant run``: simulate a scene."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

HERE = "<in the output folder>"


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="simulate a scene file, or a scene that ships with Pliant",
        description="Simulate a scene; write a recording, checkpoints, a film and a contact sheet; print a summary.",
        epilog="Exit codes: 0 done, 2 wrong input, 3 the simulation blew up, 130 interrupted.",
    )
    parser.add_argument("scene", metavar="SCENE", help="a scene file (.toml), or a name from 'pliant scenes'")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--frames", type=int, metavar="N", help="number of frames, instead of the scene's")
    length.add_argument("--seconds", type=float, metavar="S", help="simulated time instead of a number of frames [s]")
    step = parser.add_mutually_exclusive_group()
    step.add_argument("--substeps", type=int, metavar="N", help="steps per frame; chosen if neither is given")
    step.add_argument("--dt", type=float, metavar="S", help="time step [s], made shorter to fill a frame evenly")
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="cpu, cuda:0 or auto (the default)")
    parser.add_argument("--solver", metavar="METHOD", help="simulate all bodies with this method")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of solvers, such as integrator=verlet, or of contacts, such as contact.between=all",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for all that is written (default: out/NAME)")
    film = parser.add_mutually_exclusive_group()
    film.add_argument("--film", type=Path, metavar="FILE", help="the film: .mp4, .webp or .gif (default: NAME.mp4)")
    film.add_argument("--no-film", action="store_true", help="draw no film and no contact sheet")
    parser.add_argument("--sequence", metavar="KIND", help="also write every frame as a file: ply, obj, stl or glb")
    parser.add_argument(
        "--fields",
        action="store_true",
        help="also write strain, stress and contacts of every frame, as VTK files (.vtu)",
    )
    parser.add_argument(
        "--checkpoint-every",
        type=int,
        default=60,
        metavar="N",
        help="frames between checkpoints (60); 0 for one at the end only",
    )
    parser.add_argument(
        "--resume", nargs="?", const=HERE, metavar="FILE", help="go on from the last checkpoint, or from this file"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the summary as JSON")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    from pliant.launch import pick_device
    from pliant.run import RunOptions, run_scene
    from pliant.scene_file import Overrides, load_scene
    from pliant.stages import Stages

    overrides = Overrides(args.frames, args.seconds, args.substeps, args.dt, args.solver, args.set)
    options = RunOptions(
        out=args.out,
        device=args.device,
        film=args.film,
        pictures=not args.no_film,
        sequence=args.sequence,
        fields=args.fields,
        checkpoint_every=args.checkpoint_every,
        resume=args.resume is not None,
        checkpoint=Path(args.resume) if args.resume not in (None, HERE) else None,
        json=args.json,
        quiet=args.quiet,
    )
    pick_device(args.device)  # before the work on meshes, which may take a while
    stages = Stages(args.quiet, sys.stdout)
    loaded = load_scene(args.scene, overrides, stages.show)
    stages.clear()
    result = run_scene(loaded, options)
    if result.message:
        print(f"pliant: {result.message}", file=sys.stderr)
    return result.code
