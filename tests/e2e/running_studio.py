"""The studio as a process of its own, and a page of it in a browser."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

STARTED = 90.0
"""Longest time to wait for the link [s]."""
WAIT = 60_000
"""Longest time to wait for the page [ms]: a browser that draws in software is slow, and slower beside other tests."""
VIEWPORT = {"width": 1100, "height": 600}
BLOCK = {
    "name": "block",
    "shape": {"kind": "box", "size": 0.4, "cells": 3},
    "method": "shape_matching",
    "material": "soft_rubber",
    "position": [0.0, 0.2, 0.0],
}
# Drops a file of a name and a text onto the view.
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    pliantView.root.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
  }
}"""
# The highest vertex of a body that can be seen and is under nothing else of the page: {vertex, x, y}.
GRABBABLE = """(number) => {
  const view = pliantView, body = view.world.lanes[0].bodies[number];
  const places = Array.from({ length: body.about.vertices }, (_, v) => view.placeOf(0, number, v));
  const middle = { x: 0, y: 0 };
  for (const { x, y } of places) { middle.x += x / places.length; middle.y += y / places.length; }
  let best = null;
  places.forEach((place, vertex) => {
    // a little inside, so that the ray does not miss the rim
    const x = place.x + 0.06 * (middle.x - place.x), y = place.y + 0.06 * (middle.y - place.y);
    if (document.elementFromPoint(x, y) !== view.canvas || (best && y >= best.y)) return;
    const hit = view.tools.hit(view.tools.pointer({ clientX: x, clientY: y, shiftKey: false }));
    if (hit?.body.number === number && hit.vertex === vertex) best = { vertex, x, y };
  });
  return best;
}"""
# Extent of a body: {low: [x, y, z], high: [x, y, z]}.
EXTENT = """(number) => {
  const p = pliantView.world.lanes[0].bodies[number].positions();
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  p.forEach((value, i) => { low[i % 3] = Math.min(low[i % 3], value); high[i % 3] = Math.max(high[i % 3], value); });
  return { low, high };
}"""
SHOWS = "window.pliantView?.world && pliantView.last && pliantView.stats.drawings > 0"


class Studio:
    """``pliant studio`` in a process of its own.

    Args:
        folder: of the project.
        arguments: of the command, after those that every test needs.
        port: 0 for any that is free.
    """

    def __init__(self, folder: Path, *arguments: str, port: int = 0):
        self.folder = folder
        self.log = folder.parent / f"{folder.name}.log"
        command = [sys.executable, "-m", "pliant", "studio", "--no-browser", "--device", "cpu"]
        command += ["--folder", str(folder), "--port", str(port), *arguments]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.link = self._wait_for_link()
        found = re.search(r":(\d+)/", self.link)
        assert found
        self.port = int(found.group(1))

    def _wait_for_link(self) -> str:
        begin = time.monotonic()
        while time.monotonic() - begin < STARTED and self.process.poll() is None:
            found = re.search(r"^Pliant studio: (http\S+)$", self.said(), re.MULTILINE)
            if found:
                return found.group(1)
            time.sleep(0.05)
        self.stop()
        raise AssertionError(f"the studio did not start; it said: {self.said()}")

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """End it as Ctrl-C would; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(2)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode


class Visitor:
    """A page of a studio in a context of its own, with what went wrong in it.

    Attributes:
        page: of Playwright.
        troubles: errors of the page and of its console, requests that failed, answers that were refusals.
        requested: all addresses that the page asked for.
    """

    def __init__(self, browser: Any, link: str, **options: Any):
        self.context = browser.new_context(**{"viewport": VIEWPORT, "accept_downloads": True, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT)
        self.troubles: list[str] = []
        self.requested: list[str] = []
        self.page.on("pageerror", lambda error: self.troubles.append(f"page: {error}"))
        self.page.on("console", lambda line: self.troubles.append(line.text) if line.type == "error" else None)
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("websocket", lambda socket: self.requested.append(socket.url))
        self.page.on("requestfailed", lambda request: self.troubles.append(f"{request.url}: {request.failure}"))
        self.page.on("response", self._answered)
        self.page.goto(link)
        self.until(SHOWS)

    def _answered(self, response: Any) -> None:
        if response.status >= 400:
            self.troubles.append(f"{response.url}: {response.status}")

    def forgive(self, text: str) -> None:
        """Forget troubles that were to be expected: at least one that holds a text."""
        known = [trouble for trouble in self.troubles if text in trouble]
        assert known, f"nothing went wrong with {text!r}"
        self.troubles = [trouble for trouble in self.troubles if trouble not in known]

    def until(self, condition: str, argument: Any = None) -> Any:
        """Wait until an expression, or where an argument is given a function of it, is true in the page."""
        asked = f"({condition})" if argument is None else f"({condition})(given)"
        # while a page is loaded again, what is asked about is not there yet
        absent = "error instanceof ReferenceError || error instanceof TypeError"
        calm = (
            f"(given) => {{ try {{ return {asked}; }} catch (error) {{ if ({absent}) return false; throw error; }} }}"
        )
        return self.page.wait_for_function(calm, arg=argument)

    def ask(self, name: str, /, **arguments: Any) -> Any:
        """Send a command over the page's own connection; returns the answer."""
        return self.page.evaluate("([name, given]) => pliantView.stream.ask(name, given)", [name, arguments])

    def find(self, testid: str) -> Any:
        """A control."""
        return self.page.get_by_test_id(testid)

    def click(self, testid: str) -> None:
        self.find(testid).click()

    def write(self, testid: str, text: str) -> None:
        """Type into a field, and leave it."""
        self.find(testid).fill(text)
        self.find(testid).press("Enter")

    def select(self, name: str) -> None:
        """Choose a body in the list, and wait until its properties are shown."""
        self.click(f"body-{name}")
        self.until("name => document.querySelector('[data-testid=set-body-name]')?.value === name", name)

    def last(self, key: str = "") -> Any:
        """Something of the newest frame's header."""
        return self.page.evaluate(f"pliantView.last{key}")

    def extent(self, body: int = 0) -> dict[str, list[float]]:
        return self.page.evaluate(EXTENT, body)

    def until_top(self, comparison: str, height: float, body: int = 0) -> None:
        """Wait until the highest vertex of a body is below ('<') or above ('>') a height [m]."""
        self.until(f"([number, height]) => ({EXTENT})(number).high[1] {comparison} height", [body, height])

    def until_time(self, seconds: float) -> None:
        """Wait until the simulation has gone on for some seconds of its own."""
        self.until("end => pliantView.last.time >= end", self.last(".time") + seconds)

    def names(self) -> list[str]:
        """The bodies in the view, sorted: those of one method stand together there."""
        return sorted(self.page.evaluate("pliantView.world.lanes[0].bodies.map((body) => body.name)"))

    def until_names(self, names: list[str]) -> None:
        found = "pliantView.world?.lanes[0].bodies.map((body) => body.name).sort().join()"
        self.until(f"names => {found} === names", ",".join(sorted(names)))

    def number(self, name: str) -> int:
        """The number of a body in the frames."""
        return self.page.evaluate("name => pliantView.world.lanes[0].bodies.findIndex((b) => b.name === name)", name)

    def begin(self, *bodies: dict[str, Any], play: bool = True) -> None:
        """Bring the shared studio to a floor and these bodies, whatever was there before."""
        self.ask("record", on=False)
        self.ask("heat", name=None)
        self.ask("compare", lanes=[])
        self.ask("open", scene="empty")
        for body in bodies or (BLOCK,):
            self.ask("add_body", table=body)
        self.until_names([body["name"] for body in bodies or (BLOCK,)])
        self.page.evaluate("pliantView.frameScene()")
        if play:
            self.ask("play")
            self.until("pliantView.last.stats.playing")

    def grabbable(self, body: int = 0) -> dict[str, Any]:
        found = self.page.evaluate(GRABBABLE, body)
        assert found, "no vertex of the body can be grabbed"
        return found

    def close(self) -> None:
        self.context.close()
