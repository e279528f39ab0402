"""Grids of heights for heightmaps: read from a picture, an array or a text file, or made by formula."""

from __future__ import annotations

import io
import math
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError, MissingExtraError
from pliant.vectors import as_count, as_positive

MOST_HEIGHTS = 1 << 24
LARGEST_TEXT = 1 << 29
PICTURES = (".png", ".tif", ".tiff", ".bmp", ".pgm")
TEXTS = (".csv", ".txt")
# Largest value of each mode of Pillow that holds one number for a pixel.
FULL_SCALE = {"1": 1.0, "L": 255.0, "I;16": 65535.0, "I;16B": 65535.0, "I": 65535.0, "F": 1.0}
WAVES = 12
CELLS_PER_WAVE = 16
MOST_CELLS = 1024


def read_heights(path: str | os.PathLike) -> np.ndarray:
    """Heights of a file (rows, columns) float64.

    A picture (.png and others, needs the extra 'film') gives 0 where it is black and 1 where it is white, with 8 or 16
    bits; `.npy`, `.csv` and `.txt` give their numbers as they are.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (*PICTURES, ".npy", *TEXTS):
        raise InputError(
            f"{suffix or 'a name without ending'!r} is no format of heights",
            str(path),
            f"Give a file that ends with one of: {', '.join((*PICTURES, '.npy', *TEXTS))}",
        )
    if not _is_file(path):
        raise InputError("there is no such file", str(path), "Check the name; it is seen from the scene file")
    try:
        read = _read_text if suffix in TEXTS else _read_npy if suffix == ".npy" else _read_picture
        return read(path)
    except (OSError, EOFError, SyntaxError, ValueError, TypeError, MemoryError, struct.error, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        said = str(error).strip().split("\n")[0] or type(error).__name__
        raise InputError(
            f"the heights cannot be read ({said[:200]})", str(path), "Write the file again; it may be cut off"
        ) from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _check_count(shape: tuple[int, ...], path: Path) -> None:
    count = math.prod(shape)
    if count > MOST_HEIGHTS:
        raise InputError(f"it has {count:,} heights", str(path), f"Give at most {MOST_HEIGHTS:,}")


def _read_text(path: Path) -> np.ndarray:
    """Rows of numbers, between them blanks, commas or semicolons."""
    if path.stat().st_size > LARGEST_TEXT:
        raise InputError(f"it has {path.stat().st_size:,} bytes", str(path), f"Give at most {LARGEST_TEXT:,}")
    text = path.read_text(encoding="utf-8-sig").replace(",", " ").replace(";", " ")
    rows = [line for line in text.splitlines() if line.split("#")[0].strip()]
    if not rows:
        raise InputError("the file has no numbers", str(path), "Give rows of heights")
    _check_count((len(rows), len(rows[0].split())), path)
    return np.loadtxt(io.StringIO("\n".join(rows)), ndmin=2)


def _read_npy(path: Path) -> np.ndarray:
    # mapped first: a header that claims too much is found before memory is taken for it
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(mapped, np.ndarray) or mapped.dtype.kind not in "iuf":
        raise InputError("the file holds no array of numbers", str(path), "Save heights with numpy.save")
    _check_count(mapped.shape, path)
    return np.array(mapped, np.float64)


def _read_picture(path: Path) -> np.ndarray:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("pillow", "film", f"Reading heights from a picture ({path.name})") from error

    try:
        with Image.open(path) as picture:
            _check_count(picture.size, path)
            grey = picture if picture.mode in FULL_SCALE else picture.convert("L")
            return np.asarray(grey, np.float64) / FULL_SCALE[grey.mode]
    except Image.DecompressionBombError as error:
        raise InputError("the picture is too large", str(path), f"Give at most {MOST_HEIGHTS:,} pixels") from error


def hills(
    size: Any = (10.0, 10.0), amplitude: float = 0.3, wavelength: float = 2.0, seed: int = 0, cells: int | None = None
) -> np.ndarray:
    """Heights of smooth hills [m] (rows, columns): waves of random direction, added up.

    Args:
        size: of the rectangle along x and z [m].
        amplitude: greatest height above or depth below zero [m].
        wavelength: typical distance from hill to hill [m].
        seed: what the waves follow from.
        cells: along the longer side; sixteen to a wave if not given.
    """
    if not hasattr(size, "__len__") or len(size) != 2:
        raise InputError(f"{size!r} is no size of a rectangle", "hills(size)", "Give two lengths, along x and z")
    width, depth = (as_positive(length, "hills(size)", "m") for length in size)
    wavelength = as_positive(wavelength, "hills(wavelength)", "m")
    amplitude = as_positive(amplitude, "hills(amplitude)", "m")
    seed = as_count(seed, "hills(seed)", 0)
    longest = max(width, depth)
    if cells is None:
        cells = int(min(max(math.ceil(CELLS_PER_WAVE * longest / wavelength), CELLS_PER_WAVE), MOST_CELLS))
    cells = as_count(cells, "hills(cells)", 1, 4095)
    columns, rows = (max(1, round(cells * length / longest)) + 1 for length in (width, depth))
    x, z = np.linspace(0.0, width, columns), np.linspace(0.0, depth, rows)[:, None]
    rng = np.random.default_rng(seed)
    angles, phases = rng.uniform(0.0, 2.0 * math.pi, (2, WAVES))
    waves = 2.0 * math.pi / (wavelength * rng.uniform(0.7, 1.4, WAVES))
    heights = np.zeros((rows, columns))
    for angle, phase, wave in zip(angles, phases, waves, strict=True):
        heights += np.cos(wave * (math.cos(angle) * x + math.sin(angle) * z) + phase)
    return heights * (amplitude / np.abs(heights).max())
