"""The stream's scene and frame messages, made of what the lanes simulate."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

from pliant.collide.shapes.plane import Plane
from pliant.collide.shapes.sphere import Sphere
from pliant.quantities import QUANTITIES
from pliant.studio import messages
from pliant.studio.document import Document
from pliant.studio.hands import Hands
from pliant.studio.lane import POKE, Lane
from pliant.studio.packing_scene import scene_sections

MOST_PINS = 64  # places of pins that a frame tells, of all lanes together

# Scenes are numbered throughout the process, so that no two are mistaken for each other.
_numbers = itertools.count(1)


class FrameMaker:
    """Makes messages; every scene message that says something new has a number of its own.

    Attributes:
        layout: what frames must have in common to be shown one after the other: vertices of each body of each lane.
    """

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.layout: Any = None
        self._last: bytes | None = None
        self._pins: dict[int, tuple[Any, int, list[list[float]]]] = {}

    # ---- scene --------------------------------------------------------------------------------------------------

    def scene(self, lanes: list[Lane], document: Document) -> bytes:
        """The scene message; the same bytes as before where nothing in it has changed."""
        sections: dict[str, np.ndarray] = {}
        described: list[dict[str, Any]] = []
        for k, lane in enumerate(lanes):
            bodies: list[dict[str, Any]] = []
            if lane.sim is not None:
                bodies, own = scene_sections(lane.sim, k)
                sections |= own
            methods = list(dict.fromkeys(body.method for body in lane.bodies))
            described.append({"name": lane.name, "method": " + ".join(methods), "bodies": bodies})
        self.layout = [
            [(b["name"], b["vertices"], b["triangles"], b["particles"]) for b in d["bodies"]] for d in described
        ]
        loaded = lanes[0].loaded
        scene = None if loaded is None else loaded.scene
        eye = None if loaded is None else loaded.camera
        header = {
            "name": document.name,
            "frame_dt": lanes[0].sim.frame_dt if lanes[0].sim is not None else 1 / 60,
            "gravity": list(scene.gravity) if scene is not None else [0.0, -9.81, 0.0],
            "wind": list(scene.wind) if scene is not None else [0.0, 0.0, 0.0],
            "lanes": described,
            "heats": [] if lanes[0].sim is None else [dataclasses.asdict(q) for q in QUANTITIES.values()],
            "colliders": self._colliders(lanes, sections),
            "tools": _tools(lanes),
            "camera": None
            if eye is None
            else {"eye": eye.position, "target": eye.target, "up": eye.up, "fov": eye.fov_deg},
        }
        whole = messages.encode(messages.SCENE, {"scene": self.number, **header}, sections)
        if whole != self._last:
            self.number = next(_numbers)
            self._last = messages.encode(messages.SCENE, {"scene": self.number, **header}, sections)
        return self._last

    def _colliders(self, lanes: list[Lane], sections: dict[str, np.ndarray]) -> list[dict[str, Any]]:
        lead = lanes[0]
        colliders = [] if lead.loaded is None else lead.loaded.scene.colliders
        if lead.sim is not None:
            colliders = lead.sim.pipeline.colliders
        found: list[dict[str, Any]] = []
        for collider in colliders:
            entry: dict[str, Any] = {"name": collider.name, "kind": collider.kind}
            if isinstance(collider, Plane):
                entry |= {"point": list(collider.point), "normal": list(collider.normal)}
            else:
                vertices, triangles = collider.triangles()
                if collider.name == POKE and isinstance(collider, Sphere):
                    continue  # it is drawn from the frames, where it moves
                k = len(found)
                sections[f"collider.{k}.vertices"] = np.asarray(vertices, np.float32)
                sections[f"collider.{k}.triangles"] = np.asarray(triangles, np.uint32)
                entry |= {"vertices": len(vertices), "triangles": len(triangles)}
            found.append(entry)
        return found

    # ---- frames -------------------------------------------------------------------------------------------------

    def frame(
        self,
        lanes: list[Lane],
        hands: Hands,
        stats: dict[str, Any],
        drags: dict[str, int],
        heat: str | None,
        layers: set[str],
    ) -> bytes:
        """The message of the frame that the lanes show now."""
        x, normal, particles, contacts = [], [], [], []
        boxes: list[list[list[float]]] = []
        span: tuple[float, float] | None = None
        for k, lane in enumerate(lanes):
            if lane.sim is None or lane.packer is None:
                boxes.append([])
                continue
            packed = lane.packer.pack(heat, span)
            span = span or packed.heat
            x.append(packed.x)
            normal.append(packed.normal)
            boxes.append([[float(value) for value in box] for box in packed.boxes])
            if "particles" in layers:
                particles.append(lane.packer.particles())
            if "contacts" in layers:
                contacts.append(_contacts(lane, k))
        sections = {
            "x": x[0] if len(x) == 1 else np.concatenate([np.zeros((0, 4), np.uint16), *x]),
            "normal": normal[0] if len(normal) == 1 else np.concatenate([np.zeros((0, 4), np.int8), *normal]),
        }
        if particles:
            sections["particles"] = np.concatenate(particles)
        if contacts:
            sections["contacts"] = np.concatenate(contacts)
        lead = lanes[0].sim
        ball = hands.ball
        header = {
            "scene": self.number,
            "frame": 0 if lead is None else lead.frame_number,
            "time": 0.0 if lead is None else lead.time,
            "live": True,
            "boxes": boxes,
            "heat": _heat(heat, span),
            "pulls": hands.describe(lanes),
            "pins": 0 if lead is None else lead.pins.count,
            "pinned": self._pinned(lanes),
            "poke": None if ball is None else {"position": list(ball.position), "radius": ball.radius},
            "moved": _moved(lanes[0]),
            "drags": drags,
            "stats": stats,
        }
        return messages.encode(messages.FRAME, header, sections)

    def _pinned(self, lanes: list[Lane]) -> list[list[float]]:
        """Lane and place [m] of pins that stand still, evenly chosen where there are many."""
        found: list[list[float]] = []
        most = MOST_PINS // len(lanes)
        for k, lane in enumerate(lanes):
            if lane.sim is None:
                continue
            pins = lane.sim.pins
            # whatever changes the pins makes a new array of them
            made_of, within, rows = self._pins.get(k, (None, 0, []))
            if made_of is not pins.particle or within != most:
                still = [home for i, home in sorted(pins.home.items()) if pins.paths[i] is None]
                chosen = np.array(still).reshape(-1, 3)
                chosen = chosen[np.isfinite(chosen).all(axis=1)]
                if len(chosen) > most:
                    chosen = chosen[np.linspace(0, len(chosen) - 1, most).round().astype(int)]
                rows = [[k, *(float(f"{value:.6g}") for value in place)] for place in chosen]
                self._pins[k] = (pins.particle, most, rows)
            found += rows
        return found

    def again(self, message: bytes, stats: dict[str, Any]) -> bytes:
        """A frame out of the history, as it is shown now."""
        return messages.changed(
            message, {"scene": self.number, "live": False, "stats": stats, "pulls": [], "poke": None}
        )


def _tools(lanes: list[Lane]) -> list[str]:
    lead = lanes[0].sim
    if lead is None:
        return []
    can_cut = any(lead.can_cut(body.name) for body in lead.model.bodies)
    return ["drag", "pin", "throw", "poke", *(["cut"] if can_cut else [])]


def _moved(lead: Lane) -> list[list[float]]:
    """Number of each collider of the scene message that has moved, its matrix by rows, its shift [m]."""
    if lead.sim is None or not lead.sim.pipeline.moves:
        return []
    pipeline = lead.sim.pipeline
    shown = [c for c in pipeline.colliders if c.name != POKE or not isinstance(c, Sphere)]
    found = []
    for k, collider in enumerate(shown):
        if collider.movable:
            matrix, shift = pipeline.pose(collider.name)
            if shift.any() or not np.array_equal(matrix, np.eye(3)):
                found.append([k, *matrix.reshape(-1).tolist(), *shift.tolist()])
    return found


def _heat(name: str | None, span: tuple[float, float] | None) -> dict[str, Any] | None:
    if name is None or span is None:
        return None
    return {"name": name, "low": float(span[0]), "high": float(span[1]), "unit": QUANTITIES[name].unit}


def _contacts(lane: Lane, number: int) -> np.ndarray:
    """Point, normal, force [N] and lane of every contact (c, 8) float32."""
    sim = lane.sim
    assert sim is not None
    met, (found, force) = sim.body_contact_list(), sim.contact_forces()
    rows = np.zeros((len(found), 8), np.float32)
    if len(found):
        rows[:, 0:3] = sim.state.x.numpy()[found.particle]
        rows[:, 3:6] = found.normal
        rows[:, 6] = np.linalg.norm(force, axis=1)
    size = np.linalg.norm(met.force, axis=1)
    pressed = size > 0.0
    between = np.zeros((int(pressed.sum()), 8), np.float32)
    between[:, 0:3], between[:, 3:6], between[:, 6] = met.point[pressed], met.normal[pressed], size[pressed]
    rows = np.concatenate([rows, between])
    rows[:, 7] = number
    return np.nan_to_num(rows)
