"""Meshes that a page sends: stored under a safe name, then read and prepared in a process of their own.

The file's bytes are the body of ``POST /upload?name=bunny.obj``; further parameters are those of `PrepareSettings`,
such as ``size`` or ``tets``. The server itself never reads what was sent: a child does (upload_child.py), with a limit
on its time and memory. Until it is done everything lies in a hidden folder, which is removed whatever happens.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from pliant.errors import InputError, PliantError
from pliant.files import cannot_write, sync_folder
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.prepared import SUFFIX
from pliant.studio.options import StudioOptions
from pliant.studio.upload_request import RefusedError, safe_name, settings_of, suffixes

MB = 1 << 20
MOST_CHILDREN = 2
"""Files prepared at the same time; others wait."""
MOST_UPLOADS = 16
"""Uploads under way, those that wait included; others are refused."""
LONGEST_PAUSE = 30.0
"""How long a sender may send nothing [s]."""
MOST_ANSWER = 1 << 20
"""Bytes that a child may answer."""
INCOMING = ".incoming-"


class Uploads:
    """The folder of uploaded files, and the work on those that arrive.

    Attributes:
        folder: where they are kept.
        shown: what the answer's names begin with: the folder's name, so that they are relative to the project.
    """

    def __init__(self, folder: Path, options: StudioOptions):
        self.folder = Path(folder)
        self.shown = self.folder.name
        self.options = options
        self._children = asyncio.Semaphore(MOST_CHILDREN)
        self._under_way = 0
        self._arriving = 0
        with contextlib.suppress(OSError):
            # Left by a server that was killed.
            for left in self.folder.glob(f"{INCOMING}*"):
                shutil.rmtree(left, ignore_errors=True)

    async def handle(self, request: Request) -> Response:
        """Answer one upload."""
        try:
            return JSONResponse(await self._accept(request))
        except InputError as error:
            status = error.status if isinstance(error, RefusedError) else 422
            body = {"what": error.what, "where": error.where, "remedy": error.remedy}
        except ClientDisconnect:
            return Response(status_code=499)
        # What was not read of the body would be taken for the next request.
        return JSONResponse({"error": body}, status_code=status, headers={"connection": "close"})

    async def _accept(self, request: Request) -> dict[str, Any]:
        query = dict(request.query_params)
        if request.headers.get("content-type", "").lower().startswith("multipart/"):
            raise RefusedError(
                415, "a form was sent", "upload", "Send the bytes of the file alone, with ?name=bunny.obj"
            )
        stem, suffix = safe_name(query.pop("name", ""))
        settings = settings_of(query, self.options)
        self._check_size(int(length) if (length := request.headers.get("content-length", "0")).isdecimal() else 0)
        if self._under_way >= MOST_UPLOADS:
            raise RefusedError(503, f"{MOST_UPLOADS} files are being worked on", "upload", "Wait and send it again")
        self._under_way += 1
        incoming = None
        try:
            incoming = self._make_incoming()
            path = incoming / f"{stem}{suffix}"
            await self._store(request.stream(), path)
            async with self._children:
                answer = await self._prepare(path, settings)
            return await asyncio.to_thread(self._keep, path, answer)
        except OSError as error:
            raise _as_refused(cannot_write(self.shown, error)) from error
        finally:
            self._under_way -= 1
            if incoming is not None:
                shutil.rmtree(incoming, ignore_errors=True)

    def _make_incoming(self) -> Path:
        if self.folder.is_symlink():
            raise RefusedError(507, "the folder is a link", self.shown, "Make it a folder of its own")
        self.folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=INCOMING, dir=self.folder))

    def _check_size(self, size: int) -> None:
        if size > self.options.upload_mb * MB:
            most = self.options.upload_mb
            raise RefusedError(
                413, f"the file is larger than {most} MB", "upload", "Send a smaller one, or raise upload_mb"
            )

    def _room(self) -> int:
        """Bytes that may still be stored."""
        used = 0
        with contextlib.suppress(OSError):
            used = sum(each.stat().st_size for each in self.folder.iterdir() if each.is_file())
        return self.options.uploads_mb * MB - used

    async def _store(self, chunks: AsyncIterator[bytes], path: Path) -> None:
        """Write what arrives to a file, as long as there is room."""
        room = self._room()
        size = 0
        source = aiter(chunks)
        try:
            with open(path, "xb") as file:
                while True:
                    try:
                        chunk = await asyncio.wait_for(anext(source), LONGEST_PAUSE)
                    except StopAsyncIteration:
                        break
                    except TimeoutError:
                        raise RefusedError(
                            408, f"nothing came for {LONGEST_PAUSE:.0f} s", "upload", "Send the file again"
                        ) from None
                    size += len(chunk)
                    self._arriving += len(chunk)
                    self._check_size(size)
                    if self._arriving > room:
                        what = f"the folder holds {self.options.uploads_mb} MB already"
                        raise RefusedError(507, what, self.shown, "Remove files from it, or raise uploads_mb")
                    file.write(chunk)
        finally:
            self._arriving -= size
        if not size:
            raise RefusedError(422, "the file is empty", path.name, "Send the bytes of a mesh")

    async def _prepare(self, path: Path, settings: PrepareSettings) -> dict[str, Any]:
        """What the child found; ended with everything that it started when it takes too long or is not wanted."""
        given = {**dataclasses.asdict(settings), "memory_mb": self.options.upload_memory_mb}
        given["seconds"] = self.options.upload_seconds
        paths = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
        # The work is done on the CPU: a driver asks for more addresses than the child may have.
        environment = {**os.environ, "PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""}
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "pliant.studio.upload_child", path.name, json.dumps(given)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=path.parent,
            env=environment,
            start_new_session=True,
        )
        try:
            assert child.stdout is not None
            answer = await asyncio.wait_for(_read_all(child.stdout), self.options.upload_seconds)
            code = await asyncio.wait_for(child.wait(), 5.0)
        except TimeoutError:
            raise RefusedError(
                422,
                f"it was not ready after {self.options.upload_seconds:g} s",
                path.name,
                "Send a simpler mesh, ask for fewer tets, or raise upload_seconds",
            ) from None
        finally:
            await _end(child)
        return _understood(answer, code, path.name)

    def _keep(self, path: Path, answer: dict[str, Any]) -> dict[str, Any]:
        """Move the mesh and its body out of the hidden folder; the same content twice is kept once."""
        kept = {"mesh": self._move(path)}
        prepared = path.parent / str(answer.pop("prepared"))
        kept["file"] = kept["mesh"] if prepared == path else self._move(prepared)
        sync_folder(self.folder)
        return {**kept, **answer}

    def _move(self, path: Path) -> str:
        """Move a file into the folder, under a name that is free or that holds the very same."""
        suffix = next((each for each in sorted(suffixes(), key=len, reverse=True) if path.name.endswith(each)), "")
        stem = path.name.removesuffix(suffix)
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        for number in range(1, 10_000):
            name = f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}"
            target = self.folder / name
            try:
                # The name is taken first, so that nothing that is there is ever replaced.
                os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
                os.replace(path, target)
                return f"{self.shown}/{name}"
            except FileExistsError:
                if not target.is_symlink() and target.is_file() and _same_content(path, target):
                    return f"{self.shown}/{name}"
        raise RefusedError(507, f"there are too many files named {stem}", self.shown, "Send it under another name")


async def _read_all(stream: asyncio.StreamReader) -> bytes:
    """All that a child says; what is beyond the limit makes no sense and is thrown away."""
    pieces, size = [], 0
    while piece := await stream.read(1 << 16):
        size += len(piece)
        if size <= MOST_ANSWER:
            pieces.append(piece)
    return b"".join(pieces) if size <= MOST_ANSWER else b""


async def _end(child: asyncio.subprocess.Process) -> None:
    """Kill what is left of a child's group, and collect it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(child.wait(), 5.0)


def _understood(answer: bytes, code: int, name: str) -> dict[str, Any]:
    """A child's answer, checked; an error where it failed or makes no sense."""
    try:
        found = json.loads(answer)
        error = found.get("error")
        known = error is not None or found["prepared"] in (name, f"{_stem(name)}{SUFFIX}")
    except (ValueError, TypeError, KeyError, AttributeError):
        known, error = False, None
    if known and isinstance(error, dict):
        raise RefusedError(422, *(str(error.get(key, "")) for key in ("what", "where", "remedy")))
    if known and error is None:
        return found
    how = f"signal {-code}" if code < 0 else f"exit {code}"
    raise RefusedError(422, f"its reader failed ({how})", name, "The file is damaged or needs too much memory")


def _stem(name: str) -> str:
    return safe_name(name)[0]


def _as_refused(error: PliantError) -> RefusedError:
    assert isinstance(error, InputError)
    return RefusedError(507, error.what, error.where, error.remedy)


def _same_content(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    with open(one, "rb") as a, open(other, "rb") as b:
        while piece := a.read(1 << 20):
            if piece != b.read(1 << 20):
                return False
    return True


def add_uploads(app: Any, folder: Path, options: StudioOptions, path: str = "/upload") -> Uploads:
    """Take uploaded meshes at a path.

    Args:
        app: a Starlette or FastAPI application.
        folder: where they are kept; made when the first arrives.
        options: limits of size, time, memory and room.
        path: of the route.
    """
    uploads = Uploads(folder, options)
    app.router.add_route(path, uploads.handle, methods=["POST"])
    return uploads
