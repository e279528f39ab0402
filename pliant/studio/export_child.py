"""Exports a recording in a process of its own: told what to do on standard input, tells how far it is on output."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from pliant.errors import PliantError
from pliant.files import replace_path
from pliant.render.camera import Camera
from pliant.run import film_settings, make_film, open_recording
from pliant.run.export import export_recording

FILMS = ("mp4", "gif", "webp")


def main() -> int:
    request = json.loads(sys.stdin.read())
    try:
        export(request)
    except PliantError as error:
        _tell(error=str(error))
        return 1
    _tell(done=1.0)
    return 0


def export(request: dict[str, Any]) -> None:
    """Write the file that was asked for; one file always, so that a browser can take it."""
    target, kind = Path(request["target"]), request["kind"]
    with open_recording(request["recording"]) as reader:
        if kind in FILMS:
            if request["camera"] is not None:
                eye = request["camera"]
                camera = Camera(eye["eye"], eye["target"], eye["up"], eye["fov"])
                reader.meta["camera"] = dataclasses.asdict(camera)
            make_film(reader, target, None, film_settings(reader), request["device"], report=_progress)
            return
        if target.suffix != ".zip":
            export_recording(reader, target, kind, progress=_progress)
            return
        folder = Path(tempfile.mkdtemp(prefix=".export-", dir=target.parent))
        try:
            made = folder / f"{target.stem}.pc2" if kind == "pc2" else folder
            files = export_recording(reader, made, kind, progress=_progress)
            with replace_path(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in files:
                    archive.write(file, Path(file).relative_to(folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _progress(share: float) -> None:
    _tell(done=round(share, 3))


def _tell(**content: Any) -> None:
    print(json.dumps(content), flush=True)


if __name__ == "__main__":
    sys.exit(main())
