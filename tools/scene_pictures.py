"""Draws the scenes of cloth, ropes, hair and trees for the documentation: python tools/scene_pictures.py [FOLDER].

Runs each scene up to the moment that is shown, and writes one sheet of all. With FOLDER every scene is run to its end
instead, and a contact sheet and a summary of each are written there, to look at.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path

import numpy as np

from pliant.render.film import contact_sheet
from pliant.run import RunOptions, run_scene
from pliant.run.recording import Stage, film_settings, make_film, open_recording
from pliant.scene_file import Overrides, load_scene

SHEET = Path(__file__).resolve().parent.parent / "docs" / "images" / "ropes_cloth_hair.png"
# Scene and the frame that is shown.
MOMENTS = {
    "curtain": 150,
    "flag": 136,
    "hanging": 240,
    "hanging_limited": 240,
    "bridge": 110,
    "chain": 45,
    "hair": 100,
    "tree": 120,
    "tablecloth": 240,
    "rope": 240,
}
COLUMNS, WIDTH = 5, 320
COLORS = 256
MOST_BYTES = 400_000


def record(name: str, folder: Path, frames: int | None) -> Path:
    """Run a scene; returns its recording."""
    loaded = load_scene(name, Overrides(frames=frames))
    options = RunOptions(out=folder, device="cpu", pictures=False, checkpoint_every=0, json=folder / f"{name}.json")
    result = run_scene(loaded, dataclasses.replace(options, quiet=frames is not None))
    if result.code:
        raise SystemExit(f"{name}: {result.message}")
    return folder / f"{name}.plf"


def picture(recording: Path, frame: int) -> np.ndarray:
    """A frame of a recording, as the film shows it."""
    reader = open_recording(recording)
    stage = Stage(reader, dataclasses.replace(film_settings(reader), samples=3), "cpu")
    return stage.draw(reader[frame][2])


def one_sheet() -> None:
    """Run all scenes to their moments and draw them."""
    with tempfile.TemporaryDirectory() as folder:
        write_sheet([picture(record(name, Path(folder), frame), frame) for name, frame in MOMENTS.items()])


def write_sheet(pictures: list[np.ndarray]) -> None:
    """The pictures of all scenes in one file."""
    from PIL import Image

    contact_sheet(pictures, SHEET, COLUMNS, list(MOMENTS), WIDTH)
    with Image.open(SHEET) as image:
        whole = image.convert("RGB")
        # a palette that covers all colours, so that the large grey areas do not take most of it
        palette = whole.quantize(COLORS, Image.Quantize.MAXCOVERAGE)
        few = whole.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
    few.save(SHEET, optimize=True)
    size = SHEET.stat().st_size
    print(f"{SHEET.name}: {size:,} bytes")
    if size > MOST_BYTES:
        raise SystemExit(f"the picture has more than {MOST_BYTES:,} bytes")


def every_sheet(folder: Path, names: list[str]) -> None:
    """A contact sheet of each scene."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        recording = record(name, folder, None)
        reader = open_recording(recording)
        make_film(reader, None, folder / f"{name}.png", film_settings(reader), "cpu", quiet=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        every_sheet(Path(sys.argv[1]), sys.argv[2:] or list(MOMENTS))
    else:
        one_sheet()
