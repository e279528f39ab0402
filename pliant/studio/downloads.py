"""Recordings and exports to download: plain names of one folder."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ ()+-]{0,199}")


def file_in(folder: Path, name: str) -> Path | None:
    """The file of that name in a folder; None unless the name is plain and it is a file and no link."""
    if not PLAIN_NAME.fullmatch(name):
        return None
    path = folder / name
    try:
        return path if stat.S_ISREG(path.lstat().st_mode) else None
    except OSError:
        return None


def add_downloads(app: Any, folder: Path, path: str = "/files") -> None:
    """Serve the files of a folder as attachments at ``path/NAME``.

    Args:
        app: a Starlette or FastAPI application.
        folder: need not exist yet; its sub-folders and links are not served.
        path: where.
    """
    folder = Path(folder)

    async def download(request: Request) -> Response:
        name = request.path_params["name"]
        found = file_in(folder, name)
        if found is None:
            error = {"what": f"there is no file {name!r}", "where": path, "remedy": "Choose one of the list of files"}
            return JSONResponse({"error": error}, status_code=404)
        return FileResponse(
            found, filename=found.name, content_disposition_type="attachment", headers={"cache-control": "no-store"}
        )

    app.router.add_route(f"{path}/{{name:path}}", download, methods=["GET"])
