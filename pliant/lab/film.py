"""A film of a comparison: the ways side by side, with their names below."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pliant.errors import InputError, MissingExtraError
from pliant.lab.compare import Comparison, Lane
from pliant.render.camera import Camera
from pliant.render.film import Film, save_png
from pliant.render.raycast import Renderer

CAPTION = 22
INK, PAPER = (40, 44, 52), (250, 250, 250)


def write_film(
    comparison: Comparison, path: str | os.PathLike, *, width: int = 320, fps: float = 30.0, device: str = "cpu"
) -> None:
    """Draw every way and the reference side by side; ``.png`` gives the last frame alone."""
    lanes = [lane for lane in [*comparison.lanes, comparison.reference] if lane.seen]
    if not lanes:
        raise InputError("nothing was kept to be seen", "write_film", "Compare with film=True")
    points = np.concatenate([np.concatenate([lane.seen[0], lane.seen[-1]]) for lane in lanes])
    low, high = points.min(axis=0), points.max(axis=0)
    camera = Camera.framing(tuple(low), tuple(high), 0.8, margin=1.15)
    size = (width, round(width / 0.8))
    artists = [_artist(lane, size, device) for lane in lanes]
    captions = [_caption(lane.way.name, width) for lane in lanes]
    ground = float(low[1]) - 0.02 * comparison.size

    def picture(frame: int) -> np.ndarray:
        columns = []
        for lane, artist, caption in zip(lanes, artists, captions, strict=True):
            shot = artist.draw(lane.seen[min(frame, len(lane.seen) - 1)], camera, ground_height=ground)
            columns.append(np.concatenate([shot, caption]))
        return np.concatenate(columns, axis=1)

    count = max(len(lane.seen) for lane in lanes)
    if str(path).lower().endswith(".png"):
        save_png(picture(count - 1), path)
        return
    every = max(1, round(1.0 / (fps * float(lanes[0].times[0]))))
    with Film(path, fps=fps) as film:
        for frame in range(0, count, every):
            film.add(picture(frame))


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
