"""Text files of several sections, each a keyword and then numbers: read fast, and precise about what is wrong."""

from __future__ import annotations

import dataclasses
import functools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.mesh.io import source
from pliant.mesh.io.table import BLOCK, NUMBER

COMMENT = re.compile(r'#[^\n]*|"[^"\n]*"')
MOST_ROWS = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class Source:
    """The text of a file; comments (after ``#``) and quoted names are blanked out, line ends are kept."""

    path: Path
    text: str

    @property
    def where(self) -> str:
        """The file, for a message."""
        return str(self.path)

    def line(self, place: int) -> int:
        """Line number, from 1, of the character at ``place``."""
        return self.text.count("\n", 0, place) + 1

    def words(self, line: int) -> list[str]:
        """The words of a line, counted from 1."""
        return self.text.split("\n")[line - 1].split()

    def at(self, place: int) -> str:
        """File and line of the character at ``place``, for a message."""
        return f"{self.path}, line {self.line(place)}"

    def sections(self, keyword: re.Pattern[str]) -> list[Section]:
        """The stretches of text between keywords; group 1 of ``keyword`` is the keyword itself."""
        found = [match for match in keyword.finditer(self.text) if match[1].lower() not in ("nan", "inf", "infinity")]
        ends = [match.start(1) for match in found[1:]] + [len(self.text)]
        return [Section(self, match[1], match.start(1), match.end(1), end) for match, end in zip(found, ends)]


def read_source(path: Path, what: str, name: str, suffixes: tuple[str, ...]) -> Source:
    """Open a file of sections, unpacked when its name ends in ``.gz``.

    Args:
        path: the file.
        what: what it should hold, for messages.
        name: of the format that its suffix promises.
        suffixes: of that format.
    """
    data = source.load(path, what)
    if path.suffix.lower() == ".gz":
        source.check_content(path, data, name, suffixes)
    if found := re.search(rb"[\x00-\x08\x0e-\x1b\x7f]", data):
        line = data.count(b"\n", 0, found.start()) + 1
        raise InputError(
            f"holds the byte 0x{found[0][0]:02x}, so it is not a plain text file",
            f"{path}, line {line}",
            f"Give a text file (UTF-8 or ASCII) with {what}",
        )
    text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return Source(path, COMMENT.sub("", text))


@dataclasses.dataclass(frozen=True)
class Section:
    """A keyword and the text that follows it."""

    source: Source
    keyword: str
    keyword_at: int
    start: int
    end: int

    @property
    def where(self) -> str:
        """File and line of the keyword."""
        return self.source.at(self.keyword_at)

    def numbers(self) -> Numbers:
        """What follows the keyword, as numbers."""
        return Numbers(self.source, self.keyword, self.start, self.end)

    def announced(self) -> int:
        """The whole number behind the keyword; 0 when something else stands there."""
        word = self.source.text[self.start : self.start + 200].split(maxsplit=1)
        return int(word[0]) if word and re.fullmatch(r"\d{1,9}", word[0]) else 0


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of numbers (m, c); of each the place of its first number in the `Numbers` (m,) and its own number (m,)."""

    what: str
    columns: list[str]
    values: np.ndarray
    places: np.ndarray
    numbers: np.ndarray


class Numbers:
    """The numbers of a stretch of text, taken one after the other; where lines end does not matter.

    Args:
        source: the file.
        name: what the stretch is called, for messages.
        start: place of its first character.
        end: place behind its last one.
    """

    def __init__(self, source: Source, name: str, start: int, end: int):
        self.source = source
        self.name = name
        self.start = start
        self.end = end
        self.taken = 0
        self.rows_taken: Rows | None = None
        self.counted_at = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.values = np.fromstring(source.text[start:end], sep=" ")
        except (ValueError, DeprecationWarning):
            words = source.text[start:end].split()
            for number, word in enumerate(words):
                if not NUMBER.fullmatch(word):
                    hint = "; separate them by blanks, with a point as decimal mark" if "," in word else ""
                    raise InputError(
                        f"{word[:40]!r} is not a number",
                        self.where(number),
                        f"Below {name} there must be numbers alone" + hint,
                    ) from None
            self.values = np.array(words, dtype=np.float64)

    @functools.cached_property
    def _lines(self) -> tuple[np.ndarray, np.ndarray]:
        """Of every filled line its number in the file, and the place of its first word among the numbers."""
        sizes = np.array([len(text.split()) for text in self.source.text[self.start : self.end].split("\n")])
        filled = np.flatnonzero(sizes)
        return self.source.line(self.start) + filled, (np.cumsum(sizes) - sizes)[filled]

    def _line_of(self, number: int) -> int:
        """Which filled line a number stands on."""
        return int(np.searchsorted(self._lines[1], number, side="right")) - 1

    def where(self, number: int) -> str:
        """File and line of a number; of the last one when there are not so many."""
        lines = self._lines[0]
        line = lines[self._line_of(number)] if len(lines) else self.source.line(max(self.start - 1, 0))
        return f"{self.source.path}, line {line}"

    def words_on_line(self, number: int) -> int:
        """How many numbers stand on the line of a number, from it on."""
        starts = np.append(self._lines[1], len(self.values))
        return int(starts[np.searchsorted(starts, number, side="right")] - number) if number < len(self.values) else 0

    def count(self, what: str) -> int:
        """The next number: how many of ``what`` follow."""
        remedy = f"Write the number of {what} there as a whole number"
        if self.taken >= len(self.values):
            raise InputError(f"{self.name} ends before the number of {what}", self.where(self.taken), remedy)
        value = self.values[self.taken]
        if not (0 <= value <= MOST_ROWS and value == int(value)):
            raise InputError(f"the number of {what} is {value:.17g}", self.where(self.taken), remedy)
        self.counted_at = self.taken
        self.rows_taken = None
        self.taken += 1
        return int(value)

    def rows(self, count: int, columns: list[str], what: str, by_line: bool = False) -> Rows:
        """The next ``count`` rows: (count, len(columns)) float64, all finite.

        Args:
            count: how many there must be.
            columns: name of each column, for messages.
            what: what a row describes, for messages.
            by_line: whether each row must be a line of its own.
        """
        if by_line and count:
            self._find_odd_line(self.taken, count, columns)
        need = count * len(columns)
        if self.taken + need > len(self.values):
            raise self._short(count, columns, what)
        starts = self.taken + len(columns) * np.arange(count)
        self.rows_taken = self.rows_at(starts, columns, what, np.arange(1, count + 1))
        self.taken += need
        return self.rows_taken

    def rows_at(self, starts: np.ndarray, columns: list[str], what: str, numbers: np.ndarray) -> Rows:
        """The rows that begin at the numbers ``starts`` (m,), all finite; does not count as taking them."""
        width = len(columns)
        if len(starts) and starts[-1] - starts[0] == width * (len(starts) - 1):
            # One after the other, since rows do not overlap.
            values = self.values[starts[0] : starts[-1] + width].reshape(-1, width)
        else:
            values = self.values[starts[:, None] + np.arange(width)]
        rows = Rows(what, columns, values, starts, numbers)
        self.check(rows, np.isfinite(values), "Give a finite number")
        return rows

    def check(self, rows: Rows, good: np.ndarray, remedy: str, columns: slice = slice(None)) -> None:
        """Raise for the first value of ``rows[:, columns]`` that is not ``good``."""
        if good.all():
            return
        row, column = np.argwhere(~good)[0]
        column = range(len(rows.columns))[columns][column]
        raise InputError(
            f"{rows.columns[column]} of {rows.what} {rows.numbers[row]} is {rows.values[row, column]:.17g}",
            self.row_at(rows, int(row)),
            remedy,
        )

    def row_at(self, rows: Rows, row: int) -> str:
        """File and line of a row."""
        return self.where(int(rows.places[row]))

    def corners(self, rows: Rows, columns: slice, count: int, distinct: int = 0) -> np.ndarray:
        """Vertex numbers counted from 0: (m, k) int64, each in range.

        Args:
            rows: as the file has them, counted from 1.
            columns: which columns name vertices.
            count: how many vertices there are.
            distinct: refuse rows that name a vertex twice among so many first ones.
        """
        values = rows.values[:, columns]
        remedy = f"The file holds {count} vertices: use whole numbers from 1 to {count}"
        self.check(rows, (values >= 1) & (values <= count) & (values == np.rint(values)), remedy, columns)
        numbers = values.astype(np.int64)
        if distinct:
            ordered = np.sort(numbers[:, :distinct], axis=1)
            twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
            if twice.any():
                row = int(np.argmax(twice))
                raise InputError(
                    f"{rows.what} {rows.numbers[row]} {numbers[row, :distinct].tolist()} names a vertex twice "
                    f"({twice.sum()} such in all)",
                    self.row_at(rows, row),
                    f"Remove the collapsed {rows.what}, or give it {distinct} different vertices",
                )
        return numbers - 1

    def done(self) -> None:
        """Raise when numbers are left over."""
        left = len(self.values) - self.taken
        if not left:
            return
        if self.rows_taken is not None and len(self.rows_taken.values):
            rows = self.rows_taken
            self._find_odd_line(int(rows.places[0]), len(rows.values), rows.columns)
        count = int(self.values[self.counted_at])
        raise InputError(
            f"{self.name} goes on: {left} more numbers than the {count} on {self._count_line()} calls for",
            self.where(self.taken),
            "Correct that count, or remove what does not belong",
        )

    def _count_line(self) -> str:
        return self.where(self.counted_at).rpartition(", ")[2]

    def _short(self, count: int, columns: list[str], what: str) -> InputError:
        """The error for too few numbers."""
        left = len(self.values) - self.taken
        self._find_odd_line(self.taken, count, columns)
        cut = "; the file ends here" if self.end == len(self.source.text) else ""
        return InputError(
            f"{self.name} ends after {left // len(columns)} of the {count} {what} rows that "
            f"{self._count_line()} announces{cut}",
            self.where(len(self.values)),
            f"Each has {len(columns)} numbers: {' '.join(columns)}. The file was cut short, or the count is wrong",
        )

    def _find_odd_line(self, first: int, count: int, columns: list[str]) -> None:
        """Raise for the first of ``count`` lines that does not hold one number for each column."""
        if first >= len(self.values):
            return
        lines, starts = self._lines
        line = self._line_of(first)
        sizes = np.diff(np.append(np.maximum(starts[line:], first), len(self.values)))[:count]
        odd = np.flatnonzero(sizes != len(columns))
        if len(odd):
            found = int(sizes[odd[0]])
            line += int(odd[0])
            cut = found < len(columns) and line == len(lines) - 1 and self.end == len(self.source.text)
            raise InputError(
                f"{' '.join(self.source.words(int(lines[line])))[:60]!r} has {found} numbers",
                f"{self.source.path}, line {lines[line]}",
                f"There must be {len(columns)} on this line: {' '.join(columns)}"
                + ("; the file seems to be cut short here" if cut else ""),
            )

    def lines_after(self, number: int) -> Iterator[tuple[str, list[str]]]:
        """File and line, and the words, of each filled line below the one that a number stands on."""
        text = self.source.text.split("\n")
        for line in self._lines[0][self._line_of(number) + 1 :]:
            yield f"{self.source.path}, line {line}", text[line - 1].split()


def lines_of(rows: np.ndarray, before: str = "", after: str = "") -> Iterator[bytes]:
    """Rows (n, c) as text, a block at a time; floats as short as they read back exactly."""
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK].tolist()
        yield "".join(f"{before}{' '.join(map(repr, row))}{after}\n" for row in block).encode()
