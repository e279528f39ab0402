"""The view of the studio as an element of NiceGUI: what is drawn and dragged in the browser."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui.element import Element

FOLDER = Path(__file__).resolve().parent.parent / "view"

# Registers the module "nicegui-scene" (three.js) in the page's import map.
importlib.import_module("nicegui.elements.scene")


class View(Element, component=FOLDER / "component.js", esm={"pliant-view": str(FOLDER)}):
    """The scene, its tools and its transport, fed by the stream.

    Args:
        url: where the stream is, relative to the page.
        upload_url: where dropped files are sent; "" only tells of them.
        theme: "auto", "light" or "dark".
        draw: whether anything is drawn; without it the stream is taken as fast as it comes, to measure.
        bars: whether the tool bar, the transport bar and the read-outs are shown.
    """

    def __init__(
        self,
        url: str = "/stream",
        *,
        upload_url: str = "/upload",
        theme: str = "auto",
        draw: bool = True,
        bars: bool = True,
    ) -> None:
        super().__init__()
        self._props.update({"url": url, "upload-url": upload_url, "theme": theme, "draw": draw, "bars": bars})

    def on_select(self, handler: Callable[[dict[str, Any] | None], Any]) -> View:
        """Calls with {"body", "number", "lane", "vertex", "point"} when a body is clicked, None when nothing is."""
        self.on("select", lambda event: handler(event.args))
        return self

    def on_uploaded(self, handler: Callable[[dict[str, Any]], Any]) -> View:
        """Calls with {"name"} and the server's answer when a dropped file was taken."""
        self.on("uploaded", lambda event: handler(event.args))
        return self

    def set_theme(self, theme: str) -> None:
        """Shows the "light" or the "dark" theme, or follows the browser with "auto"."""
        self._props["theme"] = theme

    def mark_body(self, name: str | None) -> None:
        """Marks a body by its name; None marks none."""
        self.run_method("mark", name)

    def frame_scene(self) -> None:
        """Puts the camera so that the scene fills the view."""
        self.run_method("frame")

    def say(self, text: str, level: str = "info") -> None:
        """Shows a notice in the view; level is "info", "warning" or "error"."""
        self.run_method("say", text, level)
