"""A film of a comparison: the ways side by side, with their names below."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError, MissingExtraError
from pliant.files import make_parent
from pliant.lab.compare import Comparison, Lane
from pliant.render.camera import Camera
from pliant.render.film import SUFFIXES, Film, save_png
from pliant.render.raycast import Renderer

CAPTION = 22
COLUMNS = 4
"""Most pictures side by side; more go into further rows."""
INK, PAPER = (40, 44, 52), (250, 250, 250)


def write_film(
    comparison: Comparison, path: str | os.PathLike, *, width: int = 320, fps: float = 30.0, device: str = "cpu"
) -> None:
    """Draw every way and the reference side by side, four to a row; ``.png`` gives the last frame alone."""
    check_film(path)
    lanes = [lane for lane in [*comparison.lanes, comparison.reference] if lane.seen]
    if not lanes:
        raise InputError("nothing was kept to be seen", "write_film", "Compare with film=True")
    # of all frames: what swings far in between stays in the picture
    low = np.min([x.min(axis=0) for lane in lanes for x in lane.seen], axis=0)
    high = np.max([x.max(axis=0) for lane in lanes for x in lane.seen], axis=0)
    camera = Camera.framing(tuple(low), tuple(high), 0.8, margin=1.15)
    size = (width, round(width / 0.8))
    artists = [_artist(lane, size, device) for lane in lanes]
    captions = [_caption(_told(lane, lane is comparison.reference), width) for lane in lanes]
    columns = min(COLUMNS, len(lanes))
    empty = np.full((size[1] + CAPTION, width, 3), PAPER, np.uint8)
    ground = float(low[1]) - 0.02 * comparison.size

    def picture(frame: int) -> np.ndarray:
        panels = []
        for lane, artist, caption in zip(lanes, artists, captions, strict=True):
            shot = artist.draw(lane.seen[min(frame, len(lane.seen) - 1)], camera, ground_height=ground)
            panels.append(np.concatenate([shot, caption]))
        panels += [empty] * (-len(panels) % columns)
        rows = [np.concatenate(panels[k : k + columns], axis=1) for k in range(0, len(panels), columns)]
        return np.concatenate(rows)

    count = max(len(lane.seen) for lane in lanes)
    if str(path).lower().endswith(".png"):
        save_png(picture(count - 1), path)
        return
    every = max(1, round(1.0 / (fps * float(lanes[0].times[0]))))
    with Film(path, fps=fps) as film:
        for frame in range(0, count, every):
            film.add(picture(frame))


def check_film(path: str | os.PathLike) -> None:
    """An error if there will be no film: so that it comes before the work."""
    kinds = (*SUFFIXES, ".png")
    if Path(path).suffix.lower() not in kinds:
        raise InputError(f"no film ends with {Path(path).suffix!r}", str(path), f"Use one of: {', '.join(kinds)}")
    make_parent(path)


def _told(lane: Lane, is_reference: bool) -> str:
    """What stands below a picture."""
    if is_reference:
        return f"reference: {lane.way.method}, {lane.substeps} substeps"
    if lane.stopped:
        return f"{lane.way.name}: stopped"
    return f"{lane.way.name}: {100.0 * lane.error:.2g} %, {lane.cost:.2g} ms"


def _artist(lane: Lane, size: tuple[int, int], device: str) -> Renderer:
    renderer = Renderer(*size, device)
    renderer.set_geometry(lane.triangles, lane.colors, len(lane.seen[0]))
    return renderer


def _caption(text: str, width: int) -> np.ndarray:
    """A line of text as a picture (22, width, 3)."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise MissingExtraError("pillow", "film", "Writing captions") from error
    sheet: Any = Image.new("RGB", (width, CAPTION), PAPER)
    ImageDraw.Draw(sheet).text((4, 3), text, fill=INK, font=ImageFont.load_default(size=13))
    return np.asarray(sheet)
