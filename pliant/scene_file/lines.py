"""Which line of a TOML text a key stands on, for error messages: `tomllib` does not tell."""

from __future__ import annotations

import tomllib

KeyPath = tuple[str | int, ...]


class KeyLines:
    """Lines of all keys and list entries of a text that `tomllib` has accepted."""

    def __init__(self, text: str):
        scanner = _Scanner(text)
        scanner.scan()
        self._lines = scanner.lines

    def line(self, path: KeyPath) -> int:
        """The line of a key, or of the nearest table around it, counted from 1."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]


class _Scanner:
    """Walks through valid TOML once; values are skipped, keys are noted."""

    def __init__(self, text: str):
        self.text = text.replace("\r\n", "\n")
        self.at = 0
        self.row = 1
        self.lines: dict[KeyPath, int] = {(): 1}
        self._entries: dict[KeyPath, int] = {}

    def scan(self) -> None:
        prefix: KeyPath = ()
        self._skip_space()
        while self.at < len(self.text):
            if self._char() == "[":
                prefix = self._header()
            else:
                self._entry(prefix)
            self._skip_space()

    def _char(self) -> str:
        return self.text[self.at : self.at + 1]

    def _step(self, count: int = 1) -> None:
        self.row += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def _skip_space(self) -> None:
        while self.at < len(self.text):
            if self._char() == "#":
                end = self.text.find("\n", self.at)
                self._step((len(self.text) if end < 0 else end) - self.at)
            elif self._char().isspace():
                self._step()
            else:
                return

    def _header(self) -> KeyPath:
        """``[a.b]`` or ``[[a.b]]``; returns the path that the keys below it belong to."""
        row = self.row
        listed = self.text.startswith("[[", self.at)
        self._step(2 if listed else 1)
        parts = self._key()
        self._skip_space()
        self._step(2 if listed else 1)
        path: KeyPath = ()
        for k, part in enumerate(parts):
            path = (*path, part)
            self.lines.setdefault(path, row)
            last = k == len(parts) - 1
            if last and listed:
                self._entries[path] = self._entries.get(path, 0) + 1
            if path in self._entries:
                path = (*path, self._entries[path] - 1)
        self.lines[path] = row
        return path

    def _entry(self, prefix: KeyPath) -> None:
        """``a.b = value``"""
        row = self.row
        path = prefix
        for part in self._key():
            path = (*path, part)
            self.lines.setdefault(path, row)
        self._skip_space()
        self._step()  # the equals sign
        self._skip_space()
        self._value(path)

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._skip_space()
            start = self.at
            if self._char() in "\"'":
                self._string()
                parts.append(tomllib.loads(f"key = {self.text[start : self.at]}")["key"])
            else:
                while self._char().isalnum() or self._char() in ("_", "-"):
                    self._step()
                parts.append(self.text[start : self.at])
            self._skip_space()
            if self._char() != ".":
                return parts
            self._step()

    def _value(self, path: KeyPath) -> None:
        if self._char() in "\"'":
            self._string()
        elif self._char() == "[":
            self._step()
            self._skip_space()
            count = 0
            while self._char() != "]":
                self.lines[(*path, count)] = self.row
                self._value((*path, count))
                count += 1
                self._skip_comma()
            self._step()
        elif self._char() == "{":
            self._step()
            self._skip_space()
            while self._char() != "}":
                self._entry(path)
                self._skip_comma()
            self._step()
        else:
            while self.at < len(self.text) and self._char() not in ",]}\n#":
                self._step()

    def _skip_comma(self) -> None:
        self._skip_space()
        if self._char() == ",":
            self._step()
            self._skip_space()

    def _string(self) -> None:
        quote = self._char()
        fence = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self._step(len(fence))
        while not self.text.startswith(fence, self.at):
            self._step(2 if quote == '"' and self._char() == "\\" else 1)
        self._step(len(fence))
        # a fence may be preceded by one or two quotes that belong to the text
        while len(fence) == 3 and self._char() == quote:
            self._step()
