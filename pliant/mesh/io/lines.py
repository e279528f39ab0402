"""A text file cut into lines and words with NumPy, so that numbers are read in bulk and errors name a line."""

from __future__ import annotations

import dataclasses
import re
import warnings
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.mesh.io.table import NUMBER

NEWLINE = 10
HASH = 35
IS_SPACE = np.zeros(256, dtype=bool)
IS_SPACE[[9, 10, 11, 12, 13, 32]] = True
CONTINUED = 11
"""A vertical tab stands for a line end that a backslash took away; it still counts as a line in messages."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """Numbers of some lines, one after the other.

    Attributes:
        values: all numbers (t,) float64.
        first: where in values each row starts (r,) int64.
        count: how many numbers each row has (r,) int64.
        lines: which line of the text each row is (r,) int64.
    """

    values: np.ndarray
    first: np.ndarray
    count: np.ndarray
    lines: np.ndarray

    def columns(self, start: int, width: int) -> np.ndarray:
        """``width`` numbers of each row from ``start`` on: (r, width) float64; every row must have them."""
        if len(self.count) and (self.count == self.count[0]).all():
            return self.values.reshape(len(self.count), -1)[:, start : start + width]
        return self.values[self.first[:, None] + np.arange(start, start + width)]


class Text:
    """The bytes of a text file and where its lines and their first words are."""

    def __init__(self, data: bytes, path: Path, what: str, continued: bool = False):
        """Find the lines.

        Args:
            data: the file's bytes.
            path: the file, for messages.
            what: what the file should hold, for messages.
            continued: whether a backslash at the end of a line joins the next one to it.
        """
        self.path = path
        if found := re.search(rb"[\x00-\x08\x0e-\x1b\x7f]", data):
            line = data.count(b"\n", 0, found.start()) + 1
            raise InputError(
                f"holds the byte 0x{found[0][0]:02x}, so it is not a plain text file",
                f"{path}, line {line}, byte {found.start()}",
                f"Give a text file (UTF-8 or ASCII) with {what}",
            )
        if data.startswith(b"\xef\xbb\xbf"):
            data = b"   " + data[3:]
        if b"\r" in data and b"\n" not in data:
            data = data.replace(b"\r", b"\n")
        if b"\x0b" in data:
            data = data.replace(b"\x0b", b" ")
        if continued and b"\\" in data:
            data = data.replace(b"\\\r\n", b"  \x0b").replace(b"\\\n", b" \x0b")
        self.bytes = data if data.endswith(b"\n") else data + b"\n"
        self.data = np.frombuffer(self.bytes, dtype=np.uint8)
        self.ends = np.flatnonzero(self.data == NEWLINE)
        self.starts = np.concatenate([[0], self.ends[:-1] + 1])
        # The first word of each line: the first place from its start on that is no blank.
        self.word = self.starts
        if IS_SPACE[self.data[self.starts]].any():
            solid = np.append(np.flatnonzero(~IS_SPACE[self.data]), len(self.data))
            self.word = np.minimum(solid[np.searchsorted(solid, self.starts)], self.ends)

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, line: int) -> str:
        """File and line for a message."""
        passed = self.bytes[: int(self.starts[line])]
        number = passed.count(b"\n") + passed.count(b"\x0b") + 1
        return f"{self.path}, line {number}"

    def line(self, line: int) -> str:
        """The text of one line."""
        text = self.bytes[int(self.starts[line]) : int(self.ends[line])]
        return text.decode("utf-8", errors="replace").strip()

    def starting(self, word: bytes) -> np.ndarray:
        """Which lines have this word first: (n,) bool."""
        found = self.word + len(word) <= self.ends
        last = len(self.data) - 1
        for place, letter in enumerate(word):
            found &= self.data[np.minimum(self.word + place, last)] == letter
        return found & IS_SPACE[self.data[np.minimum(self.word + len(word), last)]]

    def filled(self) -> np.ndarray:
        """Which lines hold something that is not a comment starting with ``#``: (n,) bool."""
        return (self.word < self.ends) & (self.data[self.word] != HASH)

    def cut(self, chosen: np.ndarray, skip: int) -> np.ndarray:
        """The bytes of the chosen lines (mask or numbers), their first ``skip`` letters and comments blanked: uint8."""
        mask = np.zeros(len(self), dtype=bool)
        mask[chosen] = True
        lengths = self.ends - self.starts + 1
        if mask.all():
            picked = self.data.copy()
        else:
            picked = self.data[np.repeat(mask, lengths)]
        starts = np.cumsum(lengths[mask]) - lengths[mask]
        word = self.word[mask] - self.starts[mask] + starts
        for place in range(skip):
            picked[word + place] = 32
        if (picked == HASH).any():
            text = re.sub(rb"#[^\n]*", lambda found: b" " * len(found[0]), picked.tobytes())
            picked = np.frombuffer(text, dtype=np.uint8)
        return picked

    def numbers(self, chosen: np.ndarray, skip: int, expected: str) -> Rows:
        """The numbers on the chosen lines (mask or numbers).

        Args:
            chosen: which lines.
            skip: letters at the start of each that are no number.
            expected: what the line should hold, for messages.
        """
        lines = np.flatnonzero(chosen) if np.asarray(chosen).dtype == bool else np.asarray(chosen)
        picked = self.cut(chosen, skip)
        starts = word_starts(picked)
        # The line of each word: how many line ends come before it.
        ends = np.flatnonzero(picked == NEWLINE)
        first = np.searchsorted(starts, np.concatenate([[0], ends])[:-1]) if len(ends) else np.zeros(0, np.int64)
        count = np.diff(np.append(first, len(starts)))
        values = parse(picked, len(starts), np.float64)
        if values is None:
            raise self._bad_word(lines, skip, expected)
        return Rows(values, first, count, lines)

    def _bad_word(self, lines: np.ndarray, skip: int, expected: str) -> InputError:
        """The error for the first word that is no number."""
        for line in lines:
            text = self.bytes[int(self.word[line]) + skip : int(self.ends[line])].decode("utf-8", errors="replace")
            for word in text.partition("#")[0].split():
                if not NUMBER.fullmatch(word):
                    return InputError(f"{word[:40]!r} is not a number", self.at(int(line)), f"Give {expected}")
        return InputError("holds something that is not a number", str(self.path), f"Give {expected}")

    def need(self, rows: Rows, least: int, expected: str) -> None:
        """Raise for the first row with fewer than ``least`` numbers."""
        short = rows.count < least
        if short.any():
            row = int(np.argmax(short))
            line = int(rows.lines[row])
            cut = "; the file seems to be cut short here" if line >= int(np.flatnonzero(self.filled())[-1]) else ""
            raise InputError(
                f"{self.line(line)[:60]!r} has {int(rows.count[row])} numbers",
                self.at(line),
                f"Give {expected}{cut}",
            )

    def need_finite(self, rows: Rows, values: np.ndarray) -> None:
        """Raise for the first row of ``values`` (r, c) that is not finite."""
        bad = ~np.isfinite(values).all(axis=1)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"{self.line(int(rows.lines[row]))[:60]!r} holds a number that is not finite",
                self.at(int(rows.lines[row])),
                "Give finite numbers",
            )


def word_starts(data: np.ndarray) -> np.ndarray:
    """Where words start in bytes (n,) uint8: places that are no blank after one that is."""
    space = IS_SPACE[data]
    start = ~space
    start[1:] &= space[:-1]
    return np.flatnonzero(start)


def parse(data: np.ndarray, count: int, dtype: type) -> np.ndarray | None:
    """The numbers in bytes (n,) uint8 with blanks between them: (count,); None unless each word is one number."""
    if not count:
        return np.zeros(0, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            # Faster than any other reader NumPy has; it stops at what is no number, which the count shows.
            values: np.ndarray = np.fromstring(data.tobytes(), dtype=dtype, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    return values if len(values) == count else None
