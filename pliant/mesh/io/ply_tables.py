"""The tables of a PLY file: its header, and its elements' columns from text or from binary of either byte order."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

import numpy as np

from pliant.errors import InputError
from pliant.mesh.io.lines import Text

WHAT = "a PLY header, vertices and faces"
TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


@dataclasses.dataclass(frozen=True)
class Property:
    """A column of an element; ``count_type`` is set when each row holds a list."""

    name: str
    type: str
    count_type: str = ""


@dataclasses.dataclass(frozen=True)
class Element:
    """A table of the file: its name, its number of rows and its columns."""

    name: str
    count: int
    properties: tuple[Property, ...]


@dataclasses.dataclass(frozen=True)
class Column:
    """The values of one property: of a list, all lists one after the other and the length of each.

    ``whole`` tells that the header gives it a type of whole numbers.
    """

    values: np.ndarray
    counts: np.ndarray | None = None
    whole: bool = False


def read_header(data: bytes, path: Path) -> tuple[str, list[Element], list[str], int]:
    """Byte order ('' for text), the elements, names of pictures, and where the body starts."""
    if not data.startswith((b"ply\n", b"ply\r")):
        raise InputError(f"starts with {data[:8]!r}, not with 'ply'", f"{path}, line 1", f"Give {WHAT}")
    order, textures = None, []
    elements: list[tuple[str, int, list[Property]]] = []
    at, number = 0, 0
    while True:
        end = data.find(b"\n", at)
        if b"\r" in data[at : end if end >= 0 else None] and (end < 0 or data[end - 1 : end] != b"\r"):
            end = data.find(b"\r", at)
        if end < 0 or number > 10000:
            raise InputError("the header does not end", f"{path}, line {number + 1}", "Give a line 'end_header'")
        words = data[at:end].decode("utf-8", errors="replace").split()
        at, number = end + 1, number + 1
        where = f"{path}, line {number}"
        if not words or words[0] in ("ply", "obj_info"):
            continue
        if words[0] == "end_header":
            break
        if words[0] == "comment":
            if len(words) > 2 and words[1] == "TextureFile":
                textures.append(" ".join(words[2:]))
        elif words[0] == "format":
            if len(words) < 2 or words[1] not in ORDERS:
                raise InputError(f"{' '.join(words)!r} is no known format", where, f"Known are {', '.join(ORDERS)}")
            order = ORDERS[words[1]]
        elif words[0] == "element" and len(words) == 3 and words[2].isdecimal() and len(words[2]) < 19:
            elements.append((words[1], int(words[2]), []))
        elif words[0] == "property" and elements:
            elements[-1][2].append(_property(words, where))
        else:
            raise InputError(
                f"{' '.join(words)[:60]!r} is no statement of a PLY header",
                where,
                "Give format, comment, element NAME COUNT, property TYPE NAME or end_header",
            )
    if order is None:
        raise InputError("the header names no format", f"{path}, line {number}", f"Known are {', '.join(ORDERS)}")
    return order, [Element(name, count, tuple(columns)) for name, count, columns in elements], textures, at


def _property(words: list[str], where: str) -> Property:
    listed = len(words) == 5 and words[1] == "list"
    types = words[2:4] if listed else words[1:2]
    if not (listed or len(words) == 3) or any(name not in TYPES for name in types):
        raise InputError(
            f"{' '.join(words)[:60]!r} is no known property", where, f"Known types are {', '.join(list(TYPES)[:8])}"
        )
    if listed and TYPES[words[2]][0] == "f":
        raise InputError(f"{' '.join(words)!r} counts with {words[2]}", where, "Give a whole type, for example uchar")
    return Property(words[4], TYPES[words[3]], TYPES[words[2]]) if listed else Property(words[2], TYPES[words[1]])


def text_tables(data: bytes, body: int, elements: list[Element], path: Path) -> dict[str, dict[str, Column]]:
    """Columns of each element of a text file."""
    text = Text(data, path, WHAT)
    lines = np.flatnonzero((text.word < text.ends) & (text.starts >= body))
    tables = {}
    for element in elements:
        mine, lines = lines[: element.count], lines[element.count :]
        if len(mine) < element.count:
            raise InputError(
                f"the file ends after {len(mine)} of {element.count} rows of '{element.name}'",
                text.at(len(text) - 1),
                "The file was cut short, or the count in its header is wrong",
            )
        expected = " ".join(
            f"[count and {column.name}]" if column.count_type else column.name for column in element.properties
        )
        rows = text.numbers(mine, 0, expected)
        cursor = rows.first.copy()
        end = rows.first + rows.count
        columns = {}
        for column in element.properties:
            counts = np.ones(element.count, dtype=np.int64)
            if column.count_type:
                short = cursor >= end
                with np.errstate(invalid="ignore"):
                    found = rows.values[np.minimum(cursor, len(rows.values) - 1)].astype(np.int64)
                counts = np.where(short, 0, found)
                cursor = cursor + 1
            bad = (counts > end - cursor) | (counts < 0)
            if bad.any():
                line = int(mine[np.argmax(bad)])
                raise InputError(
                    f"{text.line(line)[:60]!r} has too few numbers for {column.name}", text.at(line), f"Give {expected}"
                )
            values = rows.values[_spread(cursor, counts)]
            columns[column.name] = Column(values, counts if column.count_type else None, column.type[0] in "iu")
            cursor = cursor + counts
        tables[element.name] = columns
    return tables


def _spread(first: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Places first[i] .. first[i] + counts[i] - 1, one range after the other."""
    if len(counts) and (counts == 1).all():
        return first
    return np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))


def binary_tables(
    data: bytes, body: int, order: str, elements: list[Element], path: Path
) -> dict[str, dict[str, Column]]:
    """Columns of each element of a binary file."""
    tables = {}
    at = body
    for element in elements:
        if not any(column.count_type for column in element.properties):
            columns, at = _fixed_rows(data, at, order, element, [0] * len(element.properties), path)
        else:
            columns, at = _list_rows(data, at, order, element, path)
        tables[element.name] = columns
    return tables


def _row_type(order: str, element: Element, lengths: list[int]) -> np.dtype:
    """The layout of a row whose lists have these lengths."""
    fields: list[tuple] = []
    for number, (column, length) in enumerate(zip(element.properties, lengths)):
        if column.count_type:
            fields += [(f"n{number}", order + column.count_type), (f"v{number}", order + column.type, (length,))]
        else:
            fields.append((f"v{number}", order + column.type))
    return np.dtype(fields)


def _cut_short(path: Path, size: int, element: Element, row: int) -> InputError:
    return InputError(
        f"the file ends after {row} of {element.count} rows of '{element.name}'",
        f"{path}, byte {size}",
        "The file was cut short, or the count in its header is wrong",
    )


def _fixed_rows(
    data: bytes, at: int, order: str, element: Element, lengths: list[int], path: Path
) -> tuple[dict[str, Column], int]:
    """Columns of rows that all have the same layout, and where they end."""
    layout = _row_type(order, element, lengths)
    end = at + layout.itemsize * element.count
    if end > len(data):
        raise _cut_short(path, len(data), element, (len(data) - at) // max(layout.itemsize, 1))
    if not layout.itemsize:
        return {}, at
    rows = np.frombuffer(data, layout, element.count, at)
    columns = {}
    for number, (column, length) in enumerate(zip(element.properties, lengths)):
        counts = np.full(element.count, length, dtype=np.int64) if column.count_type else None
        columns[column.name] = Column(rows[f"v{number}"].ravel(), counts, column.type[0] in "iu")
    return columns, end


def _list_rows(data: bytes, at: int, order: str, element: Element, path: Path) -> tuple[dict[str, Column], int]:
    """Columns of rows with lists, and where they end: at once where all lists are as long as the first row's."""
    if not element.count:
        return {column.name: Column(np.zeros(0), np.zeros(0, np.int64)) for column in element.properties}, at
    least = _row_type(order, element, [0] * len(element.properties)).itemsize
    if at + least * element.count > len(data):
        raise _cut_short(path, len(data), element, (len(data) - at) // least)
    lengths, _ = _lengths(data, at, order, element, path, 0)
    layout = _row_type(order, element, lengths)
    if at + layout.itemsize * element.count <= len(data):
        rows = np.frombuffer(data, layout, element.count, at)
        if all(
            (rows[f"n{number}"] == lengths[number]).all()
            for number, column in enumerate(element.properties)
            if column.count_type
        ):
            return _fixed_rows(data, at, order, element, lengths, path)

    # Rows of different length: where one starts is known only from the one before it.
    starts = np.empty(element.count + 1, dtype=np.int64)
    all_lengths: dict[tuple[int, ...], list[int]] = {}
    for row in range(element.count):
        starts[row] = at
        lengths, at = _lengths(data, at, order, element, path, row)
        all_lengths.setdefault(tuple(lengths), []).append(row)
    if at > len(data):
        raise _cut_short(path, len(data), element, element.count - 1)
    raw = np.frombuffer(data, np.uint8)
    columns = {}
    parts = {}
    for found, members in all_lengths.items():
        layout = _row_type(order, element, list(found))
        picked = raw[starts[np.array(members)][:, None] + np.arange(layout.itemsize)]
        parts[found] = (np.array(members), np.ascontiguousarray(picked).view(layout)[:, 0])
    for number, column in enumerate(element.properties):
        counts = np.ones(element.count, dtype=np.int64)
        for found, (rows, _) in parts.items():
            counts[rows] = found[number] if column.count_type else 1
        first = np.cumsum(counts) - counts
        values = np.empty(int(counts.sum()), dtype=column.type)
        for rows, table in parts.values():
            block = table[f"v{number}"].reshape(len(rows), -1)
            values[first[rows][:, None] + np.arange(block.shape[1])] = block
        columns[column.name] = Column(values, counts if column.count_type else None, column.type[0] in "iu")
    return columns, at


def _lengths(data: bytes, at: int, order: str, element: Element, path: Path, row: int) -> tuple[list[int], int]:
    """Length of each list in the row that starts at a byte, 0 for properties that are no list; and where it ends."""
    lengths = []
    bytes_order: Literal["little", "big"] = "little" if order == "<" else "big"
    for column in element.properties:
        width = int(column.type[1])
        if not column.count_type:
            lengths.append(0)
            at += width
            continue
        size = int(column.count_type[1])
        if at + size > len(data):
            raise _cut_short(path, len(data), element, row)
        length = int.from_bytes(data[at : at + size], bytes_order, signed=column.count_type[0] == "i")
        if length < 0 or at + size + length * width > len(data):
            if length < 0 or length > 1 << 20:
                raise InputError(
                    f"row {row} of '{element.name}' has a list of {length} values", f"{path}, byte {at}", f"Give {WHAT}"
                )
            raise _cut_short(path, len(data), element, row)
        lengths.append(length)
        at += size + length * width
    return lengths, at
