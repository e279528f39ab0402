"""How a surface looks: names of its parts, paints and texture coordinates, carried beside the triangles."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.errors import InputError

GREY = (0.8, 0.8, 0.8, 1.0)


@dataclasses.dataclass(frozen=True)
class Paint:
    """A material of the surface's picture, not of its physics.

    Attributes:
        name: as in the file.
        color: red, green, blue and opacity from 0 to 1, as on a screen (sRGB).
        texture: name of an image file, as the source wrote it; empty if there is none.
    """

    name: str
    color: tuple[float, float, float, float] = GREY
    texture: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Look:
    """What is known of a surface of k triangles over n vertices besides its shape; each may be missing.

    Attributes:
        uv: texture coordinates of each corner of each triangle (k, 3, 2) float32, (0, 0) at the lower left.
        paints: the paints; paint_of: the paint of each triangle (k,) int32, -1 for none.
        parts: names of the parts (objects, groups); part_of: the part of each triangle (k,) int32, -1 for none.
        vertex_colors: red, green, blue and opacity of each vertex from 0 to 1, sRGB (n, 4) float32.
    """

    uv: np.ndarray | None = None
    paints: tuple[Paint, ...] = ()
    paint_of: np.ndarray | None = None
    parts: tuple[str, ...] = ()
    part_of: np.ndarray | None = None
    vertex_colors: np.ndarray | None = None

    def check(self, triangles: int, vertices: int, where: str) -> None:
        """Raise when an array does not fit the surface."""
        shapes = {
            "uv": (triangles, 3, 2),
            "paint_of": (triangles,),
            "part_of": (triangles,),
            "vertex_colors": (vertices, 4),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise InputError(
                    f"look.{name} has the shape {array.shape}", where, f"Give {shape}: one entry for each of them"
                )
        for of, names in (("paint_of", self.paints), ("part_of", self.parts)):
            array = getattr(self, of)
            if array is not None and len(array) and (array.min() < -1 or array.max() >= len(names)):
                raise InputError(f"look.{of} names {int(array.max())} of {len(names)}", where, "Give -1 for none")

    def of_triangles(self, rows: np.ndarray) -> Look:
        """The look of chosen triangles: numbers, or a mask."""
        pick = lambda array: None if array is None else array[rows]
        return dataclasses.replace(self, uv=pick(self.uv), paint_of=pick(self.paint_of), part_of=pick(self.part_of))

    def of_vertices(self, rows: np.ndarray) -> Look:
        """The look when the vertices become those chosen: numbers, or a mask."""
        if self.vertex_colors is None:
            return self
        return dataclasses.replace(self, vertex_colors=self.vertex_colors[rows])

    def turned(self, rows: np.ndarray) -> Look:
        """The look when corners 1 and 2 of chosen triangles change places."""
        if self.uv is None:
            return self
        uv = self.uv.copy()
        uv[rows, 1], uv[rows, 2] = self.uv[rows, 2], self.uv[rows, 1]
        return dataclasses.replace(self, uv=uv)

    def with_more(self, triangles: int) -> Look:
        """The look after `triangles` more without paint, part or texture were added at the end."""
        more = lambda array, value: (
            None
            if array is None
            else np.concatenate([array, np.full((triangles, *array.shape[1:]), value, array.dtype)])
        )
        return dataclasses.replace(
            self, uv=more(self.uv, 0.0), paint_of=more(self.paint_of, -1), part_of=more(self.part_of, -1)
        )

    @staticmethod
    def join(looks: Sequence[Look], triangles: Sequence[int], vertices: Sequence[int]) -> Look:
        """One look for surfaces put together, of so many triangles and vertices each."""

        def together(name: str, counts: Sequence[int], shape: tuple[int, ...], empty: float, kind: type) -> Any:
            found = [getattr(look, name) for look in looks]
            if all(array is None for array in found):
                return None
            rows = [
                np.full((count, *shape), empty, kind) if array is None else array
                for array, count in zip(found, counts, strict=True)
            ]
            return np.concatenate(rows).astype(kind)

        def shifted(of: str, names: str) -> np.ndarray | None:
            first = np.cumsum([0, *(len(getattr(look, names)) for look in looks)])
            if not first[-1]:
                return None
            rows = []
            for k, look in enumerate(looks):
                numbers = getattr(look, of)
                numbers = np.full(triangles[k], -1) if numbers is None else numbers
                rows.append(np.where(numbers < 0, -1, numbers + first[k]))
            return np.concatenate(rows).astype(np.int32)

        return Look(
            uv=together("uv", triangles, (3, 2), 0.0, np.float32),
            paints=tuple(paint for look in looks for paint in look.paints),
            paint_of=shifted("paint_of", "paints"),
            parts=tuple(part for look in looks for part in look.parts),
            part_of=shifted("part_of", "parts"),
            vertex_colors=together("vertex_colors", vertices, (4,), 1.0, np.float32),
        )

    def triangle_colors(self, triangles: np.ndarray, default: Sequence[float]) -> np.ndarray:
        """Red, green and blue of each triangle (k, 3) float32: of its paint, else of its corners, else the default."""
        colors = np.tile(np.asarray(default, np.float32)[:3], (len(triangles), 1))
        if self.vertex_colors is not None:
            colors[:] = self.vertex_colors[triangles][:, :, :3].mean(axis=1)
        if self.paint_of is not None and self.paints:
            table = np.array([paint.color[:3] for paint in self.paints], np.float32)
            painted = self.paint_of >= 0
            colors[painted] = table[self.paint_of[painted]]
        return colors
