"""``pliant prep``: make a body of a mesh, and say what was found and done."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pliant.cli.flags import add_flags, given


def add_parser(commands: Any) -> None:
    from pliant.mesh.layer_settings import LayerSettings
    from pliant.mesh.prepare_settings import PrepareSettings

    parser = commands.add_parser(
        "prep",
        help="make a body of a mesh: diagnose, repair, make solid, embed",
        description="Diagnose a mesh, repair it, make a solid of it with its surface embedded, and write the body.",
        epilog="Exit codes: 0 done, 1 --check found something wrong, 2 the mesh or an option cannot be used.",
    )
    parser.add_argument("mesh", metavar="MESH", nargs="?", help="a mesh file, or the name of a sample mesh")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="the body: .plb with everything in it (default: NAME.plb), or a mesh format for the solid alone",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="also draw a report: .html or .png")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was found and done as JSON")
    add_flags(parser, PrepareSettings)
    parser.add_argument(
        "--layered",
        action="store_true",
        help="make a rigid core under a soft layer, whose nodes are texels of an atlas",
    )
    add_flags(parser, LayerSettings)
    parser.add_argument("--core-file", metavar="FILE", help="of a layered body: a closed surface inside, as its core")
    parser.add_argument("--skin-file", metavar="FILE", help="another surface for the body to carry")
    parser.add_argument(
        "--check", action="store_true", help="only say what is wrong with the mesh; write nothing but --json"
    )
    parser.add_argument("--no-cache", action="store_true", help="make everything anew, and keep nothing")
    parser.add_argument("--clear-cache", action="store_true", help="remove all that was kept from earlier work")
    parser.add_argument("--device", default="cpu", metavar="DEVICE", help="cpu (the default), cuda:0 or auto")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    from pliant.errors import InputError
    from pliant.mesh.layer_settings import LayerSettings
    from pliant.mesh.prepare_settings import PrepareSettings
    from pliant.prep import PrepOptions, clear_cache, diagnose_mesh, prepare_mesh

    settings, layer = given(args, PrepareSettings), given(args, LayerSettings)
    if not args.layered and (layer != LayerSettings() or args.core_file is not None):
        raise InputError("only a layered body has a texture, a layer and a core", "pliant prep", "Add --layered")
    say = (lambda text: None) if args.quiet else print
    if args.clear_cache:
        say(clear_cache())
        if args.mesh is None:
            return 0
    if args.mesh is None:
        print("pliant: error: no mesh is given. Give a file, or the name of a sample mesh.", file=sys.stderr)
        return 2
    if args.check:
        return diagnose_mesh(args.mesh, settings, args.json, say)
    options = PrepOptions(
        args.out,
        args.report,
        args.json,
        args.skin_file,
        not args.no_cache,
        args.device,
        args.quiet,
        layer if args.layered else None,
        args.core_file,
    )
    prepare_mesh(args.mesh, settings, options, say)
    return 0
