"""Records what is shown into files, one for each lane, without holding up the simulation."""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError, PliantError
from pliant.export.frames import FramesReader, FramesWriter, part_path
from pliant.render.camera import Camera
from pliant.run.recording import start_recording
from pliant.run.seen import recorded_positions
from pliant.studio.lane import Lane

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,159}")
LONGEST_NAME = 80
# Frames that wait for the disk; when there are more, the simulation waits: none is lost.
MOST_WAITING = 64
MOST_RECORDINGS = 1000


class Recorder:
    """Recordings in a folder.

    Attributes:
        name: of the recording that is being made; None if there is none.
        problem: why the last recording broke off; empty if it did not.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.name: str | None = None
        self.problem = ""
        self._writers: list[_Writer] = []

    def start(self, lanes: list[Lane], name: str | None, camera: dict[str, Any] | None) -> str:
        """Begin a recording; it is named after the scene if no name is given."""
        if self.name is not None:
            raise InputError(f"'{self.name}' is being recorded", "record", "Stop that recording first")
        if lanes[0].sim is None:
            raise InputError("there is nothing to record", "record", "Add a body first")
        base = name or _plain(lanes[0].loaded.name if lanes[0].loaded is not None else "")
        base = check_name(base, "record.name").removesuffix(".plf")
        if len(base) > LONGEST_NAME:
            raise InputError(f"a name of {len(base)} characters", "record.name", f"Give at most {LONGEST_NAME}")
        chosen = base if name else _free(self.folder, base)
        targets = [self.folder / f"{chosen}{_suffix(lanes, k)}.plf" for k in range(len(lanes))]
        for target in targets:
            if target.exists() or part_path(target).exists():
                raise InputError(f"there is a recording '{target.stem}' already", "record.name", "Choose another name")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.problem = ""
        self._writers = [_Writer(target, lane, camera) for target, lane in zip(targets, lanes, strict=True)]
        self.name = chosen
        self.add(lanes)
        return chosen

    def add(self, lanes: list[Lane]) -> None:
        """Record the frame that the lanes show now."""
        if self.name is None:
            return
        for writer, lane in zip(self._writers, lanes, strict=True):
            assert lane.sim is not None
            writer.add(lane.sim.frame_number, lane.sim.time, recorded_positions(lane.sim))
            if writer.problem:
                self.problem = writer.problem
        if self.problem:
            self.stop()

    def stop(self) -> str | None:
        """End the recording; returns its name, or None if there was none."""
        name, self.name = self.name, None
        for writer in self._writers:
            writer.close()
            self.problem = self.problem or writer.problem
        self._writers = []
        return name

    def recordings(self) -> list[dict[str, Any]]:
        """What was recorded, the newest first."""
        found = []
        paths = sorted(self.folder.glob("*.plf"), key=lambda p: p.stat().st_mtime, reverse=True)
        for path in paths[:MOST_RECORDINGS]:
            with contextlib.suppress(PliantError, OSError), FramesReader(path) as reader:
                dt = float(reader.meta.get("frame_dt", 0.0))
                found.append(
                    {
                        "name": path.stem,
                        "frames": len(reader),
                        "seconds": max(len(reader) - 1, 0) * dt,
                        "bytes": path.stat().st_size,
                    }
                )
        return found

    def files(self) -> list[str]:
        """What can be downloaded, the newest first."""
        found = [path for path in self.folder.glob("*") if path.is_file() and NAME.fullmatch(path.name)]
        found = [path for path in found if path.suffix != ".part"]
        found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        return [path.name for path in found[:MOST_RECORDINGS]]


class _Writer:
    """Writes one recording in a thread of its own."""

    def __init__(self, path: Path, lane: Lane, camera: dict[str, Any] | None):
        assert lane.sim is not None and lane.loaded is not None
        loaded = lane.loaded
        if camera is not None:
            eye = Camera(camera["eye"], camera["target"], camera["up"], camera["fov"])
            loaded = dataclasses.replace(loaded, camera=eye)
        self.problem = ""
        self._writer: FramesWriter = start_recording(path, lane.sim, loaded)
        self._queue: queue.Queue[tuple[int, float, np.ndarray] | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def add(self, frame: int, time: float, x: np.ndarray) -> None:
        if not self.problem:
            self._queue.put((frame, time, x))

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            if self.problem:
                continue
            # whatever happens: the simulation would wait for ever for a thread that has died
            try:
                self._writer.add(*item)
            except Exception as error:
                self.problem = str(error)
        try:
            self._writer.close()
        except Exception as error:
            self.problem = self.problem or str(error)


def check_name(name: str, where: str) -> str:
    """A name that is a file's and nothing else."""
    if not NAME.fullmatch(name) or ".." in name:
        raise InputError(
            f"{name[:80]!r} cannot be a file's name", where, "Use letters, digits, blanks, '_', '-' and '.'"
        )
    return name


def _plain(name: str) -> str:
    """A scene's name as far as it can be a file's."""
    return re.sub(r"[^A-Za-z0-9 _-]+", "_", name).strip("_ -")[:60] or "scene"


def _suffix(lanes: list[Lane], k: int) -> str:
    if len(lanes) == 1:
        return ""
    return f"-{k + 1}-" + re.sub(r"[^A-Za-z0-9_-]+", "_", lanes[k].name)[:40]


def _free(folder: Path, base: str) -> str:
    for k in range(1, 100_000):
        if not list(folder.glob(f"{base}-{k}*.plf")) and not list(folder.glob(f"{base}-{k}*.plf.part")):
            return f"{base}-{k}"
    raise InputError("there are too many recordings", str(folder), "Remove some of them")
