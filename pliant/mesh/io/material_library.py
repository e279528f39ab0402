"""The ``.mtl`` file beside an OBJ file: colour, opacity and picture of each material."""

from __future__ import annotations

import re
from pathlib import Path

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh.io import source
from pliant.mesh.look import GREY, Paint

OPTION_WORDS = {"-blendu": 1, "-blendv": 1, "-cc": 1, "-clamp": 1, "-bm": 1, "-boost": 1, "-imfchan": 1, "-texres": 1}
OPTION_NUMBERS = {"-mm": 2, "-o": 3, "-s": 3, "-t": 3}


def read(path: Path, names: str, notes: list[str]) -> dict[str, Paint]:
    """Paints by name from the libraries that an OBJ file names; adds a note for one that cannot be read.

    Args:
        path: the OBJ file.
        names: what stands after ``mtllib``: one file name, perhaps with blanks, or several.
        notes: to add to.
    """
    found: dict[str, Paint] = {}
    whole = source.beside(path, names) if names else None
    for name in [names] if whole else names.split():
        library = whole or source.beside(path, name)
        if library is None:
            notes.append(f"the material library {name!r} is not beside the file: materials are shown grey")
            continue
        try:
            text = library.read_bytes().decode("utf-8-sig", errors="replace")
        except OSError as error:
            notes.append(f"the material library {name!r} cannot be read ({error.strerror}): materials are shown grey")
            continue
        found |= _parse(text, library, notes)
    return found


def _parse(text: str, library: Path, notes: list[str]) -> dict[str, Paint]:
    """Paints of one library; a statement that cannot be understood is left out with a note."""
    paints: dict[str, Paint] = {}
    name, color, texture = "", list(GREY), ""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(None, 1)
        if not words or words[0].startswith("#"):
            continue
        key, rest = words[0].lower(), words[1].strip() if len(words) > 1 else ""
        if key == "newmtl":
            name, color, texture = rest, list(GREY), ""
        elif key == "map_kd":
            texture = _file_name(rest)
        elif key in ("kd", "d", "tr"):
            try:
                values = [float(word) for word in rest.replace("-halo", "").split()]
                if key == "kd":
                    color[:3] = [
                        min(max(value, 0.0), 1.0) for value in (values * 3 if len(values) == 1 else values)[:3]
                    ]
                else:
                    color[3] = min(max(values[0] if key == "d" else 1.0 - values[0], 0.0), 1.0)
            except (ValueError, IndexError):
                notes.append(f"{library.name}, line {number}: {line.strip()[:60]!r} was left out, it is no colour")
        if name:
            paints[name] = Paint(name, (color[0], color[1], color[2], color[3]), texture)
    return paints


def _file_name(rest: str) -> str:
    """The picture's name after its options."""
    words = rest.split()
    at = 0
    while at < len(words) - 1 and words[at] in OPTION_WORDS | OPTION_NUMBERS:
        key = words[at]
        at += 1
        left = OPTION_WORDS.get(key) or OPTION_NUMBERS[key]
        while left and at < len(words) - 1 and (key in OPTION_WORDS or re.fullmatch(r"[+-]?[\d.]+", words[at])):
            at, left = at + 1, left - 1
    return rest if at == 0 else " ".join(words[at:])


def write(paints: tuple[Paint, ...], path: Path) -> None:
    """Write a library, whole or not at all."""
    if len({paint.name for paint in paints}) < len(paints):
        raise InputError("two paints have the same name", str(path), "Give each paint a name of its own")
    lines = []
    for paint in paints:
        red, green, blue, opacity = (float(value) for value in paint.color)
        lines += [f"newmtl {' '.join(paint.name.split())}", f"Kd {red!r} {green!r} {blue!r}", f"d {opacity!r}"]
        lines += [f"map_Kd {paint.texture}"] if paint.texture else []
    with replace_file(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
