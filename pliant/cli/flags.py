"""Settings as flags of a command: one flag for each field, with its range and meaning."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from typing import Any

from pliant.errors import InputError
from pliant.settings import describe_range, field_kind, takes_text
from pliant.units import read_quantity


def add_flags(parser: argparse.ArgumentParser, settings: type, skip: tuple[str, ...] = ()) -> None:
    """Add a flag for each setting; one that is true by default gets a flag that switches it off."""
    for field in dataclasses.fields(settings):
        if field.name in skip:
            continue
        kind, _ = field_kind(field)
        meaning = field.metadata["meaning"]
        name = field.name.replace("_", "-")
        if kind is bool:
            parser.add_argument(
                f"--no-{name}" if field.default else f"--{name}",
                dest=field.name,
                action="store_false" if field.default else "store_true",
                default=argparse.SUPPRESS,
                help=f"switch off: {meaning}" if field.default else meaning,
            )
            continue
        words = takes_text(field)
        default = "" if field.default is None else f" (default: {field.default:g})" if kind is not str else ""
        parser.add_argument(
            f"--{name}",
            dest=field.name,
            type=_quantity(field.metadata["unit"]) if words else kind,
            choices=field.metadata["choices"] or None,
            default=argparse.SUPPRESS,
            metavar={int: "N", float: field.metadata["unit"].upper() or "X", str: None}[kind],
            help=f"{meaning}; {describe_range(field)}{default}" if kind is not str else meaning,
        )


def _quantity(unit: str) -> Callable[[str], float]:
    """Reads a number, with or without a unit."""

    def read(text: str) -> float:
        try:
            return read_quantity(text, unit, "", plain=True)
        except InputError as error:
            raise argparse.ArgumentTypeError(f"{error.what}. {error.remedy}") from None

    return read


def given(args: argparse.Namespace, settings: type) -> Any:
    """The settings with the values that were given."""
    values = {f.name: getattr(args, f.name) for f in dataclasses.fields(settings) if hasattr(args, f.name)}
    return settings(**values)
