"""Colours, materials and texture coordinates of a USD mesh."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.mesh.io.screen_color import to_screen
from pliant.mesh.look import GREY, Paint

TEXTURE_NAMES = ("st", "UVMap", "st0", "uv", "Texture_uv")


def texture_coordinates(
    pxr: Any, prim: Any, time: Any, corners: np.ndarray, places: np.ndarray, vertices: int
) -> np.ndarray | None:
    """Texture coordinates of each corner (k, 3, 2), from ``primvars:st`` or the first of its kind."""
    primvars = pxr.UsdGeom.PrimvarsAPI(prim)
    found = [primvars.GetPrimvar(name) for name in TEXTURE_NAMES]
    found += [one for one in primvars.GetPrimvarsWithValues() if "texCoord2" in str(one.GetTypeName())]
    for primvar in found:
        if not primvar or not primvar.HasValue():
            continue
        value = primvar.ComputeFlattened(time)
        if value is None:
            continue
        table = np.array(value, dtype=np.float32).reshape(-1, 2)
        of = primvar.GetInterpolation()
        if of == "faceVarying" and len(table) == len(corners):
            return table[places]
        if of in ("vertex", "varying") and len(table) == vertices:
            return table[corners[places]]
    return None


@dataclasses.dataclass(frozen=True)
class Colors:
    """Colours on a screen (., 4): of vertices, or of faces; None where there are none."""

    of_vertices: np.ndarray | None = None
    of_faces: np.ndarray | None = None


def colors_of(pxr: Any, prim: Any, time: Any, corners: np.ndarray, counts: np.ndarray, vertices: int) -> Colors:
    """Colours from ``primvars:displayColor`` and ``displayOpacity``, which are linear light."""
    primvars = pxr.UsdGeom.PrimvarsAPI(prim)
    color, opacity = primvars.GetPrimvar("displayColor"), primvars.GetPrimvar("displayOpacity")
    value = color.ComputeFlattened(time) if color and color.HasValue() else None
    if value is None or not len(value):
        return Colors()
    table = np.ones((len(value), 4))
    table[:, :3] = to_screen(np.array(value, dtype=np.float64).reshape(-1, 3))
    alpha = opacity.ComputeFlattened(time) if opacity and opacity.HasValue() else None
    if alpha is not None and len(alpha) in (1, len(table)):
        table[:, 3] = np.clip(np.array(alpha, dtype=np.float64), 0.0, 1.0)
    of = color.GetInterpolation()
    if len(table) == 1:
        return Colors(of_faces=np.tile(table, (len(counts), 1)))
    if of in ("vertex", "varying") and len(table) == vertices:
        return Colors(of_vertices=table.astype(np.float32))
    if of == "uniform" and len(table) == len(counts):
        return Colors(of_faces=table)
    if of == "faceVarying" and len(table) == len(corners):
        # One colour for each vertex: that of its first corner.
        per_vertex = np.ones((vertices, 4), dtype=np.float32)
        per_vertex[corners[::-1]] = table[::-1]
        return Colors(of_vertices=per_vertex)
    return Colors()


class PaintBox:
    """The paints met so far, by material and by colour."""

    def __init__(self, pxr: Any):
        self.pxr = pxr
        self.found: dict[Any, Paint] = {}
        self.numbers: dict[Any, int] = {}

    def paints(self) -> tuple[Paint, ...]:
        """All paints, by number."""
        return tuple(self.found.values())

    def of_faces(self, prim: Any, faces: int, time: Any, colors: np.ndarray | None) -> np.ndarray:
        """The paint of each face (f,) int32: of its subset, else of its prim, else by its colour (f, 4), else -1."""
        paint_of = np.full(faces, -1, dtype=np.int32)
        if colors is not None:
            table, which = np.unique(np.round(colors, 6), axis=0, return_inverse=True)
            numbers = [self._number(("color", *row), self._plain(row)) for row in table.tolist()]
            paint_of[:] = np.array(numbers, dtype=np.int32)[which.ravel()]
        binding = self.pxr.UsdShade.MaterialBindingAPI(prim)
        material = binding.ComputeBoundMaterial()[0]
        if material:
            paint_of[:] = self._material(material, time)
        for subset in binding.GetMaterialBindSubsets():
            material = self.pxr.UsdShade.MaterialBindingAPI(subset.GetPrim()).ComputeBoundMaterial()[0]
            rows = np.array(subset.GetIndicesAttr().Get(time) or [], dtype=np.int64)
            if material:
                paint_of[rows[(rows >= 0) & (rows < faces)]] = self._material(material, time)
        return paint_of

    def _number(self, key: Any, paint: Paint) -> int:
        self.found.setdefault(key, paint)
        return self.numbers.setdefault(key, len(self.numbers))

    def _plain(self, color: list[float]) -> Paint:
        name = "color " + " ".join(f"{value:.3g}" for value in color)
        return Paint(name, (color[0], color[1], color[2], color[3]))

    def _material(self, material: Any, time: Any) -> int:
        prim = material.GetPrim()
        key = str(prim.GetPath())
        if key not in self.numbers:
            self._number(key, self._read(material, prim.GetDisplayName() or prim.GetName(), time))
        return self.numbers[key]

    def _read(self, material: Any, name: str, time: Any) -> Paint:
        """The paint of a UsdPreviewSurface: diffuse colour, opacity, and the picture connected to the colour."""
        shader = material.ComputeSurfaceSource()[0]
        if not shader:
            return Paint(name)
        color, opacity, texture = np.array(GREY[:3]), 1.0, ""
        diffuse = shader.GetInput("diffuseColor")
        if diffuse:
            value = diffuse.Get(time)
            if diffuse.HasConnectedSource():
                picture = self.pxr.UsdShade.Shader(diffuse.GetConnectedSources()[0][0].source.GetPrim())
                file = picture.GetInput("file") if picture else None
                asset = file.Get(time) if file else None
                texture = asset.path if asset else ""
                fallback = picture.GetInput("fallback") if picture else None
                value = fallback.Get(time) if fallback else None
            if value is not None:
                color = np.round(to_screen(np.array(value, dtype=np.float64)[:3]), 7)
        clear = shader.GetInput("opacity")
        if clear and clear.Get(time) is not None:
            opacity = min(max(round(float(clear.Get(time)), 7), 0.0), 1.0)
        red, green, blue = (float(part) for part in color)
        return Paint(name, (red, green, blue, opacity), texture)
