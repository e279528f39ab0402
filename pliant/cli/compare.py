"""``pliant compare``: the same scene under several methods."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="simulate a body by several methods and measure each against finite elements with small steps",
        description="The same scene under each method: error over time, time of a frame, stretch, change of volume.",
        epilog="Such as: pliant compare bunny --methods mass_spring,shape_matching/clusters=12/calibrate=off,xpbd",
    )
    parser.add_argument(
        "asset", metavar="ASSET", help="a mesh file, a sample mesh, or a scene: a file (.toml) or a name"
    )
    parser.add_argument(
        "--methods",
        metavar="A,B",
        help="methods, each with settings behind slashes: xpbd/iterations=20 (default: all that take tets)",
    )
    parser.add_argument("--material", default="soft_rubber", metavar="NAME", help="of the body (soft_rubber)")
    parser.add_argument("--scene", choices=("lean", "hang", "drop"), default="lean", help="what is done with it (lean)")
    parser.add_argument("--tets", type=int, default=1500, metavar="N", help="about how many tets it gets (1500)")
    parser.add_argument("--size", type=float, default=0.5, metavar="M", help="its largest extent [m] (0.5)")
    parser.add_argument("--frames", type=int, default=90, metavar="N", help="frames of 1/60 s (90)")
    parser.add_argument("--reference", metavar="METHOD", help="what the others are measured against (fem)")
    parser.add_argument("--reference-substeps", type=int, default=32, metavar="N", help="of the reference (32)")
    parser.add_argument("--budget", default="16.7 ms", metavar="TIME", help="what a frame may take (16.7 ms)")
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="cpu, cuda:0 or auto (the default)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all of it as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw error against cost and over time, as PNG")
    parser.add_argument("--film", type=Path, metavar="FILE", help="side by side: .mp4, .webp, .gif, or .png of the end")
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    from pliant import lab
    from pliant.errors import InputError
    from pliant.files import make_parent, write_json
    from pliant.lab.compare import compare
    from pliant.lab.film import check_film, write_film
    from pliant.lab.plots import check_plot, plot_errors
    from pliant.launch import pick_device
    from pliant.units import read_quantity

    device = pick_device(args.device)
    budget = 1e3 * read_quantity(args.budget, "s", "--budget", plain=True)
    if not budget > 0.0:
        raise InputError(f"{args.budget!r} is no time for a frame", "--budget", "Give one above 0, such as '16.7 ms'")
    for path, check in ((args.json, make_parent), (args.plot, check_plot), (args.film, check_film)):
        if path is not None:
            check(path)
    found = compare(
        _source(args.asset),
        args.methods.split(",") if args.methods is not None else lab.testable_methods(),
        material=args.material,
        scene=args.scene,
        tets=args.tets,
        size=args.size,
        frames=args.frames,
        device=device,
        film=args.film is not None,
        reference=args.reference,
        reference_substeps=args.reference_substeps,
        progress=lambda text: print(f"{text} ...", flush=True),
    )
    print(found.table())
    print(found.best(budget)[1])
    for note in found.notes():
        print(f"note: {note}")
    if args.json is not None:
        write_json(args.json, found.as_dict())
        print(f"written to {args.json}")
    if args.plot is not None:
        plot_errors(found, args.plot, budget)
        print(f"drawn to {args.plot}")
    if args.film is not None:
        write_film(found, args.film, device=device)
        print(f"film in {args.film}")
    return 0


def _source(asset: str) -> Any:
    """What is compared: a scene, of a file or one that ships unless a mesh has its name, or the name of a mesh."""
    from pliant.lab.file_scenes import scene_of_file
    from pliant.mesh.assets import asset_names
    from pliant.scene_file import shipped_scenes

    shipped = asset in shipped_scenes() and asset not in asset_names() and not Path(asset).exists()
    return scene_of_file(asset) if asset.endswith(".toml") or shipped else asset
