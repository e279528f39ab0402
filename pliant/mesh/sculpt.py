"""Shapes told by a distance: ellipsoids, boxes, discs and capsules, joined, cut and pressed with rounded seams.

A shape's distance is negative inside. Near its surface it is the distance in metres to first order, so that the shapes
can be blended, offset and stepped onto; further away it only has the right sign.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays

Field = Callable[[np.ndarray], np.ndarray]
GRADIENT_STEP = 1e-4
"""Step of the central differences, in parts of the shape's size."""


@dataclasses.dataclass(frozen=True, eq=False)
class Shape:
    """A solid.

    Attributes:
        field: distance of points (n, 3) to the surface, negative inside (n,) [m].
        low: lowest corner of a box around the solid (3,) [m].
        high: its highest corner (3,) [m].
    """

    field: Field
    low: np.ndarray
    high: np.ndarray

    def distance(self, points: Any) -> np.ndarray:
        """Distance of points (n, 3) to the surface, negative inside (n,) [m]."""
        return self.field(np.asarray(points, np.float64))

    @property
    def size(self) -> float:
        """Longest side of the box around the solid [m]."""
        return float((self.high - self.low).max())

    def gradient(self, points: Any) -> np.ndarray:
        """How the distance changes with place, by central differences (n, 3); a unit normal at the surface."""
        points = np.asarray(points, np.float64)
        step = GRADIENT_STEP * self.size
        ends = np.concatenate([points + step * axis for axis in (*np.eye(3), *-np.eye(3))])
        values = self.field(ends).reshape(2, 3, -1)
        return (values[0] - values[1]).T / (2.0 * step)

    def project(self, points: Any, steps: int = 6) -> np.ndarray:
        """The points (n, 3) moved onto the surface along the gradient, by Newton's method [m]."""
        points = np.array(points, np.float64)
        for _ in range(steps):
            slope = self.gradient(points)
            squared = np.maximum((slope**2).sum(axis=1), 0.05)
            points -= (self.field(points) / squared)[:, None] * slope
        return points

    def moved(self, by: Any) -> Shape:
        """A copy moved by (x, y, z) [m]."""
        by = _point(by, "moved(by)")
        return Shape(lambda p: self.field(p - by), self.low + by, self.high + by)

    def grown(self, by: float) -> Shape:
        """A copy with its surface moved outwards [m]."""
        return Shape(lambda p: self.field(p) - by, self.low - by, self.high + by)

    def turned(self, axis: Any, degrees: float, about: Any = (0.0, 0.0, 0.0)) -> Shape:
        """A copy turned about an axis through the point ``about`` [m], right-handed."""
        turn, about = arrays.rotation(axis, math.radians(degrees), "turned(axis)"), _point(about, "turned(about)")
        corners = np.array(np.meshgrid(*zip(self.low, self.high, strict=True))).reshape(3, -1).T
        corners = (corners - about) @ turn.T + about
        return Shape(lambda p: self.field((p - about) @ turn + about), corners.min(axis=0), corners.max(axis=0))

    def mirrored(self) -> Shape:
        """This and its image across the plane z = 0: the side z > 0 is what is seen of the original."""
        low = np.array([*self.low[:2], -self.high[2]])
        return Shape(lambda p: self.field(np.concatenate([p[:, :2], np.abs(p[:, 2:])], axis=1)), low, self.high)


def ellipsoid(centre: Any, radii: Any, power: float = 2.0) -> Shape:
    """An ellipsoid with its axes along x, y, z; a power above 2 makes it boxier (a superellipsoid)."""
    centre, radii = _point(centre, "ellipsoid(centre)"), _lengths(radii, "ellipsoid(radii)")
    if not 2.0 <= power <= 20.0:
        raise InputError(f"the power is {power!r}", "ellipsoid(power)", "Give a number from 2 to 20")

    def field(points: np.ndarray) -> np.ndarray:
        scaled = np.abs(points - centre) / radii
        norm = (scaled**power).sum(axis=1) ** (1.0 / power)
        unit = scaled / np.maximum(norm, 1e-12)[:, None]
        # |gradient of the norm|; its least value, along the longest radius, stands in at the very centre
        slope = np.linalg.norm(unit ** (power - 1.0) / radii, axis=1)
        return (norm - 1.0) / np.maximum(slope, 1.0 / (3.0 * radii.max()))

    return Shape(field, centre - radii, centre + radii)


def box(centre: Any, half: Any, rounding: float = 0.0) -> Shape:
    """A box of half sides (x, y, z) with its edges rounded by this radius [m]."""
    centre, half = _point(centre, "box(centre)"), _lengths(half, "box(half)")
    if not 0.0 <= rounding <= half.min():
        raise InputError(
            f"a rounding of {rounding!r} m", "box(rounding)", f"Give 0 to {half.min():g} m, its smallest half side"
        )

    def field(points: np.ndarray) -> np.ndarray:
        beyond = np.abs(points - centre) - (half - rounding)
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        return outside + np.minimum(beyond.max(axis=1), 0.0) - rounding

    return Shape(field, centre - half, centre + half)


def disc(centre: Any, radius: float, half: float, rounding: float = 0.0) -> Shape:
    """A cylinder along z of half height ``half``, its rims rounded by this radius [m]."""
    centre = _point(centre, "disc(centre)")
    radius, half = _lengths([radius, half], "disc(radius, half)", 2)
    if not 0.0 <= rounding <= min(radius, half):
        raise InputError(f"a rounding of {rounding!r} m", "disc(rounding)", f"Give 0 to {min(radius, half):g} m")
    inner = np.array([radius, half]) - rounding

    def field(points: np.ndarray) -> np.ndarray:
        local = points - centre
        beyond = np.stack([np.hypot(local[:, 0], local[:, 1]), np.abs(local[:, 2])], axis=1) - inner
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        return outside + np.minimum(beyond.max(axis=1), 0.0) - rounding

    reach = np.array([radius, radius, half])
    return Shape(field, centre - reach, centre + reach)


def capsule(start: Any, end: Any, radius: float, end_radius: float | None = None) -> Shape:
    """A rod with round ends from one point to another [m]; it may taper to another radius."""
    start, end = _point(start, "capsule(start)"), _point(end, "capsule(end)")
    radii = _lengths([radius, radius if end_radius is None else end_radius], "capsule(radius)", 2)
    along = end - start
    squared = float(along @ along)
    if squared <= 0.0:
        raise InputError(f"both ends are at {start.tolist()}", "capsule(end)", "Give two different points")

    def field(points: np.ndarray) -> np.ndarray:
        local = points - start
        t = np.clip(local @ along / squared, 0.0, 1.0)
        return np.linalg.norm(local - t[:, None] * along, axis=1) - (radii[0] + t * (radii[1] - radii[0]))

    ends = np.stack([start, end])
    return Shape(field, (ends - radii[:, None]).min(axis=0), (ends + radii[:, None]).max(axis=0))


def smooth_min(a: np.ndarray, b: np.ndarray, blend: float) -> np.ndarray:
    """The smaller of two distances, with a rounded kink: lower by at most blend / 4, and only where |a - b| < blend."""
    if blend <= 0.0:
        return np.minimum(a, b)
    near = np.maximum(blend - np.abs(a - b), 0.0)
    return np.minimum(a, b) - near * near / (4.0 * blend)


def union(shapes: Sequence[Shape], blend: float = 0.0) -> Shape:
    """All shapes as one; where two meet, the seam is filled with a fillet about ``blend`` wide [m]."""
    if not shapes:
        raise InputError("there is no shape", "union(shapes)", "Give at least one")
    _blend(blend, "union(blend)")

    def field(points: np.ndarray) -> np.ndarray:
        value = shapes[0].field(points)
        for shape in shapes[1:]:
            value = smooth_min(value, shape.field(points), blend)
        return value

    # a fillet can stand out of the shapes' own boxes by what smooth_min takes off, for each shape after the first
    room = 0.25 * blend * (len(shapes) - 1)
    low = np.min([shape.low for shape in shapes], axis=0) - room
    return Shape(field, low, np.max([shape.high for shape in shapes], axis=0) + room)


def common(a: Shape, b: Shape, blend: float = 0.0) -> Shape:
    """What two shapes have in common, with edges rounded about ``blend`` wide [m]."""
    _blend(blend, "common(blend)")
    low, high = np.maximum(a.low, b.low), np.minimum(a.high, b.high)
    return Shape(lambda p: -smooth_min(-a.field(p), -b.field(p), blend), np.minimum(low, high), high)


def cut(shape: Shape, tool: Shape, blend: float = 0.0) -> Shape:
    """The shape without the tool, with edges rounded about ``blend`` wide [m]."""
    _blend(blend, "cut(blend)")
    return Shape(lambda p: -smooth_min(-shape.field(p), tool.field(p), blend), shape.low, shape.high)


def pressed(shape: Shape, region: Shape, depth: float, blend: float) -> Shape:
    """The shape with its surface moved in by ``depth`` [m] (out, if negative) inside a region.

    The step lies within ``blend`` [m] of the region's boundary, half of it on each side.
    """
    if not blend > 0.0:
        raise InputError(f"a blend of {blend!r} m", "pressed(blend)", "Give a length above 0")

    def field(points: np.ndarray) -> np.ndarray:
        t = np.clip(0.5 - region.field(points) / blend, 0.0, 1.0)
        return shape.field(points) + depth * t * t * (3.0 - 2.0 * t)

    room = max(-depth, 0.0)
    return Shape(field, shape.low - room, shape.high + room)


def _point(values: Any, where: str) -> np.ndarray:
    return arrays.offset(values, where)


def _lengths(values: Any, where: str, count: int = 3) -> np.ndarray:
    found = np.asarray(values, np.float64)
    if found.shape != (count,) or not np.isfinite(found).all() or (found <= 0.0).any():
        raise InputError(f"{values!r}", where, f"Give {count} positive lengths in metres")
    return found


def _blend(value: float, where: str) -> None:
    if not (np.isfinite(value) and value >= 0.0):
        raise InputError(f"a blend of {value!r} m", where, "Give a length of 0 or more")
