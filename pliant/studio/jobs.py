"""Work that takes long, such as films: each job is a process of its own, one after the other."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pliant.errors import InputError

MOST_WAITING = 32
Report = Callable[..., None]


@dataclasses.dataclass
class Job:
    """One export.

    Attributes:
        request: what `export_child` is told.
        file: the name of what it will write.
    """

    number: int
    label: str
    request: dict[str, Any]
    file: str
    done: float = 0.0
    state: str = "waiting"
    error: str | None = None


class Jobs:
    """A queue of jobs.

    Args:
        report: called with the keys of a note, from the jobs' thread.
    """

    def __init__(self, report: Report):
        self.all: dict[int, Job] = {}
        self._report = report
        self._queue: queue.Queue[Job | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._child: subprocess.Popen | None = None
        self._stopped = False

    def add(self, label: str, request: dict[str, Any], file: str) -> int:
        """Queue a job; returns its number."""
        if sum(job.state in ("waiting", "running") for job in self.all.values()) >= MOST_WAITING:
            raise InputError(f"{MOST_WAITING} exports wait already", "export", "Wait until some are done")
        job = Job(len(self.all) + 1, label, request, file)
        self.all[job.number] = job
        self._queue.put(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
            self._thread.start()
        return job.number

    def stop(self) -> None:
        """End the running job and forget the waiting ones."""
        self._stopped = True
        self._queue.put(None)
        child = self._child
        if child is not None:
            with contextlib.suppress(OSError):
                os.killpg(child.pid, signal.SIGKILL)
        if self._thread is not None:
            self._thread.join(5.0)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            if self._stopped:
                return
            job.state = "running"
            self._report(event="progress", job=job.number, label=job.label, done=0.0)
            try:
                job.error = self._work(job)
            except Exception as error:
                job.error = f"the export failed: {error}"
            job.state = "failed" if job.error else "done"
            self._report(event="done", job=job.number, label=job.label, file=job.file, error=job.error)

    def _work(self, job: Job) -> str | None:
        """Run the child; returns what went wrong."""
        command = [sys.executable, "-m", "pliant.studio.export_child"]
        # a file and no pipe: a child that says much there would wait for a reader
        with (
            tempfile.TemporaryFile("w+", errors="replace") as said,
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                start_new_session=True,
            ) as child,
        ):
            self._child = child
            if self._stopped:
                child.kill()
            assert child.stdin is not None and child.stdout is not None
            child.stdin.write(json.dumps(job.request))
            child.stdin.close()
            problem: str | None = None
            for line in child.stdout:
                try:
                    told = json.loads(line)
                except ValueError:
                    continue
                if not isinstance(told, dict):
                    continue
                if "error" in told:
                    problem = str(told["error"])
                elif "done" in told:
                    job.done = float(told["done"])
                    self._report(event="progress", job=job.number, label=job.label, done=round(job.done, 3))
            child.wait()
            said.seek(0)
            words = said.read()
        self._child = None
        if problem is None and child.returncode != 0:
            last = (words.strip().splitlines() or ["it ended without a word"])[-1]
            problem = f"the export failed: {last[:300]}"
        return problem


def export_request(folder: Path, recording: str, kind: str, camera: dict[str, Any] | None, device: str) -> tuple:
    """What `export_child` is told, and the name of the file it writes."""
    source = folder / f"{recording}.plf"
    if not source.is_file() or source.is_symlink():
        raise InputError(f"there is no recording {recording!r}", "export.recording", "Record something first")
    single = kind in ("mp4", "gif", "webp", "glb", "usd")
    file = f"{recording}.{kind}" if single else f"{recording}-{kind}.zip"
    request = {
        "recording": str(source),
        "target": str(folder / file),
        "kind": kind,
        "camera": camera,
        "device": device,
    }
    return request, file
