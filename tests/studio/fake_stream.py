"""A server that streams a made-up scene: it moves bodies by formulas, so that the view is tested without the engine.

    python tests/studio/fake_stream.py PORT [--lanes N] [--vertices N] [--theme THEME] [--no-draw] [--camera]

``GET /log`` gives the commands received since the last ``GET /log``, ``GET /do?what=...`` changes the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import time
from typing import Any

import numpy as np
from fastapi import Request, WebSocket, WebSocketDisconnect
from nicegui import app, ui

import pliant
from pliant.studio.messages import FRAME, SCENE, encode, note
from pliant.studio.page.view import View

COLORS = ((0.86, 0.32, 0.25), (0.27, 0.49, 0.83))
HEATS = [
    {"name": "strain", "unit": "", "meaning": "stretch"},
    {"name": "stress", "unit": "Pa", "meaning": "of von Mises"},
]
IN_FLIGHT = 3


def ball(rings: int) -> tuple[np.ndarray, np.ndarray]:
    """A sphere of radius 1 as vertices and triangles, with about 2 * rings**2 vertices."""
    sectors = 2 * rings
    theta = np.pi * np.arange(rings + 1) / rings
    phi = 2 * np.pi * np.arange(sectors) / sectors
    s, c = np.sin(theta)[:, None], np.cos(theta)[:, None]
    points = np.stack([s * np.cos(phi), np.broadcast_to(c, (rings + 1, sectors)), s * np.sin(phi)], axis=-1).reshape(
        -1, 3
    )
    i, j = np.meshgrid(np.arange(rings), np.arange(sectors), indexing="ij")
    a, b = i * sectors + j, i * sectors + (j + 1) % sectors
    faces = np.stack([np.stack([a, b, a + sectors], -1), np.stack([b, b + sectors, a + sectors], -1)], 2)
    return points, faces.reshape(-1, 3)


def block(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of a unit cube's grid and six tets per cell."""
    side = cells + 1
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3) / cells
    low = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 3)
    step = np.array([side * side, side, 1])
    tets = []
    for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        corners = [low @ step]
        for axis in order:
            corners.append(corners[-1] + step[axis])
        tets.append(np.stack(corners, -1))
    return grid, np.concatenate(tets)


class Body:
    """A body at rest, with clusters and tets, that wobbles by a formula."""

    def __init__(self, name: str, vertices: np.ndarray, triangles: np.ndarray, place: tuple, color: tuple) -> None:
        self.name, self.color = name, color
        self.rest = vertices + np.array(place)
        self.triangles = triangles.astype(np.uint32)
        low, high = self.rest.min(0), self.rest.max(0)
        self.size = float(np.linalg.norm(high - low))
        grid, self.tets = block(7)
        self.particles = low + grid * (high - low)
        self.center = (low + high) / 2
        self.base = float(low[1])
        self.height = float(high[1] - low[1])
        self.clusters = (4 * (self.rest[:, 1] - low[1]) / self.height).clip(0, 3).astype(np.uint16)
        self.normals = self._normals(self.rest)

    def _normals(self, points: np.ndarray) -> np.ndarray:
        a, b, c = (points[self.triangles[:, k]] for k in range(3))
        faces = np.cross(b - a, c - a)
        out = np.zeros_like(points)
        for k in range(3):
            for axis in range(3):
                out[:, axis] += np.bincount(self.triangles[:, k], faces[:, axis], len(points))
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)

    def moved(self, points: np.ndarray, time_now: float, offset: np.ndarray, lean: float) -> np.ndarray:
        up = ((points[:, 1] - self.base) / self.height)[:, None] ** 2
        sway = np.array([math.sin(4 * time_now), 0.0, math.cos(3 * time_now)]) * lean * self.height
        return points + up * sway + up * offset


class Fake:
    """The state that all clients share."""

    def __init__(self, lanes: int, vertices: int, camera: bool) -> None:
        self.camera = (
            {"eye": [0.0, 0.3, 1.2], "target": [0.0, 0.1, 0.0], "up": [0, 1, 0], "fov": 40.0} if camera else None
        )
        if vertices:
            points, triangles = ball(max(4, round(math.sqrt(vertices / 4))))
            shapes = [(0.1 * points + [0, 0.1, 0], triangles)] * 2
        else:
            bunny = pliant.asset("small_bunny")
            points, triangles = ball(16)
            shapes = [(bunny.vertices, bunny.triangles), (0.07 * points + [0, 0.07, 0], triangles)]
        names, places = ("bunny", "ball"), ((-0.08, 0.0, 0.0), (0.14, 0.0, 0.05))
        self.bodies = [Body(n, v, t, p, c) for n, (v, t), p, c in zip(names, shapes, places, COLORS)]
        self.lanes = lanes
        self.scene = 1
        self.frame, self.playing, self.speed = 0, True, 1.0
        self.shown: int | None = None
        self.heat: str | None = None
        self.layers = {"particles": False, "contacts": False, "stages": False}
        self.pull: dict[str, Any] | None = None
        self.poke: dict[str, Any] | None = None
        self.pins: set[tuple[str, int]] = set()
        self.drags: dict[str, int] = {}
        self.log: list[dict[str, Any]] = []
        self.uploads: list[tuple[str, int]] = []
        self.tools = ["drag", "pin", "throw", "poke", "cut"]
        self.clients = 0
        self.newest = b""
        self.number = 0
        self.down_until = 0.0

    def scene_bytes(self) -> bytes:
        sections: dict[str, np.ndarray] = {}
        lanes = []
        for lane in range(self.lanes):
            bodies = []
            for number, body in enumerate(self.bodies):
                key = f"{lane}.{number}"
                colors = np.full((len(body.rest), 4), 255, np.uint8)
                colors[:, :3] = np.round(255 * np.array(body.color))
                sections |= {f"{key}.triangles": body.triangles, f"{key}.colors": colors}
                sections |= {f"{key}.clusters": body.clusters, f"{key}.tets": body.tets.astype(np.uint32)}
                bodies.append(
                    {"name": body.name, "method": "fake", "color": body.color, "vertices": len(body.rest)}
                    | {"triangles": len(body.triangles), "particles": len(body.particles), "mass": 1.0}
                    | {"tets": len(body.tets), "clusters": 4, "can_cut": True, "size": body.size}
                )
            lanes.append({"name": f"method {lane + 1}", "method": "fake", "bodies": bodies})
        box, faces = ball(12)
        sections["collider.2.vertices"] = (0.05 * box + [0.05, 0.03, -0.2]).astype(np.float32)
        sections["collider.2.triangles"] = faces.astype(np.uint32)
        colliders = [
            {"name": "floor", "kind": "plane", "point": [0, 0, 0], "normal": [0, 1, 0]},
            {"name": "ramp", "kind": "plane", "point": [-0.5, 0, -0.4], "normal": [0.5, 0.7, 0.5]},
            {"name": "stone", "kind": "mesh", "vertices": len(box), "triangles": len(faces)},
        ]
        header = {"scene": self.scene, "name": "fake", "frame_dt": 1 / 60, "gravity": [0, -9.81, 0], "wind": [0, 0, 0]}
        header |= {"lanes": lanes, "heats": HEATS, "colliders": colliders, "tools": self.tools, "camera": self.camera}
        return encode(SCENE, header, sections)

    def frame_bytes(self) -> bytes:
        frame = self.frame if self.shown is None else self.shown
        now = frame / 60
        xs, normals, ps, boxes, pulls, pinned = [], [], [], [], [], []
        for lane in range(self.lanes):
            row = []
            for number, body in enumerate(self.bodies):
                offset = np.zeros(3)
                if self.pull and self.pull["body"] == body.name:
                    offset = np.array(self.pull["target"]) - np.array(self.pull["at"])
                lean = 0.12 * (1 + lane)
                points = body.moved(body.rest, now, offset, lean)
                particles = body.moved(body.particles, now, offset, lean)
                low = np.minimum(points.min(0), particles.min(0))
                size = float((np.maximum(points.max(0), particles.max(0)) - low).max())
                row.append([*map(float, low), size, size, size])
                x = np.zeros((len(points), 4), np.uint16)
                x[:, :3] = np.round((points - low) / size * 65535)
                x[:, 3] = 65535 * (points[:, 1] - low[1]) / (points[:, 1] - low[1]).max()
                normal = np.zeros((len(points), 4), np.int8)
                normal[:, :3] = np.round(127 * body.normals)
                p = np.zeros((len(particles), 4), np.uint16)
                p[:, :3] = np.round((particles - low) / size * 65535)
                p[:8, 3] = 65535 if self.pins else 0
                pinned += [[lane, *points[v].tolist()] for name, v in sorted(self.pins) if name == body.name]
                xs.append(x), normals.append(normal), ps.append(p)
                if self.pull and self.pull["body"] == body.name:
                    at = [float(v) for v in points[self.pull["vertex"]]]
                    pulls.append({"lane": lane, **self.pull, "body": number, "at": at, "force": 1.0})
            boxes.append(row)
        sections = {"x": np.concatenate(xs), "normal": np.concatenate(normals)}
        contacts = np.zeros((0, 8), np.float32)
        if self.layers["particles"]:
            sections["particles"] = np.concatenate(ps)
        if self.layers["contacts"]:
            low = [p for p in self.bodies[0].particles[::8] if p[1] < 1e-6]
            contacts = np.array(
                [[*p, 0, 1, 0, 1 + 5 * abs(p[0]), lane] for lane in range(self.lanes) for p in low], np.float32
            )
            sections["contacts"] = contacts
        kinetic = 0.3 * (1 + math.sin(4 * now))
        lanes = [
            {"ms": 1.5 + lane, "error": None if lane == 0 else 0.004 * lane, "reference": lane == 0}
            for lane in range(self.lanes)
        ]
        stats: dict[str, Any] = {
            "playing": self.playing,
            "speed": self.speed,
            "factor": 0.98,
            "fps": 60.0,
            "substeps": 8,
        }
        stats |= {"particles": sum(len(b.particles) for b in self.bodies), "contacts": len(contacts), "recording": None}
        stats |= {"first": 0, "last": self.frame, "lanes": lanes}
        stats["energy"] = {"kinetic": kinetic, "elastic": 0.6 - kinetic, "potential": 0.8}
        if self.layers["stages"]:
            stats["stages"] = {"predict mass_spring": 1.2, "collide": 0.7, "skin": 0.3}
        unit = "Pa" if self.heat == "stress" else ""
        heat = {"name": self.heat, "low": 0.0, "high": 0.2, "unit": unit} if self.heat else None
        header = {
            "scene": self.scene,
            "frame": frame,
            "time": now,
            "live": self.shown is None,
            "boxes": boxes,
            "heat": heat,
        }
        header |= {"pulls": pulls, "pins": len(self.pins), "pinned": pinned, "poke": self.poke, "drags": self.drags}
        header["stats"] = stats
        return encode(FRAME, header, sections)

    def do(self, name: str, client: str, given: dict[str, Any]) -> tuple[dict[str, str] | None, Any]:
        """Does a command; returns its error and its result."""
        if name in ("play", "pause"):
            self.playing = name == "play"
        elif name == "step":
            self.frame += given["frames"]
        elif name == "reset":
            self.frame, self.shown = 0, None
        elif name == "speed":
            self.speed = given["value"]
        elif name == "seek":
            self.shown, self.playing = given["frame"], False
        elif name in ("live", "resume_from"):
            self.shown = None
            self.frame = given.get("frame", self.frame)
        elif name == "heat":
            self.heat = given["name"]
        elif name == "layers":
            self.layers |= given
        elif name == "grab":
            at = given["at"]
            self.pull = {"body": given["body"], "vertex": given["vertex"], "at": at, "target": at, "client": client}
        elif name == "drag" and self.pull:
            self.pull["target"] = given["target"]
            self.drags[client] = given["seq"]
        elif name == "release":
            self.pull = None
        elif name == "pin":
            self.pins ^= {(given["body"], given["vertex"])}
            return None, (given["body"], given["vertex"]) in self.pins
        elif name == "unpin":
            self.pins = {pin for pin in self.pins if given["body"] not in (None, pin[0])}
        elif name in ("poke", "unpoke"):
            self.poke = dict(given) or None
        elif name == "undo":
            return {"what": "nothing to undo", "where": "undo", "remedy": "Change something first"}, None
        return None, None


def build(fake: Fake, theme: str, draw: bool) -> Any:
    """NiceGUI's application with the view, the stream and the routes of the tests."""

    @app.websocket("/stream")
    async def stream(socket: WebSocket) -> None:
        if time.monotonic() < fake.down_until:
            await socket.close()
            return
        await socket.accept()
        fake.clients += 1
        client = f"c{fake.clients}"
        waiting, scene, sent = 0, None, -1
        await socket.send_bytes(note(event="hello", client=client, version="0"))

        async def hear() -> None:
            nonlocal waiting
            async for text in socket.iter_text():
                message = json.loads(text)
                if "ack" in message:
                    waiting -= 1
                    continue
                fake.log.append(message)
                given = {key: value for key, value in message.items() if key not in ("do", "id")}
                error, result = fake.do(message["do"], client, given)
                answer = {"error": error} if error else {"ok": True, "result": result}
                if "id" in message or error:
                    await socket.send_bytes(note(reply=message.get("id"), **answer))

        ears = asyncio.create_task(hear())
        try:
            while not ears.done() and time.monotonic() >= fake.down_until:
                if scene != fake.scene:
                    scene = fake.scene
                    await socket.send_bytes(fake.scene_bytes())
                if waiting < IN_FLIGHT and sent != fake.number and fake.newest:
                    sent = fake.number
                    waiting += 1
                    await socket.send_bytes(fake.newest)
                await asyncio.sleep(0.004)
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            ears.cancel()
            if socket.client_state.name == "CONNECTED":
                await socket.close()

    async def run() -> None:
        fake.newest = fake.frame_bytes()
        steps = 0
        bench = len(fake.bodies[0].rest) > 5000
        canned = [fake.newest]
        while True:
            start = time.perf_counter()
            steps += 1
            if fake.playing:
                fake.frame += 1
            fake.newest = canned[0] if bench else fake.frame_bytes()
            fake.number += 1
            await asyncio.sleep(max(0.001, 1 / 60 - (time.perf_counter() - start)))

    app.on_startup(lambda: asyncio.create_task(run()))

    @app.get("/log")
    def log() -> list[dict[str, Any]]:
        out, fake.log = fake.log, []
        return out

    @app.get("/do")
    def do(what: str) -> dict[str, Any]:
        if what == "down":
            fake.down_until = time.monotonic() + 1.5
            fake.scene += 1
        elif what == "rebuild":
            fake.scene += 1
        elif what == "plain":
            fake.tools = ["drag"]
            fake.scene += 1
        elif what.startswith("lanes"):
            fake.lanes = int(what[5:])
            fake.scene += 1
        fake.newest = fake.frame_bytes()
        fake.number += 1
        return {"uploads": fake.uploads}

    @app.post("/upload")
    async def upload(request: Request, name: str) -> dict[str, Any]:
        data = await request.body()
        fake.uploads.append((name, len(data)))
        return {"file": name, "report": {"bytes": len(data)}}

    @ui.page("/")
    def page() -> None:
        ui.query(".nicegui-content").classes("p-0 gap-0")
        seen = ui.label("").classes("hidden").props("id=seen")
        view = View(theme=theme, draw=draw).style("height: 100vh")
        view.on_select(lambda hit: seen.set_text(json.dumps(hit)))
        view.on_uploaded(lambda answer: seen.set_text(json.dumps(answer)))

    return ui


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("port", type=int)
    options.add_argument("--lanes", type=int, default=1)
    options.add_argument("--vertices", type=int, default=0)
    options.add_argument("--theme", default="auto")
    options.add_argument("--no-draw", action="store_true")
    options.add_argument("--camera", action="store_true")
    given = options.parse_args()
    ui = build(Fake(given.lanes, given.vertices, given.camera), given.theme, not given.no_draw)
    ui.run(
        host="127.0.0.1",
        port=given.port,
        reload=False,
        show=False,
        ws_per_message_deflate=False,
        show_welcome_message=False,
    )


if __name__ == "__main__":
    main()
