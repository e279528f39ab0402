"""The studio's page: the view in the middle, the scene on its left, what is selected on its right."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

from nicegui import context, ui

from pliant.studio.page.about import AboutDialog
from pliant.studio.page.add_body import AddBodyDialog
from pliant.studio.page.compare import ComparePanel
from pliant.studio.page.controls import icon_button, mark
from pliant.studio.page.open_scene import OpenDialog
from pliant.studio.page.properties import PropertiesPanel
from pliant.studio.page.record import RecordPanel
from pliant.studio.page.scene_panel import ScenePanel
from pliant.studio.page.session import Session
from pliant.studio.page.share import SharePanel
from pliant.studio.page.style import CSS

LEFT_WIDTH, RIGHT_WIDTH = 300, 350
PHONE = 800
"""Narrower than this [px] the panels are folded at first, and lie over the view."""
TABS = (("Properties", "tune"), ("Compare", "view_column"), ("Record", "videocam"), ("Share", "ios_share"))


def add_page(engine: Any, options: Any = None, *, path: str = "/", link: str | None = None) -> None:
    """Register the page with NiceGUI's app.

    Args:
        engine: the running world.
        options: a `StudioOptions`, a mapping, or None; the page only passes them on.
        path: of the page.
        link: for another browser; the address that the browser shows if not given.
    """
    given: Mapping[str, Any] = {}
    if dataclasses.is_dataclass(options) and not isinstance(options, type):
        given = dataclasses.asdict(options)
    elif isinstance(options, Mapping):
        given = options

    @ui.page(path, title="Pliant studio", dark=None)
    async def page() -> None:
        described = await asyncio.to_thread(engine.describe)
        session = Session(engine, context.client, given, described)
        build(session, link)
        session.join()
        # what changed while the page was being built
        session.refresh_soon()


class Later:
    """A dialog that is made when it is first opened, so that the page is there sooner."""

    def __init__(self, session: Session, make: Any):
        self._session, self._make = session, make
        self._made: Any = None

    def get(self) -> Any:
        if self._made is None:
            with self._session.client:
                self._made = self._make(self._session)
        return self._made

    def open(self) -> None:
        self.get().open()


def build(session: Session, link: str | None = None) -> None:
    """The whole page, in the present client."""
    ui.add_css(CSS)
    ui.colors(primary="#3d82cc", negative="#b3261e")
    ui.dark_mode(None)
    add_body = Later(session, AddBodyDialog)
    open_scene, about = Later(session, OpenDialog), Later(session, AboutDialog)
    header = ui.header(elevated=False).classes("pl-header")
    asking = list(session.client.connect_handlers)
    with ui.left_drawer(value=None, bordered=True).props(f"width={LEFT_WIDTH} breakpoint={PHONE}") as left:
        left.classes("pl-drawer pl-left")
        ScenePanel(session, add_body.open, open_scene.open)
    mark(left, "scene-panel", "Scene")
    with ui.right_drawer(value=None, bordered=True).props(f"width={RIGHT_WIDTH} breakpoint={PHONE}") as right:
        right.classes("pl-drawer")
        _right_panel(session, link)
    mark(right, "properties-panel", "Properties")
    # The drawers would ask the browser whether they are open, and complain about one that is slow to answer.
    session.client.connect_handlers[:] = asking
    with header:
        _header(session, left, right, add_body, open_scene, about)
    with ui.element("div").classes("pl-view"):
        session.view = _view()
    if hasattr(session.view, "on_uploaded"):
        session.view.on_uploaded(lambda answer: add_body.get().open_upload(answer) if answer.get("file") else None)
        session.view.on_select(lambda hit: session.select("body", hit["body"]) if hit else None)
        session.panels.append(lambda described: _mark_selected(session))


def _mark_selected(session: Session) -> None:
    """Show in the view what is selected here."""
    name = session.selected[1] if session.selected and session.selected[0] == "body" else None
    if session.options.get("_marked", ...) != name:
        session.options["_marked"] = name
        session.view.run_method("mark", name)


def _view() -> Any:
    from pliant.studio.page.view import View

    view = View().classes("w-full h-full")
    view.props["data-testid"] = "view"
    return view


def _right_panel(session: Session, link: str | None) -> None:
    tabs = ui.tabs().props("dense no-caps align=justify narrow-indicator").classes("w-full pl-right-tabs")
    with tabs:
        for name, icon in TABS:
            mark(ui.tab(name, icon=icon), f"tab-{name.lower()}", name)
    with ui.tab_panels(tabs, value=TABS[0][0], animated=False).classes("w-full pl-tabs"):
        with ui.tab_panel("Properties"):
            PropertiesPanel(session)
        with ui.tab_panel("Compare"):
            ComparePanel(session)
        with ui.tab_panel("Record"):
            RecordPanel(session)
        with ui.tab_panel("Share"):
            SharePanel(session, link)


def _header(session: Session, left: Any, right: Any, add_body: Any, open_scene: Any, about: Any) -> None:
    icon_button("menu", "toggle-scene", "Scene panel", left.toggle)
    ui.label("Pliant").classes("pl-brand")
    title = mark(ui.label(session.described["scene"].get("name", "")).classes("pl-scene-title"), "scene-name")
    ui.element("div").classes("pl-space")
    undo = icon_button("undo", "undo", "Undo", session.presser("undo"))
    redo = icon_button("redo", "redo", "Redo", session.presser("redo"))
    icon_button("add_circle_outline", "header-add-body", "Add body", add_body.open)
    icon_button("folder_open", "header-open", "Open a scene", open_scene.open).classes("pl-wide-only")
    icon_button("help_outline", "about", "About and help", about.open)
    icon_button("tune", "toggle-properties", "Properties panel", right.toggle)

    def show(described: dict[str, Any]) -> None:
        title.set_text(described["scene"].get("name", ""))
        undo.set_enabled(bool(described.get("can_undo")))
        redo.set_enabled(bool(described.get("can_redo")))

    show(session.described)
    session.panels.append(show)
