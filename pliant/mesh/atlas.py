"""Atlas: a surface cut into charts that lie side by side in a square texture."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.errors import InputError, MissingExtraError
from pliant.mesh import arrays
from pliant.mesh.atlas_charts import SAME_UV, charts_of
from pliant.mesh.atlas_planes import plane_atlas
from pliant.mesh.layer_settings import ATLASES
from pliant.mesh.surface import SurfaceMesh

GUTTER = 1
"""Texels between charts."""
SMALLEST, LARGEST = 16, 4096
"""Sides of a texture that are made [texels]."""


@dataclasses.dataclass(frozen=True, eq=False)
class Atlas:
    """Where each triangle of a surface lies in a square texture.

    Attributes:
        texture: its side [texels].
        uv: column and row of each corner of each triangle (k, 3, 2) float64 [texels]; the centre of the texel in row
            i and column j is (j + 0.5, i + 0.5).
        chart_of: chart of each triangle (k,) int32.
        kind: how it was made.
    """

    texture: int
    uv: np.ndarray
    chart_of: np.ndarray
    kind: str

    @property
    def charts(self) -> int:
        """How many charts there are."""
        return int(self.chart_of.max()) + 1 if len(self.chart_of) else 0

    def areas(self) -> np.ndarray:
        """Area of each triangle in the texture (k,) [texels^2], negative where it is mirrored."""
        a, b, c = (self.uv[:, i] for i in range(3))
        return 0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])


def as_texture(value: int, where: str) -> int:
    """The side of a texture, or an `InputError`."""
    side = arrays.whole(value, where, low=SMALLEST)
    if side > LARGEST:
        raise InputError(f"{side} texels are too many", where, f"Give a side from {SMALLEST} to {LARGEST} texels")
    return side


def make_atlas(surface: SurfaceMesh, texture: int, kind: str = "auto") -> Atlas:
    """Cut a surface into charts and lay them out.

    Args:
        surface: its triangles must have three different corners.
        texture: side of the texture [texels].
        kind: 'planes' groups triangles by the direction they face and lays each group flat; 'xatlas' asks the package
            of this name, whose charts are fewer and less stretched, but which may take minutes for 50,000 triangles;
            'mesh' takes the surface's own texture coordinates; 'auto' is 'planes'.
    """
    texture = as_texture(texture, "make_atlas(texture)")
    if kind not in ATLASES:
        raise InputError(f"{kind!r} is not known", "make_atlas(kind)", f"Use one of: {', '.join(ATLASES)}")
    if kind == "mesh":
        return _own(surface, texture)
    if kind == "xatlas":
        return _xatlas(surface, texture)
    uv, chart = plane_atlas(surface, texture, GUTTER)
    return Atlas(texture, uv, chart, "planes")


def _own(surface: SurfaceMesh, texture: int) -> Atlas:
    """The surface's own texture coordinates."""
    where = surface.name or "surface mesh"
    uv = None if surface.look is None else surface.look.uv
    if uv is None:
        raise InputError("has no texture coordinates", where, "Use another atlas, 'planes' or 'xatlas'")
    uv = uv.astype(np.float64)
    if not np.isfinite(uv).all() or uv.min() < -SAME_UV or uv.max() > 1.0 + SAME_UV:
        raise InputError("has texture coordinates outside of 0 to 1", where, "Use another atlas, 'planes' or 'xatlas'")
    uv = np.stack([uv[..., 0], 1.0 - uv[..., 1]], axis=-1)
    return Atlas(texture, np.clip(uv, 0.0, 1.0) * texture, charts_of(surface.triangles, uv), "mesh")


def _xatlas(surface: SurfaceMesh, texture: int) -> Atlas:
    try:
        import xatlas
    except ImportError as error:
        raise MissingExtraError("xatlas", "layered", "The atlas 'xatlas'") from error
    low, high = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
    # its measures are absolute: a small body would be given too few texels
    placed = (surface.vertices - low) / max(float((high - low).max()), 1e-300)
    atlas = xatlas.Atlas()
    atlas.add_mesh(placed.astype(np.float32), surface.triangles.astype(np.uint32))
    charts, packing = xatlas.ChartOptions(), xatlas.PackOptions()
    packing.resolution, packing.padding, packing.bilinear = texture, GUTTER, False
    atlas.generate(charts, packing)
    _, corners, places = atlas[0]
    size = np.array([atlas.width, atlas.height], np.float64)
    uv = places[corners].astype(np.float64) * size * (texture / size.max())
    return Atlas(texture, uv, charts_of(surface.triangles, uv / texture), "xatlas")
