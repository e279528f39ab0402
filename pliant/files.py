"""Files appear under their name only when they are whole: written beside it, then renamed."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pliant.errors import InputError

LONGEST_NAME = 80


def cannot_write(path: str | os.PathLike, error: OSError) -> InputError:
    """The error for a place that cannot be written to, with the system's reason."""
    return InputError(
        f"cannot write here ({error.strerror or error})",
        str(path),
        "Choose a folder you may write to, on a disk with room left",
    )


def make_parent(path: str | os.PathLike) -> Path:
    """Make the folder that ``path`` lies in, and check that ``path`` itself is not a folder."""
    path = Path(path)
    if os.path.isdir(path):
        raise InputError("this is a folder, not a file name", str(path), "Give a file name inside it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    return path


def sync_folder(folder: Path) -> None:
    """Make a rename inside ``folder`` outlast a power cut, where the system offers it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def replace_path(path: str | os.PathLike) -> Iterator[Path]:
    """A temporary name beside ``path`` for a writer that wants a name.

    On success what was written there replaces ``path`` at once; on failure it is removed and an old
    ``path`` stays as it was.
    """
    path = make_parent(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # Made now, so that a place that cannot be written to is found before the work and not after it.
        open(temporary, "wb").close()
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        # Gone already after a rename; anything else is the remains of a failure.
        with contextlib.suppress(OSError):
            temporary.unlink()


@contextlib.contextmanager
def replace_file(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """An open binary file that becomes ``path`` on success and vanishes on failure."""
    with replace_path(path) as temporary, open(temporary, "wb") as file:
        yield file


def write_json(path: str | os.PathLike, data: Any) -> None:
    """Write plain data as JSON; numbers that are not finite become null."""
    with replace_file(path) as file:
        file.write((json.dumps(_plain(data), indent=1, allow_nan=False) + "\n").encode())


def _plain(data: Any) -> Any:
    """Plain data without numbers that JSON does not have."""
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if hasattr(data, "tolist"):
        return _plain(data.tolist())
    return None if isinstance(data, float) and not math.isfinite(data) else data


def safe_names(names: Iterable[str], spare: str = "body") -> list[str]:
    """A file name for each of these, safe on every system, no two alike where case does not count."""
    found: list[str] = []
    taken: set[str] = set()
    for k, given in enumerate(names):
        name = re.sub(r"[^\w.+-]+", "_", given).strip("._")[:LONGEST_NAME] or f"{spare}{k}"
        plain, number = name, 2
        while name.casefold() in taken:
            name, number = f"{plain}_{number}", number + 1
        taken.add(name.casefold())
        found.append(name)
    return found
