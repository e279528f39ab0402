"""Reads and prepares one uploaded file, in a process of its own: python -m pliant.studio.upload_child NAME SETTINGS.

NAME lies in the working folder; SETTINGS is JSON with the fields of `PrepareSettings`, ``memory_mb`` and ``seconds``.
The body is written beside the file. JSON on the standard output tells the rest; what libraries print goes to the
standard error.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import signal
import struct
import sys
from pathlib import Path
from typing import Any

from pliant.errors import InputError, PliantError

MB = 1 << 20
LARGEST_FILE = 2 << 30
MOST_LINES = 200
LONGEST_LINE = 500
AFTER = 10
"""Seconds after which the child ends itself, should the server be gone and not do it."""
GLB = b"glTF"


def main(name: str, given: str) -> None:
    """The child."""
    output = os.dup(1)
    os.dup2(2, 1)
    settings = json.loads(given)
    _limit(settings.pop("memory_mb"), settings.pop("seconds"))
    try:
        answer = _work(Path(name), settings)
    except InputError as error:
        answer = _error(error.what, error.where, error.remedy)
    except PliantError as error:
        answer = _error(str(error), name, "")
    except MemoryError:
        answer = _error(
            "it needs more memory than an upload may take", name, "Send a simpler mesh, or ask for fewer tets"
        )
    except Exception as error:
        text = " ".join(str(error).split())[:200] or type(error).__name__
        answer = _error(f"it cannot be used ({text})", name, "The file is damaged: write or fetch it again")
    with open(output, "wb") as file:
        file.write(json.dumps(_finite(answer), allow_nan=False).encode())
        file.flush()
        # A library that was shaken by the file may crash when it is taken down.
        os._exit(0)


def _error(what: str, where: str, remedy: str) -> dict[str, Any]:
    return {"error": {"what": what, "where": where, "remedy": remedy}}


def _limit(memory_mb: int, seconds: float) -> None:
    """No more memory, time and disk than this, for this process and those that it starts."""
    with contextlib.suppress(ImportError):
        import resource

        for limit, most in (
            (resource.RLIMIT_AS, memory_mb * MB),
            (resource.RLIMIT_FSIZE, LARGEST_FILE),
            (resource.RLIMIT_CORE, 0),
        ):
            highest = resource.getrlimit(limit)[1]
            most = most if highest == resource.RLIM_INFINITY else min(most, highest)
            resource.setrlimit(limit, (most, most))
        signal.alarm(math.ceil(seconds) + AFTER)


def _work(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Prepare the file and tell what was found and done."""
    _check_alone(path)
    import numpy as np

    from pliant.mesh.io.source import stem
    from pliant.mesh.prepare import prepare
    from pliant.mesh.prepare_settings import PrepareSettings
    from pliant.mesh.prepared import SUFFIX, write_body
    from pliant.prep import body_lines

    ready = path.suffix.lower() == SUFFIX
    settings = PrepareSettings(**given)
    body = prepare(path, settings)
    prepared = path
    if not ready or settings.size is not None or not settings.skin:
        prepared = Path(f"{stem(path)}{SUFFIX}")
        facts = {key: value for key, value in body.facts.items() if key not in ("seconds", "cached")}
        write_body(dataclasses.replace(body, facts=facts), prepared)
    seen = body.skin if body.skin is not None else body.solid
    extent = np.ptp(seen.vertices, axis=0)
    counts = body.facts.get("counts", {})
    surface = body.facts.get("before", {})
    return {
        "prepared": prepared.name,
        "name": stem(path),
        "kind": body.kind,
        "size": float(extent.max()),
        "extent": [float(value) for value in extent],
        "report": {
            "lines": _short(body_lines(body)),
            "problems": _short(_problems(surface)),
            "repaired": _short(body.facts.get("actions", [])),
            "left": _short(body.facts.get("left", [])),
            "notes": _short(body.notes),
            "vertices": int(counts.get("skin_vertices", counts.get("vertices", len(seen.vertices)))),
            "triangles": int(counts.get("skin_triangles", counts.get("triangles", 0))),
            "particles": int(counts.get("vertices", len(body.solid.vertices))),
            "tets": int(counts.get("tets", 0)),
            "cubes": int(counts.get("cubes", 0)),
        },
    }


def _problems(found: dict[str, Any]) -> list[str]:
    from pliant.mesh.repair.diagnose import Diagnosis

    return Diagnosis.from_dict(found).problems() if found else []


def _check_alone(path: Path) -> None:
    """Refuse a file that names others with shapes in them: an upload is one file, and no name in it may lead on."""
    kind = path.suffix.lower()
    names = _gltf_names(path) if kind in (".gltf", ".glb") else _usd_names(path) if kind.startswith(".usd") else []
    if names:
        raise InputError(
            f"its data lies in another file ({names[0][:80]!r})",
            path.name,
            "Save it as one file, data included: .glb, or a flattened .usd",
        )


def _gltf_names(path: Path) -> list[str]:
    """The files in which a glTF file keeps its data."""
    data = path.read_bytes()
    if data[:4] == GLB and len(data) >= 20:
        (length,) = struct.unpack_from("<I", data, 12)
        data = data[20 : 20 + length]
    try:
        buffers = json.loads(data.decode("utf-8-sig")).get("buffers", [])
        names = [buffer.get("uri") for buffer in buffers]
    except (ValueError, AttributeError, TypeError, RecursionError):
        # The reader says what is wrong with it.
        return []
    return [str(name) for name in names if name and not str(name).startswith("data:")]


def _usd_names(path: Path) -> list[str]:
    """The layers that a USD file is composed of besides its own; those in a .usdz package are its own."""
    try:
        from pxr import Tf, UsdUtils
    except ImportError:
        return []
    try:
        layers, _, unresolved = UsdUtils.ComputeAllDependencies(str(path))
    except Tf.ErrorException:
        return []
    own = str(path.resolve())
    found = [layer.realPath or layer.identifier for layer in layers]
    beside = [name for name in found if name != own and not name.startswith(f"{own}[")]
    return beside + [name for name in unresolved if Path(name).suffix.lower().startswith(".usd")]


def _short(lines: Any) -> list[str]:
    """Lines that a page can show, however many and long they are."""
    return [str(line)[:LONGEST_LINE] for line in list(lines)[:MOST_LINES]]


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    main(*sys.argv[1:])
