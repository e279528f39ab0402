"""A line that tells how far a run is, on a terminal or in a log."""

from __future__ import annotations

import sys
import time
from typing import TextIO

# Seconds between two lines where the output is not a terminal, and between two updates where it is.
LOG_PERIOD = 5.0
TERMINAL_PERIOD = 0.1


class Progress:
    """Shows frames done, frames per second, real-time factor and the time left.

    Args:
        label: what is being done.
        total: number of steps.
        seconds_each: simulated seconds in a step; 0 leaves the real-time factor out.
        quiet: print nothing.
        stream: where to.
    """

    def __init__(
        self, label: str, total: int, seconds_each: float = 0.0, quiet: bool = False, stream: TextIO | None = None
    ):
        self.label = label
        self.total = total
        self.seconds_each = seconds_each
        self.quiet = quiet
        self.stream = stream or sys.stdout
        self.terminal = self.stream.isatty()
        self.begin = self.shown = time.perf_counter()
        self.first: int | None = None
        self._width = 0

    def update(self, done: int) -> None:
        """Say that `done` of the steps are finished."""
        now = time.perf_counter()
        if self.first is None:
            self.first, self.begin, self.shown = done, now, now
        period = TERMINAL_PERIOD if self.terminal else LOG_PERIOD
        if self.quiet or (now - self.shown < period):
            return
        self.shown = now
        self._print(self._text(done, now), end="\r" if self.terminal else "\n")

    def finish(self, done: int) -> None:
        """Show the last state and leave the line."""
        if not self.quiet:
            self._print(self._text(done, time.perf_counter()), end="\n")

    def _text(self, done: int, now: float) -> str:
        rate = (done - (self.first or 0)) / max(now - self.begin, 1e-9)
        text = f"{self.label} {done:>{len(str(self.total))}}/{self.total}"
        if rate > 0:
            text += f"  {rate:.1f}/s"
            if self.seconds_each:
                text += f"  {rate * self.seconds_each:.2f}x real time"
            if done < self.total:
                text += f"  {_duration((self.total - done) / rate)} left"
        return text

    def _print(self, text: str, end: str) -> None:
        padding = " " * max(0, self._width - len(text)) if self.terminal else ""
        self._width = len(text)
        print(text + padding, end=end, file=self.stream, flush=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
