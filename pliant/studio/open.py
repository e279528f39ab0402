"""Which scene the studio begins with."""

from __future__ import annotations

from pathlib import Path

from pliant.errors import InputError
from pliant.studio.document import Document
from pliant.studio.engine import AUTOSAVE

WELCOME = "welcome"


def first_document(scene: str | None, folder: Path) -> Document:
    """The scene that was asked for; else what was open last in the project's folder; else a scene to begin with."""
    if scene is not None:
        return Document.empty(folder) if scene == "empty" else Document.open(scene)
    saved = folder / AUTOSAVE
    if not saved.is_file():
        return Document.open(WELCOME)
    try:
        return Document.open(saved)
    except InputError as error:
        raise InputError(
            f"the scene that was open last cannot be read ({error})",
            str(saved),
            f"Correct or remove the file, or name a scene: pliant studio {WELCOME}",
        ) from error
