"""The frames that were shown, kept in memory for the time scrubber, and moments from which to go on."""

from __future__ import annotations

import bisect
from collections import OrderedDict
from typing import Any

import numpy as np

# Frames between two moments from which the simulation can go on.
KEY_EVERY = 15

Moment = list[dict[str, np.ndarray]]


class History:
    """Frame messages by number, within a limit of memory; the oldest go first.

    Args:
        megabytes: of messages and moments together.
    """

    def __init__(self, megabytes: float = 512.0):
        self.limit = int(megabytes * 1e6)
        self._frames: OrderedDict[int, bytes] = OrderedDict()
        self._moments: OrderedDict[int, Moment] = OrderedDict()
        self._bytes = 0

    def add(self, frame: int, message: bytes) -> None:
        """Keep a frame's message. Frames later than it are forgotten: time went back."""
        self.forget_after(frame)
        if frame in self._frames:
            self._bytes -= len(self._frames.pop(frame))
        self._frames[frame] = message
        self._bytes += len(message)
        self._thin()

    def add_moment(self, frame: int, lanes: Moment) -> None:
        """Keep the arrays of all lanes, from which the simulation can go on at a frame."""
        while self._moments and next(reversed(self._moments)) >= frame:
            self._drop_moment(next(reversed(self._moments)))
        self._moments[frame] = lanes
        self._bytes += _size(lanes)
        self._thin()

    def wants_moment(self, frame: int) -> bool:
        return frame % KEY_EVERY == 0 or not self._moments

    def message(self, frame: int) -> bytes | None:
        """The message of the latest frame that is not after `frame`; of the first if all are."""
        if not self._frames:
            return None
        numbers = list(self._frames)
        return self._frames[numbers[max(bisect.bisect_right(numbers, frame) - 1, 0)]]

    def moment(self, frame: int) -> tuple[int, Moment] | None:
        """The latest moment that is not after a frame, and its number."""
        numbers = [number for number in self._moments if number <= frame]
        return (numbers[-1], self._moments[numbers[-1]]) if numbers else None

    @property
    def first(self) -> int:
        return next(iter(self._frames), 0)

    @property
    def last(self) -> int:
        return next(reversed(self._frames), 0)

    def __len__(self) -> int:
        return len(self._frames)

    def forget_after(self, frame: int) -> None:
        """Forget what came after a frame."""
        # numbers grow, and there may be very many of them
        while self._frames and self.last > frame:
            self._bytes -= len(self._frames.popitem()[1])
        while self._moments and next(reversed(self._moments)) > frame:
            self._drop_moment(next(reversed(self._moments)))

    def forget_moments(self) -> None:
        """What can be seen stays; from here on the bodies are others."""
        for number in list(self._moments):
            self._drop_moment(number)

    def clear(self) -> None:
        self._frames.clear()
        self._moments.clear()
        self._bytes = 0

    def _drop_moment(self, number: int) -> None:
        if number in self._moments:
            self._bytes -= _size(self._moments.pop(number))

    def _thin(self) -> None:
        while self._bytes > self.limit and len(self._frames) > 1:
            oldest, message = self._frames.popitem(last=False)
            self._bytes -= len(message)
            while len(self._moments) > 1 and next(iter(self._moments)) <= oldest:
                self._drop_moment(next(iter(self._moments)))


def _size(lanes: Any) -> int:
    return sum(array.nbytes for arrays in lanes for array in arrays.values())
