"""The engine that the server shows now. A script may show one simulation after the other in the same page."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from pliant.studio.document import Document
from pliant.studio.engine import Engine, Notify


class Current:
    """Looks like an engine to routes and pages, and hands everything on to the one that is shown."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self.on_frame: list[Callable[[], None]] = engine.on_frame
        self._clients: dict[str, Notify] = {}
        self._lock = threading.Lock()
        self._shown = 0

    def swap(self, engine: Engine) -> Engine:
        """Show another engine, which was not started yet; returns the old one, stopped."""
        old, self._shown = self.engine, self.newest()[0]
        old.on_frame = []
        old.stop()
        engine.on_frame = self.on_frame
        with self._lock:
            self.engine = engine
            for client, notify in self._clients.items():
                engine.join(client, notify)
        engine.start()
        engine.say_scene(anew=True)
        return old

    def do(self, name: str, /, client: str | None = None, **arguments: Any) -> Future:
        return self.engine.do(name, client, **arguments)

    def join(self, client: str, notify: Notify) -> None:
        with self._lock:
            self._clients[client] = notify
            self.engine.join(client, notify)

    def leave(self, client: str) -> None:
        with self._lock:
            self._clients.pop(client, None)
            self.engine.leave(client)

    def newest(self) -> tuple[int, bytes]:
        number, message = self.engine.newest()
        return self._shown + number, message

    def scene_bytes(self) -> bytes:
        return self.engine.scene_bytes()

    def describe(self) -> dict[str, Any]:
        return self.engine.describe()

    @property
    def document(self) -> Document:
        return self.engine.document

    @property
    def playing(self) -> bool:
        return self.engine.playing
