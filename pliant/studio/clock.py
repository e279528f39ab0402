"""Simulated time follows the clock on the wall, in frames of fixed length."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

# Frames that may be owed before some are forgotten: a machine that cannot keep up slows down instead of falling behind.
MOST_OWED = 2.0
# Time over which the real-time factor is taken [s].
WINDOW = 1.0


class Clock:
    """Says when a frame is due. The step never varies: what varies is how many are done.

    Args:
        frame_dt: duration of a frame [s].
        now: seconds of the wall's clock.

    Attributes:
        speed: simulated seconds asked for per second; 1 is real time.
    """

    def __init__(self, frame_dt: float, now: Callable[[], float] = time.perf_counter):
        self.frame_dt = frame_dt
        self.speed = 1.0
        self._now = now
        self._last: float | None = None
        self._owed = 0.0
        self._done: deque[tuple[float, float]] = deque()

    def due(self) -> bool:
        """Whether a frame is due now; it then counts as done."""
        now = self._now()
        if self._last is not None:
            self._owed += (now - self._last) * self.speed / self.frame_dt
        else:
            self._owed = 1.0
        self._last = now
        self._owed = min(self._owed, MOST_OWED)
        if self._owed < 1.0:
            return False
        self._owed -= 1.0
        return True

    def wait(self) -> float:
        """Seconds until the next frame is due."""
        if self._last is None:
            return 0.0
        missing = (1.0 - self._owed) * self.frame_dt / self.speed
        return max(missing - (self._now() - self._last), 0.0)

    def stop(self) -> None:
        """Time stands still; when it goes on, nothing is owed."""
        self._last = None
        self._owed = 0.0
        self._done.clear()

    def finished(self) -> None:
        """A frame was finished."""
        now = self._now()
        self._done.append((now, self.frame_dt))
        while len(self._done) > 2 and now - self._done[0][0] > WINDOW:
            self._done.popleft()

    @property
    def factor(self) -> float:
        """Simulated seconds per second over the last second; zero while nothing is known."""
        return self._over(sum(dt for _, dt in list(self._done)[1:]))

    @property
    def fps(self) -> float:
        """Frames finished per second over the last second."""
        return self._over(float(len(self._done) - 1))

    def _over(self, amount: float) -> float:
        if len(self._done) < 2:
            return 0.0
        # a frame that takes long counts while it is awaited, too
        elapsed = max(self._done[-1][0] - self._done[0][0], 1e-9)
        return amount / elapsed
