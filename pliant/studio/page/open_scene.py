"""The dialog that opens a scene that ships with Pliant, or an empty one."""

from __future__ import annotations

import functools
import tomllib
from typing import Any

from nicegui import ui

from pliant.studio.page.controls import icon_button, mark
from pliant.studio.page.session import Session

EMPTY = ("empty", "A floor and no body")


@functools.cache
def scene_descriptions() -> tuple[tuple[str, str], ...]:
    """Names and descriptions of the scenes that ship, the empty one first."""
    from pliant.scene_file import shipped_scenes

    shipped = [
        (name, str(tomllib.loads(path.read_text(encoding="utf-8")).get("description", "")))
        for name, path in shipped_scenes().items()
    ]
    return (EMPTY, *shipped)


class OpenDialog:
    """A list of scenes."""

    def __init__(self, session: Session):
        self.session = session
        with ui.dialog() as self.dialog, ui.card().classes("pl-card"):
            with ui.element("div").classes("pl-title"):
                ui.label("Open a scene")
                icon_button("close", "open-scene-close", "Close", self.dialog.close)
            with ui.element("div").classes("pl-scroll"):
                for name, description in scene_descriptions():
                    row = ui.element("div").classes("pl-row pl-tall").props("role=button tabindex=0")
                    row.on("click", self._opener(name), [])
                    row.on("keydown.enter", self._opener(name), [])
                    with mark(row, f"open-{name}", f"Open {name}"):
                        ui.label(name).classes("pl-scene-name")
                        ui.label(description).classes("pl-hint")

    def _opener(self, name: str) -> Any:
        async def open_it() -> None:
            self.dialog.close()
            await self.session.try_do("open", scene=name)

        return open_it

    def open(self) -> None:
        """Show it."""
        self.dialog.open()
