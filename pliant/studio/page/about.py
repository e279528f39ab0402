"""The dialog that says what this is and where help is."""

from __future__ import annotations

from nicegui import ui

import pliant
from pliant.studio.page.controls import hint, icon_button, mark, text_button
from pliant.studio.page.session import Session

LINES = (
    "Drag a body with the mouse or a finger; drag the empty space to look around.",
    "Drop a mesh file onto the view to add it as a soft body.",
    "Everything in the panels acts at once. What is changed is marked, and can be reset or undone.",
)


class AboutDialog:
    """Version, first steps, and the way to the keyboard's help."""

    def __init__(self, session: Session):
        self.session = session
        with ui.dialog() as self.dialog, ui.card().classes("pl-card"):
            with ui.element("div").classes("pl-title"):
                ui.label("Pliant studio")
                icon_button("close", "about-close", "Close", self.dialog.close)
            device = session.described.get("device")
            version = f"Version {pliant.__version__}" + (f", simulated on {device}" if device else "")
            mark(hint(version), "version")
            for line in LINES:
                ui.label(line)
            with ui.element("div").classes("pl-bar pl-end"):
                keys = text_button("Keyboard", "keyboard-help", self.dialog.close, "keyboard")
                if session.view is not None:
                    shown = f"getHtmlElement({session.view.id})?.pliantView?.help.toggle(true)"
                    keys.on("click", js_handler=f"() => {shown}")

    def open(self) -> None:
        """Show it."""
        self.dialog.open()
