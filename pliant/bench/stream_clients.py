"""Clients of a stream without a page, in a process of their own: `python -m pliant.bench.stream_clients`.

Prints one line of JSON: the seconds measured, and for each client the frames it got, when it was done with each, how
old each then was, and the most that it ever had without having acknowledged one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import Any

from pliant.studio import messages

WARM_UP = 1.0
"""Time before the measurement, after all are connected [s]."""
LONGEST_START = 30.0


class Watcher:
    """One client, which takes a while for each frame and acknowledges it then [s]."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.taken: list[tuple[int, float]] = []
        self.held = self.most_held = 0
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()

    async def run(self, url: str) -> None:
        from websockets.asyncio.client import connect

        async with connect(url, max_size=None, compression=None, proxy=None, open_timeout=LONGEST_START) as socket:
            slow = asyncio.create_task(self._apply(socket)) if self.delay else None
            try:
                async for data in socket:
                    if isinstance(data, str) or messages.HEAD.unpack_from(data)[1] != messages.FRAME:
                        continue
                    self.held += 1
                    self.most_held = max(self.most_held, self.held)
                    if slow is not None:
                        self._frames.put_nowait(data)
                    else:
                        await self._done(socket, 0)
            finally:
                if slow is not None:
                    slow.cancel()

    async def _apply(self, socket: Any) -> None:
        while True:
            data = await self._frames.get()
            await asyncio.sleep(self.delay)
            await self._done(socket, int(messages.decode(data)[1]["frame"]))

    async def _done(self, socket: Any, number: int) -> None:
        self.taken.append((number, time.time()))
        self.held -= 1
        await socket.send('{"ack":1}')


async def watch(url: str, count: int, seconds: float, delay: float) -> dict[str, Any]:
    """Let so many clients watch for a while, after a warm-up."""
    watchers = [Watcher(delay) for _ in range(count)]
    tasks = [asyncio.create_task(watcher.run(url)) for watcher in watchers]
    begin = time.monotonic()
    while not all(watcher.taken for watcher in watchers):
        for task in tasks:
            if task.done():
                task.result()
        if time.monotonic() - begin > LONGEST_START:
            raise TimeoutError("some clients got no frame")
        await asyncio.sleep(0.02)
    await asyncio.sleep(WARM_UP)
    first = time.time()
    await asyncio.sleep(seconds)
    last = time.time()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    found = [
        {"taken": [t for t in watcher.taken if first <= t[1] < last], "most_held": watcher.most_held}
        for watcher in watchers
    ]
    return {"begin": first, "end": last, "clients": found}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--delay", type=float, default=0.0)
    given = parser.parse_args()
    print(json.dumps(asyncio.run(watch(given.url, given.clients, given.seconds, given.delay))))


if __name__ == "__main__":
    main()
