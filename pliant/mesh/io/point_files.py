"""Points from files: PLY without faces, rows of text, NumPy arrays."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.mesh.io import source
from pliant.mesh.io.ply_tables import binary_tables, read_header, text_tables
from pliant.mesh.io.table import NUMBER

TEXT_SUFFIXES = (".xyz", ".txt", ".csv")
WHAT = "rows of x, y, z"


def read(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """Points (n, 3) float64 as they are in a file, and notes on what was left out."""
    suffix = Path(source.plain_name(path)).suffix.lower()
    if suffix == ".ply":
        return _from_ply(path)
    if suffix == ".npy" and path.suffix.lower() != ".gz":
        return _from_array(path)
    if suffix in TEXT_SUFFIXES:
        return _from_text(path)
    known = ", ".join((".ply", *TEXT_SUFFIXES, ".npy"))
    raise InputError(f"{path.suffix!r} is no suffix of a file of points", str(path), f"Known are {known}")


def _from_ply(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    data = source.load(path, "a PLY header and vertices")
    source.check_content(path, data, "PLY", (".ply",))
    order, elements, _, body = read_header(data, path)
    tables = text_tables(data, body, elements, path) if not order else binary_tables(data, body, order, elements, path)
    vertex = tables.get("vertex", {})
    missing = [axis for axis in "xyz" if axis not in vertex or vertex[axis].counts is not None]
    if missing:
        what = f"'vertex' has no property {missing[0]}" if vertex else "has no element 'vertex'"
        raise InputError(what, str(path), "Give vertices with x, y and z")
    faces = sum(element.count for element in elements if element.name in ("face", "tristrips"))
    notes = (f"the file's {faces} faces were left out: its vertices are taken as loose points",) if faces else ()
    return np.stack([vertex[axis].values.astype(np.float64) for axis in "xyz"], axis=1), notes


def _from_array(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    data = source.load(path, "a NumPy array (n, 3)")
    try:
        points = np.load(io.BytesIO(data), allow_pickle=False)
        if not isinstance(points, np.ndarray):
            raise ValueError("several arrays")
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"cannot be read as a NumPy array ({error})", str(path), "Save it with numpy.save") from None
    if points.ndim != 2 or points.shape[1] < 3 or points.dtype.kind not in "fiu":
        raise InputError(
            f"holds an array of shape {points.shape} and type {points.dtype}", str(path), f"Give {WHAT} as numbers"
        )
    return points[:, :3].astype(np.float64), _left_out(points.shape[1])


def _from_text(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers separated by blanks, commas or semicolons; a first line of words is taken for names of columns."""
    data = source.load(path, WHAT)
    source.check_content(path, data, "text", TEXT_SUFFIXES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not text (byte {error.start})", str(path), f"Give {WHAT}") from None
    lines = [line.split("#", 1)[0] for line in text.translate({ord(","): " ", ord(";"): " "}).splitlines()]
    first = next((k for k, line in enumerate(lines) if line.strip()), len(lines))
    if first < len(lines) and not any(NUMBER.fullmatch(word) for word in lines[first].split()):
        lines[first] = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rows = np.loadtxt(lines, dtype=np.float64, comments=None, ndmin=2)
    except (ValueError, UserWarning):
        rows = np.zeros((0, 0))
    if rows.shape[1] < 3:
        raise _bad_line(lines, path)
    return np.ascontiguousarray(rows[:, :3]), _left_out(rows.shape[1])


def _bad_line(lines: list[str], path: Path) -> InputError:
    """What is wrong with the first line that does not hold a point."""
    width = 0
    for number, line in enumerate(lines, 1):
        words = line.split()
        bad = next((word for word in words if not NUMBER.fullmatch(word)), None)
        if bad is not None:
            return InputError(f"{bad[:40]!r} is not a number", f"{path}, line {number}", f"Give {WHAT}")
        width = width or len(words)
        if words and (len(words) < 3 or len(words) != width):
            found = f"{' '.join(words)[:60]!r} has {len(words)} numbers"
            wanted = f"Give {WHAT}" if width <= 3 else f"Give {WHAT}, or {width} numbers in every row"
            return InputError(found, f"{path}, line {number}", wanted)
    return InputError("holds no points", str(path), f"Give {WHAT}")


def _left_out(columns: int) -> tuple[str, ...]:
    return (f"of {columns} columns the first three were taken as x, y, z",) if columns > 3 else ()
