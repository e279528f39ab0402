"""Writing a report: the suffix of the file says which kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pliant.errors import InputError, MissingExtraError
from pliant.files import replace_file
from pliant.report.data import ReportInput
from pliant.report.histograms import body_histograms, matplotlib_module

SUFFIXES = (".html", ".png")


def write_report(
    data: ReportInput,
    path: str | os.PathLike,
    device: str = "cpu",
    progress: Callable[[str, float], None] | None = None,
    width: int = 720,
    height: int = 540,
) -> None:
    """Write the report of a body.

    Args:
        data: the body and what is known about it.
        path: file to write; ``.html`` is a page that needs no other file, ``.png`` one picture with the same content.
        device: where the pictures are drawn: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        progress: called before each part of the work with a few words and the share that is done, 0 to 1.
        width: of each picture of the body [pixels].
        height: of each picture of the body [pixels].
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"no report has the suffix {suffix!r}", str(path), f"Use one of: {', '.join(SUFFIXES)}")
    for name, size in (("width", width), ("height", height)):
        if not 64 <= size <= 8192:
            raise InputError(f"{size} pixels", f"write_report({name})", "Give 64 to 8192 pixels")
    data.check()
    data.bad_rows()
    pillow_module()
    matplotlib_module()
    from pliant.report.layered import layered_pictures
    from pliant.report.page import html_page
    from pliant.report.pictures import body_pictures
    from pliant.report.sheet import png_sheet

    say = progress or (lambda what, share: None)
    # Opened before the work, so that a place that cannot be written to is found at once.
    with replace_file(path) as file:
        draw = body_pictures if data.layered is None else layered_pictures
        pictures = draw(data, width, height, device, lambda what, share: say(what, 0.8 * share))
        say("histograms", 0.8)
        shapes = body_histograms(data)
        make = html_page if suffix == ".html" else png_sheet
        file.write(make(data, pictures, shapes))
    say("report written", 1.0)


def pillow_module() -> Any:
    """The library for pictures, or the error that says how to get it."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("pillow", "report", "Writing a report") from error
    return Image
