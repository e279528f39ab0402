"""HAIR, the binary format of Cem Yuksel's hair models: strands of points (HAIR File Format, cemyuksel.com)."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.mesh.io import source
from pliant.mesh.io.rod_files import FoundRods

WHAT = "a HAIR file: a header of 128 bytes, then its arrays"
HEADER = 128
HAS_SEGMENTS, HAS_POINTS, HAS_THICKNESS = 1, 2, 4


def read_rods(path: Path) -> FoundRods:
    """Read the strands; half the thickness is the radius. Colours and transparency are left out."""
    data = source.load(path, WHAT)
    if not data.startswith(b"HAIR"):
        raise InputError(f"starts with {data[:4]!r}, not with 'HAIR'", f"{path}, byte 0", f"Give {WHAT}")
    if len(data) < HEADER:
        raise _short(path, len(data), HEADER)
    strands, points, flags, segments = struct.unpack_from("<4I", data, 4)
    (thickness,) = struct.unpack_from("<f", data, 20)
    if not flags & HAS_POINTS:
        raise InputError("holds no points", f"{path}, byte 12", f"Give {WHAT} with points")
    at = HEADER
    lengths = np.full(min(strands, points), segments, np.int64)
    need = (2 * strands if flags & HAS_SEGMENTS else 0) + 12 * points + (4 * points if flags & HAS_THICKNESS else 0)
    if at + need > len(data):
        raise _short(path, len(data), at + need)
    if flags & HAS_SEGMENTS:
        lengths = np.frombuffer(data, "<u2", strands, at).astype(np.int64)
        at += 2 * strands
    if len(lengths) != strands or int((lengths + 1).sum()) != points:
        raise InputError(
            f"its {strands:,} strands have {int((lengths + 1).sum()):,} points, and the header says {points:,}",
            f"{path}, byte 4",
            "The file is damaged: fetch it again",
        )
    vertices = np.frombuffer(data, "<f4", 3 * points, at).reshape(-1, 3).astype(np.float64)
    at += 12 * points
    last = np.cumsum(lengths + 1) - 1
    inner = np.ones(points, bool)
    inner[last] = False
    first = np.flatnonzero(inner)
    radius = np.full(len(first), 0.5 * float(thickness))
    if flags & HAS_THICKNESS:
        thick = np.frombuffer(data, "<f4", points, at).astype(np.float64)
        radius = 0.25 * (thick[first] + thick[first + 1])
    known = radius if np.isfinite(radius).all() and (radius > 0.0).all() else None
    return FoundRods(vertices, np.stack([first, first + 1], axis=1), known)


def _short(path: Path, found: int, need: int) -> InputError:
    return InputError(
        f"has {found:,} bytes and needs {need:,}: it was cut short", f"{path}, byte {found}", "Fetch the file again"
    )
