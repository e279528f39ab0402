"""One browser's page: what it has selected, its way to the engine, and its panels, kept up to date."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Mapping
from typing import Any

from nicegui import Client, background_tasks, ui

from pliant.errors import InputError
from pliant.scene import COLORS
from pliant.studio.fields import plain_error
from pliant.studio.messages import NOTE, decode

Selection = tuple[str, str] | None
"""What is selected: ('body' or 'collider', its name)."""


def body_color(body: Mapping[str, Any], described: Mapping[str, Any]) -> tuple[float, ...]:
    """The colour of a body: its own, or its mesh's paint, or the next of ours, of which each copy takes one."""
    first = (body.get("names") or [body["name"]])[0]
    given = body["table"].get("color") or described.get("painted", {}).get(first)
    if given:
        return tuple(given)
    before = 0
    for other in described["bodies"]:
        if other["name"] == body["name"]:
            break
        before += len(other.get("names") or "1")
    return COLORS[before % len(COLORS)]


class Session:
    """A page of one browser.

    Args:
        engine: the running world, shared by all pages.
        client: NiceGUI's browser tab.
        options: what the page was started with.
        described: what the engine says of itself now.

    Attributes:
        panels: called with the newest description when the document has changed or something else is selected.
        on_job: called with the notes that tell how far a film or a file is.
        view: the 3D view, or None.
    """

    def __init__(self, engine: Any, client: Client, options: Mapping[str, Any], described: dict[str, Any]):
        self.engine = engine
        self.client = client
        self.options = dict(options)
        self.described = described
        self.id = f"page-{client.id}"
        self.selected: Selection = None
        self.panels: list[Callable[[dict[str, Any]], None]] = []
        self.on_job: list[Callable[[dict[str, Any]], None]] = []
        self.view: Any = None
        self._loop = asyncio.get_running_loop()
        self._stale = asyncio.Event()
        self._refreshing = False
        self._gone = False
        self._coming: Selection = None
        bodies = described.get("bodies", [])
        if bodies:
            self.selected = ("body", bodies[0]["name"])

    # ---- the engine ---------------------------------------------------------------------------------------------

    def join(self) -> None:
        """Be told what happens, until the tab is closed."""
        self.engine.join(self.id, self._heard)
        self.client.on_delete(self.leave)

    def leave(self) -> None:
        """Be told no more."""
        if not self._gone:
            self._gone = True
            self.engine.leave(self.id)

    async def do(self, name: str, /, **arguments: Any) -> Any:
        """Let the engine do something, and return its answer; raises what went wrong."""
        answer = await asyncio.wrap_future(self.engine.do(name, client=self.id, **arguments))
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            wrong = answer["error"]
            raise InputError(wrong.get("what", ""), wrong.get("where", ""), wrong.get("remedy", ""))
        return answer

    async def try_do(self, name: str, /, **arguments: Any) -> tuple[bool, Any]:
        """The same; what went wrong is shown. Returns whether it went well, and the answer."""
        try:
            return True, await self.do(name, **arguments)
        except Exception as error:
            self.complain(plain_error(error))
            return False, None

    def presser(self, name: str, /, **arguments: Any) -> Callable[[], Any]:
        """A handler of a button that lets the engine do something."""

        async def press() -> None:
            await self.try_do(name, **arguments)

        return press

    def complain(self, text: str) -> None:
        """Show what went wrong."""
        if not self._gone:
            with self.client:
                ui.notify(text, type="negative", position="top", multi_line=True, close_button="Close", timeout=8000)

    def tell(self, text: str) -> None:
        """Show a short message."""
        with self.client:
            ui.notify(text, position="top", timeout=2500)

    # ---- news ---------------------------------------------------------------------------------------------------

    def _heard(self, data: bytes) -> None:
        """Runs in the engine's thread."""
        if struct.unpack_from("<I", data, 4)[0] != NOTE:
            return
        _, header, _ = decode(data)
        if header.get("event") in ("document", "progress", "done", "recording"):
            self._loop.call_soon_threadsafe(self._note, header)

    def _note(self, header: dict[str, Any]) -> None:
        if self._gone:
            return
        if header["event"] in ("progress", "done"):
            for call in self.on_job:
                call(header)
        if header["event"] != "progress":
            self.refresh_soon()

    def refresh_soon(self) -> None:
        """Ask the engine anew and update all panels; many calls at once are one."""
        self._stale.set()
        if not self._refreshing:
            self._refreshing = True
            background_tasks.create(self._refresh(), name="studio panels")

    async def _refresh(self) -> None:
        try:
            while self._stale.is_set() and not self._gone:
                self._stale.clear()
                # it waits for the engine's lock, which must not hold up the other pages
                self.described = await asyncio.to_thread(self.engine.describe)
                self.show()
        finally:
            self._refreshing = False

    def show(self) -> None:
        """Update all panels with what is known."""
        self._mend_selection()
        with self.client:
            for panel in self.panels:
                panel(self.described)

    # ---- what is selected ---------------------------------------------------------------------------------------

    def select(self, kind: str, name: str) -> None:
        """Select a body or a collider; a copy of a body stands for all of them."""
        if kind == "body":
            found = next((b for b in self.described["bodies"] if name in (b["name"], *b.get("names", ()))), None)
            name = found["name"] if found else name
        self.selected = (kind, name)
        self.show()

    def select_new(self, kind: str, name: str) -> None:
        """Select what was just added or renamed, as soon as the engine tells of it."""
        self._coming = (kind, name)
        self.refresh_soon()

    def selection(self) -> dict[str, Any] | None:
        """What the engine says of the selected body or collider."""
        if self.selected is None:
            return None
        kind, name = self.selected
        listed = self.described["bodies" if kind == "body" else "colliders"]
        return next((entry for entry in listed if entry["name"] == name), None)

    def _mend_selection(self) -> None:
        if self._coming is not None:
            before, self.selected = self.selected, self._coming
            if self.selection() is None:
                self.selected = before
            else:
                self._coming = None
        if self.selection() is None:
            bodies = self.described["bodies"]
            self.selected = ("body", bodies[-1]["name"]) if bodies else None
