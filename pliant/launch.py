"""The one way a kernel is launched: at once, recorded for replay (see `program`), captured, split over CPU threads.

A kernel whose first parameter is called ``start`` can be split: a thread then handles the items
``start + wp.tid()``. On the CPU Warp runs a launch as one serial loop that releases the interpreter
lock, so a split launch uses every core; on CUDA ``start`` is zero and the launch is whole.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import os
import platform
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import warp as wp

from pliant.errors import InputError
from pliant.program import Program, works

wp.config.log_level = wp.LOG_WARNING
# One level for all modules: each level has a precompiled header of its own, which takes 2 s in a cold process.
wp.config.optimization_level = 3

# Items per thread below which a fork and join (about 65 us) costs more than it saves.
DEFAULT_GRAIN = 8192
# How much finer launches of a recording are cut, whose threads are awake already.
FINER = 16


def pick_device(name: str = "auto") -> str:
    """Turn ``auto``, ``cpu``, ``cuda`` or ``cuda:N`` into a device that exists here."""
    _init()
    cuda = [str(d) for d in wp.get_cuda_devices()]
    if name == "auto":
        return cuda[0] if cuda else "cpu"
    if name == "cuda" and cuda:
        return cuda[0]
    if name == "cpu" or name in cuda:
        return name
    raise InputError(
        f"no device called {name!r} on this machine",
        "device",
        f"Use one of: auto, {', '.join(['cpu', *cuda])}",
    )


@functools.cache
def _init() -> None:
    """Start Warp without its native library's warning that there is no CUDA driver."""
    saved = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        wp.init()
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


def thread_count() -> int:
    """CPU threads that a split launch uses: ``PLIANT_THREADS``, or the cores this process may use."""
    text = os.environ.get("PLIANT_THREADS", "")
    if text:
        if not (text.isascii() and text.isdecimal()) or int(text) < 1:
            raise InputError(f"PLIANT_THREADS is {text!r}", "environment", "Give a whole number of at least 1")
        return int(text)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def cpu_name() -> str:
    """The processor in words."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


class _Workers:
    """Threads that wait for a callable each; the caller's own thread is the first of them."""

    def __init__(self) -> None:
        self._tasks: list[queue.SimpleQueue] = []
        self._growing = threading.Lock()

    def run(self, parts: Sequence[Callable[[], None]]) -> None:
        """Run all parts at once and wait for all of them; the first error is raised when the last part is done."""
        if len(self._tasks) < len(parts) - 1:
            self._grow(len(parts) - 1)
        done: queue.SimpleQueue = queue.SimpleQueue()
        for tasks, part in zip(self._tasks, parts[1:], strict=False):
            tasks.put((part, done))
        errors: list[BaseException | None] = []
        try:
            parts[0]()
        except BaseException as error:
            errors.append(error)
        errors += [done.get() for _ in parts[1:]]
        for error in errors:
            if error is not None:
                raise error

    def _grow(self, count: int) -> None:
        with self._growing:
            while len(self._tasks) < count:
                tasks: queue.SimpleQueue = queue.SimpleQueue()
                threading.Thread(target=self._work, args=(tasks,), daemon=True, name="pliant-launch").start()
                self._tasks.append(tasks)

    def _work(self, tasks: queue.SimpleQueue) -> None:
        while True:
            part, done = tasks.get()
            try:
                part()
                done.put(None)
            except BaseException as error:
                done.put(error)


class _Recordings(threading.local):
    """What each Python thread is recording now, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[Recording] = []


_workers = _Workers()
_running = threading.Lock()
_recordings = _Recordings()


@dataclasses.dataclass(frozen=True)
class _Launch:
    """A launch, and over which items; `splits` tells whether they may be given to several threads."""

    command: Any
    first: int
    size: int
    grain: int
    splits: bool

    @property
    def is_native(self) -> bool:
        """Whether a program can do it: what runs on CUDA is launched from Python."""
        return bool(self.command.device.is_cpu)

    @property
    def pays(self) -> bool:
        """Whether waking another thread pays for this launch alone."""
        return self.splits and self.size >= 2 * self.grain

    def run(self) -> None:
        self.command.launch()

    def add_to(self, program: Program, threads: int) -> None:
        program.launch(self.command, self.first, self.size, max(1, self.grain // FINER), self.splits, threads)


@dataclasses.dataclass(frozen=True)
class _Copy:
    """A copy of so many items from `first` on."""

    target: wp.array
    source: wp.array
    first: int
    items: int
    pays = False

    @property
    def is_native(self) -> bool:
        return bool(self.target.device.is_cpu and self.source.device.is_cpu)

    def run(self) -> None:
        wp.copy(self.target, self.source, self.first, self.first, self.items)

    def add_to(self, program: Program, threads: int) -> None:
        if not self.items:
            return
        size = wp.types.type_size_in_bytes(self.source.dtype)
        target, source = self.target.ptr + self.first * size, self.source.ptr + self.first * size
        program.copy(target, source, self.items * size, (self.target, self.source))


@dataclasses.dataclass(frozen=True)
class _Branch:
    """What is done if a flag is set, or again and again while it is."""

    flag: wp.array
    body: Recording
    repeats: bool

    @property
    def pays(self) -> bool:
        return any(command.pays for command in self.body.commands)

    @property
    def is_native(self) -> bool:
        return not any(_is_python(command) for command in self.body.commands)

    def add_to(self, program: Program, threads: int) -> None:
        program.open(self.flag, self.repeats)
        for command in self.body.commands:
            command.add_to(program, threads)
        program.close()

    def run(self) -> None:
        value = self.flag.numpy()  # shares memory with the array
        while value[0]:
            self.body.replay()
            if not self.repeats:
                return


@dataclasses.dataclass(frozen=True)
class _Action:
    """Something that only Python can do."""

    run: Callable[[], None]
    pays = False
    is_native = False


def _is_python(command: Any) -> bool:
    return not command.is_native or not works()


class Recording:
    """A list of launches, replayed in order; on the CPU without Python's per-launch cost."""

    def __init__(self) -> None:
        self.commands: list[Any] = []
        self._steps: list[Any] | None = None
        self._threads = 1

    def replay(self) -> None:
        if self._steps is None or self._threads != thread_count():
            self._compile()
        for step in self._steps or []:
            if isinstance(step, Program):
                _run_program(step, self._threads)
            else:
                step.run()

    def _compile(self) -> None:
        """Make programs of the launches, as long as Python has not to do something in between."""
        self._threads = thread_count()
        self._steps = []
        for python, commands in itertools.groupby(self.commands, _is_python):
            if python:
                self._steps += commands
                continue
            program = Program()
            for command in commands:
                program.shares = program.shares or command.pays
                command.add_to(program, self._threads)
            program.finish(self._threads)
            self._steps.append(program)

    def __len__(self) -> int:
        return len(self.commands)


def _run_program(program: Program, threads: int) -> None:
    """Run a program with all threads or with one, whichever was faster of late: on a busy machine threads that wait for
    each other are slower than one. What comes out is the same.

    Another program may be running with all threads: two that had some each would wait forever.
    """
    if threads > 1 and program.shares and program.pace.several_are_faster() and _running.acquire(blocking=False):
        try:
            with program.pace.measured(True):
                _workers.run(program.parts(threads))
        finally:
            _running.release()
    else:
        with program.pace.measured(False):
            program.parts(1)[0]()


@contextlib.contextmanager
def record() -> Iterator[Recording]:
    """Collect the launches and copies made inside into a `Recording` instead of running them."""
    recording = Recording()
    _recordings.stack.append(recording)
    try:
        yield recording
    finally:
        _recordings.stack.pop()


def launch(
    kernel: Any,
    dim: int | tuple[int, ...],
    inputs: Sequence[Any],
    outputs: Sequence[Any] = (),
    *,
    device: str,
    first: int = 0,
    grain: int = DEFAULT_GRAIN,
    block_dim: int = 256,
) -> None:
    """Launch a kernel over ``dim`` items.

    Args:
        kernel: a Warp kernel. If its first parameter is ``start``, do not pass it: it is filled in here.
        dim: number of items; for a splittable kernel one number.
        inputs: kernel arguments that are read.
        outputs: kernel arguments that are written.
        device: where to run.
        first: where a splittable kernel starts counting its items.
        grain: the fewest items worth a CPU thread of their own.
        block_dim: CUDA threads per block.
    """
    args = [*inputs, *outputs]
    splits = kernel.adj.args[0].label == "start"
    size = dim if isinstance(dim, int) else 0
    if size == 0 and isinstance(dim, int):
        return

    def recorded(begin: int, items: int | tuple[int, ...]) -> Any:
        given = [begin, *args] if splits else args
        return wp.launch(kernel, items, inputs=given, device=device, block_dim=block_dim, record_cmd=True)

    if _recordings.stack:
        _recordings.stack[-1].commands.append(_Launch(recorded(first, dim), first, size, max(grain, 1), splits))
        return
    parts = max(1, min(thread_count(), size // max(grain, 1))) if splits and device == "cpu" else 1
    if parts == 1:
        wp.launch(kernel, dim, inputs=[first, *args] if splits else args, device=device, block_dim=block_dim)
        return
    bounds = [size * k // parts for k in range(parts + 1)]
    _workers.run([recorded(first + a, b - a).launch for a, b in itertools.pairwise(bounds)])


def copy(target: wp.array, source: wp.array, first: int = 0, count: int | None = None) -> None:
    """Copy an array, or a run of its items, on its device; recorded and captured like a launch."""
    items = len(source) - first if count is None else count
    _do(_Copy(target, source, first, items))


def run(action: Callable[[], None]) -> None:
    """Do something that launches by itself, such as refitting a mesh; recorded and captured like a launch."""
    _do(_Action(action))


def run_if(flag: wp.array, body: Callable[[], None], *, device: str) -> None:
    """Do the launches of `body` if ``flag[0]`` is not zero.

    Inside a CUDA graph this is a conditional node, so nothing is read back.
    """
    if device != "cpu":
        wp.capture_if(flag, on_true=body)
    else:
        _branch(flag, body, repeats=False)


def repeat_while(going: wp.array, body: Callable[[], None], *, device: str) -> None:
    """Repeat the launches of `body` while ``going[0]`` is not zero; `body` must end by setting it.

    Inside a CUDA graph this is a conditional node, so nothing is read back.
    """
    if device != "cpu":
        wp.capture_while(going, body)
    else:
        _branch(going, body, repeats=True)


def repeat_once_or_more(going: wp.array, body: Callable[[], None], *, device: str) -> None:
    """The same where ``going[0]`` is known to be set before the first time: on CUDA that needs no conditional node."""
    if device != "cpu":
        body()
    repeat_while(going, body, device=device)


def _branch(flag: wp.array, body: Callable[[], None], repeats: bool) -> None:
    with record() as recording:
        body()
    _do(_Branch(flag, recording, repeats))


def _do(command: _Copy | _Action | _Branch) -> None:
    """Record a command, or run it at once."""
    if _recordings.stack:
        _recordings.stack[-1].commands.append(command)
    else:
        command.run()
