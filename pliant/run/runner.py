"""The run loop.

A run can be killed at any moment: the recording and the log are flushed after each frame, a checkpoint is
written whole or not at all and only after the frames before it are on the disk. Resuming loads the checkpoint and
cuts recording and log back to its frame. Films are drawn from the recording, so that a resumed run has all of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from pliant.checkpoint import load_checkpoint, save_checkpoint
from pliant.errors import BlowUpError, InputError, MissingExtraError
from pliant.export.frames import FramesReader, FramesWriter, part_path
from pliant.export.sequence import KINDS
from pliant.files import cannot_write, make_parent, replace_file
from pliant.mesh.io import write_mesh
from pliant.mesh.look import Look
from pliant.mesh.surface import SurfaceMesh
from pliant.plan import advice
from pliant.render.film import SUFFIXES
from pliant.run.fields import FieldsWriter
from pliant.run.log import RunLog, without_infinities
from pliant.run.progress import Progress
from pliant.run.recording import make_film, open_recording, start_recording, write_sequence
from pliant.run.seen import recorded_positions
from pliant.run.summary import process_start, summarize, summary_table
from pliant.scene_file import LoadedScene
from pliant.simulation import Simulation

DONE, BLOWN_UP, INTERRUPTED = 0, 3, 130
IMPORTED = time.time()


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """How a run is done.

    Attributes:
        out: folder for everything that is written; ``out/NAME`` if None.
        device: ``auto``, ``cpu`` or ``cuda:N``.
        film: file of the film (.mp4, .webp, .gif); ``NAME.mp4`` in the folder if None.
        pictures: draw a film and a contact sheet at all.
        sequence: also write every frame as a file of this kind, such as ``ply``.
        fields: also write strain, stress and contacts of every frame, as VTK files.
        checkpoint_every: frames between checkpoints; 0 writes one at the end only.
        resume: go on from the checkpoint in the folder, or from the start if there is none and no recording either.
        checkpoint: go on from this file instead.
        json: file for the summary.
        quiet: print nothing but errors.
    """

    out: Path | None = None
    device: str = "auto"
    film: Path | None = None
    pictures: bool = True
    sequence: str | None = None
    fields: bool = False
    checkpoint_every: int = 60
    resume: bool = False
    checkpoint: Path | None = None
    json: Path | None = None
    quiet: bool = False


@dataclasses.dataclass(frozen=True)
class RunResult:
    """How a run ended: its exit code (0, 3 after a blow-up, 130 after Ctrl-C), message, and summary."""

    code: int
    message: str
    summary: dict[str, Any]

    @property
    def outputs(self) -> dict[str, str]:
        return self.summary["outputs"]


@dataclasses.dataclass(frozen=True)
class _Paths:
    """Where a run writes."""

    folder: Path
    name: str

    def file(self, suffix: str) -> Path:
        return self.folder / f"{self.name}{suffix}"

    @property
    def recording(self) -> Path:
        return self.file(".plf")

    @property
    def checkpoint(self) -> Path:
        return self.file(".ckpt")

    @property
    def log(self) -> Path:
        return self.file(".log.jsonl")


def run_scene(loaded: LoadedScene, options: RunOptions | None = None) -> RunResult:
    """Simulate a scene and write what the options ask for."""
    options = options or RunOptions()
    return _Run(loaded, options).run()


class _Run:
    def __init__(self, loaded: LoadedScene, options: RunOptions):
        self.loaded = loaded
        self.options = options
        self.paths = _Paths(options.out or Path("out") / loaded.name, loaded.name)
        self.film: Path | None = None
        self.sheet: Path | None = None
        self.outputs: dict[str, str] = {}
        self.notes: list[str] = []
        self.frame_seconds: list[float] = []
        self.startup: dict[str, float] = {}
        self.first_frame: float | None = None
        self._begin = process_start()
        self._check_options()

    def say(self, text: str) -> None:
        if not self.options.quiet:
            print(text, flush=True)

    def _check_options(self) -> None:
        """Find what cannot work before the simulation has taken its time."""
        options = self.options
        if options.sequence is not None and options.sequence not in KINDS:
            raise InputError(
                f"no sequence of kind {options.sequence!r}", "--sequence", f"Use one of: {', '.join(KINDS)}"
            )
        if options.checkpoint_every < 0:
            raise InputError(f"{options.checkpoint_every} is negative", "--checkpoint-every", "Give 0 or more frames")
        if options.film is not None and options.film.suffix.lower() not in SUFFIXES:
            raise InputError(
                f"no film format has the suffix {options.film.suffix!r}", "--film", f"Use one of: {', '.join(SUFFIXES)}"
            )
        if options.pictures:
            self.film = options.film or self.paths.file(".mp4")
            self.sheet = self.paths.file(".png")
            missing = _missing_for_film(self.film)
            if missing is not None:
                if options.film is not None:
                    raise missing
                self.film = self.sheet = None
                self.notes.append(f"No film is made. {missing}")
        for path in (options.json, self.paths.recording, self.film):
            if path is not None:
                make_parent(path)

    def run(self) -> RunResult:
        self.startup |= {"import": IMPORTED - self._begin, "load": time.time() - max(IMPORTED, self._begin)}
        begin = time.time()
        with warnings.catch_warnings():
            # the notes of the simulation say the same, and are printed once
            warnings.simplefilter("ignore")
            sim = self.loaded.scene.build(self.options.device)
        self.startup["build"] = time.time() - begin
        if sim.plan is not None:
            self.say(f"plan: {sim.plan.text()}")
        for note in [*sim.notes, *self.notes]:
            self.say(f"note: {note}")
        recording, log = self._start(sim)
        with FieldsWriter(sim, self.paths.file("_fields")) if self.options.fields else nullcontext() as fields:
            if fields is not None and sim.frame_number == 0:
                fields.add()
            code, message, blow_up = self._simulate(sim, recording, log, fields)
        with _stop_requests() as stop:
            summary = self._summary(sim, log, blow_up)
        try:
            if stop:
                raise KeyboardInterrupt
            summary["stage_ms"] = sim.stage_times(1)
            if code == DONE or (code == BLOWN_UP and recording.count > 1):
                self._after(sim)
        except KeyboardInterrupt:
            if code == DONE:
                code = INTERRUPTED
                message = f"Interrupted. The recording is whole: pliant render {self.paths.recording} draws it."
        with _stop_requests():
            return RunResult(code, message, self._report(summary))

    def _report(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Print the summary and write it as JSON; returns it without numbers that JSON has no word for."""
        if self.options.json is not None:
            self.outputs["json"] = str(self.options.json)
        table = summary_table(summary)
        summary = without_infinities({**summary, "outputs": self.outputs})
        if self.options.json is not None:
            with replace_file(self.options.json) as file:
                file.write((json.dumps(summary, indent=1, allow_nan=False) + "\n").encode())
        self.say(table)
        width = max(map(len, self.outputs))
        for kind, path in self.outputs.items():
            self.say(f"{kind.replace('_', ' '):<{width}}  {path}")
        return summary

    # ---- starting and resuming ------------------------------------------------------------------------------------

    def _start(self, sim: Simulation) -> tuple[FramesWriter, RunLog]:
        """Recording and log, new or cut back to the checkpoint."""
        checkpoint = self._checkpoint_to_load()
        if checkpoint is not None:
            return self._resume(sim, checkpoint)
        try:
            # an old checkpoint beside a new recording would be taken for its own
            self.paths.checkpoint.unlink(missing_ok=True)
            for suffix in (".last_good.ckpt", ".last_good.ply"):
                self.paths.file(suffix).unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self.paths.checkpoint, error) from error
        recording = start_recording(self.paths.recording, sim, self.loaded)
        log = RunLog(self.paths.log, sim)
        recording.add(0, 0.0, recorded_positions(sim))
        log.look(force=True)
        return recording, log

    def _checkpoint_to_load(self) -> Path | None:
        if self.options.checkpoint is not None:
            return self.options.checkpoint
        if not self.options.resume:
            return None
        if self.paths.checkpoint.exists():
            return self.paths.checkpoint
        self._refuse_to_overwrite()
        self.say(f"There is no checkpoint {self.paths.checkpoint} yet: starting from the beginning.")
        return None

    def _refuse_to_overwrite(self) -> None:
        """Where there is no checkpoint, a recording is given up only if it was broken off before its first one."""
        part = part_path(self.paths.recording)
        path = part if part.exists() else self.paths.recording
        if not path.exists():
            return
        if path == part:
            try:
                with FramesReader(part, recover=True) as reader:
                    last = reader.line(len(reader) - 1)["frame"] if len(reader) else 0
                    if reader.meta.get("digest") == self.loaded.digest and last <= self.options.checkpoint_every:
                        return
            except InputError:
                return  # broken off within its head: nothing is lost
        raise InputError(
            f"there is a recording but no checkpoint {self.paths.checkpoint} to go on from",
            str(path),
            "Remove the recording, or choose another --out",
        )

    def _resume(self, sim: Simulation, checkpoint: Path) -> tuple[FramesWriter, RunLog]:
        load_checkpoint(sim, checkpoint)
        path = self.paths.recording
        if sim.frame_number > self.loaded.frames:
            raise InputError(
                f"the run has {sim.frame_number} frames already, and {self.loaded.frames} are asked for",
                str(checkpoint),
                f"Give --frames {sim.frame_number} or more, or start again without --resume",
            )
        part = part_path(path)
        with FramesReader(part if part.exists() else path, recover=True) as reader:
            meta = reader.meta
            frames = [reader.line(k)["frame"] for k in range(len(reader))]
        if meta.get("digest") != self.loaded.digest:
            raise InputError(
                "the scene or its settings were changed since this recording was made",
                str(path),
                "Resume with the same scene and options, or start again without --resume",
            )
        if meta.get("device") != sim.device:
            sim.notes.append(
                f"The run was begun on {meta.get('device')} and goes on on {sim.device}: "
                "the rest differs in the last digits from a run on one device."
            )
        if sim.frame_number not in frames:
            last = f"ends with frame {frames[-1]}" if frames else "has no frames"
            raise InputError(
                f"the recording {last}, the checkpoint is of frame {sim.frame_number}",
                str(path),
                "Give a checkpoint of this run, or start again without --resume",
            )
        recording = FramesWriter.resume(path, sim.frame_number)
        log = RunLog(self.paths.log, sim, after_frame=sim.frame_number)
        self.say(f"Resuming after frame {sim.frame_number} from {checkpoint}")
        return recording, log

    # ---- the loop ---------------------------------------------------------------------------------------------------

    def _simulate(
        self, sim: Simulation, recording: FramesWriter, log: RunLog, fields: FieldsWriter | None
    ) -> tuple[int, str, dict[str, Any] | None]:
        every = self.options.checkpoint_every
        total = self.loaded.frames
        progress = Progress("frame", total, sim.frame_dt, self.options.quiet)
        progress.update(sim.frame_number)
        with recording, _stop_requests() as stop:
            while sim.frame_number < total:
                begin = time.perf_counter()
                try:
                    sim.frame()
                except BlowUpError as error:
                    return self._blown_up(sim, recording, log, error)
                self.frame_seconds.append(time.perf_counter() - begin)
                recording.add(sim.frame_number, sim.time, recorded_positions(sim))
                if self.first_frame is None:
                    self.first_frame = time.time() - self._begin
                    self.startup["first_frame"] = self.frame_seconds[0]
                if fields is not None:
                    fields.add()
                last = sim.frame_number == total or bool(stop)
                due = last or (every > 0 and sim.frame_number % every == 0)
                log.look(force=due)
                if due:
                    recording.sync()
                    save_checkpoint(sim, self.paths.checkpoint)
                progress.update(sim.frame_number)
                if last:
                    break
            progress.finish(sim.frame_number)
        log.close()
        self.outputs |= {"recording": str(self.paths.recording), "measurements": str(self.paths.log)}
        if fields is not None:
            self.outputs["fields"] = str(fields.folder)
        if self.paths.checkpoint.exists():
            self.outputs["checkpoint"] = str(self.paths.checkpoint)
        if sim.frame_number < total:
            message = (
                f"Interrupted after frame {sim.frame_number} of {total}. Go on with the same command and --resume."
            )
            return INTERRUPTED, message, None
        return DONE, "", None

    def _blown_up(
        self, sim: Simulation, recording: FramesWriter, log: RunLog, error: BlowUpError
    ) -> tuple[int, str, dict[str, Any]]:
        """Keep the last good frame: as the end of the recording, as a checkpoint and as a surface to look at."""
        log.look(force=True, guard=False)
        log.close()
        checkpoint, surface = self.paths.file(".last_good.ckpt"), self.paths.file(".last_good.ply")
        save_checkpoint(sim, checkpoint)
        self._write_surface(sim, surface)
        recording.close()
        self.outputs |= {
            "recording": str(self.paths.recording),
            "measurements": str(self.paths.log),
            "last_good": str(checkpoint),
            "last_good_surface": str(surface),
        }
        message = f"{error} It is kept in {checkpoint} and {surface}, the run up to it in {self.paths.recording}."
        return BLOWN_UP, message, dict(error.details)

    @staticmethod
    def _write_surface(sim: Simulation, path: Path) -> None:
        """The surface as a file, as `write_sequence` writes a frame: no interior vertices, each body in its colour."""
        triangles, colors = sim.surface(), np.zeros((len(sim.surface_positions()), 3), np.float32)
        colors[triangles.reshape(-1)] = np.repeat(sim.surface_colors(), 3, axis=0)
        used, corners = np.unique(triangles, return_inverse=True)
        look = Look(vertex_colors=np.concatenate([colors, np.ones((len(colors), 1), np.float32)], axis=1)[used])
        write_mesh(SurfaceMesh(sim.surface_positions()[used], corners.reshape(-1, 3), look=look), path)

    # ---- after the loop ---------------------------------------------------------------------------------------------

    def _summary(self, sim: Simulation, log: RunLog, blow_up: dict[str, Any] | None) -> dict[str, Any]:
        summary = summarize(sim, log, self.loaded.name, self.loaded.frames)
        summary["notes"] = [*summary["notes"], *self.notes]
        timed = self.frame_seconds[1:] or self.frame_seconds
        if timed:
            mean = sum(timed) / len(timed)
            summary["ms_per_frame"] = 1e3 * mean
            summary["real_time_factor"] = sim.frame_dt / mean
            slow = advice(sim, 1e3 * mean)
            summary["notes"] += [slow] if slow else []
            summary["seconds_to_first_frame"] = self.first_frame
        summary["startup_s"] = self.startup
        if blow_up is not None:
            summary |= {"finite": False, "blow_up": blow_up}
        return summary

    def _after(self, sim: Simulation) -> None:
        """Film, contact sheet and sequence, from the recording."""
        if self.film is None and self.options.sequence is None:
            return
        with open_recording(self.paths.recording) as reader:
            if self.film is not None:
                make_film(reader, self.film, self.sheet, self.loaded.film, sim.device, self.options.quiet)
                self.outputs |= {"film": str(self.film), "picture": str(self.sheet)}
            if self.options.sequence is not None:
                folder = self.paths.folder / f"{self.paths.name}_{self.options.sequence}"
                write_sequence(reader, folder, self.options.sequence, self.options.quiet)
                self.outputs["sequence"] = str(folder)


def _missing_for_film(film: Path) -> MissingExtraError | None:
    """What a film and a contact sheet need and is not installed."""
    needed = {"PIL": "pillow"} | ({"imageio_ffmpeg": "imageio-ffmpeg"} if film.suffix.lower() == ".mp4" else {})
    for module, package in needed.items():
        if importlib.util.find_spec(module) is None:
            return MissingExtraError(package, "film", "A film")
    return None


@contextlib.contextmanager
def _stop_requests() -> Iterator[list[int]]:
    """A list that Ctrl-C or SIGTERM fills: a frame is finished before the run stops; a second Ctrl-C stops at once."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
