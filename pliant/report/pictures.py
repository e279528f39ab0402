"""The pictures of a report: the skin from two sides, the solid cut open, the skin in its solid."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.render.camera import Camera
from pliant.render.raycast import Renderer
from pliant.report import cut, measures
from pliant.report.data import ReportInput

VIEW = (0.55, 0.36, 1.0)
BACK_VIEW = (-0.55, 0.36, -1.0)
LAMP = (-0.36, 0.78, 0.62)
FIELD = 28.0
"""Vertical angle of view [degrees]."""
ROOM = 1.12
"""Room around the body; 1 lets it touch the edges of the picture."""
CLAY = (0.70, 0.74, 0.80)
RED = (0.86, 0.06, 0.08)
WIRE = (0.10, 0.12, 0.16)
LEAST_WIRE, MOST_WIRE = 0.42, 0.55
"""Radius of a drawn edge [pixels], where the camera looks at; short edges are drawn thinner."""
FINEST_WIRES, FINEST_LINES = 7.0, 11.0
"""Mean length of an edge [pixels], below which tubes and the renderer's broader lines would cover what they outline."""
MOST_WIRES = 60_000
MOST_BEADS = 400
SCALE = ((0.75, 0.10, 0.12), (0.95, 0.55, 0.25), (0.98, 0.90, 0.58), (0.50, 0.75, 0.86), (0.16, 0.38, 0.68))
"""Colours from bad to good, told apart by those who do not see red or green too."""


@dataclasses.dataclass(frozen=True)
class Legend:
    """What the colours of a picture mean: `SCALE` runs from `low` to `high`."""

    title: str
    low: float
    high: float
    unit: str


@dataclasses.dataclass(frozen=True, eq=False)
class Picture:
    """A picture with its words.

    Attributes:
        name: short; caption: what is seen; alt: the same for those who do not see it.
        image: (height, width, 3) uint8.
        legend: what the colours mean, if they do.
    """

    name: str
    caption: str
    alt: str
    image: np.ndarray
    legend: Legend | None = None


def scale_colors(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Colours (n, 3) of values (n,) on `SCALE`."""
    places = np.clip((np.asarray(values, np.float64) - low) / (high - low), 0.0, 1.0) * (len(SCALE) - 1)
    return np.stack([np.interp(places, np.arange(len(SCALE)), channel) for channel in zip(*SCALE)], axis=1)


class Studio:
    """One renderer and one frame for all pictures of a body, which is drawn at size 1 about the origin."""

    def __init__(self, data: ReportInput, width: int, height: int, device: str):
        points = [data.solid.vertices] if data.surface is None else [data.solid.vertices, data.surface.vertices]
        low, high = np.min([p.min(axis=0) for p in points], axis=0), np.max([p.max(axis=0) for p in points], axis=0)
        self.middle = 0.5 * (low + high)
        self.size = max(float(np.linalg.norm(high - low)), 1e-30)
        self.ground = float((low - self.middle)[1]) / self.size - 1e-3
        self._points = (np.concatenate(points) - self.middle) / self.size
        self._aspect = width / height
        # From behind the lamp stands behind too, or the body would be seen from its dark side.
        self._renderers = {
            VIEW: Renderer(width, height, device, light=LAMP),
            BACK_VIEW: Renderer(width, height, device, light=(-LAMP[0], LAMP[1], -LAMP[2])),
        }
        self._cameras = {view: self._camera(view) for view in self._renderers}
        distance = float(np.linalg.norm(self._cameras[VIEW].position))
        self.pixel = 2.0 * np.tan(np.radians(FIELD) / 2.0) * distance / height * self.size
        """Width of a pixel at the body [m]."""

    def _camera(self, view: tuple[float, float, float]) -> Camera:
        """The nearest camera that sees every vertex, closer than one that sees the box around them."""
        away = np.array(view) / np.linalg.norm(view)
        right, up, forward = Camera(view, (0.0, 0.0, 0.0)).axes()
        slope = float(np.tan(np.radians(FIELD) / 2.0)) / ROOM
        across, along, depth = self._points @ right, self._points @ up, self._points @ forward
        aim = 0.5 * (across.min() + across.max()) * right + 0.5 * (along.min() + along.max()) * up
        reach = np.maximum(np.abs(across - aim @ right) / (slope * self._aspect), np.abs(along - aim @ up) / slope)
        eye = aim + max(float((reach - depth).max()), 1e-3) * away
        return Camera(tuple(eye), tuple(aim), fov_deg=FIELD)

    def draw(
        self,
        vertices: np.ndarray,
        triangles: np.ndarray,
        colors: np.ndarray,
        more: tuple[tuple[np.ndarray, tuple[float, float, float]], ...] = (),
        view: tuple[float, float, float] = VIEW,
        wireframe: bool = False,
    ) -> np.ndarray:
        """A picture of triangles over vertices [m], and of loose triangles (t, 3, 3) [m] of one colour each."""
        points, faces, paints = [vertices], [triangles], [colors]
        count = len(vertices)
        for loose, color in more:
            points.append(loose.reshape(-1, 3))
            faces.append(count + np.arange(3 * len(loose)).reshape(-1, 3))
            paints.append(np.tile(color, (len(loose), 1)))
            count += 3 * len(loose)
        renderer = self._renderers[view]
        renderer.set_geometry(np.concatenate(faces), np.clip(np.concatenate(paints), 0.0, 1.0), count)
        placed = ((np.concatenate(points) - self.middle) / self.size).astype(np.float32)
        return renderer.draw(placed, self._cameras[view], self.ground, wireframe=wireframe)

    def pixels(self, ends: np.ndarray) -> float:
        """Mean length of edges (e, 2, 3) [m] in the picture, seen from across [pixels]."""
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean()) / self.pixel

    def wires(self, ends: np.ndarray) -> np.ndarray | None:
        """Tubes along edges (e, 2, 3) [m], or None where they would lie too close to be told apart."""
        length = self.pixels(ends)
        if len(ends) > MOST_WIRES or length < FINEST_WIRES:
            return None
        return cut.tubes(ends, min(max(0.03 * length, LEAST_WIRE), MOST_WIRE) * self.pixel)


def body_pictures(
    data: ReportInput,
    width: int = 720,
    height: int = 540,
    device: str = "cpu",
    progress: Callable[[str, float], None] | None = None,
) -> list[Picture]:
    """The pictures of a body's report: its surface from two sides, its inside, and its surface within the solid.

    Without a skin, or where the edges of the solid would hide it, the other half of the solid takes the last place.

    Args:
        data: the body.
        width: of each picture [pixels]; height: [pixels].
        device: where they are drawn.
        progress: called with the name of each picture before it is drawn, and the share that is done, 0 to 1.
    """
    say = progress or (lambda what, share: None)
    studio = Studio(data, width, height, device)
    skin = data.surface if data.surface is not None else _outside(data.solid)
    colors = _skin_colors(skin)
    pictures: list[Picture] = []
    bad = data.bad_rows()
    for name, view in (("front", VIEW), ("back", BACK_VIEW)):
        say(f"surface from the {name}", 0.25 * len(pictures))
        pictures.append(_surface_picture(studio, data, skin, colors, bad, name, view))
    say("inside", 0.5)
    solid = data.solid
    if isinstance(solid, SurfaceMesh):
        return [
            *pictures,
            _sheet_picture(studio, solid, "front", VIEW),
            _sheet_picture(studio, solid, "back", BACK_VIEW),
        ]
    back = cut.behind(solid, _cut_normal(solid))
    pictures.append(_cut_picture(studio, solid, back, "back", VIEW))
    embedded = None
    if data.surface is not None:
        say("surface in its solid", 0.75)
        embedded = _embedded_picture(studio, solid, skin, colors)
    if embedded is not None:
        pictures.append(embedded)
    elif not back.all():
        pictures.append(_cut_picture(studio, solid, ~back, "front", BACK_VIEW))
    return pictures


def _outside(solid: TetMesh | VoxelLattice | SurfaceMesh) -> SurfaceMesh:
    if isinstance(solid, SurfaceMesh):
        return solid
    if isinstance(solid, TetMesh):
        return solid.surface_mesh()
    corners = cut.shell(solid).triangles
    return SurfaceMesh(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3), solid.name)


def _skin_colors(skin: SurfaceMesh) -> np.ndarray:
    """sRGB of each triangle (k, 3)."""
    if skin.look is None:
        return np.tile(np.array(CLAY), (len(skin.triangles), 1))
    return np.clip(np.nan_to_num(skin.look.triangle_colors(skin.triangles, CLAY)), 0.0, 1.0)


def _surface_picture(
    studio: Studio,
    data: ReportInput,
    skin: SurfaceMesh,
    colors: np.ndarray,
    bad: np.ndarray,
    name: str,
    view: tuple[float, float, float],
) -> Picture:
    more: tuple = ()
    what = "The surface" if data.surface is not None else "The outside of the solid"
    caption = f"{what} from the {name}: {len(skin.triangles):,} triangles"
    if len(bad):
        # Muted, so that no paint is taken for the marks; beads, since a bad triangle is often too small to see.
        colors = 0.35 * colors + 0.65 * np.array(CLAY)
        colors[bad] = RED
        shown = bad[np.unique(np.linspace(0, len(bad) - 1, min(len(bad), MOST_BEADS)).astype(np.int64))]
        middles = skin.vertices[skin.triangles[shown]].mean(axis=1)
        more = ((cut.beads(middles, 0.009 * studio.size), RED),)
        caption += f"; in red the {len(bad):,} with problems" if len(bad) > 1 else "; in red the one with problems"
    image = studio.draw(skin.vertices, skin.triangles, colors, more, view)
    return Picture(f"surface_{name}", caption, f"Picture of {_lower(caption)}", image)


def _cut_picture(
    studio: Studio, solid: TetMesh | VoxelLattice, keep: np.ndarray, name: str, view: tuple[float, float, float]
) -> Picture:
    side = {"back": "behind", "front": "in front of"}[name]
    outside = cut.shell(solid, keep)
    if isinstance(solid, TetMesh):
        values = measures.dihedral_angles(TetMesh(solid.vertices, solid.tets[keep])).min(axis=1)
        legend, kind = Legend("smallest dihedral angle of a tet", 0.0, 70.0, "°"), "tets"
    else:
        values = measures.cube_neighbours(solid)[keep].astype(float)
        legend, kind = Legend("neighbours that share a face with a cube", 0.0, 6.0, ""), "cubes"
    colors = scale_colors(values[np.searchsorted(np.flatnonzero(keep), outside.owners)], legend.low, legend.high)
    corners = outside.triangles.reshape(-1, 3)
    faces = np.arange(len(corners)).reshape(-1, 3)
    # The renderer's own lines cost little, but would draw the diagonals of a cube's faces.
    wires = studio.wires(outside.ends) if isinstance(solid, VoxelLattice) else None
    lines = isinstance(solid, TetMesh) and studio.pixels(outside.ends) >= FINEST_LINES
    image = studio.draw(corners, faces, colors, () if wires is None else ((wires, WIRE),), view, lines)
    count = int(keep.sum())
    caption = f"Cut open: the {count:,} of {len(keep):,} {kind} {side} a plane through the centre of mass"
    alt = f"Picture of the solid {_lower(caption)}, coloured by the {legend.title}"
    return Picture(f"cut_{name}", caption, alt, image, legend)


def _cut_normal(solid: TetMesh | VoxelLattice) -> np.ndarray:
    """Towards the camera, level; for a lattice along that side of its cubes which comes nearest to it."""
    level = np.array([VIEW[0], 0.0, VIEW[2]])
    if isinstance(solid, TetMesh):
        return level
    sides = solid.vertices[solid.cubes[0, [1, 2, 4]]] - solid.vertices[solid.cubes[0, 0]]
    # Between two layers the sides of a turned or sheared cell are not the normals of its faces.
    normals = np.cross(sides[[1, 2, 0]], sides[[2, 0, 1]])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    facing = normals @ level
    best = int(np.argmax(np.abs(facing)))
    return normals[best] * np.sign(facing[best]) if facing[best] else level


def _sheet_picture(studio: Studio, sheet: SurfaceMesh, name: str, view: tuple[float, float, float]) -> Picture:
    legend = Legend("smallest angle of a triangle", 0.0, 60.0, "°")
    colors = scale_colors(measures.triangle_angles(sheet).min(axis=1), legend.low, legend.high)
    lines = studio.pixels(sheet.vertices[sheet.edges()]) >= FINEST_LINES
    image = studio.draw(sheet.vertices, sheet.triangles, colors, view=view, wireframe=lines)
    counts = f"{len(sheet.triangles):,} triangles over {len(sheet.vertices):,} vertices"
    caption = f"The sheet that is simulated, from the {name}: {counts}"
    return Picture(
        f"sheet_{name}", caption, f"Picture of {_lower(caption)}, coloured by the {legend.title}", image, legend
    )


def _embedded_picture(
    studio: Studio, solid: TetMesh | VoxelLattice, skin: SurfaceMesh, colors: np.ndarray
) -> Picture | None:
    wires = studio.wires(cut.shell(solid).ends)
    if wires is None:
        return None
    image = studio.draw(skin.vertices, skin.triangles, colors, ((wires, WIRE),))
    caption = "The surface in its solid, whose outer edges are drawn as dark lines"
    return Picture("embedded", caption, f"Picture of {_lower(caption)}", image)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
