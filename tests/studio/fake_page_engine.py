"""An engine for tests of the page: a real document, a thread, and no simulation."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pliant.errors import InputError
from pliant.studio import messages
from pliant.studio.document import Document


class FakeEngine:
    """Edits a document in a thread of its own and tells everyone; `done` holds the commands in their order."""

    def __init__(self, document: Document):
        self.document = document
        self.done: list[tuple[str, dict[str, Any]]] = []
        self.clients: dict[str, Any] = {}
        self.lanes: list[dict[str, Any]] = []
        self.recording: str | None = None
        self.recordings: list[dict[str, Any]] = []
        self.on_frame: list[Any] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fake-engine")

    def do(self, name: str, /, client: str | None = None, **arguments: Any) -> Future:
        return self._thread.submit(self._do, name, arguments)

    def _do(self, name: str, arguments: dict[str, Any]) -> Any:
        self.done.append((name, arguments))
        run = getattr(self, f"_{name}", None) or getattr(self.document, name, None)
        if run is None:
            raise InputError(f"no command {name!r}", "do", "")
        answer = run(**arguments)
        self.tell(event="document")
        return answer

    def tell(self, **content: Any) -> None:
        for notify in list(self.clients.values()):
            notify(messages.note(**content))

    def _copy(self, form: str) -> dict[str, str]:
        return {"text": self.document.toml() if form == "toml" else self.document.python()}

    def _copy_body(self, name: str) -> str:
        return self.document.add_body({**self.document.body(name), "name": name})

    def _compare(self, lanes: list[dict[str, Any]], reference: int) -> None:
        for lane in lanes:
            self.document.variant(lane.get("method"), lane.get("matching"), lane.get("settings"))
        self.lanes = lanes

    def _record(self, on: bool, name: str | None = None) -> str | None:
        if not on:
            self.recordings.append({"name": self.recording, "frames": 60, "seconds": 1.0, "bytes": 123456})
        self.recording = (name or "take_1") if on else None
        return self.recording

    def _open(self, scene: str) -> None:
        self.document = Document.empty(Path()) if scene == "empty" else Document.open(scene)

    def _export(self, recording: str, kind: str) -> int:
        return 1

    def describe(self) -> dict[str, Any]:
        return self.document.describe() | {
            "recordings": list(self.recordings),
            "recording": self.recording,
            "files": [],
            "lanes": self.lanes,
            "comparing": bool(self.lanes),
            "playing": False,
            "speed": 1.0,
            "device": "cpu",
        }

    def newest(self) -> tuple[int, bytes]:
        return 0, b""

    def join(self, client: str, notify: Any) -> None:
        self.clients[client] = notify

    def leave(self, client: str) -> None:
        self.clients.pop(client, None)

    def stop(self) -> None:
        self._thread.shutdown()

    def sets(self) -> list[dict[str, Any]]:
        """The arguments of all 'set' commands."""
        return [arguments for name, arguments in self.done if name == "set"]
