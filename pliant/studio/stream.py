"""The stream: a websocket that carries scenes, frames and notes to clients, and their commands to the engine.

A client gets the newest frame whenever fewer than `MOST_UNACKNOWLEDGED` frames wait for its acknowledgement: a slow one
sees fewer frames and never old ones. Scenes and notes are never dropped. What a client sends can cost it its
connection, and never more than that.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import logging
from collections import deque
from typing import Any, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect

from pliant.errors import InputError, PliantError
from pliant.studio import messages
from pliant.studio.incoming import LARGEST, Budget, command_of, id_of, read_message
from pliant.studio.options import StudioOptions

log = logging.getLogger(__name__)

MOST_UNACKNOWLEDGED = 3
"""Frames on the way to a client."""
MOST_WAITING = 200
"""Scenes and notes that wait for a client before it is disconnected."""
MOST_UNANSWERED = 64
"""Commands of a client that the engine has not answered."""
MOST_ERRORS = 20
"""Errors told to a client in a second."""
MOST_MESSAGES = 2000
"""Messages read from a client in a second; one of more than a KiB counts as several."""
LONGEST_CLOSE = 2.0
"""How long to wait for a client to take its goodbye [s]."""
TRY_LATER, BROKE_RULES = 1013, 1008


class Streamed(Protocol):
    """What the stream needs of an engine."""

    on_frame: list[Any]

    def do(self, name: str, /, client: str | None = None, **arguments: Any) -> concurrent.futures.Future: ...
    def join(self, client: str, notify: Any) -> None: ...
    def leave(self, client: str) -> None: ...
    def newest(self) -> tuple[int, bytes]: ...
    def scene_bytes(self) -> bytes: ...


class Stream:
    """All clients of an engine.

    Attributes:
        clients: those connected now, by name.
    """

    def __init__(self, engine: Streamed, options: StudioOptions):
        self.engine = engine
        self.options = options
        self.clients: dict[str, Client] = {}
        self._numbers = itertools.count(1)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waking = False
        # The newest frame and the scene it belongs to: read from its header once, not once for each client.
        self._seen: tuple[bytes, int] = (b"", -1)
        engine.on_frame.append(self._frame_made)

    def close(self) -> None:
        """Listen to the engine no more."""
        with contextlib.suppress(ValueError):
            self.engine.on_frame.remove(self._frame_made)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one client until it goes."""
        await socket.accept()
        if len(self.clients) >= self.options.clients:
            reason = f"{len(self.clients)} pages watch already: close one, or start the studio with more --clients"
            with contextlib.suppress(RuntimeError, WebSocketDisconnect, OSError):
                await asyncio.wait_for(socket.close(TRY_LATER, reason), LONGEST_CLOSE)
            return
        if self._loop is not asyncio.get_running_loop():
            # A server that is gone may have taken a call to wake along.
            self._loop, self._waking = asyncio.get_running_loop(), False
        client = Client(f"c{next(self._numbers)}", socket, self)
        self.clients[client.name] = client
        try:
            await client.run()
        finally:
            del self.clients[client.name]
            self.engine.leave(client.name)

    def newest(self) -> tuple[int, bytes, int]:
        """Number and bytes of the newest frame, and the number of its scene; empty bytes when there is none."""
        number, data = self.engine.newest()
        if not data:
            return number, b"", -1
        if self._seen[0] is not data:
            self._seen = (data, scene_of(data))
        return number, data, self._seen[1]

    def _frame_made(self, *_: Any) -> None:
        """Called in the engine's thread: wakes the senders, with one call into their loop however many there are."""
        if self._waking or not self.clients or self._loop is None:
            return
        self._waking = True
        try:
            self._loop.call_soon_threadsafe(self._wake_all)
        except RuntimeError:
            # The loop was closed.
            self._waking = False

    def _wake_all(self) -> None:
        self._waking = False
        for client in self.clients.values():
            client.wake.set()


class Client:
    """One connection: a task that sends, a loop that reads; all its methods run in the server's loop."""

    def __init__(self, name: str, socket: WebSocket, stream: Stream):
        self.name = name
        self.wake = asyncio.Event()
        self._socket = socket
        self._stream = stream
        self._engine = stream.engine
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[bytes] = deque()
        self._scene = -1
        self._sent = -1
        self._unacknowledged = 0
        self._unanswered = 0
        self._drag: tuple[Any, dict[str, Any]] | None = None
        self._dragging = 0
        self._errors = Budget(MOST_ERRORS)
        self._untold = 0
        self._reads = Budget(MOST_MESSAGES)
        self._gone: asyncio.Future[tuple[int, str]] = self._loop.create_future()

    async def run(self) -> None:
        """Send and read until the client goes or must go."""
        from pliant import __version__

        self._put(messages.note(event="hello", client=self.name, version=__version__))
        # In this order: a scene made in between is then sent once more, rather than missed.
        self._engine.join(self.name, self._notify)
        self._put(self._engine.scene_bytes())
        tasks = [asyncio.create_task(self._send()), asyncio.create_task(self._read())]
        try:
            ends: list[asyncio.Future[Any]] = [*tasks, self._gone]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                error = task.exception() if task.done() else None
                if error is not None and not isinstance(error, (WebSocketDisconnect, RuntimeError, OSError)):
                    log.error("stream of %s", self.name, exc_info=error)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._gone.done():
            with contextlib.suppress(RuntimeError, WebSocketDisconnect, OSError, TimeoutError):
                await asyncio.wait_for(self._socket.close(*self._gone.result()), LONGEST_CLOSE)
        else:
            self._gone.cancel()

    # Sending

    def _notify(self, data: bytes) -> None:
        """Called in the engine's thread, with scenes and notes."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._put, data)

    def _put(self, data: bytes) -> None:
        """Send a scene or a note in its turn; disconnect a client that lets them pile up."""
        if self._gone.done():
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.clear()
            self._gone.set_result(
                (BROKE_RULES, f"{MOST_WAITING} messages wait: this page does not read them. Reload it")
            )
            return
        self._waiting.append(data)
        self.wake.set()

    async def _send(self) -> None:
        while True:
            await self.wake.wait()
            self.wake.clear()
            while (data := self._next()) is not None:
                await self._socket.send_bytes(data)

    def _next(self) -> bytes | None:
        """What to send now: what waits comes first, then the newest frame, of the scene that the client has."""
        if self._waiting:
            data = self._waiting.popleft()
            if kind_of(data) == messages.SCENE:
                self._scene = scene_of(data)
                self._sent = -1
            return data
        if self._unacknowledged >= MOST_UNACKNOWLEDGED:
            return None
        number, data, scene = self._stream.newest()
        if not data or number == self._sent or scene != self._scene:
            return None
        self._sent = number
        self._unacknowledged += 1
        return data

    # Reading

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            size = len(text) if text is not None else len(message.get("bytes") or b"")
            # While nothing is read, the sender's own buffers fill up: that holds a flood back.
            while (pause := self._reads.take(1 + min(size, LARGEST) // 1024)) > 0.0:
                await asyncio.sleep(pause)
            # What arrived together is there at once: others get their turn in between.
            await asyncio.sleep(0)
            try:
                self._take(text)
            except Exception:
                log.exception("message of %s", self.name)
                self._tell_error(None, InputError("the server failed at this message", "stream", "See its log"))

    def _take(self, text: str | None) -> None:
        """Act on one message."""
        message: dict[str, Any] = {}
        try:
            if text is None:
                raise InputError("a binary message", "stream", "Send commands as JSON, and files to /upload")
            message = read_message(text)
            if set(message) == {"ack"}:
                self._acknowledge(message["ack"])
                return
            name, _, arguments = command_of(message)
        except InputError as error:
            self._tell_error(id_of(message), error)
            return
        number = id_of(message)
        if name != "drag":
            self._flush_drag()
            self._do(name, number, arguments)
        elif self._dragging:
            # The engine is at an earlier one: only the newest place counts.
            if self._drag is not None and self._drag[0] is not None:
                self._put(messages.note(reply=self._drag[0], ok=True, result=None))
            self._drag = (number, arguments)
        else:
            self._do(name, number, arguments)

    def _acknowledge(self, number: Any) -> None:
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise InputError(f"{str(number)[:40]!r} is no frame", "ack", "Give the frame's number")
        self._unacknowledged = max(self._unacknowledged - 1, 0)
        self.wake.set()

    def _flush_drag(self) -> None:
        """Hand over the drag that waits, so that it is not overtaken by a later command."""
        if self._drag is not None:
            number, arguments = self._drag
            self._drag = None
            self._do("drag", number, arguments)

    def _do(self, name: str, number: Any, arguments: dict[str, Any]) -> None:
        if self._unanswered >= MOST_UNANSWERED:
            self._tell_error(
                number,
                InputError(
                    f"{MOST_UNANSWERED} commands wait already", name, "Wait for the replies, then send it again"
                ),
            )
            return
        self._unanswered += 1
        self._dragging += name == "drag"
        try:
            future = self._engine.do(name, client=self.name, **arguments)
        except Exception as error:
            self._answer(name, number, None, error)
            return
        future.add_done_callback(lambda done: self._done(name, number, done))

    def _done(self, name: str, number: Any, future: concurrent.futures.Future) -> None:
        """Called in the engine's thread."""
        error: BaseException | None
        try:
            error = future.exception()
            result = None if error is not None else future.result()
        except concurrent.futures.CancelledError:
            error, result = InputError("was not done", name, "The studio is stopping"), None
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._answer, name, number, result, error)

    def _answer(self, name: str, number: Any, result: Any, error: BaseException | None) -> None:
        self._unanswered -= 1
        self._dragging -= name == "drag"
        if error is not None:
            if not isinstance(error, PliantError):
                log.error("command %s of %s", name, self.name, exc_info=error)
            self._tell_error(number, error, name)
        elif number is not None:
            try:
                self._put(messages.note(reply=number, ok=True, result=result))
            except (TypeError, ValueError):
                self._tell_error(number, InputError("the result cannot be sent", name, "See the server's log"))
                log.exception("result of %s", name)
        if not self._dragging:
            self._flush_drag()

    def _tell_error(self, number: Any, error: BaseException, where: str = "") -> None:
        """Tell of an error, unless too many were told just now; the next one then says how many were left out."""
        if self._errors.take(1) > 0.0:
            self._untold += 1
            return
        more = {"untold": self._untold} if self._untold else {}
        self._untold = 0
        self._put(messages.note(reply=number, error=error_fields(error, where), **more))


def error_fields(error: BaseException, where: str = "") -> dict[str, str]:
    """An error as pages show it; nothing of the server's inside for those that were not foreseen."""
    if isinstance(error, InputError):
        return {"what": error.what, "where": error.where, "remedy": error.remedy}
    if isinstance(error, PliantError):
        return {"what": str(error), "where": where, "remedy": ""}
    return {"what": f"this failed ({type(error).__name__})", "where": where, "remedy": "See the server's log"}


def kind_of(data: bytes) -> int:
    """The kind of a message."""
    return messages.HEAD.unpack_from(data)[1]


def scene_of(data: bytes) -> int:
    """The number of the scene that a SCENE or FRAME message belongs to."""
    return int(messages.decode(data)[1].get("scene", -1))


def add_stream(app: Any, engine: Streamed, options: StudioOptions, path: str = "/stream") -> Stream:
    """Serve an engine's stream on a websocket.

    Args:
        app: a Starlette or FastAPI application.
        engine: it runs already, or will.
        options: the number of clients.
        path: of the websocket.
    """
    stream = Stream(engine, options)
    app.router.add_websocket_route(path, stream.serve)
    return stream
