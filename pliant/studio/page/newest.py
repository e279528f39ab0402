"""What the newest frame says to the panels: where something new has room, and how many substeps there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pliant.studio.messages import FRAME, decode

SPREAD = 1.25
"""Distance between places that are tried, as a share of the size of what is placed."""
RINGS = 6


def seen_boxes(engine: Any) -> list[list[float]]:
    """The box of each body in the newest frame: its low corner and its size, x, y, z each."""
    data = engine.newest()[1]
    if not data:
        return []
    kind, header, _ = decode(data)
    boxes = header.get("boxes") or [[]]
    return [list(box) for box in boxes[0]] if kind == FRAME else []


def obstacle_boxes(colliders: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """The boxes of boxes, balls and capsules, from their tables, and a guess for meshes."""
    found = []
    for collider in colliders:
        table = collider["table"]
        if collider["kind"] == "capsule":
            radius = float(table.get("radius", 0.1))
            ends = list(zip(table.get("start", (-0.5, 0.0, 0.0)), table.get("end", (0.5, 0.0, 0.0)), strict=True))
            found.append([min(pair) - radius for pair in ends] + [abs(a - b) + 2.0 * radius for a, b in ends])
        elif collider["kind"] == "mesh":
            reach = 0.2 * float(table.get("scale", 1.0))
            found.append([float(c) - reach for c in table.get("position", (0.0, 0.0, 0.0))] + [2.0 * reach] * 3)
        elif collider["kind"] in ("box", "sphere"):
            half = [float(table.get("radius", 0.5))] * 3
            if collider["kind"] == "box":
                half = [0.5 * float(side) for side in table.get("size", (1.0, 1.0, 1.0))]
            place = table.get("position", (0.0, 0.0, 0.0))
            found.append([float(c) - h for c, h in zip(place, half, strict=True)] + [2.0 * h for h in half])
    return found


def substeps_now(engine: Any) -> int | None:
    """The substeps of the newest frame; None if there is none."""
    data = engine.newest()[1]
    return decode(data)[1].get("stats", {}).get("substeps") or None if data else None


def free_place(boxes: Sequence[Sequence[float]], size: float) -> tuple[float, float]:
    """x and z [m] near the origin around which a square of `size` is clear of the boxes, seen from above.

    Half rings around the origin are tried, beside it and behind, not in front, where it would hide what is there; if
    none is clear, it is to the right of all.
    """
    step = SPREAD * size
    for ring in range(RINGS):
        cells = [(i, k) for i in range(-ring, ring + 1) for k in range(-ring, 1) if max(abs(i), -k) == ring]
        for i, k in sorted(cells, key=lambda cell: (-cell[1], abs(cell[0]), -cell[0])):
            if not any(_covers(box, i * step, k * step, size) for box in boxes):
                return round(i * step, 3), round(k * step, 3)
    return round(max(box[0] + box[3] for box in boxes) + size, 3), 0.0


def _covers(box: Sequence[float], x: float, z: float, size: float) -> bool:
    half = 0.5 * size
    return box[0] - half < x < box[0] + box[3] + half and box[2] - half < z < box[2] + box[5] + half
