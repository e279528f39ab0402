"""Two figures of our own: a rubber duck and a rounded old car, facing +x, y up, standing at height zero."""

from __future__ import annotations

import dataclasses

from pliant.mesh.sculpt import Shape, box, capsule, common, cut, disc, ellipsoid, pressed, union
from pliant.mesh.sculpt_paint import Coat, Color, painted
from pliant.mesh.sculpt_surface import even_surface
from pliant.mesh.surface import SurfaceMesh

TILT = (0.0, 0.0, 1.0)
"""Axis to turn about that lifts the nose."""
YELLOW: Color = (1.0, 0.83, 0.12)
ORANGE: Color = (0.95, 0.42, 0.07)
RED: Color = (0.74, 0.07, 0.06)
GLASS: Color = (0.16, 0.25, 0.34)
CHROME: Color = (0.82, 0.84, 0.86)
LIGHT: Color = (1.0, 0.96, 0.8)
AMBER: Color = (0.95, 0.5, 0.08)
BLACK: Color = (0.05, 0.05, 0.06)


@dataclasses.dataclass(frozen=True, eq=False)
class Figure:
    """A shape, its colours, the number of vertices it is made of, and the length of its longest side [m]."""

    shape: Shape
    base: Color
    coats: tuple[Coat, ...]
    count: int
    length: float


def duck() -> Figure:
    """A rubber duck, 0.2 m long."""
    body = union(
        [
            ellipsoid((-0.012, 0.05, 0.0), (0.082, 0.055, 0.066), 2.2),
            ellipsoid((0.03, 0.062, 0.0), (0.05, 0.052, 0.058)),
            capsule((-0.052, 0.066, 0.0), (-0.096, 0.112, 0.0), 0.032, 0.012),
        ],
        0.03,
    )
    wing = ellipsoid((-0.022, 0.068, 0.061), (0.046, 0.027, 0.015)).turned(TILT, -16.0, (-0.02, 0.07, 0.0))
    body = union([body, wing.mirrored()], 0.008)
    head = ellipsoid((0.034, 0.147, 0.0), (0.05, 0.048, 0.047))
    body = union([body, head], 0.022)
    upper = ellipsoid((0.086, 0.1405, 0.0), (0.032, 0.012, 0.026), 2.2).turned(TILT, 10.0, (0.07, 0.138, 0.0))
    lower = ellipsoid((0.075, 0.1265, 0.0), (0.025, 0.0095, 0.02)).turned(TILT, -4.0, (0.07, 0.13, 0.0))
    bill = union([upper, lower], 0.003)
    shape = union([body, bill], 0.006)
    eye = ellipsoid((0.0575, 0.173, 0.0325), (0.0095, 0.0095, 0.0095))
    shape = union([shape, eye.grown(-0.001).moved((-0.003, -0.001, -0.002)).mirrored()], 0.004)
    shape = common(shape, box((0.0, 0.15, 0.0), (0.3, 0.15, 0.3)), 0.012)
    coats = (Coat(ORANGE, bill.grown(0.0025)), Coat(BLACK, eye.mirrored()))
    return Figure(shape, YELLOW, coats, 1522, 0.2)


def car() -> Figure:
    """An old car with a round back, 4 m long."""
    body = union(
        [
            ellipsoid((0.85, 0.52, 0.0), (1.08, 0.5, 0.5), 2.4),
            ellipsoid((-0.85, 0.58, 0.0), (1.08, 0.6, 0.6), 2.3),
            ellipsoid((-0.28, 0.78, 0.0), (1.02, 0.72, 0.66), 2.5),
            box((0.0, 0.42, 0.0), (1.5, 0.18, 0.62), 0.15),
            box((0.0, 0.4, 0.0), (1.84, 0.2, 0.58), 0.15),
        ],
        0.15,
    )
    fenders = union(
        [
            ellipsoid((1.25, 0.42, 0.62), (0.56, 0.4, 0.21), 2.4),
            ellipsoid((-1.2, 0.42, 0.64), (0.58, 0.42, 0.21), 2.4),
            box((0.02, 0.27, 0.66), (0.9, 0.06, 0.16), 0.05),
        ],
        0.05,
    ).mirrored()
    body = union([body, fenders], 0.06)
    side = common(ellipsoid((-0.27, 0.95, 0.0), (0.7, 0.43, 3.0), 2.6), box((0.0, 1.2, 0.0), (2.0, 0.19, 3.0)), 0.1)
    front = cut(box((0.8, 1.21, 0.0), (0.7, 0.165, 0.52), 0.08), side.grown(0.13))
    back = ellipsoid((-1.25, 1.14, 0.0), (0.6, 0.15, 0.34))
    windows = union([cut(side, box((-0.3, 1.2, 0.0), (0.07, 1.0, 3.0))), front, back])
    body = pressed(body, windows, 0.02, 0.06)
    lamp = ellipsoid((1.6, 0.68, 0.6), (0.17, 0.13, 0.13)).mirrored()
    tail = ellipsoid((-1.64, 0.64, 0.64), (0.1, 0.1, 0.08)).mirrored()
    body = union([body, lamp, tail], 0.04)
    body = common(body, box((0.0, 1.2, 0.0), (3.0, 1.0, 3.0)), 0.05)
    bumpers = union(
        [
            capsule((1.93, 0.4, 0.0), (1.88, 0.4, 0.5), 0.08),
            capsule((1.88, 0.4, 0.5), (1.7, 0.4, 0.76), 0.08),
            capsule((-1.93, 0.4, 0.0), (-1.88, 0.4, 0.5), 0.08),
            capsule((-1.88, 0.4, 0.5), (-1.7, 0.4, 0.76), 0.08),
        ],
        0.02,
    ).mirrored()
    places = ((1.25, 0.345), (-1.2, 0.345))
    arches = union([disc((x, y, 0.92), 0.35, 0.16) for x, y in places]).mirrored()
    wheels = union([disc((x, y, 0.65), 0.345, 0.14, 0.04) for x, y in places]).mirrored()
    caps = union([ellipsoid((x, y, 0.76), (0.17, 0.17, 0.07)) for x, y in places]).mirrored()
    shape = union([union([cut(body, arches, 0.03), wheels], 0.06), caps, bumpers], 0.03)
    tyres = union([disc((x, y, 0.85), 0.36, 0.42) for x, y in places]).mirrored()
    hubs = union([disc((x, y, 0.9), 0.165, 0.2) for x, y in places]).mirrored()
    coats = (
        Coat(GLASS, windows),
        Coat(CHROME, bumpers.grown(0.012)),
        Coat(BLACK, tyres),
        Coat(CHROME, hubs),
        Coat(LIGHT, ellipsoid((1.76, 0.7, 0.61), (0.1, 0.115, 0.115)).mirrored()),
        Coat(AMBER, tail.grown(0.01)),
    )
    return Figure(shape, RED, coats, 10_200, 4.0)


def made(figure: Figure, name: str) -> SurfaceMesh:
    """The figure as a closed, painted surface, over the middle of its place."""
    mesh = even_surface(figure.shape, figure.count, name)
    mesh = painted(mesh, figure.shape, figure.base, figure.coats)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    mesh = mesh.translated((-0.5 * (low[0] + high[0]), -low[1], -0.5 * (low[2] + high[2])))
    return mesh.scaled(figure.length / float((high - low).max()))


FIGURES = {"duck": duck, "car": car}
"""What makes each figure, by the name of its sample mesh."""
