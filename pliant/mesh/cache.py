"""Results of long work on meshes, kept on disk under a fingerprint of what they were made from.

The folder is `$PLIANT_CACHE`, or `pliant` in the user's cache folder; `PLIANT_CACHE=off` switches it off. A cache never
stops anything: what cannot be read or written is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError

LARGEST = 2 << 30
"""Bytes that are kept; beyond this what was not used for the longest time goes first."""
SETTLED = 60.0
"""Seconds for which a file is left alone when room is made: another program may be about to read it."""
KEPT = re.compile(r"[0-9a-f]{64}\.\w+")
"""Names of the files that are ours: no other is ever removed."""


def folder() -> Path | None:
    """Where results are kept; None if they are not."""
    given = os.environ.get("PLIANT_CACHE", "")
    if given.lower() in ("off", "0", "no"):
        return None
    if given:
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "pliant"


def fingerprint(*parts: Any) -> str:
    """SHA-256 of arrays, bytes, texts, numbers and what JSON can hold of them."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"array {part.dtype.str} {part.shape}\n".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        elif isinstance(part, bytes):
            digest.update(f"bytes {len(part)}\n".encode() + part)
        else:
            text = json.dumps(part, sort_keys=True).encode()
            digest.update(f"text {len(text)}\n".encode() + text)
    return digest.hexdigest()


def find(key: str, suffix: str) -> Path | None:
    """The kept file of a fingerprint, marked as used now; None if there is none."""
    place = folder()
    if place is None:
        return None
    path = place / f"{key}{suffix}"
    try:
        os.utime(path)
    except (OSError, ValueError):
        return None
    return path


def path_for(key: str, suffix: str) -> Path | None:
    """Where to keep the file of a fingerprint; None if nothing can be kept."""
    place = folder()
    if place is None:
        return None
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    make_room(place)
    return place / f"{key}{suffix}"


def drop(path: Path) -> None:
    """Remove a kept file that turned out to be damaged."""
    with contextlib.suppress(OSError):
        path.unlink()


def make_room(place: Path, largest: int = LARGEST) -> int:
    """Remove the files used longest ago until the rest fits; returns how many went."""
    files = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            with contextlib.suppress(OSError):
                if KEPT.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    status = entry.stat()
                    files.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    removed = 0
    for used, size, path in sorted(files):
        if total <= largest or used > time.time() - SETTLED:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
            removed += 1
        total -= size
    return removed


def clear() -> int:
    """Remove everything kept; returns how many files went."""
    place = folder()
    if place is None or not place.is_dir():
        return 0
    removed = 0
    for path in sorted(place.iterdir()):
        if KEPT.fullmatch(path.name) and path.is_file():
            try:
                path.unlink()
            except OSError as error:
                raise InputError(f"cannot be removed ({error.strerror})", str(path), "Remove it by hand") from error
            removed += 1
    return removed
