"""Text files that hold a header line and rows of numbers: read fast, and precise about what is wrong."""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import warnings
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file

BLOCK = 1 << 16
"""Rows turned into text at once."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Table:
    """A text file taken apart: the words of its first line, and the lines below it.

    Blank lines, and what follows a ``#``, count for nothing.
    """

    path: Path
    header: list[str]
    header_line: int
    lines: list[str]

    def at(self, line: int) -> str:
        """File and line for a message."""
        return f"{self.path}, line {line}"

    def row_at(self, row: int) -> str:
        """File and line of a row of numbers, for a message."""
        return self.at(self._filled()[row][0])

    def _filled(self) -> list[tuple[int, list[str]]]:
        """Line number and words of every line that holds something."""
        words = ((number, _words(line)) for number, line in enumerate(self.lines, self.header_line + 1))
        return [(number, found) for number, found in words if found]

    def header_count(self, place: int, meaning: str, default: int | None = None) -> int:
        """A whole number from the header line."""
        if place >= len(self.header) and default is not None:
            return default
        word = self.header[place] if place < len(self.header) else ""
        if not re.fullmatch(r"\+?\d{1,18}", word):
            found = f"has {word[:40]!r} for" if word else "does not give"
            raise InputError(
                f"the first line {' '.join(self.header)[:60]!r} {found} the {meaning}",
                self.at(self.header_line),
                f"Write the {meaning} there as a whole number",
            )
        return int(word)

    def numbers(self, count: int, columns: list[str], what: str) -> np.ndarray:
        """The rows below the header: (count, len(columns)) float64, all finite.

        Args:
            count: how many the header announces.
            columns: name of each column, for messages.
            what: the plural of what a row describes, for messages.
        """
        if count < 1:
            raise InputError(f"announces {count} {what}", self.at(self.header_line), "Give at least one")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                rows = np.loadtxt(self.lines, dtype=np.float64, comments="#", ndmin=2)
        except (ValueError, UserWarning):
            rows = None
        if rows is None or rows.shape[1] != len(columns):
            self._find_bad_line(columns)
            rows = np.array([words for _, words in self._filled()], dtype=np.float64).reshape(-1, len(columns))
        if len(rows) < count:
            last = self._filled()[-1][0] if len(rows) else self.header_line
            raise InputError(
                f"the file ends after {len(rows)} {what}, line {self.header_line} announces {count}",
                self.at(last),
                "The file was cut short, or its count is wrong: write it again, or correct the count",
            )
        if len(rows) > count:
            line, words = self._filled()[count]
            raise InputError(
                f"{' '.join(words)[:60]!r} is one row too many: line {self.header_line} announces {count} {what}, "
                f"the file holds {len(rows)}",
                self.at(line),
                f"Correct the count on line {self.header_line}, or remove what does not belong",
            )
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise InputError(f"{columns[column]} is {rows[row, column]}", self.row_at(row), "Give a finite number")
        return rows

    def _find_bad_line(self, columns: list[str]) -> None:
        """Raise for the first line whose words are not the numbers of ``columns``."""
        expected = f"{len(columns)} numbers: {' '.join(columns)}"
        filled = self._filled()
        for number, words in filled:
            for word in words:
                if not NUMBER.fullmatch(word):
                    hint = ", separated by blanks, with a point as decimal mark" if "," in word else ""
                    raise InputError(f"{word[:40]!r} is not a number", self.at(number), f"Give {expected}{hint}")
            if len(words) != len(columns):
                cut = len(words) < len(columns) and number == filled[-1][0]
                raise InputError(
                    f"{' '.join(words)[:60]!r} has {len(words)} numbers",
                    self.at(number),
                    f"Give {expected}" + ("; the file seems to be cut short here" if cut else ""),
                )

    def whole_columns(self, rows: np.ndarray, columns: list[str]) -> np.ndarray:
        """``rows``, one column for each name, as int64."""
        broken = (rows != np.rint(rows)) | (np.abs(rows) > 2.0**53)
        if broken.any():
            row, column = np.argwhere(broken)[0]
            raise InputError(
                f"{columns[column]} is {rows[row, column]:.17g}, not a whole number that can be counted to",
                self.row_at(row),
                "Give whole numbers there",
            )
        return rows.astype(np.int64)

    def corner_numbers(self, rows: np.ndarray, columns: list[str], base: int, count: int, remedy: str) -> np.ndarray:
        """Vertex numbers counted from 0: (m, 4) int64, each in range and no two of a tet the same.

        Args:
            rows: (m, len(columns)) as the file has them, counted from ``base``.
            columns: name of each column; the first four are a tet's corners.
            base: number of the first vertex.
            count: how many vertices there are.
            remedy: what numbers to use.
        """
        numbers = self.whole_columns(rows, columns)
        outside = (numbers < base) | (numbers >= count + base)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise InputError(f"{columns[column]} is {numbers[row, column]}, out of range", self.row_at(row), remedy)
        corners = np.sort(numbers[:, :4], axis=1)
        twice = (corners[:, 1:] == corners[:, :-1]).any(axis=1)
        if twice.any():
            row = int(np.argmax(twice))
            raise InputError(
                f"the tet {numbers[row, :4].tolist()} names a vertex twice ({twice.sum()} such in all)",
                self.row_at(row),
                "Remove the collapsed tet, or give it four different vertices",
            )
        return numbers[:, :4] - base


def _words(line: str) -> list[str]:
    return line.partition("#")[0].split()


def read_table(path: str | os.PathLike, what: str) -> Table:
    """Open a table; ``what`` says what the file should hold, for messages."""
    path = Path(path)
    lines = read_text(path, what).splitlines()
    for number, line in enumerate(lines, 1):
        if header := _words(line):
            return Table(path, header, number, lines[number:])
    raise InputError(
        f"line {max(len(lines), 1)} is the last and none holds a number: the file is empty",
        str(path),
        f"Give a file with {what}",
    )


def read_text(path: Path, what: str) -> str:
    """The text of a file, or an `InputError` when it is missing, unreadable or not text."""
    if path.is_dir():
        raise InputError("this is a folder", str(path), f"Give the file with {what}")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", str(path), f"Give the file with {what}{similar(path)}") from None
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror or error})", str(path), f"Give the file with {what}"
        ) from None
    if found := re.search(rb"[\x00-\x08\x0e-\x1b\x7f]", data):
        line = data.count(b"\n", 0, found.start()) + 1
        raise InputError(
            f"holds the byte 0x{found[0][0]:02x}, so it is not a plain text file",
            f"{path}, line {line}",
            f"Give a text file (UTF-8 or ASCII) with {what}",
        )
    return data.decode("utf-8-sig", errors="replace")


def similar(path: Path) -> str:
    """A hint at files in the same folder with nearly the same name."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return f"; there is no folder {path.parent} either"
    close = difflib.get_close_matches(path.name, names, n=3)
    return f"; the folder {path.parent} has {', '.join(close)}" if close else ""


def write_table(path: str | os.PathLike, header: str, rows: np.ndarray, first_number: int | None = None) -> None:
    """Write a header line and one line per row, whole or not at all; floats as short as they read back exactly.

    Args:
        path: file to make or replace.
        header: first line.
        rows: (n, c) of floats or whole numbers.
        first_number: when given, each line starts with its number, counted from here.
    """
    with replace_file(path) as file:
        file.write(f"{header}\n".encode())
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK].tolist()
            if first_number is not None:
                block = [[first_number + start + i, *row] for i, row in enumerate(block)]
            file.write("".join(" ".join(map(repr, row)) + "\n" for row in block).encode())
