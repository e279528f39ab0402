"""The command ``pliant``: each file here is one command, and imports what it needs only when it runs."""

from __future__ import annotations

import argparse
import sys

from pliant.cli import (
    bench,
    calibrate,
    compare,
    export,
    info,
    materials,
    prep,
    render,
    run,
    scenes,
    studio,
    test_material,
)
from pliant.errors import PliantError

COMMANDS = (run, studio, scenes, prep, render, export, materials, test_material, compare, calibrate, info, bench)
USAGE_ERROR = 2
INTERRUPTED = 130


def main(argv: list[str] | None = None) -> int:
    """Run a command; returns its exit code: 0, 2 for wrong input, 3 after a blow-up, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="pliant",
        description="Real-time deformable bodies: run a scene, look at it, measure it.",
        epilog="Start with: pliant run drop",
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    args = parser.parse_args(argv)
    try:
        return args.action(args)
    except PliantError as error:
        print(f"pliant: error: {' '.join(str(error).split())}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("pliant: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of our output has gone, as in `pliant scenes | head -1`
        sys.stderr.close()
        return 0


def _version() -> str:
    import pliant

    return f"pliant {pliant.__version__}"
