"""The bytes behind a glTF scene: the chunks of a ``.glb`` file, buffers, and the arrays in them."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from pliant.errors import InputError
from pliant.mesh.io import source

WHAT = "a glTF 2.0 scene"
COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
MOST_VALUES = 1 << 28
"""Rows of an accessor beyond which a file is taken to be damaged."""


def chunks(data: bytes, path: Path) -> tuple[bytes, bytes | None]:
    """The JSON text and the binary part of a file."""
    if not data.startswith(b"glTF"):
        return data, None
    version, size = (int.from_bytes(data[at : at + 4], "little") for at in (4, 8))
    if version != 2:
        raise InputError(f"is glTF version {version}", f"{path}, byte 4", "Save it as glTF 2.0")
    if size > len(data):
        raise InputError(
            f"announces {size} bytes and has {len(data)}: the file was cut short", f"{path}, byte {len(data)}",
            "Write or fetch it again",
        )  # fmt: skip
    found: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= size:
        length, kind = int.from_bytes(data[at : at + 4], "little"), data[at + 4 : at + 8]
        if at + 8 + length > size:
            raise InputError(
                f"a chunk of {length} bytes does not fit into the file", f"{path}, byte {at}", "Write or fetch it again"
            )
        found.setdefault(kind, data[at + 8 : at + 8 + length])
        at += 8 + length
    if b"JSON" not in found:
        raise InputError("has no JSON chunk", f"{path}, byte 12", f"Give {WHAT}")
    return found[b"JSON"], found.get(b"BIN\0")


def load_buffers(scene: Any, blob: bytes | None, path: Path) -> list[np.ndarray]:
    """Bytes of each buffer."""
    found = []
    for number, buffer in enumerate(scene.buffers or []):
        where = f"{path}, buffer {number}"
        if not buffer.uri:
            data = blob
            if data is None:
                raise InputError("has no bytes: the binary chunk is missing", where, "Write or fetch the file again")
        elif buffer.uri.startswith("data:"):
            try:
                data = base64.b64decode(buffer.uri.partition(",")[2], validate=True)
            except (binascii.Error, ValueError) as error:
                raise InputError(f"is not valid base64 ({error})", where, "Write or fetch the file again") from None
        else:
            data = source.load(path.parent / unquote(buffer.uri), f"the buffer of {path.name}")
        if len(data) < buffer.byteLength:
            raise InputError(
                f"has {len(data)} bytes of {buffer.byteLength}: it was cut short", where, "Write or fetch it again"
            )
        found.append(np.frombuffer(data, np.uint8))
    return found


def accessor_values(scene: Any, number: int, buffers: list[np.ndarray], path: Path) -> np.ndarray:
    """The values of an accessor (n, width), whole numbers that stand for 0 to 1 turned into that."""
    where = f"{path}, accessor {number}"
    try:
        accessor = scene.accessors[number]
        layout, width = np.dtype(COMPONENTS[accessor.componentType]), WIDTHS[accessor.type]
    except (IndexError, KeyError, TypeError):
        raise InputError("is missing or of no known type", where, f"Give {WHAT}") from None
    if accessor.sparse is not None:
        raise InputError("is sparse, which is not read", where, "Save it without sparse accessors")
    if not 0 <= accessor.count <= MOST_VALUES:
        raise InputError(f"announces {accessor.count} values", where, "Write or fetch the file again")
    if accessor.bufferView is None:
        return np.zeros((accessor.count, width))
    try:
        view = scene.bufferViews[accessor.bufferView]
        data = buffers[view.buffer]
    except (IndexError, TypeError):
        raise InputError("names a buffer that is not there", where, f"Give {WHAT}") from None
    row = layout.itemsize * width
    stride = view.byteStride or row
    start = (view.byteOffset or 0) + (accessor.byteOffset or 0)
    end = start + stride * (accessor.count - 1) + row if accessor.count else start
    if end > len(data) or start < 0 or stride < row:
        raise InputError(
            f"ends at byte {end} of a buffer of {len(data)} bytes", where, "The file was cut short: write it again"
        )
    strided = np.lib.stride_tricks.as_strided(data[start:], (accessor.count, row), (stride, 1))
    values = np.ascontiguousarray(strided).view(layout).reshape(accessor.count, width)
    if accessor.normalized and layout.kind in "iu":
        return np.maximum(values / float(np.iinfo(layout).max), -1.0)
    return values
