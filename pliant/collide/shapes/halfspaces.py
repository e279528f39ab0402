"""Several half-spaces: the convex solid that they have in common, or the room."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import warp as wp

from pliant.collide.collider import DEFAULT_SURFACE, Surface, number_rows, numbers
from pliant.collide.contacts import Contacts
from pliant.collide.halfspace_kernels import SolidData, detect_halfspaces
from pliant.collide.movable import Movable
from pliant.collide.polytope import Polytope, cut_to
from pliant.collide.poses import Poses
from pliant.errors import InputError
from pliant.launch import launch
from pliant.mesh.arrays import rotation as rotation_matrix
from pliant.motion import axis_angle
from pliant.settings import setting
from pliant.vectors import FARTHEST, as_bounded, as_vector

MOST_PLANES = 64
THINNEST = 1e-6
"""A solid must have a point this far inside it [m]."""
LONGEST_GLIDE = 5.0
"""The longest way of a frame, in diagonals, that it glides."""
CUT = 4.0
"""Pictures show an unbounded solid up to so many times the distance of its farthest plane."""
FLOOR = -0.2
"""Faces of a room that pictures show: those whose outward normal points down by more than this."""
PYRAMID = (
    (0.0, -1.0, 0.0, 0.0),
    (1.0, 1.0, 0.0, 0.5),
    (-1.0, 1.0, 0.0, 0.5),
    (0.0, 1.0, 1.0, 0.5),
    (0.0, 1.0, -1.0, 0.5),
)


@dataclasses.dataclass(frozen=True)
class Halfspaces(Movable):
    """The convex solid of all points that are in every one of several half-spaces.

    A particle that went in is put back on the face it came through; one that was inside before, on the nearest. With
    `inside` the solid is all around: a room, a funnel, a bowl of planes, open where there is no plane.

    Args:
        planes: rows a, b, c, d; the half-space of a row is a x + b y + c z <= d, in its own frame [m].
        position: where its origin is put [m].
        rotation: axis times angle in degrees, about its origin.
        inside: bodies stay inside it.
        surface: friction and restitution.
        path: keys of its motion; see `MotionPath`.
    """

    kind: ClassVar[str] = "halfspaces"
    plural: ClassVar[str] = "sets of half-spaces"
    meaning: ClassVar[str] = (
        "a convex solid given by half-spaces, or a room or funnel of planes; a pyramid without keys"
    )

    planes: tuple[tuple[float, ...], ...] = number_rows(
        PYRAMID, 4, MOST_PLANES, "rows a, b, c, d: the half-space a x + b y + c z <= d [m]"
    )
    position: tuple[float, float, float] = numbers((0.0, 0.0, 0.0), 3, "where its origin is put [m]")
    rotation: tuple[float, float, float] = numbers((0.0, 0.0, 0.0), 3, "axis times angle in degrees, about its origin")
    inside: bool = setting(False, "bodies stay inside it, as in a room")
    surface: Surface = DEFAULT_SURFACE
    name: str = ""
    path: Any = dataclasses.field(default=None, repr=False, compare=False)
    # stands for the path where colliders are compared or fingerprinted
    path_digest: str = dataclasses.field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "planes", self._checked_planes())
        object.__setattr__(self, "position", as_bounded(self.position, FARTHEST, self.where("position"), "m"))
        object.__setattr__(self, "rotation", as_vector(self.rotation, self.where("rotation")))
        if not isinstance(self.inside, bool):
            raise InputError(f"{self.inside!r} is no truth value", self.where("inside"), "Give true or false")
        shown, bounded = _shown(self.normals, self.offsets)
        if shown is None:
            raise InputError(
                f"no point is in all of the {len(self.planes)} half-spaces, or only a flat set of them",
                self.where("planes"),
                "Give half-spaces a x + b y + c z <= d that have a solid in common",
            )
        # made once: it is asked for distances and pictures
        object.__setattr__(self, "_shown", shown)
        object.__setattr__(self, "is_bounded", bounded)
        self.settle_path()

    def _checked_planes(self) -> tuple[tuple[float, float, float, float], ...]:
        where, remedy = self.where("planes"), "Give rows of four finite numbers a, b, c, d, for a x + b y + c z <= d"
        try:
            rows = np.array(self.planes, np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"the planes are no rows of numbers ({error})", where, remedy) from error
        if rows.ndim != 2 or rows.shape[1] != 4 or not 1 <= len(rows) <= MOST_PLANES:
            raise InputError(f"the planes have the shape {rows.shape}", where, f"{remedy}; at most {MOST_PLANES}")
        if not np.isfinite(rows).all():
            raise InputError("the planes are not finite", where, remedy)
        length = np.linalg.norm(rows[:, :3], axis=1)
        if length.min() < 1e-12:
            row = int(length.argmin())
            raise InputError(f"the plane in row {row} has no direction", where, "Give a normal such as 0, 1, 0")
        rows /= length[:, None]
        if np.abs(rows[:, 3]).max() > FARTHEST:
            raise InputError("a plane is too far away", where, f"Keep them within {FARTHEST:g} m")
        return tuple(tuple(row) for row in rows.tolist())

    @property
    def normals(self) -> np.ndarray:
        """Out of the half-spaces, in its own frame (k, 3)."""
        return np.array(self.planes)[:, :3]

    @property
    def offsets(self) -> np.ndarray:
        """Of the planes along their normals [m] (k,)."""
        return np.array(self.planes)[:, 3]

    @property
    def reach(self) -> float:
        return LONGEST_GLIDE * float(np.linalg.norm(np.ptp(self._shown.corners, axis=0)))  # type: ignore[attr-defined]

    def turn(self) -> np.ndarray:
        """Its rotation as a matrix (3, 3)."""
        degrees = float(np.linalg.norm(self.rotation))
        if degrees == 0.0:
            return np.eye(3)
        return rotation_matrix(np.array(self.rotation) / degrees, math.radians(degrees), self.where("rotation"))

    def posed(self, turn: np.ndarray, center: np.ndarray, radius: float) -> Halfspaces:
        degrees = np.degrees(axis_angle(turn @ self.turn()))
        rotation = self.rotation if np.array_equal(turn, np.eye(3)) else tuple(degrees.tolist())
        return dataclasses.replace(self, position=tuple(center.tolist()), rotation=rotation)

    def distance(self, points: np.ndarray) -> np.ndarray:
        points = np.asarray(points, np.float64)
        own = (points - np.array(self.position)) @ self.turn()
        found = Polytope(self.normals, self.offsets).distances(own.reshape(-1, 3)).reshape(points.shape[:-1])
        return -found if self.inside else found

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """The faces, as far as they are shown; of a room only its floor, seen from within."""
        points: list[np.ndarray] = []
        triangles: list[np.ndarray] = []
        turn, count = self.turn(), 0
        for ring in self._shown.faces(len(self.planes)):  # type: ignore[attr-defined]
            ring = ring @ turn.T
            if self.inside:
                ring = ring[::-1]
                up = np.cross(ring[1] - ring[0], ring[2] - ring[0])
                if up[1] < -FLOOR * np.linalg.norm(up):
                    continue
            middle = np.arange(1, len(ring) - 1)
            triangles.append(count + np.stack([0 * middle, middle, middle + 1], axis=1))
            points.append(ring)
            count += len(ring)
        if not points:
            return super().triangles()
        return np.array(self.position) + np.concatenate(points), np.concatenate(triangles).astype(np.int32)

    def data(self, first: int) -> SolidData:
        """The solid as the kernels see it; its planes are rows of a table from `first` on."""
        data = SolidData()
        data.first, data.count, data.inside = first, len(self.planes), int(self.inside)
        data.size = float(np.abs(self.offsets).max())
        data.friction = self.surface.friction
        data.static_friction = self.surface.holding
        data.restitution = self.surface.restitution
        data.margin = self.surface.margin
        return data

    @classmethod
    def detector(cls, colliders: Sequence[Self], slots: Sequence[int], poses: Poses, device: str) -> HalfspacesDetector:
        return HalfspacesDetector(colliders, slots, poses, device)


def _shown(normals: np.ndarray, offsets: np.ndarray) -> tuple[Polytope | None, bool]:
    """What pictures show, and whether that is all; None where the half-spaces have no solid in common."""
    half = CUT * max(float(np.abs(offsets).max()), 0.25)
    while half <= 100.0 * FARTHEST:
        cut = cut_to(normals, offsets, half)
        if len(cut.corners):
            middle = cut.corners.mean(axis=0)
            if float((normals @ middle - offsets).max()) < -THINNEST:
                return cut, bool(np.abs(cut.corners).max() < 0.999 * half)
        half *= 100.0
    return None, False


class HalfspacesDetector:
    """Sets of half-spaces on a device, each turned as it was built."""

    def __init__(self, solids: Sequence[Halfspaces], slots: Sequence[int], poses: Poses, device: str):
        self.device = device
        self.poses = poses
        self.rows = wp.array([poses.rows[slot] for slot in slots], dtype=int, device=device)
        self.slots = wp.array(list(slots), dtype=int, device=device)
        counts = np.cumsum([0, *(len(solid.planes) for solid in solids)]).tolist()
        data = [solid.data(first) for solid, first in zip(solids, counts, strict=False)]
        self.solids = wp.array(data, dtype=SolidData, device=device)
        walls = [np.column_stack([solid.normals @ solid.turn().T, solid.offsets]) for solid in solids]
        self.walls = wp.array(np.concatenate(walls).astype(np.float32), dtype=wp.vec4, device=device)

    def detect(self, before: wp.array, x: wp.array, radius: wp.array, margin: float, contacts: Contacts) -> None:
        shape = [self.solids, self.walls, self.slots, self.rows, self.poses.pose]
        launch(
            detect_halfspaces,
            contacts.particles,
            [*shape, radius, before, x, contacts.slots, margin],
            [contacts.surface, contacts.depth],
            device=self.device,
        )


COLLIDER = Halfspaces
