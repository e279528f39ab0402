"""`pliant.show` and `Simulation.view`: a script's own simulation in a page. Each in a process: there is one server."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import pliant
from pliant.errors import InputError

HEAD = """
import asyncio, json, urllib.request
import numpy as np
import websockets
import pliant
from pliant.studio import messages

scene = pliant.Scene(name="shown")
scene.add_body(pliant.shapes.ball(0.1, cells=4), method="shape_matching", name="ball", position=(0, 0.5, 0))
scene.add_plane()
sim = scene.build("cpu")

def page(link):
    with urllib.request.urlopen(link) as answer:
        return answer.read().decode()

async def frames(link, count, commands=()):
    got = []
    async with websockets.connect(link.replace("http", "ws") + "stream", max_size=None) as socket:
        for command in commands:
            await socket.send(json.dumps(command))
        while len(got) < count:
            kind, header, sections = messages.decode(await asyncio.wait_for(socket.recv(), 30))
            if kind == messages.FRAME:
                got.append(header)
                await socket.send(json.dumps({"ack": len(got)}))
    return got
"""


def run(body: str) -> str:
    script = HEAD + textwrap.dedent(body)
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=180)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_a_view_shows_the_simulation_that_the_script_holds():
    run(
        """
        view = sim.view(port=0, browser=False)
        assert "pliant" in page(view.link).lower()
        sim.frame(5)
        view.update()
        got = asyncio.run(frames(view.link, 1))
        assert got[-1]["frame"] == 5, got[-1]["frame"]
        asyncio.run(frames(view.link, 10, [{"do": "play"}]))
        view.pause()
        assert sim.frame_number > 10
        change = {"do": "set", "target": {"material": "ball"}, "key": "density", "value": 500}
        asyncio.run(frames(view.link, 1, [change]))
        view.update()
        assert sim.body("ball").material.density == 500
        assert view.sim is sim
        assert view.link in view._repr_html_()
        view.close()
        """
    )


def test_one_page_shows_one_simulation_after_the_other():
    run(
        """
        first = pliant.show(sim, port=0, browser=False, block=False)
        other = pliant.Scene(name="other")
        other.add_body(pliant.shapes.box((0.1, 0.1, 0.1)), name="cube")
        other.add_body(pliant.shapes.box((0.1, 0.1, 0.1)), name="second", position=(1, 0, 0))
        second = pliant.show(other, browser=False, block=False)
        assert second.link == first.link
        got = asyncio.run(frames(second.link, 1))
        assert len(got[-1]["boxes"][0]) == 2
        second.close()
        third = sim.view(browser=False)
        assert len(asyncio.run(frames(third.link, 1))[-1]["boxes"][0]) == 1
        try:
            sim.view(browser=False, folder="elsewhere")
        except pliant.InputError as error:
            assert "another process" in str(error)
        else:
            raise AssertionError("no error")
        """
    )


def test_a_port_that_is_taken_is_named():
    run(
        """
        import socket
        taken = socket.create_server(("127.0.0.1", 0))
        try:
            pliant.show(sim, port=taken.getsockname()[1], browser=False, block=False)
        except pliant.InputError as error:
            assert "--port 0" in str(error)
        else:
            raise AssertionError("no error")
        """
    )


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(InputError, match="Give a Simulation or a Scene"):
        pliant.show("bunny")
