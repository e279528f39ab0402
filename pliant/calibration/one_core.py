"""Matrices on one core: small ones are faster so, most of all on a busy machine, and their sums have one order."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")
_guard = threading.Lock()
_inside = 0
_before = 1


@functools.cache
def _controls() -> tuple[Callable, Callable] | None:
    """How the library that came with NumPy is asked for its number of threads, and told; None where it is another."""
    package = Path(np.__file__).parent
    for path in sorted([*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")]):
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(str(path))
            for name in NAMES:
                found = [getattr(library, name.format(verb), None) for verb in ("get", "set")]
                if None not in found:
                    return found[0], found[1]  # type: ignore[return-value]
    return None


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Let matrices be computed by one core for a while, where that can be said."""
    global _inside, _before
    controls = _controls()
    if controls is None:
        yield
        return
    get, put = controls
    with _guard:
        if _inside == 0:
            _before = int(get())
            put(1)
        _inside += 1
    try:
        yield
    finally:
        with _guard:
            _inside -= 1
            if _inside == 0:
                put(_before)
