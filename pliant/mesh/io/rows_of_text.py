"""Rows of numbers as text, in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

BLOCK = 1 << 16
"""Rows turned into text at once."""


def float_rows(rows: np.ndarray, start: str = "", between: str = " ", end: str = "\n") -> Iterator[bytes]:
    """Lines of numbers, each as short as it reads back exactly.

    Args:
        rows: (n, c); a float32 array is written with the digits that float32 needs.
        start: of each line.
        between: numbers.
        end: of each line.
    """
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        if block.dtype == np.float32:
            lines = (between.join(map(str, row)) for row in block)
        else:
            lines = (between.join(map(repr, row)) for row in block.tolist())
        yield "".join(f"{start}{line}{end}" for line in lines).encode()
