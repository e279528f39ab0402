"""The pictures of a layered body: its charts, its texture, the layer cut open over the core, and the core."""

from __future__ import annotations

import colorsys
from collections.abc import Callable

import numpy as np

from pliant.mesh.closest import nearest_of
from pliant.mesh.layered import LayeredMesh
from pliant.report import cut
from pliant.report.data import ReportInput
from pliant.report.pictures import CLAY, VIEW, WIRE, Picture, Studio

PAPER = (0.93, 0.94, 0.95)
WELDED = 0.55
"""Brightness of texels that share the node of another."""
CORE = (0.30, 0.33, 0.38)


def layered_pictures(
    data: ReportInput,
    width: int = 720,
    height: int = 540,
    device: str = "cpu",
    progress: Callable[[str, float], None] | None = None,
) -> list[Picture]:
    """The pictures of a layered body's report, as `body_pictures` makes them of others."""
    say = progress or (lambda what, share: None)
    mesh = data.layered
    assert mesh is not None
    studio = Studio(data, width, height, device)
    palette = chart_colors(int(mesh.chart_of.max()) + 1)
    charts = len(np.unique(mesh.chart_of))
    say("charts", 0.0)
    colors = palette[mesh.chart_of[mesh.triangles[:, 0]]]
    pictures = [
        Picture(
            "charts",
            f"The {len(mesh.nodes):,} nodes of the surface, coloured by the {charts} charts they lie in.",
            "The body from the front, its surface in patches of different colours.",
            studio.draw(mesh.nodes, mesh.triangles, colors),
        )
    ]
    say("texture", 0.25)
    used = int((mesh.node_of_texel >= 0).sum())
    pictures.append(
        Picture(
            "texture",
            f"The texture of {mesh.texture} x {mesh.texture} texels, {used:,} of them in use; dark ones share the node "
            "of another, at seams and sharp edges.",
            "A square with the same patches laid flat side by side.",
            texture_picture(mesh, palette, width, height),
        )
    )
    say("layer", 0.5)
    pictures.append(_cut_picture(studio, mesh, palette))
    say("core", 0.75)
    feet = mesh.feet[mesh.foot]
    nearest = nearest_of(mesh.core_vertices[mesh.core_triangles].mean(axis=1), feet)
    wires = studio.wires(mesh.core_vertices[mesh.core_mesh().edges()])
    pictures.append(
        Picture(
            "core",
            f"The rigid core, {len(mesh.core_triangles):,} triangles, in the colours of the charts above it.",
            "The core from the front, a coarser and smaller copy of the body.",
            studio.draw(
                mesh.core_vertices,
                mesh.core_triangles,
                palette[mesh.chart_of[nearest]],
                () if wires is None else ((wires, WIRE),),
            ),
        )
    )
    return pictures


def chart_colors(count: int) -> np.ndarray:
    """Colours (count, 3) that are told apart where they follow each other."""
    hues = 0.12 + 0.6180339887 * np.arange(count)
    lights = 0.62 + 0.12 * (np.arange(count) % 3 - 1)
    return np.array([colorsys.hls_to_rgb(hue % 1.0, light, 0.55) for hue, light in zip(hues, lights, strict=True)])


def texture_picture(mesh: LayeredMesh, palette: np.ndarray, width: int, height: int) -> np.ndarray:
    """The texture as an image (height, width, 3) uint8, each texel in the colour of its chart."""
    node = mesh.node_of_texel
    texels = np.tile(np.array(PAPER), (*node.shape, 1))
    here = node >= 0
    texels[here] = palette[mesh.chart_of[node[here]]]
    own = np.zeros(node.shape, bool)
    own[mesh.texel[:, 0], mesh.texel[:, 1]] = True
    texels[here & ~own] *= WELDED
    side = min(width, height)
    image = np.ones((height, width, 3))
    rows = np.arange(side) * mesh.texture // side
    top, left = (height - side) // 2, (width - side) // 2
    image[top : top + side, left : left + side] = texels[rows][:, rows]
    return np.rint(255.0 * image).astype(np.uint8)


def _cut_picture(studio: Studio, mesh: LayeredMesh, palette: np.ndarray) -> Picture:
    """The half of the layer away from the eye, over the whole core."""
    tets = mesh.tet_mesh()
    # about half way through the body, seen from the side that is taken away
    middle = 0.5 * (mesh.nodes.min(axis=0) + mesh.nodes.max(axis=0))
    towards = np.array([VIEW[0], 0.0, VIEW[2]]) / np.hypot(VIEW[0], VIEW[2])
    shell = cut.shell(tets, cut.behind(tets, towards, middle))
    outside = np.zeros(len(tets.vertices), bool)
    outside[: len(mesh.nodes)] = True
    corners = mesh.tets[shell.owners]
    first = np.where(outside[corners], corners, len(outside)).min(axis=1)
    colors = np.where(
        (first < len(outside))[:, None], palette[mesh.chart_of[np.minimum(first, len(mesh.nodes) - 1)]], CLAY
    )
    triangles = np.arange(3 * len(shell.triangles)).reshape(-1, 3)
    core = _clipped(mesh.core_vertices[mesh.core_triangles], towards, float(middle @ towards))
    return Picture(
        "layer",
        f"The layer of {len(mesh.tets):,} tets cut open; dark: the core, of which the back half is drawn.",
        "The body cut through the middle: a coloured rim around a dark core.",
        studio.draw(shell.triangles.reshape(-1, 3), triangles, colors, ((core, CORE),)),
    )


def _clipped(triangles: np.ndarray, normal: np.ndarray, height: float) -> np.ndarray:
    """The parts of triangles (k, 3, 3) [m] behind a plane, as triangles (t, 3, 3) [m]."""
    above = triangles @ normal - height
    found = [triangles[(above <= 0.0).all(axis=1)]]
    for first in range(3):
        a, b, c = (triangles[:, (first + i) % 3] for i in range(3))
        ha, hb, hc = (above[:, (first + i) % 3] for i in range(3))
        between = lambda p, q, hp, hq, rows: p[rows] + (hp / (hp - hq))[rows, None] * (q - p)[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            one = (ha <= 0.0) & (hb > 0.0) & (hc > 0.0)
            found.append(np.stack([a[one], between(a, b, ha, hb, one), between(a, c, ha, hc, one)], axis=1))
            two = (ha > 0.0) & (hb <= 0.0) & (hc <= 0.0)
            ab, ac = between(a, b, ha, hb, two), between(a, c, ha, hc, two)
        found += [np.stack([ab, b[two], c[two]], axis=1), np.stack([ab, c[two], ac], axis=1)]
    return np.concatenate(found)
