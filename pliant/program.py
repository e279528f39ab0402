"""Recorded launches as one native program, through which all threads walk together.

Between two launches Python would take some microseconds, and waking a thread for a part of one tens to hundreds of
them. Here threads are woken once for a whole frame. They meet after each launch by waiting in a loop, which takes a
tenth of a microsecond. A launch is cut into chunks; a thread that is done with its own takes those of others.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import warp as wp

wp.set_module_options({"enable_backward": False})

WORDS = 8
"""Numbers of an instruction."""
END, LAUNCH, COPY, MEET, UNLESS, JUMP = range(6)
CHUNKS = 4
"""Chunks of a launch for each thread: the more, the better threads share what differs in cost."""
COPY_CHUNK = 1 << 15
"""Bytes of a chunk of a copy."""
TRY_EVERY = 200
"""Runs after which all threads are tried again where one was much faster, and the other way round."""
LINE = 16
"""Numbers of 32 bits in a line of the cache: what threads write is that far apart."""

_WALK = """
typedef void (*Kernel)(void*, void*);
typedef void (*Yield)();
struct Bounds { unsigned shape; size_t size; size_t share; };
const long long* const words = (const long long*)(code.data);
int* const arrived = (int*)(shared.data);
int* const turn = arrived + 16;
int* const taken = arrived + 32;
const Yield let_others = (Yield)words[1];
// what is handed to a kernel, with a start of its own
long long room[1024];

auto meet = [&]() {
    const int now = __atomic_load_n(turn, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL) == threads) {
        __atomic_store_n(arrived, 0, __ATOMIC_RELAXED);
        for (int t = 0; t < threads; ++t) __atomic_store_n(taken + 16 * t, 0, __ATOMIC_RELAXED);
        __atomic_store_n(turn, now + 1, __ATOMIC_RELEASE);
        return;
    }
    int looks = 0;
    while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) == now) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        // a thread that has no core of its own must not keep the others from theirs
        if (++looks > 4000) {
            let_others();
            looks = 3000;
        }
    }
};
// the chunks of a thread first, then what others have left
auto share = [&](long long chunks, auto work) {
    for (int k = 0; k < threads; ++k) {
        const int t = (thread + k) % threads;
        const long long first = chunks * t / threads, end = chunks * (t + 1) / threads;
        while (true) {
            const long long c = first + __atomic_fetch_add(taken + 16 * t, 1, __ATOMIC_RELAXED);
            if (c >= end) break;
            work(c);
        }
    }
};
const long long* op = words + 8;
while (op[0] != 0) {
    const long long* next = op + 8;
    if (op[0] == 1) {
        const Kernel kernel = (Kernel)op[1];
        const long long bytes = op[4], total = op[5], chunk = op[6], begin = op[7];
        if (chunk == 0) {
            if (thread == 0) kernel((void*)op[2], (void*)op[3]);
        } else {
            const char* given = (const char*)op[3];
            for (long long b = 0; b < bytes; ++b) ((char*)room)[b] = given[b];
            share((total + chunk - 1) / chunk, [&](long long c) {
                const long long first = c * chunk;
                const size_t size = first + chunk > total ? total - first : chunk;
                Bounds bounds = {(unsigned)size, size, 1};
                ((int*)room)[0] = (int)(begin + first);
                kernel(&bounds, room);
            });
        }
    } else if (op[0] == 2) {
        const long long bytes = op[3], chunk = op[4];
        auto copy = [&](long long c) {
            const long long first = c * chunk, end = first + chunk > bytes ? bytes : first + chunk;
            const char* from = (const char*)op[2];
            char* to = (char*)op[1];
            long long b = first;
            for (; b + 8 <= end; b += 8) __builtin_memcpy(to + b, from + b, 8);
            for (; b < end; ++b) to[b] = from[b];
        };
        if (bytes > chunk) share((bytes + chunk - 1) / chunk, copy);
        else if (thread == 0) copy(0);
    } else if (op[0] == 3) {
        meet();
    } else if (op[0] == 4) {
        if (((const int*)op[1])[0] == 0) next = words + op[2];
    } else {
        next = words + op[1];
    }
    op = next;
}
"""
ROOM = 8192
"""Bytes of arguments for which there is room in `_WALK`."""


@wp.func_native(_WALK)
def walk(thread: int, threads: int, code: wp.array(dtype=wp.int64), shared: wp.array(dtype=int)):
    """Do what a program says, together with other threads."""
    ...


@wp.kernel
def run_thread(thread: int, threads: int, code: wp.array(dtype=wp.int64), shared_inout: wp.array(dtype=int)):
    """One of several threads of a program."""
    walk(thread, threads, code, shared_inout)


@functools.cache
def _yield_address() -> int:
    """Where the C library's sched_yield is."""
    return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0


def packed(command: Any) -> ctypes.Structure:
    """The arguments of a recorded launch, laid out as a kernel's entry on the CPU takes them."""
    labels = [arg.label for arg in command.kernel.adj.args]
    values = command.params[1 : 1 + len(labels)]
    kind = type("Arguments", (ctypes.Structure,), {"_fields_": [(n, type(v)) for n, v in zip(labels, values)]})
    return kind(*values)


class Pace:
    """How long a program takes with all threads and with one [s], of late; now and then the slower way is tried, the
    more seldom the slower it was."""

    def __init__(self) -> None:
        self._seconds: dict[bool, float] = {}
        self._runs = 0
        self._tries_at = 10

    def several_are_faster(self) -> bool:
        self._runs += 1
        if len(self._seconds) < 2:
            # the first run warms caches up
            return self._runs != 3
        several, one = self._seconds[True], self._seconds[False]
        tries = self._runs >= self._tries_at
        if tries:
            much = max(several, one) > 1.3 * min(several, one)
            wait = TRY_EVERY if much else TRY_EVERY // 4
            # things change most at the beginning
            self._tries_at = self._runs + min(wait, self._runs)
        return (several < one) != tries

    @contextlib.contextmanager
    def measured(self, several: bool) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        spent = time.perf_counter() - begin
        known = self._seconds.get(several, spent)
        # of the slower way only the last time counts: it is tried seldom, and long ago things were different
        is_slower = known > self._seconds.get(not several, known)
        self._seconds[several] = spent if is_slower else 0.7 * known + 0.3 * spent


class Program:
    """Instructions, put together by `launch`, `copy`, `open_loop` and `open_branch`, each of which is closed.

    Attributes:
        shares: whether some launch is large enough to wake threads for.
        pace: whether that has paid.
    """

    def __init__(self) -> None:
        self.shares = False
        self._words: list[tuple[int, ...]] = [(0, _yield_address())]
        self._kept: list[Any] = []
        # what came since all threads met: nothing, work of the first thread alone, or of several
        self._since = 0
        self._open: list[tuple[int, bool]] = []
        self.pace = Pace()

    def launch(self, command: Any, first: int, size: int, grain: int, splits: bool, threads: int) -> None:
        """A recorded launch; one that splits is cut into chunks of at least so many items."""
        given = packed(command)
        self._kept += [command, given]
        bytes_ = ctypes.sizeof(given)
        chunk = 0
        if splits and threads > 1 and size >= 2 * grain and bytes_ <= ROOM:
            chunk = max(grain, -(-size // (CHUNKS * threads)))
        self._wait_for(2 if chunk else 1)
        kernel = ctypes.cast(command.hooks.forward, ctypes.c_void_p).value or 0
        where = (ctypes.addressof(command.bounds), ctypes.addressof(given))
        self._words.append((LAUNCH, kernel, *where, bytes_, size, chunk, first))

    def copy(self, target: int, source: int, size: int, keep: Any) -> None:
        """Copy so many bytes."""
        self._kept.append(keep)
        self._wait_for(2 if size > COPY_CHUNK else 1)
        self._words.append((COPY, target, source, size, COPY_CHUNK))

    def open(self, flag: wp.array, repeats: bool) -> None:
        """What follows up to `close` is done if a flag is not zero, or again and again while it is not."""
        self._kept.append(flag)
        self._wait_for(2)
        self._since = 2
        self._open.append((len(self._words), repeats))
        self._words.append((UNLESS, flag.ptr, 0))

    def close(self) -> None:
        begin, repeats = self._open.pop()
        if repeats:
            self._wait_for(2)
            self._since = 0
            self._words.append((JUMP, WORDS * begin))
        self._words[begin] = (UNLESS, self._words[begin][1], WORDS * len(self._words))
        self._since = 2

    def _wait_for(self, kind: int) -> None:
        """Let all threads meet, unless only the first one has worked since then and goes on alone."""
        if self._since and (self._since == 2 or kind == 2):
            self._words.append((MEET,))
            self._since = 0
        self._since = max(self._since, kind)

    def finish(self, threads: int) -> None:
        """The last instruction; after it the program can run."""
        self._since = 2
        self._wait_for(2)
        rows = [(*row, *(0,) * (WORDS - len(row))) for row in (*self._words, (END,))]
        self._code = wp.array(np.array(rows, np.int64).reshape(-1), dtype=wp.int64, device="cpu")
        self._shared = wp.zeros(LINE * (2 + threads), dtype=int, device="cpu")
        self._parts = {count: self._threads(count) for count in {1, threads}}

    def _threads(self, count: int) -> list[Any]:
        commands = []
        for thread in range(count):
            given = [thread, count, self._code, self._shared]
            commands.append(wp.launch(run_thread, 1, inputs=given, device="cpu", record_cmd=True))
        self._kept += commands
        return [command.launch for command in commands]

    def parts(self, threads: int) -> Sequence[Any]:
        """What each of so many threads has to call: one, or as many as `finish` was told."""
        return self._parts[threads]


@wp.kernel
def _add_one(start: int, values: wp.array(dtype=int), limit: int, flag_out: wp.array(dtype=int)):
    i = start + wp.tid()
    values[i] = values[i] + 1
    if i == 0 and values[0] == limit:
        flag_out[0] = 0


@functools.cache
def works() -> bool:
    """Whether programs do what they should here: they rely on how this version of Warp calls kernels on the CPU."""
    try:
        values, flag = wp.zeros(1000, dtype=int, device="cpu"), wp.ones(1, dtype=int, device="cpu")
        target = wp.zeros_like(values)
        command = wp.launch(_add_one, 1000, inputs=[0, values, 3, flag], device="cpu", record_cmd=True)
        program = Program()
        program.open(flag, repeats=True)
        program.launch(command, 0, 1000, 100, True, 2)
        program.close()
        program.copy(target.ptr, values.ptr, 4000, (target, values))
        program.finish(2)
        program.parts(1)[0]()
        return bool((target.numpy() == 3).all())
    except Exception:  # whatever it is, Python can replay too
        return False
