"""The engine of the studio: one thread that simulates, does what clients ask for, and publishes the newest frame."""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from pliant.errors import BlowUpError, InputError, PliantError
from pliant.scene_file import shipped_scenes
from pliant.simulation import Simulation
from pliant.studio import messages
from pliant.studio.clock import Clock
from pliant.studio.commands import LEAVE, Command, at_home, checked
from pliant.studio.document import Document
from pliant.studio.jobs import Jobs
from pliant.studio.world import World

AUTOSAVE = "scene.toml"
# Shortest time between two published frames while simulated time runs faster than the clock [s].
FASTEST_FRAMES = 1.0 / 75.0
# What was asked for is shown with the next simulated frame if that is due within this time, and else at once [s].
SOON = 0.04
SAVE_PERIOD = 1.0
# Commands of one client that may wait.
MOST_WAITING = 256

log = logging.getLogger("pliant.studio")
Notify = Callable[[bytes], None]


@dataclasses.dataclass
class _Request:
    command: Command
    client: str
    arguments: dict[str, Any]
    answer: Future


class Engine:
    """Runs a scene for any number of clients; all see and touch the same.

    Args:
        document: the scene.
        folder: the project: what is uploaded, recorded and saved lies in it, and nothing outside of it is read.
        device: 'auto', 'cpu' or 'cuda:0'.
        sim: a simulation of the document that runs already.
        autoplay: begin to simulate when the first client comes.
        autosave: keep the document in the project's folder.
        rest_alone: let time stand still while nobody watches and nothing is recorded.

    Attributes:
        on_frame: called in the engine's thread whenever there is a new frame; must be quick.
        playing: whether time runs.
    """

    def __init__(
        self,
        document: Document,
        folder: Path,
        device: str = "auto",
        sim: Simulation | None = None,
        *,
        autoplay: bool = False,
        autosave: bool = True,
        rest_alone: bool = False,
        history_mb: float = 512.0,
    ):
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self.world = World(at_home(document, folder), folder, device, sim, history_mb)
        self.clock = Clock(self.world.frame_dt)
        self.jobs = Jobs(self.tell)
        self.on_frame: list[Callable[[], None]] = []
        self.playing = False
        self.heat: str | None = None
        self.layers: dict[str, set[str]] = {}
        self.drags: dict[str, int] = {}
        self.poker: str | None = None
        self._autoplay, self._autosave, self._rest_alone = autoplay, autosave, rest_alone
        self._past: int | None = None
        self._dirty = True
        self._unsaved, self._saved_at = autosave, 0.0
        self._newest: tuple[int, bytes] = (0, b"")
        self._published_at = 0.0
        self._scene_sent: bytes = self.world.scene_message
        self._clients: dict[str, Notify] = {}
        self._requests: deque[_Request] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None

    # ---- for other threads --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to work."""
        self._publish()
        self._thread = threading.Thread(target=self._run, name="pliant-engine", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish recordings, save the scene and end."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        while self._requests:  # of an engine that was never started
            answer = self._requests.popleft().answer
            if answer.set_running_or_notify_cancel():
                answer.set_exception(InputError("the studio is being closed", "studio", "Start it again"))
        self.jobs.stop()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def do(self, name: str, /, client: str | None = None, **arguments: Any) -> Future:
        """Ask for something; the answer holds its result or its `InputError`."""
        answer: Future = Future()
        try:
            command, values = checked(name, arguments)
            request = _Request(command, client or "", values, answer)
            with self._wake:
                if self._stopping:
                    raise InputError("the studio is being closed", name, "Start it again")
                if sum(waiting.client == request.client for waiting in self._requests) >= MOST_WAITING:
                    raise InputError(f"{MOST_WAITING} commands wait already", name, "Send fewer of them")
                self._requests.append(request)
                self._wake.notify_all()
        except InputError as error:
            answer.set_exception(error)
        return answer

    def join(self, client: str, notify: Notify) -> None:
        """Let a client hear of what happens: `notify` gets scene and note messages, in the engine's thread."""
        with self._wake:
            self._clients[client] = notify
            if self._autoplay and self.world.has_bodies:
                self._autoplay = False
                self.playing = True
            self._wake.notify_all()

    def leave(self, client: str) -> None:
        """Forget a client; what it held is let go."""
        with self._wake:
            self._clients.pop(client, None)
            if not self._stopping:
                # after all that the client asked for before it went, however much that is
                self._requests.append(_Request(LEAVE, client, {}, Future()))
                self._wake.notify_all()

    def newest(self) -> tuple[int, bytes]:
        """The newest frame message and its number, which grows with every frame."""
        return self._newest

    def scene_bytes(self) -> bytes:
        """The scene message as it is now."""
        return self.world.scene_message

    @property
    def document(self) -> Document:
        return self.world.document

    def describe(self) -> dict[str, Any]:
        """What panels show: the scene's tables, and how the studio stands."""
        world = self.world
        variants = [] if len(world.variants) == 1 else [dataclasses.asdict(v) for v in world.variants]
        return world.document.describe() | {
            "recordings": world.recorder.recordings(),
            "recording": world.recorder.name,
            "files": world.recorder.files(),
            "jobs": [dataclasses.asdict(job) | {"request": None} for job in list(self.jobs.all.values())],
            "lanes": variants,
            "reference": world.reference,
            "comparing": bool(variants),
            "playing": self.playing,
            "speed": self.clock.speed,
            "device": world.device,
            "scenes": sorted(shipped_scenes()),
            "painted": world.painted(),
            "body_notes": {} if world.lanes[0].sim is None else {"": list(world.lanes[0].sim.notes)},
        }

    # ---- in the engine's thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._wake:
                if self._stopping:
                    break
            try:
                self._work()
            except Exception as error:
                log.exception("a frame could not be shown")
                self.set_playing(False)
                self._dirty = False
                self.tell(event="notice", level="error", text=f"The frame cannot be shown ({error}). Press reset.")
        self._answer_all()
        self.world.recorder.stop()
        self._save(now=True)

    def _work(self) -> None:
        """What is to be done now: commands, a frame, or nothing for a while."""
        self._answer_all()
        if self._runs() and self.clock.due():
            self.advance()
            time.sleep(0)  # let others have their turn where the machine cannot keep up
        elif self._dirty and not (self.playing and self.clock.wait() < SOON):
            self._publish()
        else:
            self._rest()

    def _runs(self) -> bool:
        """Whether simulated time runs now."""
        if self.playing and self._rest_alone and not self._clients and self.world.recorder.name is None:
            self.clock.stop()
            return False
        return self.playing

    def _rest(self) -> None:
        """Wait for what comes next: a command, a frame, or the moment to save."""
        limit = self.clock.wait() if self._runs() else None
        if self._unsaved:
            left = max(self._saved_at + SAVE_PERIOD - time.monotonic(), 0.0)
            if left == 0.0:
                self._save()
                return
            limit = left if limit is None else min(limit, left)
        with self._wake:
            if not self._requests and not self._stopping:
                self._wake.wait(limit)

    def _answer_all(self) -> None:
        for _ in range(len(self._requests)):
            with self._wake:
                request = self._requests.popleft()
            if not request.answer.set_running_or_notify_cancel():
                continue  # whoever asked for it has gone, and an answer would be an error
            try:
                result = request.command.run(self, request.client, **request.arguments)
                self._dirty = True
                request.answer.set_result(result)
            except PliantError as error:
                self._dirty = True
                request.answer.set_exception(error)
            except Exception as error:
                self._dirty = True
                log.exception("a command failed")
                request.answer.set_exception(InputError(f"this failed ({error})", "studio", "The scene is as it was"))

    def advance(self) -> bool:
        """One frame of the scene; False if it failed, or if the studio is being closed."""
        done = False
        try:
            self.world.advance()
            done = not self._stopping
        except BlowUpError as error:
            self.set_playing(False)
            self.tell(event="notice", level="error", text=f"{error} Change that and press play, or reset.")
        except Exception as error:
            log.exception("a frame failed")
            self.set_playing(False)
            self.tell(event="notice", level="error", text=f"The frame failed ({error}). Press reset to start again.")
        self.clock.finished()
        if self.clock.speed <= 1.2 or time.perf_counter() - self._published_at >= FASTEST_FRAMES or not self.playing:
            self._publish()
        return done

    def set_playing(self, on: bool) -> None:
        if on != self.playing:
            self.playing = on
            self.clock.stop()
        self._dirty = True

    def show_live(self) -> None:
        """Show the simulation and not the past."""
        self._past = None
        self._dirty = True

    def show_past(self, frame: int) -> None:
        """Show a frame of the history."""
        self._past = frame
        self._dirty = True

    def edit(self, change: Callable[[Document], Any]) -> Any:
        """Change the document, and go on with the changed scene."""
        self.show_live()
        result = self.world.edit(change)
        self.say_scene()
        return result

    def say_scene(self, *, anew: bool = False) -> None:
        """Tell everyone that the scene has changed; `anew` if another one was shown before."""
        self.clock.frame_dt = self.world.frame_dt
        if not self.world.has_bodies:
            self.set_playing(False)
        if anew or self.world.scene_message != self._scene_sent:
            self._scene_sent = self.world.scene_message
            self._send(self._scene_sent)
        for text in dict.fromkeys(text for lane in self.world.lanes for text in lane.warnings):
            self.tell(event="notice", level="warning", text=text)
        self.tell(event="document")
        self._unsaved = self._autosave
        self._dirty = True

    def tell(self, **content: Any) -> None:
        """Send a note to everyone."""
        self._send(messages.note(**content))

    def _send(self, message: bytes) -> None:
        with self._wake:
            everyone = list(self._clients.values())
        for notify in everyone:
            try:
                notify(message)
            except Exception:
                log.exception("a client could not be told")

    def _publish(self) -> None:
        """Make the newest frame message and say that it is there."""
        self._dirty = False
        self._published_at = time.perf_counter()
        world = self.world
        if world.recorder.problem:
            self.tell(event="notice", level="error", text=f"The recording broke off: {world.recorder.problem}")
            world.recorder.problem = ""
        if self._past is not None:
            kept = world.history.message(self._past)
            if kept is not None:
                self._show(world.frames.again(kept, self._stats()))
                return
            self._past = None
        wanted = set().union(*self.layers.values()) if self.layers else set()
        world.meter.measure(world.lanes, world.reference, now=not self.playing)
        if "stages" in wanted:
            world.meter.measure_stages(world.lanes[0])
        stats = self._stats() | ({"stages": world.meter.stages} if "stages" in wanted else {})
        message = world.frames.frame(world.lanes, world.hands, stats, dict(self.drags), self.heat, wanted)
        if world.has_bodies:
            world.history.add(world.frame_number, message)
        self._show(message)

    def _show(self, message: bytes) -> None:
        self._newest = (self._newest[0] + 1, message)
        for call in list(self.on_frame):
            call()

    def _stats(self) -> dict[str, Any]:
        world = self.world
        lead = world.lanes[0].sim
        reference = world.reference if len(world.lanes) > 1 else -1
        return {
            "playing": self.playing,
            "speed": self.clock.speed,
            "factor": round(self.clock.factor, 4),
            "fps": round(self.clock.fps, 2),
            "substeps": 0 if lead is None else lead.substeps,
            "particles": 0 if lead is None else lead.state.count,
            "recording": world.recorder.name,
            "first": world.history.first,
            "last": max(world.history.last, world.frame_number),
            "lanes": [
                {
                    "ms": None if lane.cost is None else round(lane.cost, 3),
                    "error": lane.error,
                    "reference": k == reference,
                }
                for k, lane in enumerate(world.lanes)
            ],
            **world.meter.stats(),
        }

    def _save(self, now: bool = False) -> None:
        """Keep the document in the project's folder."""
        if not self._unsaved or not self._autosave:
            return
        if not now and time.monotonic() - self._saved_at < SAVE_PERIOD:
            return
        self._unsaved, self._saved_at = False, time.monotonic()
        try:
            self.world.document.save(self.world.folder / AUTOSAVE)
        except Exception as error:
            log.warning("the scene could not be saved", exc_info=not isinstance(error, PliantError))
            self.tell(event="notice", level="warning", text=f"The scene could not be saved: {error}")
