"""Files read by a library in a process of its own: a damaged file may hang or crash it, and that harms nobody there.

`read_in_child` is for the parent. The child runs this very file as a program: python -P child_reader.py READER FILE,
where READER is a Python file with a function ``read(path)`` that returns dictionaries, lists, texts, numbers and
arrays. These come back as JSON, with the arrays' bytes behind it: nothing that the child says is executed. This file
imports nothing heavy, so that the child starts at once.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pliant.errors import InputError, MissingExtraError

LONGEST = 120
"""How long a library may take for a file [s]."""
MOST_BYTES = 16 << 30
"""Memory the child may ask for: a damaged count may ask for all there is."""
MOST_SAID = 1 << 20
"""Bytes of warnings that the child may write."""
WORD = 8
"""Bytes of each of the two lengths that an answer starts with: of the JSON, and of the arrays."""
AGAIN = "The file was cut short or is damaged: write or fetch it again"


def read_in_child(reader: str, path: Path, library: str, missing: MissingExtraError) -> tuple[dict[str, Any], str]:
    """What a reader finds in a file, and what the library wrote to the standard error meanwhile.

    Args:
        reader: the Python file with the function ``read``, beside this one.
        path: of the file to read.
        library: its name, for messages.
        missing: raised when the child cannot import it.

    Raises:
        InputError: from the reader; or one that says that the library crashed, hung or failed.
    """
    here = Path(__file__)
    command = [sys.executable, "-P", str(here), str(here.parent / reader), str(path)]
    # The child has to find the same packages, whatever was added to the path since the start.
    paths = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    with tempfile.TemporaryFile() as said:
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                timeout=LONGEST,
                check=False,
                env={**os.environ, "PYTHONPATH": paths},
            )
        except subprocess.TimeoutExpired:
            raise _failed(library, f"it was not done after {LONGEST} s", path) from None
        except OSError as error:
            raise InputError(
                f"{library} cannot be started ({error.strerror or error})", str(path), "Free memory and try again"
            ) from None
        said.seek(0)
        text = said.read(MOST_SAID).decode("utf-8", errors="replace")
    if done.returncode:
        raise _failed(library, _ending(done.returncode), path)
    try:
        answer = _unpacked(done.stdout)
    except (ValueError, TypeError, KeyError):
        raise _failed(library, "what it gave back makes no sense", path) from None
    if answer.get("missing"):
        raise missing
    if "refused" in answer:
        raise InputError(*answer["refused"])
    if "error" in answer:
        raise _failed(library, answer["error"], path)
    return answer["content"], text


def _failed(library: str, reason: str, path: Path) -> InputError:
    return InputError(f"{library} cannot read it ({reason})", str(path), AGAIN)


def _ending(code: int) -> str:
    """In words how a child ended that gave no answer."""
    try:
        return f"it crashed: {signal.Signals(-code).name}"
    except ValueError:
        return f"it ended with {code}"


def _unpacked(answer: bytes) -> dict[str, Any]:
    """The answer of a child; ValueError when it is not whole."""
    import numpy as np

    length, size = (int.from_bytes(answer[at : at + WORD], "little") for at in (0, WORD))
    start = 2 * WORD + length
    if len(answer) != start + size:
        raise ValueError(f"{len(answer)} bytes of {start + size}")

    def as_array(found: dict[str, Any]) -> Any:
        if "array of" not in found:
            return found
        kind, shape, at = found["array of"], tuple(found["shape"]), found["at"]
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(answer, np.dtype(kind), count, start + at).reshape(shape)

    found = json.loads(answer[2 * WORD : start], object_hook=as_array)
    if not isinstance(found, dict):
        raise ValueError(f"{type(found).__name__} instead of a dictionary")
    return found


def _packed(answer: dict[str, Any]) -> list[bytes]:
    """An answer as bytes, to be written one after the other: two lengths, the JSON, the arrays."""
    blocks: list[bytes] = []
    size = 0

    def place_of(value: Any) -> dict[str, Any]:
        nonlocal size
        view = memoryview(value)
        blocks.append(view.tobytes())
        found = {"array of": view.format, "shape": view.shape, "at": size}
        size += len(blocks[-1])
        return found

    text = json.dumps(answer, default=place_of).encode()
    return [len(text).to_bytes(WORD, "little"), size.to_bytes(WORD, "little"), text, *blocks]


def _answer(reader: str, path: str) -> dict[str, Any]:
    """What the reader found, or why it did not."""
    try:
        return {"content": runpy.run_path(reader)["read"](path)}
    except InputError as error:
        return {"refused": [error.what, error.where, error.remedy]}
    except ImportError:
        return {"missing": True}
    except Exception as error:
        return {"error": " ".join(str(error).split())[:200] or type(error).__name__}


def main(reader: str, path: str) -> None:
    """The child: read the file and write the answer to the standard output, where the library cannot write."""
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        import resource
    except ImportError:
        pass
    else:
        for limit, most in (
            (resource.RLIMIT_AS, MOST_BYTES),
            (resource.RLIMIT_FSIZE, MOST_SAID),
            (resource.RLIMIT_CORE, 0),
        ):
            highest = resource.getrlimit(limit)[1]
            resource.setrlimit(limit, (most if highest == resource.RLIM_INFINITY else min(most, highest), highest))
    answer = _packed(_answer(reader, path))
    with open(output, "wb") as file:
        file.writelines(answer)
        file.flush()
        # A library that was shaken by the file may crash when it is taken down.
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
