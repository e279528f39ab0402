"""The studio's server: the page, the stream, uploads and downloads behind one guard."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from pathlib import Path
from typing import Any

from pliant.errors import InputError, MissingExtraError
from pliant.studio.access import Access, AccessMiddleware
from pliant.studio.current import Current
from pliant.studio.engine import Engine
from pliant.studio.options import StudioOptions

START_SECONDS = 60.0
# Ports that are tried in turn where none was asked for.
MORE_PORTS = 20


class Server:
    """Serves an engine to browsers. There is one in a process: NiceGUI allows no more.

    Args:
        engine: not started yet.
        options: where to listen, and who may come in.
        search: take the next free port where the one of the options is taken.
    """

    def __init__(self, engine: Engine, options: StudioOptions, *, search: bool = False):
        self.options = options
        self.access = Access(options)
        self.current = Current(engine)
        self._socket = _listen(options.host, options.port, search)
        self.port = int(self._socket.getsockname()[1])
        self._thread: threading.Thread | None = None
        self._problem: BaseException | None = None
        self._uvicorn = self._make(engine.world.folder)

    def _make(self, folder: Path) -> Any:
        try:
            import nicegui  # noqa: F401
            import uvicorn
        except ImportError as error:
            raise MissingExtraError("nicegui", "studio", "The studio") from error
        app, self._stream = _application(self.current, self.options, folder, self.link)
        guarded = AccessMiddleware(app, self.access)
        config = uvicorn.Config(
            guarded,
            log_level="warning",
            lifespan="on",
            # compression halves the frame rate, and a frame is hardly smaller for it
            ws_per_message_deflate=False,
            ws_max_size=1 << 20,
            timeout_graceful_shutdown=2,
        )
        return uvicorn.Server(config)

    @property
    def link(self) -> str:
        """The link to open."""
        host = self.options.host
        return self.access.link("localhost" if self.access.loopback else _own_name(host), self.port)

    def start(self) -> None:
        """Serve in a thread of its own; returns when the page can be opened."""
        self.current.engine.start()
        self._thread = threading.Thread(target=self._serve, name="pliant-studio", daemon=True)
        self._thread.start()
        begin = time.monotonic()
        while not self._uvicorn.started:
            if not self._thread.is_alive() or time.monotonic() - begin > START_SECONDS:
                self.stop()
                raise InputError(
                    f"the server did not start ({self._problem or 'no reason was given'})",
                    f"{self.options.host}:{self.port}",
                    "Try another port or host",
                )
            time.sleep(0.01)

    def _serve(self) -> None:
        try:
            self._uvicorn.run(sockets=[self._socket])
        except BaseException as error:
            self._problem = error
            logging.getLogger("pliant.studio").exception("the server ended")

    def wait(self) -> None:
        """Wait until the server is stopped, from another thread or by Ctrl-C."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(0.5)

    def stop(self) -> None:
        """End the server and the engine."""
        self._stream.close()
        self._uvicorn.should_exit = True
        if self._thread is not None:
            self._thread.join(10.0)
        self.current.engine.stop()
        with contextlib.suppress(OSError):
            self._socket.close()


def _application(current: Current, options: StudioOptions, folder: Path, link: str) -> tuple[Any, Any]:
    from fastapi import FastAPI
    from nicegui import ui

    from pliant.studio.downloads import add_downloads
    from pliant.studio.page import add_page
    from pliant.studio.stream import add_stream
    from pliant.studio.uploads import add_uploads

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    stream = add_stream(app, current, options)
    add_uploads(app, folder / "uploads", options)
    add_downloads(app, folder / "files")
    add_page(current, options, link=None if link.startswith("http://localhost") else link)
    icon = Path(__file__).parent / "view" / "icon.svg"
    ui.run_with(
        app,
        title="Pliant studio",
        favicon=icon if icon.exists() else None,
        dark=None,
        show_welcome_message=False,
        # the view's modules may change while their folder's date does not: browsers ask whether theirs are the newest
        cache_control_directives="no-cache",
        # a page that was asleep for a while finds its place again
        reconnect_timeout=10.0,
    )
    return app, stream


def _listen(host: str, port: int, search: bool) -> socket.socket:
    """A socket that listens on a port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tries = [port] if port == 0 or not search else [*range(port, min(port + MORE_PORTS, 65536)), 0]
    problem: OSError | None = None
    for candidate in tries:
        try:
            return socket.create_server((host, candidate), family=family, backlog=128)
        except OSError as error:
            problem = error
    assert problem is not None
    raise InputError(
        f"cannot listen there ({problem.strerror or problem})",
        f"{host}:{port}",
        "Another program may use the port: give --port 0 for one that is free, or check the address",
    ) from problem


def _own_name(host: str) -> str:
    """The name under which other machines reach an address."""
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return host


def open_browser(link: str) -> bool:
    """Show a link in the user's browser; False where there is none."""
    import webbrowser

    try:
        return webbrowser.open(link)
    except (webbrowser.Error, OSError):
        return False
