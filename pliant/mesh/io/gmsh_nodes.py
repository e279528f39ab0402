"""The node numbers of a Gmsh file, looked at before meshio makes a table as long as the largest of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pliant.errors import InputError

HEADER = re.compile(rb"\$MeshFormat\s+(\d+(?:\.\d+)?)\s+([01])\s+(\d+)")
ALWAYS_FINE = 10_000_000
SPARSE = 100
"""Node numbers may have gaps: a number is wild beyond `ALWAYS_FINE` and this many times the number of nodes."""


def check_node_numbers(path: Path, data: bytes) -> None:
    """Raise for a node number that only a damaged file can have; what is damaged otherwise is left to meshio."""
    header = HEADER.search(data)
    start, end = data.find(b"$Nodes"), data.find(b"$EndNodes")
    if header is None or not 0 <= start < end:
        return
    start = data.find(b"\n", start) + 1
    binary = header[2] == b"1"
    try:
        if header[1].startswith(b"4"):
            found = _binary_blocks(data, start) if binary else _text_blocks(data[start:end])
        elif binary:
            # meshio itself asks for the numbers 1, 2, 3...
            return
        else:
            found = _text(data[start:end])[1:].reshape(-1, 4)[:, 0]
    except ValueError:
        return
    if len(found) and not found.max() <= max(ALWAYS_FINE, SPARSE * len(found)):
        raise InputError(
            f"has a node with the number {found.max():.17g}, though there are only {len(found)} nodes",
            str(path),
            "Write it again: it may be damaged; in Gmsh, renumber the nodes before saving",
        )


def _text(data: bytes) -> np.ndarray:
    return np.array(data.split(), dtype=np.float64)


def _text_blocks(data: bytes) -> np.ndarray:
    """Node numbers of a version 4.1 text file: blocks of 'dim tag parametric n', n numbers and n positions."""
    values = _text(data)
    at, found = 4, []
    for _ in range(int(values[0]) if len(values) > 3 else 0):
        if at + 4 > len(values) or not 0 <= values[at + 3] <= len(values):
            break
        count = int(values[at + 3])
        found.append(values[at + 4 : at + 4 + count])
        at += 4 + 4 * count
    return np.concatenate([np.zeros(0), *found])


def _binary_blocks(data: bytes, at: int) -> np.ndarray:
    """Node numbers of a version 4.1 binary file: the same blocks as three int32, one and n uint64, 3 n float64."""
    blocks, announced = np.frombuffer(data, np.uint64, 2, at)
    if int(announced) * 32 > len(data):
        # More than the file can hold; meshio would make room for them.
        return np.array([np.inf])
    at, found = at + 32, []
    for _ in range(int(blocks)):
        count = int(np.frombuffer(data, np.uint64, 1, at + 12)[0])
        found.append(np.frombuffer(data, np.uint64, min(count, len(data)), at + 20).astype(np.float64))
        at += 20 + 32 * count
    return np.concatenate([np.zeros(0), *found])
