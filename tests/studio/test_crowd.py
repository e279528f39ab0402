"""Fifty clients and ten thousand malformed messages at once, with a real engine: nothing is lost, nothing stops."""

from __future__ import annotations

import asyncio
import json
import random

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

import websockets
from studio.test_backpressure import engine, streaming  # noqa: F401
from studio.test_flood import BAD

from pliant.studio import messages
from pliant.studio import stream as served_stream

CLIENTS, MESSAGES = 50, 10_000
# Commands that exist, with arguments that make no sense.
WRONG = [
    {"do": "grab", "body": "nobody", "vertex": -1, "at": [0, 0, 0]},
    {"do": "grab", "body": "ring", "vertex": 1 << 40, "at": [0, 0, 0]},
    {"do": "drag", "target": [1e30, 0, 0], "seq": -5},
    {"do": "drag", "target": "here", "seq": 1},
    {"do": "set", "target": {"material": "ring"}, "key": "young", "value": "soft"},
    {"do": "set", "target": [], "key": "", "value": None},
    {"do": "add_body", "table": {"file": "../../../../etc/passwd"}},
    {"do": "add_body", "table": {"shape": {"kind": "ball", "cells": 10**9}}},
    {"do": "remove_body", "name": "x" * 300},
    {"do": "open", "scene": "/etc/passwd"},
    {"do": "compare", "lanes": [{}, {"method": 3}]},
    {"do": "export", "recording": "../scene", "kind": "exe"},
    {"do": "throw", "body": "ring", "velocity": [None, 1, 2]},
    {"do": "step", "frames": 10**9},
    {"do": "speed", "value": -1},
]


async def watch(url: str, frames: int) -> list[int]:
    """Frames that a well-behaved client gets."""
    got: list[int] = []
    async with websockets.connect(url, max_size=None) as socket:
        while len(got) < frames:
            kind, header, _ = messages.decode(await asyncio.wait_for(socket.recv(), 60))
            if kind == messages.FRAME:
                got.append(header["frame"])
                await socket.send(json.dumps({"ack": header["frame"]}))
    return got


async def flood(url: str, seed: int) -> str:
    """Send nonsense, then something sound; the answer to that."""
    generator = random.Random(seed)
    async with websockets.connect(url, max_size=None) as socket:

        async def send() -> None:
            for k in range(MESSAGES // 2):
                bad = [generator.choice(BAD[:21]), generator.randbytes(30), json.dumps(generator.choice(WRONG))]
                await socket.send(bad[k % 3])

        sending = asyncio.create_task(send())
        asked = 0
        while True:
            kind, header, _ = messages.decode(await asyncio.wait_for(socket.recv(), 60))
            if kind == messages.FRAME:
                await socket.send(json.dumps({"ack": 1}))
            if sending.done():
                asked += 1
                if asked % 20 == 1:
                    await socket.send(json.dumps({"do": "copy", "form": "toml", "id": 77}))
            if header.get("reply") == 77 and header.get("ok"):
                await sending
                return header["result"]["text"]


def test_a_crowd_and_a_flood_harm_nobody(engine, monkeypatch):  # noqa: F811
    monkeypatch.setattr(served_stream, "MOST_MESSAGES", 20_000)
    before = engine.do("copy", form="toml").result(30)["text"]

    async def all_at_once(url: str) -> list:
        return await asyncio.gather(*(flood(url, k) for k in range(2)), *(watch(url, 40) for _ in range(CLIENTS)))

    with streaming(engine) as (_, url):
        first = engine.world.frame_number
        (*told,) = asyncio.run(all_at_once(url))
        assert engine.running and engine.playing
        assert engine.world.frame_number > first + 40
    texts, seen = told[:2], told[2:]
    assert texts == [before, before], "the scene is as it was"
    assert len(seen) == CLIENTS
    assert all(len(frames) == 40 and frames == sorted(frames) for frames in seen)
    assert engine.world.hands.grabs == {}
