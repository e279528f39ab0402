"""Closed surfaces with fine relief, made by formula for layered bodies: gear, tyre, pumpkin, ridged cylinder, can.

All are centred at the origin with the axis along y, in metres. ``detail`` is the number of quads around the axis, and
the other direction follows from it, so that quads are about square.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh import shape_arguments as given
from pliant.mesh.surface import SurfaceMesh

LEAST_DETAIL = 12


def gear(
    radius: float = 0.5, width: float = 0.2, bore: float = 0.18, teeth: int = 16, depth: float = 0.09, detail: int = 288
) -> SurfaceMesh:
    """A gear with a bore and straight teeth, grooved along their flanks.

    Args:
        radius: of the tips [m]. width: along the axis [m]. bore: radius of the hole [m].
        teeth: how many. depth: of the teeth [m].
        detail: quads around the axis; 288 makes about 55,000 triangles.
    """
    radius, width, bore = (
        given.as_length(value, f"gear({key})") for key, value in (("radius", radius), ("width", width), ("bore", bore))
    )
    depth, teeth = given.as_length(depth, "gear(depth)"), arrays.whole(teeth, "gear(teeth)", low=3)
    detail = _detail(detail, "gear", 6 * teeth)
    if bore >= radius - depth:
        raise InputError(f"{bore:g} m reaches into the teeth", "gear(bore)", "Give a smaller bore, or flatter teeth")
    angle = math.tau * np.arange(detail) / detail
    phase = teeth * angle / math.tau % 1.0
    # a tooth: root, flank, tip, flank; flanks take a fifth of the pitch each
    rise = np.clip((np.abs(phase - 0.5) - 0.15) / 0.2, 0.0, 1.0)
    tip = radius - depth * rise * rise * (3.0 - 2.0 * rise)
    step = math.tau * radius / detail
    side, face, hole = (max(2, round(length / step)) for length in (width, radius - bore, width))
    y = np.linspace(-0.5 * width, 0.5 * width, side + 1)
    # grooves across the teeth, gone at the edges
    groove = (
        0.04 * depth * (1.0 - np.cos(math.tau * 8.0 * (y / width + 0.5))) * np.sin(math.pi * (y / width + 0.5)) ** 2
    )
    inward = np.linspace(0.0, 1.0, face + 1)
    columns = [(tip[:, None] - groove, np.broadcast_to(y, (detail, side + 1)))]
    columns.append((tip[:, None] + (bore - tip[:, None]) * inward, np.full((detail, face + 1), 0.5 * width)))
    columns.append(
        (np.full((detail, hole + 1), bore), np.broadcast_to(np.linspace(y[-1], y[0], hole + 1), (detail, hole + 1)))
    )
    columns.append((bore + (tip[:, None] - bore) * inward, np.full((detail, face + 1), -0.5 * width)))
    r = np.concatenate([part[:, :-1] for part, _ in columns], axis=1)
    height = np.concatenate([part[:, :-1] for _, part in columns], axis=1)
    return _ring(_around(r, height, angle), "gear")


def tyre(
    radius: float = 0.4, tube: float = 0.13, tread: float = 0.014, blocks: int = 36, detail: int = 360
) -> SurfaceMesh:
    """A tyre: a ring about the y axis with a tread of slanted blocks and grooves around it.

    Args:
        radius: from the axis to the middle of the tube [m]. tube: its radius [m].
        tread: depth of the grooves [m]. blocks: of the tread around the axis.
        detail: quads around the axis.
    """
    radius, tube, tread = (
        given.as_length(value, f"tyre({key})") for key, value in (("radius", radius), ("tube", tube), ("tread", tread))
    )
    blocks = arrays.whole(blocks, "tyre(blocks)", low=3)
    detail = _detail(detail, "tyre", 4 * blocks)
    if tube >= radius or tread >= 0.5 * tube:
        raise InputError(
            f"a tube of {tube:g} m with a tread of {tread:g} m does not fit", "tyre(tube)", "Give tube < radius"
        )
    around = max(12, round(detail * tube / (radius + tube)))
    angle, turn = (math.tau * np.arange(count) / count for count in (detail, around))
    angle, turn = np.meshgrid(angle, turn, indexing="ij")
    # flattened where it rolls, and only there is a tread
    outward, across = np.cos(turn), np.sin(turn)
    flat = _step((outward - 0.25) / 0.25)
    slant = blocks * angle / math.tau + 0.7 * np.abs(across)
    cut = np.maximum(_valley(slant % 1.0, 0.5, 0.16), _valley(np.abs(across), 0.33, 0.06))
    section = tube * (np.abs(outward) ** 3.0 + np.abs(across) ** 3.0) ** (-1.0 / 3.0)
    section = np.where(outward > 0.0, section, tube) - tread * flat * cut
    return _ring(_around(radius + section * outward, section * across, angle), "tyre")


def pumpkin(radius: float = 0.5, ribs: int = 12, depth: float = 0.05, detail: int = 240) -> SurfaceMesh:
    """A pumpkin with ribs from pole to pole, wrinkled a little, hollow at both poles.

    Args:
        radius: at the equator [m]. ribs: how many. depth: of the valleys between them [m]. detail: quads around.
    """
    radius, depth = given.as_length(radius, "pumpkin(radius)"), given.as_length(depth, "pumpkin(depth)")
    ribs = arrays.whole(ribs, "pumpkin(ribs)", low=2)
    detail = _detail(detail, "pumpkin", 4 * ribs)
    if depth >= 0.5 * radius:
        raise InputError(f"{depth:g} m is half the radius or more", "pumpkin(depth)", "Give flatter ribs")
    rows = max(8, detail // 2)
    latitude = math.pi * (np.arange(1, rows) / rows - 0.5)
    angle = math.tau * np.arange(detail) / detail
    angle, latitude = np.meshgrid(angle, latitude, indexing="ij")
    ring = np.cos(latitude)
    valley = (1.0 - np.abs(np.sin(0.5 * ribs * angle))) ** 2
    wrinkle = 0.05 * np.sin(4.0 * ribs * angle + 3.0 * np.sin(9.0 * latitude))
    r = ring * (radius - depth * ring * (valley + wrinkle))
    y = (
        0.78 * radius * np.sin(latitude) * (1.0 - 0.28 * np.sin(latitude) ** 6)
        - depth * np.sin(latitude) * valley * ring
    )
    pole = 0.72 * 0.78 * radius
    return _capped(_around(r, y, angle), -pole, pole, "pumpkin")


def ridged_cylinder(
    radius: float = 0.2, height: float = 0.8, ridges: int = 24, depth: float = 0.012, detail: int = 192
) -> SurfaceMesh:
    """A cylinder with ridges along it.

    Args:
        radius: at the ridges [m]. height: [m]. ridges: how many. depth: of the grooves [m]. detail: quads around.
    """
    radius, height = (
        given.as_length(radius, "ridged_cylinder(radius)"),
        given.as_length(height, "ridged_cylinder(height)"),
    )
    depth, ridges = given.as_length(depth, "ridged_cylinder(depth)"), arrays.whole(ridges, "ridged_cylinder(ridges)")
    detail = _detail(detail, "ridged_cylinder", 4 * ridges)
    if depth >= 0.5 * radius:
        raise InputError(f"{depth:g} m is half the radius or more", "ridged_cylinder(depth)", "Give flatter ridges")
    angle = math.tau * np.arange(detail) / detail
    rise = radius - depth * (0.5 - 0.5 * np.cos(ridges * angle))
    return _turned(
        np.array([[0.0, -0.5], [1.0, -0.5], [1.0, 0.5], [0.0, 0.5]]) * [1.0, height], rise, "ridged_cylinder"
    )


def can(
    radius: float = 0.033, height: float = 0.115, rings: int = 5, depth: float = 0.0008, detail: int = 192
) -> SurfaceMesh:
    """A closed can: necked at both ends, lids sunk behind rims, rings pressed into its side.

    Args:
        radius: [m]. height: [m]. rings: pressed into the side. depth: of them [m]. detail: quads around.
    """
    radius, height = given.as_length(radius, "can(radius)"), given.as_length(height, "can(height)")
    depth, rings = given.as_length(depth, "can(depth)"), arrays.whole(rings, "can(rings)", low=0)
    detail = _detail(detail, "can", LEAST_DETAIL)
    if depth >= 0.2 * radius or height <= 0.8 * radius:
        raise InputError(
            f"rings of {depth:g} m on a can of {radius:g} by {height:g} m", "can(depth)", "Give flatter rings"
        )
    top = 0.5 * height
    neck, rim, lid = 0.82 * radius, 0.1 * radius, 0.74 * radius
    end = np.array(
        [[0.0, top - rim], [lid, top - rim], [lid + 0.02 * radius, top], [neck, top], [radius, top - 0.3 * radius]]
    )
    side = np.linspace(top - 0.3 * radius, 0.3 * radius - top, 1 + 24 * max(rings, 1))[1:-1]
    pressed = radius - depth * (0.5 - 0.5 * np.cos(math.tau * np.arange(1, len(side) + 1) / 24.0)) * (rings > 0)
    profile = np.concatenate([end, np.stack([pressed, side], axis=1), end[::-1] * [1.0, -1.0]])[::-1]
    return _turned(profile, np.ones(detail), "can")


def _detail(value: int, shape: str, low: int) -> int:
    value = arrays.whole(value, f"{shape}(detail)", low=max(low, LEAST_DETAIL))
    given.bound(4 * value * value, f"{shape}(detail)")
    return value


def _step(t: np.ndarray) -> np.ndarray:
    """From 0 to 1 without a kink."""
    t = np.clip(t, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def _valley(place: np.ndarray, middle: float, half: float) -> np.ndarray:
    """1 in a valley about ``middle``, 0 beyond ``half`` from it."""
    return 1.0 - _step((np.abs(place - middle) - 0.5 * half) / (0.5 * half))


def _around(r: np.ndarray, y: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Points (around, along, 3) at a distance from the y axis and a height; angles (around,) or (around, along)."""
    angle = angle[:, None] if angle.ndim == 1 else angle
    return np.stack(np.broadcast_arrays(r * np.cos(angle), y, r * np.sin(angle)), axis=-1)


def _turned(profile: np.ndarray, scale: np.ndarray, name: str) -> SurfaceMesh:
    """A profile (p, 2) of radius and height [m], from the axis below to the axis above, turned and cut into squares.

    Args:
        profile: its corners are kept, and points are put between them.
        scale: factor on the radius at each angle, or the radius where the profile's is 1 (around,).
    """
    widest = float(profile[:, 0].max() * scale.max())
    step = math.tau * widest / len(scale)
    sizes = np.abs(np.diff(profile, axis=0)) * [widest / profile[:, 0].max(), 1.0]
    counts = np.maximum(1, np.round(np.hypot(*sizes.T) / step)).astype(int)
    pieces = [
        start + (end - start) * (np.arange(count) / count)[:, None]
        for start, end, count in zip(profile[:-1], profile[1:], counts, strict=True)
    ]
    points = np.concatenate(pieces)[1:]
    angle = math.tau * np.arange(len(scale)) / len(scale)
    grid = _around(scale[:, None] * points[:, 0], points[:, 1], angle)
    return _capped(grid, float(profile[0, 1]), float(profile[-1, 1]), name)


def _ring(grid: np.ndarray, name: str) -> SurfaceMesh:
    """Points (around, along, 3) as a surface that is closed both ways."""
    around, along = grid.shape[:2]
    number = np.arange(around * along).reshape(around, along)
    return _outward(grid.reshape(-1, 3), _quads(number, np.roll(number, -1, 0), 1), name)


def _capped(grid: np.ndarray, bottom: float, top: float, name: str) -> SurfaceMesh:
    """Points (around, along, 3) closed around, with a point on the axis at both ends [m]."""
    around, along = grid.shape[:2]
    number = np.arange(around * along).reshape(around, along)
    after = np.roll(number, -1, 0)
    low, high = around * along, around * along + 1
    caps = [
        np.stack([np.full(around, low), after[:, 0], number[:, 0]], axis=1),
        np.stack([np.full(around, high), number[:, -1], after[:, -1]], axis=1),
    ]
    vertices = np.concatenate([grid.reshape(-1, 3), [[0.0, bottom, 0.0], [0.0, top, 0.0]]])
    return _outward(vertices, np.concatenate([_quads(number, after, 0), *caps]), name)


def _quads(number: np.ndarray, after: np.ndarray, closed: int) -> np.ndarray:
    """Two triangles for each quad between columns of point numbers, diagonals alternating (k, 3)."""
    a, b = number, after
    c, d = np.roll(after, -1, 1), np.roll(number, -1, 1)
    if not closed:
        a, b, c, d = (part[:, :-1] for part in (a, b, c, d))
    even = (np.indices(a.shape).sum(axis=0) % 2 == 0).ravel()
    a, b, c, d = (part.ravel() for part in (a, b, c, d))
    first = np.where(even[:, None], np.stack([a, b, c], axis=1), np.stack([a, b, d], axis=1))
    second = np.where(even[:, None], np.stack([a, c, d], axis=1), np.stack([b, c, d], axis=1))
    return np.concatenate([first, second])


def _outward(vertices: np.ndarray, triangles: np.ndarray, name: str) -> SurfaceMesh:
    mesh = SurfaceMesh(vertices, triangles, name)
    if mesh.volume() < 0.0:
        mesh = SurfaceMesh(vertices, triangles[:, ::-1], name)
    return mesh
