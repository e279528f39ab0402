"""The kinds of value a scene file is made of: each can check a value and describe itself as JSON schema."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from pliant.errors import InputError
from pliant.scene_file.lines import KeyLines, KeyPath
from pliant.settings import check_value, field_schema, setting
from pliant.vectors import as_vector

LARGEST_WHOLE = 2**63
LONGEST_NAME = 100


class Source:
    """A scene file's name and text: turns key paths into places a user can find."""

    def __init__(self, path: str | os.PathLike, lines: KeyLines):
        self.path = str(path)
        self._lines = lines

    def error(self, path: KeyPath, what: str, remedy: str) -> InputError:
        """The one kind of error of a scene file: file, line, key, value and remedy."""
        key = spell(path)
        where = f"{self.path}:{self._lines.line(path)}"
        return InputError(what, f"{where}: {key}" if key else where, remedy)

    def names(self, error: InputError) -> bool:
        """Whether an error says a place in this file already."""
        return error.where.startswith(f"{self.path}:")


def spell(path: KeyPath) -> str:
    """A key path as in ``body[2].shape.radius``; list entries are counted from 0."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def suggest(word: str, known: Iterable[str], intro: str) -> str:
    """A remedy for a word that is not known: the nearest known one, and all of them."""
    known = list(known)
    near = difflib.get_close_matches(word, known, 1, 0.6)
    guess = f"Did you mean '{near[0]}'? " if near else ""
    return f"{guess}{intro}: {', '.join(known)}"


def shown(value: Any) -> str:
    """A value as it may stand in a message: in full if it is short."""
    return shorten(str(value).lower() if isinstance(value, bool) else repr(value))


def shorten(text: str) -> str:
    """A text in full if it is short, otherwise its beginning."""
    return text if len(text) <= 80 else text[:77] + "..."


def shorten_path(path: str) -> str:
    """A path in full if it is short, otherwise its end, which tells the file."""
    return path if len(path) <= 80 else "..." + path[-77:]


class Kind(Protocol):
    """What may stand for a key."""

    def check(self, value: Any, source: Source, path: KeyPath) -> Any:
        """The value, ready to use, or an `InputError`."""
        ...

    def schema(self) -> dict[str, Any]: ...


@dataclasses.dataclass(frozen=True)
class Setting:
    """A number, text or truth value defined by a `setting` field."""

    field: dataclasses.Field

    def check(self, value: Any, source: Source, path: KeyPath) -> Any:
        try:
            return check_value(self.field, value, "")
        except InputError as error:
            raise source.error(path, error.what, error.remedy) from None

    def schema(self) -> dict[str, Any]:
        return field_schema(self.field)


def scalar(kind: str, default: Any, meaning: str, **limits: Any) -> Setting:
    """A `Setting` that belongs to no settings class; ``kind`` is float, int, bool or str."""
    field = setting(default, meaning, **limits)
    field.type = kind
    return Setting(field)


@dataclasses.dataclass(frozen=True)
class Name(Setting):
    """A text short enough for messages and file names."""

    shortest: int = 0

    def check(self, value: Any, source: Source, path: KeyPath) -> Any:
        text = super().check(value, source, path)
        if not self.shortest <= len(text) <= LONGEST_NAME:
            what = f"{shown(text)} has {len(text):,} characters"
            raise source.error(path, what, f"Give a name of {self.shortest} to {LONGEST_NAME}")
        return text

    def schema(self) -> dict[str, Any]:
        return {**super().schema(), "minLength": self.shortest, "maxLength": LONGEST_NAME}


def label(meaning: str, shortest: int = 0) -> Name:
    """A `Name` of at least so many characters."""
    return Name(scalar("str", None if shortest else "", meaning).field, shortest)


@dataclasses.dataclass(frozen=True)
class Constant(Setting):
    """A value that can be no other than its default."""

    def check(self, value: Any, source: Source, path: KeyPath) -> Any:
        if super().check(value, source, path) != self.field.default:
            raise source.error(path, f"{shown(value)} is not known", f"Give {self.field.default!r}")
        return value

    def schema(self) -> dict[str, Any]:
        return {**super().schema(), "const": self.field.default}


def settings_of(cls: type) -> dict[str, Kind]:
    """All fields of a settings class, by name."""
    return {field.name: Setting(field) for field in dataclasses.fields(cls)}


@dataclasses.dataclass(frozen=True)
class Vector:
    """Three numbers."""

    meaning: str

    def check(self, value: Any, source: Source, path: KeyPath) -> tuple[float, float, float]:
        try:
            return as_vector(value, "")
        except InputError as error:
            raise source.error(path, error.what, error.remedy) from None

    def schema(self) -> dict[str, Any]:
        return {
            "type": "array",
            "items": {"type": "number"},
            "minItems": 3,
            "maxItems": 3,
            "description": self.meaning,
        }


@dataclasses.dataclass(frozen=True)
class ListOf:
    """A list whose entries are all of one kind."""

    kind: Kind
    meaning: str
    shortest: int = 1
    longest: int | None = None

    def check(self, value: Any, source: Source, path: KeyPath) -> list[Any]:
        most = f" to {self.longest}" if self.longest is not None else " or more"
        wanted = f"{self.shortest}" if self.longest == self.shortest else f"{self.shortest}{most}"
        remedy = f"Give a list of {wanted}: {self.meaning}"
        if not isinstance(value, list):
            raise source.error(path, f"{shown(value)} is not a list", remedy)
        if len(value) < self.shortest or (self.longest is not None and len(value) > self.longest):
            raise source.error(path, f"{shown(value)} has {len(value)} entries", remedy)
        return [self.kind.check(entry, source, (*path, k)) for k, entry in enumerate(value)]

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "array", "items": self.kind.schema(), "description": self.meaning}
        schema["minItems"] = self.shortest
        if self.longest is not None:
            schema["maxItems"] = self.longest
        return schema


@dataclasses.dataclass(frozen=True)
class Either:
    """One kind for lists, tables or texts, and another for everything else."""

    special: Kind
    when: type
    otherwise: Kind

    def check(self, value: Any, source: Source, path: KeyPath) -> Any:
        return (self.special if isinstance(value, self.when) else self.otherwise).check(value, source, path)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.otherwise.schema(), self.special.schema()]}


@dataclasses.dataclass(frozen=True)
class Table:
    """Keys and their kinds.

    Args:
        keys: what may stand in it.
        meaning: one line of help.
        required: keys that must be given.
        one_of: if given, exactly one of these keys must stand in it.
    """

    keys: Mapping[str, Kind]
    meaning: str
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()

    def check(self, value: Any, source: Source, path: KeyPath) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise source.error(path, f"{shown(value)} is not a table", f"Give keys such as {self._example()}")
        for key in value:
            if key not in self.keys:
                remedy = suggest(key, self.keys, "The keys here are")
                raise source.error((*path, key), f"no key '{key}' is known (value {shown(value[key])})", remedy)
        for key in self.required:
            if key not in value:
                raise source.error(path, f"the key '{key}' is missing in {shown(value)}", f"Add {key} = ...")
        if self.one_of and sum(key in value for key in self.one_of) != 1:
            given = [key for key in self.one_of if key in value]
            what = f"both {' and '.join(given)} are given" if given else f"{shown(value)} has none of its sources"
            raise source.error(path, what, f"Give exactly one of: {', '.join(self.one_of)}")
        return {key: self.keys[key].check(entry, source, (*path, key)) for key, entry in value.items()}

    def _example(self) -> str:
        return ", ".join((self.required or self.one_of or tuple(self.keys))[:3])

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {
            "type": "object",
            "description": self.meaning,
            "properties": {key: kind.schema() for key, kind in self.keys.items()},
            "additionalProperties": False,
        }
        if self.required:
            schema["required"] = list(self.required)
        if self.one_of:
            schema["oneOf"] = [{"required": [key]} for key in self.one_of]
        return schema


@dataclasses.dataclass(frozen=True)
class Variant:
    """A table whose other keys depend on the value of its first one."""

    tag: str
    tables: Mapping[str, Table]
    meaning: str

    def check(self, value: Any, source: Source, path: KeyPath) -> dict[str, Any]:
        names = ", ".join(self.tables)
        if not isinstance(value, dict) or self.tag not in value:
            what = f"{shown(value)} does not say its {self.tag}"
            raise source.error(path, what, f"Give a table such as {{{self.tag} = \"{next(iter(self.tables))}\"}}, "
                                           f"with one of: {names}")  # fmt: skip
        tag = value[self.tag]
        if not isinstance(tag, str) or tag not in self.tables:
            remedy = suggest(str(tag), self.tables, f"The known {self.tag}s are")
            raise source.error((*path, self.tag), f"no {self.tag} {shown(tag)} is known", remedy)
        rest = {key: entry for key, entry in value.items() if key != self.tag}
        return {self.tag: tag, **self.tables[tag].check(rest, source, path)}

    def schema(self) -> dict[str, Any]:
        options = []
        for name, table in self.tables.items():
            option = table.schema()
            option["properties"] = {self.tag: {"const": name}, **option["properties"]}
            option["required"] = [self.tag, *table.required]
            options.append(option)
        return {"description": self.meaning, "oneOf": options}


def check_whole_numbers(value: Any, source: Source, path: KeyPath = ()) -> None:
    """Refuse whole numbers that TOML has no room for, which would overflow later."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= LARGEST_WHOLE:
        raise source.error(path, f"{shown(value)} is too large", "Give a number of at most 18 digits")
    if isinstance(value, dict):
        for key, entry in value.items():
            check_whole_numbers(entry, source, (*path, key))
    if isinstance(value, list):
        for k, entry in enumerate(value):
            check_whole_numbers(entry, source, (*path, k))
