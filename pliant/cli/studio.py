"""``pliant studio``: see a scene in a browser, drag it, change it, compare methods, record and export."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pliant.cli.flags import add_flags, given


def add_parser(commands: Any) -> None:
    from pliant.studio.options import StudioOptions

    parser = commands.add_parser(
        "studio",
        help="open the studio in a browser",
        description="Serve a page in which a scene is seen, dragged, changed, compared, recorded and exported.",
        epilog="The page of a machine without a screen is opened elsewhere: ssh -L 8080:localhost:8080 MACHINE, "
        "or --host 0.0.0.0 and the printed link.",
    )
    parser.add_argument(
        "scene", nargs="?", metavar="SCENE", help="a scene file or a shipped scene; by default what was open last"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("out/studio"), metavar="DIR", help="the project (default: out/studio)"
    )
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="cpu, cuda:0 or auto (the default)")
    parser.add_argument("--paused", action="store_true", help="do not begin to simulate when the page is opened")
    parser.add_argument("--no-browser", action="store_true", help="print the link and open nothing")
    add_flags(parser, StudioOptions)
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    from pliant.studio.engine import Engine
    from pliant.studio.open import first_document
    from pliant.studio.options import StudioOptions
    from pliant.studio.server import Server, open_browser

    options = given(args, StudioOptions)
    document = first_document(args.scene, args.folder)
    engine = Engine(document, args.folder, args.device, autoplay=not args.paused, rest_alone=True)
    server = Server(engine, options, search=not hasattr(args, "port"))
    server.start()
    print(f"Pliant studio: {server.link}", flush=True)
    print("Press Ctrl-C to end it.", flush=True)
    if not args.no_browser:
        open_browser(server.link)
    try:
        server.wait()
    except KeyboardInterrupt:
        print()
    finally:
        server.stop()
    return 0
