"""A simulation of a script or a notebook, shown in a browser."""

from __future__ import annotations

import atexit
import contextlib
import html
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from pliant.errors import InputError
from pliant.scene import Scene
from pliant.simulation import Simulation
from pliant.studio.document import Document
from pliant.studio.engine import Engine
from pliant.studio.options import StudioOptions

_server: Any = None


class View:
    """A page that shows a simulation; in a notebook it shows itself.

    While the page plays, the studio's thread advances the simulation. A script that advances it itself pauses the page
    and calls `update` after its frames.
    """

    def __init__(self, server: Any, engine: Engine):
        self._server = server
        self.engine = engine
        self._closed = threading.Event()

    @property
    def link(self) -> str:
        """Where the page is."""
        return str(self._server.link)

    @property
    def sim(self) -> Simulation | None:
        """The simulation that is shown."""
        return self.engine.world.lanes[0].sim

    def play(self) -> None:
        """Let simulated time follow the clock."""
        self.engine.do("play").result()

    def pause(self) -> None:
        """Stop time; a script may then advance the simulation itself."""
        self.engine.do("pause").result()

    def update(self) -> None:
        """Show the simulation as it is now, after a script has changed or advanced it."""
        self.engine.do("live").result()

    def close(self) -> None:
        """Stop showing it: recordings are finished, and the page stands still until something else is shown."""
        self.engine.stop()
        self._closed.set()

    def wait(self) -> None:
        """Wait until `close` is called, or Ctrl-C is pressed."""
        try:
            while not self._closed.wait(0.5):
                pass
        except KeyboardInterrupt:
            self.close()

    def __repr__(self) -> str:
        return f"View({self.link})"

    def _repr_html_(self) -> str:
        link = html.escape(self.link, quote=True)
        return (
            f'<iframe src="{link}" style="width:100%;height:600px;border:0" allow="fullscreen; clipboard-write">'
            f'</iframe><p><a href="{link}" target="_blank" rel="noreferrer">{link}</a></p>'
        )


def show(
    sim: Simulation | Scene,
    *,
    block: bool | None = None,
    browser: bool | None = None,
    folder: str | Path | None = None,
    device: str = "auto",
    **options: Any,
) -> View:
    """Show a simulation, or a scene, in a page where it can be dragged, changed, recorded and exported.

    Args:
        sim: what to show. A simulation that is shown is the one that runs: a script that holds it sees it move.
        block: wait until Ctrl-C; by default in scripts, and not in notebooks and interactive sessions.
        browser: open a browser; by default in scripts where there is one, and not in notebooks.
        folder: for recordings, exports and uploads; a temporary one if not given. A process keeps the first.
        device: where a scene is simulated.
        options: of `StudioOptions`: ``host``, ``port``, ``token`` and so on.
    """
    global _server
    from pliant.studio.server import Server, open_browser

    if not isinstance(sim, Simulation | Scene):
        raise InputError(f"{type(sim).__name__} cannot be shown", "show", "Give a Simulation or a Scene")
    home = _home(folder)
    if _server is not None:
        # it may be this very simulation that runs: two threads must not work on it
        with contextlib.suppress(InputError):
            _server.current.engine.do("pause").result()
    running = sim if isinstance(sim, Simulation) else None
    document = Document.from_scene(sim, home) if isinstance(sim, Scene) else Document.from_simulation(sim, home)
    engine = Engine(document, home, device, running, autosave=folder is not None)
    if _server is None:
        chosen = StudioOptions(**options)
        server = Server(engine, chosen, search="port" not in options)
        server.start()
        _server = server
        atexit.register(_close)
    else:
        _server.current.swap(engine)
    view = View(_server, engine)
    interactive = hasattr(sys, "ps1") or "ipykernel" in sys.modules
    print(f"Pliant studio: {view.link}", flush=True)
    if browser if browser is not None else not interactive:
        open_browser(view.link)
    if block if block is not None else not interactive:
        view.wait()
    return view


def _home(folder: str | Path | None) -> Path:
    """The project's folder: that of the server that runs already, the one that was asked for, or a temporary one."""
    if _server is None:
        home = Path(tempfile.mkdtemp(prefix="pliant-studio-")) if folder is None else Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        return home.resolve()
    kept: Path = _server.current.engine.world.folder
    if folder is not None and Path(folder).resolve() != kept:
        raise InputError(
            f"this process keeps the studio's files in {kept}", "show.folder", "Leave it out, or start another process"
        )
    return kept


def _close() -> None:
    global _server
    if _server is not None:
        server, _server = _server, None
        server.stop()
