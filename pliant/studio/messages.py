"""The stream's messages: a short head, a header in JSON, and arrays as they lie in memory.

A message is

    magic     4 bytes, ``PLS1``
    kind      u32, little-endian: `SCENE`, `FRAME` or `NOTE`
    length    u32: bytes of the header
    zero      u32
    header    UTF-8 JSON, padded with blanks so that the payload starts at a multiple of 16
    payload   the sections, each starting at a multiple of 4

The header's ``sections`` says where each array lies: ``{name: [offset in the payload, bytes]}``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.errors import InputError

MAGIC = b"PLS1"
SCENE, FRAME, NOTE = 1, 2, 3
KINDS = (SCENE, FRAME, NOTE)
HEAD = struct.Struct("<4sIII")
ALIGN = 16


def encode(kind: int, header: Mapping[str, Any], sections: Mapping[str, np.ndarray] | None = None) -> bytes:
    """A message.

    Args:
        kind: `SCENE`, `FRAME` or `NOTE`.
        header: what JSON can hold; numbers must be finite.
        sections: arrays by name; they are sent as they lie in memory.
    """
    pieces: list[Any] = []
    places: dict[str, list[int]] = {}
    offset = 0
    for name, array in (sections or {}).items():
        # bytes where they lie: joining them is the only copy
        piece = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        places[name] = [offset, len(piece)]
        padding = -len(piece) % 4
        pieces += [piece, b"\0" * padding]
        offset += len(piece) + padding
    whole = {**header, "sections": places} if sections is not None else dict(header)
    text = json.dumps(whole, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-(HEAD.size + len(text)) % ALIGN)
    return b"".join([HEAD.pack(MAGIC, kind, len(text), 0), text, *pieces])


def decode(data: bytes | memoryview) -> tuple[int, dict[str, Any], dict[str, memoryview]]:
    """Kind, header and sections of a message; the sections are views of the data."""
    view = memoryview(data)
    if len(view) < HEAD.size:
        raise _refused(f"a message of {len(view)} bytes")
    magic, kind, length, _ = HEAD.unpack_from(view)
    if magic != MAGIC or kind not in KINDS or HEAD.size + length > len(view):
        raise _refused(f"a message that begins with {bytes(view[: HEAD.size])!r}")
    payload = view[HEAD.size + length :]
    try:
        header = json.loads(bytes(view[HEAD.size : HEAD.size + length]))
        places = header.get("sections", {}).items()
        sections = {name: payload[offset : offset + size] for name, (offset, size) in places}
    except (ValueError, TypeError, AttributeError) as error:
        raise _refused("a header that is not understood") from error
    if any(len(sections[name]) != size for name, (_, size) in places):
        raise _refused("a message that is cut off")
    return kind, header, sections


def changed(data: bytes, changes: Mapping[str, Any]) -> bytes:
    """The same message with some values of its header changed."""
    _, _, length, _ = HEAD.unpack_from(data)
    kind, header, _ = decode(data)
    text = json.dumps({**header, **changes}, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-(HEAD.size + len(text)) % ALIGN)
    return b"".join([HEAD.pack(MAGIC, kind, len(text), 0), text, data[HEAD.size + length :]])


def note(**content: Any) -> bytes:
    """A message without arrays."""
    return encode(NOTE, content)


def _refused(what: str) -> InputError:
    return InputError(what, "stream", "Both ends must run the same version of Pliant")
