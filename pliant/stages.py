"""A line that tells which stage of long work is being done."""

from __future__ import annotations

import sys
import time
from typing import TextIO

STAGE_PERIOD = 2.0
"""Seconds between two lines of progress where the output is not a terminal."""


class Stages:
    """A line that tells what is being done, on a terminal or now and then in a log."""

    def __init__(self, quiet: bool, stream: TextIO | None = None):
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.terminal = self.stream.isatty()
        self.shown = time.perf_counter()
        self.width = 0

    def show(self, stage: str, done: float) -> None:
        now = time.perf_counter()
        if self.quiet or (not self.terminal and now - self.shown < STAGE_PERIOD):
            return
        self.shown = now
        text = f"{stage} {100.0 * done:.0f} %" if done > 0.0 else f"{stage} ..."
        padding = " " * max(0, self.width - len(text)) if self.terminal else ""
        self.width = len(text)
        print(text + padding, end="\r" if self.terminal else "\n", file=self.stream, flush=True)

    def clear(self) -> None:
        if self.terminal and self.width:
            print(" " * self.width, end="\r", file=self.stream, flush=True)
