"""Options of the studio's server."""

from __future__ import annotations

import dataclasses

from pliant.settings import Described, setting


@dataclasses.dataclass(frozen=True)
class StudioOptions(Described):
    """Where the studio listens, who may come in, and how much they may ask for."""

    host: str = setting("127.0.0.1", "address to listen on; anything but this machine's own needs a token")
    port: int = setting(8080, "port to listen on; 0: any that is free", low=0, high=65535)
    token: str | None = setting(None, "secret that the link must carry; made up where one is needed and none is given")
    clients: int = setting(64, "pages that may watch at the same time", low=1, high=1000)
    upload_mb: int = setting(64, "largest file that may be uploaded", unit="MB", low=1, high=4096)
    upload_seconds: float = setting(
        60.0, "longest time for reading and preparing an uploaded file", unit="s", above=0.0, high=3600.0
    )
    upload_memory_mb: int = setting(
        8192, "most memory for reading and preparing an uploaded file", unit="MB", low=512, high=1_000_000
    )
    uploads_mb: int = setting(2048, "room for all uploaded files together", unit="MB", low=1, high=1_000_000)
