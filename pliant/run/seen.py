"""What is seen of a recording.

Particles are recorded, and embedded skins and balls follow from them when it is drawn or exported. The vertices of
other skins, such as those that follow clusters, the tubes of rods and wrinkles, are recorded besides, in rows after
those of the particles.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.collide.solids import moving_rows
from pliant.errors import InputError
from pliant.export.frames import FramesReader
from pliant.mesh.arrays import as_points, check_finite
from pliant.mesh.embed import Embedding
from pliant.mesh.look import Look, Paint
from pliant.mesh.points import ball_vertices
from pliant.simulation import Simulation

# Of what belongs to no body.
OTHER_COLOR = (0.6, 0.6, 0.6)
# Of planes and other colliders.
PLANE_COLOR = (0.78, 0.79, 0.80)


def seen_arrays(sim: Simulation) -> dict[str, np.ndarray]:
    """What a recording holds of the surfaces: triangles, colours, look, and each skin's embedding or ball's shape."""
    look = seen_look(sim)
    found = {"uv": look.uv, "paint_of": look.paint_of, "part_of": look.part_of}
    arrays: dict[str, np.ndarray] = {
        "triangles": sim.surface().astype(np.int32),
        "colors": np.rint(255.0 * sim.surface_colors()).astype(np.uint8),
        **{name: array for name, array in found.items() if array is not None},
    }
    for k, body in enumerate(sim.model.bodies):
        if body.embedding is not None and not body.is_skin_recorded:
            own = body.embedding.renumbered(_vertex_of(body.particle_of, sim.state.count)).arrays()
            arrays |= {f"skin{k}_{name}": array for name, array in own.items() if name != "outside"}
        elif body.skin is None and body.ball_radius is not None:
            arrays[f"ball{k}"] = body.ball()
    return arrays


def recorded_positions(sim: Simulation) -> np.ndarray:
    """What a frame of a recording holds [m] (n, 3) float32: the particles, then the skins without embedding, then
    what tells where colliders are that can move."""
    skins = [sim.surface_positions(body.name) for body in sim.model.bodies if body.is_skin_recorded]
    return np.concatenate([sim.positions(), *skins, *moving_rows(sim.pipeline)])


def _vertex_of(particle_of: np.ndarray, count: int) -> np.ndarray:
    """The body's own vertex of each of its particles; zero for the others."""
    vertex = np.zeros(count, np.int64)
    vertex[particle_of] = np.arange(len(particle_of))
    return vertex


def seen_look(sim: Simulation) -> Look:
    """Names, paints and texture coordinates of all bodies: a body without parts is one part of its own name."""
    looks = []
    for body in sim.model.bodies:
        count = len(body.seen_triangles())
        look = body.look or Look()
        if not look.parts:
            look = dataclasses.replace(look, parts=(body.name,), part_of=np.zeros(count, np.int32))
        elif len(sim.model.bodies) > 1:
            look = dataclasses.replace(look, parts=tuple(f"{body.name}/{part}" for part in look.parts))
        if not look.paints or not body.painted:
            paint = Paint(body.name, (*body.color, 1.0))
            look = dataclasses.replace(look, paints=(paint,), paint_of=np.zeros(count, np.int32))
        looks.append(look)
    triangles = [len(body.seen_triangles()) for body in sim.model.bodies]
    return Look.join(looks, triangles, [body.seen_vertices for body in sim.model.bodies])


class SeenVertices:
    """Turns recorded positions into those of what is seen.

    Args:
        reader: a recording whose bodies have their ranges `recorded` (those of `vertices` if not given), and `seen`
            where the rows of what is seen are recorded besides.

    Attributes:
        count: vertices that are seen.
    """

    def __init__(self, reader: FramesReader):
        self._parts: list[tuple[slice, Embedding | np.ndarray | None]] = []
        self.count = 0
        recorded = reader.line(0)["count"]
        for k, body in enumerate(reader.meta["bodies"]):
            first, end = body.get("recorded", body["vertices"])
            prefix = f"skin{k}_"
            named = {n.removeprefix(prefix): a for n, a in reader.arrays.items() if n.startswith(prefix)}
            way: Embedding | np.ndarray | None = None
            seen = end - first
            if "seen" in body:
                first, end = body["seen"]
                seen = end - first
            elif named:
                named["outside"] = np.zeros(len(named["hosts"]))
                way = Embedding.from_arrays(named)
                way.check(end - first, f"the skin of body {k}")
                seen = len(way)
            elif f"ball{k}" in reader.arrays:
                way = as_points(reader.arrays[f"ball{k}"], f"ball{k}").astype(np.float32)
                check_finite(way, f"ball{k}")
                seen = (end - first) * len(way)
            if body["vertices"] != [self.count, self.count + seen] or end > recorded:
                raise InputError(
                    f"body {k} has the vertices {body['vertices']}, and {seen} are seen of it", str(reader.path)
                )
            self._parts.append((slice(first, end), way))
            self.count += seen
        self._plain = all(way is None for _, way in self._parts) and self.count == recorded

    def of(self, x: np.ndarray) -> np.ndarray:
        """Positions of what is seen [m] (count, 3) float32 from the recorded ones (n, 3)."""
        if self._plain:
            return x
        return np.concatenate([_placed(x[rows], way) for rows, way in self._parts]).astype(np.float32)


def _placed(x: np.ndarray, way: Embedding | np.ndarray | None) -> np.ndarray:
    """Vertices that are seen from recorded rows: as they are, by an embedding, or balls with these corners."""
    if way is None:
        return x
    return way.apply(x) if isinstance(way, Embedding) else ball_vertices(x, way)


def recorded_look(reader: FramesReader) -> Look:
    """The look of a recording, with colours of the vertices for formats that hold no others."""
    meta, arrays = reader.meta, reader.arrays
    triangles = arrays["triangles"]
    colors = np.ones((meta["bodies"][-1]["vertices"][1], 4), np.float32)
    colors[triangles.reshape(-1), :3] = np.repeat(recorded_colors(reader), 3, axis=0)
    paints = tuple(Paint(p["name"], tuple(p["color"]), p["texture"]) for p in meta.get("paints", []))
    found: dict[str, Any] = {name: arrays.get(name) for name in ("uv", "paint_of", "part_of")}
    return Look(paints=paints, parts=tuple(meta.get("parts", [])), vertex_colors=colors, **found)


def recorded_colors(reader: FramesReader) -> np.ndarray:
    """Red, green and blue of each triangle of a recording (k, 3) float32."""
    if "colors" in reader.arrays:
        return reader.arrays["colors"].astype(np.float32) / 255.0
    colors = np.full(reader.arrays["triangles"].shape, OTHER_COLOR, np.float32)
    for body in reader.meta["bodies"]:
        colors[slice(*body["triangles"])] = body["color"]
    return colors
