"""A page of the studio in a headless Chromium that applies frames and draws nothing, to measure the stream with."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pliant.errors import InputError, PliantError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = ["--headless=new", "--no-sandbox", "--remote-debugging-port=0", "--window-size=640,400", "--no-first-run"]
ARGUMENTS += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"]
ARGUMENTS += ["--disable-dev-shm-usage", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
WAIT = 60.0
"""Longest time for a browser or a page to be there [s]."""

# Frames applied within a time, each with the moment at which that was done [ms since 1970].
APPLY = """async ([seconds, busy]) => {
  const { stream, stats } = pliantView, plain = stream.acknowledge, taken = [];
  stream.acknowledge = (frame) => {
    const until = performance.now() + 1000 * busy;
    while (performance.now() < until);
    taken.push([frame, performance.timeOrigin + performance.now()]);
    plain.call(stream, frame);
  };
  const before = stats.applications, begin = performance.now();
  await new Promise((done) => setTimeout(done, 1000 * seconds));
  const elapsed = (performance.now() - begin) / 1000, applied = stats.applications - before;
  stream.acknowledge = plain;
  return { elapsed, applied, taken };
}"""

# Times from sending a drag to the frame that shows it [ms]; the period of the drags is no multiple of a frame's.
DRAG = """async (seconds) => {
  const { stream, stats, world } = pliantView, body = world.lanes[0].bodies[0], at = body.vertex(0);
  await stream.ask("grab", { body: body.name, vertex: 0, at });
  stats.latencies = [];
  const begin = performance.now();
  while (performance.now() - begin < 1000 * seconds) {
    const turn = (performance.now() - begin) / 300;
    pliantView.sendDrag([at[0] + 0.05 * Math.sin(turn), at[1] + 0.1, at[2] + 0.05 * Math.cos(turn)]);
    await new Promise((done) => setTimeout(done, 21));
  }
  const found = [...stats.latencies];
  await stream.ask("release");
  return found;
}"""

# Mean length of the normals that were applied last, 1 if they are there.
NORMALS = """() => {
  const n = pliantView.world.lanes[0].bodies[0].normals.array;
  let sum = 0;
  for (let i = 0; i < n.length; i += 4) sum += Math.hypot(n[i], n[i + 1], n[i + 2]) / 127;
  return (4 * sum) / n.length;
}"""


class Page:
    """The studio's page; its view applies and acknowledges frames and draws none.

    The page is asked by the browser's own protocol for debugging, and for nothing but results of scripts: a tool for
    tests would watch the network, and be sent a copy of every frame.
    """

    def __init__(self, socket: Any):
        self._socket = socket
        self._numbers = itertools.count(1)

    def evaluate(self, function: str, *arguments: Any) -> Any:
        """The result of a function of JavaScript, which may be a promise."""
        number = next(self._numbers)
        call = f"({function})({', '.join(json.dumps(value) for value in arguments)})"
        asked = {"expression": call, "awaitPromise": True, "returnByValue": True}
        self._socket.send(json.dumps({"id": number, "method": "Runtime.evaluate", "params": asked}))
        while (answer := json.loads(self._socket.recv(timeout=WAIT))).get("id") != number:
            pass
        found = answer.get("result", {})
        if "exceptionDetails" in found or "result" not in found:
            raise PliantError(f"the page failed: {json.dumps(found.get('exceptionDetails', answer))[:500]}")
        return found["result"].get("value")

    def wait_until(self, condition: str) -> None:
        """Wait for an expression to be true."""
        end = time.monotonic() + WAIT
        while not self.evaluate(f"() => Boolean({condition})"):
            if time.monotonic() > end:
                raise PliantError(f"the page never got to where {condition}")
            time.sleep(0.05)

    def wait_for(self, vertices: int) -> None:
        """Wait for frames of a scene of so many vertices."""
        self.wait_until(
            f"pliantView.world?.vertices === {vertices} && pliantView.last?.scene === pliantView.world.number"
        )

    def apply(self, seconds: float, busy: float = 0.0) -> dict[str, Any]:
        """Frames applied within a time: elapsed [s], applied, taken ([number, ms since 1970] each).

        Args:
            seconds: how long.
            busy: what the page does besides for each frame before it acknowledges it [s].
        """
        return self.evaluate(APPLY, [seconds, busy])

    def drag(self, seconds: float) -> list[float]:
        """Times from a drag to the frame that shows it [ms]."""
        return self.evaluate(DRAG, seconds)

    def normals(self) -> float:
        """Mean length of the normals of the frame that was applied last."""
        return float(self.evaluate(NORMALS))


@contextlib.contextmanager
def opened(link: str) -> Iterator[Page]:
    """The page at a link, in a browser of its own; the variable PLIANT_CHROMIUM names another one."""
    from websockets.sync.client import connect

    with browser() as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=WAIT) as answer:
            target = next(entry for entry in json.load(answer) if entry["type"] == "page")
        # no proxy: the browser is on this machine
        with connect(target["webSocketDebuggerUrl"], max_size=None, proxy=None, open_timeout=WAIT) as socket:
            page = Page(socket)
            page.evaluate(f"() => {{ location.href = {json.dumps(link)}; }}")
            page.wait_until("window.pliantView")
            # what is around the view would be painted, in software
            page.evaluate("() => { pliantView.drawing = false; document.documentElement.style.display = 'none'; }")
            yield page


@contextlib.contextmanager
def browser() -> Iterator[int]:
    """A headless Chromium with an empty page; the port by which it can be asked."""
    named = os.environ.get("PLIANT_CHROMIUM")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    remedy = "Install Chromium or Chrome, or name one in the variable PLIANT_CHROMIUM"
    if found is None:
        raise InputError("there is no browser to measure a page in", "bench stream", remedy)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [found, *ARGUMENTS, f"--user-data-dir={profile}", "about:blank"]
        try:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError as error:
            raise InputError(f"the browser {found} could not be started ({error})", "bench stream", remedy) from error
        try:
            yield _port(process, Path(profile) / "DevToolsActivePort", found)
        finally:
            process.terminate()
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _port(process: subprocess.Popen, file: Path, name: str) -> int:
    """The port that a browser has chosen."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end and process.poll() is None:
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) > 1:
            return int(lines[0])
        time.sleep(0.05)
    raise InputError(f"the browser {name} did not start", "bench stream", "Try it by hand, with --headless")
