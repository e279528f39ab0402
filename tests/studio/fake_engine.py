"""An engine without physics for tests of the stream, and a server for it in a thread of its own."""

import contextlib
import queue
import socket
import threading
import time
from concurrent.futures import Future

import numpy as np
import uvicorn

from pliant.errors import InputError
from pliant.studio import messages


class FakeEngine:
    """A thread that makes frames of n vertices and answers a few commands."""

    def __init__(self, vertices: int = 100, interval: float = 0.005):
        self.vertices, self.interval = vertices, interval
        self.on_frame: list = []
        self.done: list[tuple] = []
        self.left: list[str] = []
        self.hold = threading.Event()
        self.hold.set()
        self.failed: list[BaseException] = []
        self._commands: queue.Queue = queue.Queue()
        self._clients: dict = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.number = 0
        self.scene = 1
        self._frame = b""
        self._make_scene()

    def start(self):
        self._thread.start()

    def stop(self):
        self._stop.set()
        self.hold.set()
        self._thread.join(10)

    def do(self, name, /, client=None, **arguments):
        future: Future = Future()
        self._commands.put((future, name, client, arguments))
        return future

    def join(self, client, notify):
        self._clients[client] = notify

    def leave(self, client):
        self.left.append(client)
        self._clients.pop(client, None)

    def newest(self):
        return self._newest

    def scene_bytes(self):
        return self._scene_bytes

    def tell_all(self, data):
        for notify in list(self._clients.values()):
            notify(data)

    def _make_scene(self):
        triangles = np.zeros((4, 3), np.uint32)
        self._scene_bytes = messages.encode(messages.SCENE, {"scene": self.scene}, {"0.0.triangles": triangles})
        self._make_frame()

    def _make_frame(self):
        self.number += 1
        header = {"scene": self.scene, "frame": self.number, "time": time.monotonic()}
        sections = {"x": np.full((self.vertices, 4), self.number % 65536, np.uint16)}
        self._newest = (self.number, messages.encode(messages.FRAME, header, sections))

    def _run(self):
        try:
            while not self._stop.is_set():
                self.hold.wait()
                with contextlib.suppress(queue.Empty):
                    while True:
                        self._act(*self._commands.get_nowait())
                self._make_frame()
                for call in self.on_frame:
                    call()
                time.sleep(self.interval)
        except BaseException as error:
            self.failed.append(error)

    def _act(self, future, name, client, arguments):
        self.done.append((name, client, arguments))
        try:
            if name == "rebuild":
                self.scene += 1
                # the worst order: the frame is published before the scene is told
                self._make_scene()
                for call in self.on_frame:
                    call()
                time.sleep(0.002)
                self.tell_all(self._scene_bytes)
            elif name == "chatter":
                for k in range(arguments["count"]):
                    self.tell_all(messages.note(event="notice", text="x" * arguments["size"], k=k))
            elif name == "crash":
                raise ZeroDivisionError("inside")
            elif name not in ("play", "grab", "drag", "release", "echo"):
                raise InputError(f"{name!r} is not known", "do", "Give a command")
            future.set_result(arguments)
        except Exception as error:
            future.set_exception(error)


@contextlib.contextmanager
def served(app, host="127.0.0.1", **options):
    """A server in a thread on a free port; gives the port."""
    listener = socket.create_server((host, 0))
    config = uvicorn.Config(
        app, log_level="critical", ws_per_message_deflate=False, timeout_graceful_shutdown=5, lifespan="off", **options
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(15)
        assert not thread.is_alive(), "the server does not exit"


def read(data):
    """Kind and header of a message."""
    kind, header, _ = messages.decode(data)
    return kind, header
